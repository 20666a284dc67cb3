/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest's parser: the object, and the members of the top. What a file may leave out or call otherwise
 * (docs/formats/args_dump.md, "Other writers") is decided here and in dump_parse_record.c.
 */
#include "artifact/dump_parse_state.h"
#include "base/env.h"
#include "base/error.h"
#include "base/number.h"

#define SHOWN 60 /* bytes of a value that a message repeats */

/* X(field, name, items) of the top. */
#define TOP_FIELDS(X)                                                                                                  \
    X(T_RUN_DIR, "run_dir", false)                                                                                     \
    X(T_BIN_FORMAT, "bin_format", false)                                                                               \
    X(T_VERSION, "version", false)                                                                                     \
    X(T_LEVEL, "dump_args_level", false)                                                                               \
    X(T_TOTAL, "total_args", false)                                                                                    \
    X(T_BEFORE, "before_dispatch", false)                                                                              \
    X(T_AFTER, "after_completion", false)                                                                              \
    X(T_INPUT, "input_args", false)                                                                                    \
    X(T_OUTPUT, "output_args", false)                                                                                  \
    X(T_INOUT, "inout_args", false)                                                                                    \
    X(T_TRUNCATED, "truncated_args", false)                                                                            \
    X(T_DROPPED, "dropped_records", false)                                                                             \
    X(T_OVERWRITE, "dropped_overwrite", false)                                                                         \
    X(T_BIN_FILE, "bin_file", false)                                                                                   \
    X(T_EPOCH, "run_epoch", false)                                                                                     \
    X(T_ARGS, "args", true)                                                                                            \
    X(T_TENSORS, "tensors", true)

#define FIELD_ENUM(field, name, items) field,
#define FIELD_SECTION(field, name, items) {name, items, false},
enum top_field { TOP_FIELDS(FIELD_ENUM) T_COUNT };
static const struct tl_tape_section sections[] = {TOP_FIELDS(FIELD_SECTION)};
_Static_assert(T_COUNT <= TL_TAPE_SECTIONS_MAX, "one bit each");

#define BIT(field) (1u << (field))
#define LISTS (BIT(T_ARGS) | BIT(T_TENSORS))
#define REQUIRED                                                                                                       \
    (BIT(T_RUN_DIR) | BIT(T_BIN_FORMAT) | BIT(T_LEVEL) | BIT(T_TOTAL) | BIT(T_BEFORE) | BIT(T_AFTER) | BIT(T_INPUT) |  \
     BIT(T_OUTPUT) | BIT(T_INOUT) | BIT(T_TRUNCATED) | BIT(T_DROPPED) | BIT(T_BIN_FILE))
#define OLD_REQUIRED (BIT(T_BIN_FORMAT) | BIT(T_BIN_FILE))

/* ---- the top: of a part that is one member, position 0 is its value ---- */

static int take_bin_file(struct tl_dump_parser *p, struct tl_tape *t)
{
    const char *text = t->text + t->tokens[0].start;
    size_t length = t->tokens[0].length;

    p->summary.bin_file[0] = '\0';
    if (t->tokens[0].type == TL_TAPE_NULL)
        return 0;
    if (t->tokens[0].type != TL_TAPE_STRING)
        return tl__tape_fail_type(t, 0, NULL, "a string or null");
    /* It names a sibling; a path would let a manifest open any file. */
    if (length == 0 || length >= sizeof(p->summary.bin_file) || strlen(text) != length || strchr(text, '/') != NULL ||
        text[0] == '.')
        return tl__tape_fail(t, TL_EPARSE, NULL, "'%.*s' is not the name of a file beside the manifest", SHOWN, text);
    memcpy(p->summary.bin_file, text, length + 1);
    return 0;
}

/* What is no number is none of ours. */
static int take_version(struct tl_tape *t)
{
    const struct tl_tape_token *token = &t->tokens[0];
    uint64_t version;

    if (token->type != TL_TAPE_NUMBER || !tl__read_u64(t->text + token->start, token->length, &version) ||
        version <= TL_DUMP_VERSION)
        return 0;
    return tl__tape_fail(t, TL_EVERSION, NULL, "%llu is newer than what this program reads (%d)",
                         (unsigned long long)version, TL_DUMP_VERSION);
}

static int take_bin_format(struct tl_tape *t)
{
    static const char *const names[] = {"type", "byte_order"};
    static const char *const values[] = {"logical_contiguous", "little_endian"};
    uint32_t at[2];
    int code = tl__tape_fields(t, 0, NULL, names, 2, at);

    for (unsigned i = 0; code == 0 && i < 2; i++) {
        const char *text = "";
        size_t length;

        code = tl__tape_string(t, at[i], names[i], &text, &length);
        if (code == 0 && strcmp(text, values[i]) != 0)
            code = tl__tape_fail(t, TL_ENOTSUP, names[i], "'%.*s': only '%s' is supported", SHOWN, text, values[i]);
    }
    return code;
}

static int take_top(struct tl_dump_parser *p, struct tl_tape *t)
{
    struct tl_dump_summary *s = &p->summary;
    uint64_t *const counts[T_COUNT] = {
        [T_TOTAL] = &s->total_args,         [T_BEFORE] = &s->before_dispatch,  [T_AFTER] = &s->after_completion,
        [T_INPUT] = &s->input_args,         [T_OUTPUT] = &s->output_args,      [T_INOUT] = &s->inout_args,
        [T_TRUNCATED] = &s->truncated_args, [T_DROPPED] = &s->dropped_records, [T_OVERWRITE] = &s->dropped_overwrite,
    };
    uint64_t small = 0;
    int code;

    switch ((enum top_field)t->section) {
    case T_RUN_DIR:
        return tl__tape_text(t, 0, NULL, s->run_dir, sizeof(s->run_dir));
    case T_BIN_FILE:
        return take_bin_file(p, t);
    case T_VERSION:
        return take_version(t);
    case T_BIN_FORMAT:
        return take_bin_format(t);
    case T_LEVEL:
        code = tl__tape_u64(t, 0, NULL, 3, &small);
        s->level = (uint32_t)small;
        return code;
    case T_EPOCH:
        code = tl__tape_u64(t, 0, NULL, UINT32_MAX, &small);
        s->run_epoch = (uint32_t)small;
        return code;
    default:
        return tl__tape_u64(t, 0, NULL, UINT64_MAX, counts[t->section]);
    }
}

static int on_value(void *ctx, struct tl_tape *t)
{
    struct tl_dump_parser *p = ctx;

    if (t->section != T_ARGS && t->section != T_TENSORS)
        return take_top(p, t);
    p->old_form = t->section == T_TENSORS;
    return tl__dump_record_take(p, t);
}

static size_t take_items(void *ctx, int section, const char *bytes, size_t count, uint64_t *ret_items)
{
    struct tl_dump_parser *p = ctx;

    return section == T_ARGS && !p->no_short_cut ? tl__dump_take_lines(p, bytes, count, ret_items) : 0;
}

/* ---- the object ---- */

struct tl_dump_parser *tl__dump_parser_create(const char *name, uint64_t size_hint)
{
    struct tl_dump_parser *p = tl__alloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->name = name;
    p->size_hint = size_hint;
    p->spec = (struct tl_tape_spec){.sections = sections,
                                    .count = T_COUNT,
                                    .on_value = on_value,
                                    .take_items = take_items,
                                    .ctx = p,
                                    .ret_seen = &p->seen};
    p->tape = tl__tape_create(name, &p->spec);
    if (p->tape == NULL) {
        tl__free(p);
        return NULL;
    }
    return p;
}

void tl__dump_parser_destroy(struct tl_dump_parser *p)
{
    if (p == NULL)
        return;
    tl__tape_destroy(p->tape);
    tl__free(p->records);
    tl__free(p);
}

int tl__dump_parser_feed(struct tl_dump_parser *p, const void *bytes, size_t count, struct tl_error *reterr)
{
    return tl__tape_feed(p->tape, bytes, count, reterr);
}

int tl__dump_parser_finish(struct tl_dump_parser *p, struct tl_dump_summary *ret_summary,
                           struct tl_dump_record **ret_records, uint64_t *ret_count, struct tl_error *reterr)
{
    uint32_t missing;
    int code = tl__tape_finish(p->tape, reterr);

    if (code != 0)
        return code;
    if ((p->seen & LISTS) == 0)
        return tl__fail_at(reterr, TL_EPARSE, -1, "%s: field 'args': missing", p->name);
    if ((p->seen & LISTS) == LISTS)
        return tl__fail_at(reterr, TL_EPARSE, -1, "%s: field 'tensors': a second list of records", p->name);
    missing = ((p->seen & BIT(T_TENSORS)) != 0 ? OLD_REQUIRED : REQUIRED) & ~p->seen;
    if (missing != 0)
        return tl__fail_at(reterr, TL_EPARSE, -1, "%s: field '%s': missing", p->name,
                           sections[__builtin_ctz(missing)].name);
    if ((p->seen & REQUIRED) != REQUIRED)
        tl__dump_count(&p->summary, p->records, p->count);
    *ret_summary = p->summary;
    *ret_records = p->records;
    *ret_count = p->count;
    p->records = NULL;
    return 0;
}
