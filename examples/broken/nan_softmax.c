/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nan_softmax: a softmax that forgets to subtract the row's maximum. FAULT: exp() of a large score is infinite, the sum
 * is infinite, and the quotient of the two is NaN. The symptom is in `probs`; the dump shows that `scores` is sound and
 * that `exps` already holds the infinity, so the fault is in the kernel between them.
 *
 *     tasklens run nan_softmax --dump-args 2; tasklens dump
 */
#include <math.h>

#include <tasklens/helpers.h>
#include <tasklens/program.h>

enum { FUNC_EXPONENTIATE, FUNC_NORMALIZE };
enum { ROWS = 4, COLS = 16, BAD_ROW = 2 };

/* Tensors: scores [1, cols], exps [1, cols], sum [1]. */
static void exponentiate(const struct tl_kernel_args *k)
{
    float sum = 0.0f;

    for (uint32_t i = 0; i < COLS; i++)
        sum += TL_DATA(k, 1, float)[i] = expf(TL_DATA(k, 0, const float)[i]); /* FAULT */
    *TL_DATA(k, 2, float) = sum;
}

/* Tensors: exps, sum, probs. */
static void normalize(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < COLS; i++)
        TL_DATA(k, 2, float)[i] = TL_DATA(k, 0, const float)[i] / *TL_DATA(k, 1, const float);
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_EXPONENTIATE, "exponentiate", TL_AIV, exponentiate, TL_IN, TL_OUT, TL_OUT),
    TL_KERNEL(FUNC_NORMALIZE, "normalize", TL_AIV, normalize, TL_IN, TL_IN, TL_OUT),
};

static void submit_row(struct tl_orch *o, const struct tl_program_args *in, uint32_t row)
{
    struct tl_tensor exps = tl_matrix(TL_FLOAT32, 1, COLS), sum = tl_vector(TL_FLOAT32, 1);
    struct tl_tensor scores = tl_slice(o, &in->tensors[0], 0, row, 1), probs = tl_slice(o, &in->tensors[1], 0, row, 1);
    const struct tl_tensor *inputs[] = {&scores};
    struct tl_tensor *outputs[] = {&exps, &sum};
    struct tl_task_args second = TL_TASK_ARGS_INIT;

    tl_submit_io(o, TL_AIV, FUNC_EXPONENTIATE, inputs, TL_ARRAY_COUNT(inputs), outputs, TL_ARRAY_COUNT(outputs));
    tl_add_input(&second, &exps);
    tl_add_input(&second, &sum);
    tl_add_output(&second, &probs);
    tl_dump(&second, exps, sum, probs);
    tl_submit_aiv(o, FUNC_NORMALIZE, &second);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (uint32_t row = 0; row < ROWS; row++)
            submit_row(o, in, row);
    }
}

static int prepare(struct tl_data *d)
{
    const uint32_t shape[] = {ROWS, COLS};
    float *scores = tl_data_tensor(d, "scores", TL_IN, TL_FLOAT32, 2, shape);

    if (!scores || !tl_data_tensor(d, "probs", TL_OUT, TL_FLOAT32, 2, shape))
        return TL_ENOMEM;
    for (uint32_t i = 0; i < ROWS * COLS; i++)
        scores[i] = 2.0f * tl_data_random_of(d, "scores");
    scores[BAD_ROW * COLS + 5] = 150.0f; /* exp(89) is already too large for a float32 */
    return 0;
}

static int golden(struct tl_data *d)
{
    const float *scores = tl_data_input(d, "scores");
    float *probs = tl_data_expected(d, "probs");

    for (uint32_t i = 0; scores && probs && i < ROWS * COLS; i++) {
        const float *row = scores + i / COLS * COLS;
        double sum = 0.0;

        for (uint32_t j = 0; j < COLS; j++)
            sum += exp((double)row[j] - (double)scores[i]);
        probs[i] = (float)(1.0 / sum);
    }
    return scores && probs ? 0 : TL_ENOENT;
}

TL_PROGRAM(.name = "nan_softmax", .summary = "fault: softmax without the row's maximum", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 2, .orchestrate = orchestrate, .prepare = prepare,
           .golden = golden);
