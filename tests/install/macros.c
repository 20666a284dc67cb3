/* SPDX-License-Identifier: Apache-2.0 */
/* Every macro of the headers, from C: must compile without a warning. REFUSED is what must not compile. */
#include <tasklens/program.h>
#include <tasklens/worker.h>
#include <tasklens/recording.h>
#include <tasklens/error.h>
enum plain { ONE = 1 };
static void k0(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float);
    float f = TL_SCALAR_OF(k, 0, float);
    (void)x;
    (void)f;
    tl_count(k, TL_COUNT_FIX_BYTES, 3);
}
static const struct tl_kernel kernels[] = {TL_KERNEL(0, "k0", TL_AIV, k0, TL_IN, TL_OUT),
                                           TL_KERNEL(1, "k1", TL_AIC, k0, TL_IN)};
static void orch(struct tl_orch *o, const struct tl_program_args *in)
{
    struct tl_tensor x = in->tensors[0], z = in->tensors[1], arr[2];
    const struct tl_tensor cx = x;
    const struct tl_tensor *px = &x;
    enum plain p = ONE;
    bool b = true;
    long long ll = 1;
    unsigned long long ull = 2;
    const float cf = 1.0f;
    uint16_t half = 3;
    arr[0] = x;
    arr[1] = x;
    TL_SCOPE (o) {
        struct tl_task_args a = TL_TASK_ARGS_INIT;
        tl_add_input(&a, &x);
        tl_add_output(&a, &z);
        tl_add_scalar(&a, p);
        tl_add_scalar(&a, b);
        tl_add_scalar(&a, ll);
        tl_add_scalar(&a, ull);
        tl_add_scalar(&a, cf);
        tl_add_scalar_as(&a, half, TL_BFLOAT16);
        tl_dump(&a, x, cx, *px, arr[1], p, b, ll, half);
        tl_dump(&a);
#ifdef REFUSED
        REFUSED;
#endif
        tl_dump_tag(o, &x);
        TL_MANUAL_SCOPE (o) {
            tl_submit_aiv(o, 0, &a);
        }
    }
}
static int prep(struct tl_data *d)
{
    uint32_t n = 8;
    tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);
    tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n);
    return 0;
}
TL_PROGRAM(.name = "cdump", .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .orchestrate = orch,
           .prepare = prep);
