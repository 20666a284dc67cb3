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
#include "base/hash.h"
#include "host/clock_estimate.h"

#define SOCKET_NAME ".clock"
#define TRIES 64u
#define TURN_US 50000 /* who asks and then says nothing is left after so long */
#define RETRY_NS UINT64_C(10000000)
#define ANSWER_NS UINT64_C(200000000)

struct tl_clock_server {
    int fd;
    tl_au32 stop;
    struct tl_thread *thread;
    char path[108]; /* of the socket; "": it has none */
};

/* ---- the address ---- */

/* ROOT/.clock, or where that is too long a name that all who see this directory derive from it. */
static socklen_t address_of(const char *root, bool by_path, struct sockaddr_un *ret_address)
{
    struct stat st = {0};
    uint64_t id[2];
    int n;

    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    n = snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "%s/" SOCKET_NAME, root);
    if (by_path)
        return n > 0 && (size_t)n < sizeof(ret_address->sun_path) ? (socklen_t)sizeof(*ret_address) : 0;
    (void)stat(root, &st);
    id[0] = st.st_dev;
    id[1] = st.st_ino;
    memset(ret_address->sun_path, 0, sizeof(ret_address->sun_path));
    n = snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1, "tasklens-clock-%016llx",
                 (unsigned long long)tl__hash64(id, sizeof(id)));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
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

/* ---- the one that answers ---- */

static void answer(const struct tl_clock_server *s, int fd)
{
    const struct timeval turn = {.tv_usec = TURN_US};
    uint64_t word;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof(turn));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &turn, sizeof(turn));
    while (tl_load_acq(&s->stop) == 0 && recv(fd, &word, sizeof(word), MSG_WAITALL) == sizeof(word)) { /* C1 */
        word = tl__now_ns();
        if (send(fd, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word))
            break;
    }
    (void)close(fd);
}

static void serve(void *arg)
{
    struct tl_clock_server *s = arg;

    while (tl_load_acq(&s->stop) == 0) { /* C1: pairs with the stop */
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            answer(s, fd);
    }
}

static int try_bind(struct tl_clock_server *s, const char *root, bool by_path)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(root, by_path, &address);

    if (bytes == 0)
        return -1;
    if (by_path) /* the root is this job's, so a socket that is there is a dead one */
        (void)unlink(address.sun_path);
    if (bind(s->fd, (struct sockaddr *)&address, bytes) != 0)
        return -1;
    if (by_path)
        (void)snprintf(s->path, sizeof(s->path), "%s", address.sun_path);
    return 0;
}

int tl__clock_server_start(const char *root, struct tl_clock_server **ret_server, struct tl_error *reterr)
{
    struct tl_clock_server *s = tl__alloc(1, sizeof(*s));
    int rc = 0;

    if (s == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the clock's socket");
    s->fd = open_socket(TURN_US);
    if (s->fd < 0 || (try_bind(s, root, true) != 0 && try_bind(s, root, false) != 0) || listen(s->fd, 128) != 0)
        rc = tl__fail(reterr, TL_EIO, "no socket for the ranks' clocks in %s: %s", root, strerror(errno));
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
    if (s->path[0] != '\0')
        (void)unlink(s->path);
    tl__free(s);
}

/* ---- the one that asks ---- */

static int reach(const char *root, uint64_t patience_us)
{
    for (unsigned by_path = 2; by_path-- > 0;) {
        struct sockaddr_un address;
        socklen_t bytes = address_of(root, by_path == 1, &address);
        int fd = bytes != 0 ? open_socket(patience_us) : -1;

        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, bytes) == 0)
            return fd;
        if (fd >= 0)
            (void)close(fd);
    }
    return -1;
}

void tl__clock_ask(const char *root, uint64_t patience_ns, struct tl_clock_reading *ret_reading)
{
    uint64_t until = tl__now_ns() + patience_ns, left = patience_ns;
    struct tl_clock_sample samples[TRIES];
    uint32_t n = 0;
    tl_au32 never = 0;
    int fd;

    /* One that is there answers at once; one that is there and does not is stopped, and not waited for long. */
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
