/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump_payload.h"

#include <tasklens/error.h>

#include "base/env.h"
#include "base/error.h"
#include "base/number.h"

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

int tl__dump_stats(const struct tl_recording *recording, uint64_t index, struct tl_stats *s, struct tl_error *reterr)
{
    void *buffer = tl__alloc(1, READ_BYTES);
    int code;

    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory");
    code = stats_through(recording, index, buffer, s, reterr);
    tl__free(buffer);
    return code;
}

/* Sums up the payloads to read, and fails if one is not in its file: before anything has been said about the others. */
static int look_ahead(const struct tl_dump_scan *scan, uint64_t *ret_bytes, struct tl_error *reterr)
{
    uint64_t bytes = 0;
    const void *data;
    int code;

    for (uint64_t i = 0; scan->values && i < scan->pick->count; i++) {
        uint64_t index = tl__dump_pick_at(scan->pick, i);
        const struct tl_dump_record *r = tl_recording_at(scan->recording, index);

        if (r->bin_size == 0)
            continue;
        code = tl_recording_payload(scan->recording, index, &data, reterr);
        if (code < 0)
            return code;
        bytes += r->bin_size;
    }
    *ret_bytes = bytes;
    return 0;
}

int tl__dump_each(const struct tl_dump_scan *scan, tl_dump_each_fn fn, void *ctx, struct tl_error *reterr)
{
    uint64_t total = 0, done = 0;
    struct tl_stats s = {0};
    void *buffer;
    int code = look_ahead(scan, &total, reterr);

    if (code < 0)
        return code;
    buffer = tl__alloc(1, READ_BYTES);
    if (buffer == NULL)
        return tl__fail(reterr, TL_ENOMEM, "out of memory");
    for (uint64_t i = 0; i < scan->pick->count; i++) {
        uint64_t index = tl__dump_pick_at(scan->pick, i);
        const struct tl_dump_record *r = tl_recording_at(scan->recording, index);

        if (scan->values)
            code = stats_through(scan->recording, index, buffer, &s, reterr);
        if (code < 0)
            break;
        fn(ctx, i, r, &s);
        done += r->bin_size;
        if (scan->progress != NULL)
            scan->progress(scan->progress_ctx, done, total);
    }
    tl__free(buffer);
    return code;
}

void tl__put_shape(struct tl_page *page, const struct tl_dump_record *r)
{
    if (r->kind == TL_KIND_SCALAR) {
        tl__put_str(page, "scalar");
        return;
    }
    if (r->rank > TL_MAX_DIMS) {
        tl__put_str(page, "rank ");
        tl__put_u64(page, r->rank);
        return;
    }
    tl__put(page, "[", 1);
    for (unsigned i = 0; i < r->rank; i++) {
        tl__put(page, ", ", i > 0 ? 2 : 0);
        tl__put_u64(page, r->shape[i]);
    }
    tl__put(page, "]", 1);
}

void tl__put_strides(struct tl_page *page, const struct tl_dump_record *r)
{
    tl__put(page, "[", 1);
    for (unsigned i = 0; i < r->rank && i < TL_MAX_DIMS; i++) {
        tl__put(page, ", ", i > 0 ? 2 : 0);
        tl__put_u64(page, r->strides[i]);
    }
    tl__put(page, "]", 1);
}

void tl__put_funcs(struct tl_page *page, const struct tl_dump_record *r)
{
    char text[TL_NUMBER_BYTES];

    for (unsigned i = 0; i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++) {
        tl__put(page, ",", i > 0);
        if (r->func_id[i] < 0)
            tl__put(page, "?", 1);
        else
            tl__put(page, text, tl__print_i64(text, r->func_id[i]));
    }
}

void tl__put_flags(struct tl_page *page, const struct tl_dump_record *r)
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

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if ((r->flags & words[i].flag) == 0)
            continue;
        tl__put_str(page, between);
        tl__put_str(page, words[i].word);
        between = ", ";
    }
    if (r->cause != TL_DUMP_CAUSE_NONE) {
        tl__put_str(page, *between != 0 ? " (" : "(");
        tl__put_str(page, tl_dump_cause_name(r->cause));
        tl__put(page, ")", 1);
    }
}
