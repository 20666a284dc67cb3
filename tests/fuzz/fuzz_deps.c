/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of deps.json: what it lets through can be walked without a look at the file again. */
#include "fuzz.h"

#include <tasklens/kernel.h>

#include "artifact/deps.h"

static void check_view(const struct tl_deps_view *view)
{
    MUST(view->rank <= TL_MAX_DIMS && view->dtype <= TL_DTYPE_COUNT);
}

static void check_edge(const struct tl_deps_edge *e)
{
    MUST(e->source <= TL_DEPS_TENSORMAP && e->overlap <= TL_DEPS_OTHER);
    MUST((e->source == TL_DEPS_TENSORMAP) == (e->overlap != TL_DEPS_OVERLAP_NONE));
    MUST((e->flags & ~(TL_DEPS_WAIT | TL_DEPS_RETAIN | TL_DEPS_HAS_FLAGS)) == 0);
    check_view(&e->consumer);
    check_view(&e->producer);
}

static void check_tasks(const struct tl_deps *d)
{
    uint64_t args = 0;

    for (uint64_t i = 0; i < d->n_tasks; i++) {
        MUST(d->tasks[i].first_arg == args);
        args += d->tasks[i].n_args;
        MUST(tl__deps_find(d, d->tasks[i].task_id) == i);
    }
    MUST(args == d->n_args);
    for (uint64_t i = 0; i < d->n_args; i++) {
        MUST(d->args[i].type < TL_SCALAR);
        MUST(d->args[i].has_view || d->args[i].view.rank == 0);
        check_view(&d->args[i].view);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_error error = {0};
    struct tl_deps d;
    int code = tl__deps_parse(data, size, "fuzz", &d, &error);

    if (code != 0) {
        MUST(code == TL_EPARSE && error.code == code && error.msg[0] != 0);
        return 0;
    }
    check_tasks(&d);
    for (uint64_t i = 0; i < d.n_tensors; i++)
        MUST(d.tensors[i].dtype <= TL_DTYPE_COUNT);
    for (uint64_t i = 0; i < d.n_edges; i++) {
        check_edge(&d.edges[i]);
        MUST(d.edge_pred[i] == tl__deps_find(&d, d.edges[i].pred));
        MUST(d.edge_succ[i] == tl__deps_find(&d, d.edges[i].succ));
    }
    for (uint64_t i = 0; i < d.n_filtered; i++)
        check_edge(&d.filtered[i]);
    MUST(d.has_filtered || d.n_filtered == 0);
    tl__deps_fini(&d);
    return 0;
}
