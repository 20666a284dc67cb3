/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chip as its host sees it, over a device that only follows orders: the first parameter of a launch says what to
 * do. In process mode this very program is the chip (TASKLENS_CHIP), so that no other binary is needed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/env.h"
#include "runtime/runtime.h"
#include "sim/chip_impl.h"

enum order { SUCCEED, FAIL, SEGFAULT, DIVIDE, ABORT, SLEEP, LEAVE, HANG, FORK };

#define CHILD_S 20u /* how long a child that a chip left behind lives */

/* ---- The device of this test ---- */

struct tl_device {
    struct tl_device_opts opts;
};

static struct tl_device the_device;

int tl__device_create(const struct tl_device_opts *opts, struct tl_device **ret_device)
{
    the_device.opts = *opts;
    *ret_device = &the_device;
    return 0;
}

bool tl__device_stuck(const struct tl_device *d)
{
    (void)d;
    return false; /* what is stuck here comes back in time */
}

void tl__device_destroy(struct tl_device *d)
{
    (void)d;
}

void tl__device_forget(struct tl_device *d)
{
    (void)d;
}

int tl__runtime_run(struct tl_device *d, uint64_t launch, const struct tl_program *program)
{
    struct tl_launch *l = tl__dev_ptr(&d->opts.memory, launch, sizeof(*l));
    int64_t *params = tl__dev_ptr(&d->opts.memory, l->params, sizeof(int64_t) * 2);
    volatile int zero = 0, *nowhere = (volatile int *)(uintptr_t)0x1230;

    switch ((enum order)params[0]) {
    case SUCCEED:
        params[1] = (int64_t)(params[1] * 2 + program->n_kernels);
        return 0;
    case FAIL:
        return TL_EHANG;
    case SEGFAULT:
        *nowhere = 1;
        return 0;
    case DIVIDE:
        raise(SIGFPE);
        return 0;
    case ABORT:
        abort();
    case SLEEP:
        for (;;)
            pause();
    case HANG: {
        struct tl_run_status *status = tl__dev_ptr(&d->opts.memory, l->status, sizeof(*status));

        tl_store_rlx(&status->code, (uint32_t)-TL_EHANG); /* relaxed: the state publishes it */
        tl_store_rel(&status->state, (uint32_t)TL_RUN_DONE);
        tl__bell_ring(&d->opts.bells->run);
        for (;;)
            pause();
    }
    case LEAVE:
        _exit(41 + zero);
    case FORK: {
        /* Past fork(), whose children are made to die with the chip. */
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

        if (child == 0) {
            (void)alarm(CHILD_S); /* it ends by itself if the test does not end it */
            for (;;)
                pause();
        }
        params[1] = child;
        return child < 0 ? TL_ENOMEM : 0;
    }
    }
    return TL_EINVAL;
}

/* ---- Help ---- */

static char program_path[256];

struct bench {
    struct tl_chip *chip;
    uint64_t launch, params, status;
    uint32_t handle;
};

static const struct tl_program linked = {.struct_size = sizeof(linked), .name = "linked", .n_kernels = 5};

static void open_bench_of(struct bench *b, enum tl_chip_mode mode, enum tl_transport_kind transport,
                          const struct tl_chip_ops *ops)
{
    const struct tl_chip_opts opts = {.arch = tl__arch_find("a2a3"),
                                      .mode = mode,
                                      .transport = transport,
                                      .memory_bytes = 1 << 20,
                                      .threads = 1,
                                      .device_id = 3,
                                      .ops = ops};
    struct tl_error err = {.msg = ""};

    assert_int_equal(tl__chip_open(&opts, &b->chip, &err), 0);
    assert_int_equal(tl__chip_alloc(b->chip, sizeof(struct tl_launch), TL_MEMORY_RUN, "launch", &b->launch, NULL), 0);
    assert_int_equal(tl__chip_alloc(b->chip, 16, TL_MEMORY_RUN, "params", &b->params, NULL), 0);
    assert_int_equal(tl__chip_alloc(b->chip, sizeof(struct tl_run_status), TL_MEMORY_RUN, "status", &b->status, NULL),
                     0);
    if (mode == TL_CHIP_THREAD)
        assert_int_equal(tl__chip_load(b->chip, NULL, &linked, &b->handle, &err), 0);
    else if (tl__chip_load(b->chip, program_path, NULL, &b->handle, &err) != 0)
        fail_msg("%s", err.msg);
}

static void open_bench(struct bench *b, enum tl_chip_mode mode, enum tl_transport_kind transport)
{
    open_bench_of(b, mode, transport, NULL);
}

static void order(struct bench *b, enum order what, int64_t value)
{
    const struct tl_launch launch = {.params = b->params, .status = b->status};
    const struct tl_run_status status = {.state = TL_RUN_IDLE};
    const int64_t params[2] = {what, value};

    assert_int_equal(tl__chip_copy_in(b->chip, b->launch, &launch, sizeof(launch)), 0);
    assert_int_equal(tl__chip_copy_in(b->chip, b->params, params, sizeof(params)), 0);
    assert_int_equal(tl__chip_copy_in(b->chip, b->status, &status, sizeof(status)), 0);
    assert_int_equal(tl__chip_launch(b->chip, b->launch, b->status, b->handle), 0);
}

static void expect_answer(struct bench *b, int64_t expected)
{
    int64_t params[2];
    int code = 1;

    assert_int_equal(tl__chip_wait(b->chip, TL_FOREVER, &code), TL_CHIP_DONE);
    assert_int_equal(code, 0);
    assert_int_equal(tl__chip_copy_out(b->chip, params, b->params, sizeof(params)), 0);
    assert_int_equal(params[1], expected);
    assert_int_equal(tl__chip_peek(b->chip, b->params + 8), expected);
}

/* ---- Tests ---- */

static void runs_in_each_mode_and_over_each_transport(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++)
        for (int transport = 0; transport < 2; transport++) {
            struct tl_chip_view view;
            struct bench b;
            int code = 0;

            open_bench(&b, (enum tl_chip_mode)mode, (enum tl_transport_kind)transport);
            tl__chip_view(b.chip, &view);
            assert_int_equal(view.mapping != NULL, transport == TL_TRANSPORT_MAPPED);
            for (int64_t i = 0; i < 3; i++) {
                order(&b, SUCCEED, i);
                expect_answer(&b, 2 * i + 5);
            }
            order(&b, FAIL, 0);
            assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_DONE);
            assert_int_equal(code, TL_EHANG);
            tl__chip_close(b.chip, false);
        }
}

/* A chip on a thread whose memory is a block of this process that has no file, and that counts what it is asked. */
static struct {
    uint64_t in, out, stores, loads, given_back_at, given_back;
} block;

static int block_make(struct tl_chip *c, struct tl_error *reterr)
{
    (void)reterr;
    memset(&block, 0, sizeof(block));
    c->mapping = tl__reserve(c->memory.bytes);
    return c->mapping != NULL ? 0 : TL_ENOMEM;
}

static void block_end(struct tl_chip *c, bool abandon)
{
    assert_false(abandon);
    tl__release(c->mapping, c->memory.bytes);
    c->mapping = NULL;
}

static void block_give_back(struct tl_chip *c, uint64_t at, uint64_t bytes)
{
    (void)c;
    block.given_back_at = at;
    block.given_back += bytes;
}

static int block_copy_in(struct tl_chip *c, uint64_t at, const void *data, uint64_t bytes)
{
    block.in += bytes;
    memcpy(c->mapping + at, data, bytes);
    return 0;
}

static int block_copy_out(struct tl_chip *c, void *data, uint64_t at, uint64_t bytes)
{
    block.out += bytes;
    memcpy(data, c->mapping + at, bytes);
    return 0;
}

static int block_store(struct tl_chip *c, uint64_t at, uint64_t word)
{
    block.stores++;
    tl_store_rel((tl_au64 *)(void *)(c->mapping + at), word);
    return 0;
}

static int block_load(struct tl_chip *c, uint64_t at, uint64_t *ret_word)
{
    block.loads++;
    *ret_word = tl_load_acq((tl_au64 *)(void *)(c->mapping + at));
    return 0;
}

static struct tl_chip_ops block_ops(void)
{
    struct tl_chip_ops ops = tl__chip_thread;

    ops.memory_make = block_make;
    ops.memory_end = block_end;
    ops.memory_give_back = block_give_back;
    ops.copy_in = block_copy_in;
    ops.copy_out = block_copy_out;
    ops.store = block_store;
    ops.load = block_load;
    return ops;
}

static unsigned memory_files(void)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        n += strstr(line, "tasklens-gm") != NULL;
    (void)fclose(f);
    return n;
}

static void a_chip_need_not_have_a_memory_file(void **state)
{
    const struct tl_chip_ops ops = block_ops();

    (void)state;
    for (int transport = 0; transport < 2; transport++) {
        struct tl_chip_view view;
        uint64_t word = 0, kept;
        struct bench b;

        open_bench_of(&b, TL_CHIP_THREAD, (enum tl_transport_kind)transport, &ops);
        tl__chip_view(b.chip, &view);
        assert_int_equal(view.mapping != NULL, transport == TL_TRANSPORT_MAPPED);
        assert_int_equal(memory_files(), 0);
        for (int64_t i = 0; i < 3; i++) {
            order(&b, SUCCEED, i);
            expect_answer(&b, 2 * i + 5);
        }
        assert_int_equal(block.in, 3 * (sizeof(struct tl_launch) + 16 + sizeof(struct tl_run_status)));
        assert_int_equal(block.out, 3 * 16);
        assert_true(block.loads >= 3); /* peeks, one an answer, and looks at the run's status */
        assert_int_equal(tl__chip_store(b.chip, b.params, UINT64_C(0x0123456789abcdef)), 0);
        assert_int_equal(tl__chip_word(b.chip, b.params, &word), 0);
        assert_true(word == UINT64_C(0x0123456789abcdef) && block.stores == 1);
        assert_int_equal(tl__chip_store(b.chip, b.params + 4, 1), TL_ERANGE); /* a word is aligned */
        assert_int_equal(tl__chip_word(b.chip, TL_DEV_BASE + view.bytes, &word), TL_ERANGE);
        assert_int_equal(tl__chip_alloc(b.chip, 16384, TL_MEMORY_KEPT, "pool", &kept, NULL), 0);
        tl__chip_free(b.chip, kept);
        assert_true(block.given_back_at == kept - TL_DEV_BASE && block.given_back == 16384);
        tl__chip_close(b.chip, false);
    }
}

static uint64_t touched(const struct tl_chip *c)
{
    struct stat st;

    assert_int_equal(fstat(c->memory_fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static void pages_of_a_kept_block_go_back_to_the_system(void **state)
{
    static const uint8_t full[16384] = {1};

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        uint64_t kept, beside, before;
        uint8_t left = 0;
        struct bench b;

        open_bench(&b, (enum tl_chip_mode)mode, TL_TRANSPORT_COPY);
        assert_int_equal(tl__chip_alloc(b.chip, 16384, TL_MEMORY_KEPT, "pool", &kept, NULL), 0);
        assert_int_equal(tl__chip_alloc(b.chip, 2048, TL_MEMORY_KEPT, "pool", &beside, NULL), 0);
        assert_int_equal(tl__chip_copy_in(b.chip, kept, full, sizeof(full)), 0);
        assert_int_equal(tl__chip_copy_in(b.chip, beside, full, 2048), 0);
        before = touched(b.chip);
        tl__chip_free(b.chip, kept);
        assert_int_equal(before - touched(b.chip), 16384);
        assert_int_equal(tl__chip_copy_out(b.chip, &left, beside, 1), 0);
        assert_int_equal(left, 1);
        tl__chip_close(b.chip, false);
    }
}

static void a_wait_ends_at_its_deadline(void **state)
{
    struct bench b;
    int code;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    order(&b, SLEEP, 0);
    assert_int_equal(tl__chip_wait(b.chip, tl__now_ns() + 20000000, &code), TL_CHIP_TIMEOUT);
    assert_true(tl__chip_alive(b.chip));
    assert_int_equal(tl__chip_kill(b.chip), 0);
    assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_DEAD);
    tl__chip_close(b.chip, false);
}

static void a_crash_is_reported_and_a_new_chip_takes_over(void **state)
{
    static const struct {
        enum order what;
        int signal_number;
        const char *death, *message;
    } cases[] = {
        {SEGFAULT, SIGSEGV, "was killed by SIGSEGV", "SIGSEGV at address 0x1230"},
        {DIVIDE, SIGFPE, "was killed by SIGFPE", "SIGFPE in a thread that runs no kernel: the signal was sent"},
        {ABORT, SIGABRT, "was killed by SIGABRT", "SIGABRT"},
        {LEAVE, 0, "ended with exit code 41", ""},
    };
    struct bench b;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tl_run_status status;
        struct tl_error err;
        int code, signal_number = -1;

        order(&b, cases[i].what, 0);
        assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_DEAD);
        assert_string_equal(tl__chip_death(b.chip, &signal_number), cases[i].death);
        assert_int_equal(signal_number, cases[i].signal_number);
        assert_int_equal(tl__chip_copy_out(b.chip, &status, b.status, sizeof(status)), 0);
        assert_int_equal(status.code, signal_number ? -TL_ECRASH : 0);
        assert_memory_equal(status.message, cases[i].message, strlen(cases[i].message));
        assert_int_equal(tl__chip_launch(b.chip, b.launch, b.status, b.handle), TL_EDEVICE);
        assert_int_equal(tl__chip_restart(b.chip, &err), 0);
        assert_int_equal(tl__chip_load(b.chip, program_path, NULL, &b.handle, &err), 0);
        order(&b, SUCCEED, 4);
        expect_answer(&b, 13);
    }
    tl__chip_close(b.chip, false);
}

/* The run has reported its end, the chip's thread never answers. */
static void a_stuck_chip_is_distinguished_from_a_slow_one(void **state)
{
    struct tl_error err;
    struct bench b;
    int code;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    order(&b, HANG, 0);
    assert_int_equal(tl__chip_wait(b.chip, tl__now_ns() + 50000000, &code), TL_CHIP_TIMEOUT);
    assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_STUCK);
    assert_int_equal(tl__chip_kill(b.chip), 0);
    assert_int_equal(tl__chip_restart(b.chip, &err), 0);
    assert_int_equal(tl__chip_load(b.chip, program_path, NULL, &b.handle, &err), 0);
    order(&b, SUCCEED, 2);
    expect_answer(&b, 9);
    tl__chip_close(b.chip, false);
}

struct killer {
    struct tl_chip *chip;
    atomic_uint stop;
    unsigned kills;
};

static void *kill_again_and_again(void *arg)
{
    struct killer *k = arg;

    while (atomic_load(&k->stop) == 0) {
        if (tl__chip_kill(k->chip) == 0)
            k->kills++;
        (void)sched_yield();
    }
    return NULL;
}

/* Kills come at every moment of a restart: none is sent to a process that is not the chip's (number 0 is this test's
 * own group), none waits for the death of the next chip, and none uses a runner that has been freed. */
static void a_chip_is_killed_while_it_is_started_again(void **state)
{
    struct killer k[2] = {{0}};
    pthread_t threads[2];
    struct tl_error err;
    struct bench b;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    for (unsigned i = 0; i < 2; i++) {
        k[i].chip = b.chip;
        assert_int_equal(pthread_create(&threads[i], NULL, kill_again_and_again, &k[i]), 0);
    }
    for (unsigned restarts = 0; restarts < 40;) {
        int rc;

        if (tl__chip_alive(b.chip)) { /* not for long */
            (void)sched_yield();
            continue;
        }
        rc = tl__chip_restart(b.chip, &err);
        assert_true(rc == 0 || rc == TL_EDEVICE); /* killed before it was ready */
        restarts++;
    }
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&k[i].stop, 1);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(k[i].kills > 0);
    }
    assert_int_equal(tl__chip_kill(b.chip), 0);
    assert_int_equal(tl__chip_restart(b.chip, &err), 0);
    assert_int_equal(tl__chip_load(b.chip, program_path, NULL, &b.handle, &err), 0);
    order(&b, SUCCEED, 2);
    expect_answer(&b, 9);
    tl__chip_close(b.chip, false);
}

static void closing_ends_a_chip_that_runs(void **state)
{
    struct bench b;
    int pid;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_MAPPED);
    order(&b, SLEEP, 0);
    pid = tl__chip_pid(b.chip);
    assert_true(pid > 0);
    tl__chip_close(b.chip, false);
    assert_int_equal(kill(pid, 0), -1); /* reaped: not even a zombie has the number */
}

/* Its child has all that it had open, its end of the mailbox too. Closes the chip with that child alive, the chip
 * killed before or not, and says in what time. */
static uint64_t close_beside_child(bool killed)
{
    int64_t child = 0;
    struct bench b;
    uint64_t from;
    int code = 1;

    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    order(&b, FORK, 0);
    assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_DONE);
    assert_int_equal(code, 0);
    assert_int_equal(tl__chip_copy_out(b.chip, &child, b.params + 8, sizeof(child)), 0);
    assert_true(child > 1);
    if (killed)
        assert_int_equal(kill(tl__chip_pid(b.chip), SIGKILL), 0);
    from = tl__now_ns();
    tl__chip_close(b.chip, false);
    from = tl__now_ns() - from;
    (void)kill((pid_t)child, SIGKILL);
    return from;
}

static void a_close_waits_for_the_chip_and_not_for_its_children(void **state)
{
    (void)state;
    assert_true(close_beside_child(true) < CHILD_S * UINT64_C(500000000));
    assert_true(close_beside_child(false) < CHILD_S * UINT64_C(500000000));
}

static void a_dead_chip_is_seen_beside_its_children(void **state)
{
    int64_t child = 0;
    int code, signal_number;
    enum tl_chip_event event;
    struct bench b;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    order(&b, FORK, 0);
    assert_int_equal(tl__chip_wait(b.chip, TL_FOREVER, &code), TL_CHIP_DONE);
    assert_int_equal(tl__chip_copy_out(b.chip, &child, b.params + 8, sizeof(child)), 0);
    order(&b, SLEEP, 0);
    assert_int_equal(kill(tl__chip_pid(b.chip), SIGKILL), 0);
    event = tl__chip_wait(b.chip, tl__now_ns() + CHILD_S * UINT64_C(500000000), &code);
    (void)kill((pid_t)child, SIGKILL);
    assert_int_equal(event, TL_CHIP_DEAD);
    assert_string_equal(tl__chip_death(b.chip, &signal_number), "was killed by SIGKILL");
    assert_int_equal(signal_number, SIGKILL);
    tl__chip_close(b.chip, false);
}

static void a_chip_dies_with_its_host(void **state)
{
    int ends[2], pid = 0, status;
    pid_t host;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    host = fork(); /* this test has one thread here */
    assert_true(host >= 0);
    if (host == 0) {
        struct bench b;

        open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
        order(&b, SLEEP, 0);
        pid = tl__chip_pid(b.chip);
        if (write(ends[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, &status, 0), host);
    for (int i = 0; i < 500 && kill(pid, 0) == 0; i++) {
        char path[64], text[512] = "";
        FILE *f;

        /* Whoever adopts it may be slow to reap; a zombie is dead enough. */
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        f = fopen(path, "r");
        if (f == NULL)
            break;
        if (fgets(text, sizeof(text), f) == NULL)
            text[0] = '\0';
        (void)fclose(f);
        if (strstr(text, ") Z") != NULL)
            break;
        usleep(10000);
        assert_true(i < 499);
    }
    close(ends[0]);
    close(ends[1]);
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static void nothing_is_left_open(void **state)
{
    int before = open_files();

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct bench b;

        open_bench(&b, (enum tl_chip_mode)mode, TL_TRANSPORT_COPY);
        tl__chip_close(b.chip, false);
    }
    assert_int_equal(open_files(), before);
}

static void what_cannot_start_says_why(void **state)
{
    const struct tl_chip_opts opts = {.arch = tl__arch_find("a2a3"), .mode = TL_CHIP_PROCESS, .memory_bytes = 1 << 20};
    char *own = strdup(getenv("TASKLENS_CHIP"));
    struct tl_chip *chip = NULL;
    struct tl_error err;
    int before = open_files();

    (void)state;
    setenv("TASKLENS_CHIP", "/nowhere/tasklens-chip", 1);
    assert_int_equal(tl__chip_open(&opts, &chip, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "TASKLENS_CHIP"));
    setenv("TASKLENS_CHIP", "/bin/false", 1);
    assert_int_equal(tl__chip_open(&opts, &chip, &err), TL_EDEVICE);
    assert_non_null(strstr(err.msg, "ended with exit code 1"));
    assert_int_equal(open_files(), before);
    setenv("TASKLENS_CHIP", own, 1);
    free(own);
}

static void a_bad_object_is_refused_with_the_loaders_words(void **state)
{
    struct tl_error err;
    struct bench b;
    uint32_t handle;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    assert_int_equal(tl__chip_load(b.chip, "/nowhere/x.so", NULL, &handle, &err), TL_ELOAD);
    assert_non_null(strstr(err.msg, "/nowhere/x.so"));
    assert_int_equal(tl__chip_load(b.chip, NULL, &linked, &handle, &err), TL_ENOTSUP);
    order(&b, SUCCEED, 1); /* and it goes on */
    expect_answer(&b, 7);
    tl__chip_close(b.chip, false);
}

static void copies_stay_inside_device_memory(void **state)
{
    struct tl_chip_view view;
    struct bench b;
    char byte = 1;

    (void)state;
    open_bench(&b, TL_CHIP_PROCESS, TL_TRANSPORT_COPY);
    tl__chip_view(b.chip, &view);
    assert_int_equal(tl__chip_copy_in(b.chip, TL_DEV_BASE + view.bytes, &byte, 1), TL_ERANGE);
    assert_int_equal(tl__chip_copy_out(b.chip, &byte, TL_DEV_BASE - 1, 1), TL_ERANGE);
    assert_int_equal(tl__chip_copy_out(b.chip, &byte, 0, 1), TL_ERANGE);
    assert_int_equal(tl__chip_copy_in(b.chip, TL_DEV_BASE + view.bytes - 1, &byte, 1), 0);
    assert_int_equal(tl__chip_peek(b.chip, TL_DEV_BASE + 4), 0);
    tl__chip_close(b.chip, false);
}

/* A program without needs of its own, so that this test need not offer any. */
static int make_program(void)
{
    char source[256], command[1024];
    FILE *f;

    (void)snprintf(source, sizeof(source), "%s/tests/chip_program_%d.c", TL_TEST_BINARY_DIR, (int)getpid());
    (void)snprintf(program_path, sizeof(program_path), "%s/tests/chip_program_%d.so", TL_TEST_BINARY_DIR,
                   (int)getpid());
    f = fopen(source, "w");
    if (f == NULL)
        return -1;
    (void)fprintf(f, "#include <tasklens/program.h>\nTL_PROGRAM(.name = \"test\", .n_kernels = 5);\n");
    (void)fclose(f);
    (void)snprintf(command, sizeof(command), "cc -shared -fPIC -I'%s/include' -o '%s' '%s'", TL_TEST_SOURCE_DIR,
                   program_path, source);
    if (system(command) != 0)
        return -1;
    return unlink(source);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chip_dies_with_its_host),
        cmocka_unit_test(runs_in_each_mode_and_over_each_transport),
        cmocka_unit_test(a_chip_need_not_have_a_memory_file),
        cmocka_unit_test(pages_of_a_kept_block_go_back_to_the_system),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_crash_is_reported_and_a_new_chip_takes_over),
        cmocka_unit_test(a_stuck_chip_is_distinguished_from_a_slow_one),
        cmocka_unit_test(a_chip_is_killed_while_it_is_started_again),
        cmocka_unit_test(closing_ends_a_chip_that_runs),
        cmocka_unit_test(a_close_waits_for_the_chip_and_not_for_its_children),
        cmocka_unit_test(a_dead_chip_is_seen_beside_its_children),
        cmocka_unit_test(nothing_is_left_open),
        cmocka_unit_test(what_cannot_start_says_why),
        cmocka_unit_test(a_bad_object_is_refused_with_the_loaders_words),
        cmocka_unit_test(copies_stay_inside_device_memory),
    };
    const char *error;
    int rc;

    if (argc > 0 && strcmp(argv[0], "tasklens-chip") == 0)
        return tl__chip_main(argc, argv, &error);
    setenv("TASKLENS_CHIP", "/proc/self/exe", 1);
    if (make_program() != 0)
        return 77; /* no compiler */
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(program_path);
    return rc;
}
