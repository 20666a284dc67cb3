/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON writer. Text gathers in one buffer that goes to a callback when it is full, or grows when there is
 * none. Separators are ", " and ": ". A container is written as a block (one member a line, two spaces a level) or
 * as a line; what is inside a line is a line too. So a manifest can be readable at the top and one line a record.
 *
 *     tl__json_init(&j, to_file, &file);
 *     tl__json_object_begin(&j, TL_JSON_BLOCK);
 *     tl__json_key(&j, "total");
 *     tl__json_u64(&j, 1000000);
 *     tl__json_object_end(&j);
 *     tl__json_newline(&j);
 *     rc = tl__json_finish(&j);
 *
 * The calls return nothing: the first failure sticks, later text is dropped, and tl__json_finish reports it. One
 * thread at a time for one writer. Unbalanced calls are our own bugs, and asserted.
 */
#ifndef TL_BASE_JSON_H
#define TL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TL_JSON_DEPTH_MAX 32

enum tl_json_style { TL_JSON_BLOCK, TL_JSON_LINE };

/* Takes all `bytes` of `data`, which is borrowed for the call. 0, or a negative TL_E code. */
typedef int (*tl_json_flush)(void *ctx, const void *data, size_t bytes);

struct tl_json {
    char *buffer;
    size_t used, capacity;
    tl_json_flush flush;
    void *ctx;
    int error;
    bool after_key;
    uint32_t depth;
    uint8_t levels[TL_JSON_DEPTH_MAX]; /* what is open: style, kind, whether it has members */
};

/* `flush` NULL: the text stays in memory, see tl__json_text. The buffer is made by the first call that writes. */
void tl__json_init(struct tl_json *json, tl_json_flush flush, void *ctx);
/* Hands on what is left, frees the buffer, returns 0 or the first failure: TL_ENOMEM, or the callback's code. */
int tl__json_finish(struct tl_json *json);
/* The text so far, for a writer without callback; borrowed until the next call. NULL after a failure. */
const char *tl__json_text(const struct tl_json *json, size_t *ret_bytes);
/* What was to be written could not be made: tl__json_finish returns `code` unless something failed before. */
void tl__json_fail(struct tl_json *json, int code);

void tl__json_object_begin(struct tl_json *json, enum tl_json_style style);
void tl__json_object_end(struct tl_json *json);
void tl__json_array_begin(struct tl_json *json, enum tl_json_style style);
void tl__json_array_end(struct tl_json *json);

/* A key of our own: printable ASCII without quote or backslash. tl__json_key_string takes any text. */
void tl__json_key_bytes(struct tl_json *json, const char *key, size_t bytes);
static inline void tl__json_key(struct tl_json *json, const char *key)
{
    tl__json_key_bytes(json, key, strlen(key)); /* inline, so that a literal's length is a constant */
}
void tl__json_key_string(struct tl_json *json, const char *key);

/* UTF-8, escaped as needed; a byte that is not part of valid UTF-8 becomes U+FFFD and its two hexadecimal digits. NULL
 * is null. */
void tl__json_string(struct tl_json *json, const char *text);
void tl__json_string_bytes(struct tl_json *json, const char *text, size_t bytes);
void tl__json_u64(struct tl_json *json, uint64_t value);
void tl__json_i64(struct tl_json *json, int64_t value);
/* The shortest text that reads back as the same float or double; "NaN", "Infinity", "-Infinity" as strings. */
void tl__json_f32(struct tl_json *json, float value);
void tl__json_f64(struct tl_json *json, double value);
void tl__json_bool(struct tl_json *json, bool value);
void tl__json_null(struct tl_json *json);
/* As strings: for 64-bit values that some readers would round. `digits` of hex, after "0x". */
void tl__json_u64_string(struct tl_json *json, uint64_t value);
void tl__json_hex_string(struct tl_json *json, uint64_t value, unsigned digits);
/* A member of the open object: its key and its value. */
static inline void tl__json_member_u64(struct tl_json *json, const char *key, uint64_t value)
{
    tl__json_key(json, key);
    tl__json_u64(json, value);
}
static inline void tl__json_member_i64(struct tl_json *json, const char *key, int64_t value)
{
    tl__json_key(json, key);
    tl__json_i64(json, value);
}
static inline void tl__json_member_f64(struct tl_json *json, const char *key, double value)
{
    tl__json_key(json, key);
    tl__json_f64(json, value);
}
static inline void tl__json_member_bool(struct tl_json *json, const char *key, bool value)
{
    tl__json_key(json, key);
    tl__json_bool(json, value);
}
/* NULL is null. */
static inline void tl__json_member_string(struct tl_json *json, const char *key, const char *text)
{
    tl__json_key(json, key);
    tl__json_string(json, text);
}
static inline void tl__json_member_null(struct tl_json *json, const char *key)
{
    tl__json_key(json, key);
    tl__json_null(json);
}
static inline void tl__json_member_object(struct tl_json *json, const char *key, enum tl_json_style style)
{
    tl__json_key(json, key);
    tl__json_object_begin(json, style);
}
static inline void tl__json_member_array(struct tl_json *json, const char *key, enum tl_json_style style)
{
    tl__json_key(json, key);
    tl__json_array_begin(json, style);
}

/* A value that is JSON already. */
void tl__json_raw(struct tl_json *json, const char *text, size_t bytes);
/* Ends a document at depth 0; another may follow (JSON lines). */
void tl__json_newline(struct tl_json *json);

#endif
