/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON. yajl turns text into events; here they become values that can be asked for by name and type, with
 * one-line errors that say where: "deps.json: tasks[3].args[1]: field 'dtype': expected a string, found a number".
 *
 * A document is handed over in parts, so that a file of any size needs the memory of its largest part. Its top is an
 * object whose wanted members are `sections`; a section with `items` is an array and comes item by item, any other
 * comes whole. Members that are not named are skipped. Without sections the document is one part.
 *
 * A part is a flat tape of tokens, its own first: a container is followed by its items (an object's: key, value, key,
 * value), and knows the token behind its last. Values are tokens' positions; TL_TAPE_ABSENT is none. Numbers are kept
 * as text, so that 64 bits stay exact. Of two members of one name the last counts; a section that appears twice is an
 * error.
 *
 * One thread at a time for one tape.
 */
#ifndef TL_BASE_JSON_TAPE_H
#define TL_BASE_JSON_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#define TL_TAPE_DEPTH_MAX 64
#define TL_TAPE_ABSENT 0u /* position of a member that is not there: the part itself is a member of nothing */
#define TL_TAPE_SECTIONS_MAX 32

enum tl_tape_type {
    TL_TAPE_NULL,
    TL_TAPE_FALSE,
    TL_TAPE_TRUE,
    TL_TAPE_NUMBER,
    TL_TAPE_STRING,
    TL_TAPE_OBJECT,
    TL_TAPE_ARRAY,
};

struct tl_tape_token {
    uint32_t start;  /* of its text */
    uint32_t length; /* of its text; of a container: its items or members */
    uint32_t next;   /* position behind the value */
    uint32_t type;   /* enum tl_tape_type */
};

struct tl_tape_section {
    const char *name;
    bool items, required;
};

struct tl_tape;

struct tl_tape_spec {
    const struct tl_tape_section *sections; /* TL_TAPE_SECTIONS_MAX at most */
    unsigned count;
    /* One part, at position 0 until the call returns. 0 to go on, or what a function below returned. */
    int (*on_value)(void *ctx, struct tl_tape *tape);
    void *ctx;
    uint32_t *ret_seen; /* NULL, or set at the end: the sections that the document has, by bit */
    /* A short cut, or NULL: takes items of a section that are at the start of `bytes`, where an item begins a line,
     * each to the end of its line and with the comma behind it. At least one item must follow them. Returns how many
     * bytes; *ret_items: of how many items. */
    size_t (*take_items)(void *ctx, int section, const char *bytes, size_t count, uint64_t *ret_items);
};

struct tl_tape {
    const struct tl_tape_token *tokens; /* of the part */
    const char *text;                   /* texts of its tokens, each with a zero byte behind it */
    int section;                        /* of the part: index into the spec's; -1: the whole document */
    uint64_t index;                     /* of an item in its section */
    uint32_t seen;                      /* sections that have begun, by bit; also those without an item */
    /* Where messages say that they are, below the part; set by who reads it. `inner` NULL: the part itself. */
    const char *inner; /* "args": .args[7]; "": [7] */
    uint64_t inner_index;
};

/* `name` appears in messages; it and `spec` are borrowed for the tape's life. NULL when out of memory. */
struct tl_tape *tl__tape_create(const char *name, const struct tl_tape_spec *spec);
/* NULL is fine. */
void tl__tape_destroy(struct tl_tape *tape);
/* The next bytes of the text, any number. 0, or the error, which is final. */
int tl__tape_feed(struct tl_tape *tape, const void *bytes, size_t count, struct tl_error *reterr);
/* The end of the text: TL_EPARSE if it is cut or a required section did not come. */
int tl__tape_finish(struct tl_tape *tape, struct tl_error *reterr);
/* All of the above for a text in memory. 0, TL_ENOMEM, TL_EPARSE, or what on_value returned. */
int tl__tape_parse(const void *text, size_t bytes, const char *name, const struct tl_tape_spec *spec,
                   struct tl_error *reterr);

/* Notes the error, with where it is, and returns `code`. `field` NULL: the part or the inner item itself. */
int tl__tape_fail(struct tl_tape *tape, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "missing" if `at` is absent, else "expected X, found Y". TL_EPARSE. */
int tl__tape_fail_type(struct tl_tape *tape, uint32_t at, const char *field, const char *expected);

/*
 * Typed values. Each returns 0, or TL_EPARSE with the error noted, and an absent value is one: for an optional field
 * ask whether it is there first. `field` is what messages call it; position 0 and no field mean the part itself.
 */

/* Positions of the members of the object `at` whose names are given, TL_TAPE_ABSENT for those that it has not. */
int tl__tape_fields(struct tl_tape *tape, uint32_t at, const char *field, const char *const *names, unsigned count,
                    uint32_t *ret_at);
/* Items of the array `at`. They are at at + 1, and each next one at the `next` of the one before. */
int tl__tape_array(struct tl_tape *tape, uint32_t at, const char *field, uint32_t *ret_count);
/* An integer of at most `max`: a number, or a string of decimal digits or of 0x and hexadecimal ones. */
int tl__tape_u64(struct tl_tape *tape, uint32_t at, const char *field, uint64_t max, uint64_t *ret_value);
int tl__tape_u32(struct tl_tape *tape, uint32_t at, const char *field, uint32_t *ret_value);
/* The same with a sign. */
int tl__tape_i32(struct tl_tape *tape, uint32_t at, const char *field, int32_t *ret_value);
int tl__tape_i64(struct tl_tape *tape, uint32_t at, const char *field, int64_t *ret_value);
int tl__tape_bool(struct tl_tape *tape, uint32_t at, const char *field, bool *ret_value);
/* Borrowed until on_value returns; has a zero byte behind it, and may have some within. */
int tl__tape_string(struct tl_tape *tape, uint32_t at, const char *field, const char **ret_text, size_t *ret_length);
/* A copy of it in `to`, which has room for `size` bytes; what is longer is cut. */
int tl__tape_text(struct tl_tape *tape, uint32_t at, const char *field, char *to, size_t size);
/* The index of a string in `words`; upper and lower case are one. TL_ENOENT, without an error noted: another string. */
int tl__tape_word(struct tl_tape *tape, uint32_t at, const char *field, const char *const *words, unsigned count,
                  unsigned *ret_index);

static inline bool tl__tape_is_null(const struct tl_tape *tape, uint32_t at)
{
    return at == TL_TAPE_ABSENT || tape->tokens[at].type == TL_TAPE_NULL;
}

#endif
