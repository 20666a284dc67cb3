/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image of the last complete build, kept for the next run: slots, payloads and dep entries stay in ring 0 as the
 * orchestration left them, and a run of the same definition starts from them instead of orchestrating again. The
 * definition is everything that an orchestration can see: program, parameters, tensors with their addresses, and the
 * launch's rings and dump level. A guarded run is always built: guards are made while memory is allocated.
 * docs/adr/0003 says why. One thread, the run's, between and before runs.
 */
#include "device/image.h"

#include <string.h>

#include "device/device_impl.h"
#include "device/orch.h"

/* The definition, before its parameters and tensors. Bytes are compared: no padding, and all of it is written. */
struct definition {
    const struct tl_program *program;
    const struct tl_kernel *kernels;
    void (*orchestrate)(struct tl_orch *o, const struct tl_program_args *in);
    uint64_t heap, heap_bytes;
    uint32_t n_kernels, n_tensors, n_params, dump_level, task_window, dep_pool;
};
_Static_assert(sizeof(struct definition) == 5 * 8 + 6 * 4, "no padding");

static struct definition definition_of(const struct tl_device *d)
{
    const struct tl_launch *l = d->launch;

    return (struct definition){.program = d->program,
                               .kernels = d->program->kernels,
                               .orchestrate = d->program->orchestrate,
                               .heap = l->heap[0],
                               .heap_bytes = l->heap_bytes[0],
                               .n_kernels = d->program->n_kernels,
                               .n_tensors = l->n_tensors,
                               .n_params = l->n_params,
                               .dump_level = (uint32_t)l->levels[TL_COLLECT_DUMP],
                               .task_window = l->task_window[0],
                               .dep_pool = l->dep_pool[0]};
}

static uint64_t params_bytes(const struct definition *def)
{
    return def->n_params * sizeof(int64_t);
}

static uint64_t tensors_bytes(const struct definition *def)
{
    return def->n_tensors * sizeof(struct tl_tensor);
}

bool tl__image_fits(const struct tl_device *d)
{
    const struct tl_image *image = &d->image;
    const struct definition def = definition_of(d);
    const uint8_t *at = image->definition;

    if (at == NULL || d->launch->guard != 0 ||
        memcmp(at, &def, sizeof(def)) != 0) /* equal counts from here on, so equal sizes */
        return false;
    at += sizeof(def);
    if (def.n_params != 0 &&
        memcmp(at, tl__dev_ptr(&d->opts.memory, d->launch->params, params_bytes(&def)), params_bytes(&def)) != 0)
        return false;
    at += params_bytes(&def);
    return def.n_tensors == 0 ||
           memcmp(at, tl__dev_ptr(&d->opts.memory, d->launch->tensors, tensors_bytes(&def)), tensors_bytes(&def)) == 0;
}

void tl__device_forget(struct tl_device *d)
{
    tl__image_drop(d);
}

void tl__image_drop(struct tl_device *d)
{
    struct tl_image *image = &d->image;

    tl__graph_destroy(image->graph);
    tl__free(image->definition);
    memset(image, 0, sizeof(*image));
}

void tl__image_keep(struct tl_device *d, struct tl_graph *graph)
{
    const struct definition def = definition_of(d);
    struct tl_image *image = &d->image;
    uint8_t *at;

    tl__image_drop(d);
    image->graph = graph;
    image->submitted = tl_load_rlx(&d->submitted); /* relaxed, both: the run is over */
    image->retired_early = tl_load_rlx(&d->retired_early);
    image->definition = at = tl__alloc(1, sizeof(def) + params_bytes(&def) + tensors_bytes(&def));
    if (at == NULL) /* the next run builds it again */
        return;
    memcpy(at, &def, sizeof(def));
    at += sizeof(def);
    if (def.n_params != 0)
        memcpy(at, tl__dev_ptr(&d->opts.memory, d->launch->params, params_bytes(&def)), params_bytes(&def));
    at += params_bytes(&def);
    if (def.n_tensors != 0)
        memcpy(at, tl__dev_ptr(&d->opts.memory, d->launch->tensors, tensors_bytes(&def)), tensors_bytes(&def));
}

/* As tl__orch_run leaves a slot before it links it; its scope has released it already. */
static void reset_slot(struct tl_slot *slot)
{
    bool memory_only = (slot->payload->flags & TL_PAYLOAD_ALLOC) != 0;
    uint32_t kernels = 0;

    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        kernels += slot->kernels[k] != NULL;
    slot->next_block = 0;
    slot->captured = false;
    slot->next_local = NULL;
    /* Relaxed, all: linking publishes the slot (D2). */
    tl_store_rlx(&slot->subtasks, kernels * slot->payload->block_num);
    tl_store_rlx(&slot->holds, memory_only ? 0u : 1u);
    tl_store_rlx(&slot->fanout, memory_only ? TL_FANOUT_CLOSED : NULL);
    tl_store_rlx(&slot->waits, 0u);
    tl_store_rlx(&slot->stalled, 0u);
}

void tl__image_start(struct tl_device *d)
{
    struct tl_ring *ring = &d->rings[0];
    uint32_t n = tl_load_rlx(&ring->head); /* relaxed: own */

    for (uint32_t i = 0; i < n; i++)
        reset_slot(&ring->slots[i]);
    tl_store_rlx(&d->submitted, d->image.submitted);         /* relaxed: D8 publishes it */
    tl_store_rel(&d->retired_early, d->image.retired_early); /* D8 */
    for (uint32_t i = 0; i < n; i++)
        if ((ring->slots[i].payload->flags & TL_PAYLOAD_ALLOC) == 0)
            (void)tl__connect(d, &ring->slots[i]);
    tl__warn_unconsumed_tags(d->image.graph);
    tl_store_rel(&d->submitted_all, 1u); /* D8: as at the end of tl__orch_run */
}
