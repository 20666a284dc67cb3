/* SPDX-License-Identifier: Apache-2.0 */
/* no_function: cannot be loaded. FAULT: the second kernel has no function. */
#include <stddef.h>

#include <tasklens/program.h>

static void nothing(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(0, "good", TL_AIV, nothing, TL_IN), TL_KERNEL(1, "empty", TL_AIV, NULL, TL_IN), /* FAULT */
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    (void)in;
    tl_orch_fail(o, "no_function: never to be run");
}

static int prepare(struct tl_data *d)
{
    const uint32_t one = 1;

    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &one) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "no_function", .summary = "fault: a kernel without function", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .orchestrate = orchestrate, .prepare = prepare);
