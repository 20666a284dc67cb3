/* SPDX-License-Identifier: Apache-2.0 */
/* Cores: taking a token, running its kernel, posting FIN. */
#include "device/core.h"

#include <string.h>

#include "device/device_impl.h"
#include "device/fault.h"
#include "device/probes.h"
#include "device/withhold.h"

void tl__core_send(struct tl_core_role *core, struct tl_slot *slot, uint32_t block)
{
    struct tl_token *token = &core->token[core->sent & 1];
    struct tl_scheduler *s = core->sched;
    const struct tl_device *d = s->device;
    uint64_t bit = UINT64_C(1) << core->cluster;

    token->slot = slot;
    token->block = block;
    token->recorded = 0;
    token->finish = 0;
    token->dispatch = TASKLENS_DFX && d->probes.stamped ? tl__stamp(d, &s->stamp, 0) : 0;
    core->sent++;
    /* D5: the token before the count; the thread that raises it from 0 sets the bit, else the one that runs the core
     * does. */
    if (tl_add_acq_rel(&core->tokens, 1u) == 0)
        (void)tl_or_acq_rel(&s->todo[core->kind], bit); /* D5 */
}

bool tl__cores_todo(struct tl_device *d, unsigned n)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < d->n_scheds; i++)
        for (unsigned k = 0; k < TL_KIND_COUNT; k++)
            found += (unsigned)__builtin_popcountll(tl_load_rlx(&d->scheds[i].todo[k])); /* relaxed: a hint */
    return found >= n;
}

/* Claims one core of `s` that has a token. */
static struct tl_core_role *claim(struct tl_scheduler *s)
{
    for (unsigned k = 0; k < TL_KIND_COUNT; k++) {
        uint64_t bits = tl_load_rlx(&s->todo[k]); /* relaxed: the fetch below decides */

        while (bits != 0) {
            unsigned c = (unsigned)__builtin_ctzll(bits);
            uint64_t bit = UINT64_C(1) << c;

            if (tl_and_acq_rel(&s->todo[k], ~bit) & bit) /* D5: the token; one thread gets the bit */
                return s->cores[k][c];
            bits &= ~bit;
        }
    }
    return NULL;
}

static void *view_data(const struct tl_device *d, const struct tl_tensor *t)
{
    uint8_t *base = tl__dev_ptr(&d->opts.memory, t->buffer, t->buffer_bytes);

    return base == NULL ? NULL : base + t->start_offset * tl_dtype_bits(t->dtype) / 8;
}

static void call_timed(struct tl_core_role *core, struct tl_token *token, const struct tl_kernel *kernel,
                       struct tl_kernel_args *args)
{
    const struct tl_device *d = core->sched->device;

    tl__probes_before(d, token, args);
    /* Relaxed: read when nothing has moved for long. The stamp is the last thing before the kernel. */
    tl_store_rlx(&core->since, token->start = tl__clock_cycles(&d->clock));
    kernel->fn(args);
    token->end = tl__clock_cycles(&d->clock);
    tl_store_rlx(&core->since, 0);
    tl__probes_after(d, token);
}

static void call_kernel(struct tl_core_role *core, struct tl_token *token)
{
    const struct tl_slot *slot = token->slot;
    const struct tl_task_payload *p = slot->payload;
    const struct tl_kernel *kernel = tl__kernel_of(core, slot);
    struct tl_device *d = core->sched->device;
    void *data[TL_MAX_TENSORS];
    struct tl_kernel_args args = {
        .tensors = p->tensors,
        .data = data,
        .scalars = tl__payload_scalars(p),
        .n_tensors = p->n_tensors,
        .n_scalars = p->n_scalars,
        .block_idx = token->block,
        .block_num = p->block_num,
        .lane = core->kind == TL_KIND_AIV1,
        .core = core->id,
        .program = d->program,
        .params = tl__dev_ptr(&d->opts.memory, d->launch->params, d->program->n_params * sizeof(int64_t)),
        .n_params = d->program->n_params,
    };
    const struct tl_current current = {d, core, kernel, slot, token->block}, *outer = tl__current;

    for (uint32_t i = 0; i < p->n_tensors; i++)
        data[i] = view_data(d, &p->tensors[i]);
    tl__withhold_begin(core, p, data);
    tl__current = &current;
    if (TASKLENS_DFX && d->timed)
        call_timed(core, token, kernel, &args);
    else
        kernel->fn(&args);
    tl__current = outer;
    if (d->barrier) {
        tl_fence_full(); /* D6: every store of the kernel is visible before FIN, so an after-completion copy is true */
        tl__withhold_flush(core);
    }
}

/* A subtask is neither taken nor started before its dispatch, nor before the end of the one before it, whichever
 * threads ran the two. */
static void order_stamps(struct tl_core_role *core, struct tl_token *token)
{
    uint64_t floor = token->dispatch > core->stamp ? token->dispatch : core->stamp;

    if (token->taken < floor)
        token->taken = floor;
    if (token->start < token->taken)
        token->start = token->taken;
    if (token->end < token->start)
        token->end = token->start;
    core->stamp = token->end;
}

static void run_token(struct tl_core_role *core)
{
    uint64_t bit = UINT64_C(1) << core->cluster;
    struct tl_scheduler *s = core->sched;
    struct tl_token *token = &core->token[core->run_count & 1];

    if (TASKLENS_DFX && s->device->timed)
        token->taken = s->device->probes.stamped ? tl__clock_cycles(&s->device->clock) : 0;
    if (!tl__fault("core_no_fin")) {
        tl_store_rlx(&core->running, 1u); /* relaxed: for the watch's lines */
        call_kernel(core, token);
        if (TASKLENS_DFX && s->device->timed)
            order_stamps(core, token);
        tl_store_rlx(&core->running, 0u);
        core->run_count++;
        tl_store_rel(&core->fin_count,
                     core->run_count);                 /* D6: the subtask's effects; pairs with the scheduler's look */
        (void)tl_or_acq_rel(&s->fin[core->kind], bit); /* D6 */
        tl__withhold_late(core);
    }
    /* D5: a token sent meanwhile saw a count above 0 and left the bit to this thread. */
    if (tl_sub_acq_rel(&core->tokens, 1u) > 1)
        (void)tl_or_acq_rel(&s->todo[core->kind], bit); /* D5 */
}

bool tl__cores_step(struct tl_device *d, unsigned hint)
{
    if (tl_load_rlx(&d->hung) != 0) /* relaxed: a kernel started meanwhile does no harm */
        return false;
    for (uint32_t i = 0; i < d->n_scheds; i++) {
        struct tl_core_role *core = claim(&d->scheds[(i + hint) % d->n_scheds]);

        if (core != NULL) {
            run_token(core);
            return true;
        }
    }
    return false;
}
