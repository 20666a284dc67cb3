/* SPDX-License-Identifier: Apache-2.0 */
/* duplicate_func_id: cannot be loaded. FAULT: two kernels have func_id 3. */
#include <tasklens/program.h>

static void nothing(const struct tl_kernel_args *k)
{
    (void)k;
}

static const struct tl_kernel kernels[] = {
    TL_KERNEL(3, "first", TL_AIV, nothing, TL_IN), TL_KERNEL(4, "other", TL_AIV, nothing, TL_IN),
    TL_KERNEL(3, "second", TL_AIC, nothing, TL_IN), /* FAULT */
};

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    (void)in;
    tl_orch_fail(o, "duplicate_func_id: never to be run");
}

static int prepare(struct tl_data *d)
{
    const uint32_t one = 1;

    return tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &one) ? 0 : TL_ENOMEM;
}

TL_PROGRAM(.name = "duplicate_func_id", .summary = "fault: two kernels with one func_id", .kernels = kernels,
           .n_kernels = TL_ARRAY_COUNT(kernels), .n_tensors = 1, .orchestrate = orchestrate, .prepare = prepare);
