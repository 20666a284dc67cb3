/* SPDX-License-Identifier: Apache-2.0 */
/* A program of test_run_ranks.c: its one task waits until the tasks of so many chips have come, or for 30 s. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tasklens/program.h>

enum { WAITS = 30000 };

static const struct tl_param params[] = {{"chips", 2, 2, 64, "how many chips meet"}};

static void meet(const struct tl_kernel_args *k)
{
    float *met = TL_DATA(k, 0, float);
    const int64_t chips = TL_SCALAR_OF(k, 0, int64_t);
    struct stat arrived = {0};
    char name[40];
    int fd;

    (void)snprintf(name, sizeof(name), "arrived-%d", (int)chips);
    fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    *met = 0;
    if (fd < 0 || write(fd, "x", 1) != 1)
        return;
    for (int i = 0; i < WAITS && fstat(fd, &arrived) == 0 && arrived.st_size < chips; i++)
        (void)usleep(1000);
    (void)close(fd);
    *met = arrived.st_size >= chips;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(0, "meet", TL_AIV, meet, TL_OUT)};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor y = in->tensors[0];

    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        tl_add_output(&args, &y);
        tl_add_scalar(&args, in->params[0]);
        tl_submit_aiv(o, 0, &args);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = 1;

    return tl_data_tensor(d, "met", TL_OUT, TL_FLOAT32, 1, &n) == NULL ? TL_ENOMEM : 0;
}

static int golden(struct tl_data *d)
{
    *(float *)tl_data_expected(d, "met") = 1;
    return 0;
}

TL_PROGRAM(.name = "meets", .summary = "waits for the same task on other chips", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
