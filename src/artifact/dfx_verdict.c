/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact/dfx_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char *const words[TL_VERDICTS] = {
    [TL_VERDICT_AGREES] = "agrees", [TL_VERDICT_DIFFERS] = "differs", [TL_VERDICT_NOT_CHECKED] = "not_checked"};

const char *tl__verdict_name(unsigned verdict)
{
    return words[verdict < TL_VERDICTS ? verdict : TL_VERDICT_NOT_CHECKED];
}

/* ---- writing ---- */

/* JSON has no number for these three. */
static void put_value(struct tl_json *j, const char *key, double value)
{
    tl__json_key(j, key);
    if (isfinite(value))
        tl__json_f64(j, value);
    else
        tl__json_string(j, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void put_index(struct tl_json *j, uint32_t rank, const uint32_t *index)
{
    tl__json_array_begin(j, TL_JSON_LINE);
    for (uint32_t d = 0; d < rank; d++)
        tl__json_u64(j, index[d]);
    tl__json_array_end(j);
}

void tl__verdict_put(struct tl_json *j, const struct tl_meta_verdict *v)
{
    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_string(j, "output", v->output);
    tl__json_member_string(j, "dtype", v->dtype);
    tl__json_member_string(j, "verdict", tl__verdict_name(v->verdict));
    tl__json_member_u64(j, "elements", v->elements);
    if (v->verdict != TL_VERDICT_NOT_CHECKED) {
        tl__json_member_u64(j, "differing", v->differing);
        tl__json_member_string(j, "rule", v->rule);
        tl__json_member_array(j, "first", TL_JSON_LINE);
        for (uint32_t i = 0; i < v->first_count; i++)
            put_index(j, v->rank, v->first[i]);
        tl__json_array_end(j);
        tl__json_member_object(j, "worst", TL_JSON_LINE);
        tl__json_key(j, "index");
        put_index(j, v->rank, v->worst);
        put_value(j, "got", v->worst_got);
        put_value(j, "expected", v->worst_want);
        put_value(j, "allowed", v->worst_allowed);
        tl__json_object_end(j);
    }
    tl__json_object_end(j);
}

/* ---- reading ---- */

static int take_value(struct tl_tape *t, uint32_t at, const char *field, double *to)
{
    char text[8];

    if (at == TL_TAPE_ABSENT)
        return 0;
    if (t->tokens[at].type == TL_TAPE_NUMBER) {
        const char *number = t->text + t->tokens[at].start;

        return tl__read_f64(number, strlen(number), to) ? 0 : tl__tape_fail(t, TL_EPARSE, field, "expected a number");
    }
    if (tl__tape_text(t, at, field, text, sizeof(text)) != 0)
        return TL_EPARSE;
    *to = strcmp(text, "nan") == 0 ? (double)NAN : strcmp(text, "-inf") == 0 ? -INFINITY : INFINITY;
    return 0;
}

static int take_index(struct tl_tape *t, uint32_t at, const char *field, uint32_t *to, uint32_t *ret_rank)
{
    uint32_t item = at + 1;
    int code = 0;

    if (at == TL_TAPE_ABSENT)
        return 0;
    if (t->tokens[at].type != TL_TAPE_ARRAY || t->tokens[at].length > TL_MAX_DIMS)
        return tl__tape_fail(t, TL_EPARSE, field, "expected an array of at most %d indices", TL_MAX_DIMS);
    *ret_rank = t->tokens[at].length;
    for (uint32_t d = 0; code == 0 && d < *ret_rank; d++, item = t->tokens[item].next)
        code = tl__tape_u32(t, item, field, &to[d]);
    return code;
}

static int take_worst(struct tl_tape *t, uint32_t at, struct tl_meta_verdict *v)
{
    enum { INDEX, GOT, EXPECTED, ALLOWED, COUNT };
    static const char *const names[COUNT] = {"index", "got", "expected", "allowed"};
    uint32_t f[COUNT];
    int code;

    if (at == TL_TAPE_ABSENT)
        return 0;
    code = tl__tape_fields(t, at, "verdicts.worst", names, COUNT, f);
    if (code == 0)
        code = take_index(t, f[INDEX], "verdicts.worst.index", v->worst, &v->rank);
    if (code == 0)
        code = take_value(t, f[GOT], "verdicts.worst.got", &v->worst_got);
    if (code == 0)
        code = take_value(t, f[EXPECTED], "verdicts.worst.expected", &v->worst_want);
    return code != 0 ? code : take_value(t, f[ALLOWED], "verdicts.worst.allowed", &v->worst_allowed);
}

static int take_first(struct tl_tape *t, uint32_t at, struct tl_meta_verdict *v)
{
    uint32_t item = at + 1;
    int code = 0;

    if (at == TL_TAPE_ABSENT)
        return 0;
    if (t->tokens[at].type != TL_TAPE_ARRAY)
        return tl__tape_fail(t, TL_EPARSE, "verdicts.first", "expected an array");
    v->first_count = t->tokens[at].length < TL_META_MAX_FIRST ? t->tokens[at].length : TL_META_MAX_FIRST;
    for (uint32_t i = 0; code == 0 && i < v->first_count; i++, item = t->tokens[item].next)
        code = take_index(t, item, "verdicts.first", v->first[i], &v->rank);
    return code;
}

static int take_text(struct tl_tape *t, uint32_t at, const char *field, char *to, size_t size)
{
    return at == TL_TAPE_ABSENT ? 0 : tl__tape_text(t, at, field, to, size);
}

static int take_count(struct tl_tape *t, uint32_t at, const char *field, uint64_t *to)
{
    return at == TL_TAPE_ABSENT ? 0 : tl__tape_u64(t, at, field, UINT64_MAX, to);
}

int tl__verdict_take(struct tl_tape *t, uint32_t at, struct tl_meta_verdict *v)
{
    enum { OUTPUT, DTYPE, VERDICT, ELEMENTS, DIFFERING, RULE, FIRST, WORST, COUNT };
    static const char *const names[COUNT] = {"output",    "dtype", "verdict", "elements",
                                             "differing", "rule",  "first",   "worst"};
    char word[24] = "";
    uint32_t f[COUNT];
    int code = tl__tape_fields(t, at, "verdicts", names, COUNT, f);

    if (code == 0)
        code = take_text(t, f[OUTPUT], "verdicts.output", v->output, sizeof(v->output));
    if (code == 0)
        code = take_text(t, f[DTYPE], "verdicts.dtype", v->dtype, sizeof(v->dtype));
    if (code == 0)
        code = take_text(t, f[RULE], "verdicts.rule", v->rule, sizeof(v->rule));
    if (code == 0)
        code = take_text(t, f[VERDICT], "verdicts.verdict", word, sizeof(word));
    v->verdict = TL_VERDICT_NOT_CHECKED;
    for (uint32_t i = 0; i < TL_VERDICTS; i++)
        if (strcmp(word, words[i]) == 0)
            v->verdict = i;
    if (code == 0)
        code = take_count(t, f[ELEMENTS], "verdicts.elements", &v->elements);
    if (code == 0)
        code = take_count(t, f[DIFFERING], "verdicts.differing", &v->differing);
    if (code == 0)
        code = take_first(t, f[FIRST], v);
    return code != 0 ? code : take_worst(t, f[WORST], v);
}
