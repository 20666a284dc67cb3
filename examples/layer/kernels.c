/* SPDX-License-Identifier: Apache-2.0 */
/* layer, the kernels. All tensors are float32 but block_table and context_lens, which are int32. */
#include <math.h>
#include <string.h>

#include "layer.h"

/* For --enable-pmu: what a chip would do. Elements of float32 that a vector core loads and stores, operations on them,
 * and those that are no plain arithmetic. */
static void count_vector(const struct tl_kernel_args *k, uint64_t loads, uint64_t stores, uint64_t ops, uint64_t others)
{
    tl_count(k, TL_COUNT_MTE2_BYTES, loads * sizeof(float));
    tl_count(k, TL_COUNT_MTE3_BYTES, stores * sizeof(float));
    tl_count(k, TL_COUNT_VEC_FP32_OPS, ops);
    tl_count(k, TL_COUNT_VEC_MISC_OPS, others);
}

/* Likewise a cube core: elements of the left and the right matrix and of the result, and multiply-adds. */
static void count_cube(const struct tl_kernel_args *k, uint64_t left, uint64_t right, uint64_t result,
                       uint64_t products)
{
    tl_count(k, TL_COUNT_MTE2_BYTES, (left + right) * sizeof(float));
    tl_count(k, TL_COUNT_MTE1_L0A_BYTES, left * sizeof(float));
    tl_count(k, TL_COUNT_MTE1_L0B_BYTES, right * sizeof(float));
    tl_count(k, TL_COUNT_CUBE_FP32_OPS, products);
    tl_count(k, TL_COUNT_FIX_BYTES, result * sizeof(float));
}

/* h = x * w / rms(x), row by row. Tensors: x [rows, n], w [n], h [rows, n]. */
static void rmsnorm(const struct tl_kernel_args *k)
{
    const uint32_t rows = k->tensors[0].shape[0], n = k->tensors[0].shape[1];
    const float *w = TL_DATA(k, 1, const float);

    for (uint32_t r = 0; r < rows; r++) {
        const float *x = TL_DATA(k, 0, const float) + (uint64_t)r * n;
        float sum = 0.0f, scale;

        for (uint32_t i = 0; i < n; i++)
            sum += x[i] * x[i];
        scale = 1.0f / sqrtf(sum / (float)n + EPSILON);
        for (uint32_t i = 0; i < n; i++)
            TL_DATA(k, 2, float)[(uint64_t)r * n + i] = x[i] * scale * w[i];
    }
    count_vector(k, ((uint64_t)rows + 1) * n, (uint64_t)rows * n, UINT64_C(4) * rows * n, 0);
    tl_count(k, TL_COUNT_SCALAR_OPS, UINT64_C(4) * rows);
}

/* y = x * w. Tensors: x [rows, n], w [n, cols], y [rows, cols]; w and y may be windows: rows as strides say. */
static void matmul(const struct tl_kernel_args *k)
{
    const struct tl_tensor *x = &k->tensors[0], *w = &k->tensors[1], *y = &k->tensors[2];

    for (uint32_t r = 0; r < y->shape[0]; r++) {
        const float *x_row = TL_DATA(k, 0, const float) + r * x->strides[0];
        float *y_row = TL_DATA(k, 2, float) + r * y->strides[0];

        memset(y_row, 0, y->shape[1] * sizeof *y_row);
        for (uint32_t i = 0; i < x->shape[1]; i++) {
            const float *w_row = TL_DATA(k, 1, const float) + i * w->strides[0];

            for (uint32_t c = 0; c < y->shape[1]; c++)
                y_row[c] += x_row[i] * w_row[c];
        }
    }
    count_cube(k, tl_tensor_numel(x), tl_tensor_numel(w), tl_tensor_numel(y), tl_tensor_numel(y) * x->shape[1]);
}

/* Rotates pairs (i, i + half) of each head by an angle that grows with the token's position, which is the last of its
 * context. It runs beside v_proj with the same arguments, on both vector cores: lane 0 takes q, lane 1 takes k.
 * Tensors: h, w_v, v, q [batch, heads * head_dim], k [batch, kv_heads * head_dim], context_lens. Scalar: head_dim. */
static void rope(const struct tl_kernel_args *k)
{
    const struct tl_tensor *t = &k->tensors[3 + k->lane];
    const uint32_t head_dim = TL_SCALAR_OF(k, 0, uint32_t), half = head_dim / 2;

    for (uint32_t b = 0; b < t->shape[0]; b++) {
        const float position = (float)(TL_DATA(k, 5, const int32_t)[b] - 1);
        float *row = TL_DATA(k, 3 + k->lane, float) + (uint64_t)b * t->shape[1];

        for (uint32_t e = 0; e < t->shape[1] / 2; e++) {
            const uint32_t i = e % half, at = e / half * head_dim + i;
            const float angle = position * powf(ROPE_BASE, -2.0f * (float)i / (float)head_dim);
            const float a = row[at], b2 = row[at + half];

            row[at] = a * cosf(angle) - b2 * sinf(angle);
            row[at + half] = a * sinf(angle) + b2 * cosf(angle);
        }
    }
    /* A pair: seven operations, a power, two sines and two cosines. */
    count_vector(k, tl_tensor_numel(t) + t->shape[0], tl_tensor_numel(t), 7 * tl_tensor_numel(t) / 2,
                 5 * tl_tensor_numel(t) / 2);
}

/* First element of a token in a cache [blocks, block_size, kv_heads, head_dim], found through its row of the table. */
static uint64_t slot_of(const struct tl_tensor *cache, const int32_t *row, uint32_t token)
{
    return (uint64_t)row[token / cache->shape[1]] * cache->strides[0] + token % cache->shape[1] * cache->strides[1];
}

/* Tensors: k, v [batch, kv_heads * head_dim], block_table [batch, max_blocks], context_lens, k_cache, v_cache. */
static void cache_write(const struct tl_kernel_args *k)
{
    const uint32_t width = k->tensors[0].shape[1], max_blocks = k->tensors[2].shape[1];

    for (uint32_t b = 0; b < k->tensors[0].shape[0]; b++) {
        const int32_t *row = TL_DATA(k, 2, const int32_t) + (uint64_t)b * max_blocks;
        const uint64_t slot = slot_of(&k->tensors[4], row, (uint32_t)TL_DATA(k, 3, const int32_t)[b] - 1);

        memcpy(TL_DATA(k, 4, float) + slot, TL_DATA(k, 0, const float) + (uint64_t)b * width, width * sizeof(float));
        memcpy(TL_DATA(k, 5, float) + slot, TL_DATA(k, 1, const float) + (uint64_t)b * width, width * sizeof(float));
    }
    count_vector(k, 2 * tl_tensor_numel(&k->tensors[0]), 2 * tl_tensor_numel(&k->tensors[0]), 0, 0);
    tl_count(k, TL_COUNT_SCALAR_OPS, UINT64_C(6) * k->tensors[0].shape[0]); /* where each token's slot is */
}

/* One block of this task is one sequence. Tensors: q [batch, heads * head_dim], k_cache, block_table, context_lens,
 * scores [batch, heads, max_tokens]; beyond the sequence's end the scores are 0, and softmax knows. */
static void qk(const struct tl_kernel_args *k)
{
    const struct tl_tensor *cache = &k->tensors[1], *scores = &k->tensors[4];
    const uint32_t b = k->block_idx, heads = scores->shape[1], tokens = scores->shape[2], head_dim = cache->shape[3];
    const uint32_t len = (uint32_t)TL_DATA(k, 3, const int32_t)[b], group = heads / cache->shape[2];
    const int32_t *row = TL_DATA(k, 2, const int32_t) + (uint64_t)b * k->tensors[2].shape[1];

    for (uint32_t e = 0; e < heads * tokens; e++) {
        const uint32_t head = e / tokens, token = e % tokens;
        const float *q = TL_DATA(k, 0, const float) + ((uint64_t)b * heads + head) * head_dim;
        const float *key = TL_DATA(k, 1, const float) + head / group * cache->strides[2];
        float sum = 0.0f;

        if (token < len)
            key += slot_of(cache, row, token);
        for (uint32_t i = 0; i < head_dim && token < len; i++)
            sum += q[i] * key[i];
        TL_DATA(k, 4, float)[(uint64_t)b * heads * tokens + e] = sum / sqrtf((float)head_dim);
    }
    count_cube(k, (uint64_t)heads * head_dim, (uint64_t)cache->shape[2] * len * head_dim, (uint64_t)heads * tokens,
               (uint64_t)heads * len * head_dim);
}

/* Tensors: scores [batch, heads, max_tokens], context_lens, probs as scores. */
static void softmax(const struct tl_kernel_args *k)
{
    const uint32_t b = k->block_idx, heads = k->tensors[0].shape[1], tokens = k->tensors[0].shape[2];
    const uint32_t len = (uint32_t)TL_DATA(k, 1, const int32_t)[b];

    for (uint32_t head = 0; head < heads; head++) {
        const float *scores = TL_DATA(k, 0, const float) + ((uint64_t)b * heads + head) * tokens;
        float *probs = TL_DATA(k, 2, float) + ((uint64_t)b * heads + head) * tokens;
        float largest = scores[0], sum = 0.0f;

        for (uint32_t t = 1; t < len; t++)
            largest = fmaxf(largest, scores[t]);
        for (uint32_t t = 0; t < len; t++)
            sum += expf(scores[t] - largest);
        for (uint32_t t = 0; t < tokens; t++)
            probs[t] = t < len ? expf(scores[t] - largest) / sum : 0.0f;
    }
    /* A score: two differences, a sum and a quotient; a comparison and two exponentials. */
    count_vector(k, (uint64_t)heads * len, (uint64_t)heads * tokens, UINT64_C(4) * heads * len,
                 UINT64_C(3) * heads * len);
}

/* Tensors: probs, v_cache, block_table, context_lens, out [batch, heads * head_dim]. */
static void pv(const struct tl_kernel_args *k)
{
    const struct tl_tensor *cache = &k->tensors[1];
    const uint32_t b = k->block_idx, heads = k->tensors[0].shape[1], tokens = k->tensors[0].shape[2];
    const uint32_t len = (uint32_t)TL_DATA(k, 3, const int32_t)[b], head_dim = cache->shape[3];
    const int32_t *row = TL_DATA(k, 2, const int32_t) + (uint64_t)b * k->tensors[2].shape[1];

    for (uint32_t head = 0; head < heads; head++) {
        const float *probs = TL_DATA(k, 0, const float) + ((uint64_t)b * heads + head) * tokens;
        const uint64_t kv_head = head / (heads / cache->shape[2]) * cache->strides[2];
        float *out = TL_DATA(k, 4, float) + ((uint64_t)b * heads + head) * head_dim;

        memset(out, 0, head_dim * sizeof *out);
        for (uint32_t t = 0; t < len; t++) {
            const float *value = TL_DATA(k, 1, const float) + slot_of(cache, row, t) + kv_head;

            for (uint32_t i = 0; i < head_dim; i++)
                out[i] += probs[t] * value[i];
        }
    }
    count_cube(k, (uint64_t)heads * len, (uint64_t)cache->shape[2] * len * head_dim, (uint64_t)heads * head_dim,
               (uint64_t)heads * len * head_dim);
}

/* sum = a + b. All of one shape, dense. */
static void residual(const struct tl_kernel_args *k)
{
    const uint64_t n = tl_tensor_numel(&k->tensors[2]);

    for (uint64_t i = 0; i < n; i++)
        TL_DATA(k, 2, float)[i] = TL_DATA(k, 0, const float)[i] + TL_DATA(k, 1, const float)[i];
    count_vector(k, 2 * n, n, n, 0);
}

/* act = silu(gate) * up, where silu(g) = g / (1 + exp(-g)). gate, up [rows, cols] dense; act is a window. */
static void silu_mul(const struct tl_kernel_args *k)
{
    const struct tl_tensor *act = &k->tensors[2];
    const uint32_t cols = act->shape[1];

    for (uint32_t e = 0; e < act->shape[0] * cols; e++) {
        const float gate = TL_DATA(k, 0, const float)[e], up = TL_DATA(k, 1, const float)[e];

        TL_DATA(k, 2, float)[e / cols * act->strides[0] + e % cols] = gate / (1.0f + expf(-gate)) * up;
    }
    count_vector(k, 2 * tl_tensor_numel(act), tl_tensor_numel(act), 4 * tl_tensor_numel(act), tl_tensor_numel(act));
}

/* The kernels of a mix declare the task's whole list, each the same. */
#define MIX_SIGNATURE TL_IN, TL_IN, TL_OUT, TL_INOUT, TL_INOUT, TL_IN

const struct tl_kernel layer_kernels[] = {
    TL_KERNEL(FUNC_RMSNORM, "rmsnorm", TL_AIV, rmsnorm, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_Q_PROJ, "q_proj", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_K_PROJ, "k_proj", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_V_PROJ, "v_proj", TL_AIC, matmul, MIX_SIGNATURE),
    TL_KERNEL(FUNC_ROPE, "rope", TL_AIV, rope, MIX_SIGNATURE),
    TL_KERNEL(FUNC_CACHE_WRITE, "cache_write", TL_AIV, cache_write, TL_IN, TL_IN, TL_IN, TL_IN, TL_INOUT, TL_INOUT),
    TL_KERNEL(FUNC_QK, "qk", TL_AIC, qk, TL_IN, TL_IN, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SOFTMAX, "softmax", TL_AIV, softmax, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_PV, "pv", TL_AIC, pv, TL_IN, TL_IN, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_O_PROJ, "o_proj", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_RESIDUAL, "residual", TL_AIV, residual, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_GATE, "gate", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_UP, "up", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SILU_MUL, "silu_mul", TL_AIV, silu_mul, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_DOWN, "down", TL_AIC, matmul, TL_IN, TL_IN, TL_OUT),
};
