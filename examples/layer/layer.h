/* SPDX-License-Identifier: Apache-2.0 */
/* What the three files of this program share: numbers of kernels, tensors and parameters. */
#ifndef EXAMPLE_LAYER_H
#define EXAMPLE_LAYER_H

#include <tasklens/program.h>

enum {
    FUNC_RMSNORM,
    FUNC_Q_PROJ,
    FUNC_K_PROJ,
    FUNC_V_PROJ,
    FUNC_ROPE,
    FUNC_CACHE_WRITE,
    FUNC_QK,
    FUNC_SOFTMAX,
    FUNC_PV,
    FUNC_O_PROJ,
    FUNC_RESIDUAL,
    FUNC_GATE,
    FUNC_UP,
    FUNC_SILU_MUL,
    FUNC_DOWN
};

#define EPSILON 1e-5f /* of rmsnorm */
#define ROPE_BASE 10000.0f
#define MAX_FFN_TILES 64 /* bound of ffn_tiles */

/* The program's tensors, in the order of prepare(). */
enum { X, W_NORM1, W_Q, W_K, W_V, W_O, W_NORM2, W_GATE, W_UP, W_DOWN, K_CACHE, V_CACHE, BLOCK_TABLE, CONTEXT_LENS, Y };

enum {
    PARAM_BATCH,
    PARAM_HIDDEN,
    PARAM_HEADS,
    PARAM_KV_HEADS,
    PARAM_HEAD_DIM,
    PARAM_FFN,
    PARAM_FFN_TILES,
    PARAM_BLOCK_SIZE,
    PARAM_MAX_CONTEXT
};

/* kernels.c: indexed by func_id. */
extern const struct tl_kernel layer_kernels[];
#define LAYER_KERNELS (FUNC_DOWN + 1)

/* data.c */
int layer_prepare(struct tl_data *d);
int layer_golden(struct tl_data *d);

#endif
