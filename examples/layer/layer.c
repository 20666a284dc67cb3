/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer: one decoder layer for one new token of each sequence. What there is to learn after paged_attention:
 *
 *     h = rmsnorm(x)                                       AIV
 *     q, k = h * w_q, h * w_k                              AIC, one task each
 *     v = h * w_v  while q and k are rotated               a mix: AIC + both AIV of one cluster, one argument list
 *     the new k and v go into the paged cache              AIV
 *     attention over the cache                             AIC, AIV, AIC; one block for each sequence
 *     x1 = x + attention * w_o                             AIC, AIV
 *     y = x1 + (silu(g * w_gate) . (g * w_up)) * w_down    g = rmsnorm(x1); a manual scope
 *
 *   - one function may be several kernels: q_proj, gate and others are `matmul` under names of their own;
 *   - x1 outlives the scope that computes it, so its memory is taken outside (tl_alloc_tensors);
 *   - the manual scope says itself who waits for whom: the runtime looks for nothing there;
 *   - tl_dump_tag marks the value x1 once, and every task that reads it later dumps it.
 *
 * kernels.c holds the kernels, data.c the inputs and the golden, this file the rest.
 *
 *     tasklens run layer --dump-args 2
 */
#include "layer.h"

/* ---- Parameters ---- */

static const struct tl_param params[] = {
    [PARAM_BATCH] = {"batch", 2, 1, 1024, "sequences, one new token each"},
    [PARAM_HIDDEN] = {"hidden", 32, 1, 16384, "width of the model"},
    [PARAM_HEADS] = {"heads", 4, 1, 256, "query heads; a multiple of kv_heads"},
    [PARAM_KV_HEADS] = {"kv_heads", 2, 1, 256, "key and value heads"},
    [PARAM_HEAD_DIM] = {"head_dim", 8, 2, 512, "elements of a head; even"},
    [PARAM_FFN] = {"ffn", 64, 1, 65536, "width of the mlp"},
    [PARAM_FFN_TILES] = {"ffn_tiles", 2, 1, MAX_FFN_TILES, "column tiles of the mlp that run side by side"},
    [PARAM_BLOCK_SIZE] = {"block_size", 8, 1, 1024, "tokens in a cache block"},
    [PARAM_MAX_CONTEXT] = {"max_context", 20, 1, 1 << 20, "tokens of the longest sequence, the new one included"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "wide",
     .settings = {{"batch", 5}, {"hidden", 48}, {"heads", 6}, {"kv_heads", 3}, {"ffn", 100}, {"ffn_tiles", 7}}},
    {.name = "large",
     .settings = {{"batch", 8},
                  {"hidden", 1024},
                  {"heads", 16},
                  {"kv_heads", 4},
                  {"head_dim", 64},
                  {"ffn", 2816},
                  {"ffn_tiles", 8},
                  {"block_size", 64},
                  {"max_context", 1000}}},
};

/* ---- Orchestration ---- */

static struct tl_tensor matrix(uint32_t rows, uint32_t cols)
{
    const uint32_t shape[] = {rows, cols};

    return tl_tensor_make(TL_FLOAT32, 2, shape);
}

/* Most tasks here read two tensors and write a third. */
static tl_task_id submit_binary(struct tl_orch *o, int32_t func_id, const struct tl_tensor *a,
                                const struct tl_tensor *b, struct tl_tensor *out, const tl_task_id *deps,
                                uint32_t n_deps)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, a);
    tl_add_input(&args, b);
    tl_add_output(&args, out);
    tl_set_dependencies(&args, deps, n_deps);
    return layer_kernels[func_id].core == TL_AIC ? tl_submit_aic(o, func_id, &args) : tl_submit_aiv(o, func_id, &args);
}

/* v = h * w_v on the matrix core, beside the rotation of q and k on the two vector cores of the same cluster. */
static void submit_rope_mix(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *h,
                            struct tl_tensor *v, const struct tl_tensor *q, const struct tl_tensor *k)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    const uint32_t head_dim = (uint32_t)in->params[PARAM_HEAD_DIM];

    tl_add_input(&args, h);
    tl_add_input(&args, &in->tensors[W_V]);
    tl_add_output(&args, v);
    tl_add_inout(&args, q);
    tl_add_inout(&args, k);
    tl_add_input(&args, &in->tensors[CONTEXT_LENS]);
    tl_add_scalar(&args, head_dim);
    tl_dump(&args); /* the whole task */
    tl_submit_mix(o, (struct tl_mix){.aic = FUNC_V_PROJ, .aiv0 = FUNC_ROPE, .aiv1 = FUNC_ROPE}, &args);
}

static void submit_cache_write(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *k,
                               const struct tl_tensor *v)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, k);
    tl_add_input(&args, v);
    tl_add_input(&args, &in->tensors[BLOCK_TABLE]);
    tl_add_input(&args, &in->tensors[CONTEXT_LENS]);
    tl_add_inout(&args, &in->tensors[K_CACHE]); /* INOUT, as all but one token stays what it was */
    tl_add_inout(&args, &in->tensors[V_CACHE]);
    tl_submit_aiv(o, FUNC_CACHE_WRITE, &args);
}

/* `values` against one of the caches, one block for each sequence: q and keys, or probabilities and values. */
static void submit_cached(struct tl_orch *o, const struct tl_program_args *in, int32_t func_id, int cache,
                          const struct tl_tensor *values, struct tl_tensor *out)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, values);
    tl_add_input(&args, &in->tensors[cache]);
    tl_add_input(&args, &in->tensors[BLOCK_TABLE]);
    tl_add_input(&args, &in->tensors[CONTEXT_LENS]);
    tl_add_output(&args, out);
    tl_set_block_num(&args, values->shape[0]);
    tl_submit_aic(o, func_id, &args);
}

static void submit_softmax(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *scores,
                           struct tl_tensor *probs)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, scores);
    tl_add_input(&args, &in->tensors[CONTEXT_LENS]);
    tl_add_output(&args, probs);
    tl_set_block_num(&args, scores->shape[0]);
    tl_submit_aiv(o, FUNC_SOFTMAX, &args);
}

/* x1 = x + attention(rmsnorm(x)). All but x1 is given back at the end of the inner scope. Returns who wrote x1. */
static tl_task_id submit_attention(struct tl_orch *o, const struct tl_program_args *in, struct tl_tensor *x1)
{
    const uint32_t batch = in->tensors[X].shape[0], hidden = in->tensors[X].shape[1];
    const uint32_t q_width = in->tensors[W_Q].shape[1], kv_width = in->tensors[W_K].shape[1];
    const uint32_t score_shape[] = {batch, (uint32_t)in->params[PARAM_HEADS],
                                    in->tensors[BLOCK_TABLE].shape[1] * in->tensors[K_CACHE].shape[1]};
    struct tl_tensor h = matrix(batch, hidden), q = matrix(batch, q_width), k = matrix(batch, kv_width), v = k;
    struct tl_tensor scores = tl_tensor_make(TL_FLOAT32, 3, score_shape), probs = scores;
    struct tl_tensor attention = matrix(batch, q_width), projected = matrix(batch, hidden);
    tl_task_id writer = TL_NO_TASK;

    TL_SCOPE (o) {
        submit_binary(o, FUNC_RMSNORM, &in->tensors[X], &in->tensors[W_NORM1], &h, NULL, 0);
        submit_binary(o, FUNC_Q_PROJ, &h, &in->tensors[W_Q], &q, NULL, 0);
        submit_binary(o, FUNC_K_PROJ, &h, &in->tensors[W_K], &k, NULL, 0);
        submit_rope_mix(o, in, &h, &v, &q, &k);
        submit_cache_write(o, in, &k, &v);
        submit_cached(o, in, FUNC_QK, K_CACHE, &q, &scores);
        submit_softmax(o, in, &scores, &probs);
        submit_cached(o, in, FUNC_PV, V_CACHE, &probs, &attention);
        submit_binary(o, FUNC_O_PROJ, &attention, &in->tensors[W_O], &projected, NULL, 0);
        writer = submit_binary(o, FUNC_RESIDUAL, &in->tensors[X], &projected, x1, NULL, 0);
    }
    return writer;
}

/* One column tile of the mlp: act[:, first..] = silu(g * w_gate[:, first..]) * (g * w_up[:, first..]). Returns the
 * task that writes it. `before` is who wrote g. */
static tl_task_id submit_mlp_tile(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *g,
                                  const struct tl_tensor *act, uint32_t first, uint32_t cols, tl_task_id before)
{
    const uint32_t offset[] = {0, first}, w_shape[] = {g->shape[1], cols}, act_shape[] = {g->shape[0], cols};
    struct tl_tensor w_gate, w_up, window, gate = matrix(g->shape[0], cols), up = gate;
    tl_task_id deps[2];

    if (tl_view(&in->tensors[W_GATE], offset, w_shape, &w_gate) ||
        tl_view(&in->tensors[W_UP], offset, w_shape, &w_up) || tl_view(act, offset, act_shape, &window)) {
        tl_orch_fail(o, "layer: a tile of the mlp lies outside its matrix");
        return TL_NO_TASK;
    }
    deps[0] = submit_binary(o, FUNC_GATE, g, &w_gate, &gate, &before, 1);
    deps[1] = submit_binary(o, FUNC_UP, g, &w_up, &up, &before, 1);
    return submit_binary(o, FUNC_SILU_MUL, &gate, &up, &window, deps, 2);
}

/* y = x1 + mlp(g). The tiles write windows of one tensor, side by side; only `down` waits for them all. The manual
 * scope says so, where the runtime would have to compare every window with every other. */
static void submit_mlp(struct tl_orch *o, const struct tl_program_args *in, const struct tl_tensor *x1,
                       tl_task_id x1_writer, const struct tl_tensor *g, tl_task_id g_writer)
{
    const uint32_t batch = g->shape[0], ffn = in->tensors[W_GATE].shape[1];
    const uint32_t tile = (uint32_t)((ffn + in->params[PARAM_FFN_TILES] - 1) / in->params[PARAM_FFN_TILES]);
    struct tl_tensor act = matrix(batch, ffn), down = matrix(batch, g->shape[1]), y = in->tensors[Y];
    struct tl_tensor *const allocated[] = {&act};
    tl_task_id deps[MAX_FFN_TILES], last[2];
    uint32_t n = 0;

    TL_MANUAL_SCOPE (o) {
        tl_alloc_tensors(o, allocated, 1); /* memory needs no dependency: it stays until its last user is done */
        for (uint32_t first = 0; first < ffn; first += tile)
            deps[n++] = submit_mlp_tile(o, in, g, &act, first, first + tile <= ffn ? tile : ffn - first, g_writer);
        last[0] = submit_binary(o, FUNC_DOWN, &act, &in->tensors[W_DOWN], &down, deps, n);
        last[1] = x1_writer;
        submit_binary(o, FUNC_RESIDUAL, x1, &down, &y, last, 2);
    }
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x1 = matrix(in->tensors[X].shape[0], in->tensors[X].shape[1]), g = x1;
    struct tl_tensor *const allocated[] = {&x1};

    TL_SCOPE (o) {
        tl_task_id x1_writer, g_writer;

        tl_alloc_tensors(o, allocated, 1);
        x1_writer = submit_attention(o, in, &x1);
        tl_dump_tag(o, &x1);
        g_writer = submit_binary(o, FUNC_RMSNORM, &x1, &in->tensors[W_NORM2], &g, NULL, 0);
        submit_mlp(o, in, &x1, x1_writer, &g, g_writer);
    }
}

TL_PROGRAM(.name = "layer", .summary = "one decoder layer for one new token of each sequence", .kernels = layer_kernels,
           .n_kernels = LAYER_KERNELS, .params = params, .n_params = TL_ARRAY_COUNT(params), .cases = cases,
           .n_cases = TL_ARRAY_COUNT(cases), .tolerance = 1e-4f, .orchestrate = orchestrate, .prepare = layer_prepare,
           .golden = layer_golden);
