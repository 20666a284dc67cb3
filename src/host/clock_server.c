/* SPDX-License-Identifier: Apache-2.0 */
#include "host/clock_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "host/clock_estimate.h"

#define JOB_DIR ".clock"
#define SOCKET_NAME "socket"
#define TRIES 64u
#define TURN_US 50000               /* a peer that asks and then says nothing is dropped after this time */
#define TURN_NS UINT64_C(200000000) /* a peer that asks without end is dropped after this time */
#define RETRY_NS UINT64_C(10000000)
#define ANSWER_NS UINT64_C(200000000)

struct tl_clock_server {
    int fd;
    int dir; /* ROOT/.clock, of which this process is the owner; -1: none */
    int root;
    tl_au32 stop;
    struct tl_thread *thread;
};

/* ---- the address ---- */

/* The socket is in ROOT/.clock, a directory that only its owner can enter. It is named by the open directory, so
 * that a path of any length fits into a socket's address, and so that nobody can put another directory in its place. */
static void address_of(int dir, struct sockaddr_un *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    (void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/" SOCKET_NAME, dir);
}

/* Opens ROOT/.clock. -1 with errno EPERM: it is a link, another user's, or others may enter it. */
static int open_job_dir(int root)
{
    struct stat st;
    int dir = openat(root, JOB_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return -1;
    if (fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return dir;
    (void)close(dir);
    errno = EPERM;
    return -1;
}

static int open_root(const char *root)
{
    return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether the process at the other end is of the same user. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

static int open_socket(uint64_t wait_us)
{
    const struct timeval wait = {.tv_sec = (time_t)(wait_us / 1000000), .tv_usec = (suseconds_t)(wait_us % 1000000)};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)); /* of accept too */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)); /* of connect too */
    return fd;
}

/* ---- server ---- */

/* At most TRIES questions, in at most TURN_NS: one peer cannot keep the others waiting for long. */
static void answer(const struct tl_clock_server *s, int fd)
{
    const struct timeval turn = {.tv_usec = TURN_US};
    const uint64_t until = tl__now_ns() + TURN_NS;
    uint64_t word;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof(turn));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &turn, sizeof(turn));
    for (unsigned i = 0; i < TRIES && tl_load_acq(&s->stop) == 0; i++) { /* C1 */
        if (recv(fd, &word, sizeof(word), MSG_WAITALL) != sizeof(word))
            break;
        word = tl__now_ns();
        if (word > until || send(fd, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word))
            break;
    }
}

static void serve(void *arg)
{
    struct tl_clock_server *s = arg;

    while (tl_load_acq(&s->stop) == 0) { /* C1: pairs with the stop */
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            continue;
        if (is_ours(fd))
            answer(s, fd);
        (void)close(fd);
    }
}

static int bind_in(struct tl_clock_server *s, const char *root)
{
    struct sockaddr_un address;

    s->root = open_root(root);
    if (s->root < 0 || (mkdirat(s->root, JOB_DIR, 0700) != 0 && errno != EEXIST))
        return -1;
    s->dir = open_job_dir(s->root);
    if (s->dir < 0)
        return -1;
    (void)unlinkat(s->dir, SOCKET_NAME, 0); /* the root is this job's, so the process that made it is dead */
    address_of(s->dir, &address);
    return bind(s->fd, (struct sockaddr *)&address, sizeof(address));
}

int tl__clock_server_start(const char *root, struct tl_clock_server **ret_server, struct tl_error *reterr)
{
    struct tl_clock_server *s = tl__alloc(1, sizeof(*s));
    int rc = 0;

    if (s == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the clock's socket");
    s->root = s->dir = -1;
    s->fd = open_socket(TURN_US);
    if (s->fd < 0 || bind_in(s, root) != 0 || listen(s->fd, 128) != 0)
        rc = tl__fail(reterr, TL_EIO, "cannot make a socket for the ranks' clocks in %s/" JOB_DIR ": %s", root,
                      errno == EPERM ? "the directory is not this user's alone (mode 0700)" : strerror(errno));
    if (rc == 0)
        rc = tl__spawn("clock", serve, s, &s->thread);
    if (rc != 0) {
        tl__clock_server_stop(s);
        return rc;
    }
    *ret_server = s;
    return 0;
}

void tl__clock_server_stop(struct tl_clock_server *s)
{
    if (s == NULL)
        return;
    tl_store_rel(&s->stop, 1u); /* C1 */
    tl__join(s->thread);
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->dir >= 0) {
        (void)unlinkat(s->dir, SOCKET_NAME, 0);
        (void)close(s->dir);
        (void)unlinkat(s->root, JOB_DIR, AT_REMOVEDIR);
    }
    if (s->root >= 0)
        (void)close(s->root);
    tl__free(s);
}

/* ---- client ---- */

static int reach(const char *root, uint64_t patience_us)
{
    struct sockaddr_un address;
    int at = open_root(root), dir = at >= 0 ? open_job_dir(at) : -1;
    int fd = dir >= 0 ? open_socket(patience_us) : -1;

    if (fd >= 0) {
        address_of(dir, &address);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || !is_ours(fd)) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (dir >= 0)
        (void)close(dir);
    if (at >= 0)
        (void)close(at);
    return fd;
}

void tl__clock_ask(const char *root, uint64_t patience_ns, struct tl_clock_reading *ret_reading)
{
    uint64_t until = tl__now_ns() + patience_ns, left = patience_ns;
    struct tl_clock_sample samples[TRIES];
    uint32_t n = 0;
    tl_au32 never = 0;
    int fd;

    /* A running server answers at once. One that does not answer is stopped; the wait for it is short. */
    while ((fd = reach(root, (left < ANSWER_NS ? left : ANSWER_NS) / 1000 + 1)) < 0 &&
           tl__now_ns() + RETRY_NS < until) {
        (void)tl__park(&never, 0, tl__now_ns() + RETRY_NS);
        left = until - tl__now_ns();
    }
    for (unsigned i = 0; fd >= 0 && i < TRIES && tl__now_ns() < until; i++) {
        uint64_t word = i;

        samples[n].before_ns = tl__now_ns();
        if (send(fd, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word) ||
            recv(fd, &word, sizeof(word), MSG_WAITALL) != sizeof(word))
            break;
        samples[n].after_ns = tl__now_ns();
        samples[n++].other_ns = word;
    }
    if (fd >= 0)
        (void)close(fd);
    tl__clock_read_samples(samples, n, TRIES, ret_reading);
}

/* ---- this process ---- */

static void read_line(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, size - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    to[n > 0 ? n : 0] = '\0';
    to[strcspn(to, "\n")] = '\0';
}

void tl__clock_self(struct tl_rank_clock *c)
{
    struct timex t = {0};
    struct timespec wall;
    uint64_t before, after;
    ssize_t n;
    int state;

    memset(c, 0, sizeof(*c));
    (void)gethostname(c->host, sizeof(c->host) - 1);
    read_line("/proc/sys/kernel/random/boot_id", c->boot_id, sizeof(c->boot_id));
    n = readlink("/proc/self/ns/time", c->time_ns, sizeof(c->time_ns) - 1);
    c->time_ns[n > 0 ? n : 0] = '\0';
    before = tl__now_ns();
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    after = tl__now_ns();
    c->monotonic_ns = before + (after - before) / 2;
    c->unix_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    state = adjtimex(&t);
    c->unix_error_ns = state < 0 || state == TIME_ERROR || (t.status & STA_UNSYNC) != 0
                           ? UINT64_MAX
                           : (uint64_t)t.maxerror * 1000 + (after - before);
}
