/* SPDX-License-Identifier: Apache-2.0 */
/* scalar_before_tensor: cannot be loaded. FAULT: a signature with a scalar before a tensor; scalars come last. */
#include <tasklens/program.h>

static void nothing(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(0, "mixed_up", TL_AIV, nothing, TL_IN, TL_SCALAR, TL_OUT), /* FAULT */
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    (void)in;
    tl_orch_fail(o, "scalar_before_tensor: never to be run");
}

static int prepare(struct tl_data *d)
{
    const uint32_t one = 1;

    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &one) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "scalar_before_tensor", .summary = "fault: a signature with a scalar before a tensor",
           .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .orchestrate = orchestrate,
           .prepare = prepare);
