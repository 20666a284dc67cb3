/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real environment: pthreads, futex, the monotonic clock, files.
 *
 * Park and wake. The futex is the shared kind (no FUTEX_PRIVATE_FLAG): a parked word may be in memory of two
 * processes, and the kernel then finds it by page, not by address. The kernel's own lock orders "compare the word, go
 * to sleep" against a wake, so a waker that changes the word before it calls wake is never missed. Everything else
 * (the waiting flag, the fence) is the protocol of the caller.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/env_ops.h"
#include "base/count_of.h"
#include "base/error.h"

#define NS_PER_S UINT64_C(1000000000)
/* About what a sleep and a wake across cores cost: a spin that fails at most doubles the price. */
#define SPIN_NS_MAX 8000U
#define SPIN_NS_MIN 125U
#define TRIAL_FAILS_MIN 16U
#define TRIAL_FAILS_MAX 1024U
#define WRITE_BYTES_MAX ((size_t)1 << 30) /* Linux cuts a write at 2 GiB - 4 KiB; stay in whole pages */
#define RELAX_PER_YIELD 32U

struct tl_thread {
    pthread_t id;
    void (*fn)(void *arg);
    void *arg;
    char name[TL_ENV_NAME_BYTES];
};

/* What spinning means on this machine. Racing threads compute the same values, so relaxed access is enough. */
static tl_au32 pauses_per_us; /* 0: not measured yet */
static tl_au32 cpus_cached;   /* 0: not asked yet */

static uint64_t real_now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* The CPUs that this process may run on: with one, a spin only keeps the waker from running. */
static uint32_t cpu_count(void)
{
    uint32_t cpus = atomic_load_explicit(&cpus_cached, memory_order_relaxed); /* a constant once set */
    cpu_set_t set;

    if (cpus != 0)
        return cpus;
    /* Refused on machines with more CPUs than a cpu_set_t holds: certainly more than one. */
    cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 2;
    atomic_store_explicit(&cpus_cached, cpus, memory_order_relaxed); /* see the load */
    return cpus;
}

/* A pause takes 3 to 50 ns depending on the core; measured once, in about 2 us. */
static uint32_t pause_rate(void)
{
    uint32_t rate = atomic_load_explicit(&pauses_per_us, memory_order_relaxed); /* a constant once set */
    uint64_t start, took;

    if (rate != 0)
        return rate;
    start = real_now_ns();
    for (int i = 0; i < 64; i++)
        cpu_pause();
    took = real_now_ns() - start;
    rate = took == 0 ? 64 : (uint32_t)(64U * 1000U / took);
    rate = rate < 4 ? 4 : rate > 400 ? 400 : rate; /* the thread may have been off its core meanwhile */
    atomic_store_explicit(&pauses_per_us, rate, memory_order_relaxed); /* see the load */
    return rate;
}

/*
 * How long this thread spins before it sleeps: in full after a success, half as long after each failure, so that a
 * thread which waits for slow things soon sleeps almost at once. How soon the word changed after it fell asleep it
 * cannot know (the wake itself takes longest), so it finds out by a full spin now and then; ever more seldom, as long
 * as those fail too.
 */
static _Thread_local struct {
    uint32_t ns;
    uint32_t fails_until_trial, fails_between_trials;
} spinning = {SPIN_NS_MAX, TRIAL_FAILS_MIN, TRIAL_FAILS_MIN};

static void spin_succeeded(void)
{
    spinning.ns = SPIN_NS_MAX;
    spinning.fails_until_trial = spinning.fails_between_trials = TRIAL_FAILS_MIN;
}

static void spin_failed(void)
{
    spinning.ns = spinning.ns / 2 > SPIN_NS_MIN ? spinning.ns / 2 : SPIN_NS_MIN;
    if (--spinning.fails_until_trial > 0)
        return;
    spinning.ns = SPIN_NS_MAX;
    if (spinning.fails_between_trials < TRIAL_FAILS_MAX)
        spinning.fails_between_trials *= 2;
    spinning.fails_until_trial = spinning.fails_between_trials;
}

/* True as soon as the word differs. */
static bool spin(tl_au32 *word, uint32_t expected)
{
    uint32_t pauses;

    if (cpu_count() < 2)
        return false;
    pauses = spinning.ns * pause_rate() / 1000U + 1;
    for (uint32_t i = 0; i < pauses; i++) {
        /* A1: sees what the waker published before it changed the word; pairs with the caller's release. */
        if (atomic_load_explicit(word, memory_order_acquire) != expected)
            return true;
        cpu_pause();
    }
    return false;
}

static int real_park(tl_au32 *word, uint32_t expected, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / NS_PER_S), .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    long rc;

    if (spin(word, expected)) {
        spin_succeeded();
        return 0;
    }
    spin_failed();
    /* The bitset form takes an absolute time of CLOCK_MONOTONIC; the plain form a relative one, that would drift. */
    rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline_ns == TL_FOREVER ? NULL : &until, NULL,
                 FUTEX_BITSET_MATCH_ANY);
    /* A woken, changed (EAGAIN) or interrupted (EINTR) sleeper looks again; only the deadline is an answer. */
    return rc != 0 && errno == ETIMEDOUT ? TL_ETIMEDOUT : 0;
}

static void real_wake(tl_au32 *word, uint32_t n)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, n > INT32_MAX ? INT32_MAX : (int)n, NULL, NULL, 0);
}

static void real_relax(void)
{
    static _Thread_local uint32_t calls;

    if (cpu_count() < 2 || ++calls % RELAX_PER_YIELD == 0)
        (void)sched_yield();
    else
        cpu_pause();
}

static void *thread_main(void *opaque)
{
    struct tl_thread *thread = opaque;

    (void)pthread_setname_np(pthread_self(), thread->name);
    thread->fn(thread->arg);
    return NULL;
}

/*
 * Our threads leave the program's signals to its own threads: a handler for SIGINT that takes a lock must not run
 * in a drain loop. The signals that a fault of the thread itself raises stay open, and so does the profiler's.
 */
static void blocked_signals(sigset_t *ret_set)
{
    static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};

    (void)sigfillset(ret_set);
    for (size_t i = 0; i < COUNT_OF(open); i++)
        (void)sigdelset(ret_set, open[i]);
}

static int real_spawn(const char *name, void (*fn)(void *arg), void *arg, struct tl_thread **ret_thread)
{
    struct tl_thread *thread = tl__alloc(1, sizeof(*thread));
    sigset_t ours, before;
    int rc;

    if (thread == NULL)
        return TL_ENOMEM;
    thread->fn = fn;
    thread->arg = arg;
    (void)strncpy(thread->name, name, sizeof(thread->name) - 1);
    blocked_signals(&ours);
    /* A new thread starts with its maker's mask, so it is never seen with the wrong one. */
    (void)pthread_sigmask(SIG_BLOCK, &ours, &before);
    rc = pthread_create(&thread->id, NULL, thread_main, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        tl__free(thread);
        return TL_ENOMEM; /* EAGAIN: no memory for a stack, or the limit on threads */
    }
    *ret_thread = thread;
    return 0;
}

static void real_join(struct tl_thread *thread)
{
    (void)pthread_join(thread->id, NULL);
    tl__free(thread);
}

/* A file that may not grow further (EFBIG: a file system's or a user's limit) has no space left, for whoever writes. */
static int code_of_write_errno(int err)
{
    return err == EFBIG ? TL_ENOSPC : err == ENOSPC || err == EDQUOT ? TL_ENOSPC : TL_EIO;
}

static ssize_t real_write_some(int fd, const void *data, size_t bytes, uint64_t offset)
{
    size_t size = bytes < WRITE_BYTES_MAX ? bytes : WRITE_BYTES_MAX;
    ssize_t n;

    if (offset != TL_ENV_APPEND && offset > INT64_MAX - size)
        return TL_ENOSPC;
    do
        n = offset == TL_ENV_APPEND ? write(fd, data, size) : pwrite(fd, data, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    return n == 0 ? TL_EIO : code_of_write_errno(errno); /* 0 for a nonzero request: it would be so for ever */
}

static int real_sync(int fd)
{
    int rc;

    do
        rc = fdatasync(fd);
    while (rc != 0 && errno == EINTR);
    /* EINVAL: a pipe or a device, which hold nothing back. */
    return rc == 0 || errno == EINVAL ? 0 : code_of_write_errno(errno);
}

/* Advice on write-back. It needs no result: an error of the device is kept for the tl__sync at the end. */
static void real_sync_window(int fd, uint64_t start, uint64_t bytes, uint64_t wait_start, uint64_t wait_bytes)
{
    if (bytes != 0)
        (void)sync_file_range(fd, (off_t)start, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
    if (wait_bytes != 0)
        (void)sync_file_range(fd, (off_t)wait_start, (off_t)wait_bytes,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static uint64_t real_look_ns(void)
{
    return UINT64_C(100000000);
}

const struct tl_env_ops tl__env_real = {
    .now_ns = real_now_ns,
    .spawn = real_spawn,
    .join = real_join,
    .park = real_park,
    .wake = real_wake,
    .relax = real_relax,
    .look_ns = real_look_ns,
    .write_some = real_write_some,
    .sync = real_sync,
    .sync_window = real_sync_window,
};
