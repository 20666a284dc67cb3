/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "analysis/deps/deps_show.h"
#include "artifact/deps_words.h"
#include "base/count_of.h"

/* Row-major and side by side; dimensions of one element do not matter. */
static bool is_dense(const struct tl_deps_view *view)
{
    uint64_t step = 1;

    for (unsigned i = view->rank; i-- > 0;) {
        if (view->shape[i] == 0)
            return true;
        if (view->shape[i] > 1 && view->strides[i] != step)
            return false;
        step *= view->shape[i];
    }
    return true;
}

void tl__put_deps_view(struct tl_rendering *out, const struct tl_deps_view *view)
{
    tl__put(out, "[", 1);
    for (unsigned i = 0; i < view->rank; i++) {
        tl__put(out, ", ", i > 0 ? 2 : 0);
        tl__put_u64(out, view->shape[i]);
    }
    tl__put(out, "]", 1);
    if (!is_dense(view)) {
        tl__put_str(out, " strides [");
        for (unsigned i = 0; i < view->rank; i++) {
            tl__put(out, ", ", i > 0 ? 2 : 0);
            tl__put_u64(out, view->strides[i]);
        }
        tl__put(out, "]", 1);
    }
    if (view->start_offset != 0) {
        tl__put_str(out, " offset ");
        tl__put_u64(out, view->start_offset);
    }
}

void tl__put_deps_tensor(struct tl_rendering *out, const struct tl_deps_graph *graph, uint64_t tensor_id)
{
    const struct tl_deps_tensor *tensor = tl__deps_tensor(graph, tensor_id);

    if (tensor == NULL) {
        tl__put_format(out, "tensor %" PRIu64, tensor_id);
        return;
    }
    tl__put_format(out, "0x%" PRIx64, tensor->buffer_addr);
    if (tensor->version != 0)
        tl__put_format(out, " v%" PRIu32, tensor->version);
}

void tl__put_deps_flags(struct tl_rendering *out, uint8_t flags)
{
    bool wait = (flags & TL_DEPS_WAIT) != 0, retain = (flags & TL_DEPS_RETAIN) != 0;

    if ((flags & TL_DEPS_HAS_FLAGS) == 0)
        tl__put_str(out, "not said");
    else if (!wait && !retain)
        tl__put_str(out, "none");
    else
        tl__put_format(out, "%s%s%s", wait ? "wait" : "", wait && retain ? " " : "", retain ? "retain" : "");
}

const char *tl__deps_source_name(unsigned source)
{
    static const char *const names[] = TL_DEPS_SOURCES;

    return source < COUNT_OF(names) ? names[source] : "unknown";
}

const char *tl__deps_overlap_name(unsigned overlap)
{
    static const char *const names[] = TL_DEPS_OVERLAPS;

    return overlap >= TL_DEPS_COVERED && overlap <= TL_DEPS_OTHER ? names[overlap - TL_DEPS_COVERED] : "";
}

const char *tl__deps_type_name(unsigned type)
{
    static const char *const names[] = TL_DEPS_ARG_TYPES;

    return type < COUNT_OF(names) ? names[type] : "unknown";
}

void tl__put_deps_cycle(struct tl_rendering *out, const struct tl_deps_subject *s)
{
    const struct tl_deps_graph *g = s->graph;
    const uint32_t ends = 6; /* shown of a long one at either end */

    for (uint32_t i = 0; i < g->cycle_tasks; i++) {
        if (g->cycle_tasks > 3 * ends && i == ends) {
            i = g->cycle_tasks - ends;
            tl__put_format(out, "(%" PRIu32 " more) -> ", g->cycle_tasks - 2 * ends);
        }
        tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[g->cycle[i]].task_id);
        tl__put_str(out, " -> ");
    }
    if (g->cycle_tasks > 0)
        tl__put_task(out, tl__task_layout_of(s->deps->runtime), s->deps->tasks[g->cycle[0]].task_id);
}
