/* SPDX-License-Identifier: Apache-2.0 */
#include "device/probes.h"

#include <string.h>

#include "base/error.h"
#include "device/device_impl.h"
#include "device/orch.h"

#define STREAM(id, number, collector, name, writer, from) [TL_STREAM_##id] = &tl__##name##_probe,
const struct tl_probe_ops *const tl__probe_rows[TL_STREAM_COUNT] = {
    TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, STREAM)};
#undef STREAM

/* For each stream of `bits`, from the lowest. */
#define FOR_EACH(i, bits)                                                                                              \
    for (uint32_t left_ = (bits), i; left_ != 0 && ((i = (uint32_t)__builtin_ctz(left_)), true); left_ &= left_ - 1)

void tl__probes_begin(struct tl_device *d)
{
    struct tl_probe_sets *sets = &d->probes;
    uint32_t on = 0;

    memset(sets, 0, sizeof(*sets));
    d->timed = d->barrier = false;
    if (!TASKLENS_DFX || d->launch->dfx == 0)
        return;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++) {
        const struct tl_probe_ops *ops = tl__probe_rows[i];
        const uint32_t bit = 1u << i;

        if (tl__stream_level(d->launch->levels, i) == 0)
            continue;
        on |= bit;
        d->timed |= ops->timed;
        d->barrier |= ops->barrier;
        sets->counted |= ops->counted;
        sets->before |= ops->before != NULL ? bit : 0;
        sets->after |= ops->after != NULL ? bit : 0;
        sets->inputs |= ops->inputs != NULL ? bit : 0;
        sets->outputs |= ops->outputs != NULL ? bit : 0;
        sets->subtask |= ops->subtask != NULL ? bit : 0;
        sets->expected |= ops->expected != NULL ? bit : 0;
        sets->hung |= ops->hung != NULL ? bit : 0;
        sets->submit |= ops->submit != NULL ? bit : 0;
        sets->submitted |= ops->submitted != NULL ? bit : 0;
        sets->scope |= ops->scope != NULL ? bit : 0;
        sets->end |= ops->end != NULL ? bit : 0;
    }
    FOR_EACH(i, on)
    {
        if (tl__probe_rows[i]->begin != NULL)
            tl__probe_rows[i]->begin(d);
    }
}

int tl__probes_begin_role(struct tl_scheduler *s)
{
    int rc = 0;

    FOR_EACH(i, s->rec.on)
    {
        if (rc == 0 && tl__probe_rows[i]->begin_role != NULL)
            rc = tl__probe_rows[i]->begin_role(s);
    }
    return rc;
}

bool tl__probes_inputs(struct tl_scheduler *s, struct tl_slot *slot)
{
    const uint32_t stream = s->device->probes.inputs;

    return stream == 0 || tl__probe_rows[__builtin_ctz(stream)]->inputs(s, slot) != TL_EAGAIN;
}

bool tl__probes_outputs(struct tl_scheduler *s, struct tl_slot *slot)
{
    const uint32_t stream = s->device->probes.outputs;

    return stream == 0 || tl__probe_rows[__builtin_ctz(stream)]->outputs(s, slot) != TL_EAGAIN;
}

void tl__probes_before(const struct tl_device *d, struct tl_token *token, struct tl_kernel_args *args)
{
    if (d->probes.counted) {
        memset(token->counts, 0, sizeof(token->counts));
        args->n_counts = TL_COUNT_CLASSES;
        args->counts = token->counts;
    }
    FOR_EACH(i, d->probes.before)
    {
        tl__probe_rows[i]->before(d, token, args);
    }
}

void tl__probes_after(const struct tl_device *d, struct tl_token *token)
{
    FOR_EACH(i, d->probes.after)
    {
        tl__probe_rows[i]->after(d, token);
    }
}

bool tl__probes_subtask(struct tl_scheduler *s, struct tl_core_role *core)
{
    struct tl_token *token = &core->token[core->seen & 1];

    FOR_EACH(i, s->device->probes.subtask & ~token->recorded)
    {
        if (tl__probe_rows[i]->subtask(s, core, token) == TL_EAGAIN)
            return false;
        token->recorded |= 1u << i; /* also where it was lost, and counted */
    }
    return true;
}

void tl__probes_expected(struct tl_scheduler *s, const struct tl_slot *slot)
{
    FOR_EACH(i, s->device->probes.expected)
    {
        s->rec.expected[i] += tl__probe_rows[i]->expected(s, slot);
    }
}

bool tl__probes_hung(struct tl_scheduler *s)
{
    FOR_EACH(i, s->device->probes.hung)
    {
        if (tl__probe_rows[i]->hung(s) == TL_EAGAIN)
            return false;
    }
    return true;
}

void tl__probes_submit(struct tl_orch *o, const struct tl_plan *plan, struct tl_tensor *const *allocated,
                       uint32_t count)
{
    FOR_EACH(i, o->device->probes.submit)
    {
        tl__probe_rows[i]->submit(o, plan, allocated, count);
    }
}

void tl__probes_submitted(struct tl_orch *o, uint64_t task_id, uint64_t start)
{
    FOR_EACH(i, o->device->probes.submitted)
    {
        tl__probe_rows[i]->submitted(o, task_id, start);
    }
}

void tl__probes_scope(struct tl_orch *o, const struct tl_scope_info *scope, unsigned boundary)
{
    FOR_EACH(i, o->device->probes.scope)
    {
        tl__probe_rows[i]->scope(o, scope, boundary);
    }
}

void tl__probes_end(struct tl_orch *o, bool failed)
{
    FOR_EACH(i, o->device->probes.end)
    {
        tl__probe_rows[i]->end(o, failed);
    }
}
