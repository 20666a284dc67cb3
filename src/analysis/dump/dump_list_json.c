/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_list.h"
#include "analysis/dump/dump_payload.h"
#include "analysis/text/json_head.h"
#include "analysis/text/value.h"
#include "base/count_of.h"
#include "base/number.h"
#include "tensor/convert.h"
#include "tensor/element.h"

static void json_extents(struct tl_json *json, const struct tl_dump_record *r)
{
    unsigned rank = r->rank <= TL_MAX_DIMS ? r->rank : 0;

    tl__json_member_array(json, "shape", TL_JSON_LINE);
    for (unsigned i = 0; i < rank; i++)
        tl__json_u64(json, r->shape[i]);
    tl__json_array_end(json);
    tl__json_member_array(json, "strides", TL_JSON_LINE);
    for (unsigned i = 0; i < rank; i++)
        tl__json_u64(json, r->strides[i]);
    tl__json_array_end(json);
    tl__json_member_u64(json, "start_offset", r->start_offset);
}

/* A name each func_id, null where none is known. */
static void json_kernels(struct tl_json *json, const struct tl_name_map *names, const struct tl_dump_record *r)
{
    tl__json_member_array(json, "func_id", TL_JSON_LINE);
    for (unsigned i = 0; i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++)
        tl__json_i64(json, r->func_id[i]);
    tl__json_array_end(json);
    tl__json_member_array(json, "kernels", TL_JSON_LINE);
    for (unsigned i = 0; i < r->func_count && i < TL_DUMP_MAX_FUNCS; i++)
        tl__json_string(json, names != NULL ? tl__name_of(names, r->func_id[i]) : NULL);
    tl__json_array_end(json);
}

static void json_identity(struct tl_json *json, const struct tl_dump_list *list, uint64_t index,
                          const struct tl_dump_record *r)
{
    tl__json_member_u64(json, "index", index);
    tl__json_task(json, "task", list->layout, r->task_id);
    json_kernels(json, list->names, r);
    tl__json_member_string(json, "role", tl_role_name(r->role));
    tl__json_member_string(json, "stage", tl_stage_name(r->stage));
    tl__json_member_u64(json, "arg_index", r->arg_index);
    tl__json_member_string(json, "kind", tl_kind_name(r->kind));
    tl__json_member_string(json, "dtype", tl_dtype_name(r->dtype));
}

static void json_extreme(struct tl_json *json, const char *key, const struct tl_stats *s, double d, int64_t i)
{
    char text[TL_NUMBER_BYTES];

    tl__json_key(json, key);
    if (s->finite == 0)
        tl__json_null(json);
    else if (tl__dtype_is_float(s->dtype))
        tl__json_raw(json, text, tl__float_text(text, s->dtype, (float)d));
    else if (tl__dtype_is_unsigned(s->dtype))
        tl__json_u64(json, (uint64_t)i);
    else
        tl__json_i64(json, i);
}

/* The indices of an element, or null. */
static void json_place(struct tl_json *json, const char *key, const struct tl_dump_record *r, uint64_t i)
{
    uint64_t at[TL_MAX_DIMS] = {0};

    tl__json_key(json, key);
    if (i == UINT64_MAX) {
        tl__json_null(json);
        return;
    }
    tl__dump_place(r, i, at);
    tl__json_array_begin(json, TL_JSON_LINE);
    for (unsigned d = 0; d < r->rank && d < TL_MAX_DIMS; d++)
        tl__json_u64(json, at[d]);
    tl__json_array_end(json);
}

static void json_real(struct tl_json *json, const char *key, const struct tl_stats *s, double value)
{
    tl__json_key(json, key);
    if (s->finite == 0)
        tl__json_null(json);
    else
        tl__json_f64(json, value);
}

static void json_stats(struct tl_json *json, const struct tl_dump_seen *seen)
{
    const struct tl_stats *s = &seen->stats;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"elements", s->count}, {"nan", s->nan}, {"inf", s->pos_inf}, {"neg_inf", s->neg_inf}, {"zeros", s->zeros}};

    tl__json_member_array(json, "first", TL_JSON_LINE);
    for (uint32_t i = 0; i < s->first_count; i++)
        tl__value_json(json, s->dtype, s->first, i);
    tl__json_array_end(json);
    tl__json_member_object(json, "stats", TL_JSON_LINE);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        tl__json_member_u64(json, counts[i].key, counts[i].value);
    }
    json_extreme(json, "min", s, s->min, s->min_int);
    json_extreme(json, "max", s, s->max, s->max_int);
    json_real(json, "mean", s, s->mean);
    json_real(json, "std", s, seen->detail.std);
    json_place(json, "first_nan", seen->record, seen->detail.first_nan);
    json_place(json, "first_inf", seen->record, seen->detail.first_inf);
    json_place(json, "first_min", seen->record, seen->detail.first_min);
    json_place(json, "first_max", seen->record, seen->detail.first_max);
    tl__json_object_end(json);
}

static void json_flags(struct tl_json *json, const struct tl_dump_record *r)
{
    static const struct {
        uint16_t flag;
        const char *key;
    } flags[] = {
        {TL_ARG_CONTIGUOUS, "is_contiguous"},
        {TL_ARG_TRUNCATED, "truncated"},
        {TL_ARG_PARTIAL, "partial"},
        {TL_ARG_OVERWRITTEN, "overwritten"},
        {TL_ARG_MISMATCH, "layout_mismatch"},
        {TL_ARG_AMBIGUOUS, "arg_index_ambiguous"},
        {TL_ARG_MARKED, "marked"},
    };

    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        bool on = (r->flags & flags[i].flag) != 0;

        if (!on && i > 1)
            continue; /* as in the manifest: the others are there only where they are true */
        tl__json_member_bool(json, flags[i].key, on);
    }
    if ((r->flags & (TL_ARG_LOST | TL_ARG_UNSUPPORTED)) != 0) {
        tl__json_member_string(json, "payload", (r->flags & TL_ARG_LOST) != 0 ? "lost" : "unsupported");
    }
    if (r->cause != TL_DUMP_CAUSE_NONE) {
        tl__json_member_string(json, "cause", tl_dump_cause_name(r->cause));
    }
    if ((r->flags & TL_ARG_HAS_HASH) != 0) {
        char hash[24];

        (void)snprintf(hash, sizeof(hash), "xxh3:%016" PRIx64, r->hash);
        tl__json_member_string(json, "hash", hash);
    }
}

struct json_rows {
    struct tl_json *json;
    const struct tl_dump_list *list;
    bool lines;
};

static void json_row(void *ctx, const struct tl_dump_seen *seen)
{
    const struct json_rows *rows = ctx;
    const struct tl_dump_record *r = seen->record;
    struct tl_json *json = rows->json;

    tl__json_object_begin(json, TL_JSON_LINE);
    json_identity(json, rows->list, tl__dump_pick_at(rows->list->scan.pick, seen->number), r);
    json_extents(json, r);
    json_flags(json, r);
    tl__json_member_u64(json, "bin_offset", r->bin_offset);
    tl__json_member_u64(json, "bin_size", r->bin_size);
    if (seen->problem != NULL) {
        tl__json_member_string(json, "unreadable", seen->problem);
    }
    if (r->kind == TL_KIND_SCALAR) {
        tl__json_key(json, "value");
        if (tl_dtype_bits(r->dtype) > 0)
            tl__value_json(json, r->dtype, &r->value_bits, 0);
        else
            tl__json_u64(json, r->value_bits);
    } else if (seen->stats.count > 0) {
        json_stats(json, seen);
    }
    tl__json_object_end(json);
    if (rows->lines)
        tl__json_newline(json);
}

static int json_rows(struct tl_json *json, const struct tl_dump_list *list, bool lines, struct tl_error *reterr)
{
    struct json_rows rows = {.json = json, .list = list, .lines = lines};
    struct tl_dump_scan scan = list->scan;

    scan.detail = true;
    return tl__dump_each(&scan, json_row, &rows, reterr);
}

int tl__dump_list_jsonl(struct tl_json *json, const struct tl_dump_list *list, struct tl_error *reterr)
{
    return json_rows(json, list, true, reterr);
}

int tl__dump_list_json(struct tl_json *json, const struct tl_dump_list *list, struct tl_error *reterr)
{
    const struct tl_dump_summary *s = tl_recording_summary(list->scan.recording);
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"dump_args_level", s->level},           {"total_args", s->total_args},
                  {"before_dispatch", s->before_dispatch}, {"after_completion", s->after_completion},
                  {"input_args", s->input_args},           {"output_args", s->output_args},
                  {"inout_args", s->inout_args},           {"truncated_args", s->truncated_args},
                  {"dropped_records", s->dropped_records}, {"bin_bytes", s->bin_bytes},
                  {"shown", list->scan.pick->count}};
    int code;

    tl__json_object_begin(json, TL_JSON_BLOCK);
    tl__json_head(json, "dump", "list", list->dir);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        tl__json_member_u64(json, counts[i].key, counts[i].value);
    }
    tl__json_member_string(json, "bin_file", s->bin_file[0] != 0 ? s->bin_file : NULL);
    tl__json_member_string(json, "order",
                           list->sorted_by != NULL ? list->sorted_by
                           : list->order != NULL   ? tl__dump_order_word(list->order)
                                                   : "ring");
    tl__json_member_array(json, "args", TL_JSON_BLOCK);
    code = json_rows(json, list, false, reterr);
    tl__json_array_end(json);
    tl__json_member_u64(json, "unreadable_payloads", list->scan.unread != NULL ? list->scan.unread->count : 0);
    tl__json_object_end(json);
    tl__json_newline(json);
    return code;
}
