/* SPDX-License-Identifier: Apache-2.0 */
/* Events to parts; what is asked of a part is in json_value.c. */
#include "base/json_tape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yajl_parse.h>

#include "base/env.h"
#include "base/error.h"
#include "base/json_memory.h"
#include "base/vec.h"

/* Of a text at a time: what has to be set aside for a feed is a few times as much. */
#define FEED_BYTES ((size_t)16 << 10)
#define NO_PART UINT32_MAX /* as item_depth: what is here is skipped */

struct reader {
    struct tl_tape tape; /* first: what on_value gets */
    const struct tl_tape_spec *spec;
    const char *name;
    yajl_handle yajl;
    TL_VEC(struct tl_tape_token) tokens;
    TL_VEC(char) text;
    uint32_t depth;                   /* open containers of the document */
    uint32_t item_depth;              /* how many are open around a part; NO_PART: no part here */
    bool ended;                       /* the top value is complete */
    bool refused;                     /* the short cut could not take the item that it was last shown */
    char tail[2];                     /* the last bytes that went to yajl */
    uint64_t line, line_start, fed;   /* newlines and bytes before the bytes that yajl has now; where the line began */
    uint32_t open[TL_TAPE_DEPTH_MAX]; /* tokens of the open containers of the part, by depth */
    struct tl_error error;
    struct tl_json_memory memory; /* yajl's */
};

static struct reader *reader_of(struct tl_tape *tape)
{
    return (struct reader *)tape;
}

/* ---- errors ---- */

static void where(const struct reader *r, char *to, size_t size)
{
    const struct tl_tape *t = &r->tape;
    const struct tl_tape_section *s = t->section >= 0 ? &r->spec->sections[t->section] : NULL;
    int n = 0;

    to[0] = '\0';
    if (s != NULL && s->items)
        n = snprintf(to, size, "%s[%llu]", s->name, (unsigned long long)t->index);
    else if (s != NULL)
        n = snprintf(to, size, "%s", s->name);
    if (t->inner != NULL && n >= 0 && (size_t)n < size)
        (void)snprintf(to + n, size - (size_t)n, "%s%s[%llu]", n > 0 && t->inner[0] != '\0' ? "." : "", t->inner,
                       (unsigned long long)t->inner_index);
}

static bool in_items(const struct reader *r)
{
    return r->tape.section >= 0 && r->spec->sections[r->tape.section].items;
}

int tl__tape_fail(struct tl_tape *tape, int code, const char *field, const char *format, ...)
{
    struct reader *r = reader_of(tape);
    char what[300], place[128];
    long offset = in_items(r) ? (long)tape->index : -1;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(what, sizeof(what), format, ap);
    va_end(ap);
    where(r, place, sizeof(place));
    if (field != NULL)
        tl__fail_at(&r->error, code, offset, "%s: %s%sfield '%s': %s", r->name, place, place[0] != '\0' ? ": " : "",
                    field, what);
    else
        tl__fail_at(&r->error, code, offset, "%s: %s%s%s", r->name, place, place[0] != '\0' ? ": " : "", what);
    return code;
}

static const char *const type_names[] = {"null", "a bool", "a bool", "a number", "a string", "an object", "an array"};

int tl__tape_fail_type(struct tl_tape *tape, uint32_t at, const char *field, const char *expected)
{
    if (at == TL_TAPE_ABSENT && field != NULL)
        return tl__tape_fail(tape, TL_EPARSE, field, "missing");
    return tl__tape_fail(tape, TL_EPARSE, field, "expected %s, found %s", expected, type_names[tape->tokens[at].type]);
}

/* The same for what has not become a token. 0: stops yajl. */
static int stop_type(struct reader *r, const char *expected, enum tl_tape_type found)
{
    tl__tape_fail(&r->tape, TL_EPARSE, NULL, "expected %s, found %s", expected, type_names[found]);
    return 0;
}

static int stop_nomem(struct reader *r)
{
    tl__fail(&r->error, TL_ENOMEM, "%s: out of memory", r->name);
    return 0;
}

/* ---- tokens: 1 to go on, 0 stops yajl ---- */

static int push(struct reader *r, enum tl_tape_type type, const char *text, size_t length)
{
    size_t start = r->text.count;
    struct tl_tape_token token = {.start = (uint32_t)start, .length = (uint32_t)length, .type = type};

    if (r->tokens.count >= UINT32_MAX - 1 || length >= UINT32_MAX - 1 - start) {
        tl__tape_fail(&r->tape, TL_ERANGE, NULL, "larger than 4 GiB");
        return 0;
    }
    token.next = (uint32_t)r->tokens.count + 1;
    if (tl_vec_push(&r->tokens, token) != 0)
        return stop_nomem(r);
    if (text == NULL)
        return 1;
    if (tl_vec_reserve(&r->text, start + length + 1) != 0)
        return stop_nomem(r);
    memcpy(r->text.items + start, text, length);
    r->text.items[start + length] = '\0';
    r->text.count = start + length + 1;
    return 1;
}

/* A value begins: its container has one more. */
static int push_value(struct reader *r, enum tl_tape_type type, const char *text, size_t length)
{
    if (r->depth > r->item_depth)
        r->tokens.items[r->open[r->depth - 1]].length++;
    return push(r, type, text, length);
}

/* A value of the part is complete, and the part may be. */
static int complete(struct reader *r)
{
    int code;

    if (r->depth != r->item_depth)
        return 1;
    r->ended = r->depth == 0;
    r->tape.tokens = r->tokens.items;
    r->tape.text = r->text.items;
    r->tape.inner = NULL;
    code = r->spec->on_value(r->spec->ctx, &r->tape);
    r->tape.inner = NULL;
    r->tokens.count = r->text.count = 0;
    if (code != 0) {
        if (r->error.code == 0) /* it failed by itself */
            tl__tape_fail(&r->tape, code, NULL, "%s", tl_strerror(code));
        return 0;
    }
    r->tape.index++;
    if (r->depth == 1)
        r->tape.section = -1; /* what comes next is not in it */
    return 1;
}

/* A value that is not inside of a part: the top, or a section's array. */
static int structure(struct reader *r, enum tl_tape_type type)
{
    if (r->depth == 0)
        return type == TL_TAPE_OBJECT ? 1 : stop_type(r, "an object", type);
    if (r->depth == 1 && in_items(r) && type != TL_TAPE_ARRAY) { /* the section itself, no item of it */
        tl__fail_at(&r->error, TL_EPARSE, -1, "%s: %s: expected an array, found %s", r->name,
                    r->spec->sections[r->tape.section].name, type_names[type]);
        return 0;
    }
    return 1;
}

static int on_scalar(struct reader *r, enum tl_tape_type type, const char *text, size_t length)
{
    if (r->memory.failed)
        return stop_nomem(r);
    if (r->depth < r->item_depth)
        return structure(r, type);
    return push_value(r, type, text, length) && complete(r);
}

static int on_begin(struct reader *r, enum tl_tape_type type)
{
    if (r->memory.failed)
        return stop_nomem(r);
    if (r->depth == TL_TAPE_DEPTH_MAX) {
        tl__tape_fail(&r->tape, TL_EPARSE, NULL, "more than %d levels of arrays and objects", TL_TAPE_DEPTH_MAX);
        return 0;
    }
    if (r->depth < r->item_depth) {
        if (!structure(r, type))
            return 0;
    } else {
        uint32_t at = (uint32_t)r->tokens.count;

        if (!push_value(r, type, NULL, 0))
            return 0;
        r->open[r->depth] = at;
    }
    r->depth++;
    return 1;
}

static int on_end(void *ctx)
{
    struct reader *r = ctx;

    if (r->memory.failed)
        return stop_nomem(r);
    r->depth--;
    if (r->depth == 0)
        r->ended = true;
    if (r->depth < r->item_depth) {
        if (r->depth <= 1)
            r->tape.section = -1; /* behind the array of a section, or the end */
        return 1;
    }
    r->tokens.items[r->open[r->depth]].next = (uint32_t)r->tokens.count;
    return complete(r);
}

static int begin_section(struct reader *r, const char *key, size_t length)
{
    const struct tl_tape_spec *spec = r->spec;

    r->tape.section = -1;
    r->tape.index = 0;
    r->item_depth = NO_PART;
    for (unsigned i = 0; i < spec->count; i++) {
        if (strlen(spec->sections[i].name) != length || memcmp(spec->sections[i].name, key, length) != 0)
            continue;
        if ((r->tape.seen & 1u << i) != 0) {
            tl__tape_fail(&r->tape, TL_EPARSE, spec->sections[i].name, "appears twice");
            return 0;
        }
        r->tape.seen |= 1u << i;
        r->tape.section = (int)i;
        r->item_depth = spec->sections[i].items ? 2 : 1;
    }
    return 1;
}

static int on_key(void *ctx, const unsigned char *text, size_t length)
{
    struct reader *r = ctx;

    if (r->memory.failed)
        return stop_nomem(r);
    if (r->depth == 1 && r->spec->count > 0)
        return begin_section(r, (const char *)text, length);
    if (r->depth <= r->item_depth)
        return 1;
    return push(r, TL_TAPE_STRING, (const char *)text, length);
}

static int on_null(void *ctx)
{
    return on_scalar(ctx, TL_TAPE_NULL, NULL, 0);
}

static int on_bool(void *ctx, int value)
{
    return on_scalar(ctx, value != 0 ? TL_TAPE_TRUE : TL_TAPE_FALSE, NULL, 0);
}

static int on_number(void *ctx, const char *text, size_t length)
{
    return on_scalar(ctx, TL_TAPE_NUMBER, text, length);
}

static int on_string(void *ctx, const unsigned char *text, size_t length)
{
    return on_scalar(ctx, TL_TAPE_STRING, (const char *)text, length);
}

static int on_object(void *ctx)
{
    return on_begin(ctx, TL_TAPE_OBJECT);
}

static int on_array(void *ctx)
{
    return on_begin(ctx, TL_TAPE_ARRAY);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end,
};

/* ---- the text ---- */

struct tl_tape *tl__tape_create(const char *name, const struct tl_tape_spec *spec)
{
    struct reader *r = tl__alloc(1, sizeof(*r));

    assert(spec->count <= TL_TAPE_SECTIONS_MAX);
    if (r == NULL)
        return NULL;
    tl__json_memory_init(&r->memory);
    r->yajl = yajl_alloc(&callbacks, &r->memory.funcs, r);
    if (r->yajl == NULL) {
        tl__free(r);
        return NULL;
    }
    r->name = name;
    r->spec = spec;
    r->tape.section = -1;
    r->item_depth = spec->count > 0 ? NO_PART : 0;
    return &r->tape;
}

void tl__tape_destroy(struct tl_tape *tape)
{
    struct reader *r = reader_of(tape);

    if (tape == NULL)
        return;
    yajl_free(r->yajl);
    tl__json_memory_fini(&r->memory);
    tl_vec_fini(&r->tokens);
    tl_vec_fini(&r->text);
    tl__free(r);
}

static int hand_out(const struct reader *r, struct tl_error *reterr)
{
    if (reterr != NULL && r->error.code != 0)
        *reterr = r->error;
    return r->error.code;
}

/* Newlines in the bytes that yajl has passed, so that an error can name its line. */
static void count_lines(struct reader *r, const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        r->line++;
        r->line_start = r->fed + (uint64_t)(at - bytes);
    }
    r->fed += count;
}

/* Turns yajl's complaint into ours, unless a callback has said why already. */
static void json_error(struct reader *r, const char *bytes, size_t count)
{
    size_t passed = yajl_get_bytes_consumed(r->yajl), length;
    unsigned char *text;

    if (r->error.code != 0)
        return;
    /* The column is about right: yajl is before what it objects to, or behind. */
    count_lines(r, bytes, passed < count ? passed : count);
    text = yajl_get_error(r->yajl, 0, NULL, 0);
    length = text != NULL ? strcspn((const char *)text, "\n") : 0;
    tl__fail_at(&r->error, TL_EPARSE, (long)(r->line + 1), "%s:%llu:%llu: not valid JSON: %.*s", r->name,
                (unsigned long long)(r->line + 1), (unsigned long long)(r->fed - r->line_start), (int)length,
                text != NULL ? (const char *)text : "");
    yajl_free_error(r->yajl, text);
}

static void feed(struct reader *r, const char *bytes, size_t count)
{
    if (tl__json_memory_ready(&r->memory, count) != 0)
        (void)stop_nomem(r);
    else if (yajl_parse(r->yajl, (const unsigned char *)bytes, count) != yajl_status_ok)
        json_error(r, bytes, count);
    else
        count_lines(r, bytes, count);
    if (r->memory.failed && r->error.code == 0)
        (void)stop_nomem(r);
    r->tail[0] = count > 1 ? bytes[count - 2] : r->tail[1];
    r->tail[1] = bytes[count - 1];
}

/* Bytes that the short cut takes: between two items, at the start of a line. */
static size_t take_items(struct reader *r, const char *bytes, size_t count)
{
    uint64_t items = 0;
    size_t n;

    if (r->depth != 2 || r->item_depth != 2 || r->tail[1] != '\n' || (r->tail[0] != ',' && r->tail[0] != '['))
        return 0;
    n = r->spec->take_items(r->spec->ctx, r->tape.section, bytes, count, &items);
    r->tape.index += items;
    r->line += items;
    r->fed += n;
    r->refused = n == 0;
    if (n > 0)
        r->line_start = r->fed;
    return n;
}

/* How much yajl gets next, of `count`. Where the short cut may be of use, a piece ends with a line, to see whether an
 * item follows: with the next line, or, once the short cut has refused an item, with the last line of a full piece,
 * since the items of a file of another layout are refused one and all. */
static size_t next_piece(const struct reader *r, const char *from, size_t count)
{
    size_t n = count < FEED_BYTES ? count : FEED_BYTES;
    const char *newline = NULL;

    if (r->spec->take_items != NULL)
        newline = r->refused ? memrchr(from, '\n', n) : memchr(from, '\n', n);
    return newline != NULL ? (size_t)(newline + 1 - from) : n;
}

int tl__tape_feed(struct tl_tape *tape, const void *bytes, size_t count, struct tl_error *reterr)
{
    struct reader *r = reader_of(tape);
    const char *from = bytes;

    while (r->error.code == 0 && count > 0) {
        size_t n;

        if (r->spec->take_items != NULL) {
            n = take_items(r, from, count);
            from += n;
            count -= n;
            if (count == 0)
                break;
        }
        n = next_piece(r, from, count);
        feed(r, from, n);
        from += n;
        count -= n;
    }
    return hand_out(r, reterr);
}

static void cut_error(struct reader *r)
{
    char place[128];

    where(r, place, sizeof(place));
    if (r->fed == 0)
        tl__fail(&r->error, TL_EPARSE, "%s: the file is empty", r->name);
    else
        tl__fail_at(&r->error, TL_EPARSE, (long)(r->line + 1), "%s:%llu: the file is cut%s%s", r->name,
                    (unsigned long long)(r->line + 1), place[0] != '\0' ? " in " : "", place);
}

int tl__tape_finish(struct tl_tape *tape, struct tl_error *reterr)
{
    struct reader *r = reader_of(tape);

    if (r->error.code == 0 && tl__json_memory_ready(&r->memory, 1) != 0)
        (void)stop_nomem(r);
    if (r->error.code == 0 && yajl_complete_parse(r->yajl) != yajl_status_ok && r->error.code == 0) {
        if (r->ended)
            json_error(r, "", 0);
        else
            cut_error(r);
    }
    for (unsigned i = 0; r->error.code == 0 && i < r->spec->count; i++)
        if (r->spec->sections[i].required && (r->tape.seen & 1u << i) == 0)
            tl__tape_fail(tape, TL_EPARSE, r->spec->sections[i].name, "missing");
    if (r->error.code == 0 && r->spec->ret_seen != NULL)
        *r->spec->ret_seen = r->tape.seen;
    return hand_out(r, reterr);
}

int tl__tape_parse(const void *text, size_t bytes, const char *name, const struct tl_tape_spec *spec,
                   struct tl_error *reterr)
{
    struct tl_tape *tape = tl__tape_create(name, spec);
    int code;

    if (tape == NULL)
        return tl__fail(reterr, TL_ENOMEM, "%s: out of memory", name);
    code = tl__tape_feed(tape, text, bytes, reterr);
    if (code == 0)
        code = tl__tape_finish(tape, reterr);
    tl__tape_destroy(tape);
    return code;
}
