/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_loop: the host's side of a program that is run again and again. One worker serves all requests; the next is
 * submitted while one is on the chip (depth 2), and diagnostics stay configured all the time. A window says which
 * requests are recorded; outside of it a run costs what it costs without diagnostics, and makes no directory.
 *
 *     server_loop PROGRAM.so OUT [REQUESTS [FIRST LAST]]      vector_add; default: 20 requests, 5 to 7 recorded
 *
 * Then `tasklens dump OUT/request5`, `tasklens swimlane OUT/request5`, ...
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tasklens/worker.h>

enum { ELEMENTS = 256, TILES = 4, DEPTH = 2 };

/* A request has its own tensors: they are the worker's until it has been waited for. */
struct request {
    long number;
    float x[ELEMENTS], y[ELEMENTS], bias[ELEMENTS], z[ELEMENTS];
    struct tl_run *run;
};

static struct tl_host_tensor vector(const char *name, float *data, enum tl_direction role)
{
    struct tl_host_tensor t = {.name = name, .data = data, .dtype = TL_FLOAT32, .rank = 1};

    t.shape[0] = ELEMENTS;
    t.role = (uint8_t)role;
    return t;
}

static int submit(struct tl_worker *worker, struct tl_loaded *program, const char *out, struct request *r)
{
    const int64_t params[2] = {ELEMENTS, TILES};
    struct tl_run_config config = TL_RUN_CONFIG_INIT;
    struct tl_submit_opts opts = TL_SUBMIT_OPTS_INIT;
    struct tl_host_tensor tensors[4];
    struct tl_error err;
    char dir[1000];
    int rc;

    for (int i = 0; i < ELEMENTS; i++) {
        r->x[i] = (float)(r->number + i);
        r->y[i] = 1.0f;
        r->bias[i] = 0.5f;
    }
    tensors[0] = vector("x", r->x, TL_IN);
    tensors[1] = vector("y", r->y, TL_IN);
    tensors[2] = vector("bias", r->bias, TL_IN);
    tensors[3] = vector("z", r->z, TL_OUT);
    (void)snprintf(dir, sizeof(dir), "%s/request%ld", out, r->number);
    config.output_prefix = dir;
    config.levels[TL_COLLECT_DUMP] = 2;
    config.levels[TL_COLLECT_SWIMLANE] = 4;
    config.levels[TL_COLLECT_DEPS] = config.levels[TL_COLLECT_SCOPE] = true;
    opts.tensors = tensors;
    opts.n_tensors = 4;
    opts.params = params;
    opts.n_params = 2;
    opts.config = &config;
    rc = tl_worker_submit(worker, program, &opts, &r->run, &err);
    if (rc != 0)
        (void)fprintf(stderr, "request %ld is refused: %s\n", r->number, err.msg);
    return rc;
}

/* The answer of a request. A failed one is reported, and the loop goes on: its worker is whole, or says that it is not. */
static int answer(struct tl_worker *worker, struct request *r)
{
    struct tl_run_result result;
    struct tl_error err;
    int rc = tl_worker_wait(worker, r->run, &result, &err);

    r->run = NULL;
    if (rc != 0)
        (void)fprintf(stderr, "request %ld: %s\n", r->number, err.msg);
    else
        (void)printf("request %ld: %g%s%s\n", r->number, (double)r->z[0],
                     result.artifacts[0] != '\0' ? ", recorded in " : "", result.artifacts);
    return rc;
}

static int serve(struct tl_worker *worker, struct tl_loaded *program, const char *out, long requests, long first,
                 long last)
{
    static struct request slots[DEPTH];
    bool recording = true; /* a worker starts inside a window */
    int failed = 0;

    for (long i = 0; i < requests + DEPTH; i++) {
        struct request *r = &slots[i % DEPTH];
        bool wanted = i >= first && i <= last;

        if (r->run != NULL && answer(worker, r) != 0)
            failed++;
        if (i >= requests)
            continue;
        if (wanted && !recording)
            tl_worker_capture_begin(worker);
        else if (!wanted && recording)
            tl_worker_capture_end(worker);
        recording = wanted;
        r->number = i;
        if (submit(worker, program, out, r) != 0)
            failed++;
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *worker = NULL;
    struct tl_loaded *program = NULL;
    struct tl_error err;
    int failed;

    if (argc != 3 && argc != 4 && argc != 6) {
        (void)fprintf(stderr, "usage: server_loop PROGRAM.so OUT [REQUESTS [FIRST LAST]]\n");
        return 2;
    }
    opts.depth = DEPTH;
    if (tl_worker_open(&opts, &worker, &err) != 0 || tl_worker_load(worker, argv[1], &program, &err) != 0) {
        (void)fprintf(stderr, "server_loop: %s\n", err.msg);
        tl_worker_close(worker);
        return 1;
    }
    failed = serve(worker, program, argv[2], argc > 3 ? strtol(argv[3], NULL, 10) : 20,
                   argc > 5 ? strtol(argv[4], NULL, 10) : 5, argc > 5 ? strtol(argv[5], NULL, 10) : 7);
    tl_worker_close(worker);
    return failed != 0;
}
