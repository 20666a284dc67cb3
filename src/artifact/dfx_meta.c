/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says for each plain field where it lies and what it is called; the writer and the reader both walk it.
 * Streams, losses and cut tensors are lists of such objects.
 */
#include "artifact/dfx_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "artifact/file_out.h"
#include "base/env.h"
#include "base/error.h"

#define FILE_MAX_BYTES (1u << 20) /* ours are a few KiB */
#define NESTING_MAX 32            /* yajl's tree is freed by recursion */

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
    FIELD(tl_meta, status, "status", TEXT),
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
    FIELD(tl_meta, unrecorded_bytes, "unrecorded_bytes", U64),
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
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

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
    tl__json_key(j, "dropped");
    tl__json_object_begin(j, TL_JSON_LINE);
    for (unsigned i = 0; i < TL_META_MAX_LOSSES && stream->losses[i].cause[0] != 0; i++) {
        tl__json_key_string(j, stream->losses[i].cause);
        tl__json_u64(j, stream->losses[i].count);
        dropped += stream->losses[i].count;
    }
    tl__json_object_end(j);
    tl__json_key(j, "dropped_total");
    tl__json_u64(j, dropped);
    tl__json_object_end(j);
}

static int check(const struct tl_meta *meta)
{
    if (meta->stream_count > TL_META_MAX_STREAMS || meta->truncated_listed > TL_META_MAX_TRUNCATED)
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
    tl__json_key(j, "version");
    tl__json_u64(j, TL_META_VERSION);
    put_fields(j, run_fields, COUNT_OF(run_fields), meta);
    tl__json_key(j, "streams");
    tl__json_array_begin(j, TL_JSON_BLOCK);
    for (unsigned i = 0; i < meta->stream_count; i++)
        put_stream(j, &meta->streams[i]);
    tl__json_array_end(j);
    tl__json_key(j, "truncated");
    tl__json_array_begin(j, TL_JSON_BLOCK);
    for (unsigned i = 0; i < meta->truncated_listed; i++) {
        tl__json_object_begin(j, TL_JSON_LINE);
        put_fields(j, tensor_fields, COUNT_OF(tensor_fields), &meta->truncated[i]);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
    tl__json_object_end(j);
    tl__json_newline(j);
    return tl__out_commit(&out, reterr);
}

/* ---- reading ---- */

struct context {
    const char *path;
    struct tl_error *reterr;
};

static int bad_field(const struct context *c, const char *list, const char *name, const char *what)
{
    return tl__fail(c->reterr, TL_EPARSE, "%s: field '%s%s%s': %s", c->path, list, list[0] != 0 ? "." : "", name, what);
}

static bool parse_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (*text == 0)
        return false;
    for (; *text != 0; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    *ret_value = value;
    return value <= max;
}

static bool parse_hex(const char *text, uint64_t *ret_value)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;

    if (text[0] != '0' || text[1] != 'x' || text[2] == 0 || strlen(text) > 18)
        return false;
    for (text += 2; *text != 0; text++) {
        const char *digit = memchr(digits, *text, 16);

        if (digit == NULL)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *ret_value = value;
    return true;
}

/* Stores a value of the field's kind; what is wrong with it, or NULL. */
static const char *take_value(const struct field *field, yajl_val value, uint8_t *to)
{
    uint64_t large = 0;

    switch (field->kind) {
    case TEXT:
        if (!YAJL_IS_STRING(value))
            return "expected a string";
        (void)snprintf((char *)to, field->size, "%s", YAJL_GET_STRING(value));
        return NULL;
    case HEX:
        if (!YAJL_IS_STRING(value) || !parse_hex(YAJL_GET_STRING(value), &large))
            return "expected a string of \"0x\" and hex digits";
        memcpy(to, &large, sizeof(large));
        return NULL;
    case F64:
        if (!YAJL_IS_DOUBLE(value) && !YAJL_IS_INTEGER(value))
            return "expected a number";
        memcpy(to, &value->u.number.d, sizeof(double));
        return NULL;
    case U32:
    case U64:
        if (!YAJL_IS_NUMBER(value) ||
            !parse_u64(YAJL_GET_NUMBER(value), field->kind == U32 ? UINT32_MAX : UINT64_MAX, &large))
            return "expected a whole number";
        if (field->kind == U32) {
            uint32_t small = (uint32_t)large;

            memcpy(to, &small, sizeof(small));
        } else {
            memcpy(to, &large, sizeof(large));
        }
        return NULL;
    }
    return NULL;
}

static int take_fields(const struct context *c, const char *list, const struct field *fields, size_t count,
                       yajl_val object, void *to)
{
    for (size_t i = 0; i < count; i++) {
        const char *path[] = {fields[i].name, NULL};
        yajl_val value = yajl_tree_get(object, path, yajl_t_any);
        const char *fault = value != NULL ? take_value(&fields[i], value, (uint8_t *)to + fields[i].offset) : NULL;

        if (fault != NULL)
            return bad_field(c, list, fields[i].name, fault);
    }
    return 0;
}

/* The named list of objects; *ret_count 0 and no error if it is absent. More than `most` are passed over. */
static int find_list(const struct context *c, yajl_val root, const char *name, size_t most, yajl_val **ret_values,
                     uint32_t *ret_count)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(root, path, yajl_t_any);
    size_t count;

    *ret_count = 0;
    if (value == NULL)
        return 0;
    if (!YAJL_IS_ARRAY(value))
        return bad_field(c, "", name, "expected an array");
    count = value->u.array.len < most ? value->u.array.len : most;
    for (size_t i = 0; i < count; i++)
        if (!YAJL_IS_OBJECT(value->u.array.values[i]))
            return bad_field(c, "", name, "expected an array of objects");
    *ret_values = value->u.array.values;
    *ret_count = (uint32_t)count;
    return 0;
}

static int take_losses(const struct context *c, yajl_val stream, struct tl_meta_stream *to)
{
    const char *path[] = {"dropped", NULL};
    yajl_val value = yajl_tree_get(stream, path, yajl_t_any);

    if (value == NULL)
        return 0;
    if (!YAJL_IS_OBJECT(value))
        return bad_field(c, "streams", "dropped", "expected an object");
    for (size_t i = 0; i < value->u.object.len && i < TL_META_MAX_LOSSES; i++) {
        yajl_val count = value->u.object.values[i];

        if (!YAJL_IS_NUMBER(count) || !parse_u64(YAJL_GET_NUMBER(count), UINT64_MAX, &to->losses[i].count))
            return bad_field(c, "streams.dropped", value->u.object.keys[i], "expected a whole number");
        (void)snprintf(to->losses[i].cause, sizeof(to->losses[i].cause), "%s", value->u.object.keys[i]);
    }
    return 0;
}

static int take_root(const struct context *c, yajl_val root, struct tl_meta *meta)
{
    static const char *const version_path[] = {"version", NULL};
    yajl_val *items = NULL, value;
    uint64_t version = 0;
    int code;

    if (!YAJL_IS_OBJECT(root))
        return tl__fail(c->reterr, TL_EPARSE, "%s: expected an object", c->path);
    value = yajl_tree_get(root, (const char **)(uintptr_t)version_path, yajl_t_any);
    if (value == NULL)
        return bad_field(c, "", "version", "missing");
    if (!YAJL_IS_NUMBER(value) || !parse_u64(YAJL_GET_NUMBER(value), UINT64_MAX, &version))
        return bad_field(c, "", "version", "expected a whole number");
    if (version > TL_META_VERSION)
        return tl__fail(c->reterr, TL_EVERSION, "%s: version %llu is newer than what this program reads (%d)", c->path,
                        (unsigned long long)version, TL_META_VERSION);
    code = take_fields(c, "", run_fields, COUNT_OF(run_fields), root, meta);
    if (code == 0)
        code = find_list(c, root, "streams", TL_META_MAX_STREAMS, &items, &meta->stream_count);
    for (uint32_t i = 0; code == 0 && i < meta->stream_count; i++) {
        code = take_fields(c, "streams", stream_fields, COUNT_OF(stream_fields), items[i], &meta->streams[i]);
        if (code == 0)
            code = take_losses(c, items[i], &meta->streams[i]);
    }
    if (code == 0)
        code = find_list(c, root, "truncated", TL_META_MAX_TRUNCATED, &items, &meta->truncated_listed);
    for (uint32_t i = 0; code == 0 && i < meta->truncated_listed; i++)
        code = take_fields(c, "truncated", tensor_fields, COUNT_OF(tensor_fields), items[i], &meta->truncated[i]);
    return code;
}

/* Brackets outside strings, at most. */
static unsigned nesting(const char *text)
{
    unsigned depth = 0, deepest = 0;
    bool quoted = false;

    for (; *text != 0; text++) {
        if (quoted && *text == '\\' && text[1] != 0)
            text++;
        else if (*text == '"')
            quoted = !quoted;
        else if (!quoted && (*text == '{' || *text == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!quoted && (*text == '}' || *text == ']'))
            depth -= depth > 0;
    }
    return deepest;
}

static int parse_text(const struct context *c, const char *text, struct tl_meta *ret_meta)
{
    char why[256] = "";
    struct tl_meta meta;
    yajl_val root;
    int code;

    if (nesting(text) > NESTING_MAX)
        return tl__fail(c->reterr, TL_EPARSE, "%s: nested too deeply", c->path);
    root = yajl_tree_parse(text, why, sizeof(why));
    if (root == NULL)
        return tl__fail(c->reterr, TL_EPARSE, "%s: not valid JSON: %.*s", c->path, (int)strcspn(why, "\n"), why);
    memset(&meta, 0, sizeof(meta));
    code = take_root(c, root, &meta);
    yajl_tree_free(root);
    if (code == 0)
        *ret_meta = meta;
    return code;
}

/* The file's text, NUL-terminated; tl__free it. */
static int read_text(const struct context *c, char **ret_text)
{
    int fd = open(c->path, O_RDONLY | O_CLOEXEC), err = errno;
    struct stat st;
    char *text = NULL;
    ssize_t n = -1;

    if (fd < 0)
        return tl__fail(c->reterr, tl__code_of_errno(err), "%s: cannot open: %s", c->path, strerror(err));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES) {
        (void)close(fd);
        return tl__fail(c->reterr, TL_EIO, "%s: not a regular file, or larger than %u bytes", c->path, FILE_MAX_BYTES);
    }
    text = tl__alloc(1, (size_t)st.st_size + 1);
    if (text != NULL)
        n = pread(fd, text, (size_t)st.st_size, 0);
    (void)close(fd);
    if (text == NULL)
        return tl__fail(c->reterr, TL_ENOMEM, "%s: out of memory", c->path);
    if (n != st.st_size) {
        tl__free(text);
        return tl__fail(c->reterr, TL_EIO, "%s: cannot read it", c->path);
    }
    *ret_text = text;
    return 0;
}

int tl__meta_read(const char *dir, struct tl_meta *ret_meta, struct tl_error *reterr)
{
    char path[1024], *text = NULL;
    struct context c = {path, reterr};
    int n = snprintf(path, sizeof(path), "%s/%s", dir, TL_META_NAME), code;

    if (n < 0 || (size_t)n >= sizeof(path))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    code = read_text(&c, &text);
    if (code == 0 && text != NULL)
        code = parse_text(&c, text, ret_meta);
    tl__free(text);
    return code;
}
