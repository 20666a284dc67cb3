/* SPDX-License-Identifier: Apache-2.0 */
#include "host/rank_board_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/pathname.h"

#define LOCK_NS UINT64_C(1000000000)
#define LOCK_STEP_NS UINT64_C(5000000)

struct tl_rank_board {
    struct tl_rank_board_header *header;
    struct tl_rank_slot *slots;
    size_t bytes;
    int fd; /* -1: no file */
    char root[TL_PATHNAME_BYTES];
};

uint64_t tl__unix_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t machine(void)
{
    char name[256] = "";

    (void)gethostname(name, sizeof(name) - 1);
    return tl__hash64(name, strlen(name));
}

/* ---- opening ---- */

static int lock(const struct tl_rank_board *b, struct tl_error *reterr)
{
    uint64_t until = tl__now_ns() + LOCK_NS;
    tl_au32 never = 0;

    while (flock(b->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return tl__fail(reterr, TL_EIO, "cannot lock %s/" TL_BOARD_NAME ": %s", b->root, strerror(errno));
        if (tl__now_ns() >= until)
            return tl__fail(reterr, TL_ETIMEDOUT, "another process holds %s/" TL_BOARD_NAME "; is a rank stopped?",
                            b->root);
        (void)tl__park(&never, 0, tl__now_ns() + LOCK_STEP_NS);
    }
    return 0;
}

static int map(struct tl_rank_board *b, struct tl_error *reterr)
{
    void *at =
        mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, b->fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, b->fd, 0);

    if (at == MAP_FAILED)
        return tl__fail(reterr, TL_ENOMEM, "cannot map the board of the ranks: %s", strerror(errno));
    b->header = at;
    b->slots = (struct tl_rank_slot *)((char *)at + sizeof(*b->header));
    return 0;
}

static void sign(struct tl_rank_board *b, const char *job, uint32_t ranks)
{
    b->header->version = TL_BOARD_VERSION;
    b->header->ranks = ranks;
    (void)snprintf(b->header->job, sizeof(b->header->job), "%s", job);
    b->header->magic = TL_BOARD_MAGIC;
}

/* Checks that an existing board belongs to this job. */
static int check(const struct tl_rank_board *b, const char *job, uint32_t ranks, struct tl_error *reterr)
{
    const struct tl_rank_board_header *h = b->header;

    if (h->magic != TL_BOARD_MAGIC || h->version != TL_BOARD_VERSION)
        return tl__fail(reterr, TL_EEXIST, "%s/" TL_BOARD_NAME " is not this version's; choose another --out", b->root);
    if (h->ranks != ranks)
        return tl__fail(reterr, TL_EEXIST, "%s holds a run of %u rank%s, and this is one of %u; choose another --out",
                        b->root, h->ranks, h->ranks == 1 ? "" : "s", ranks);
    if (strncmp(h->job, job, sizeof(h->job) - 1) != 0)
        return tl__fail(reterr, TL_EEXIST,
                        "%s holds another job's ranks (%.90s, this one is %.90s); choose another --out", b->root,
                        h->job[0] != '\0' ? h->job : "without a name", job[0] != '\0' ? job : "without a name");
    return 0;
}

/* Allocates all blocks of the file: on a full disk, access to a mapped page without a block raises SIGBUS. */
static int reserve(const struct tl_rank_board *b)
{
    static const char zeros[4096];
    struct stat st;

    if (fallocate(b->fd, 0, 0, (off_t)b->bytes) == 0)
        return 0;
    if (errno != EOPNOTSUPP || fstat(b->fd, &st) != 0)
        return tl__code_of_errno(errno);
    for (uint64_t at = (uint64_t)st.st_size; at < b->bytes;) { /* existing content is another process's */
        size_t n = b->bytes - at < sizeof(zeros) ? (size_t)(b->bytes - at) : sizeof(zeros), done = 0;
        int rc = tl__write(b->fd, zeros, n, at, &done);

        if (rc != 0)
            return rc;
        at += n;
    }
    return 0;
}

/* Opens the file. The first process sizes it and writes the header. */
static int join(struct tl_rank_board *b, const char *job, uint32_t ranks, struct tl_error *reterr)
{
    struct stat st;
    int rc = lock(b, reterr);
    bool first;

    if (rc != 0)
        return rc;
    if (fstat(b->fd, &st) != 0)
        return tl__fail(reterr, TL_EIO, "%s/" TL_BOARD_NAME ": %s", b->root, strerror(errno));
    first = st.st_size == 0;
    if (!first && (uint64_t)st.st_size < b->bytes) /* of fewer ranks: map what exists, to name the difference */
        b->bytes = (size_t)st.st_size;
    if (b->bytes < sizeof(*b->header)) {
        rc = tl__fail(reterr, TL_EEXIST, "%s/" TL_BOARD_NAME " is not a board of ranks; choose another --out", b->root);
    } else if ((rc = reserve(b)) != 0) {
        rc = tl__fail(reterr, rc, "%s/" TL_BOARD_NAME ": cannot allocate %zu bytes: %s", b->root, b->bytes,
                      tl_strerror(rc));
        if (first && ftruncate(b->fd, 0) != 0) /* a partial board is invalid */
            tl_log_warn("%s/" TL_BOARD_NAME " cannot be emptied: %s", b->root, strerror(errno));
    }
    if (rc == 0)
        rc = map(b, reterr);
    if (rc == 0 && first)
        sign(b, job, ranks);
    else if (rc == 0)
        rc = check(b, job, ranks, reterr);
    (void)flock(b->fd, LOCK_UN);
    return rc;
}

int tl__board_open(const char *root, const char *job, uint32_t ranks, struct tl_rank_board **ret_board,
                   struct tl_error *reterr)
{
    struct tl_rank_board *b = tl__alloc(1, sizeof(*b));
    char path[TL_PATHNAME_BYTES];
    int rc;

    if (b == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the board of the ranks");
    b->fd = -1;
    b->bytes = sizeof(*b->header) + ranks * sizeof(*b->slots);
    if (root == NULL) {
        rc = map(b, reterr);
        if (rc == 0)
            sign(b, job, ranks);
    } else {
        (void)tl__pathname(b->root, "%s", root);
        (void)tl__pathname(path, "%s/" TL_BOARD_NAME, root);
        b->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        rc = b->fd < 0 ? tl__fail(reterr, tl__code_of_errno(errno), "cannot make %s: %s", path, strerror(errno))
                       : join(b, job, ranks, reterr);
    }
    if (rc != 0)
        tl__board_close(b);
    else
        *ret_board = b;
    return rc;
}

void tl__board_close(struct tl_rank_board *b)
{
    if (b == NULL)
        return;
    if (b->header != NULL)
        (void)munmap(b->header, b->bytes);
    if (b->fd >= 0)
        (void)close(b->fd);
    tl__free(b);
}

/* ---- notes ---- */

void tl__board_post(struct tl_rank_board *b, uint32_t rank, const struct tl_rank_note *note)
{
    struct tl_rank_note whole = *note;

    whole.pid = (uint64_t)getpid();
    whole.machine = machine();
    whole.updated_ns = tl__unix_ns();
    tl__rank_slot_write(&b->slots[rank], &whole);
}

void tl__board_read(struct tl_rank_board *b, uint32_t rank, struct tl_rank_note *ret_note)
{
    (void)tl__rank_slot_read(&b->slots[rank], ret_note); /* a host that was killed during a write may have left this */
}

uint32_t tl__board_ranks(const struct tl_rank_board *b)
{
    return b->header->ranks;
}

int tl__board_take(struct tl_rank_board *b, uint32_t rank, struct tl_error *reterr)
{
    const struct tl_rank_note note = {.state = TL_RANK_STARTING, .still_ns = tl__unix_ns()};
    struct tl_rank_note old;
    int rc = b->fd >= 0 ? lock(b, reterr) : 0;

    if (rc != 0)
        return rc;
    tl__board_read(b, rank, &old);
    if (old.state == TL_RANK_ABSENT)
        tl__board_post(b, rank, &note);
    else
        rc = tl__fail(reterr, TL_EEXIST, "%s holds what rank %u of this job has recorded before; choose another --out",
                      b->root, rank);
    if (b->fd >= 0)
        (void)flock(b->fd, LOCK_UN);
    return rc;
}

bool tl__board_tells(struct tl_rank_board *b, uint32_t rank)
{
    uint32_t none = 0;

    return tl_cas_acq_rel(&b->header->reporter, &none, rank + 1); /* N3: only the rank's number is published */
}

bool tl__board_lives(const struct tl_rank_note *note)
{
    bool at_it = note->state == TL_RANK_STARTING || note->state == TL_RANK_RUNNING;

    return !at_it || note->machine != machine() || kill((pid_t)note->pid, 0) == 0 || errno != ESRCH;
}
