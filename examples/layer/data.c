/* SPDX-License-Identifier: Apache-2.0 */
/* layer, the data: inputs, and what the outputs should be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

struct sizes {
    uint32_t batch, hidden, heads, kv_heads, head_dim, ffn, block_size, max_blocks, max_context;
};

static struct sizes sizes_of(const struct tl_data *d)
{
    struct sizes s = {.batch = (uint32_t)tl_data_param(d, "batch"),
                      .hidden = (uint32_t)tl_data_param(d, "hidden"),
                      .heads = (uint32_t)tl_data_param(d, "heads"),
                      .kv_heads = (uint32_t)tl_data_param(d, "kv_heads"),
                      .head_dim = (uint32_t)tl_data_param(d, "head_dim"),
                      .ffn = (uint32_t)tl_data_param(d, "ffn"),
                      .block_size = (uint32_t)tl_data_param(d, "block_size"),
                      .max_context = (uint32_t)tl_data_param(d, "max_context")};

    s.max_blocks = (s.max_context + s.block_size - 1) / s.block_size;
    return s;
}

/* Random values around `middle`, as far as `reach` from it. */
static bool declare(struct tl_data *d, const char *name, enum tl_direction role, unsigned rank, const uint32_t *shape,
                    float middle, float reach)
{
    float *values = tl_data_tensor(d, name, role, TL_FLOAT32, rank, shape);
    uint64_t n = 1;

    for (unsigned i = 0; i < rank; i++)
        n *= shape[i];
    for (uint64_t i = 0; values && i < n; i++)
        values[i] = middle + reach * tl_data_random_of(d, name);
    return values != NULL;
}

/* A weight [rows, cols], scaled so that a product with it stays about as large as what went in. */
static bool declare_weight(struct tl_data *d, const char *name, uint32_t rows, uint32_t cols)
{
    const uint32_t shape[] = {rows, cols};

    return declare(d, name, TL_IN, 2, shape, 0.0f, sqrtf(3.0f / (float)rows));
}

static bool declare_weights(struct tl_data *d, const struct sizes *s)
{
    const uint32_t q_width = s->heads * s->head_dim, kv_width = s->kv_heads * s->head_dim;

    return declare(d, "w_norm1", TL_IN, 1, &s->hidden, 1.0f, 0.1f) && declare_weight(d, "w_q", s->hidden, q_width) &&
           declare_weight(d, "w_k", s->hidden, kv_width) && declare_weight(d, "w_v", s->hidden, kv_width) &&
           declare_weight(d, "w_o", q_width, s->hidden) && declare(d, "w_norm2", TL_IN, 1, &s->hidden, 1.0f, 0.1f) &&
           declare_weight(d, "w_gate", s->hidden, s->ffn) && declare_weight(d, "w_up", s->hidden, s->ffn) &&
           declare_weight(d, "w_down", s->ffn, s->hidden);
}

/* Sequence b owns every batch-th block of the cache, from the last one down. Its new token is the last of its context.
 */
static bool declare_paging(struct tl_data *d, const struct sizes *s)
{
    const uint32_t table_shape[] = {s->batch, s->max_blocks};
    int32_t *table = tl_data_tensor(d, "block_table", TL_IN, TL_INT32, 2, table_shape);
    int32_t *lens = tl_data_tensor(d, "context_lens", TL_IN, TL_INT32, 1, &s->batch);

    for (uint32_t b = 0; table && lens && b < s->batch; b++) {
        for (uint32_t i = 0; i < s->max_blocks; i++)
            table[b * s->max_blocks + i] = (int32_t)((s->max_blocks - 1 - i) * s->batch + b);
        lens[b] = (int32_t)(b ? 1 + tl_data_random_u64_of(d, "context_lens") % s->max_context : s->max_context);
    }
    return table && lens;
}

int layer_prepare(struct tl_data *d)
{
    const struct sizes s = sizes_of(d);
    const uint32_t x_shape[] = {s.batch, s.hidden};
    const uint32_t cache_shape[] = {s.batch * s.max_blocks, s.block_size, s.kv_heads, s.head_dim};

    if (s.heads % s.kv_heads || s.head_dim % 2)
        return TL_EINVAL;
    if (!declare(d, "x", TL_IN, 2, x_shape, 0.0f, 1.0f) || !declare_weights(d, &s) ||
        !declare(d, "k_cache", TL_INOUT, 4, cache_shape, 0.0f, 1.0f) ||
        !declare(d, "v_cache", TL_INOUT, 4, cache_shape, 0.0f, 1.0f) || !declare_paging(d, &s))
        return TL_ENOMEM;
    return tl_data_tensor(d, "y", TL_OUT, TL_FLOAT32, 2, x_shape) ? 0 : TL_ENOMEM;
}

/* ---- Golden: one sequence after the other, all in double ---- */

static void norm_row(const double *x, const float *w, uint32_t n, double *out)
{
    double mean = 0.0;

    for (uint32_t i = 0; i < n; i++)
        mean += x[i] * x[i] / n;
    for (uint32_t i = 0; i < n; i++)
        out[i] = x[i] * (double)w[i] / sqrt(mean + (double)EPSILON);
}

/* out += x * w, column by column. */
static void project_row(const double *x, const float *w, uint32_t n, uint32_t cols, double *out)
{
    for (uint32_t c = 0; c < cols; c++) {
        for (uint32_t i = 0; i < n; i++)
            out[c] += x[i] * (double)w[(uint64_t)i * cols + c];
    }
}

/* A rotation in polar form: the pair's length stays, its angle grows. */
static void rotate_row(double *row, uint32_t width, uint32_t head_dim, int32_t position)
{
    for (uint32_t e = 0; e < width; e++) {
        const uint32_t i = e % head_dim;
        double length, angle;

        if (i >= head_dim / 2)
            continue;
        length = hypot(row[e], row[e + head_dim / 2]);
        angle = atan2(row[e + head_dim / 2], row[e]) + position / pow((double)ROPE_BASE, 2.0 * i / head_dim);
        row[e] = length * cos(angle);
        row[e + head_dim / 2] = length * sin(angle);
    }
}

/* The row of one token and head in the caches. */
static uint64_t token_at(const struct tl_data *d, const struct sizes *s, uint32_t b, uint32_t token, uint32_t head)
{
    const int32_t *table = tl_data_input(d, "block_table");
    const uint64_t block = (uint64_t)table[b * s->max_blocks + token / s->block_size];

    return ((block * s->block_size + token % s->block_size) * s->kv_heads + head) * s->head_dim;
}

/* out = softmax(q k) v over the cache as it is after the new token went in, one head. */
static void attend_head(struct tl_data *d, const struct sizes *s, uint32_t b, uint32_t head, const double *q,
                        double *out)
{
    const float *keys = tl_data_expected(d, "k_cache"), *values = tl_data_expected(d, "v_cache");
    const int32_t len = ((const int32_t *)tl_data_input(d, "context_lens"))[b];
    double total = 0.0;

    for (uint32_t t = 0; (int32_t)t < len; t++) {
        const uint64_t at = token_at(d, s, b, t, head / (s->heads / s->kv_heads));
        double score = 0.0;

        for (uint32_t i = 0; i < s->head_dim; i++)
            score += q[i] * (double)keys[at + i] / sqrt((double)s->head_dim);
        total += exp(score);
        for (uint32_t i = 0; i < s->head_dim; i++)
            out[i] += exp(score) * (double)values[at + i];
    }
    for (uint32_t i = 0; i < s->head_dim; i++)
        out[i] /= total;
}

/* Doubles of one sequence, in one allocation. */
struct scratch {
    double *x, *h, *q, *k, *v, *attention, *gate, *up;
};

static double *scratch_of(const struct sizes *s, struct scratch *ret)
{
    const uint64_t q_width = (uint64_t)s->heads * s->head_dim, kv_width = (uint64_t)s->kv_heads * s->head_dim;
    double *all = calloc(2ull * s->hidden + 2 * q_width + 2 * kv_width + 2ull * s->ffn, sizeof *all);

    if (!all)
        return NULL;
    ret->x = all;
    ret->h = ret->x + s->hidden;
    ret->q = ret->h + s->hidden;
    ret->attention = ret->q + q_width;
    ret->k = ret->attention + q_width;
    ret->v = ret->k + kv_width;
    ret->gate = ret->v + kv_width;
    ret->up = ret->gate + s->ffn;
    return all;
}

static void golden_attention(struct tl_data *d, const struct sizes *s, uint32_t b, struct scratch *m)
{
    const uint32_t q_width = s->heads * s->head_dim, kv_width = s->kv_heads * s->head_dim;
    const int32_t position = ((const int32_t *)tl_data_input(d, "context_lens"))[b] - 1;
    const uint64_t slot = token_at(d, s, b, (uint32_t)position, 0);

    norm_row(m->x, tl_data_input(d, "w_norm1"), s->hidden, m->h);
    project_row(m->h, tl_data_input(d, "w_q"), s->hidden, q_width, m->q);
    project_row(m->h, tl_data_input(d, "w_k"), s->hidden, kv_width, m->k);
    project_row(m->h, tl_data_input(d, "w_v"), s->hidden, kv_width, m->v);
    rotate_row(m->q, q_width, s->head_dim, position);
    rotate_row(m->k, kv_width, s->head_dim, position);
    for (uint32_t i = 0; i < kv_width; i++) {
        ((float *)tl_data_expected(d, "k_cache"))[slot + i] = (float)m->k[i];
        ((float *)tl_data_expected(d, "v_cache"))[slot + i] = (float)m->v[i];
    }
    for (uint32_t head = 0; head < s->heads; head++)
        attend_head(d, s, b, head, m->q + head * s->head_dim, m->attention + head * s->head_dim);
    project_row(m->attention, tl_data_input(d, "w_o"), q_width, s->hidden, m->x);
}

static int golden_sequence(struct tl_data *d, const struct sizes *s, uint32_t b)
{
    const float *x = (const float *)tl_data_input(d, "x") + (uint64_t)b * s->hidden;
    float *y = (float *)tl_data_expected(d, "y") + (uint64_t)b * s->hidden;
    struct scratch m;
    double *all = scratch_of(s, &m);

    if (!all)
        return TL_ENOMEM;
    for (uint32_t i = 0; i < s->hidden; i++)
        m.x[i] = (double)x[i];
    golden_attention(d, s, b, &m);
    norm_row(m.x, tl_data_input(d, "w_norm2"), s->hidden, m.h);
    project_row(m.h, tl_data_input(d, "w_gate"), s->hidden, s->ffn, m.gate);
    project_row(m.h, tl_data_input(d, "w_up"), s->hidden, s->ffn, m.up);
    for (uint32_t i = 0; i < s->ffn; i++)
        m.gate[i] *= m.up[i] * (0.5 + 0.5 * tanh(m.gate[i] / 2.0)); /* the logistic function, by tanh */
    project_row(m.gate, tl_data_input(d, "w_down"), s->ffn, s->hidden, m.x);
    for (uint32_t i = 0; i < s->hidden; i++)
        y[i] = (float)m.x[i];
    free(all);
    return 0;
}

int layer_golden(struct tl_data *d)
{
    const struct sizes s = sizes_of(d);
    const uint64_t cache = (uint64_t)s.batch * s.max_blocks * s.block_size * s.kv_heads * s.head_dim * sizeof(float);
    int r = 0;

    if (!tl_data_expected(d, "k_cache") || !tl_data_expected(d, "v_cache") || !tl_data_expected(d, "y"))
        return TL_ENOENT;
    memcpy(tl_data_expected(d, "k_cache"), tl_data_input(d, "k_cache"), cache);
    memcpy(tl_data_expected(d, "v_cache"), tl_data_input(d, "v_cache"), cache);
    for (uint32_t b = 0; b < s.batch && !r; b++)
        r = golden_sequence(d, &s, b);
    return r;
}
