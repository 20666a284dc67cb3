/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orchestrator's own lane when something stops: it waits for a slow host without holding up the chip, and it has
 * its end mark after a hang even if the orchestration's thread never comes back, from the program's code or from a
 * kernel that it ran while it waited for room in that very lane. Usage: test [FIRST_SEED [SEEDS]].
 */
#include <dirent.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "artifact/dfx_meta.h"
#include "base/atomic.h"
#include "base/env_controlled.h"
#include "collect/engine_impl.h"
#include "host/worker_impl.h"
#include "wire/parked.h"
#include "support/capture.h"
#include "support/seeds.h"
#include "support/swim_rules.h"
#include "support/scratch.h"
#include "support/submit_opts.h"

#define TASKS 24u
#define DEFAULT_SEEDS 60u
#define MS UINT64_C(1000000)

enum { FUNC_STEP, FUNC_STUCK };

/* What one run does. */
enum way {
    WAY_SLOW_HOST,    /* ends well */
    WAY_LOOPS,        /* the orchestration submits, then loops for ever; a kernel never returns */
    WAY_STUCK_INSIDE, /* the orchestrator's thread, alone, waits for room and gets stuck in a kernel */
    WAY_LIES          /* a kernel never returns, and writes into the device's count of parked time */
};

static tl_au32 release;  /* 1: whoever is stuck may go */
static tl_au32 finished; /* submits that have returned; writer: orchestrator */
static tl_task_id ids[TASKS];
static enum way way;

static struct tl_worker *worker;

static void stand_still(void)
{
    while (tl_load_acq(&release) == 0) /* pairs with the end of body */
        tl__controlled_sleep(10 * MS);
}

static void step(const struct tl_kernel_args *k)
{
    TL_DATA(k, 0, uint64_t)[0]++;
}

/* As a stray write: for who believes it, some lane waits for the host from now on. */
static void lie(void)
{
    const uint64_t at = worker->engine->region_addr + offsetof(struct tl_dfx_header, parked);
    struct tl_dfx_header h;
    uint64_t word = 0;

    assert_int_equal(tl__chip_word(worker->chip, at, &word), 0);
    tl_store_rlx(&h.parked, word);
    tl__parked_enter(&h, tl__now_ns());
    assert_int_equal(tl__chip_store(worker->chip, at, tl_load_rlx(&h.parked)), 0);
}

static void stuck(const struct tl_kernel_args *k)
{
    (void)k;
    if (way == WAY_LIES)
        lie();
    stand_still();
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_STEP, "step", TL_AIV, step, TL_INOUT),
    TL_KERNEL(FUNC_STUCK, "stuck", TL_AIC, stuck, TL_INOUT),
};

/* Independent tasks, so that whatever can run is run. */
static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;
        struct tl_tensor word;
        uint32_t one = 1;

        tl__controlled_check(tl_view(&in->tensors[0], &i, &one, &word) == 0);
        tl_add_inout(&args, &word);
        ids[i] =
            i == 2 && way != WAY_SLOW_HOST ? tl_submit_aic(o, FUNC_STUCK, &args) : tl_submit_aiv(o, FUNC_STEP, &args);
        if (ids[i] == TL_NO_TASK)
            break; /* a hang was declared meanwhile */
        tl_store_rel(&finished, i + 1);
    }
    if (way == WAY_LOOPS)
        stand_still();
}

static const struct tl_program program = CAPTURE_PROGRAM("orch_lane", kernels, orchestrate);

static struct capture c;
static unsigned sim_threads;
static uint64_t waited; /* seeds whose run waited for its host */

static void body(void *arg)
{
    static uint64_t words[TASKS];
    struct tl_host_tensor tensor = capture_row("words", TL_INOUT, TL_UINT64, words, TASKS);
    struct tl_loaded *loaded;

    (void)arg;
    tl__controlled_check(capture_worker(&c, sim_threads, 1, &program, &worker, &loaded) == 0);
    c.code = tl_worker_run(worker, loaded, SUBMIT_OPTS(&tensor, 1, NULL, 0, &c.config), &c.result, &c.error);
    tl_worker_close(worker);
    tl_store_rel(&release, 1u); /* pairs with stand_still */
    if (way != WAY_SLOW_HOST)
        tl__controlled_kill("tl-"); /* a stuck chip stays, and nobody joins it */
}

static uint64_t stream_of(const char *name, const char *figure)
{
    static struct tl_meta meta;

    assert_int_equal(tl__meta_read(c.dir, &meta, NULL), 0);
    for (uint32_t i = 0; i < meta.stream_count; i++)
        if (strcmp(meta.streams[i].name, name) == 0)
            return figure[0] == 'a' ? meta.streams[i].attempted : meta.streams[i].collected;
    fail_msg("no stream %s", name);
    return 0;
}

/* Submits in order, from the first on; at least those that had returned. */
static void check_submits(void)
{
    const uint32_t returned = tl_load_acq(&finished);
    struct tl_swimlane s;
    struct tl_error err = {0};
    char path[220];

    (void)snprintf(path, sizeof(path), "%s/%s", c.dir, TL_SWIMLANE_NAME);
    if (tl__swimlane_read(path, &s, &err) != 0)
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < s.n_orchs; i++) {
        assert_int_equal(s.orchs[i].submit_idx, i);
        assert_true(s.orchs[i].task_id == ids[i]);
    }
    assert_int_equal(s.n_orchs, stream_of("swim_submits", "collected"));
    assert_int_equal(s.n_orchs, stream_of("swim_submits", "attempted"));
    /* The one that it waited with is there, although it never came back from the wait. */
    assert_true(s.n_orchs == returned || (way != WAY_SLOW_HOST && s.n_orchs == returned + 1));
    tl__swimlane_fini(&s);
}

static void one_seed(unsigned cell, uint64_t seed)
{
    static struct tl_controlled_report report;
    char faults[120];
    struct tl_controlled_opts opts = {.seed = seed, .faults = faults, .stack_bytes = 1 << 20};

    capture_begin(&c, cell, 0);
    (void)snprintf(c.dir, sizeof(c.dir), "%s/run", scratch(true));
    c.config.levels[TL_COLLECT_SWIMLANE] = 4;
    c.config.block_dim = 2;
    c.config.aicpu_threads = 3;
    c.config.task_window = 64;
    c.config.dep_pool = 256;
    c.config.heap_bytes = 1 << 18;
    c.config.dfx_records = 1 + (uint32_t)(seed % 2);
    c.config.dfx_buffers = 2;
    sim_threads = way == WAY_STUCK_INSIDE ? 1 : 1 + (unsigned)(seed % 3);
    tl_store_rlx(&release, 0u);
    tl_store_rlx(&finished, 0u);
    /* The host stops somewhere among the records, for less than it takes to be dead. */
    (void)snprintf(faults, sizeof(faults), "freeze.host-collect@%u=9000000000", 3000 + (unsigned)(seed * 97 % 6000));
    if (tl__controlled_run(&opts, body, NULL, &report) != 0)
        fail_msg("%s", report.text);
    if (c.code != (way == WAY_SLOW_HOST ? 0 : way == WAY_LIES ? TL_ETIMEDOUT : TL_EHANG))
        fail_msg("seed %llu: %d: %s", (unsigned long long)seed, c.code, c.error.msg);
    if (way == WAY_SLOW_HOST) {
        assert_int_equal(report.allocs_live, 0);
        waited += c.result.parked_ns > 1000 * MS;
    }
    if (way != WAY_LIES)
        check_submits();
    capture_end(&c);
}

/* A chip that is stuck keeps its memory, for the thread in it; here that is gone with its seed. */
static void unmap_stuck_chip(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    struct {
        unsigned long from, to;
    } of[8];
    unsigned n = 0;
    char line[400];

    assert_non_null(maps);
    while (n < 8 && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, "/memfd:tasklens-") != NULL && sscanf(line, "%lx-%lx", &of[n].from, &of[n].to) == 2)
            n++;
    (void)fclose(maps);
    while (n-- > 0)
        (void)munmap((void *)of[n].from, of[n].to - of[n].from);
}

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

/* No seed leaves a descriptor behind. */
static void sweep(enum way what, unsigned step_of_cells)
{
    unsigned files = 0;

    way = what;
    waited = 0;
    for (seed_now = first_seed; seed_now < first_seed + seeds; seed_now++) {
        one_seed((unsigned)(seed_now * step_of_cells % CAPTURE_CELLS), seed_now);
        unmap_stuck_chip();
        files = files == 0 ? open_files() : files;
        assert_int_equal(open_files(), files);
    }
    seed_now = 0;
}

static void it_waits_for_a_slow_host(void **state)
{
    (void)state;
    sweep(WAY_SLOW_HOST, 1);
    assert_true(waited > seeds / 4); /* else it had no need to wait */
}

static void a_hang_while_the_orchestration_loops(void **state)
{
    (void)state;
    sweep(WAY_LOOPS, 2); /* a graph that is built first has no task that could hang meanwhile */
}

static void a_hang_inside_the_wait_for_room(void **state)
{
    (void)state;
    sweep(WAY_STUCK_INSIDE, 2);
}

/* The device goes by its own word and declares no hang; the host's budget ends the run, a minute later than else. */
static void a_lie_about_parked_time_ends_too(void **state)
{
    (void)state;
    sweep(WAY_LIES, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test_teardown(it_waits_for_a_slow_host, say_seed),
        cmocka_unit_test_teardown(a_hang_while_the_orchestration_loops, say_seed),
        cmocka_unit_test_teardown(a_hang_inside_the_wait_for_room, say_seed),
        cmocka_unit_test_teardown(a_lie_about_parked_time_ends_too, say_seed),
    };

    seeds_from(argc, argv, DEFAULT_SEEDS, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
