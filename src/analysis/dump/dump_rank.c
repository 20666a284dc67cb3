/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dump/dump_rank.h"

#include <math.h>
#include <stdlib.h>

#include "base/env.h"
#include "base/error.h"

const char *const tl__dump_keys[] = {"none", "max", "min", "mean", "std", "nan", "inf", NULL};

struct row {
    double key; /* the larger the earlier; NaN: at the end */
    uint64_t index, place;
};

struct ranking {
    const struct tl_dump_pick *pick;
    enum tl_dump_key key;
    bool only_bad;
    struct row *rows;
    uint64_t count;
};

static double key_of(const struct tl_dump_seen *seen, enum tl_dump_key key)
{
    const struct tl_stats *s = &seen->stats;

    if (s->count == 0)
        return NAN;
    switch (key) {
    case TL_DUMP_BY_MAX:
        return s->max;
    case TL_DUMP_BY_MIN:
        return -s->min;
    case TL_DUMP_BY_MEAN:
        return s->mean;
    case TL_DUMP_BY_STD:
        return seen->detail.std;
    case TL_DUMP_BY_NAN:
        return (double)s->nan;
    case TL_DUMP_BY_INF:
        return (double)(s->pos_inf + s->neg_inf);
    default:
        return 0;
    }
}

static void take(void *ctx, const struct tl_dump_seen *seen)
{
    struct ranking *r = ctx;
    const struct tl_stats *s = &seen->stats;

    /* What cannot be read is kept: whether it is bad is not known. */
    if (r->only_bad && seen->problem == NULL && (s->count == 0 || s->nan + s->pos_inf + s->neg_inf == 0))
        return;
    r->rows[r->count++] = (struct row){key_of(seen, r->key), tl__dump_pick_at(r->pick, seen->number), seen->number};
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (x->key != y->key && !isnan(x->key))
        return x->key > y->key ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

int tl__dump_rank(const struct tl_dump_scan *scan, struct tl_dump_pick *pick, enum tl_dump_key key, bool only_bad,
                  struct tl_error *reterr)
{
    struct ranking r = {.pick = pick, .key = key, .only_bad = only_bad};
    struct tl_dump_scan all = *scan;
    uint64_t *index;
    int code;

    all.values = true;
    all.detail = key == TL_DUMP_BY_STD;
    r.rows = tl__alloc(pick->count + 1, sizeof(*r.rows));
    index = tl__alloc(pick->count + 1, sizeof(*index));
    code = r.rows != NULL && index != NULL ? tl__dump_each(&all, take, &r, reterr)
                                           : tl__fail(reterr, TL_ENOMEM, "out of memory");
    if (code == 0) {
        if (key != TL_DUMP_BY_NONE)
            qsort(r.rows, r.count, sizeof(*r.rows), by_key);
        for (uint64_t i = 0; i < r.count; i++)
            index[i] = r.rows[i].index;
        tl__free(pick->index);
        pick->index = index;
        pick->count = r.count;
        index = NULL;
    }
    tl__free(index);
    tl__free(r.rows);
    return code;
}
