/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paged_attention: one decoding step of attention over a paged KV cache.
 *
 * Each sequence has one query token, and keys and values scattered over blocks of a shared cache; the block table says
 * which. Query heads share KV heads in groups. The softmax runs online, block after block, and four kernels do one
 * step:
 *
 *     qk (AIC) -> softmax (AIV) -> pv (AIC) -> update (AIV)      between init (AIV) and finish (AIV)
 *
 * The unit of work is a pair (sequence, KV head). By default the orchestration makes a chain of tasks for each pair and
 * gives its kernels views of that pair alone. With --set spmd=1 it makes one chain for all of them, gives the kernels
 * the whole tensors, and each task runs as one block per pair. The kernels are the same: block_idx is the pair within
 * the views that they were given, and it is 0 where there is only one.
 *
 * The orchestration knows sizes, not values: how long each sequence is stands in a tensor that only kernels read. So
 * it submits steps for the longest context, and the kernels of a step beyond a sequence's end do nothing.
 *
 *     tasklens run paged_attention --dump-args 2
 *     tasklens run paged_attention --set dtype=1 --set batch=8 --set max_context=200
 *     tasklens run paged_attention --case spmd_64bat_8192ctx
 */
#include <math.h>
#include <string.h>

#include <tasklens/program.h>

enum { FUNC_INIT, FUNC_QK, FUNC_SOFTMAX, FUNC_PV, FUNC_UPDATE, FUNC_FINISH };

#define MAX_HEAD_DIM 512
/* A score where there is no key. Finite, so that a dump of a healthy run shows no infinity. */
#define MASKED (-1e30f)

/* ---- Elements: float32, or bfloat16, which is the upper half of one ---- */

static float from_bfloat16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even. */
static uint16_t to_bfloat16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float load(const void *data, uint64_t i, unsigned dtype)
{
    return dtype == TL_BFLOAT16 ? from_bfloat16(((const uint16_t *)data)[i]) : ((const float *)data)[i];
}

static void save(void *data, uint64_t i, unsigned dtype, float value)
{
    if (dtype == TL_BFLOAT16)
        ((uint16_t *)data)[i] = to_bfloat16(value);
    else
        ((float *)data)[i] = value;
}

static uint64_t size_of(unsigned dtype)
{
    return dtype == TL_BFLOAT16 ? sizeof(uint16_t) : sizeof(float);
}

/* n elements from element `at` on, as float32. */
static void load_row(float *row, const void *data, uint64_t at, uint32_t n, unsigned dtype)
{
    for (uint32_t i = 0; i < n && dtype == TL_BFLOAT16; i++)
        row[i] = from_bfloat16(((const uint16_t *)data)[at + i]);
    if (dtype == TL_FLOAT32)
        memcpy(row, (const float *)data + at, n * sizeof *row);
}

/* Eight sums side by side, which a compiler can keep in one vector. */
static float dot(const float *a, const float *b, uint32_t n)
{
    float sums[8] = {0}, total = 0.0f;
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (uint32_t j = 0; j < 8; j++)
            sums[j] += a[i + j] * b[i + j];
    }
    for (; i < n; i++)
        total += a[i] * b[i];
    for (uint32_t j = 0; j < 8; j++)
        total += sums[j];
    return total;
}

/* ---- Kernels ---- */

/* How many keys of logical block `block` the sequence has: 0 beyond its end. */
static uint32_t valid_keys(int32_t context_len, uint32_t block, uint32_t block_size)
{
    const int64_t left = (int64_t)context_len - (int64_t)block * block_size;

    return left <= 0 ? 0 : left < block_size ? (uint32_t)left : block_size;
}

/* First element of row `key` of this work item's block in a cache [blocks, block_size, kv_heads, head_dim]. The row is
 * dense; rows are as far apart as the strides say, because all KV heads of a token stand side by side. */
static uint64_t cache_row(const struct tl_tensor *cache, int32_t physical, uint32_t key, uint32_t head)
{
    return (uint64_t)physical * cache->strides[0] + key * cache->strides[1] + head * cache->strides[2];
}

/* For --enable-pmu: what a chip would do. Bytes that a vector core loads and stores, operations on float32, and those
 * that are no plain arithmetic. */
static void count_vector(const struct tl_kernel_args *k, uint64_t loads, uint64_t stores, uint64_t ops, uint64_t others)
{
    tl_count(k, TL_COUNT_MTE2_BYTES, loads);
    tl_count(k, TL_COUNT_MTE3_BYTES, stores);
    tl_count(k, TL_COUNT_VEC_FP32_OPS, ops);
    tl_count(k, TL_COUNT_VEC_MISC_OPS, others);
}

/* Likewise a cube core: elements of the left and the right matrix, in the program's dtype, and of the float32 result,
 * and multiply-adds. */
static void count_cube(const struct tl_kernel_args *k, unsigned dtype, uint64_t left, uint64_t right, uint64_t result,
                       uint64_t products)
{
    tl_count(k, TL_COUNT_MTE2_BYTES, (left + right) * size_of(dtype));
    tl_count(k, TL_COUNT_MTE1_L0A_BYTES, left * size_of(dtype));
    tl_count(k, TL_COUNT_MTE1_L0B_BYTES, right * size_of(dtype));
    tl_count(k, dtype == TL_FLOAT32 ? TL_COUNT_CUBE_FP32_OPS : TL_COUNT_CUBE_FP16_OPS, products);
    tl_count(k, TL_COUNT_FIX_BYTES, result * sizeof(float));
}

/* Running maximum, sum and weighted values of nothing yet. Tensors: m, l [pairs, group], acc [pairs, group, head_dim].
 */
static void init(const struct tl_kernel_args *k)
{
    const uint32_t group = k->tensors[2].shape[1], head_dim = k->tensors[2].shape[2];
    const uint64_t first = (uint64_t)k->block_idx * group;

    for (uint64_t g = first; g < first + group; g++) {
        TL_DATA(k, 0, float)[g] = MASKED;
        TL_DATA(k, 1, float)[g] = 0.0f;
        for (uint32_t d = 0; d < head_dim; d++)
            TL_DATA(k, 2, float)[g * head_dim + d] = 0.0f;
    }
    count_vector(k, 0, group * (2 + (uint64_t)head_dim) * sizeof(float), 0, group * (2 + (uint64_t)head_dim));
}

/* scores = scale * q * k^T for one block of keys.
 * Tensors: q [pairs, group, head_dim], k_cache, block_table [sequences, max_blocks], context_lens [sequences],
 * scores [pairs, group, block_size]. Scalars: block, scale. */
static void qk(const struct tl_kernel_args *k)
{
    const struct tl_tensor *q = &k->tensors[0], *cache = &k->tensors[1], *table = &k->tensors[2];
    const uint32_t block = TL_SCALAR_OF(k, 0, uint32_t), group = q->shape[1], head_dim = q->shape[2];
    const uint32_t block_size = cache->shape[1], sequence = k->block_idx / cache->shape[2];
    const uint32_t valid = valid_keys(TL_DATA(k, 3, const int32_t)[sequence], block, block_size);
    const int32_t physical = TL_DATA(k, 2, const int32_t)[sequence * table->strides[0] + block];
    float *scores = TL_DATA(k, 4, float) + (uint64_t)k->block_idx * group * block_size;
    float query[MAX_HEAD_DIM], key[MAX_HEAD_DIM];

    for (uint32_t g = 0; g < group; g++) {
        load_row(query, TL_DATA(k, 0, const void), k->block_idx * q->strides[0] + g * q->strides[1], head_dim,
                 q->dtype);
        for (uint32_t t = 0; t < block_size; t++) {
            if (t < valid)
                load_row(key, TL_DATA(k, 1, const void), cache_row(cache, physical, t, k->block_idx % cache->shape[2]),
                         head_dim, cache->dtype);
            scores[g * block_size + t] = t < valid ? TL_SCALAR_OF(k, 1, float) * dot(query, key, head_dim) : MASKED;
        }
    }
    count_cube(k, q->dtype, (uint64_t)group * head_dim, (uint64_t)valid * head_dim, (uint64_t)group * block_size,
               (uint64_t)group * valid * head_dim);
}

/* probs = exp(scores - m), m the block's maximum, l the sum. The maximum is what keeps exp() from overflowing.
 * Tensors: scores, context_lens, probs, m [pairs, group], l [pairs, group]. Scalars: block, kv_heads in these views. */
static void softmax(const struct tl_kernel_args *k)
{
    const uint32_t group = k->tensors[0].shape[1], block_size = k->tensors[0].shape[2];
    const uint32_t sequence = k->block_idx / TL_SCALAR_OF(k, 1, uint32_t);
    const uint32_t valid = valid_keys(TL_DATA(k, 1, const int32_t)[sequence], TL_SCALAR_OF(k, 0, uint32_t), block_size);
    const unsigned dtype = k->tensors[2].dtype;

    for (uint32_t g = 0; g < group; g++) {
        const uint64_t row = (uint64_t)k->block_idx * group + g;
        const float *scores = TL_DATA(k, 0, const float) + row * block_size;
        float m = MASKED, l = 0.0f;

        for (uint32_t t = 0; t < valid; t++)
            m = fmaxf(m, scores[t]);
        for (uint32_t t = 0; t < block_size; t++) {
            save(TL_DATA(k, 2, void), row * block_size + t, dtype, t < valid ? expf(scores[t] - m) : 0.0f);
            /* What counts is the sum of what pv will use, after rounding. */
            l += load(TL_DATA(k, 2, const void), row * block_size + t, dtype);
        }
        TL_DATA(k, 3, float)[row] = m;
        TL_DATA(k, 4, float)[row] = l;
    }
    /* A score: a difference and a sum; a comparison, an exponential and a conversion. */
    count_vector(k, group * (uint64_t)valid * sizeof(float), group * (block_size * size_of(dtype) + 2 * sizeof(float)),
                 group * ((uint64_t)valid + block_size), group * (2 * (uint64_t)valid + block_size));
}

/* weighted = probs * v for one block. Tensors: probs, v_cache, block_table, context_lens, weighted [pairs, group,
 * head_dim]. Scalar: block. */
static void pv(const struct tl_kernel_args *k)
{
    const struct tl_tensor *probs = &k->tensors[0], *cache = &k->tensors[1], *table = &k->tensors[2];
    const uint32_t block = TL_SCALAR_OF(k, 0, uint32_t), group = probs->shape[1], block_size = probs->shape[2];
    const uint32_t head_dim = cache->shape[3], sequence = k->block_idx / cache->shape[2];
    const uint32_t valid = valid_keys(TL_DATA(k, 3, const int32_t)[sequence], block, block_size);
    const int32_t physical = TL_DATA(k, 2, const int32_t)[sequence * table->strides[0] + block];
    float *out = TL_DATA(k, 4, float) + (uint64_t)k->block_idx * group * head_dim;
    float value[MAX_HEAD_DIM];

    memset(out, 0, (size_t)group * head_dim * sizeof *out);
    for (uint32_t t = 0; t < valid; t++) {
        load_row(value, TL_DATA(k, 1, const void), cache_row(cache, physical, t, k->block_idx % cache->shape[2]),
                 head_dim, cache->dtype);
        for (uint32_t g = 0; g < group; g++) {
            const uint64_t row = (uint64_t)k->block_idx * group + g;
            const float p = load(TL_DATA(k, 0, const void), row * block_size + t, probs->dtype);

            for (uint32_t d = 0; d < head_dim; d++)
                out[g * head_dim + d] += p * value[d];
        }
    }
    count_cube(k, probs->dtype, (uint64_t)group * valid, (uint64_t)valid * head_dim, (uint64_t)group * head_dim,
               (uint64_t)group * valid * head_dim);
}

/* Folds a block's result into the running one: both are scaled to the larger maximum.
 * Tensors: block_m, block_l, weighted, m, l, acc; the last three are read and written. */
static void update(const struct tl_kernel_args *k)
{
    const uint32_t group = k->tensors[5].shape[1], head_dim = k->tensors[5].shape[2];
    const uint64_t first = (uint64_t)k->block_idx * group;
    const float *block_m = TL_DATA(k, 0, const float), *block_l = TL_DATA(k, 1, const float);
    const float *weighted = TL_DATA(k, 2, const float);
    float *m = TL_DATA(k, 3, float), *l = TL_DATA(k, 4, float), *acc = TL_DATA(k, 5, float);

    for (uint64_t g = first; g < first + group; g++) {
        const float larger = fmaxf(m[g], block_m[g]);
        const float keep = expf(m[g] - larger), take = expf(block_m[g] - larger);

        m[g] = larger;
        l[g] = keep * l[g] + take * block_l[g];
        for (uint64_t e = g * head_dim; e < (g + 1) * head_dim; e++)
            acc[e] = keep * acc[e] + take * weighted[e];
    }
    count_vector(k, group * (4 + 2 * (uint64_t)head_dim) * sizeof(float),
                 group * (2 + (uint64_t)head_dim) * sizeof(float), group * (5 + 3 * (uint64_t)head_dim),
                 UINT64_C(3) * group);
}

/* out = acc / l, in the program's dtype; 0 for an empty context. Tensors: l, acc, out [pairs, group, head_dim]. */
static void finish(const struct tl_kernel_args *k)
{
    const struct tl_tensor *out = &k->tensors[2];
    const uint32_t group = out->shape[1], head_dim = out->shape[2];

    for (uint32_t g = 0; g < group; g++) {
        const uint64_t row = (uint64_t)k->block_idx * group + g;
        const float l = TL_DATA(k, 0, const float)[row];

        for (uint32_t d = 0; d < head_dim; d++)
            save(TL_DATA(k, 2, void), row * head_dim + d, out->dtype,
                 l > 0.0f ? TL_DATA(k, 1, const float)[row * head_dim + d] / l : 0.0f);
    }
    count_vector(k, group * (1 + (uint64_t)head_dim) * sizeof(float), group * (uint64_t)head_dim * size_of(out->dtype),
                 group * (uint64_t)head_dim, out->dtype == TL_FLOAT32 ? 0 : group * (uint64_t)head_dim);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_INIT, "init", TL_AIV, init, TL_OUT, TL_OUT, TL_OUT),
    TL_KERNEL(FUNC_QK, "qk", TL_AIC, qk, TL_IN, TL_IN, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SOFTMAX, "softmax", TL_AIV, softmax, TL_IN, TL_IN, TL_OUT, TL_OUT, TL_OUT),
    TL_KERNEL(FUNC_PV, "pv", TL_AIC, pv, TL_IN, TL_IN, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_UPDATE, "update", TL_AIV, update, TL_IN, TL_IN, TL_IN, TL_INOUT, TL_INOUT, TL_INOUT),
    TL_KERNEL(FUNC_FINISH, "finish", TL_AIV, finish, TL_IN, TL_IN, TL_OUT),
};

/* ---- Parameters ---- */

enum {
    PARAM_BATCH,
    PARAM_HEADS,
    PARAM_KV_HEADS,
    PARAM_HEAD_DIM,
    PARAM_BLOCK_SIZE,
    PARAM_MAX_CONTEXT,
    PARAM_DTYPE,
    PARAM_VARY,
    PARAM_SPMD
};

static const struct tl_param params[] = {
    [PARAM_BATCH] = {"batch", 2, 1, 4096, "sequences"},
    [PARAM_HEADS] = {"heads", 4, 1, 256, "query heads; a multiple of kv_heads"},
    [PARAM_KV_HEADS] = {"kv_heads", 2, 1, 256, "key and value heads"},
    [PARAM_HEAD_DIM] = {"head_dim", 16, 1, MAX_HEAD_DIM, "elements of a head"},
    [PARAM_BLOCK_SIZE] = {"block_size", 8, 1, 1024, "tokens in a cache block"},
    [PARAM_MAX_CONTEXT] = {"max_context", 24, 1, 1 << 20, "tokens of the longest sequence"},
    [PARAM_DTYPE] = {"dtype", 0, 0, 1, "0: float32, 1: bfloat16 (sums stay float32)"},
    [PARAM_VARY] = {"vary", 1, 0, 1, "1: all sequences but the first are shorter, at random; 0: all are longest"},
    [PARAM_SPMD] = {"spmd", 0, 0, 1, "1: one chain of tasks, a block for each (sequence, KV head)"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "bfloat16", .settings = {{"dtype", 1}}},
    {.name = "grouped", .settings = {{"batch", 3}, {"heads", 8}, {"kv_heads", 2}, {"max_context", 43}}},
    {.name = "spmd", .settings = {{"batch", 5}, {"max_context", 61}, {"spmd", 1}}},
    {.name = "spmd_64bat_8192ctx",
     .settings = {{"batch", 64},
                  {"heads", 64},
                  {"kv_heads", 4}, /* each cache is 1 GiB */
                  {"head_dim", 256},
                  {"block_size", 64},
                  {"max_context", 8192},
                  {"dtype", 1},
                  {"vary", 0},
                  {"spmd", 1}}},
};

/* ---- Orchestration ---- */

/* What one chain of tasks works on: everything (SPMD), or what belongs to one pair. */
struct work {
    struct tl_tensor q, k_cache, v_cache, block_table, context_lens, out;
    uint32_t pairs, kv_heads; /* in these views */
    float scale;
};

/* Values that live as long as a chain. */
struct running {
    struct tl_tensor m, l, acc;
};

static void submit(struct tl_orch *o, int32_t func_id, const struct work *w, struct tl_task_args *args)
{
    tl_set_block_num(args, w->pairs);
    if (func_id == FUNC_QK || func_id == FUNC_PV)
        tl_submit_aic(o, func_id, args);
    else
        tl_submit_aiv(o, func_id, args);
}

static void submit_init(struct tl_orch *o, const struct work *w, struct running *r)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_output(&args, &r->m);
    tl_add_output(&args, &r->l);
    tl_add_output(&args, &r->acc);
    submit(o, FUNC_INIT, w, &args);
}

static void submit_qk(struct tl_orch *o, const struct work *w, uint32_t block, struct tl_tensor *scores)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, &w->q);
    tl_add_input(&args, &w->k_cache);
    tl_add_input(&args, &w->block_table);
    tl_add_input(&args, &w->context_lens);
    tl_add_output(&args, scores);
    tl_add_scalar(&args, block);
    tl_add_scalar(&args, w->scale);
    tl_dump(&args, *scores, block);
    submit(o, FUNC_QK, w, &args);
}

static void submit_pv(struct tl_orch *o, const struct work *w, uint32_t block, const struct tl_tensor *probs,
                      struct tl_tensor *weighted)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, probs);
    tl_add_input(&args, &w->v_cache);
    tl_add_input(&args, &w->block_table);
    tl_add_input(&args, &w->context_lens);
    tl_add_output(&args, weighted);
    tl_add_scalar(&args, block);
    submit(o, FUNC_PV, w, &args);
}

/* One block of keys and values. All that it allocates is gone after `update`, so it has a scope of its own. */
static void submit_block(struct tl_orch *o, const struct work *w, uint32_t block, struct running *r)
{
    const uint32_t group = w->q.shape[1], block_size = w->k_cache.shape[1];
    const uint32_t score_shape[] = {w->pairs, group, block_size}, row_shape[] = {w->pairs, group};
    struct tl_tensor scores = tl_tensor_make(TL_FLOAT32, 3, score_shape);
    struct tl_tensor probs = tl_tensor_make((enum tl_dtype)w->q.dtype, 3, score_shape);
    struct tl_tensor m = tl_tensor_make(TL_FLOAT32, 2, row_shape), l = m;
    struct tl_tensor weighted = tl_tensor_make(TL_FLOAT32, 3, w->q.shape);

    TL_SCOPE (o) {
        struct tl_task_args softmax_args = TL_TASK_ARGS_INIT, update_args = TL_TASK_ARGS_INIT;

        submit_qk(o, w, block, &scores);

        tl_add_input(&softmax_args, &scores);
        tl_add_input(&softmax_args, &w->context_lens);
        tl_add_output(&softmax_args, &probs);
        tl_add_output(&softmax_args, &m);
        tl_add_output(&softmax_args, &l);
        tl_add_scalar(&softmax_args, block);
        tl_add_scalar(&softmax_args, w->kv_heads);
        tl_dump(&softmax_args, probs, block);
        submit(o, FUNC_SOFTMAX, w, &softmax_args);

        submit_pv(o, w, block, &probs, &weighted);

        tl_add_input(&update_args, &m);
        tl_add_input(&update_args, &l);
        tl_add_input(&update_args, &weighted);
        tl_add_inout(&update_args, &r->m); /* INOUT makes the updates of one chain follow each other */
        tl_add_inout(&update_args, &r->l);
        tl_add_inout(&update_args, &r->acc);
        submit(o, FUNC_UPDATE, w, &update_args);
    }
}

static void submit_chain(struct tl_orch *o, struct work *w)
{
    const uint32_t row_shape[] = {w->pairs, w->q.shape[1]}, max_blocks = w->block_table.shape[1];
    struct running r = {.m = tl_tensor_make(TL_FLOAT32, 2, row_shape),
                        .acc = tl_tensor_make(TL_FLOAT32, 3, w->q.shape)};

    r.l = r.m;
    TL_SCOPE (o) {
        struct tl_task_args args = TL_TASK_ARGS_INIT;

        submit_init(o, w, &r);
        for (uint32_t block = 0; block < max_blocks; block++)
            submit_block(o, w, block, &r);
        tl_add_input(&args, &r.l);
        tl_add_input(&args, &r.acc);
        tl_add_output(&args, &w->out);
        tl_dump(&args, w->out);
        submit(o, FUNC_FINISH, w, &args);
    }
}

/* The part of `all` that belongs to one sequence and one KV head: each view with extent 1 where the pair was. */
static int pair_of(const struct work *all, uint32_t sequence, uint32_t head, struct work *ret_pair)
{
    const uint32_t pair = sequence * all->kv_heads + head;
    const uint32_t row[] = {pair, 0, 0}, row_shape[] = {1, all->q.shape[1], all->q.shape[2]};
    const struct tl_tensor *k = &all->k_cache;
    const uint32_t cache[] = {0, 0, head, 0}, cache_shape[] = {k->shape[0], k->shape[1], 1, k->shape[3]};
    const uint32_t table[] = {sequence, 0}, table_shape[] = {1, all->block_table.shape[1]}, one = 1;
    int err = 0;

    *ret_pair = *all;
    ret_pair->pairs = ret_pair->kv_heads = 1;
    err |= tl_view(&all->q, row, row_shape, &ret_pair->q);
    err |= tl_view(&all->out, row, row_shape, &ret_pair->out);
    err |= tl_view(&all->k_cache, cache, cache_shape, &ret_pair->k_cache);
    err |= tl_view(&all->v_cache, cache, cache_shape, &ret_pair->v_cache);
    err |= tl_view(&all->block_table, table, table_shape, &ret_pair->block_table);
    err |= tl_view(&all->context_lens, &sequence, &one, &ret_pair->context_lens);
    return err;
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t batch = in->tensors[0].shape[0], heads = in->tensors[0].shape[1];
    const uint32_t kv_heads = in->tensors[1].shape[2], head_dim = in->tensors[0].shape[2];
    const uint32_t by_pair[] = {batch * kv_heads, heads / kv_heads, head_dim};
    struct work all = {in->tensors[0],   in->tensors[1], in->tensors[2],
                       in->tensors[3],   in->tensors[4], in->tensors[5],
                       batch * kv_heads, kv_heads,       1.0f / sqrtf((float)head_dim)};

    /* [batch, heads, head_dim] seen as [pairs, group, head_dim]: the same elements in the same order. */
    if (tl_reshape(&all.q, 3, by_pair, &all.q) || tl_reshape(&all.out, 3, by_pair, &all.out)) {
        tl_orch_fail(o, "paged_attention: heads must be a multiple of kv_heads");
        return;
    }
    TL_SCOPE (o) {
        if (in->params[PARAM_SPMD])
            submit_chain(o, &all);
        for (uint32_t pair = 0; pair < all.pairs && !in->params[PARAM_SPMD]; pair++) {
            struct work one;

            if (pair_of(&all, pair / kv_heads, pair % kv_heads, &one))
                tl_orch_fail(o, "paged_attention: a view lies outside its tensor");
            else
                submit_chain(o, &one);
        }
    }
}

/* ---- Data ---- */

struct sizes {
    uint32_t batch, heads, kv_heads, head_dim, block_size, max_blocks;
    enum tl_dtype dtype;
};

static struct sizes sizes_of(const struct tl_data *d)
{
    struct sizes s = {.batch = (uint32_t)tl_data_param(d, "batch"),
                      .heads = (uint32_t)tl_data_param(d, "heads"),
                      .kv_heads = (uint32_t)tl_data_param(d, "kv_heads"),
                      .head_dim = (uint32_t)tl_data_param(d, "head_dim"),
                      .block_size = (uint32_t)tl_data_param(d, "block_size"),
                      .dtype = tl_data_param(d, "dtype") ? TL_BFLOAT16 : TL_FLOAT32};

    s.max_blocks = ((uint32_t)tl_data_param(d, "max_context") + s.block_size - 1) / s.block_size;
    return s;
}

static bool declare_random(struct tl_data *d, const char *name, enum tl_dtype dtype, unsigned rank,
                           const uint32_t *shape)
{
    void *data = tl_data_tensor(d, name, TL_IN, dtype, rank, shape);
    uint64_t n = 1;

    for (unsigned i = 0; i < rank; i++)
        n *= shape[i];
    for (uint64_t i = 0; data && i < n; i++)
        save(data, i, dtype, tl_data_random_of(d, name));
    return data != NULL;
}

/* Hands out the cache's blocks in random order; where a sequence has no block, the table says -1. */
static void fill_table(struct tl_data *d, const struct sizes *s, int32_t *table, int32_t *lens)
{
    const int64_t max_context = tl_data_param(d, "max_context");
    const uint64_t blocks = (uint64_t)s->batch * s->max_blocks;

    for (uint64_t i = 0; i < blocks; i++) {
        const uint64_t other = tl_data_random_u64_of(d, "block_table") % (i + 1);

        table[i] = table[other];
        table[other] = (int32_t)i;
    }
    for (uint32_t b = 0; b < s->batch; b++) {
        const bool longest = b == 0 || !tl_data_param(d, "vary");

        lens[b] = (int32_t)(longest ? max_context
                                    : 1 + (int64_t)(tl_data_random_u64_of(d, "context_lens") % (uint64_t)max_context));
        for (uint32_t i = 0; i < s->max_blocks; i++) {
            if ((int64_t)i * s->block_size >= lens[b])
                table[(uint64_t)b * s->max_blocks + i] = -1;
        }
    }
}

static int prepare(struct tl_data *d)
{
    const struct sizes s = sizes_of(d);
    const uint32_t q_shape[] = {s.batch, s.heads, s.head_dim}, table_shape[] = {s.batch, s.max_blocks};
    const uint32_t cache_shape[] = {s.batch * s.max_blocks, s.block_size, s.kv_heads, s.head_dim};
    int32_t *table, *lens;

    if (s.heads % s.kv_heads)
        return TL_EINVAL;
    if (!declare_random(d, "q", s.dtype, 3, q_shape) || !declare_random(d, "k_cache", s.dtype, 4, cache_shape) ||
        !declare_random(d, "v_cache", s.dtype, 4, cache_shape))
        return TL_ENOMEM;
    table = tl_data_tensor(d, "block_table", TL_IN, TL_INT32, 2, table_shape);
    lens = tl_data_tensor(d, "context_lens", TL_IN, TL_INT32, 1, &s.batch);
    if (!table || !lens || !tl_data_tensor(d, "out", TL_OUT, s.dtype, 3, q_shape))
        return TL_ENOMEM;
    fill_table(d, &s, table, lens);
    return 0;
}

/* Element [token, head, 0] of a cache, for a token of one sequence. */
static uint64_t token_at(const struct sizes *s, const int32_t *row, uint32_t token, uint32_t head)
{
    const uint64_t slot = (uint64_t)row[token / s->block_size] * s->block_size + token % s->block_size;

    return (slot * s->kv_heads + head) * s->head_dim;
}

/* Attention as it is defined, for one query head: exp(q.k) over all tokens, normalised once. Takes no maximum and goes
 * through no blocks: the scores of these inputs stay small enough for exp() in double. */
static void attend(struct tl_data *d, const struct sizes *s, uint32_t b, uint32_t head)
{
    const void *q = tl_data_input(d, "q"), *keys = tl_data_input(d, "k_cache"), *values = tl_data_input(d, "v_cache");
    const int32_t *row = (const int32_t *)tl_data_input(d, "block_table") + (uint64_t)b * s->max_blocks;
    const int32_t len = ((const int32_t *)tl_data_input(d, "context_lens"))[b];
    const uint32_t kv_head = head / (s->heads / s->kv_heads);
    const uint64_t query = ((uint64_t)b * s->heads + head) * s->head_dim;
    double sums[MAX_HEAD_DIM] = {0}, total = 0.0;

    for (uint32_t t = 0; (int32_t)t < len; t++) {
        const uint64_t at = token_at(s, row, t, kv_head);
        double product = 0.0, weight;

        for (uint32_t i = 0; i < s->head_dim; i++)
            product += (double)load(q, query + i, s->dtype) * (double)load(keys, at + i, s->dtype);
        weight = exp(product / sqrt((double)s->head_dim));
        total += weight;
        for (uint32_t i = 0; i < s->head_dim; i++)
            sums[i] += weight * (double)load(values, at + i, s->dtype);
    }
    for (uint32_t i = 0; i < s->head_dim; i++)
        save(tl_data_expected(d, "out"), query + i, s->dtype, (float)(len > 0 ? sums[i] / total : 0.0));
}

static int golden(struct tl_data *d)
{
    const struct sizes s = sizes_of(d);

    if (!tl_data_expected(d, "out"))
        return TL_ENOENT;
    for (uint32_t b = 0; b < s.batch; b++) {
        for (uint32_t head = 0; head < s.heads; head++)
            attend(d, &s, b, head);
    }
    return 0;
}

TL_PROGRAM(.name = "paged_attention", .summary = "one decoding step of attention over a paged KV cache",
           .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 6, .params = params,
           .n_params = TL_ARRAY_COUNT(params), .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .tolerance = 1e-4f,
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
