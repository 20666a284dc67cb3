/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtypes: one task for each dtype, which copies a tensor and takes a scalar of it. The inputs are random bits, so
 * floats of all kinds are among them: NaN, infinity, subnormals. What comes out must be the same bits.
 */
#include <string.h>

#include <tasklens/program.h>

enum { FUNC_COPY };
enum { PARAM_ELEMENTS };

static void copy(const struct tl_kernel_args *k)
{
    memcpy(TL_DATA(k, 1, void), TL_DATA(k, 0, const void), tl_tensor_bytes(&k->tensors[1]));
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(FUNC_COPY, "copy", TL_AIV, copy, TL_IN, TL_OUT),
};

static const struct tl_param params[] = {
    [PARAM_ELEMENTS] = {"elements", 33, 1, 1 << 24, "elements of each tensor"},
};

static const char *const in_names[] = {
#define IN_NAME(name, value, text, bits) [name] = "in_" text,
    TL_DTYPE_LIST(IN_NAME)};
static const char *const out_names[] = {
#define OUT_NAME(name, value, text, bits) [name] = "out_" text,
    TL_DTYPE_LIST(OUT_NAME)};

/* A scalar as wide as the dtype: what a dump shows of it is typed by the dtype alone. FP4 takes a whole byte. */
static void add_scalar(struct tl_task_args *args, enum tl_dtype dtype)
{
    static const uint64_t wide = 0xc0490fdb40490fdb;
    static const uint32_t word = 0x40490fdb; /* pi as a float32 */
    static const uint16_t half = 0x4049;     /* 3.140625 as a bfloat16 */
    static const uint8_t byte = 1;

    switch (tl_dtype_bits(dtype)) {
    case 64:
        tl_add_scalar_as(args, wide, dtype);
        break;
    case 32:
        tl_add_scalar_as(args, word, dtype);
        break;
    case 16:
        tl_add_scalar_as(args, half, dtype);
        break;
    default:
        tl_add_scalar_as(args, byte, dtype);
        break;
    }
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    TL_SCOPE (o) {
        for (int dtype = 0; dtype < TL_DTYPE_COUNT; dtype++) {
            struct tl_task_args args = TL_TASK_ARGS_INIT;
            struct tl_tensor out = in->tensors[2 * dtype + 1];

            tl_add_input(&args, &in->tensors[2 * dtype]);
            tl_add_output(&args, &out);
            add_scalar(&args, (enum tl_dtype)dtype);
            tl_submit_aiv(o, FUNC_COPY, &args);
        }
    }
}

static size_t bytes_of(const struct tl_data *d, int dtype)
{
    return ((size_t)tl_data_param(d, "elements") * tl_dtype_bits((unsigned)dtype) + 7) / 8;
}

static int prepare(struct tl_data *d)
{
    const uint32_t n = (uint32_t)tl_data_param(d, "elements");

    for (int dtype = 0; dtype < TL_DTYPE_COUNT; dtype++) {
        uint8_t *in = tl_data_tensor(d, in_names[dtype], TL_IN, (enum tl_dtype)dtype, 1, &n);

        if (!in || !tl_data_tensor(d, out_names[dtype], TL_OUT, (enum tl_dtype)dtype, 1, &n))
            return TL_ENOMEM;
        for (size_t i = 0; i < bytes_of(d, dtype); i++)
            in[i] = (uint8_t)(tl_data_random_u64_of(d, in_names[dtype]) >> (dtype == TL_BOOL ? 63 : 56));
    }
    return 0;
}

static int golden(struct tl_data *d)
{
    for (int dtype = 0; dtype < TL_DTYPE_COUNT; dtype++) {
        const void *in = tl_data_input(d, in_names[dtype]);
        void *out = tl_data_expected(d, out_names[dtype]);

        if (!in || !out)
            return TL_ENOENT;
        memcpy(out, in, bytes_of(d, dtype));
    }
    return 0;
}

TL_PROGRAM(.name = "dtypes", .summary = "a tensor and a scalar of every dtype", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 30, .params = params, .n_params = TL_ARRAY_COUNT(params),
           .orchestrate = orchestrate, .prepare = prepare, .golden = golden);
