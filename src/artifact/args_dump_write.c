/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest's writer: one record a line, fields in the order of the format's description. */
#include <string.h>

#include "artifact/args_dump.h"
#include "artifact/dump_value.h"
#include "artifact/file_out.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"

/* The longest line: 3 function ids, 5 extents and strides, every number at full length and every extra stay under 900.
 */
#define LINE_MAX_BYTES 1024

const char *tl__dump_record_fault(const struct tl_dump_record *r, bool has_bin)
{
    if (r->func_count < 1 || r->func_count > TL_DUMP_MAX_FUNCS)
        return "func_count";
    if (r->stage > TL_STAGE_AFTER)
        return "stage";
    if (r->role > TL_ROLE_INOUT)
        return "role";
    if (r->kind > TL_KIND_SCALAR)
        return "kind";
    if (r->cause > TL_DUMP_CAUSE_OTHER)
        return "cause";
    if (r->kind == TL_KIND_SCALAR && (r->bin_size != 0 || r->rank != 0 || r->stage != TL_STAGE_BEFORE))
        return "a scalar with payload, shape or a later stage";
    if (r->bin_size != 0 && !has_bin)
        return "bin_size without a bin_file";
    return NULL;
}

/*
 * A record is formatted in one go, because a million of them are: literals with their punctuation, copied by
 * constant length. `p` is where the next byte goes; each function returns the new end.
 */
#define LIT(p, literal) ((char *)memcpy((p), (literal), sizeof(literal) - 1) + (sizeof(literal) - 1))

static char *put_text(char *p, const char *text)
{
    size_t n = strlen(text);

    return (char *)memcpy(p, text, n) + n;
}

static char *put_number(char *p, uint64_t value)
{
    return p + tl__print_u64(p, value);
}

static char *put_head(char *p, const struct tl_dump_record *r)
{
    p = LIT(p, "{\"task_id\": \"");
    p += tl__print_hex(p, r->task_id, 16);
    p = LIT(p, "\", \"func_id\": [");
    for (unsigned i = 0; i < r->func_count; i++) {
        if (i > 0)
            p = LIT(p, ", ");
        p += tl__print_i64(p, r->func_id[i]);
    }
    p = LIT(p, "], \"role\": \"");
    p = put_text(p, tl_role_name(r->role));
    p = LIT(p, "\", \"stage\": \"");
    p = put_text(p, tl_stage_name(r->stage));
    p = LIT(p, "\", \"arg_index\": ");
    p = put_number(p, r->arg_index);
    p = LIT(p, ", \"kind\": \"");
    p = put_text(p, tl_kind_name(r->kind));
    p = LIT(p, "\", \"dtype\": \"");
    p = put_text(p, tl_dtype_name(r->dtype));
    p = LIT(p, "\"");
    if (r->kind == TL_KIND_SCALAR) {
        p = LIT(p, ", \"value\": ");
        p += tl__dump_value_text(p, r->dtype, r->value_bits);
    }
    return p;
}

static char *put_geometry(char *p, const struct tl_dump_record *r)
{
    unsigned dims = r->rank <= TL_MAX_DIMS ? r->rank : 0;

    p = LIT(p, ", \"shape\": [");
    for (unsigned d = 0; d < dims; d++) {
        if (d > 0)
            p = LIT(p, ", ");
        p = put_number(p, r->shape[d]);
    }
    p = LIT(p, "], \"strides\": [");
    for (unsigned d = 0; d < dims; d++) {
        if (d > 0)
            p = LIT(p, ", ");
        p = put_number(p, r->strides[d]);
    }
    p = LIT(p, "], \"start_offset\": ");
    p = put_number(p, r->start_offset);
    if ((r->flags & TL_ARG_CONTIGUOUS) != 0)
        p = LIT(p, ", \"is_contiguous\": true");
    else
        p = LIT(p, ", \"is_contiguous\": false");
    if ((r->flags & TL_ARG_TRUNCATED) != 0)
        p = LIT(p, ", \"truncated\": true");
    else
        p = LIT(p, ", \"truncated\": false");
    p = LIT(p, ", \"bin_offset\": ");
    p = put_number(p, r->bin_offset);
    p = LIT(p, ", \"bin_size\": ");
    return put_number(p, r->bin_size);
}

/* What the format does not have of its own; each only where it says something. */
static char *put_extras(char *p, const struct tl_dump_record *r)
{
    static const struct {
        uint16_t flag;
        const char *text;
    } flags[] = {
        {TL_ARG_MARKED, ", \"marked\": true"},
        {TL_ARG_PARTIAL, ", \"partial\": true"},
        {TL_ARG_AMBIGUOUS, ", \"arg_index_ambiguous\": true"},
        {TL_ARG_MISMATCH, ", \"layout_mismatch\": true"},
        {TL_ARG_OVERWRITTEN, ", \"overwritten\": true"},
        {TL_ARG_UNSUPPORTED, ", \"payload\": \"unsupported\""},
        {TL_ARG_LOST, ", \"payload\": \"lost\""},
    };

    if ((r->flags & TL_ARG_HAS_HASH) != 0) {
        char hex[TL_NUMBER_BYTES];

        (void)tl__print_hex(hex, r->hash, 16);
        p = LIT(p, ", \"hash\": \"xxh3:");
        p = (char *)memcpy(p, hex + 2, 16) + 16; /* without 0x */
        p = LIT(p, "\"");
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if ((r->flags & flags[i].flag) != 0)
            p = put_text(p, flags[i].text);
    if (r->rank > TL_MAX_DIMS) {
        p = LIT(p, ", \"rank\": ");
        p = put_number(p, r->rank);
    }
    if (r->cause != TL_DUMP_CAUSE_NONE) {
        p = LIT(p, ", \"cause\": \"");
        p = put_text(p, tl_dump_cause_name(r->cause));
        p = LIT(p, "\"");
    }
    return LIT(p, "}");
}

static void put_summary(struct tl_json *j, const struct tl_dump_summary *s)
{
    tl__json_member_string(j, "run_dir", s->run_dir[0] != 0 ? s->run_dir : TL_DUMP_DIR_NAME);
    tl__json_member_object(j, "bin_format", TL_JSON_BLOCK);
    tl__json_member_string(j, "type", "logical_contiguous");
    tl__json_member_string(j, "byte_order", "little_endian");
    tl__json_object_end(j);
    tl__json_member_u64(j, "version", TL_DUMP_VERSION);
    tl__json_member_u64(j, "dump_args_level", s->level);
    if (s->run_epoch != 0)
        tl__json_member_u64(j, "run_epoch", s->run_epoch);
    tl__json_member_u64(j, "total_args", s->total_args);
    tl__json_member_u64(j, "before_dispatch", s->before_dispatch);
    tl__json_member_u64(j, "after_completion", s->after_completion);
    tl__json_member_u64(j, "input_args", s->input_args);
    tl__json_member_u64(j, "output_args", s->output_args);
    tl__json_member_u64(j, "inout_args", s->inout_args);
    tl__json_member_u64(j, "truncated_args", s->truncated_args);
    tl__json_member_u64(j, "dropped_records", s->dropped_records);
    if (s->dropped_overwrite != 0)
        tl__json_member_u64(j, "dropped_overwrite", s->dropped_overwrite);
    tl__json_member_string(j, "bin_file", s->bin_file[0] != 0 ? s->bin_file : NULL);
}

static const char *put_records(struct tl_json *j, const struct tl_dump_record *records, uint64_t count, bool has_bin,
                               uint64_t *ret_index)
{
    char line[LINE_MAX_BYTES], *end;

    for (uint64_t i = 0; i < count && j->error == 0; i++) {
        const char *fault = tl__dump_record_fault(&records[i], has_bin);

        if (fault == NULL && i > 0 && tl__dump_compare(&records[i - 1], &records[i]) > 0)
            fault = "it comes before its predecessor in (task_id, stage, arg_index, role)";
        if (fault != NULL) {
            *ret_index = i;
            return fault;
        }
        end = put_extras(put_geometry(put_head(line, &records[i]), &records[i]), &records[i]);
        tl__json_raw(j, line, (size_t)(end - line));
    }
    return NULL;
}

int tl__dump_write_manifest(const char *dir, const struct tl_dump_summary *summary,
                            const struct tl_dump_record *records, uint64_t count, struct tl_error *reterr)
{
    struct tl_dump_summary head = *summary;
    struct tl_out out;
    const char *fault;
    uint64_t at = 0;
    int code = tl__out_open_in(&out, dir, TL_DUMP_MANIFEST_NAME, reterr);

    if (code != 0)
        return code;
    tl__dump_count(&head, records, count);
    tl__json_object_begin(&out.json, TL_JSON_BLOCK);
    put_summary(&out.json, &head);
    tl__json_member_array(&out.json, "args", TL_JSON_BLOCK);
    fault = put_records(&out.json, records, count, head.bin_file[0] != 0, &at);
    if (fault != NULL) {
        tl__out_abort(&out);
        return tl__fail_at(reterr, TL_EINVAL, (long)at, "%s: record %llu cannot be written: %s", out.path,
                           (unsigned long long)at, fault);
    }
    tl__json_array_end(&out.json);
    tl__json_object_end(&out.json);
    tl__json_newline(&out.json);
    return tl__out_commit(&out, reterr);
}
