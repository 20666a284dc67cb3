/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bgemm: C[b] = A[b] * B[b] for a batch of matrices, in tiles. What there is to learn after vector_add:
 *
 *   - a runtime-allocated tensor: a tile of partial sums that exists only between tasks;
 *   - accumulation along k as a chain of tasks with the tile as INOUT, which the runtime orders by itself;
 *   - views with strides: a tile is a window into its matrix, and with --set trans_b=1 B is stored transposed and a
 *     transposed view of it is passed. The kernel does not notice: it takes strides from the tensor, never from a
 *     convention;
 *   - nested scopes: each tile's memory is given back as soon as the tile is stored.
 *
 *     tasklens run bgemm --dump-args 2
 *     tasklens run bgemm --set m=100 --set trans_b=1     ragged edges, strided B
 */
#include <tasklens/program.h>

enum { FUNC_GEMM, FUNC_GEMM_ACC, FUNC_STORE };

/* ---- Kernels ---- */

/* Element [0, row, 0] of a [1, rows, cols] view. */
static const float *row_of(const struct tl_kernel_args *k, uint32_t slot, uint32_t row)
{
    return TL_DATA(k, slot, const float) + row * k->tensors[slot].strides[1];
}

/* For --enable-pmu: what a chip would do for p (+)= a * b. */
static void count_product(const struct tl_kernel_args *k, bool accumulate)
{
    const uint64_t a = tl_tensor_numel(&k->tensors[0]), b = tl_tensor_numel(&k->tensors[1]),
                   p = tl_tensor_numel(&k->tensors[2]);

    tl_count(k, TL_COUNT_MTE2_BYTES, (a + b + (accumulate ? p : 0)) * sizeof(float));
    tl_count(k, TL_COUNT_MTE1_L0A_BYTES, a * sizeof(float));
    tl_count(k, TL_COUNT_MTE1_L0B_BYTES, b * sizeof(float));
    tl_count(k, TL_COUNT_CUBE_FP32_OPS, p * k->tensors[0].shape[2]);
    tl_count(k, TL_COUNT_FIX_BYTES, p * sizeof(float));
}

/* p (+)= a * b; a [1, rows, depth], b [1, depth, cols], p [rows, cols]. The order i, t, j reads b along its rows. */
static void multiply(const struct tl_kernel_args *k, bool accumulate)
{
    const struct tl_tensor *a = &k->tensors[0], *b = &k->tensors[1], *p = &k->tensors[2];

    for (uint32_t i = 0; i < p->shape[0]; i++) {
        const float *a_row = row_of(k, 0, i);
        float *p_row = TL_DATA(k, 2, float) + i * p->strides[0];

        for (uint32_t j = 0; j < p->shape[1] && !accumulate; j++)
            p_row[j] = 0.0f;
        for (uint32_t t = 0; t < a->shape[2]; t++) {
            const float factor = a_row[t * a->strides[2]];
            const float *b_row = row_of(k, 1, t);

            for (uint32_t j = 0; j < p->shape[1]; j++)
                p_row[j] += factor * b_row[j * b->strides[2]];
        }
    }
    count_product(k, accumulate);
}

/* The first step along k. The tile is an output: it holds anything, so this must not read it. */
static void gemm(const struct tl_kernel_args *k)
{
    multiply(k, false);
}

/* Every later step. The tile is an INOUT: the dump shows it before and after. */
static void gemm_acc(const struct tl_kernel_args *k)
{
    multiply(k, true);
}

/* c tile = p. A vector core copies the finished tile to its window in C. */
static void store(const struct tl_kernel_args *k)
{
    const struct tl_tensor *p = &k->tensors[0], *c = &k->tensors[1];

    for (uint32_t i = 0; i < p->shape[0]; i++) {
        for (uint32_t j = 0; j < p->shape[1]; j++)
            TL_DATA(k, 1, float)[i * c->strides[1] + j] = TL_DATA(k, 0, const float)[i * p->strides[0] + j];
    }
    tl_count(k, TL_COUNT_MTE2_BYTES, tl_tensor_numel(p) * sizeof(float));
    tl_count(k, TL_COUNT_MTE3_BYTES, tl_tensor_numel(p) * sizeof(float));
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_GEMM, "gemm", TL_AIC, gemm, TL_IN, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_GEMM_ACC, "gemm_acc", TL_AIC, gemm_acc, TL_IN, TL_IN, TL_INOUT),
    TL_KERNEL(FUNC_STORE, "store", TL_AIV, store, TL_IN, TL_OUT),
};

/* ---- Parameters ---- */

enum { PARAM_BATCH, PARAM_M, PARAM_N, PARAM_K, PARAM_TILE, PARAM_TRANS_B };

static const struct tl_param params[] = {
    [PARAM_BATCH] = {"batch", 2, 1, 4096, "matrices"},
    [PARAM_M] = {"m", 32, 1, 65536, "rows of A and C"},
    [PARAM_N] = {"n", 32, 1, 65536, "columns of B and C"},
    [PARAM_K] = {"k", 32, 1, 65536, "columns of A, rows of B"},
    [PARAM_TILE] = {"tile", 16, 1, 4096, "edge of a tile, in all three directions"},
    [PARAM_TRANS_B] = {"trans_b", 0, 0, 1, "1: B is stored as [batch, n, k] and passed as a transposed view"},
};

static const struct tl_case cases[] = {
    {.name = "default"},
    {.name = "ragged", .settings = {{"batch", 3}, {"m", 20}, {"n", 37}, {"k", 33}}},
    {.name = "transposed", .settings = {{"n", 24}, {"trans_b", 1}}},
    {.name = "large", .settings = {{"batch", 4}, {"m", 512}, {"n", 512}, {"k", 512}, {"tile", 128}}},
};

/* ---- Orchestration ---- */

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

/* The window of `edge` by `edge` at [b, row, col] of a [batch, rows, cols] tensor, cut at its border. */
static struct tl_tensor tile_of(struct tl_orch *o, const struct tl_tensor *t, uint32_t b, uint32_t row, uint32_t col,
                                uint32_t edge)
{
    const uint32_t offset[] = {b, row, col};
    const uint32_t shape[] = {1, at_most(edge, t->shape[1] - row), at_most(edge, t->shape[2] - col)};
    struct tl_tensor view = *t;

    if (tl_view(t, offset, shape, &view))
        tl_orch_fail(o, "bgemm: a tile lies outside its matrix");
    return view;
}

/* One step along k: the first allocates the tile *p, the others add to it. */
static void submit_product(struct tl_orch *o, struct tl_tensor *a, struct tl_tensor *b, struct tl_tensor *p, bool first)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, a);
    tl_add_input(&args, b);
    if (first)
        tl_add_output(&args, p); /* p has no buffer yet: submit allocates one and writes it to *p */
    else
        tl_add_inout(&args, p);
    tl_submit_aic(o, first ? FUNC_GEMM : FUNC_GEMM_ACC, &args);
}

static void submit_tile(struct tl_orch *o, const struct tl_tensor *a, const struct tl_tensor *b, struct tl_tensor c,
                        const uint32_t at[3], uint32_t tile)
{
    const uint32_t depth = a->shape[2];
    struct tl_tensor p = tl_tensor_make(TL_FLOAT32, 2, &c.shape[1]);
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    for (uint32_t k = 0; k < depth; k += tile) {
        struct tl_tensor a_tile = tile_of(o, a, at[0], at[1], k, tile);
        struct tl_tensor b_tile = tile_of(o, b, at[0], k, at[2], tile);

        submit_product(o, &a_tile, &b_tile, &p, k == 0);
    }
    tl_add_input(&args, &p);
    tl_add_output(&args, &c);
    tl_dump(&args, c);
    tl_submit_aiv(o, FUNC_STORE, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t tile = (uint32_t)in->params[PARAM_TILE];
    const struct tl_tensor *a = &in->tensors[0], *c = &in->tensors[2];
    struct tl_tensor b = in->tensors[1];

    if (in->params[PARAM_TRANS_B] && tl_transpose(&b, 1, 2, &b)) {
        tl_orch_fail(o, "bgemm: B cannot be transposed");
        return;
    }
    TL_SCOPE (o) {
        for (uint32_t i = 0; i < c->shape[0]; i++) {
            for (uint32_t row = 0; row < c->shape[1]; row += tile) {
                for (uint32_t col = 0; col < c->shape[2]; col += tile) {
                    /* At its end this scope gives up the tile; its memory is reused once `store` is done. */
                    TL_SCOPE (o) {
                        const uint32_t at[] = {i, row, col};

                        submit_tile(o, a, &b, tile_of(o, c, i, row, col, tile), at, tile);
                    }
                }
            }
        }
    }
}

/* ---- Data ---- */

static void fill(struct tl_data *d, const char *name, float *values, const uint32_t shape[3])
{
    const uint64_t n = (uint64_t)shape[0] * shape[1] * shape[2];

    for (uint64_t i = 0; values && i < n; i++)
        values[i] = tl_data_random_of(d, name);
}

static int prepare(struct tl_data *d)
{
    const uint32_t batch = (uint32_t)tl_data_param(d, "batch"), m = (uint32_t)tl_data_param(d, "m");
    const uint32_t n = (uint32_t)tl_data_param(d, "n"), k = (uint32_t)tl_data_param(d, "k");
    const bool transposed = tl_data_param(d, "trans_b") != 0;
    const uint32_t a_shape[] = {batch, m, k}, c_shape[] = {batch, m, n};
    const uint32_t b_shape[] = {batch, transposed ? n : k, transposed ? k : n};
    float *a = tl_data_tensor(d, "a", TL_IN, TL_FLOAT32, 3, a_shape);
    float *b = tl_data_tensor(d, "b", TL_IN, TL_FLOAT32, 3, b_shape);
    const float *c = tl_data_tensor(d, "c", TL_OUT, TL_FLOAT32, 3, c_shape);

    if (!a || !b || !c)
        return TL_ENOMEM;
    fill(d, "a", a, a_shape);
    fill(d, "b", b, b_shape);
    return 0;
}

/* Each element is one inner product in double, from the stored matrices: no tiles, no views. */
static int golden(struct tl_data *d)
{
    const uint64_t batch = (uint64_t)tl_data_param(d, "batch"), m = (uint64_t)tl_data_param(d, "m");
    const uint64_t n = (uint64_t)tl_data_param(d, "n"), depth = (uint64_t)tl_data_param(d, "k");
    const bool transposed = tl_data_param(d, "trans_b") != 0;
    const float *a = tl_data_input(d, "a"), *b = tl_data_input(d, "b");
    float *c = tl_data_expected(d, "c");

    if (!a || !b || !c)
        return TL_ENOENT;
    for (uint64_t e = 0; e < batch * m * n; e++) {
        const uint64_t i = e / n / m, row = e / n % m, col = e % n;
        double sum = 0.0;

        for (uint64_t k = 0; k < depth; k++) {
            const uint64_t at = transposed ? (i * n + col) * depth + k : (i * depth + k) * n + col;

            sum += (double)a[(i * m + row) * depth + k] * (double)b[at];
        }
        c[e] = (float)sum;
    }
    return 0;
}

TL_PROGRAM(.name = "bgemm", .summary = "batched matrix product in tiles, accumulated along k", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 3, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .cases = cases, .n_cases = TL_ARRAY_COUNT(cases), .tolerance = 1e-4f, .orchestrate = orchestrate,
           .prepare = prepare, .golden = golden);
