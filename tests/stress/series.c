/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long series of runs on one worker, each with flags, levels, sizes, core counts and a program that a seed chooses,
 * some of which fail, one behind the other or several at once, submitted and waited for by one thread or by two, inside
 * and outside of windows. What each recorded is what a fresh worker records that does nothing else. Threads, mappings,
 * descriptors and memory are those of the tenth run at the end: the series begins with ten runs, the largest of each
 * kind, and comes back to the same ten before it looks again.
 *
 *     stress_series [--runs N] [--seed S] [--process] [--platform a2a3sim|a5sim] [--dir DIR]
 */
#include "series.h"
#include "series_held.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <tasklens/worker.h>

#include "base/collectors.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "host/data.h"
#include "host/params.h"

#define LARGEST 10u /* runs of a block that has the largest of each kind */
#define BLOCK 16u

static struct {
    uint64_t runs, seed;
    bool process;
    const char *platform, *dir;
} o = {200, 1, false, "a2a3sim", "/tmp"};

static char root[300];
static uint64_t now_at;

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fprintf(stderr, "stress_series --seed %" PRIu64 "%s --platform %s, run %" PRIu64 ": ", o.seed,
                  o.process ? " --process" : "", o.platform, now_at);
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    _exit(1);
}

/* ---- Chance ---- */

static uint64_t chance_state;

static uint64_t chance(uint64_t n)
{
    uint64_t z = (chance_state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % n;
}

/* ---- What a run is ---- */

enum { GOOD = 4, BAD_ARGS = GOOD, CRASH, SPIN, PROGRAMS };

static const struct kind {
    const char *name;
    uint32_t n;
    struct {
        const char *name;
        int64_t low, high; /* the largest is that of the first ten runs */
    } settings[4];
    uint64_t sure; /* tasks that are done, however it ends */
} kinds[PROGRAMS] = {
    {"vector_add", 2, {{"elements", 1, 600}, {"tiles", 1, 24}}, UINT64_MAX},
    {"bgemm", 4, {{"batch", 1, 3}, {"m", 4, 20}, {"k", 4, 20}, {"tile", 8, 8}}, UINT64_MAX},
    {"paged_attention", 2, {{"batch", 1, 3}, {"max_context", 4, 20}}, UINT64_MAX},
    {"layer", 2, {{"batch", 1, 2}, {"max_context", 4, 12}}, UINT64_MAX},
    {"bad_args", 1, {{"fault", 1, 10}}, 0},
    {"crash", 1, {{"far", 0, 1}}, 2},
    {"spin", 0, {{NULL, 0, 0}}, 2},
};

struct run {
    unsigned kind;
    bool outside; /* of the window */
    struct tl_run_config config;
    struct tl_setting settings[4];
    struct tl_data *data;
    int64_t params[64];
    char dir[400];
    struct tl_run *run;
    struct tl_run_result result;
    struct tl_error error;
    int code;
};

static const struct tl_program *programs[PROGRAMS]; /* the series' worker's */

static void choose_program(struct run *r, uint64_t i, bool largest)
{
    uint64_t roll = chance(500);

    r->kind = (unsigned)chance(GOOD);
    if (largest)
        r->kind = (unsigned)(i % GOOD);
    else if (roll < 25)
        r->kind = BAD_ARGS;
    else if (roll < 40 && o.process)
        r->kind = CRASH;
    else if (roll < 41 && o.process)
        r->kind = SPIN;
    for (uint32_t k = 0; k < kinds[r->kind].n; k++) {
        const int64_t low = kinds[r->kind].settings[k].low, high = kinds[r->kind].settings[k].high;

        r->settings[k].name = kinds[r->kind].settings[k].name;
        r->settings[k].value = largest ? high : low + (int64_t)chance((uint64_t)(high - low + 1));
    }
    if (r->kind == BAD_ARGS && r->settings[0].value == 6)
        r->settings[0].value = 7; /* a fault at two of the dump's levels only */
}

static void choose_config(struct run *r, uint64_t i, bool largest)
{
    static const uint32_t records[] = {16, 64, 128}, buffers[] = {4, 8}, avg[] = {256, 1024};
    struct tl_run_config *c = &r->config;

    *c = (struct tl_run_config)TL_RUN_CONFIG_INIT;
    c->runtime = (largest ? i / GOOD % 2 : chance(2)) ? "host_build_graph" : "tensormap_and_ringbuffer";
    c->levels[TL_COLLECT_DUMP] = largest ? 2 : chance(3) ? (int)chance(4) : 0;
    c->levels[TL_COLLECT_SWIMLANE] = largest ? 4 : chance(3) ? (int)chance(5) : 0;
    c->levels[TL_COLLECT_PMU] = largest ? 2 : chance(2) ? 1 + (int)chance(2) : 0;
    c->levels[TL_COLLECT_DEPS] = largest || chance(2);
    c->levels[TL_COLLECT_SCOPE] = largest || chance(2);
    c->levels[TL_COLLECT_TRAFFIC] = largest || chance(2);
    c->block_dim = chance(3) ? 0 : 1 + (unsigned)chance(24);
    c->aicpu_threads = largest || chance(3) ? 0 : 2 + (unsigned)chance(3);
    if (c->block_dim != 0 && c->aicpu_threads > c->block_dim + 1)
        c->aicpu_threads = c->block_dim + 1;
    if (largest)
        c->block_dim = 0;
    c->dfx_records = largest ? 128 : records[chance(3)];
    c->dfx_buffers = largest ? 8 : buffers[chance(2)];
    c->dfx_avg_bytes = largest ? 1024 : avg[chance(2)];
    c->guard = !largest && chance(8) == 0 ? 1u << chance(8) : 0;
    c->task_window = !largest && chance(3) == 0 ? 1024 : 0;
    c->heap_bytes = !largest && chance(4) == 0 ? UINT64_C(1) << 20 : UINT64_C(4) << 20;
    if (chance(2))
        c->dump_hash_off = true;
    r->outside = !largest && chance(8) == 0;
}

static bool records(const struct run *r)
{
    const struct tl_run_config *c = &r->config;

    return !r->outside && tl__levels_first(c->levels) >= 0;
}

static void make_data(struct run *r)
{
    const struct tl_param_request request = {.settings = r->settings, .n_settings = kinds[r->kind].n};
    const char *case_name;
    struct tl_error err = {.msg = ""};

    if (tl__params_resolve(programs[r->kind], &request, r->params, &case_name, &err) != 0 ||
        tl__data_create(programs[r->kind], r->params, &r->data, &err) != 0 || tl__data_prepare(r->data, &err) != 0 ||
        tl__data_remember(r->data, &err) != 0)
        wrong("%s", err.msg);
}

/* The `i`-th run of a block. */
static void choose(struct run *r, uint64_t i, bool largest)
{
    memset(r, 0, sizeof(*r));
    choose_program(r, i, largest);
    choose_config(r, i, largest);
    (void)snprintf(r->dir, sizeof(r->dir), "%s/%" PRIu64, root, now_at + i);
    r->config.output_prefix = r->dir;
    make_data(r);
}

/* ---- Workers ---- */

struct house {
    struct tl_worker *worker;
    struct tl_loaded *loaded[PROGRAMS];
};

static void load(struct house *h, unsigned kind)
{
    struct tl_error err;
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/examples/%s.so", TL_TEST_BINARY_DIR, kinds[kind].name);
    if (tl_worker_load(h->worker, path, &h->loaded[kind], &err) != 0)
        wrong("%s", err.msg);
}

static void open_house(struct house *h)
{
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_error err;

    memset(h, 0, sizeof(*h));
    opts.mode = o.process ? TL_DEVICE_PROCESS : TL_DEVICE_THREAD;
    opts.platform = o.platform;
    opts.memory_bytes = UINT64_C(256) << 20;
    opts.sim_threads = 2;
    opts.dfx_threads = 1 + (unsigned)(o.seed % 2);
    opts.depth = 1 + (unsigned)(o.seed % 4);
    if (tl_worker_open(&opts, &h->worker, &err) != 0)
        wrong("%s", err.msg);
}

static void submit(struct house *h, struct run *r)
{
    const struct tl_submit_opts opts = {.struct_size = sizeof(opts),
                                        .tensors = tl__data_tensors(r->data),
                                        .n_tensors = tl__data_count(r->data),
                                        .params = r->params,
                                        .n_params = programs[r->kind]->n_params,
                                        .config = &r->config};

    if (r->outside)
        tl_worker_capture_end(h->worker);
    r->code = tl_worker_submit(h->worker, h->loaded[r->kind], &opts, &r->run, &r->error);
    if (r->outside)
        tl_worker_capture_begin(h->worker);
    if (r->code != 0)
        wrong("%s is refused: %s", kinds[r->kind].name, r->error.msg);
}

static void await(struct house *h, struct run *r)
{
    r->code = tl_worker_wait(h->worker, r->run, &r->result, &r->error);
}

/* ---- What came of it ---- */

static void tell(const struct run *r, char *text, size_t size)
{
    const struct tl_run_config *c = &r->config;

    (void)snprintf(text, size,
                   "%s on %s, dump %d, swimlane %d, pmu %d, deps %d, scopes %d, traffic %d%s, block_dim %u, threads "
                   "%u, records %u, "
                   "buffers %u, avg %" PRIu64 ", guard %u, window %u, heap %" PRIu64,
                   kinds[r->kind].name, c->runtime, c->levels[TL_COLLECT_DUMP], c->levels[TL_COLLECT_SWIMLANE],
                   c->levels[TL_COLLECT_PMU], c->levels[TL_COLLECT_DEPS], c->levels[TL_COLLECT_SCOPE],
                   c->levels[TL_COLLECT_TRAFFIC], r->outside ? " (outside the window)" : "", c->block_dim,
                   c->aicpu_threads, c->dfx_records, c->dfx_buffers, c->dfx_avg_bytes, c->guard, c->task_window,
                   c->heap_bytes);
}

static void outcome(const struct run *r, struct canon *c)
{
    const uint64_t sure = kinds[r->kind].sure;
    char what[400];

    memset(c, 0, sizeof(*c));
    tell(r, what, sizeof(what));
    canon_line(c, "result %s, %s", tl_errname(r->result.run_code), tl_errname(r->result.record_code));
    if ((r->code != 0) != (r->kind >= GOOD) || r->result.record_code != 0)
        wrong("%s: %s", what, r->error.msg);
    if (sure == UINT64_MAX)
        canon_line(c, "result %" PRIu64 " tasks", r->result.tasks);
    for (uint32_t i = 0; i < tl__data_count(r->data) && sure == UINT64_MAX; i++) {
        const unsigned char *data = tl__data_tensors(r->data)[i].data;
        uint64_t hash = UINT64_C(1469598103934665603);

        for (uint64_t k = 0; k < tl__data_bytes(r->data, i); k++)
            hash = (hash ^ data[k]) * UINT64_C(1099511628211);
        canon_line(c, "tensor %u %016" PRIx64, i, hash);
    }
    if (strcmp(r->result.artifacts, records(r) ? r->dir : "") != 0)
        wrong("%s: artifacts are in \"%s\"", what, r->result.artifacts);
    if (records(r))
        canon_of_dir(c, r->dir, sure);
    else if (access(r->dir, F_OK) == 0)
        wrong("%s: it left something in %s", what, r->dir);
    if (c->bad)
        wrong("%s: %s", what, c->fault);
    canon_end(c);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_dir(const char *dir)
{
    (void)nftw(dir, remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

/* The same on a worker of its own. */
static void alone(const struct run *r, struct canon *c)
{
    struct house h;
    struct run again = *r;

    (void)snprintf(again.dir, sizeof(again.dir), "%s/alone", root);
    again.config.output_prefix = again.dir;
    memset(&again.result, 0, sizeof(again.result));
    make_data(&again);
    open_house(&h);
    load(&h, r->kind);
    submit(&h, &again);
    await(&h, &again);
    tl_worker_close(h.worker);
    outcome(&again, c);
    tl__data_destroy(again.data);
    remove_dir(again.dir);
}

static struct {
    uint64_t failed, overlapped, two, outside, recorded, lines;
} totals;
static uint64_t ended_cycles; /* of the last run that has a swimlane */

static void check(struct run *r)
{
    struct canon here, there;
    char text[2400], what[400];

    outcome(r, &here);
    alone(r, &there);
    tell(r, what, sizeof(what));
    if (canon_differ(&here, &there, text, sizeof(text)))
        wrong("%s: %s", what, text);
    /* Runs are on the device one after the other, and its clock runs on; a new chip has a new one. */
    if (here.first_cycles != 0 && here.first_cycles < ended_cycles)
        wrong("%s: its swimlane starts at %" PRIu64 ", and the run before it ended at %" PRIu64, what,
              here.first_cycles, ended_cycles);
    if (here.last_cycles != 0)
        ended_cycles = here.last_cycles;
    if (r->kind == CRASH || r->kind == SPIN)
        ended_cycles = 0;
    totals.failed += r->code != 0;
    totals.outside += r->outside;
    totals.recorded += records(r);
    totals.lines += here.count;
    canon_free(&here);
    canon_free(&there);
    tl__data_destroy(r->data);
    remove_dir(r->dir);
}

/* ---- A block of runs ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct house *house;
    struct run *runs;
    uint64_t n, submitted;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void *await_all(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < shared.n; i++) {
        (void)pthread_mutex_lock(&shared.lock);
        while (shared.submitted <= i)
            (void)pthread_cond_wait(&shared.moved, &shared.lock);
        (void)pthread_mutex_unlock(&shared.lock);
        await(shared.house, &shared.runs[i]);
    }
    return NULL;
}

static void by_two_threads(struct house *h, struct run *runs, uint64_t n)
{
    pthread_t waiter;

    shared.house = h;
    shared.runs = runs;
    shared.n = n;
    shared.submitted = 0;
    if (pthread_create(&waiter, NULL, await_all, NULL) != 0)
        wrong("no thread");
    for (uint64_t i = 0; i < n; i++) {
        submit(h, &runs[i]);
        (void)pthread_mutex_lock(&shared.lock);
        shared.submitted = i + 1;
        (void)pthread_cond_signal(&shared.moved);
        (void)pthread_mutex_unlock(&shared.lock);
    }
    (void)pthread_join(waiter, NULL);
    totals.two += n;
}

/* Submits and waits as chance has it, for whichever run is open. */
static void by_one_thread(struct house *h, struct run *runs, uint64_t n)
{
    struct run *open[4];
    uint64_t n_open = 0, next = 0;

    while (next < n || n_open > 0) {
        if (next < n && n_open < 4 && (n_open == 0 || chance(3) != 0)) {
            open[n_open++] = &runs[next];
            submit(h, &runs[next++]);
            totals.overlapped += n_open > 1;
        } else {
            uint64_t i = chance(n_open);

            await(h, open[i]);
            open[i] = open[--n_open];
        }
    }
}

static void block(struct house *h, uint64_t n, bool largest)
{
    static struct run runs[BLOCK];

    for (uint64_t i = 0; i < n; i++)
        choose(&runs[i], i, largest);
    if (!largest && chance(3) == 0)
        by_two_threads(h, runs, n);
    else
        by_one_thread(h, runs, n);
    for (uint64_t i = 0; i < n; i++, now_at++)
        check(&runs[i]);
}

/* ---- What the process holds ---- */

/* After the same ten runs as `a`. */
static void flat(const char *who, const struct held *a, const struct held *b)
{
    if (held_grew(a, b))
        wrong("the %s holds more than after run %u", who, LARGEST);
}

/* What is held now, and that it is no more than what was held at the first look. */
static void look(void)
{
    static struct held host, chip;
    struct held now;

    held_by_host(&now);
    held_show(now_at, "host", &now);
    if (host.threads == 0)
        host = now;
    flat("host", &host, &now);
    if (!o.process)
        return;
    held_by_chip(&now);
    held_show(now_at, "chip", &now);
    if (chip.threads == 0)
        chip = now;
    flat("chip", &chip, &now);
}

/* ---- The series ---- */

static void quiet(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static void options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--process") == 0) {
            o.process = true;
            continue;
        }
        if (strcmp(argv[i], "--runs") == 0)
            o.runs = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--platform") == 0)
            o.platform = value;
        else if (strcmp(argv[i], "--dir") == 0)
            o.dir = value;
        else
            wrong("unknown option %s", argv[i]);
        i++;
    }
}

int main(int argc, char **argv)
{
    struct house h;
    uint64_t from = tl__now_ns();

    options(argc, argv);
    chance_state = o.seed;
    (void)snprintf(root, sizeof(root), "%.200s/tasklens-series-XXXXXX", o.dir);
    if (mkdtemp(root) == NULL)
        wrong("no directory in %s", o.dir);
    (void)setenv("TASKLENS_SCHEDULER_TIMEOUT_MS", "2000", 1);
    /* Whether a stack's first page is one of 2 MiB depends on where it came to lie: it would hide what is looked for.
     */
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    tl_log_set_sink(quiet, NULL);
    open_house(&h);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        load(&h, i);
        programs[i] = tl_loaded_program(h.loaded[i]);
    }
    block(&h, LARGEST, true);
    look();
    for (uint64_t next = 10 * LARGEST; now_at < o.runs; next *= 10) {
        uint64_t until = next < o.runs ? next : o.runs;

        while (now_at + LARGEST < until)
            block(&h, until - LARGEST - now_at < BLOCK ? until - LARGEST - now_at : BLOCK, false);
        block(&h, LARGEST, true);
        look();
    }
    tl_worker_close(h.worker);
    remove_dir(root);
    (void)printf("%" PRIu64 " runs in %.1f s: %" PRIu64 " recorded, %" PRIu64 " failed, %" PRIu64
                 " outside a window, %" PRIu64 " beside another, %" PRIu64 " by two threads; %" PRIu64
                 " lines compared\n",
                 o.runs, (double)(tl__now_ns() - from) / 1e9, totals.recorded, totals.failed, totals.outside,
                 totals.overlapped, totals.two, totals.lines);
    return 0;
}
