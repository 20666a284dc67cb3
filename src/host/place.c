/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of a run: the rings' heaps, the program's tensors, the launch with its tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/guard_layout.h"
#include "host/worker_impl.h"
#include "wire/memory.h"

#define ALIGN_UP(n, a) (((n) + (a)-1) / (a) * (a))

static uint64_t heap_each(const struct tl_run_config *c, const struct tl_chip_rings *rings)
{
    return ALIGN_UP(c->heap_bytes ? c->heap_bytes : rings->heap_bytes, TL_DEV_ALIGN);
}

bool tl__heaps_fit(const struct tl_worker *w, const struct tl_run_config *c, const struct tl_chip_rings *rings)
{
    for (uint32_t i = 0; i < TL_RINGS; i++)
        if (w->heap_bytes[i] != (i < rings->heaps ? heap_each(c, rings) : 0))
            return false;
    return true;
}

/* The rings' heaps stay from run to run; they change only with the sizes asked for. An image has one. */
static int size_heaps(struct tl_worker *w, const struct tl_run_config *c, const struct tl_chip_rings *rings,
                      struct tl_error *reterr)
{
    uint64_t each = heap_each(c, rings);

    for (uint32_t i = 0; i < TL_RINGS; i++)
        if (w->heap[i] != 0 && (i >= rings->heaps || w->heap_bytes[i] != each)) {
            tl__chip_free(w->chip, w->heap[i]);
            w->heap[i] = w->heap_bytes[i] = 0;
        }
    for (uint32_t i = 0; i < rings->heaps; i++) {
        char what[64];
        int rc;

        if (w->heap[i] != 0)
            continue;
        (void)snprintf(what, sizeof(what), "heap of ring %u (--heap-bytes)", i);
        rc = tl__chip_alloc(w->chip, each, TL_MEMORY_KEPT, what, &w->heap[i], reterr);
        if (rc != 0)
            return rc;
        w->heap_bytes[i] = each;
    }
    return 0;
}

/* Memory for one tensor. In a guarded run there is a page before and after its own for the device to close. */
static int place_tensor(struct tl_run *run, uint32_t i, uint64_t bytes, const char *what, struct tl_error *reterr)
{
    const uint32_t guard = run->config.guard;
    /* One page for alignment, one before, one after. A size that overflows is passed on and refused. */
    uint64_t room = guard != 0 && bytes <= UINT64_C(1) << 46 ? tl__guard_room(bytes) + 2 * TL_GUARD_PAGE : bytes;
    int rc = tl__chip_alloc(run->worker->chip, room, TL_MEMORY_RUN, what, &run->tensor_block[i], reterr);

    if (rc != 0)
        return rc;
    run->tensor_bytes[i] = bytes;
    run->tensor_addr[i] = run->tensor_block[i];
    if (guard != 0)
        run->tensor_addr[i] = tl__guard_up(run->tensor_block[i], TL_GUARD_PAGE) + TL_GUARD_PAGE +
                              tl__guard_lead(bytes, tl__guard_align(tl_dtype_bits(run->tensors[i].dtype), guard));
    return 0;
}

/* Device memory of the program's tensors, filled. Outputs too, so that elements that no task writes keep their
 * value. */
static int place_tensors(struct tl_run *run, struct tl_tensor *table, struct tl_error *reterr)
{
    struct tl_chip *chip = run->worker->chip;

    for (uint32_t i = 0; i < run->n_tensors; i++) {
        const struct tl_host_tensor *h = &run->tensors[i];
        struct tl_tensor t = tl_tensor_make((enum tl_dtype)h->dtype, h->rank, h->shape);
        uint64_t bytes = tl_tensor_bytes(&t);
        char what[96];
        int rc;

        (void)snprintf(what, sizeof(what), "tensor %.60s", h->name != NULL ? h->name : "of the program");
        rc = place_tensor(run, i, bytes, what, reterr);
        if (rc != 0)
            return rc;
        rc = tl__chip_copy_in(chip, run->tensor_addr[i], h->data, bytes);
        if (rc != 0)
            return tl__fail(reterr, rc, "%s: cannot copy %" PRIu64 " bytes to the device: %s", what, bytes,
                            tl_strerror(rc));
        t.buffer = run->tensor_addr[i];
        t.buffer_bytes = bytes;
        table[i] = t;
    }
    return 0;
}

static void fill_rings(const struct tl_worker *w, const struct tl_run_config *c, const struct tl_chip_rings *rings,
                       struct tl_launch *l)
{
    for (uint32_t i = 0; i < TL_RINGS; i++) {
        l->heap[i] = w->heap[i];
        l->heap_bytes[i] = w->heap_bytes[i];
        l->task_window[i] = c->task_window ? c->task_window : rings->task_window;
        l->dep_pool[i] = c->dep_pool ? c->dep_pool : rings->dep_pool;
    }
}

/* Writes launch, status, tensor table and parameters into one block of device memory. */
static int place_launch(struct tl_run *run, struct tl_launch *l, const struct tl_tensor *table, const int64_t *params,
                        struct tl_error *reterr)
{
    const struct tl_run_status idle = {.state = TL_RUN_IDLE, .epoch = run->epoch};
    struct tl_chip *chip = run->worker->chip;
    uint64_t tensors_at = ALIGN_UP(sizeof(*l), 1024) + sizeof(idle);
    uint64_t params_at = ALIGN_UP(tensors_at + TL_MAX_PROGRAM_ARGS * sizeof(*table), 64);
    int rc =
        tl__chip_alloc(chip, params_at + l->n_params * sizeof(*params), TL_MEMORY_RUN, "launch", &run->block, reterr);

    if (rc != 0)
        return rc;
    run->launch = run->block;
    run->status = l->status = run->block + ALIGN_UP(sizeof(*l), 1024);
    l->tensors = run->block + tensors_at;
    l->params = run->block + params_at;
    rc = tl__chip_copy_in(chip, run->status, &idle, sizeof(idle));
    if (rc == 0)
        rc = tl__chip_copy_in(chip, l->tensors, table, TL_MAX_PROGRAM_ARGS * sizeof(*table));
    if (rc == 0)
        rc = tl__chip_copy_in(chip, l->params, params, l->n_params * sizeof(*params));
    return rc == 0 ? 0 : tl__fail(reterr, rc, "cannot write the launch to the device: %s", tl_strerror(rc));
}

/* A tensor that the run was not given: one element without memory, which no task may use. */
static void fill_rest(struct tl_tensor *table, uint32_t from)
{
    const uint32_t one = 1;

    for (uint32_t i = from; i < TL_MAX_PROGRAM_ARGS; i++) {
        table[i] = tl_tensor_make(TL_UINT8, 1, &one);
        table[i].buffer = TL_NOT_GIVEN;
        table[i].buffer_bytes = one;
    }
}

int tl__place(struct tl_run *run, const struct tl_chip_rings *rings, const int64_t *params, struct tl_error *reterr)
{
    struct tl_tensor table[TL_MAX_PROGRAM_ARGS];
    int rc = size_heaps(run->worker, &run->config, rings, reterr);

    fill_rest(table, run->n_tensors);
    fill_rings(run->worker, &run->config, rings, &run->args);
    if (rc == 0)
        rc = place_tensors(run, table, reterr);
    return rc == 0 ? place_launch(run, &run->args, table, params, reterr) : rc;
}
