/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_entry.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_payload.h"
#include "analysis/dump/overview.h"
#include "analysis/dump/dump_pick.h"
#include "analysis/text/value.h"
#include "analysis/text/phrases.h"
#include "base/format.h"
#include "base/number.h"
#include "tensor/convert.h"
#include "tensor/element.h"

struct entry {
    struct tl_rendering *out;
    const struct tl_recording *recording;
    const struct tl_dump_record *r;
    uint64_t index;
    enum tl_task_layout layout; /* of the task's name */
    const char *mark;           /* in front of each line of the head */
};

static void key(const struct entry *e, const char *name)
{
    tl__put_format(e->out, "%s%-13s ", e->mark, name);
}

__attribute__((format(printf, 3, 4))) static void line(const struct entry *e, const char *name, const char *format, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, format);
    (void)tl__vformat(text, sizeof(text), format, ap);
    va_end(ap);
    key(e, name);
    tl__put_format(e->out, "%s\n", text);
}

static void put_identity(const struct entry *e)
{
    const struct tl_dump_record *r = e->r;

    line(e, "index", "%" PRIu64 " of %" PRIu64, e->index, tl_recording_count(e->recording));
    key(e, "task");
    tl__put_task(e->out, e->layout, r->task_id);
    tl__put(e->out, "\n", 1);
    key(e, "func_id");
    tl__put_funcs(e->out, r);
    tl__put(e->out, "\n", 1);
    line(e, "stage", "%s", tl_stage_name(r->stage));
    line(e, "role", "%s", tl_role_name(r->role));
    line(e, "arg_index", "%" PRIu32, r->arg_index);
    line(e, "kind", "%s", tl_kind_name(r->kind));
    line(e, "dtype", "%s", tl_dtype_name(r->dtype));
}

static void put_layout(const struct entry *e)
{
    const struct tl_dump_record *r = e->r;

    if (r->kind == TL_KIND_SCALAR)
        return;
    key(e, "shape");
    tl__put_shape(e->out, r);
    tl__put(e->out, "\n", 1);
    if (r->rank <= TL_MAX_DIMS) {
        key(e, "strides");
        tl__put_strides(e->out, r);
        tl__put(e->out, "\n", 1);
        line(e, "start_offset", "%" PRIu64, r->start_offset);
        line(e, "is_contiguous", "%s", (r->flags & TL_ARG_CONTIGUOUS) != 0 ? "true" : "false");
    }
    if (r->bin_size > 0)
        line(e, "payload", "%" PRIu64 " bytes at %" PRIu64 " of %s", r->bin_size, r->bin_offset,
             tl_recording_summary(e->recording)->bin_file);
    else
        line(e, "payload", "none");
}

/* What tl__put_flags has a word for. */
#define NOTED ((unsigned)~(TL_ARG_CONTIGUOUS | TL_ARG_MARKED | TL_ARG_HAS_HASH))

static void put_state(const struct entry *e)
{
    const struct tl_dump_record *r = e->r;

    if ((r->flags & TL_ARG_HAS_HASH) != 0)
        line(e, "hash", "xxh3:%016" PRIx64, r->hash);
    if ((r->flags & TL_ARG_MARKED) != 0)
        line(e, "marked", "true");
    if ((r->flags & NOTED) == 0 && r->cause == TL_DUMP_CAUSE_NONE)
        return;
    key(e, "notes");
    tl__put_flags(e->out, r);
    if ((r->flags & TL_ARG_TRUNCATED) != 0)
        tl__put_format(e->out, "; %" PRIu64 " of %" PRIu64 " elements are here", tl__dump_elements_here(r),
                       tl__dump_elements(r));
    tl__put(e->out, "\n", 1);
}

/* "-1.25 at [0, 1]"; of a single element without the place. */
static void put_extreme(const struct entry *e, const struct tl_stats *s, double d, int64_t i, uint64_t at)
{
    char text[TL_NUMBER_BYTES];

    if (tl__dtype_is_float(s->dtype))
        tl__put(e->out, text, tl__float_text(text, s->dtype, (float)d));
    else if (tl__dtype_is_unsigned(s->dtype))
        tl__put_u64(e->out, (uint64_t)i);
    else
        tl__put(e->out, text, tl__print_i64(text, i));
    if (at == UINT64_MAX || s->count < 2)
        return;
    tl__put_str(e->out, " at ");
    tl__put_place(e->out, e->r, at);
}

static void put_stats(const struct entry *e, const struct tl_stats *s, const struct tl_dump_detail *detail)
{
    char text[TL_NUMBER_BYTES + 1];

    line(e, "elements", "%" PRIu64 ": %" PRIu64 " zero, %" PRIu64 " NaN, %" PRIu64 " Inf, %" PRIu64 " -Inf", s->count,
         s->zeros, s->nan, s->pos_inf, s->neg_inf);
    if (detail->first_nan != UINT64_MAX) {
        key(e, "first NaN");
        tl__put_place(e->out, e->r, detail->first_nan);
        tl__put(e->out, "\n", 1);
    }
    if (detail->first_inf != UINT64_MAX) {
        key(e, "first Inf");
        tl__put_place(e->out, e->r, detail->first_inf);
        tl__put(e->out, "\n", 1);
    }
    if (s->finite == 0)
        return;
    key(e, "range");
    put_extreme(e, s, s->min, s->min_int, detail->first_min);
    tl__put_str(e->out, " to ");
    put_extreme(e, s, s->max, s->max_int, detail->first_max);
    tl__put_str(e->out, ", mean ");
    tl__put(e->out, text, tl__print_rounded(text, s->mean, 9));
    tl__put_str(e->out, ", std ");
    tl__put(e->out, text, tl__print_rounded(text, detail->std, 9));
    tl__put(e->out, "\n", 1);
}

static void put_scalar(const struct entry *e)
{
    char text[TL_VALUE_BYTES];
    int n;

    if (tl_dtype_bits(e->r->dtype) == 0) {
        line(e, "value", "0x%016" PRIx64 " (the dtype is not known)", e->r->value_bits);
        return;
    }
    n = (int)tl__value_text(text, e->r->dtype, &e->r->value_bits, 0);
    if (n == 3 && memcmp(text, "nan", 3) == 0) { /* the manifest says no more of it */
        line(e, "value", "nan (which of the NaNs is not recorded)");
        return;
    }
    line(e, "value", "%.*s (bits 0x%" PRIx64 ")", n, text, e->r->value_bits);
}

static struct tl_overview overview_of(const struct tl_dump_record *r, const void *data)
{
    struct tl_overview v = {.dtype = r->dtype, .rank = r->rank, .data = data, .here = tl__dump_elements_here(r)};

    memcpy(v.shape, r->shape, sizeof(v.shape));
    return v;
}

static int put_entry(struct entry *e, bool file, struct tl_error *reterr)
{
    const void *data = NULL;
    struct tl_overview view;
    struct tl_dump_detail detail = {0};
    struct tl_stats s = {0};
    int code = 0;

    put_identity(e);
    put_layout(e);
    if (e->r->kind == TL_KIND_SCALAR)
        put_scalar(e);
    put_state(e);
    if (e->r->kind == TL_KIND_SCALAR || tl__dump_elements_here(e->r) == 0)
        return e->out->error;
    code = tl_recording_payload(e->recording, e->index, &data, reterr);
    if (code == 0)
        code = tl__dump_stats(e->recording, e->index, &s, &detail, reterr);
    if (code < 0) {
        line(e, "values", "unreadable: %s", reterr->msg);
        return code;
    }
    put_stats(e, &s, &detail);
    view = overview_of(e->r, data);
    view.edges_only = !file && view.here > TL_DUMP_WHOLE_ELEMENTS;
    tl__put_format(e->out, "\n%svalues, row by row%s\n", e->mark,
                   view.edges_only ? " (edges; --export txt writes all)" : "");
    tl__put_overview(e->out, &view);
    if (file) {
        tl__put_format(e->out, "\n%svalues by index\n", e->mark);
        tl__put_by_index(e->out, &view);
    }
    return e->out->error;
}

static int put_one(struct tl_rendering *out, const struct tl_recording *recording, uint64_t index,
                   enum tl_task_layout layout, bool file, struct tl_error *reterr)
{
    struct entry e = {.out = out,
                      .recording = recording,
                      .r = tl_recording_at(recording, index),
                      .index = index,
                      .layout = layout,
                      .mark = file ? "# " : ""};

    return e.r != NULL ? put_entry(&e, file, reterr) : TL_ERANGE;
}

int tl__dump_entry_text(struct tl_rendering *out, const struct tl_recording *recording, uint64_t index,
                        enum tl_task_layout layout, struct tl_error *reterr)
{
    return put_one(out, recording, index, layout, false, reterr);
}

int tl__dump_entry_file(struct tl_rendering *out, const struct tl_recording *recording, uint64_t index,
                        enum tl_task_layout layout, struct tl_error *reterr)
{
    return put_one(out, recording, index, layout, true, reterr);
}
