/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/rank_clock.h"

#include <stdio.h>
#include <string.h>

#include "artifact/file_out.h"
#include "artifact/json_file.h"
#include "base/error.h"
#include "base/pathname.h"

#define OFFSET_MAX (INT64_MAX / 4) /* 73 years: what is added to it stays in range */

static const char *const method_words[TL_CLOCK_METHODS] = {
    [TL_CLOCK_PING] = "ping",
    [TL_CLOCK_SAME] = "same_clock",
    [TL_CLOCK_WALL] = "wall_clock",
    [TL_CLOCK_UNKNOWN] = "unknown",
};

const char *tl__clock_method_name(unsigned method)
{
    return method_words[method < TL_CLOCK_METHODS ? method : TL_CLOCK_UNKNOWN];
}

/* ---- writing ---- */

static void put_text(struct tl_json *j, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    tl__json_member_string(j, key, text);
}

static void put_offset(struct tl_json *j, int64_t offset_ns, uint64_t error_ns)
{
    tl__json_member_i64(j, "offset_ns", offset_ns);
    tl__json_member_u64(j, "error_ns", error_ns);
}

static void put_reading(struct tl_json *j, const char *key, const struct tl_clock_reading *r)
{
    if (r->tries == 0)
        return;
    tl__json_member_object(j, key, TL_JSON_LINE);
    tl__json_member_u64(j, "at_ns", r->at_ns);
    if (r->answers > 0)
        put_offset(j, r->offset_ns, r->error_ns);
    tl__json_member_u64(j, "tries", r->tries);
    tl__json_member_u64(j, "answers", r->answers);
    tl__json_object_end(j);
}

int tl__rank_clock_write(const char *dir, const struct tl_rank_clock *c, struct tl_error *reterr)
{
    struct tl_out out;
    struct tl_json *j = &out.json;
    int code = tl__out_open_in(&out, dir, TL_RANK_CLOCK_NAME, reterr);

    if (code != 0)
        return code;
    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_u64(j, "version", TL_RANK_CLOCK_VERSION);
    tl__json_member_u64(j, "rank", c->rank);
    tl__json_member_u64(j, "reference_rank", c->reference_rank);
    put_text(j, "method", tl__clock_method_name(c->method));
    if (c->method != TL_CLOCK_UNKNOWN)
        put_offset(j, c->offset_ns, c->error_ns);
    put_text(j, "reason", c->reason);
    put_text(j, "host", c->host);
    put_text(j, "boot_id", c->boot_id);
    put_text(j, "time_ns", c->time_ns);
    tl__json_member_u64(j, "monotonic_ns", c->monotonic_ns);
    tl__json_member_u64(j, "unix_ns", c->unix_ns);
    if (c->unix_error_ns != UINT64_MAX)
        tl__json_member_u64(j, "unix_error_ns", c->unix_error_ns);
    put_reading(j, "begin", &c->begin);
    put_reading(j, "end", &c->end);
    tl__json_object_end(j);
    tl__json_newline(j);
    return tl__out_commit(&out, reterr);
}

/* ---- reading ---- */

static int take_u64(struct tl_tape *t, uint32_t at, const char *field, uint64_t *value)
{
    return at == TL_TAPE_ABSENT ? 0 : tl__tape_u64(t, at, field, UINT64_MAX, value);
}

static int take_text(struct tl_tape *t, uint32_t at, const char *field, char *to, size_t size)
{
    return at == TL_TAPE_ABSENT ? 0 : tl__tape_text(t, at, field, to, size);
}

static int take_offset(struct tl_tape *t, uint32_t offset, uint32_t error, int64_t *ret_offset, uint64_t *ret_error)
{
    int code = tl__tape_i64(t, offset, "offset_ns", ret_offset);

    if (code == 0 && (*ret_offset > OFFSET_MAX || *ret_offset < -OFFSET_MAX))
        return tl__tape_fail(t, TL_EPARSE, "offset_ns", "no two clocks are so far apart");
    return code != 0 ? code : tl__tape_u64(t, error, "error_ns", (uint64_t)OFFSET_MAX, ret_error);
}

static int take_reading(struct tl_tape *t, uint32_t at, const char *field, struct tl_clock_reading *r)
{
    enum { AT, OFFSET, ERROR, TRIES, ANSWERS, COUNT };
    static const char *const names[COUNT] = {"at_ns", "offset_ns", "error_ns", "tries", "answers"};
    uint32_t f[COUNT];
    int code;

    if (at == TL_TAPE_ABSENT)
        return 0;
    code = tl__tape_fields(t, at, field, names, COUNT, f);
    if (code == 0)
        code = tl__tape_u64(t, f[AT], names[AT], UINT64_MAX, &r->at_ns);
    if (code == 0)
        code = tl__tape_u32(t, f[TRIES], names[TRIES], &r->tries);
    if (code == 0)
        code = tl__tape_u32(t, f[ANSWERS], names[ANSWERS], &r->answers);
    if (code == 0 && r->answers > 0)
        code = take_offset(t, f[OFFSET], f[ERROR], &r->offset_ns, &r->error_ns);
    return code;
}

enum field {
    VERSION,
    RANK,
    REFERENCE,
    METHOD,
    OFFSET,
    ERROR,
    REASON,
    HOST,
    BOOT_ID,
    TIME_NS,
    MONOTONIC,
    UNIX,
    UNIX_ERROR,
    BEGIN,
    END,
    COUNT
};

static const char *const names[COUNT] = {"version",      "rank",    "reference_rank", "method",  "offset_ns",
                                         "error_ns",     "reason",  "host",           "boot_id", "time_ns",
                                         "monotonic_ns", "unix_ns", "unix_error_ns",  "begin",   "end"};

/* What the offset is. */
static int take_head(struct tl_tape *t, const uint32_t *f, struct tl_rank_clock *c)
{
    unsigned method = 0;
    uint32_t version = 0;
    int code = f[VERSION] == TL_TAPE_ABSENT ? 0 : tl__tape_u32(t, f[VERSION], names[VERSION], &version);

    if (code == 0 && version > TL_RANK_CLOCK_VERSION)
        return tl__tape_fail(t, TL_EVERSION, names[VERSION], "%u is newer than what this program reads (%u)", version,
                             TL_RANK_CLOCK_VERSION);
    if (code == 0)
        code = tl__tape_u32(t, f[RANK], names[RANK], &c->rank);
    if (code == 0)
        code = tl__tape_u32(t, f[REFERENCE], names[REFERENCE], &c->reference_rank);
    if (code == 0)
        code = tl__tape_word(t, f[METHOD], names[METHOD], method_words, TL_CLOCK_METHODS, &method);
    if (code == TL_ENOENT)
        code = tl__tape_fail(t, TL_EPARSE, names[METHOD], "expected ping, same_clock, wall_clock or unknown");
    c->method = (enum tl_clock_method)method;
    if (code == 0 && c->method != TL_CLOCK_UNKNOWN)
        code = take_offset(t, f[OFFSET], f[ERROR], &c->offset_ns, &c->error_ns);
    return code;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    struct tl_rank_clock *c = ctx;
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, 0, NULL, names, COUNT, f);

    c->unix_error_ns = UINT64_MAX;
    if (code == 0)
        code = take_head(t, f, c);
    if (code == 0)
        code = take_text(t, f[REASON], names[REASON], c->reason, sizeof(c->reason));
    if (code == 0)
        code = take_text(t, f[HOST], names[HOST], c->host, sizeof(c->host));
    if (code == 0)
        code = take_text(t, f[BOOT_ID], names[BOOT_ID], c->boot_id, sizeof(c->boot_id));
    if (code == 0)
        code = take_text(t, f[TIME_NS], names[TIME_NS], c->time_ns, sizeof(c->time_ns));
    if (code == 0)
        code = take_u64(t, f[MONOTONIC], names[MONOTONIC], &c->monotonic_ns);
    if (code == 0)
        code = take_u64(t, f[UNIX], names[UNIX], &c->unix_ns);
    if (code == 0)
        code = take_u64(t, f[UNIX_ERROR], names[UNIX_ERROR], &c->unix_error_ns);
    if (code == 0)
        code = take_reading(t, f[BEGIN], names[BEGIN], &c->begin);
    return code != 0 ? code : take_reading(t, f[END], names[END], &c->end);
}

int tl__rank_clock_parse(const void *text, size_t bytes, const char *name, struct tl_rank_clock *ret_clock,
                         struct tl_error *reterr)
{
    const struct tl_tape_spec spec = {.on_value = on_value, .ctx = ret_clock};

    memset(ret_clock, 0, sizeof(*ret_clock));
    return tl__tape_parse(text, bytes, name, &spec, reterr);
}

int tl__rank_clock_read(const char *dir, struct tl_rank_clock *ret_clock, struct tl_error *reterr)
{
    const struct tl_tape_spec spec = {.on_value = on_value, .ctx = ret_clock};
    char path[TL_PATHNAME_BYTES];

    memset(ret_clock, 0, sizeof(*ret_clock));
    if (!tl__pathname(path, "%s/" TL_RANK_CLOCK_NAME, dir))
        return tl__fail(reterr, TL_EINVAL, "%.200s...: the path is too long", dir);
    return tl__json_file_read(path, &spec, reterr);
}
