/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest's parser. yajl turns bytes into events; every event goes through on_event(), which knows by `place`
 * where it stands. What a file may leave out or call otherwise (docs/formats/args_dump.md, "Other writers") is decided
 * here and in dump_parse_record.c.
 */
#include <stdarg.h>
#include <stdio.h>

#include "artifact/dump_parse_state.h"
#include "base/env.h"
#include "base/error.h"

/* To yajl at a time: what has to be set aside for a feed is a few times as much. */
#define FEED_BYTES ((size_t)16 << 10)

#define fail(p, field, ...) tl__dump_parse_fail((p), TL_EPARSE, (field), __VA_ARGS__)

static const char *const event_names[] = {"null",      "a bool",    "a bool",   "a number", "a string",
                                          "an object", "an object", "an array", "an array", "a key"};

static const struct tl_field_name top_names[] = {TOP_FIELDS(TL_FIELD_NAME)};

#define TOP_REQUIRED                                                                                                   \
    (BIT(T_RUN_DIR) | BIT(T_BIN_FORMAT) | BIT(T_LEVEL) | BIT(T_TOTAL) | BIT(T_BEFORE) | BIT(T_AFTER) | BIT(T_INPUT) |  \
     BIT(T_OUTPUT) | BIT(T_INOUT) | BIT(T_TRUNCATED) | BIT(T_DROPPED) | BIT(T_BIN_FILE))
#define TOP_OLD_REQUIRED (BIT(T_BIN_FORMAT) | BIT(T_BIN_FILE))

/* ---- errors: all return 0, which stops yajl ---- */

int tl__dump_parse_fail(struct tl_dump_parser *p, int code, const char *field, const char *format, ...)
{
    char what[300], where[64] = "";
    bool in_record = p->place == AT_RECORD || p->place == AT_LIST || p->place == AT_ARGS;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(what, sizeof(what), format, ap);
    va_end(ap);
    if (in_record)
        (void)snprintf(where, sizeof(where), "record %llu: ", (unsigned long long)p->count);
    if (field != NULL)
        tl__fail_at(&p->error, code, in_record ? (long)p->count : -1, "%s: %sfield '%s': %s", p->name, where, field,
                    what);
    else
        tl__fail_at(&p->error, code, in_record ? (long)p->count : -1, "%s: %s%s", p->name, where, what);
    return 0;
}

int tl__dump_parse_fail_type(struct tl_dump_parser *p, const char *field, const char *expected, enum tl_event found)
{
    return fail(p, field, "expected %s, found %s", expected, event_names[found]);
}

static int out_of_memory(struct tl_dump_parser *p)
{
    if (p->error.code == 0)
        (void)tl__dump_parse_fail(p, TL_ENOMEM, NULL, "out of memory");
    return 0;
}

/* ---- values ---- */

int tl__dump_find_name(const struct tl_field_name *names, int count, const char *text, size_t length)
{
    for (int i = 0; i < count; i++)
        if (names[i].length == length && memcmp(names[i].text, text, length) == 0)
            return i;
    return count;
}

bool tl__dump_digits(const char *text, size_t length, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (length == 0 || length > 20)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');

        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool tl__dump_hex(const char *text, size_t length, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (length == 0 || length > 16)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;

        if (digit == 16)
            return false;
        value = value << 4 | digit;
    }
    *ret_value = value;
    return true;
}

/* An integer of at most `max`, or a failure that names the field. */
int tl__dump_take_u64(struct tl_dump_parser *p, const char *field, enum tl_event ev, const char *text, size_t length,
                      uint64_t max, uint64_t *ret_value)
{
    uint64_t value;

    if (ev != EV_NUMBER)
        return tl__dump_parse_fail_type(p, field, "a number", ev);
    if (!tl__dump_digits(text, length, &value) || value > max)
        return fail(p, field, "expected an integer from 0 to %llu, found %.*s", (unsigned long long)max,
                    (int)(length < 40 ? length : 40), text);
    *ret_value = value;
    return 1;
}

/* ---- the top ---- */

static int take_bin_file(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev == EV_NULL) {
        p->summary.bin_file[0] = 0;
        return 1;
    }
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "bin_file", "a string or null", ev);
    /* It names a sibling; a path would let a manifest open any file. */
    if (length == 0 || length >= sizeof(p->summary.bin_file) || memchr(text, '/', length) != NULL ||
        memchr(text, 0, length) != NULL || text[0] == '.')
        return fail(p, "bin_file", "'%.*s' is not the name of a file beside the manifest",
                    (int)(length < 60 ? length : 60), text);
    memcpy(p->summary.bin_file, text, length);
    p->summary.bin_file[length] = 0;
    return 1;
}

static int take_run_dir(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, "run_dir", "a string", ev);
    if (length >= sizeof(p->summary.run_dir))
        length = sizeof(p->summary.run_dir) - 1;
    memcpy(p->summary.run_dir, text, length);
    p->summary.run_dir[length] = 0;
    return 1;
}

static int take_version(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    uint64_t version;

    if (ev == EV_NUMBER && tl__dump_digits(text, length, &version) && version > TL_DUMP_VERSION)
        return tl__dump_parse_fail(p, TL_EVERSION, "version", "%llu is newer than what this program reads (%d)",
                                   (unsigned long long)version, TL_DUMP_VERSION);
    p->skip = ev == EV_MAP || ev == EV_ARRAY;
    return 1;
}

static int take_top(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    struct tl_dump_summary *s = &p->summary;
    uint64_t *const counts[T_COUNT] = {
        [T_TOTAL] = &s->total_args,         [T_BEFORE] = &s->before_dispatch,  [T_AFTER] = &s->after_completion,
        [T_INPUT] = &s->input_args,         [T_OUTPUT] = &s->output_args,      [T_INOUT] = &s->inout_args,
        [T_TRUNCATED] = &s->truncated_args, [T_DROPPED] = &s->dropped_records, [T_OVERWRITE] = &s->dropped_overwrite,
    };
    const char *field = top_names[p->key].text;
    uint64_t level = 0;

    switch ((enum tl_top_field)p->key) {
    case T_RUN_DIR:
        return take_run_dir(p, ev, text, length);
    case T_BIN_FILE:
        return take_bin_file(p, ev, text, length);
    case T_VERSION:
        return take_version(p, ev, text, length);
    case T_BIN_FORMAT:
        if (ev != EV_MAP)
            return tl__dump_parse_fail_type(p, field, "an object", ev);
        p->place = AT_BIN_FORMAT;
        return 1;
    case T_ARGS:
    case T_TENSORS:
        if (ev != EV_ARRAY)
            return tl__dump_parse_fail_type(p, field, "an array", ev);
        p->place = AT_ARGS;
        return 1;
    case T_LEVEL:
        if (!tl__dump_take_u64(p, field, ev, text, length, 3, &level))
            return 0;
        s->level = (uint32_t)level;
        return 1;
    case T_EPOCH:
        if (!tl__dump_take_u64(p, field, ev, text, length, UINT32_MAX, &level))
            return 0;
        s->run_epoch = (uint32_t)level;
        return 1;
    default:
        return tl__dump_take_u64(p, field, ev, text, length, UINT64_MAX, counts[p->key]);
    }
}

static int at_top(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (ev == EV_KEY) {
        const unsigned lists = BIT(T_ARGS) | BIT(T_TENSORS);
        unsigned bit;

        p->key = tl__dump_find_name(top_names, T_COUNT, text, length);
        bit = p->key < T_COUNT ? BIT(p->key) : 0;
        if ((bit & lists) != 0 && (p->top_seen & lists) != 0)
            return fail(p, top_names[p->key].text, "a second list of records");
        p->top_seen |= bit;
        return 1;
    }
    if (ev == EV_MAP_END) {
        p->place = AT_END;
        return 1;
    }
    if (p->key == T_COUNT) {
        p->skip = ev == EV_MAP || ev == EV_ARRAY;
        return 1;
    }
    return take_top(p, ev, text, length);
}

static int at_bin_format(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    static const char *const keys[] = {"bin_format.type", "bin_format.byte_order"};
    static const char *const values[] = {"logical_contiguous", "little_endian"};

    if (ev == EV_MAP_END) {
        p->place = AT_TOP;
        for (unsigned i = 0; i < 2; i++)
            if ((p->format_seen & 1u << i) == 0)
                return fail(p, keys[i], "missing");
        return 1;
    }
    if (ev == EV_KEY) {
        p->key = tl__text_is(text, length, "type") ? 0 : tl__text_is(text, length, "byte_order") ? 1 : 2;
        return 1;
    }
    if (p->key == 2) {
        p->skip = ev == EV_MAP || ev == EV_ARRAY;
        return 1;
    }
    if (ev != EV_STRING)
        return tl__dump_parse_fail_type(p, keys[p->key], "a string", ev);
    if (!tl__text_is(text, length, values[p->key]))
        return tl__dump_parse_fail(p, TL_ENOTSUP, keys[p->key], "'%.*s': only '%s' is supported",
                                   (int)(length < 40 ? length : 40), text, values[p->key]);
    p->format_seen |= 1u << p->key;
    return 1;
}

static int on_event(struct tl_dump_parser *p, enum tl_event ev, const char *text, size_t length)
{
    if (p->memory.failed)
        return out_of_memory(p);
    if (p->skip > 0) {
        p->skip += ev == EV_MAP || ev == EV_ARRAY;
        p->skip -= ev == EV_MAP_END || ev == EV_ARRAY_END;
        return 1;
    }
    switch (p->place) {
    case AT_RECORD:
        return tl__dump_record_event(p, ev, text, length);
    case AT_LIST:
        return tl__dump_list_event(p, ev, text, length);
    case AT_ARGS:
        if (ev == EV_MAP)
            tl__dump_record_begin(p);
        else if (ev == EV_ARRAY_END)
            p->place = AT_TOP;
        else
            return tl__dump_parse_fail_type(p, NULL, "an object", ev);
        return 1;
    case AT_TOP:
        return at_top(p, ev, text, length);
    case AT_BIN_FORMAT:
        return at_bin_format(p, ev, text, length);
    case AT_START:
        if (ev != EV_MAP)
            return tl__dump_parse_fail_type(p, NULL, "an object", ev);
        p->place = AT_TOP;
        return 1;
    case AT_END:
        break;
    }
    return 1;
}

static int on_null(void *p)
{
    return on_event(p, EV_NULL, NULL, 0);
}

static int on_bool(void *p, int value)
{
    return on_event(p, value != 0 ? EV_TRUE : EV_FALSE, NULL, 0);
}

static int on_number(void *p, const char *text, size_t length)
{
    return on_event(p, EV_NUMBER, text, length);
}

static int on_string(void *p, const unsigned char *text, size_t length)
{
    return on_event(p, EV_STRING, (const char *)text, length);
}

static int on_map(void *p)
{
    return on_event(p, EV_MAP, NULL, 0);
}

static int on_key(void *p, const unsigned char *text, size_t length)
{
    return on_event(p, EV_KEY, (const char *)text, length);
}

static int on_map_end(void *p)
{
    return on_event(p, EV_MAP_END, NULL, 0);
}

static int on_array(void *p)
{
    return on_event(p, EV_ARRAY, NULL, 0);
}

static int on_array_end(void *p)
{
    return on_event(p, EV_ARRAY_END, NULL, 0);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* ---- the object ---- */

struct tl_dump_parser *tl__dump_parser_create(const char *name, uint64_t size_hint)
{
    struct tl_dump_parser *p = tl__alloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    tl__json_memory_init(&p->memory);
    p->yajl = yajl_alloc(&callbacks, &p->memory.funcs, p);
    if (p->yajl == NULL) {
        tl__free(p);
        return NULL;
    }
    p->name = name;
    p->size_hint = size_hint;
    memset(p->after, F_COUNT, sizeof(p->after));
    return p;
}

void tl__dump_parser_destroy(struct tl_dump_parser *p)
{
    if (p == NULL)
        return;
    yajl_free(p->yajl);
    tl__json_memory_fini(&p->memory);
    tl__free(p->records);
    tl__free(p);
}

/* Turns yajl's complaint into ours, unless a callback has said why already. */
static int json_error(struct tl_dump_parser *p)
{
    unsigned char *text;
    size_t length;

    if (p->error.code != 0)
        return p->error.code;
    text = yajl_get_error(p->yajl, 0, NULL, 0);
    length = text != NULL ? strcspn((const char *)text, "\n") : 0;
    fail(p, NULL, "not valid JSON: %.*s", (int)length, text != NULL ? (const char *)text : "");
    yajl_free_error(p->yajl, text);
    return p->error.code;
}

static int hand_out(const struct tl_dump_parser *p, struct tl_error *reterr)
{
    if (reterr != NULL)
        *reterr = p->error;
    return p->error.code;
}

/* To yajl, and what the last two bytes were: only after "[\n" or ",\n" does a record start on a line of its own. */
static int feed_yajl(struct tl_dump_parser *p, const char *bytes, size_t count)
{
    if (tl__json_memory_ready(&p->memory, count) != 0)
        return out_of_memory(p);
    if (yajl_parse(p->yajl, (const unsigned char *)bytes, count) != yajl_status_ok)
        return json_error(p);
    if (p->memory.failed)
        return out_of_memory(p);
    p->tail[0] = count > 1 ? bytes[count - 2] : p->tail[1];
    p->tail[1] = bytes[count - 1];
    return 0;
}

int tl__dump_parser_feed(struct tl_dump_parser *p, const void *bytes, size_t count, struct tl_error *reterr)
{
    const char *at = bytes, *end = at + count;

    while (p->error.code == 0 && at < end) {
        const char *newline;
        size_t n;

        if (p->place == AT_ARGS && p->tail[1] == '\n' && (p->tail[0] == ',' || p->tail[0] == '['))
            at += tl__dump_take_lines(p, at, (size_t)(end - at));
        newline = memchr(at, '\n', (size_t)(end - at));
        n = newline != NULL ? (size_t)(newline + 1 - at) : (size_t)(end - at);
        n = n < FEED_BYTES ? n : FEED_BYTES;
        (void)feed_yajl(p, at, n);
        at += n;
    }
    return hand_out(p, reterr);
}

int tl__dump_parser_finish(struct tl_dump_parser *p, struct tl_dump_summary *ret_summary,
                           struct tl_dump_record **ret_records, uint64_t *ret_count, struct tl_error *reterr)
{
    unsigned missing;

    if (p->error.code == 0 && tl__json_memory_ready(&p->memory, 1) != 0)
        (void)out_of_memory(p);
    if (p->error.code == 0 && yajl_complete_parse(p->yajl) != yajl_status_ok) {
        if (p->place == AT_END || p->error.code != 0)
            json_error(p);
        else
            fail(p, NULL, "the file is cut: it ends before its list of records does");
    }
    if (p->error.code == 0 && (p->top_seen & (BIT(T_ARGS) | BIT(T_TENSORS))) == 0)
        fail(p, "args", "missing");
    missing = ((p->top_seen & BIT(T_TENSORS)) != 0 ? TOP_OLD_REQUIRED : TOP_REQUIRED) & ~p->top_seen;
    if (p->error.code == 0 && missing != 0)
        fail(p, top_names[__builtin_ctz(missing)].text, "missing");
    if (p->error.code != 0)
        return hand_out(p, reterr);
    if ((p->top_seen & TOP_REQUIRED) != TOP_REQUIRED)
        tl__dump_count(&p->summary, p->records, p->count);
    *ret_summary = p->summary;
    *ret_records = p->records;
    *ret_count = p->count;
    p->records = NULL;
    return 0;
}
