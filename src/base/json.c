/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>

#include "base/env.h"
#include "base/error.h"
#include "base/number.h"
#include "base/safe_text.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define INDENT 2U

/* Bits of tl_json.levels */
#define IS_LINE 1U
#define IS_OBJECT 2U
#define HAS_MEMBERS 4U

void tl__json_init(struct tl_json *json, tl_json_flush flush, void *ctx)
{
    *json = (struct tl_json){.flush = flush, .ctx = ctx};
}

void tl__json_fail(struct tl_json *json, int code)
{
    if (json->error == 0)
        json->error = code;
    json->used = 0;
}

static void flush_all(struct tl_json *json)
{
    int rc;

    if (json->used == 0 || json->error != 0)
        return;
    rc = json->flush(json->ctx, json->buffer, json->used);
    json->used = 0;
    if (rc < 0)
        tl__json_fail(json, rc);
}

static void grow(struct tl_json *json, size_t bytes)
{
    size_t capacity = json->capacity != 0 ? json->capacity : BUFFER_BYTES;
    char *buffer;

    if (json->used > SIZE_MAX / 4 || bytes > SIZE_MAX / 4) {
        tl__json_fail(json, TL_ENOMEM);
        return;
    }
    while (capacity < json->used + bytes)
        capacity *= 2;
    buffer = tl__realloc(json->buffer, capacity);
    if (buffer == NULL) {
        tl__json_fail(json, TL_ENOMEM);
        return;
    }
    json->buffer = buffer;
    json->capacity = capacity;
}

/* Room for `bytes`, a small number when there is a callback. NULL after a failure. */
static char *room(struct tl_json *json, size_t bytes)
{
    if (json->used + bytes > json->capacity) {
        if (json->flush != NULL)
            flush_all(json);
        if (json->error == 0 && json->used + bytes > json->capacity)
            grow(json, bytes);
    }
    return json->error == 0 ? json->buffer + json->used : NULL;
}

static void put(struct tl_json *json, const char *text, size_t bytes)
{
    while (bytes > 0) {
        size_t part = bytes < BUFFER_BYTES / 2 ? bytes : BUFFER_BYTES / 2;
        char *to = room(json, part);

        if (to == NULL)
            return;
        memcpy(to, text, part);
        json->used += part;
        text += part;
        bytes -= part;
    }
}

static void new_line(struct tl_json *json, uint32_t depth)
{
    size_t bytes = 1 + (size_t)depth * INDENT;
    char *to = room(json, bytes);

    if (to == NULL)
        return;
    *to = '\n';
    memset(to + 1, ' ', bytes - 1);
    json->used += bytes;
}

/* What is between the last member and the next. */
static void separate(struct tl_json *json)
{
    uint8_t *level;

    if (json->depth == 0)
        return;
    level = &json->levels[json->depth - 1];
    if ((*level & HAS_MEMBERS) != 0)
        put(json, ", ", (*level & IS_LINE) != 0 ? 2 : 1);
    if ((*level & IS_LINE) == 0)
        new_line(json, json->depth);
    *level |= HAS_MEMBERS;
}

static void before_value(struct tl_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    assert(json->depth == 0 || (json->levels[json->depth - 1] & IS_OBJECT) == 0);
    separate(json);
}

static void begin(struct tl_json *json, enum tl_json_style style, unsigned kind)
{
    unsigned line = style == TL_JSON_LINE ? IS_LINE : 0;

    before_value(json);
    assert(json->depth < TL_JSON_DEPTH_MAX);
    if (json->depth > 0)
        line |= json->levels[json->depth - 1] & IS_LINE;
    json->levels[json->depth++] = (uint8_t)(line | kind);
    put(json, kind == IS_OBJECT ? "{" : "[", 1);
}

static void end(struct tl_json *json, unsigned kind)
{
    unsigned level;

    assert(json->depth > 0 && !json->after_key);
    level = json->levels[--json->depth];
    assert((level & IS_OBJECT) == kind);
    if ((level & HAS_MEMBERS) != 0 && (level & IS_LINE) == 0)
        new_line(json, json->depth);
    put(json, kind == IS_OBJECT ? "}" : "]", 1);
}

void tl__json_object_begin(struct tl_json *json, enum tl_json_style style)
{
    begin(json, style, IS_OBJECT);
}

void tl__json_object_end(struct tl_json *json)
{
    end(json, IS_OBJECT);
}

void tl__json_array_begin(struct tl_json *json, enum tl_json_style style)
{
    begin(json, style, 0);
}

void tl__json_array_end(struct tl_json *json)
{
    end(json, 0);
}

static void put_escaped(struct tl_json *json, unsigned char c)
{
    static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* each character, and the letter after its backslash */
    char text[6] = {'\\', 'u', '0', '0', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};

    for (size_t i = 0; i + 1 < sizeof(named); i += 2)
        if ((unsigned char)named[i] == c) {
            text[1] = named[i + 1];
            put(json, text, 2);
            return;
        }
    put(json, text, sizeof(text));
}

/* A byte that is no UTF-8: the replacement character and the byte's number, so that two such names stay distinct. */
static void put_broken(struct tl_json *json, unsigned char c)
{
    const char text[] = {'\xEF', '\xBF', '\xBD', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};

    put(json, text, sizeof(text));
}

/* A control character beyond ASCII, a mark of direction: JSON may hold it, a terminal that shows the text should not.
 */
static void put_unprintable(struct tl_json *json, const char *text, size_t bytes)
{
    uint32_t code = tl__utf8_code(text, bytes);
    uint32_t units[2] = {code, 0};
    unsigned count = 1;
    char escape[6];

    if (code > 0xffff) {
        units[0] = 0xd800 + ((code - 0x10000) >> 10);
        units[1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
        count = 2;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)tl__print_hex(escape, units[i], 4);
        memcpy(escape, "\\u", 2);
        put(json, escape, sizeof(escape));
    }
}

/* Writes runs of what needs no change as they are. */
static void put_quoted(struct tl_json *json, const char *text, size_t bytes)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t start = 0, at = 0;

    put(json, "\"", 1);
    while (at < bytes) {
        unsigned char c = from[at];
        size_t step = 1;

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            at++;
            continue;
        }
        if (c >= 0x80 && (step = tl__printable_bytes(text + at, bytes - at)) != 0) {
            at += step;
            continue;
        }
        put(json, text + start, at - start);
        step = c >= 0x80 ? tl__utf8_bytes(text + at, bytes - at) : 1;
        if (step == 0)
            put_broken(json, c);
        else if (c >= 0x80)
            put_unprintable(json, text + at, step);
        else
            put_escaped(json, c);
        at += step > 0 ? step : 1;
        start = at;
    }
    put(json, text + start, bytes - start);
    put(json, "\"", 1);
}

void tl__json_key_bytes(struct tl_json *json, const char *key, size_t bytes)
{
    char *to;

    assert(json->depth > 0 && (json->levels[json->depth - 1] & IS_OBJECT) != 0 && !json->after_key);
    separate(json);
    json->after_key = true;
    to = room(json, bytes + 4);
    if (to == NULL)
        return;
    to[0] = '"';
    memcpy(to + 1, key, bytes);
    memcpy(to + 1 + bytes, "\": ", 3);
    json->used += bytes + 4;
}

void tl__json_key_string(struct tl_json *json, const char *key)
{
    assert(json->depth > 0 && (json->levels[json->depth - 1] & IS_OBJECT) != 0 && !json->after_key);
    separate(json);
    json->after_key = true;
    put_quoted(json, key, strlen(key));
    put(json, ": ", 2);
}

void tl__json_string_bytes(struct tl_json *json, const char *text, size_t bytes)
{
    before_value(json);
    put_quoted(json, text, bytes);
}

void tl__json_string(struct tl_json *json, const char *text)
{
    if (text == NULL)
        tl__json_null(json);
    else
        tl__json_string_bytes(json, text, strlen(text));
}

void tl__json_raw(struct tl_json *json, const char *text, size_t bytes)
{
    before_value(json);
    put(json, text, bytes);
}

void tl__json_bool(struct tl_json *json, bool value)
{
    tl__json_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void tl__json_null(struct tl_json *json)
{
    tl__json_raw(json, "null", 4);
}

void tl__json_u64(struct tl_json *json, uint64_t value)
{
    char *to;

    before_value(json);
    to = room(json, TL_NUMBER_BYTES);
    if (to != NULL)
        json->used += tl__print_u64(to, value);
}

void tl__json_i64(struct tl_json *json, int64_t value)
{
    char *to;

    before_value(json);
    to = room(json, TL_NUMBER_BYTES);
    if (to != NULL)
        json->used += tl__print_i64(to, value);
}

/* What is no number in JSON is a string. */
static void put_float(struct tl_json *json, const char *text, size_t bytes)
{
    /* cppcheck-suppress uninitvar ; the callers' printing of the number fills it, in another file */
    char last = text[bytes - 1];
    bool is_number = last >= '0' && last <= '9';

    before_value(json);
    if (!is_number)
        put(json, "\"", 1);
    put(json, text, bytes);
    if (!is_number)
        put(json, "\"", 1);
}

void tl__json_f32(struct tl_json *json, float value)
{
    char text[TL_NUMBER_BYTES];

    put_float(json, text, tl__print_f32(text, value));
}

void tl__json_f64(struct tl_json *json, double value)
{
    char text[TL_NUMBER_BYTES];

    put_float(json, text, tl__print_f64(text, value));
}

static void put_number_string(struct tl_json *json, char *text, size_t bytes)
{
    text[0] = '"';
    text[bytes + 1] = '"';
    tl__json_raw(json, text, bytes + 2);
}

void tl__json_u64_string(struct tl_json *json, uint64_t value)
{
    char text[TL_NUMBER_BYTES + 2];

    put_number_string(json, text, tl__print_u64(text + 1, value));
}

void tl__json_hex_string(struct tl_json *json, uint64_t value, unsigned digits)
{
    char text[TL_NUMBER_BYTES + 2];

    assert(digits <= 16);
    put_number_string(json, text, tl__print_hex(text + 1, value, digits));
}

void tl__json_newline(struct tl_json *json)
{
    assert(json->depth == 0);
    put(json, "\n", 1);
}

const char *tl__json_text(const struct tl_json *json, size_t *ret_bytes)
{
    if (json->error != 0)
        return NULL;
    *ret_bytes = json->used;
    return json->used != 0 ? json->buffer : "";
}

int tl__json_finish(struct tl_json *json)
{
    int rc;

    assert(json->depth == 0 || json->error != 0);
    if (json->flush != NULL)
        flush_all(json);
    rc = json->error;
    tl__free(json->buffer);
    *json = (struct tl_json){.error = rc};
    return rc;
}
