/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed amount of work with diagnostics off, for counting instructions: bench/probes_off.sh runs it from a build with
 * the probes and from one without, under callgrind. Prints nothing. One thread steps the chip, so that the count
 * repeats.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tasklens/worker.h>

#include "support/submit_opts.h"

#define TASKS 20000
#define PER_SCOPE 64
#define CELLS 64u

enum { FUNC_NOP };

static void nop(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {TL_KERNEL(FUNC_NOP, "nop", TL_AIV, nop, TL_IN, TL_INOUT)};

/* Chains that cross: each task reads one cell and writes another. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    for (uint32_t first = 0; first < TASKS; first += PER_SCOPE) {
        TL_SCOPE (o) {
            for (uint32_t i = first; i < first + PER_SCOPE; i++) {
                struct tl_task_args args = TL_TASK_ARGS_INIT;
                uint32_t from = i * 7 % CELLS, to = (from + 1 + i % 5) % CELLS, one = 1;
                struct tl_tensor x, y;
                float scale = 2.0f;

                if (tl_view(&in->tensors[0], &from, &one, &x) < 0 || tl_view(&in->tensors[0], &to, &one, &y) < 0)
                    return;
                tl_add_input(&args, &x);
                tl_add_inout(&args, &y);
                tl_add_scalar(&args, scale);
                tl_submit_aiv(o, FUNC_NOP, &args);
            }
        }
    }
}

static const struct tl_program program = {.struct_size = sizeof(program),
                                          .api_version = TL_PROGRAM_API,
                                          .name = "bench_off",
                                          .kernels = kernels,
                                          .n_kernels = TL_ARRAY_COUNT(kernels),
                                          .orchestrate = orchestrate};

static void check(int rc, const struct tl_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "bench_off: %s\n", err->msg);
        exit(2);
    }
}

int main(void)
{
    static float cells[CELLS];
    struct tl_host_tensor t = {
        .name = "cells", .data = cells, .shape = {CELLS}, .dtype = TL_FLOAT32, .rank = 1, .role = TL_INOUT};
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_run_result result;
    struct tl_loaded *loaded;
    struct tl_worker *w;
    struct tl_error err;

    opts.mode = TL_DEVICE_THREAD;
    opts.sim_threads = 1;
    check(tl_worker_open(&opts, &w, &err), &err);
    check(tl_worker_load_linked(w, &program, &loaded, &err), &err);
    for (int i = 0; i < 3; i++)
        check(tl_worker_run(w, loaded, SUBMIT_OPTS(&t, 1, NULL, 0, &config), &result, &err), &err);
    tl_worker_close(w);
    return 0;
}
