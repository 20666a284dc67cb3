/* SPDX-License-Identifier: Apache-2.0 */
/* The program of test_strays.c: a chain of tasks, and one kernel that touches what belongs to the chip. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tasklens/program.h>

enum { PARAM_WAY };
enum { WAY_NONE, WAY_BELLS, WAY_TRUNCATE, WAY_MAIL, WAY_MIX, WAY_CLOSE, WAYS };
enum { FUNC_ADD };
enum { TASKS = 6, ELEMENTS = 16 };

static const struct tl_param params[] = {
    [PARAM_WAY] = {"way", 0, 0, WAYS - 1, "what the third kernel touches"},
};

/* One memset too far, over and over: whoever sleeps is asleep by then. */
static void zero_bells(void)
{
    char line[512];
    void *from, *to;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, "tasklens-bells") != NULL && sscanf(line, "%p-%p", &from, &to) == 2)
            for (int i = 0; i < 200; i++) {
                memset(from, 0, 4096);
                (void)usleep(1000);
            }
    if (maps != NULL)
        (void)fclose(maps);
}

/* Cuts the chip's memory by the host's descriptor of it. */
static void cut_memory(void)
{
    char folder[64], path[400], link[128];
    DIR *fds;
    const struct dirent *entry;

    (void)snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)getppid());
    fds = opendir(folder);
    while (fds != NULL && (entry = readdir(fds)) != NULL) {
        ssize_t n;
        int fd;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        n = readlink(path, link, sizeof(link) - 1);
        if (n <= 0)
            continue;
        link[n] = '\0';
        if (strstr(link, "memfd:tasklens") == NULL || (fd = open(path, O_RDWR)) < 0)
            continue;
        fprintf(stderr, "strays: %s %s\n", link, ftruncate(fd, 100) == 0 ? "was cut" : "keeps its size");
        (void)close(fd);
    }
    if (fds != NULL)
        (void)closedir(fds);
}

static void add(const struct tl_kernel_args *k)
{
    const int64_t way = TL_SCALAR_OF(k, 0, int64_t);
    ssize_t ignored;

    for (int i = 0; i < ELEMENTS; i++)
        TL_DATA(k, 1, float)[i] = TL_DATA(k, 0, float)[i] + 1;
    if (way == WAY_BELLS)
        zero_bells();
    if (way == WAY_TRUNCATE)
        cut_memory();
    if (way == WAY_MAIL) {
        ignored = write(5, "x", 1);
        (void)ignored;
    }
    if (way == WAY_CLOSE)
        (void)close(5);
    /* The chip is killed for these. No task may end meanwhile: its record could be lost half written. */
    while (way == WAY_MAIL || way == WAY_CLOSE)
        (void)pause();
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_ADD, "add", TL_AIV, add, TL_IN, TL_OUT)};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t elements = ELEMENTS;
    struct tl_tensor from = in->tensors[0];

    TL_SCOPE (o) {
        for (int i = 0; i < TASKS; i++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor to = i == TASKS - 1 ? in->tensors[1] : tl_tensor_make(TL_FLOAT32, 1, &elements);
            int64_t way = i == 2 ? in->params[PARAM_WAY] : WAY_NONE;

            tl_add_input(&args, &from);
            tl_add_output(&args, &to);
            tl_add_scalar(&args, way);
            if (way == WAY_MIX)
                tl_submit_mix(o, (struct tl_mix){-2, FUNC_ADD, -1}, &args);
            else
                tl_submit_aiv(o, FUNC_ADD, &args);
            from = to;
        }
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t elements = ELEMENTS;
    float *x = tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &elements);

    if (!x)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)i;
    return tl_data_tensor(d, "y", TL_OUT, TL_FLOAT32, 1, &elements) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "strays", .summary = "touches what belongs to the chip", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare);
