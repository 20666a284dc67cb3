/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_payload.h"

#include <math.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "base/count_of.h"
#include "base/env.h"
#include "base/error.h"
#include "base/number.h"
#include "tensor/convert.h"

static struct tl_tensor as_tensor(const struct tl_dump_record *r)
{
    struct tl_tensor t = {.dtype = r->dtype, .rank = r->rank, .start_offset = r->start_offset};

    memcpy(t.shape, r->shape, sizeof(t.shape));
    memcpy(t.strides, r->strides, sizeof(t.strides));
    return t;
}

uint64_t tl__dump_elements(const struct tl_dump_record *r)
{
    struct tl_tensor t = as_tensor(r);

    return r->rank > TL_MAX_DIMS ? 0 : tl_tensor_numel(&t);
}

uint64_t tl__dump_elements_here(const struct tl_dump_record *r)
{
    unsigned bits = tl_dtype_bits(r->dtype);
    uint64_t all = tl__dump_elements(r), here;

    if (bits == 0)
        return 0;
    if (r->kind == TL_KIND_SCALAR)
        return 1;
    here = bits == 4 ? r->bin_size * 2 : r->bin_size / (bits / 8);
    return here < all ? here : all;
}

#define READ_BYTES ((size_t)256 << 10)

/* `buffer`: READ_BYTES of the caller's. */
static int stats_through(const struct tl_recording *recording, uint64_t index, void *buffer, struct tl_stats *s,
                         struct tl_error *reterr)
{
    const struct tl_dump_record *r = tl_recording_at(recording, index);
    unsigned bits = tl_dtype_bits(r->dtype);
    uint64_t left = tl__dump_elements_here(r), at = 0;
    int code;

    s->count = 0;
    if (left == 0 || tl__stats_begin(s, r->dtype) < 0)
        return 0;
    if (r->kind == TL_KIND_SCALAR) {
        tl__stats_add(s, &r->value_bits, 1);
        left = 0;
    }
    while (left > 0) {
        uint64_t room = READ_BYTES * 8 / bits, n = left < room ? left : room;
        size_t bytes = (size_t)((n * bits + 7) / 8);

        code = tl_recording_read(recording, index, at, buffer, bytes, reterr);
        if (code < 0)
            return code;
        tl__stats_add(s, buffer, (size_t)n);
        at += bytes;
        left -= n;
    }
    tl__stats_end(s);
    return 0;
}

/* Whether the element is the extreme; of integers exactly. */
static bool is_extreme(const struct tl_stats *s, const void *data, uint64_t i, double value, bool max)
{
    if (tl__dtype_is_float(s->dtype))
        return value == (max ? s->max : s->min);
    return tl__int_at(s->dtype, data, i) == (max ? s->max_int : s->min_int);
}

static void first_is(uint64_t *place, uint64_t element, bool is_it)
{
    if (is_it && *place == UINT64_MAX)
        *place = element;
}

#define CONVERTED 256

/* `n` elements at `data`, the first of which is number `first`. Returns the sum of the squared distances to the mean.
 */
static double add_detail(const struct tl_stats *s, const void *data, uint64_t first, uint64_t n,
                         struct tl_dump_detail *detail)
{
    double values[CONVERTED], sum = 0;

    for (uint64_t at = 0; at < n; at += CONVERTED) {
        uint64_t part = n - at < CONVERTED ? n - at : CONVERTED;

        (void)tl__to_f64(s->dtype, data, at, (size_t)part, values);
        for (uint64_t i = 0; i < part; i++) {
            double distance = values[i] - s->mean;

            first_is(&detail->first_nan, first + at + i, isnan(values[i]));
            first_is(&detail->first_inf, first + at + i, isinf(values[i]));
            if (!isfinite(values[i]))
                continue;
            sum += distance * distance;
            first_is(&detail->first_min, first + at + i,
                     detail->first_min == UINT64_MAX && is_extreme(s, data, at + i, values[i], false));
            first_is(&detail->first_max, first + at + i,
                     detail->first_max == UINT64_MAX && is_extreme(s, data, at + i, values[i], true));
        }
    }
    return sum;
}

/* The second pass: `s` is of the first. */
static int detail_through(const struct tl_recording *recording, uint64_t index, void *buffer, const struct tl_stats *s,
                          struct tl_dump_detail *detail, struct tl_error *reterr)
{
    const struct tl_dump_record *r = tl_recording_at(recording, index);
    unsigned bits = tl_dtype_bits(r->dtype);
    uint64_t left = s->count, first = 0, at = 0;
    double sum = 0;

    *detail = (struct tl_dump_detail){NAN, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    if (left > 0 && r->kind == TL_KIND_SCALAR) {
        sum = add_detail(s, &r->value_bits, 0, 1, detail);
        left = 0;
    }
    while (left > 0) {
        uint64_t room = READ_BYTES * 8 / bits, n = left < room ? left : room;
        size_t bytes = (size_t)((n * bits + 7) / 8);
        int code = tl_recording_read(recording, index, at, buffer, bytes, reterr);

        if (code < 0)
            return code;
        sum += add_detail(s, buffer, first, n, detail);
        at += bytes;
        first += n;
        left -= n;
    }
    if (s->finite > 0)
        detail->std = sqrt(sum / (double)s->finite);
    return 0;
}

int tl__dump_stats(const struct tl_recording *recording, uint64_t index, struct tl_stats *s,
                   struct tl_dump_detail *detail, struct tl_error *reterr)
{
    void *buffer = tl__alloc(1, READ_BYTES);
    int code;

    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory");
    code = stats_through(recording, index, buffer, s, reterr);
    if (code == 0 && detail != NULL)
        code = detail_through(recording, index, buffer, s, detail, reterr);
    tl__free(buffer);
    return code;
}

/* Of what can be read. */
static uint64_t bytes_to_read(const struct tl_dump_scan *scan)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; scan->values && i < scan->pick->count; i++)
        bytes += tl_recording_at(scan->recording, tl__dump_pick_at(scan->pick, i))->bin_size;
    return bytes;
}

bool tl__dump_note_unread(struct tl_dump_unread *unread, uint64_t index, int code, const struct tl_error *error)
{
    if (code >= 0 || code == TL_ENOMEM)
        return false;
    if (unread == NULL)
        return true;
    if (unread->count++ == 0) {
        unread->first = index;
        (void)snprintf(unread->why, sizeof(unread->why), "%s", error->msg[0] != '\0' ? error->msg : tl_strerror(code));
    }
    return true;
}

static int see(const struct tl_dump_scan *scan, uint64_t index, void *buffer, struct tl_dump_seen *seen,
               struct tl_error *error)
{
    int code = 0;

    seen->problem = NULL;
    if (!scan->values)
        return 0;
    error->msg[0] = '\0';
    code = stats_through(scan->recording, index, buffer, &seen->stats, error);
    if (code == 0 && scan->detail)
        code = detail_through(scan->recording, index, buffer, &seen->stats, &seen->detail, error);
    if (!tl__dump_note_unread(scan->unread, index, code, error))
        return code;
    seen->stats.count = 0;
    seen->problem = error->msg[0] != '\0' ? error->msg : tl_strerror(code);
    return 0;
}

int tl__dump_each(const struct tl_dump_scan *scan, tl_dump_each_fn fn, void *ctx, struct tl_error *reterr)
{
    uint64_t total = bytes_to_read(scan), done = 0;
    struct tl_dump_seen seen = {0};
    struct tl_error error;
    void *buffer = tl__alloc(1, READ_BYTES);
    int code = 0;

    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory");
    for (uint64_t i = 0; i < scan->pick->count && code == 0; i++) {
        uint64_t index = tl__dump_pick_at(scan->pick, i);

        seen.number = i;
        seen.record = tl_recording_at(scan->recording, index);
        code = see(scan, index, buffer, &seen, &error);
        if (code < 0)
            break;
        fn(ctx, &seen);
        done += seen.record->bin_size;
        if (scan->progress != NULL)
            scan->progress(scan->progress_ctx, done, total);
    }
    tl__free(buffer);
    return code < 0 ? tl__fail(reterr, code, "%s", error.msg) : 0;
}

void tl__dump_place(const struct tl_dump_record *r, uint64_t i, uint64_t at[TL_MAX_DIMS])
{
    for (unsigned d = r->rank; d-- > 0;) {
        uint64_t extent = d < TL_MAX_DIMS && r->shape[d] > 0 ? r->shape[d] : 1;

        if (d < TL_MAX_DIMS)
            at[d] = i % extent;
        i /= extent;
    }
}

void tl__put_place(struct tl_rendering *out, const struct tl_dump_record *r, uint64_t i)
{
    uint64_t at[TL_MAX_DIMS] = {0};

    tl__dump_place(r, i, at);
    tl__put(out, "[", 1);
    for (unsigned d = 0; d < r->rank && d < TL_MAX_DIMS; d++) {
        tl__put(out, ", ", d > 0 ? 2 : 0);
        tl__put_u64(out, at[d]);
    }
    tl__put(out, "]", 1);
}

void tl__put_shape(struct tl_rendering *out, const struct tl_dump_record *r)
{
    if (r->kind == TL_KIND_SCALAR) {
        tl__put_str(out, "scalar");
        return;
    }
    if (r->rank > TL_MAX_DIMS) {
        tl__put_str(out, "rank ");
        tl__put_u64(out, r->rank);
        return;
    }
    tl__put(out, "[", 1);
    for (unsigned i = 0; i < r->rank; i++) {
        tl__put(out, ", ", i > 0 ? 2 : 0);
        tl__put_u64(out, r->shape[i]);
    }
    tl__put(out, "]", 1);
}

void tl__put_strides(struct tl_rendering *out, const struct tl_dump_record *r)
{
    tl__put(out, "[", 1);
    for (unsigned i = 0; i < r->rank && i < TL_MAX_DIMS; i++) {
        tl__put(out, ", ", i > 0 ? 2 : 0);
        tl__put_u64(out, r->strides[i]);
    }
    tl__put(out, "]", 1);
}

void tl__put_funcs(struct tl_rendering *out, const struct tl_dump_record *r)
{
    char text[TL_NUMBER_BYTES];

    for (unsigned i = 0; i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++) {
        tl__put(out, ",", i > 0);
        if (r->func_id[i] < 0)
            tl__put(out, "?", 1);
        else
            tl__put(out, text, tl__print_i64(text, r->func_id[i]));
    }
}

bool tl__dump_has_flags(const struct tl_dump_record *r)
{
    return (r->flags & (TL_ARG_TRUNCATED | TL_ARG_PARTIAL | TL_ARG_LOST | TL_ARG_OVERWRITTEN | TL_ARG_AMBIGUOUS |
                        TL_ARG_MISMATCH | TL_ARG_UNSUPPORTED)) != 0 ||
           r->cause != TL_DUMP_CAUSE_NONE;
}

void tl__put_flags(struct tl_rendering *out, const struct tl_dump_record *r)
{
    static const struct {
        uint16_t flag;
        const char *word;
    } words[] = {
        {TL_ARG_TRUNCATED, "truncated"},     {TL_ARG_PARTIAL, "partial"},     {TL_ARG_LOST, "lost"},
        {TL_ARG_OVERWRITTEN, "overwritten"}, {TL_ARG_AMBIGUOUS, "ambiguous"}, {TL_ARG_MISMATCH, "mismatch"},
        {TL_ARG_UNSUPPORTED, "unsupported"},
    };
    const char *between = "";

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if ((r->flags & words[i].flag) == 0)
            continue;
        tl__put_str(out, between);
        tl__put_str(out, words[i].word);
        between = ", ";
    }
    if (r->cause != TL_DUMP_CAUSE_NONE) {
        tl__put_str(out, *between != 0 ? " (" : "(");
        tl__put_str(out, tl_dump_cause_name(r->cause));
        tl__put(out, ")", 1);
    }
}
