/* SPDX-License-Identifier: Apache-2.0 */
#include "serial_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <tasklens/recording.h>

static const struct tl_kernel *find_kernel(const struct tl_program *program, int32_t func)
{
    for (uint32_t i = 0; i < program->n_kernels; i++)
        if (program->kernels[i].func_id == func)
            return &program->kernels[i];
    return NULL;
}

static uint32_t tensors_of(const struct tl_kernel *kernel)
{
    uint32_t n = 0;

    while (n < kernel->signature_count && kernel->signature[n] != TL_SCALAR)
        n++;
    return n;
}

/* The kernels of a task, and the one whose signature counts: the widest, the first of equals. */
static const struct tl_kernel *kernels_of(const struct tl_program *program, const struct serial_task *task,
                                          int32_t *funcs)
{
    const int32_t all[] = {task->mix.aic, task->mix.aiv0, task->mix.aiv1};
    const struct tl_kernel *widest = NULL;
    unsigned n = 0;

    funcs[0] = funcs[1] = funcs[2] = -1;
    for (unsigned i = 0; i < 3; i++) {
        const struct tl_kernel *kernel = all[i] < 0 ? NULL : find_kernel(program, all[i]);

        if (kernel == NULL)
            continue;
        funcs[n++] = all[i];
        if (widest == NULL || tensors_of(kernel) > tensors_of(widest))
            widest = kernel;
    }
    return widest;
}

/* The view's elements in row-major order, one by one. */
static uint64_t hash_of(const struct tl_tensor *t, uint64_t *ret_bytes)
{
    const uint64_t n = tl_tensor_numel(t), each = tl_dtype_bits(t->dtype) / 8;
    unsigned char *dense = malloc(n * each + 1);
    uint64_t hash = 0;

    *ret_bytes = n * each;
    for (uint64_t i = 0; dense != NULL && i < n; i++) {
        uint64_t at = t->start_offset, left = i;

        for (unsigned d = t->rank; d-- > 0; left /= t->shape[d])
            at += left % t->shape[d] * t->strides[d];
        memcpy(dense + i * each, (const unsigned char *)(uintptr_t)t->buffer + at * each, each);
    }
    if (dense != NULL)
        hash = XXH3_64bits(dense, n * each);
    free(dense);
    return hash;
}

static void write_head(const struct serial_records *to, const struct serial_task *task, bool after, unsigned role,
                       unsigned kind)
{
    fprintf(to->to, "%" PRIu64 " %" PRIx64 " %d %u %u", to->tasks, task->id, after, role, kind);
}

static void write_tensor(const struct serial_records *to, const struct serial_task *task, bool after, uint32_t arg,
                         unsigned role, const int32_t *funcs)
{
    const struct tl_tensor_arg *a = &task->args->tensors[arg];
    const struct tl_tensor *t = &a->tensor;
    const bool reads = a->direction == TL_IN || a->direction == TL_INOUT;
    const int marked = task->args->dump_all || (a->flags & TL_TASK_ARG_MARKED) ? 1 : t->tag != 0 && reads ? 2 : 0;
    uint64_t bytes, hash = hash_of(t, &bytes);

    write_head(to, task, after, role, TL_KIND_TENSOR);
    fprintf(to->to, " %" PRIu32 " %d %d %d %d %d %d", arg, t->dtype, marked, funcs[0], funcs[1], funcs[2], t->rank);
    for (unsigned d = 0; d < TL_MAX_DIMS; d++)
        fprintf(to->to, " %" PRIu32, d < t->rank ? t->shape[d] : 0);
    for (unsigned d = 0; d < TL_MAX_DIMS; d++)
        fprintf(to->to, " %" PRIu64, d < t->rank ? t->strides[d] : 0);
    fprintf(to->to, " %" PRIu64 " %" PRIu64 " %" PRIx64 "\n", t->start_offset, bytes, hash);
}

static void write_scalar(const struct serial_records *to, const struct serial_task *task, uint32_t i,
                         const int32_t *funcs)
{
    const struct tl_scalar_arg *a = &task->args->scalars[i];
    const bool marked = task->args->dump_all || (a->flags & TL_TASK_ARG_MARKED);

    write_head(to, task, false, TL_ROLE_INPUT, TL_KIND_SCALAR);
    fprintf(to->to, " %" PRIu32 " %d %d %d %d %d 0", task->args->n_tensors + i, a->dtype, marked, funcs[0], funcs[1],
            funcs[2]);
    fprintf(to->to, " 0 0 0 0 0 0 0 0 0 0 0 0 %" PRIx64 "\n", a->bits);
}

void serial_records_observe(void *context, const struct serial_task *task, bool after)
{
    static const uint8_t roles[] = {[TL_IN] = TL_ROLE_INPUT,
                                    [TL_OUT] = TL_ROLE_OUTPUT,
                                    [TL_INOUT] = TL_ROLE_INOUT,
                                    [TL_OUT_EXISTING] = TL_ROLE_OUTPUT};
    struct serial_records *to = context;
    int32_t funcs[3];
    const struct tl_kernel *widest = kernels_of(to->program, task, funcs);

    for (uint32_t i = 0; i < task->args->n_tensors && i < tensors_of(widest); i++) {
        const uint8_t submitted = task->args->tensors[i].direction;
        const unsigned role = roles[submitted == TL_NO_DEP ? widest->signature[i] : submitted];

        if (role == TL_ROLE_INOUT || (role == TL_ROLE_OUTPUT) == after)
            write_tensor(to, task, after, i, role, funcs);
    }
    for (uint32_t i = 0; i < task->args->n_scalars && !after; i++)
        write_scalar(to, task, i, funcs);
    to->tasks += after;
}
