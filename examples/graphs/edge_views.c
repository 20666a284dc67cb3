/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_views: shapes at the edge of what there is: no elements, rank 0, stride 0, steps, five dims in another order;
 * and scalars of every width. With --set rank6=1 one tensor claims a sixth dim, which no kernel can be given.
 */
#include <string.h>

#include <tasklens/program.h>

enum { FUNC_COPY, FUNC_SCALARS };
enum { PARAM_RANK6 };
enum { VALUES, ONE, CUBE, ONE_OUT, EMPTY_OUT, BROADCAST, STEPS, CUBE_OUT, SCALARS };

/* Copies any view to any other of the same shape, element by element as the strides say. */
static void copy(const struct tl_kernel_args *k)
{
    const struct tl_tensor *from = &k->tensors[0], *to = &k->tensors[1];
    const uint64_t n = tl_tensor_numel(to);

    for (uint64_t e = 0; e < n; e++) {
        uint64_t rest = e, source = 0, target = 0;

        for (unsigned d = to->rank; d-- > 0;) {
            source += rest % to->shape[d] * from->strides[d];
            target += rest % to->shape[d] * to->strides[d];
            rest /= to->shape[d];
        }
        TL_DATA(k, 1, float)[target] = TL_DATA(k, 0, const float)[source];
    }
}

/* The raw bits of every scalar, as the kernel gets them. */
static void scalars(const struct tl_kernel_args *k)
{
    for (uint32_t i = 0; i < k->n_scalars; i++)
        TL_DATA(k, 0, uint64_t)[i] = k->scalars[i];
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_COPY, "copy", TL_AIV, copy, TL_IN, TL_OUT),
    TL_KERNEL(FUNC_SCALARS, "scalars", TL_AIV, scalars, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_RANK6] = {"rank6", 0, 0, 1, "1: also pass a tensor that claims six dims"},
};

static void submit_copy(struct tl_orch *o, const struct tl_tensor *from, struct tl_tensor *to)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;

    tl_add_input(&args, from);
    tl_add_output(&args, to);
    tl_submit_aiv(o, FUNC_COPY, &args);
}

/* Nothing of an existing tensor, nothing that the runtime allocates, and that again as an input. */
static void submit_empty(struct tl_orch *o, const struct tl_program_args *in)
{
    const uint32_t offset = 3, none = 0, shape[] = {3, 0, 2};
    struct tl_tensor from, to, nothing = tl_tensor_make(TL_FLOAT32, 3, shape), nothing_again = nothing;

    if (tl_view(&in->tensors[VALUES], &offset, &none, &from) || tl_view(&in->tensors[EMPTY_OUT], &offset, &none, &to)) {
        tl_orch_fail(o, "edge_views: an empty view is a view");
        return;
    }
    submit_copy(o, &from, &to);
    if (tl_reshape(&from, 3, shape, &from)) {
        tl_orch_fail(o, "edge_views: no elements have any shape without elements");
        return;
    }
    submit_copy(o, &from, &nothing);
    submit_copy(o, &nothing, &nothing_again);
}

/* Views that no function makes: one row seen four times, and every second element. */
static void submit_strides(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor rows = in->tensors[VALUES], steps = in->tensors[VALUES], cube = in->tensors[CUBE], to;

    rows.rank = 2;
    rows.shape[0] = 4, rows.strides[0] = 0;
    rows.shape[1] = 8, rows.strides[1] = 1;
    to = in->tensors[BROADCAST];
    submit_copy(o, &rows, &to);

    steps.start_offset = 1;
    steps.shape[0] = 8, steps.strides[0] = 2;
    to = in->tensors[STEPS];
    submit_copy(o, &steps, &to);

    to = in->tensors[CUBE_OUT];
    if (tl_transpose(&cube, 0, 4, &cube) || tl_transpose(&cube, 1, 3, &cube))
        tl_orch_fail(o, "edge_views: five dims can be transposed");
    else
        submit_copy(o, &cube, &to);
}

static void submit_scalars(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_task_args args = TL_TASK_ARGS_INIT;
    struct tl_tensor out = in->tensors[SCALARS];
    const int8_t i8 = -8;
    const int16_t i16 = -16;
    const int32_t i32 = -32;
    const int64_t i64 = INT64_MIN;
    const uint8_t u8 = 255;
    const uint16_t u16 = 65535, half_of_pi = 0x3fc9;
    const uint32_t u32 = UINT32_MAX;
    const uint64_t u64 = UINT64_MAX;
    const bool yes = true;
    const float third = 1.0f / 3.0f;

    tl_add_output(&args, &out);
    tl_add_scalar(&args, i8);
    tl_add_scalar(&args, i16);
    tl_add_scalar(&args, i32);
    tl_add_scalar(&args, i64);
    tl_add_scalar(&args, u8);
    tl_add_scalar(&args, u16);
    tl_add_scalar(&args, u32);
    tl_add_scalar(&args, u64);
    tl_add_scalar(&args, yes);
    tl_add_scalar(&args, third);
    tl_add_scalar_as(&args, half_of_pi, TL_BFLOAT16); /* C has no type for it */
    tl_submit_aiv(o, FUNC_SCALARS, &args);
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor one_out = in->tensors[ONE_OUT], six = in->tensors[VALUES];

    TL_SCOPE (o) {
        submit_empty(o, in);
        submit_copy(o, &in->tensors[ONE], &one_out);
        submit_strides(o, in);
        submit_scalars(o, in);
        if (in->params[PARAM_RANK6]) {
            six.rank = 6;
            submit_copy(o, &six, &one_out);
        }
    }
}

#define N_SCALARS 11
static const uint32_t length = 16, cube_shape[] = {2, 3, 1, 4, 2}, cube_turned[] = {2, 4, 1, 3, 2},
                      rows_shape[] = {4, 8};

static int prepare(struct tl_data *d)
{
    const uint32_t eight = 8, n_scalars = N_SCALARS;
    float *values = tl_data_tensor(d, "values", TL_IN, TL_FLOAT32, 1, &length);
    float *one = tl_data_tensor(d, "one", TL_IN, TL_FLOAT32, 0, NULL);
    float *cube = tl_data_tensor(d, "cube", TL_IN, TL_FLOAT32, 5, cube_shape);

    if (!values || !one || !cube || !tl_data_tensor(d, "one_out", TL_OUT, TL_FLOAT32, 0, NULL) ||
        !tl_data_tensor(d, "empty_out", TL_OUT, TL_FLOAT32, 1, &length) ||
        !tl_data_tensor(d, "broadcast", TL_OUT, TL_FLOAT32, 2, rows_shape) ||
        !tl_data_tensor(d, "steps", TL_OUT, TL_FLOAT32, 1, &eight) ||
        !tl_data_tensor(d, "cube_out", TL_OUT, TL_FLOAT32, 5, cube_turned) ||
        !tl_data_tensor(d, "scalars", TL_OUT, TL_UINT64, 1, &n_scalars))
        return TL_ENOMEM;
    for (uint32_t i = 0; i < length; i++)
        values[i] = (float)i + 0.5f;
    *one = 42.0f;
    for (uint32_t i = 0; i < 48; i++)
        cube[i] = (float)i;
    return 0;
}

static int golden(struct tl_data *d)
{
    static const uint64_t bits[N_SCALARS] = {0xf8,       0xfff0,     0xffffffe0, 0x8000000000000000, 0xff,  0xffff,
                                             0xffffffff, UINT64_MAX, 1,          0x3eaaaaab,         0x3fc9};
    float *broadcast = tl_data_expected(d, "broadcast"), *steps = tl_data_expected(d, "steps");
    float *one = tl_data_expected(d, "one_out"), *cube = tl_data_expected(d, "cube_out");
    const float *values = tl_data_input(d, "values"), *from = tl_data_input(d, "cube");
    uint64_t *raw = tl_data_expected(d, "scalars");

    if (!broadcast || !steps || !one || !cube || !values || !from || !raw || !tl_data_expected(d, "empty_out"))
        return TL_ENOENT;
    *one = *(const float *)tl_data_input(d, "one");
    for (uint32_t i = 0; i < 8; i++) {
        steps[i] = values[2 * i + 1];
        for (uint32_t row = 0; row < 4; row++)
            broadcast[8 * row + i] = values[i];
    }
    /* [a, b, 0, c, e] of the cube is [e, c, 0, b, a] of what is expected. */
    for (uint32_t i = 0; i < 48; i++)
        cube[(i % 2 * 4 + i / 2 % 4) * 6 + i / 8 % 3 * 2 + i / 24] = from[i];
    memcpy(raw, bits, sizeof bits);
    return 0;
}

TL_PROGRAM(.name = "edge_views", .summary = "views and scalars at the edge of what there is", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 9, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
