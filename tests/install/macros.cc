/* SPDX-License-Identifier: Apache-2.0 */
/* Every macro of the headers, from C++11 to C++20: must compile without a warning. REFUSED is what must not compile. */
#include <tasklens/error.h>
#include <tasklens/kernel.h>
#include <tasklens/program.h>
#include <tasklens/recording.h>
#include <tasklens/task.h>
#include <tasklens/tensor.h>
#include <tasklens/worker.h>
enum plain { ONE = 1 };
enum class strong : int16_t { TWO = 2 };
struct derived : tl_tensor {
    int more;
};
static void k0(const struct tl_kernel_args *k)
{
    const float *x = TL_DATA(k, 0, const float);
    float f = TL_SCALAR_OF(k, 0, float);
    (void)x;
    (void)f;
    tl_count(k, TL_COUNT_FIX_BYTES, 3);
}
static const tl_kernel kernels[] = {TL_KERNEL(0, "k0", TL_AIV, k0, TL_IN, TL_OUT),
                                    TL_KERNEL(1, "k1", TL_AIC, k0, TL_IN)};
static void orch(tl_orch *o, const tl_program_args *in)
{
    tl_tensor x = in->tensors[0], z = in->tensors[1];
    const tl_tensor cx = x;
    tl_tensor &rx = x;
    const tl_tensor &crx = x;
    const tl_tensor *px = &x;
    tl_tensor arr[2] = {x, z};
    derived d{};
    plain p = ONE;
    const strong s = strong::TWO;
    bool b = true;
    long long ll = 1;
    unsigned long long ull = 2;
    const float cf = 1.0f;
    signed char sc = 1;
    uint16_t half = 3;
    TL_SCOPE (o) {
        tl_task_args a = TL_TASK_ARGS_INIT;
        tl_add_input(&a, &x);
        tl_add_output(&a, &z);
        tl_add_scalar(&a, p);
        tl_add_scalar(&a, s);
        tl_add_scalar(&a, b);
        tl_add_scalar(&a, ll);
        tl_add_scalar(&a, ull);
        tl_add_scalar(&a, cf);
        tl_add_scalar(&a, sc);
        tl_add_scalar_as(&a, half, TL_BFLOAT16);
        tl_dump(&a, x, cx, rx, crx, *px, arr[1], d, p, s, b, ll, half);
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
static int prep(tl_data *d)
{
    uint32_t n = 8;
    tl_data_tensor(d, "x", TL_IN, TL_FLOAT32, 1, &n);
    tl_data_tensor(d, "z", TL_OUT, TL_FLOAT32, 1, &n);
    return 0;
}
#if __cplusplus >= 202002L
TL_PROGRAM(.name = "cppdump", .kernels = kernels, .n_kernels = TL_ARRAY_COUNT(kernels), .orchestrate = orch,
           .prepare = prep);
#else
static tl_program make()
{
    tl_program p = TL_PROGRAM_INIT;
    p.name = "old";
    p.kernels = kernels;
    p.n_kernels = TL_ARRAY_COUNT(kernels);
    p.orchestrate = orch;
    p.prepare = prep;
    return p;
}
TL_PROGRAM_OF(make());
#endif
int use();
int use()
{
    tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    tl_run_config config = TL_RUN_CONFIG_INIT;
    return int(opts.mode) + config.levels[TL_COLLECT_DUMP];
}
