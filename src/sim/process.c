/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chip in a process of its own. A monitor thread spawns it, because the kernel ties a child's parent-death signal to
 * the thread that made it and this one lives as long as the chip; then it sleeps in poll() until the chip sends a
 * message or is gone.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "sim/chip_impl.h"
#include "sim/crash.h"
#include "sim/locate.h"
#include "sim/serve.h"

extern char **environ;

#define CLOSED_NS UINT64_C(2000000000) /* between the end of a chip's mailbox and of its process */
#define END_NS UINT64_C(10000000000)   /* a sanitizer on a busy machine takes seconds to look for leaks */

struct runner {
    struct tl_chip *chip;
    struct tl_thread *monitor;
    struct tl_mail *incoming; /* the monitor's */
    int fd;                   /* the host's end of the mailbox */
    int chip_fd;              /* the chip's end, until it is spawned */
    pid_t pid;
    int spawn_errno;
    tl_au32 spawned; /* P1: 1: pid is set, 2: spawn_errno is; pairs with P2 in process_start */
    tl_au32 reaped;  /* P3: the process is gone; pairs with P4 in process_kill */
};

/* A copy of `fd` above every number that the child uses, so that no dup2 of the list overwrites a later one's source.
 */
static int high_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

/* The child gets its descriptors by number and nothing else: stdin is empty, and what a kernel prints goes to stderr,
 * so that stdout belongs to the command alone. */
static int child_files(posix_spawn_file_actions_t *files, const int copies[3])
{
    int err = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);

    for (int i = 0; i < 3; i++)
        assert(copies[i] > TL_CHIP_FD_MAIL); /* MI7 */
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(files, 2, 1);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(files, copies[0], TL_CHIP_FD_MEMORY);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(files, copies[1], TL_CHIP_FD_BELLS);
    if (err == 0)
        err = posix_spawn_file_actions_adddup2(files, copies[2], TL_CHIP_FD_MAIL);
    if (err == 0)
        err = posix_spawn_file_actions_addclosefrom_np(files, TL_CHIP_FD_MAIL + 1);
    return err;
}

/* errno of posix_spawn; 0: *ret_pid runs. */
static int spawn_child(const struct tl_chip *c, const char *path, const int copies[3], pid_t *ret_pid)
{
    char threads[16], parent[16], bytes[32];
    char *const argv[] = {(char *)"tasklens-chip", (char *)c->opts.arch->name, threads, bytes, parent, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int err;

    (void)snprintf(threads, sizeof(threads), "%u", c->opts.threads);
    (void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)c->memory.bytes);
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    (void)sigemptyset(&none);
    err = posix_spawn_file_actions_init(&files);
    if (err != 0)
        return err;
    err = posix_spawnattr_init(&attributes);
    if (err == 0) {
        err = child_files(&files, copies);
        if (err == 0)
            err = posix_spawnattr_setsigmask(&attributes, &none);
        if (err == 0)
            err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (err == 0)
            err = posix_spawn(ret_pid, path, &files, &attributes, argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return err;
}

static int spawn_chip(struct runner *r, const char *path)
{
    const int sources[3] = {r->chip->memory_fd, r->chip->bells_fd, r->chip_fd};
    int copies[3], err = 0;

    assert(sources[0] >= 0 && sources[1] >= 0 && sources[2] >= 0); /* MI7 */
    for (int i = 0; i < 3; i++) {
        copies[i] = high_copy(sources[i]);
        if (copies[i] < 0)
            err = errno == EINVAL ? EMFILE : errno; /* the limit is below the number asked for */
    }
    if (err == 0)
        err = spawn_child(r->chip, path, copies, &r->pid);
    for (int i = 0; i < 3; i++)
        if (copies[i] >= 0)
            (void)close(copies[i]);
    return err;
}

/* A process that ends closes its files just before it is gone. */
static bool ends_soon(int process)
{
    struct pollfd end = {.fd = process, .events = POLLIN};
    const uint64_t deadline = tl__now_ns() + CLOSED_NS;
    uint64_t now;

    while ((now = tl__now_ns()) < deadline) {
        const int ready = poll(&end, 1, (int)((deadline - now) / 1000000) + 1);

        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready > 0;
    }
    return false;
}

/*
 * Delivers the chip's messages until it is gone. That the mailbox is open does not mean that the chip lives: a process
 * that a program forked in the chip has the chip's end too, and keeps the mailbox open as long as it lives. So the
 * process itself is watched. What is not a whole message comes from a program; then the chip is killed, and `misuse`
 * says why. Where the system cannot watch a process (Linux before 5.3, no descriptor left) only the mailbox is watched.
 */
static void listen_to_chip(struct runner *r, char *misuse, size_t size)
{
    bool closed = false;
    const int process = (int)syscall(SYS_pidfd_open, r->pid, 0); /* close-on-exec by itself; poll() ignores -1 */
    struct pollfd both[2] = {{.fd = r->fd, .events = POLLIN}, {.fd = process, .events = POLLIN}};

    for (;;) {
        const int ready = poll(both, 2, -1);
        ssize_t n;

        if (ready < 0 && errno == EINTR)
            continue;
        /* After the poll: what a chip sent before it died has arrived when its death is seen. */
        n = recv(r->fd, r->incoming, sizeof(*r->incoming), ready < 0 ? 0 : MSG_DONTWAIT);
        if (n == (ssize_t)sizeof(*r->incoming)) {
            tl__chip_deliver(r->chip, r->incoming);
        } else if (n > 0) { /* not the chip's own: nothing that comes after can be trusted */
            (void)snprintf(misuse, size,
                           "was killed, because a program wrote %zd byte%s into the chip's mailbox, descriptor %d", n,
                           n == 1 ? "" : "s", TL_CHIP_FD_MAIL);
            (void)kill(r->pid, SIGKILL); /* not reaped yet, so the number is the chip's */
            break;
        } else if (n == 0 && process >= 0 && both[1].revents == 0) { /* closed, and the chip lives */
            closed = true;
            break;
        } else if (n >= 0 || (errno != EINTR && errno != EAGAIN) || (errno == EAGAIN && both[1].revents != 0))
            break;
    }
    if (closed && !ends_soon(process)) {
        (void)snprintf(misuse, size, "was killed, because a program closed the chip's mailbox, descriptor %d",
                       TL_CHIP_FD_MAIL);
        (void)kill(r->pid, SIGKILL);
    }
    if (process >= 0)
        (void)close(process);
}

/* Reaps the chip, which is gone or has closed its end of the mailbox, and reports how it ended. */
static void reap(struct runner *r, const char *misuse)
{
    char death[sizeof(r->chip->death)];
    int status = 0, signal_number = 0;
    pid_t pid;

    assert(tl_load_rlx(&r->reaped) == 0); /* MI6; relaxed: this thread's own */
    assert(r->pid > 0);                   /* never a group of processes */
    do {
        pid = waitpid(r->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid == r->pid && WIFSIGNALED(status)) {
        signal_number = WTERMSIG(status);
        (void)snprintf(death, sizeof(death), "was killed by %s", tl__signal_name(signal_number));
    } else if (pid == r->pid) {
        (void)snprintf(death, sizeof(death), "ended with exit code %d", WEXITSTATUS(status));
    } else {
        (void)snprintf(death, sizeof(death), "is gone, and the caller's SIGCHLD setting hides how");
    }
    if (misuse[0] != '\0')
        (void)snprintf(death, sizeof(death), "%s", misuse);
    tl_store_rel(&r->reaped, 1u); /* P3: from here on the number may be another process's; pairs with P4 */
    tl__wake(&r->reaped, UINT32_MAX);
    tl__chip_died(r->chip, signal_number, death);
}

static void monitor_main(void *arg)
{
    struct runner *r = arg;
    char path[TL_PATHNAME_BYTES], misuse[sizeof(r->chip->death)] = "";

    r->spawn_errno = tl__chip_locate(path, sizeof(path)) == 0 ? spawn_chip(r, path) : ENOENT;
    (void)close(r->chip_fd);
    r->chip_fd = -1;
    assert((r->spawn_errno == 0) == (r->pid > 0));
    tl_store_rel(&r->spawned, r->spawn_errno ? 2u : 1u); /* P1: publishes pid or errno; pairs with P2 */
    tl__wake(&r->spawned, 1);
    if (r->spawn_errno != 0)
        return;
    listen_to_chip(r, misuse, sizeof(misuse));
    reap(r, misuse);
}

static int process_kill(struct tl_chip *c)
{
    struct runner *r = c->runner;

    if (r == NULL)
        return 0;
    assert(r->pid > 0);                    /* never a group of processes */
    while (tl_load_acq(&r->reaped) == 0) { /* P4: not reaped, so the number is still the chip's; pairs with P3 */
        (void)kill(r->pid, SIGKILL);
        (void)tl__park(&r->reaped, 0, TL_FOREVER);
    }
    while (tl__chip_alive(c)) /* the monitor is between P3 and tl__chip_died */
        tl__relax();
    return 0;
}

/* The chip has been asked to end. A program may delay that, for example in a destructor: the wait is bounded. */
static void await_end(struct tl_chip *c)
{
    struct runner *r = c->runner;
    const uint64_t deadline = tl__now_ns() + END_NS;

    while (tl_load_acq(&r->reaped) == 0 && tl__now_ns() < deadline) /* P4 */
        (void)tl__park(&r->reaped, 0, deadline);
    if (tl_load_acq(&r->reaped) != 0) /* P4 */
        return;
    tl_log_warn(
        "the chip has not ended within %u s of being asked to, and is killed: a destructor or an exit handler of "
        "a program does not return",
        (unsigned)(END_NS / UINT64_C(1000000000)));
    (void)process_kill(c);
}

static void free_runner(struct tl_chip *c)
{
    struct runner *r = c->runner;

    if (r == NULL)
        return;
    if (r->monitor != NULL && r->spawn_errno == 0)
        await_end(c);
    tl__join(r->monitor);
    if (r->fd >= 0)
        (void)close(r->fd);
    if (r->chip_fd >= 0)
        (void)close(r->chip_fd);
    tl__free(r->incoming);
    tl__free(r);
    c->runner = NULL;
}

static int process_start(struct tl_chip *c, struct tl_error *reterr)
{
    struct runner *r = tl__alloc(1, sizeof(*r));
    int pair[2], rc;

    if (r == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for a chip");
    assert(c->runner == NULL); /* MI6 */
    c->runner = r;
    r->chip = c;
    r->fd = r->chip_fd = -1;
    r->incoming = tl__alloc(1, sizeof(*r->incoming));
    if (r->incoming == NULL) {
        rc = tl__fail(reterr, TL_ENOMEM, "no memory for a chip");
        goto fail;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        rc = tl__fail(reterr, tl__code_of_errno(errno), "cannot make the chip's mailbox: %s", strerror(errno));
        goto fail;
    }
    r->fd = pair[0];
    r->chip_fd = pair[1];
    rc = tl__spawn("tl-monitor", monitor_main, r, &r->monitor);
    if (rc != 0) {
        rc = tl__fail(reterr, rc, "cannot start the chip's monitor thread");
        goto fail;
    }
    while (tl_load_acq(&r->spawned) == 0) /* P2: pid or errno is visible; pairs with P1 */
        (void)tl__park(&r->spawned, 0, TL_FOREVER);
    if (r->spawn_errno == 0)
        return 0;
    rc = tl__fail(reterr, tl__code_of_errno(r->spawn_errno),
                  r->spawn_errno == ENOENT ? "the chip program tasklens-chip is not found beside this program or in "
                                             "libexec/tasklens; TASKLENS_CHIP can name it (%s)"
                                           : "cannot start the chip program: %s",
                  strerror(r->spawn_errno));
fail:
    free_runner(c);
    return rc;
}

static int process_send(struct tl_chip *c, const struct tl_mail *mail)
{
    struct runner *r = c->runner;
    ssize_t n;

    if (r == NULL)
        return TL_EDEVICE;
    do {
        n = send(r->fd, mail, sizeof(*mail), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*mail) ? 0 : TL_EDEVICE;
}

const struct tl_chip_ops tl__chip_process = {
    .memory_make = tl__chip_file_make,
    .memory_end = tl__chip_file_end,
    .memory_give_back = tl__chip_file_give_back,
    .copy_in = tl__chip_file_copy_in,
    .copy_out = tl__chip_file_copy_out,
    .store = tl__chip_file_store,
    .load = tl__chip_file_load,
    .start = process_start,
    .send = process_send,
    .kill = process_kill,
    .stop = free_runner,
};

int tl__chip_pid(const struct tl_chip *c)
{
    const struct runner *r = c->runner;

    return c->ops == &tl__chip_process && r != NULL ? (int)r->pid : 0;
}
