/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in parts: in one piece or in many, the same parts and the same error; every part's tape is well formed. */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "base/json_tape.h"

static const struct tl_tape_section sections[] = {{"a", false, false}, {"b", true, false}, {"c", true, true}};

struct result {
    struct tl_hash hash; /* of all parts */
    struct tl_error error;
    int code;
};

static void add(struct result *r, const void *bytes, size_t count)
{
    tl__hash_update(&r->hash, bytes, count);
}

/* Returns the position behind the value. */
static uint32_t walk(struct result *r, const struct tl_tape *t, uint32_t at, unsigned depth)
{
    const struct tl_tape_token *token = &t->tokens[at];
    uint32_t item = at + 1;

    MUST(depth <= TL_TAPE_DEPTH_MAX && token->type <= TL_TAPE_ARRAY && token->next > at);
    add(r, token, sizeof(*token));
    if (token->type == TL_TAPE_NUMBER || token->type == TL_TAPE_STRING) {
        MUST(t->text[token->start + token->length] == 0);
        add(r, t->text + token->start, token->length);
    }
    if (token->type < TL_TAPE_OBJECT)
        return token->next;
    for (uint32_t left = token->length; left > 0; left--) {
        if (token->type == TL_TAPE_OBJECT) {
            MUST(t->tokens[item].type == TL_TAPE_STRING);
            item = walk(r, t, item, depth + 1);
        }
        item = walk(r, t, item, depth + 1);
    }
    MUST(item == token->next);
    return item;
}

static int on_value(void *ctx, struct tl_tape *t)
{
    static const char *const names[] = {"a", "b"};
    struct result *r = ctx;
    uint32_t at[2], count = 0;
    uint64_t value = 0;

    add(r, &t->section, sizeof(t->section));
    add(r, &t->index, sizeof(t->index));
    (void)walk(r, t, 0, 0);
    /* A part of the wrong type is an error that comes back; so is a number that is none. */
    if (t->section == 1)
        return tl__tape_fields(t, 0, NULL, names, 2, at);
    if (t->section == 2 && tl__tape_array(t, 0, NULL, &count) == 0 && count > 0)
        return tl__tape_u64(t, 1, "first", UINT64_MAX, &value);
    return t->section == 2 ? TL_EPARSE : 0;
}

static void read_pieces(const uint8_t *data, size_t size, size_t piece, bool whole, struct result *r)
{
    struct tl_tape_spec spec = {.sections = sections, .count = whole ? 0 : 3, .on_value = on_value, .ctx = r};
    struct tl_tape *t = tl__tape_create("fuzz", &spec);

    memset(r, 0, sizeof(*r));
    tl__hash_init(&r->hash);
    MUST(t != NULL);
    for (size_t at = 0; at < size && r->code == 0; at += piece)
        r->code = tl__tape_feed(t, data + at, size - at < piece ? size - at : piece, &r->error);
    if (r->code == 0)
        r->code = tl__tape_finish(t, &r->error);
    MUST(r->code == 0 || (r->code == TL_EPARSE && r->error.code == r->code && r->error.msg[0] != 0));
    tl__tape_destroy(t);
}

/* yajl knows the place of what it objects to only to a token, and to less where pieces meet. */
static const char *but_for_place(const char *message)
{
    const char *what = strstr(message, "not valid JSON");

    return what != NULL ? what : message;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int whole = 0; whole < 2; whole++) {
        struct result one, many;

        read_pieces(data, size, size + 1, whole, &one);
        read_pieces(data, size, 5, whole, &many);
        MUST(one.code == many.code && strcmp(but_for_place(one.error.msg), but_for_place(many.error.msg)) == 0);
        MUST(tl__hash_value(&one.hash) == tl__hash_value(&many.hash));
    }
    return 0;
}
