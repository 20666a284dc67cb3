/* SPDX-License-Identifier: Apache-2.0 */
#include "host/rank_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pathname.h"
#include "base/safe_text.h"
#include "host/clock_estimate.h"
#include "host/clock_server.h"
#include "host/files.h"
#include "host/rank_board_file.h"

#define BEGIN_PATIENCE_NS UINT64_C(1000000000)
#define END_PATIENCE_NS UINT64_C(100000000)

int tl__rank_root(const char *out, const struct tl_launcher *launcher, const char *program, const char *case_name,
                  char *path, size_t size, struct tl_error *reterr)
{
    char safe[2][100];

    if (out != NULL || launcher->ranks < 2)
        return tl__output_dir(out, program, case_name, path, size, reterr);
    if (launcher->job[0] == '\0')
        return tl__fail(reterr, TL_EINVAL,
                        "%s gives its job no name, and all ranks must record into one directory: say which with "
                        "--out DIR",
                        launcher->name);
    if ((size_t)snprintf(path, size, "outputs/%s_%s_%s", tl__safe(safe[0], sizeof(safe[0]), TL_SAFE_FILE, program),
                         tl__safe(safe[1], sizeof(safe[1]), TL_SAFE_FILE, case_name), launcher->job) >= size)
        return tl__fail(reterr, TL_EINVAL, "the path of the output directory is too long");
    return tl__make_dirs(path, reterr);
}

int tl__rank_dir_make(const char *root, uint32_t rank, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];

    if (!tl__pathname(path, "%s/rank%u", root, rank))
        return tl__fail(reterr, TL_EINVAL, "the path of the output directory is too long");
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST)
        return tl__fail(reterr, TL_EEXIST, "%s exists already and is not overwritten; choose another --out", path);
    return tl__fail(reterr, tl__code_of_errno(errno), "cannot make the directory %s: %s", path, strerror(errno));
}

int tl__rank_leaf_make(const char *root, struct tl_dispatch *d, char *path, size_t size, struct tl_error *reterr)
{
    int rc;

    if ((size_t)snprintf(path, size, "%s/rank%u/d%u", root, d->rank, d->dispatch) >= size)
        return tl__fail(reterr, TL_EINVAL, "the path of the output directory is too long");
    rc = tl__make_dirs(path, reterr);
    (void)gethostname(d->host, sizeof(d->host) - 1);
    d->pid = (uint32_t)getpid();
    d->start_unix_ns = tl__unix_ns();
    return rc != 0 ? rc : tl__dispatch_write(path, d, reterr);
}

/* ---- clocks ---- */

struct tl_rank_clocks {
    char root[TL_PATHNAME_BYTES];
    uint32_t first, n;
    uint64_t begin_ns;
    struct tl_clock_server *server; /* in rank 0's process; NULL: another process has it, or it could not be started */
    struct tl_rank_clock self;
};

/* Rank 0's clock.json, or NULL. */
static const struct tl_rank_clock *reference(const struct tl_rank_clocks *c, struct tl_rank_clock *room)
{
    char dir[TL_PATHNAME_BYTES];

    (void)tl__pathname(dir, "%s/rank0", c->root);
    return tl__rank_clock_read(dir, room, NULL) == 0 ? room : NULL;
}

/* Each rank of this process has this process's clock. */
static int write_all(struct tl_rank_clocks *c, struct tl_error *reterr)
{
    struct tl_rank_clock room;
    int rc = 0;

    if (c->first == 0)
        c->self.method = TL_CLOCK_SAME; /* it is the reference */
    else
        tl__clock_conclude(&c->self, reference(c, &room), c->begin_ns, tl__now_ns());
    for (uint32_t i = 0; rc == 0 && i < c->n; i++) {
        char dir[TL_PATHNAME_BYTES];

        (void)tl__pathname(dir, "%s/rank%u", c->root, c->first + i);
        c->self.rank = c->first + i;
        rc = tl__rank_clock_write(dir, &c->self, reterr);
    }
    return rc;
}

int tl__rank_clocks_begin(const char *root, uint32_t first_rank, uint32_t n, struct tl_rank_clocks **ret_clocks,
                          struct tl_error *reterr)
{
    struct tl_rank_clocks *c = tl__alloc(1, sizeof(*c));
    struct tl_error err;
    int rc;

    if (c == NULL)
        return tl__fail(reterr, TL_ENOMEM, "no memory for the ranks' clocks");
    (void)tl__pathname(c->root, "%s", root);
    c->first = first_rank;
    c->n = n;
    c->begin_ns = tl__now_ns();
    tl__clock_self(&c->self);
    if (first_rank != 0)
        tl__clock_ask(root, BEGIN_PATIENCE_NS, &c->self.begin);
    else if (tl__clock_server_start(root, &c->server, &err) != 0)
        tl_log_warn("%s; the ranks' clocks are compared by other means", err.msg);
    rc = write_all(c, reterr);
    if (rc == 0) {
        *ret_clocks = c;
        return 0;
    }
    tl__clock_server_stop(c->server);
    tl__free(c);
    return rc;
}

int tl__rank_clocks_end(struct tl_rank_clocks *c, struct tl_error *reterr)
{
    int rc;

    if (c == NULL)
        return 0;
    if (c->first != 0)
        tl__clock_ask(c->root, END_PATIENCE_NS, &c->self.end);
    rc = write_all(c, reterr);
    tl__clock_server_stop(c->server);
    tl__free(c);
    return rc;
}
