/* SPDX-License-Identifier: Apache-2.0 */
#include "host/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "base/env.h"
#include "base/format.h"
#include "tensor/convert.h"

#define ROW_ELEMENTS 16u
#define REDUCTION 1024u
#define MEDIANS 16.0 /* a row's magnitude is at most so many times its median */
#define AS_A_ROW 0.125

/* Bits of the significand with the hidden one, exponent of the smallest normal value, ULPs that are allowed. */
struct format {
    int bits, emin;
    double ulps;
};

static struct format format_of(unsigned dtype)
{
    switch (dtype) {
    case TL_FLOAT32:
        return (struct format){24, -126, 2};
    case TL_FLOAT16:
        return (struct format){11, -14, 2};
    case TL_BFLOAT16:
        return (struct format){8, -126, 2};
    case TL_FP8E4M3FN:
        return (struct format){4, -6, 1};
    default:
        return (struct format){0, 0, 0};
    }
}

/* The formula's factors for one output. */
struct rule {
    unsigned dtype;
    struct format format;
    double value, row, absolute;
    double quantum; /* smallest positive value; 0: equal or different */
};

struct row {
    uint64_t at; /* of its first element */
    size_t n;
    double *got, *want, *order;
    double magnitude;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct rule rule_of(unsigned dtype, const struct tl_tolerance *t)
{
    const double reduction = t->reduction != 0 ? (double)t->reduction : REDUCTION;
    struct rule r = {.dtype = dtype, .format = format_of(dtype)};

    if (r.format.bits != 0)
        r.quantum = ldexp(1.0, r.format.emin - r.format.bits + 1);
    if (r.format.bits != 0 || t->output != NULL) {
        r.value = r.row = (double)t->relative;
        r.absolute = (double)t->absolute;
    }
    if (t->relative == 0 && r.format.bits != 0) {
        r.value = reduction * 0x1p-24;
        r.row = sqrt(reduction) * 0x1p-22;
    }
    /* The precision of the dtype is the lower bound, unless a tolerance names the output. */
    if (r.format.bits != 0 && r.format.bits < 24 && (t->relative == 0 || t->output == NULL))
        r.row = larger(r.row, ldexp(1.0, 1 - r.format.bits));
    return r;
}

static void put_rule(const struct rule *r, const struct tl_tolerance *t, char *to, size_t size)
{
    int n = 0;

    if (r->format.ulps == 0 && r->value == 0 && r->absolute == 0) {
        (void)tl__format(to, size, "equal");
        return;
    }
    if (r->format.ulps > 0)
        n = tl__format(to, size, "%g ULP", r->format.ulps);
    if (t->relative != 0 && r->value == r->row)
        n += tl__format(to + n, size - (size_t)n, "%s%.3g of value and row", n > 0 ? " + " : "", r->value);
    else if (r->format.bits != 0)
        n += tl__format(to + n, size - (size_t)n, " + %.2g of value + %.2g of row", r->value, r->row);
    if (r->absolute != 0)
        (void)tl__format(to + n, size - (size_t)n, "%s%.3g", n > 0 ? " + " : "", r->absolute);
}

/* Distance of two neighbours at `v`. */
static double ulp(const struct rule *r, double v)
{
    int exponent = v != 0 ? ilogb(v) : r->format.emin;

    if (r->quantum == 0)
        return 0;
    return ldexp(1.0, (exponent > r->format.emin ? exponent : r->format.emin) - r->format.bits + 1);
}

static double allowed_at(const struct rule *r, const struct row *row, double want)
{
    if (!isfinite(want))
        return 0;
    return r->format.ulps * ulp(r, want) + r->value * fabs(want) + r->row * row->magnitude + r->absolute;
}

/* |got - want|, and the cases that a subtraction does not cover: NaN and infinities. */
static double distance(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0.0 : INFINITY;
    if (isinf(got) || isinf(want))
        return got == want ? 0.0 : INFINITY;
    return fabs(got - want);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of the finite expected values. */
static void weigh(struct row *row)
{
    double squares = 0;
    size_t finite = 0, n = 0;

    row->magnitude = 0;
    for (size_t i = 0; i < row->n; i++) {
        double w = fabs(row->want[i]);

        if (!isfinite(w))
            continue;
        finite++;
        squares += w * w;
        if (w != 0)
            row->order[n++] = w;
    }
    if (n == 0)
        return;
    qsort(row->order, n, sizeof(*row->order), by_size);
    row->magnitude = sqrt(squares / (double)finite);
    if (row->magnitude > MEDIANS * row->order[(n - 1) / 2])
        row->magnitude = MEDIANS * row->order[(n - 1) / 2];
}

static void unravel(uint64_t at, unsigned rank, const uint32_t *shape, uint32_t *index)
{
    for (unsigned d = rank; d-- > 0;) {
        index[d] = shape[d] ? (uint32_t)(at % shape[d]) : 0;
        at = shape[d] ? at / shape[d] : 0;
    }
}

struct walk {
    struct rule rule;
    unsigned rank;
    const uint32_t *shape;
    const void *got, *want;
    double worst_ratio;
    struct tl_comparison *c;
};

static void note_bad(struct walk *w, const struct row *row, size_t i)
{
    struct tl_comparison *c = w->c;

    if (c->bad++ == 0) {
        c->first_got = row->got[i];
        c->first_want = row->want[i];
    }
    if (c->first_count < TL_COMPARE_FIRST)
        unravel(row->at + i, w->rank, w->shape, c->first[c->first_count++]);
}

/* Not every integer beyond 2^53 is a double: such values are compared as integers. */
static double difference(const struct walk *w, const struct row *row, size_t i)
{
    double d;

    if (tl__dtype_is_float(w->rule.dtype))
        return distance(row->got[i], row->want[i]);
    if (tl__int_at(w->rule.dtype, w->got, row->at + i) == tl__int_at(w->rule.dtype, w->want, row->at + i))
        return 0;
    d = distance(row->got[i], row->want[i]);
    return d > 0 ? d : 1;
}

static void note_worst(struct walk *w, const struct row *row, size_t i, double d, double allowed)
{
    struct tl_comparison *c = w->c;
    double ratio = allowed > 0 ? d / allowed : INFINITY;

    if (d > c->largest)
        c->largest = d;
    if (ratio < w->worst_ratio || (ratio == w->worst_ratio && w->worst_ratio > 0))
        return;
    w->worst_ratio = ratio;
    c->worst_got = row->got[i];
    c->worst_want = row->want[i];
    c->worst_allowed = allowed;
    unravel(row->at + i, w->rank, w->shape, c->worst);
}

static bool agrees_as_a_row(const struct rule *r, const struct row *row)
{
    const double part = larger(AS_A_ROW, 2 * r->value), each = r->absolute + r->row * row->magnitude;
    double off = 0, size = 0;

    if (r->quantum == 0)
        return true;
    for (size_t i = 0; i < row->n; i++)
        if (isfinite(row->want[i]) && isfinite(row->got[i])) {
            off += (row->got[i] - row->want[i]) * (row->got[i] - row->want[i]);
            size += row->want[i] * row->want[i];
        }
    return off <= part * part * size + 4 * r->quantum * r->quantum + (double)row->n * each * each;
}

static void compare_row(struct walk *w, struct row *row)
{
    const uint64_t before = w->c->bad;

    weigh(row);
    for (size_t i = 0; i < row->n; i++) {
        double d = difference(w, row, i), allowed;

        if (d == 0)
            continue;
        allowed = allowed_at(&w->rule, row, row->want[i]);
        note_worst(w, row, i, d, allowed);
        if (!(d <= allowed))
            note_bad(w, row, i);
    }
    if (w->c->bad != before || agrees_as_a_row(&w->rule, row))
        return;
    w->c->as_a_row = w->c->as_a_row || before == 0;
    for (size_t i = 0; i < row->n; i++)
        if (difference(w, row, i) > 0)
            note_bad(w, row, i);
}

static int compare_rows(struct walk *w, struct row *row, uint64_t elements)
{
    int rc = 0;

    for (row->at = 0; rc == 0 && row->at < w->c->count; row->at += elements) {
        uint64_t left = w->c->count - row->at;

        row->n = (size_t)(left < elements ? left : elements);
        rc = tl__to_f64(w->rule.dtype, w->got, row->at, row->n, row->got);
        if (rc == 0)
            rc = tl__to_f64(w->rule.dtype, w->want, row->at, row->n, row->want);
        if (rc == 0)
            compare_row(w, row);
    }
    return rc;
}

static uint64_t row_elements(unsigned rank, const uint32_t *shape, uint64_t count)
{
    uint64_t n = 1;

    for (unsigned d = rank; d-- > 0 && n < ROW_ELEMENTS;)
        n *= shape[d];
    return n < count ? n : count;
}

struct tl_tolerance tl__tolerance_of(const struct tl_program *program, const char *name)
{
    const struct tl_tolerance of_all = {.relative = program->tolerance};

    for (uint32_t i = 0; i < program->n_tolerances; i++)
        if (program->tolerances[i].output != NULL && strcmp(program->tolerances[i].output, name) == 0)
            return program->tolerances[i];
    return of_all;
}

int tl__compare(unsigned dtype, unsigned rank, const uint32_t *shape, const void *got, const void *want,
                const struct tl_tolerance *tolerance, struct tl_comparison *ret_result)
{
    struct walk w = {.rank = rank, .shape = shape, .got = got, .want = want, .c = ret_result};
    struct row row = {0};
    struct tl_tensor t;
    uint64_t elements;
    double *memory;
    int rc;

    if (tl_dtype_bits(dtype) == 0 || rank > TL_MAX_DIMS)
        return TL_EINVAL;
    memset(ret_result, 0, sizeof(*ret_result));
    w.rule = rule_of(dtype, tolerance);
    put_rule(&w.rule, tolerance, ret_result->rule, sizeof(ret_result->rule));
    t = tl_tensor_make((enum tl_dtype)dtype, rank, shape);
    ret_result->count = tl_tensor_numel(&t);
    if (memcmp(got, want, tl_tensor_bytes(&t)) == 0)
        return 0;
    elements = row_elements(rank, shape, ret_result->count);
    memory = tl__alloc(3 * elements, sizeof(*memory));
    if (memory == NULL)
        return TL_ENOMEM;
    row.got = memory;
    row.want = memory + elements;
    row.order = memory + 2 * elements;
    rc = compare_rows(&w, &row, elements);
    tl__free(memory);
    return rc;
}
