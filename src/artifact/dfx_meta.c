/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says for each plain field where it is and what it is called; the writer and the reader both walk it.
 * Streams, losses and cut tensors are lists of such objects.
 */
#include "artifact/dfx_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/dfx_verdict.h"
#include "artifact/file_out.h"
#include "artifact/json_file.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"
#include "base/pathname.h"

#define FILE_MAX_BYTES (1u << 20) /* ours are a few KiB */

enum kind { TEXT, U32, U64, F64, HEX };

struct field {
    const char *name;
    enum kind kind;
    uint32_t offset, size;
};

#define FIELD(type, member, name, kind)                                                                                \
    {                                                                                                                  \
        name, kind, offsetof(struct type, member), sizeof(((struct type *)NULL)->member)                               \
    }

static const struct field run_fields[] = {
    FIELD(tl_meta, program, "program", TEXT),
    FIELD(tl_meta, program_hash, "program_hash", TEXT),
    FIELD(tl_meta, case_name, "case", TEXT),
    FIELD(tl_meta, platform, "platform", TEXT),
    FIELD(tl_meta, runtime, "runtime", TEXT),
    FIELD(tl_meta, format, "format", TEXT),
    FIELD(tl_meta, status, "status", TEXT),
    FIELD(tl_meta, error, "error", TEXT),
    FIELD(tl_meta, level, "dump_args_level", U32),
    FIELD(tl_meta, epoch, "epoch", U32),
    FIELD(tl_meta, start_unix_ns, "start_unix_ns", U64),
    FIELD(tl_meta, wall_ns, "wall_ns", U64),
    FIELD(tl_meta, parked_ns, "parked_ns", U64),
    FIELD(tl_meta, clock_freq_hz, "clock_freq_hz", U64),
    FIELD(tl_meta, clock_start_cycles, "clock_start_cycles", U64),
    FIELD(tl_meta, clock_start_ns, "clock_start_ns", U64),
    FIELD(tl_meta, clock_end_cycles, "clock_end_cycles", U64),
    FIELD(tl_meta, clock_end_ns, "clock_end_ns", U64),
    FIELD(tl_meta, clock_error_ns, "clock_error_ns", U64),
    FIELD(tl_meta, tasks, "tasks", U64),
    FIELD(tl_meta, allocations, "allocations", U64),
    FIELD(tl_meta, unrecorded_bytes, "unrecorded_bytes", U64),
    FIELD(tl_meta, payloads_missing, "payloads_missing", U64),
    FIELD(tl_meta, truncated_total, "truncated_total", U64),
};
static const struct field stream_fields[] = {
    FIELD(tl_meta_stream, name, "name", TEXT),
    FIELD(tl_meta_stream, attempted, "attempted", U64),
    FIELD(tl_meta_stream, collected, "collected", U64),
    FIELD(tl_meta_stream, payload_bytes, "payload_bytes", U64),
    FIELD(tl_meta_stream, payloads_lost, "payloads_lost", U64),
    FIELD(tl_meta_stream, record_ns, "record_ns", F64),
};
static const struct field tensor_fields[] = {
    FIELD(tl_meta_tensor, task_id, "task_id", HEX),
    FIELD(tl_meta_tensor, arg_index, "arg_index", U32),
    FIELD(tl_meta_tensor, bytes, "bytes", U64),
    FIELD(tl_meta_tensor, kept_bytes, "kept_bytes", U64),
};
enum tl_task_layout tl__meta_layout(const struct tl_meta *meta)
{
    return strcmp(meta->format, "2026-09") == 0 ? tl__task_layout_of(meta->runtime) : TL_TASK_RINGS;
}

/* ---- writing ---- */

static void put_fields(struct tl_json *j, const struct field *fields, size_t count, const void *object)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)object + fields[i].offset;
        uint32_t small;
        uint64_t large;
        double real;

        tl__json_key(j, fields[i].name);
        switch (fields[i].kind) {
        case TEXT:
            tl__json_string_bytes(j, (const char *)at, strnlen((const char *)at, fields[i].size));
            break;
        case U32:
            memcpy(&small, at, sizeof(small));
            tl__json_u64(j, small);
            break;
        case U64:
            memcpy(&large, at, sizeof(large));
            tl__json_u64(j, large);
            break;
        case HEX:
            memcpy(&large, at, sizeof(large));
            tl__json_hex_string(j, large, 16);
            break;
        case F64:
            memcpy(&real, at, sizeof(real));
            tl__json_f64(j, real);
            break;
        }
    }
}

static void put_stream(struct tl_json *j, const struct tl_meta_stream *stream)
{
    uint64_t dropped = 0;

    tl__json_object_begin(j, TL_JSON_LINE);
    put_fields(j, stream_fields, COUNT_OF(stream_fields), stream);
    tl__json_member_object(j, "dropped", TL_JSON_LINE);
    for (unsigned i = 0; i < TL_META_MAX_LOSSES && stream->losses[i].cause[0] != 0; i++) {
        tl__json_key_string(j, stream->losses[i].cause);
        tl__json_u64(j, stream->losses[i].count);
        dropped += stream->losses[i].count;
    }
    tl__json_object_end(j);
    tl__json_member_u64(j, "dropped_total", dropped);
    tl__json_object_end(j);
}

static int check(const struct tl_meta *meta)
{
    if (meta->stream_count > TL_META_MAX_STREAMS || meta->truncated_listed > TL_META_MAX_TRUNCATED ||
        meta->verdict_count > TL_META_MAX_VERDICTS)
        return TL_EINVAL;
    for (unsigned s = 0; s < meta->stream_count; s++)
        for (unsigned i = 0; i < TL_META_MAX_LOSSES; i++)
            if (memchr(meta->streams[s].losses[i].cause, 0, sizeof(meta->streams[s].losses[i].cause)) == NULL)
                return TL_EINVAL;
    return 0;
}

int tl__meta_write(const char *dir, const struct tl_meta *meta, struct tl_error *reterr)
{
    struct tl_out out;
    struct tl_json *j = &out.json;
    int code;

    if (check(meta) != 0)
        return tl__fail(reterr, TL_EINVAL, "%s/%s: more streams or tensors than it holds", dir, TL_META_NAME);
    code = tl__out_open_in(&out, dir, TL_META_NAME, reterr);
    if (code != 0)
        return code;
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "version", TL_META_VERSION);
    put_fields(j, run_fields, COUNT_OF(run_fields), meta);
    tl__json_member_array(j, "streams", TL_JSON_BLOCK);
    for (unsigned i = 0; i < meta->stream_count; i++)
        put_stream(j, &meta->streams[i]);
    tl__json_array_end(j);
    tl__json_member_array(j, "truncated", TL_JSON_BLOCK);
    for (unsigned i = 0; i < meta->truncated_listed; i++) {
        tl__json_object_begin(j, TL_JSON_LINE);
        put_fields(j, tensor_fields, COUNT_OF(tensor_fields), &meta->truncated[i]);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
    tl__json_member_array(j, "verdicts", TL_JSON_BLOCK);
    for (unsigned i = 0; i < meta->verdict_count; i++)
        tl__verdict_put(j, &meta->verdicts[i]);
    tl__json_array_end(j);
    tl__json_object_end(j);
    tl__json_newline(j);
    return tl__out_commit(&out, reterr);
}

/* ---- reading ---- */

static int bad_field(struct tl_tape *t, const char *list, const char *name, const char *what)
{
    char field[160];

    (void)snprintf(field, sizeof(field), "%s%s%s", list, list[0] != 0 ? "." : "", name);
    return tl__tape_fail(t, TL_EPARSE, field, "%s", what);
}

/* Stores a value of the field's kind; what is wrong with it, or NULL. */
static const char *take_value(const struct field *field, const struct tl_tape *t, uint32_t at, uint8_t *to)
{
    const char *text = t->text + t->tokens[at].start;
    uint32_t type = t->tokens[at].type, small;
    uint64_t large = 0;
    double real;

    switch (field->kind) {
    case TEXT:
        if (type != TL_TAPE_STRING)
            return "expected a string";
        (void)snprintf((char *)to, field->size, "%s", text);
        return NULL;
    case HEX:
        if (type != TL_TAPE_STRING || strncmp(text, "0x", 2) != 0 || !tl__read_hex(text + 2, strlen(text + 2), &large))
            return "expected a string of \"0x\" and hex digits";
        memcpy(to, &large, sizeof(large));
        return NULL;
    case F64:
        if (type != TL_TAPE_NUMBER)
            return "expected a number";
        if (!tl__read_f64(text, strlen(text), &real))
            return "expected a number";
        memcpy(to, &real, sizeof(real));
        return NULL;
    case U32:
    case U64:
        if (type != TL_TAPE_NUMBER || !tl__read_u64(text, strlen(text), &large) ||
            (field->kind == U32 && large > UINT32_MAX))
            return "expected an integer";
        if (field->kind == U32) {
            small = (uint32_t)large;
            memcpy(to, &small, sizeof(small));
        } else {
            memcpy(to, &large, sizeof(large));
        }
        return NULL;
    }
    return NULL;
}

/* The member of that name of an object. */
static uint32_t member(struct tl_tape *t, uint32_t object, const char *name)
{
    uint32_t at = TL_TAPE_ABSENT;

    (void)tl__tape_fields(t, object, NULL, &name, 1, &at); /* of an object: it cannot fail */
    return at;
}

static int take_fields(struct tl_tape *t, const char *list, const struct field *fields, size_t count, uint32_t object,
                       void *to)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t at = member(t, object, fields[i].name);
        const char *fault =
            at != TL_TAPE_ABSENT ? take_value(&fields[i], t, at, (uint8_t *)to + fields[i].offset) : NULL;

        if (fault != NULL)
            return bad_field(t, list, fields[i].name, fault);
    }
    return 0;
}

/* The named list of objects, its first one at *ret_at; *ret_count 0 and no error if it is absent. More than `most` are
 * not read. */
static int find_list(struct tl_tape *t, const char *name, uint32_t most, uint32_t *ret_at, uint32_t *ret_count)
{
    uint32_t at = member(t, 0, name), count, item;

    *ret_count = 0;
    if (at == TL_TAPE_ABSENT)
        return 0;
    if (t->tokens[at].type != TL_TAPE_ARRAY)
        return bad_field(t, "", name, "expected an array");
    count = t->tokens[at].length < most ? t->tokens[at].length : most;
    *ret_at = item = at + 1;
    for (uint32_t i = 0; i < count; i++, item = t->tokens[item].next)
        if (t->tokens[item].type != TL_TAPE_OBJECT)
            return bad_field(t, "", name, "expected an array of objects");
    *ret_count = count;
    return 0;
}

static int take_losses(struct tl_tape *t, uint32_t stream, struct tl_meta_stream *to)
{
    uint32_t at = member(t, stream, "dropped"), key = at + 1;

    if (at == TL_TAPE_ABSENT)
        return 0;
    if (t->tokens[at].type != TL_TAPE_OBJECT)
        return bad_field(t, "streams", "dropped", "expected an object");
    for (unsigned i = 0; i < t->tokens[at].length && i < TL_META_MAX_LOSSES; i++, key = t->tokens[key + 1].next) {
        const struct tl_tape_token *count = &t->tokens[key + 1];
        const char *cause = t->text + t->tokens[key].start;

        if (count->type != TL_TAPE_NUMBER || !tl__read_u64(t->text + count->start, count->length, &to->losses[i].count))
            return bad_field(t, "streams.dropped", cause, "expected an integer");
        (void)snprintf(to->losses[i].cause, sizeof(to->losses[i].cause), "%s", cause);
    }
    return 0;
}

static int take_version(struct tl_tape *t)
{
    uint32_t at = member(t, 0, "version");
    uint64_t version = 0;

    if (at == TL_TAPE_ABSENT)
        return bad_field(t, "", "version", "missing");
    if (t->tokens[at].type != TL_TAPE_NUMBER ||
        !tl__read_u64(t->text + t->tokens[at].start, t->tokens[at].length, &version))
        return bad_field(t, "", "version", "expected an integer");
    if (version > TL_META_VERSION)
        return tl__tape_fail(t, TL_EVERSION, NULL, "version %llu is newer than what this program reads (%d)",
                             (unsigned long long)version, TL_META_VERSION);
    return 0;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    struct tl_meta *meta = ctx;
    uint32_t at = 0;
    int code;

    if (t->tokens[0].type != TL_TAPE_OBJECT)
        return tl__tape_fail(t, TL_EPARSE, NULL, "expected an object");
    code = take_version(t);
    if (code == 0)
        code = take_fields(t, "", run_fields, COUNT_OF(run_fields), 0, meta);
    if (code == 0)
        code = find_list(t, "streams", TL_META_MAX_STREAMS, &at, &meta->stream_count);
    for (uint32_t i = 0; code == 0 && i < meta->stream_count; i++, at = t->tokens[at].next) {
        code = take_fields(t, "streams", stream_fields, COUNT_OF(stream_fields), at, &meta->streams[i]);
        if (code == 0)
            code = take_losses(t, at, &meta->streams[i]);
    }
    if (code == 0)
        code = find_list(t, "truncated", TL_META_MAX_TRUNCATED, &at, &meta->truncated_listed);
    for (uint32_t i = 0; code == 0 && i < meta->truncated_listed; i++, at = t->tokens[at].next)
        code = take_fields(t, "truncated", tensor_fields, COUNT_OF(tensor_fields), at, &meta->truncated[i]);
    if (code == 0)
        code = find_list(t, "verdicts", TL_META_MAX_VERDICTS, &at, &meta->verdict_count);
    for (uint32_t i = 0; code == 0 && i < meta->verdict_count; i++, at = t->tokens[at].next)
        code = tl__verdict_take(t, at, &meta->verdicts[i]);
    return code;
}

/* Ours are a few KiB: what is larger, or no file, is not read. */
static int check_file(const char *path, struct tl_error *reterr)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return tl__fail(reterr, tl__code_of_errno(errno), "%s: cannot open: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
        return tl__fail(reterr, TL_EIO, "%s: not a regular file, or larger than %u bytes", path, FILE_MAX_BYTES);
    return 0;
}

int tl__meta_read(const char *dir, struct tl_meta *ret_meta, struct tl_error *reterr)
{
    char path[TL_PATHNAME_BYTES];
    struct tl_meta meta;
    struct tl_tape_spec spec = {.on_value = on_value, .ctx = &meta};
    int code;

    if (!tl__pathname(path, "%s/%s", dir, TL_META_NAME))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    memset(&meta, 0, sizeof(meta));
    code = check_file(path, reterr);
    if (code == 0)
        code = tl__json_file_read(path, &spec, reterr);
    if (code == 0)
        *ret_meta = meta;
    return code;
}
