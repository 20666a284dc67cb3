/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that make no progress: a kernel that never returns, at each level on each arch, runtime and device mode; rings
 * too small for a scope; a chip that is killed while it hands over what it has; and budgets that parked time does not
 * use up. Runs of one kind stand side by side, because each of them waits for its budget.
 */
#include "unit/artifact_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <tasklens/recording.h>

#include "artifact/dfx_meta.h"
#include "artifact/swimlane.h"
#include "scene/process.h"

#define ELEMENTS 64u
#define BUDGET_MS 1000
#define SLACK_MS 40000

static const char *const platforms[] = {"a2a3sim", "a5sim"};
static const char *const runtimes[] = {"tensormap_and_ringbuffer", "host_build_graph"};
static const char *const modes[] = {"process", "thread"};

/* --- commands side by side -----------------------------------------------------------------------------------------
 */

struct job {
    pid_t pid;
    char name[40]; /* of its recording; what it says is in NAME.out and NAME.err */
    uint64_t began_ms;
};

static uint64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static char *output, *message; /* of the last one that ended */

/* Starts `tasklens run hangs.so WORDS --out NAME` with VARIABLES. */
static void start(struct job *j, const char *variables, const char *words)
{
    char command[1800];

    (void)snprintf(command, sizeof(command),
                   "cd '%s' && exec env %s '%s/tasklens' run '%s/tests/hangs.so' %s --out %s >%s.out 2>%s.err",
                   fixture_dir, variables, TL_TEST_BINARY_DIR, TL_TEST_BINARY_DIR, words, j->name, j->name, j->name);
    j->began_ms = now_ms();
    j->pid = fork();
    assert_true(j->pid >= 0);
    if (j->pid != 0)
        return;
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(99);
}

/* Waits for it; what it said is in `output` and `message`. Returns how long it took. */
static uint64_t finish(const struct job *j, int code)
{
    char name[64];
    int status;

    assert_int_equal(waitpid(j->pid, &status, 0), j->pid);
    free(output);
    free(message);
    (void)snprintf(name, sizeof(name), "%s.out", j->name);
    output = fixture_read(name, NULL);
    (void)snprintf(name, sizeof(name), "%s.err", j->name);
    message = fixture_read(name, NULL);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
        fail_msg("%s: status %x, not exit code %d; it said: %s", j->name, status, code, message);
    return now_ms() - j->began_ms;
}

static void expect_said(const char *text)
{
    if (strstr(message, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, message);
}

static void expect_not_said(const char *text)
{
    if (strstr(message, text) != NULL)
        fail_msg("\"%s\" in: %s", text, message);
}

/* --- recordings ----------------------------------------------------------------------------------------------------
 */

static struct tl_recording *open_verified(const char *dir)
{
    struct tl_dump_verdict verdict;
    struct tl_recording *r;
    struct tl_error err = {.msg = ""};
    char name[96];

    if (tl_recording_open(fixture_path(dir), &r, &err) != 0)
        fail_msg("%s", err.msg);
    if (tl_recording_verify(r, &verdict) != 0)
        fail_msg("%s: %s", dir, verdict.first_fault);
    assert_int_equal(verdict.unhashed, 0);
    (void)snprintf(name, sizeof(name), "%s/run.journal", dir);
    assert_int_equal(access(fixture_path(name), F_OK), -1);
    return r;
}

static uint64_t find(const struct tl_recording *r, uint64_t task, unsigned stage, unsigned arg)
{
    for (uint64_t i = 0; i < tl_recording_count(r); i++) {
        const struct tl_dump_record *d = tl_recording_at(r, i);

        if (d->task_id == task && d->stage == stage && d->arg_index == arg)
            return i;
    }
    return UINT64_MAX;
}

/* Element `i` of what task `task` reads: of the program's input, 2.5 more a task. */
static float value_of(uint64_t task, uint32_t i)
{
    return (float)(i % 1024) + 2.5f * (float)task;
}

/* The tensor record that must be there, with a payload of `n` elements or none, the first `known` of them as said. */
static void expect_tensor(const struct tl_recording *r, uint64_t task, unsigned stage, unsigned arg, uint64_t n,
                          uint64_t known)
{
    uint64_t at = find(r, task, stage, arg);
    const struct tl_dump_record *d;
    const void *data;

    if (at == UINT64_MAX)
        fail_msg("no record of task %llu, %s, argument %u", (unsigned long long)task, tl_stage_name(stage), arg);
    d = tl_recording_at(r, at);
    assert_int_equal(d->role, stage == TL_STAGE_AFTER ? TL_ROLE_OUTPUT : TL_ROLE_INPUT);
    assert_int_equal(d->bin_size, n * sizeof(float));
    assert_int_equal((d->flags & TL_ARG_PARTIAL) != 0, task == 2 && stage == TL_STAGE_AFTER);
    assert_false(d->flags & (TL_ARG_LOST | TL_ARG_TRUNCATED));
    assert_int_equal(tl_recording_payload(r, at, &data, NULL), 0);
    for (uint32_t i = 0; i < known; i++) {
        float want = arg == 1 ? 2.0f : value_of(task + (arg == 2), i);

        assert_memory_equal((const char *)data + i * sizeof(want), &want, sizeof(want));
    }
}

/* --- a kernel that never returns ------------------------------------------------------------------------------------
 */

/* Three tasks have started, two have finished, one runs. */
static void expect_hung_recording(const char *dir, int level)
{
    struct tl_recording *r = open_verified(dir);
    static struct tl_meta meta;
    const uint64_t side = level == 2 ? ELEMENTS : 0;

    assert_int_equal(tl_recording_count(r), 3 * (level == 1 ? 3 : 4));
    for (uint64_t task = 0; task < 3; task++) {
        const struct tl_dump_record *scalar;

        expect_tensor(r, task, TL_STAGE_BEFORE, 0, ELEMENTS, ELEMENTS);
        if (level > 1)
            expect_tensor(r, task, TL_STAGE_BEFORE, 1, side, side);
        expect_tensor(r, task, TL_STAGE_AFTER, 2, ELEMENTS, task == 2 ? ELEMENTS / 2 : ELEMENTS);
        assert_true(find(r, task, TL_STAGE_BEFORE, 3) != UINT64_MAX);
        scalar = tl_recording_at(r, find(r, task, TL_STAGE_BEFORE, 3));
        assert_int_equal(scalar->kind, TL_KIND_SCALAR);
        assert_int_equal(scalar->value_bits, 0x3f000000); /* 0.5 */
        assert_int_equal(scalar->func_id[0], task == 2);
    }
    tl_recording_close(r);
    assert_int_equal(tl__meta_read(fixture_path(dir), &meta, NULL), 0);
    assert_string_equal(meta.status, "TL_EHANG");
    assert_int_equal(meta.tasks, 2);
    assert_int_equal(meta.streams[0].attempted, 3 * (level == 1 ? 3 : 4));
    assert_int_equal(meta.streams[0].collected, meta.streams[0].attempted);
}

/* Two subtasks with an end, and the one that runs without. */
static void expect_hung_swimlane(const char *dir)
{
    struct tl_swimlane lane;
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/%s", fixture_path(dir), TL_SWIMLANE_NAME);
    assert_int_equal(tl__swimlane_read(path, &lane, NULL), 0);
    assert_int_equal(lane.n_cores, 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(lane.cores[i].end_cycles == 0, lane.cores[i].task_id == 2);
        assert_true(lane.cores[i].start_cycles != 0);
        assert_int_equal(lane.aicpus[i].finish_cycles == 0, lane.cores[i].task_id == 2);
    }
    tl__swimlane_fini(&lane);
}

static void expect_hung_lines(void)
{
    expect_said("[STALL] task r0t2 \"stuck\" RUNNING on AIV core ");
    expect_said(": its kernel does not return; args: 0 in float32[64], 1 in float32[64], 2 out float32[64], 3 0.5");
    expect_said("[STALL] task r0t3 \"add\" WAITING for r0t2; args: ");
    expect_said("[STALL] task r0t4 \"add\" WAITING for r0t3; args: ");
    expect_said("tasklens run: no progress for ");
    expect_said(" s with 3 of 5 tasks unfinished: task r0t2");
    expect_not_said("deadlocked");
    expect_not_said("acknowledge");
}

static void expect_no_dump(const char *dir)
{
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/args_dump", fixture_path(dir));
    assert_int_equal(access(path, F_OK), -1);
}

static void at_level(int level)
{
    static const char variables[] = "TASKLENS_SCHEDULER_TIMEOUT_MS=2000";
    struct job jobs[8];
    char words[200];

    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "hang%d-%u", level, i);
        (void)snprintf(
            words, sizeof(words),
            "-p %s --runtime %s --device-mode %s --dump-args %d --enable-chip-swimlane 2 --dfx-set avg-bytes=4K",
            platforms[i & 1], runtimes[i >> 1 & 1], modes[i >> 2], level);
        start(&jobs[i], variables, words);
    }
    for (unsigned i = 0; i < 8; i++) {
        uint64_t took = finish(&jobs[i], 3);

        assert_in_range(took, BUDGET_MS, BUDGET_MS + SLACK_MS);
        expect_hung_lines();
        expect_hung_swimlane(jobs[i].name);
        if (level > 0)
            expect_hung_recording(jobs[i].name, level);
        else
            expect_no_dump(jobs[i].name);
    }
}

static void a_kernel_that_never_returns(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level++)
        at_level(level);
}

/* The host's own budgets, where the schedulers' is longer: the device is taken away, what it had is there. */
static void the_host_gives_up(void **state)
{
    static const char *const variables[] = {"TASKLENS_OP_EXECUTE_TIMEOUT_US=1000000",
                                            "SIMPLER_STREAM_SYNC_TIMEOUT_MS=1000"};
    struct job jobs[8];
    char words[200];

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "host%u", i);
        (void)snprintf(words, sizeof(words), "-p %s --runtime %s --dump-args 2 --dfx-set avg-bytes=4K",
                       platforms[i & 1], runtimes[i >> 1 & 1]);
        start(&jobs[i], variables[i >> 2], words);
    }
    for (unsigned i = 0; i < 8; i++) {
        struct tl_recording *r;

        assert_in_range(finish(&jobs[i], 3), BUDGET_MS, BUDGET_MS + SLACK_MS);
        expect_said(i < 4 ? "op-execute timeout (TASKLENS_OP_EXECUTE_TIMEOUT_US)"
                          : "stream-sync timeout (TASKLENS_STREAM_SYNC_TIMEOUT_MS)");
        expect_said("2 of ");
        expect_said(" tasks retired; the run lasted ");
        expect_not_said("the orchestration"); /* it has returned */
        expect_not_said("[STALL]");
        r = open_verified(jobs[i].name);
        assert_int_equal(tl_recording_count(r), 3 * 4 - 1); /* nobody recorded how far the third had come */
        for (uint64_t task = 0; task < 3; task++) {
            expect_tensor(r, task, TL_STAGE_BEFORE, 0, ELEMENTS, ELEMENTS);
            expect_tensor(r, task, TL_STAGE_BEFORE, 1, ELEMENTS, ELEMENTS);
            if (task < 2)
                expect_tensor(r, task, TL_STAGE_AFTER, 2, ELEMENTS, ELEMENTS);
        }
        tl_recording_close(r);
    }
}

/* --- an orchestration that never returns ----------------------------------------------------------------------------
 */

/* It is said of it, after how many submits, and in the time that has really passed. */
static void an_orchestration_that_never_returns(void **state)
{
    struct job jobs[8];
    char words[200];

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "loops%u", i);
        (void)snprintf(words, sizeof(words),
                       "-p %s --runtime %s --device-mode %s --set stuck=0 --set loop=1 --dump-args 2", platforms[i & 1],
                       runtimes[i >> 1 & 1], modes[i >> 2]);
        start(&jobs[i], "TASKLENS_SCHEDULER_TIMEOUT_MS=500 TASKLENS_OP_EXECUTE_TIMEOUT_US=1000000", words);
    }
    for (unsigned i = 0; i < 8; i++) {
        const uint64_t took = finish(&jobs[i], 3);
        const char *launched;

        assert_in_range(took, BUDGET_MS, BUDGET_MS + SLACK_MS);
        expect_said("the orchestration did not return: it submitted 5 tasks, ");
        expect_said((i >> 1 & 1) != 0 ? "none of which runs before it returns" : "all of which are done");
        expect_said("the op-execute timeout (TASKLENS_OP_EXECUTE_TIMEOUT_US) ended the run ");
        launched = strstr(message, "ended the run ") + strlen("ended the run ");
        assert_true(strtod(launched, NULL) * 1000 >= BUDGET_MS && strtod(launched, NULL) * 1000 <= (double)took + 100);
    }
}

/* The rings are full long since, and it submits on: both are said, and the device is not waited for until its budget.
 */
static void an_orchestration_that_submits_without_end(void **state)
{
    struct job jobs[4];
    char words[200];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "submits%u", i);
        (void)snprintf(words, sizeof(words),
                       "--runtime %s --device-mode %s --set stuck=0 --set loop=2 --task-window 64 --dump-args 2",
                       runtimes[i & 1], modes[i >> 1]);
        start(&jobs[i], "TASKLENS_OP_EXECUTE_TIMEOUT_US=1000000000 TASKLENS_STREAM_SYNC_TIMEOUT_MS=1000000", words);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_in_range(finish(&jobs[i], 3), 2000, 2000 + SLACK_MS);
        expect_said("task window of ring 0 is full: 64 of 64 slots used, 1 more needed");
        expect_said("; the orchestration did not return after that: submits still go on, ");
        expect_said(
            " of them refused so far; the limit of 2 s for an orchestration whose run has failed ended the run ");
    }
}

/* --- rings that are full --------------------------------------------------------------------------------------------
 */

/* One scope holds eight tasks, the window four: not a hang, and said at once. An image says what to set, too. */
static void a_window_too_small_for_a_scope(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct job j;
        struct tl_recording *r;
        char words[200];
        bool image = i >> 1 & 1;

        (void)snprintf(j.name, sizeof(j.name), "full%u", i);
        (void)snprintf(words, sizeof(words),
                       "-p %s --runtime %s --device-mode %s --set stuck=0 --set tasks=8 --task-window 4 --dump-args 2",
                       platforms[i & 1], runtimes[image], modes[i >> 2]);
        start(&j, "TASKLENS_SCHEDULER_TIMEOUT_MS=20000", words);
        assert_in_range(finish(&j, image ? 2 : 3), 0, SLACK_MS);
        expect_said("task window of ring 0 is full: 4 of 4 slots used, 1 more needed; ");
        expect_said(image ? "nothing is given back before the run; set --task-window to at least 8, which holds this "
                            "task; later ones may need more"
                          : "the oldest task in it, r0t0, is held by the open scope of ");
        if (!image)
            expect_said("hangs.c:");
        expect_said("set --task-window to at least 8, which holds this task; later ones may need more");
        expect_not_said("[STALL]");
        if (image) /* nothing was started */
            continue;
        r = open_verified(j.name);
        assert_int_equal(tl_recording_count(r), 4 * 4);
        tl_recording_close(r);
    }
}

/* --- an end that does not come --------------------------------------------------------------------------------------
 */

static struct job lingers = {.name = "lingers"};

/* It takes its time beside the other tests. */
static int start_lingering(void **state)
{
    int rc = fixture_setup(state);

    if (rc == 0)
        start(&lingers, "TL=", "--set stuck=0 --set linger=1 --dump-args 2");
    return rc;
}

static void a_chip_that_does_not_end(void **state)
{
    struct tl_recording *r;

    (void)state;
    assert_true(finish(&lingers, 0) >= 10000);
    expect_said("the chip has not ended within 10 s of being asked to, and is killed: a destructor or an exit handler");
    r = open_verified(lingers.name);
    assert_int_equal(tl_recording_count(r), 5 * 4);
    tl_recording_close(r);
}

/* --- a slow disk ----------------------------------------------------------------------------------------------------
 */

/*
 * Each budget is below the time for which the lanes wait for the disk; none of them fires. They are seconds long, so
 * that a loaded machine does not use them up; controlled/test_parked has the exact figures.
 */
static void parked_time_does_not_count(void **state)
{
    static const char variables[] = "TASKLENS_SCHEDULER_TIMEOUT_MS=5000 TASKLENS_OP_EXECUTE_TIMEOUT_US=5500000 "
                                    "TASKLENS_STREAM_SYNC_TIMEOUT_MS=6000";
    struct job jobs[8];
    char words[300];

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "parked%u", i);
        (void)snprintf(words, sizeof(words),
                       "-p %s --runtime %s --device-mode %s --set stuck=0 --set tasks=32 --set elements=65536 "
                       "--dump-args 2 --throttle-writer 3M --dfx-set records=8,buffers=2,avg-bytes=32K",
                       platforms[i & 1], runtimes[i >> 1 & 1], modes[i >> 2]);
        start(&jobs[i], variables, words);
    }
    for (unsigned i = 0; i < 8; i++) {
        static struct tl_meta meta;
        struct tl_recording *r;

        (void)finish(&jobs[i], 0);
        expect_said(
            " s for the host (cause: "); /* the disk, or the arena where the first look came before a long write */
        expect_not_said("[STALL]");
        assert_int_equal(tl__meta_read(fixture_path(jobs[i].name), &meta, NULL), 0);
        assert_string_equal(meta.status, "ok");
        assert_true(meta.parked_ns > UINT64_C(7000000000)); /* beyond each budget */
        r = open_verified(jobs[i].name);
        assert_int_equal(tl_recording_count(r), 32 * 4);
        for (uint64_t task = 0; task < 32; task++)
            if (task != 2) /* expect_tensor() takes that one for the task that hangs */
                expect_tensor(r, task, TL_STAGE_AFTER, 2, 65536, 65536);
        tl_recording_close(r);
    }
}

/* --- a chip that dies while it hands over ---------------------------------------------------------------------------
 */

static bool says(const struct job *j, const char *text)
{
    char name[64], *said;
    bool found;

    (void)snprintf(name, sizeof(name), "%s.err", j->name);
    if (access(fixture_path(name), F_OK) != 0)
        return false;
    said = fixture_read(name, NULL);
    found = strstr(said, text) != NULL;
    free(said);
    return found;
}

/* The hang is declared while the disk is slow, so that the lanes wait with what they have; then the chip is killed. */
static void a_chip_killed_in_its_last_words(void **state)
{
    struct job jobs[4];
    char words[300];
    unsigned killed = 0;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(jobs[i].name, sizeof(jobs[i].name), "last%u", i);
        (void)snprintf(words, sizeof(words),
                       "-p %s --runtime %s --set elements=131072 --dump-args 2 --throttle-writer 1M "
                       "--dfx-set records=8,buffers=2,avg-bytes=64K",
                       platforms[i & 1], runtimes[i >> 1 & 1]);
        start(&jobs[i], "TASKLENS_SCHEDULER_TIMEOUT_MS=3000", words);
    }
    /* Each as soon as its own hang is declared: who waits for one run after the other comes too late for the last. */
    for (unsigned k = 0; k < 6000 && killed != 0xf; k++, usleep(5000))
        for (unsigned i = 0; i < 4; i++) {
            int chip;

            if ((killed & 1u << i) != 0 || !says(&jobs[i], "[STALL] task r0t4"))
                continue;
            chip = child_of(jobs[i].pid);
            assert_true(chip > 0); /* it still hands over */
            assert_int_equal(kill(chip, SIGKILL), 0);
            killed |= 1u << i;
        }
    assert_int_equal(killed, 0xf);
    for (unsigned i = 0; i < 4; i++) {
        struct tl_recording *r;

        (void)finish(&jobs[i], 3);
        expect_said("tasklens run: ");
        r = open_verified(jobs[i].name);
        assert_in_range(tl_recording_count(r), 3 * 4 - 1, 3 * 4);
        for (uint64_t task = 0; task < 3; task++) {
            expect_tensor(r, task, TL_STAGE_BEFORE, 0, 131072, 131072);
            if (task < 2)
                expect_tensor(r, task, TL_STAGE_AFTER, 2, 131072, 131072);
        }
        if (tl_recording_count(r) == 3 * 4)
            expect_tensor(r, 2, TL_STAGE_AFTER, 2, 131072, 131072 / 2);
        tl_recording_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_never_returns),
        cmocka_unit_test(the_host_gives_up),
        cmocka_unit_test(an_orchestration_that_never_returns),
        cmocka_unit_test(an_orchestration_that_submits_without_end),
        cmocka_unit_test(a_window_too_small_for_a_scope),
        cmocka_unit_test(a_chip_that_does_not_end),
        cmocka_unit_test(parked_time_does_not_count),
        cmocka_unit_test(a_chip_killed_in_its_last_words),
    };
    return cmocka_run_group_tests(tests, start_lingering, fixture_teardown);
}
