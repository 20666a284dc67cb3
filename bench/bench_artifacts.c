/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of timing and graph of a run of 65,536 tasks (or argv[1]), three arguments and four edges each: seconds to
 * write and to read deps.json and chip_swimlane_records.json. They are made in a directory of their own and removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tasklens/kernel.h>

#include "artifact/deps.h"
#include "artifact/swimlane.h"

#define CORES 72u
#define EDGES 4u /* of a task */
#define ARGS 3u

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct tl_deps_view view_of(uint64_t i)
{
    return (struct tl_deps_view){.start_offset = i * 4096, .strides = {256, 1}, .shape = {16, 256}, .rank = 2};
}

static void fill_task(struct tl_deps *d, uint64_t i)
{
    d->tasks[i] = (struct tl_deps_task){
        .task_id = i, .first_arg = ARGS * i, .kernel_ids = {(int32_t)(i % 5), -1, -1}, .block_num = 1, .n_args = ARGS};
    d->tensors[i] = (struct tl_deps_tensor){.tensor_id = tl__deps_tensor_id(0x7f0000000000 + i * 1024, 0),
                                            .buffer_addr = 0x7f0000000000 + i * 1024,
                                            .buffer_numel = 1u << 28};
    for (unsigned a = 0; a < ARGS; a++)
        d->args[ARGS * i + a] = (struct tl_deps_arg){.tensor_id = d->tensors[i].tensor_id,
                                                     .view = view_of(i),
                                                     .idx = a,
                                                     .type = a == 2 ? TL_INOUT : TL_IN,
                                                     .has_view = true};
    for (unsigned e = 0; e < EDGES; e++) {
        struct tl_deps_edge *edge = &d->edges[EDGES * i + e];

        *edge = (struct tl_deps_edge){.pred = i > e ? i - e - 1 : i,
                                      .succ = i,
                                      .tensor_id = d->tensors[i].tensor_id,
                                      .arg = (int32_t)(e % ARGS),
                                      .source = TL_DEPS_TENSORMAP,
                                      .flags = TL_DEPS_HAS_FLAGS | TL_DEPS_WAIT,
                                      .overlap = TL_DEPS_COVERED,
                                      .consumer = view_of(i),
                                      .producer = view_of(i)};
        if (e == 0) {
            edge->source = TL_DEPS_EXPLICIT;
            edge->arg = -1;
        }
    }
}

static int bench_deps(const char *dir, const char *path, uint64_t n, struct tl_error *error)
{
    struct tl_deps d = {.n_tasks = n, .n_args = ARGS * n, .n_tensors = n, .n_edges = EDGES * n, .has_filtered = true};
    struct tl_deps back = {0};
    double begin, written, read;
    struct stat st = {0};
    int code = TL_ENOMEM;

    d.tasks = calloc(n, sizeof(*d.tasks));
    d.args = calloc(ARGS * n, sizeof(*d.args));
    d.tensors = calloc(n, sizeof(*d.tensors));
    d.edges = calloc(EDGES * n, sizeof(*d.edges));
    if (d.tasks != NULL && d.args != NULL && d.tensors != NULL && d.edges != NULL) {
        for (uint64_t i = 0; i < n; i++)
            fill_task(&d, i);
        begin = seconds();
        code = tl__deps_write(dir, &d, error);
        written = seconds();
        code = code == 0 ? tl__deps_read(path, &back, error) : code;
        read = seconds();
        (void)stat(path, &st);
        printf("deps of %llu tasks, %.0f MB: write %.2f s, read %.2f s\n", (unsigned long long)back.n_tasks,
               (double)st.st_size * 1e-6, written - begin, read - written);
        tl__deps_fini(&back);
    }
    free(d.tasks);
    free(d.args);
    free(d.tensors);
    free(d.edges);
    return code;
}

static void fill_rows(struct tl_swimlane *s, uint64_t i)
{
    uint64_t at = 87636803469 + 100 * i;

    s->cores[i] = (struct tl_swim_core){.task_id = i,
                                        .start_cycles = at + 20,
                                        .end_cycles = at + 80,
                                        .core_id = (uint32_t)(i % CORES),
                                        .reg_task_id = (uint32_t)(i / CORES + 1)};
    s->aicpus[i] = (struct tl_swim_aicpu){.dispatch_cycles = at,
                                          .finish_cycles = at + 99,
                                          .core_id = s->cores[i].core_id,
                                          .reg_task_id = s->cores[i].reg_task_id};
    s->orchs[i] =
        (struct tl_swim_orch){.task_id = i, .start_cycles = at - 50, .end_cycles = at - 40, .submit_idx = (uint32_t)i};
    for (unsigned p = 0; p < 2; p++)
        s->phases[2 * i + p] = (struct tl_swim_phase){.start_cycles = at + 50 * p,
                                                      .end_cycles = at + 50 * p + 30,
                                                      .loop_iter = (uint32_t)i,
                                                      .tasks_processed = 1,
                                                      .thread = (uint16_t)(i % 3),
                                                      .kind = p == 0 ? TL_PHASE_DISPATCH : TL_PHASE_COMPLETE,
                                                      .has = p == 0 ? TL_SWIM_HAS_POP : 0};
}

static int bench_swimlane(const char *dir, const char *path, uint64_t n, struct tl_error *error)
{
    struct tl_swimlane s = {.level = 4, .num_cores = CORES, .clock_freq_hz = 50000000}, back = {0};
    uint8_t types[CORES] = {0};
    double begin, written, read;
    struct stat st = {0};
    int code = TL_ENOMEM;

    s.core_types = types;
    s.n_cores = s.n_aicpus = s.n_orchs = n;
    s.n_phases = 2 * n;
    s.cores = calloc(n, sizeof(*s.cores));
    s.aicpus = calloc(n, sizeof(*s.aicpus));
    s.phases = calloc(2 * n, sizeof(*s.phases));
    s.orchs = calloc(n, sizeof(*s.orchs));
    if (s.cores != NULL && s.aicpus != NULL && s.phases != NULL && s.orchs != NULL) {
        for (uint64_t i = 0; i < n; i++)
            fill_rows(&s, i);
        begin = seconds();
        code = tl__swimlane_write(dir, &s, error);
        written = seconds();
        code = code == 0 ? tl__swimlane_read(path, &back, error) : code;
        read = seconds();
        (void)stat(path, &st);
        printf("swimlane of %llu tasks, %.0f MB: write %.2f s, read %.2f s\n", (unsigned long long)back.n_cores,
               (double)st.st_size * 1e-6, written - begin, read - written);
        tl__swimlane_fini(&back);
    }
    free(s.cores);
    free(s.aicpus);
    free(s.phases);
    free(s.orchs);
    return code;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 65536;
    char dir[] = "/tmp/tl_bench_artifacts_XXXXXX", deps[64], swimlane[64];
    struct tl_error error = {.msg = "out of memory"};
    int code;

    if (n == 0 || mkdtemp(dir) == NULL)
        return 2;
    (void)snprintf(deps, sizeof(deps), "%s/%s", dir, TL_DEPS_NAME);
    (void)snprintf(swimlane, sizeof(swimlane), "%s/%s", dir, TL_SWIMLANE_NAME);
    code = bench_deps(dir, deps, n, &error);
    if (code == 0)
        code = bench_swimlane(dir, swimlane, n, &error);
    if (code != 0)
        (void)fprintf(stderr, "bench_artifacts: %s\n", error.msg);
    (void)unlink(deps);
    (void)unlink(swimlane);
    (void)rmdir(dir);
    return code != 0;
}
