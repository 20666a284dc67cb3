/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traffic/traffic_view.h"

#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/text/table.h"
#include "base/count_of.h"

static void put_cell(struct tl_row *row, uint64_t value)
{
    tl__put_u64(&row->text, value);
    tl__cell_end(row);
}

static void put_kernel_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_traffic_view *v = ctx;
    const struct tl_traffic_kernel *k = &v->kernels[number];

    tl__put_kernel(&row->text, v->names, k->func_id);
    tl__cell_end(row);
    put_cell(row, k->tasks);
    put_cell(row, k->subtasks);
    put_cell(row, k->read);
    put_cell(row, k->written);
    if (k->counted_subtasks != 0)
        tl__put_u64(&row->text, k->counted_read);
    tl__cell_end(row);
    if (k->counted_subtasks != 0)
        tl__put_u64(&row->text, k->counted_written);
    tl__cell_end(row);
    if (k->counted_subtasks < k->subtasks)
        tl__put_format(&row->text, "%" PRIu64 " of %" PRIu64 " subtasks counted", k->counted_subtasks, k->subtasks);
    tl__cell_end(row);
}

static int put_kernels(struct tl_rendering *out, const struct tl_traffic_view *v)
{
    static const struct tl_column columns[] = {
        {"kernel", false, false}, {"tasks", true, false},       {"subtasks", true, false},       {"read", true, false},
        {"written", true, false}, {"counted read", true, true}, {"counted written", true, true}, {"notes", false, true},
    };

    tl__put_str(out, "\nBytes by kernel, most first\n");
    return tl__table_put(out, columns, COUNT_OF(columns), v->n_kernels, put_kernel_row, (void *)(uintptr_t)v);
}

static void put_spread(struct tl_row *row, const struct tl_traffic_buffer *b, const struct tl_traffic_spread *s)
{
    if (b->reuses != 0)
        tl__put_format(&row->text, "%" PRIu64 " %" PRIu64 " %" PRIu64, s->min, s->median, s->max);
    tl__cell_end(row);
}

static void put_buffer_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_traffic_view *v = ctx;
    const struct tl_traffic_buffer *b = &v->buffers[number];

    tl__put_format(&row->text, "0x%" PRIx64, b->buffer);
    tl__cell_end(row);
    if (b->owner == TL_TRAFFIC_NO_OWNER)
        tl__put_str(&row->text, "program");
    else
        tl__put_task(&row->text, v->layout, b->owner);
    tl__cell_end(row);
    put_cell(row, b->accesses);
    put_cell(row, b->slices);
    put_cell(row, b->read);
    put_cell(row, b->written);
    put_cell(row, b->reuses);
    put_spread(row, b, &b->tasks);
    put_spread(row, b, &b->bytes);
}

static int put_buffers(struct tl_rendering *out, const struct tl_traffic_view *v)
{
    static const struct tl_column columns[] = {
        {"buffer", false, false}, {"of", false, false},        {"accesses", true, false},
        {"slices", true, false},  {"read", true, false},       {"written", true, false},
        {"reuses", true, false},  {"tasks apart", true, true}, {"bytes apart", true, true},
    };
    const uint64_t shown = v->n_buffers < v->buffers_shown ? v->n_buffers : v->buffers_shown;
    int code;

    tl__put_str(out, "\nBytes by buffer, most first; how far apart its reuses are: min, median, max\n");
    code = tl__table_put(out, columns, COUNT_OF(columns), shown, put_buffer_row, (void *)(uintptr_t)v);
    if (shown < v->n_buffers)
        tl__put_format(out, "%" PRIu64 " more; --buffers N shows more\n", v->n_buffers - shown);
    return code;
}

static void put_cache(struct tl_rendering *out, const struct tl_traffic_view *v)
{
    if (v->cache.bytes == 0)
        return;
    tl__put_format(out,
                   "\nA cache of %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64
                   " accesses that read find their slice in it; %" PRIu64 " of %" PRIu64 " bytes read are saved (",
                   v->cache.bytes, v->cache.found, v->cache.reads, v->cache.saved, v->read);
    tl__put_share(out, v->cache.saved, v->read);
    tl__put_str(out, ")\n");
}

static void put_definitions(struct tl_rendering *out, const struct tl_traffic_view *v)
{
    tl__put_str(out,
                "\nread, written: bytes of the views of a task's tensors, by the directions they were submitted with\n"
                "counted: what kernels counted by tl_count (MTE2 read; MTE3 and FIXPIPE written)\n"
                "access: one tensor of one task, in the order in which tasks began; slice: the view that it touches\n"
                "reuse: an access to a slice that was accessed before; tasks apart: places in that order between the "
                "two;\n"
                "bytes apart: of the other slices accessed in between, each once\n");
    if (v->cache.bytes != 0)
        tl__put_str(out,
                    "cache: holds the slices accessed last, as many as fit in whole; what is written goes through\n");
    tl__put_str(out, "Not seen: scalars; which part of a view a kernel really touches, and how often; that two "
                     "different views overlap\n");
    if (v->invalid != 0)
        tl__put_format(out, "          %" PRIu64 " argument%s without a valid view, counted nowhere\n", v->invalid,
                       tl__plural(v->invalid));
    if (v->counted_subtasks < v->subtasks)
        tl__put_format(
            out, "          what kernels moved in %" PRIu64 " of %" PRIu64 " subtasks, where they counted nothing\n",
            v->subtasks - v->counted_subtasks, v->subtasks);
    if (v->traffic->dropped != 0)
        tl__put_format(out, "          %" PRIu64 " subtask%s whose record was dropped\n", v->traffic->dropped,
                       tl__plural(v->traffic->dropped));
    if (v->traffic->fatal)
        tl__put_str(out, "          what ran after the run's end: it ended abnormally\n");
}

int tl__traffic_text(struct tl_rendering *out, const struct tl_traffic_view *v)
{
    int code;

    tl__put_name(out, v->dir);
    tl__put_format(out, ": %zu task%s, %" PRIu64 " accesses to %" PRIu64 " slices of %" PRIu64 " buffers\n",
                   v->traffic->tasks.count, tl__plural(v->traffic->tasks.count), v->accesses, v->n_slices,
                   v->n_buffers);
    tl__put_format(out, "by views  %" PRIu64 " bytes read, %" PRIu64 " written\n", v->read, v->written);
    if (v->counted_subtasks != 0)
        tl__put_format(out, "counted   %" PRIu64 " bytes read, %" PRIu64 " written\n", v->counted_read,
                       v->counted_written);
    code = put_kernels(out, v);
    if (code == 0)
        code = put_buffers(out, v);
    put_cache(out, v);
    put_definitions(out, v);
    return code;
}
