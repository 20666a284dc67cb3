/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PMU on the device. A core counts into the token of the subtask that it runs: what the kernel reports, and what
 * the machine counts around it, so that the two subtasks that a core may hold never mix. The scheduler turns that into
 * the columns of the event type when it takes the subtask back.
 */

#include <string.h>

#include "base/error.h"
#include "device/device_impl.h"
#include "device/probes.h"
#include "wire/pmu_record.h"

#define CORE_CYCLES "CYCLES" /* a column in core cycles is a share of these */

_Static_assert(TL_PMU_MAX_COUNTERS <= TL_WIRE_PMU_COUNTERS, "a set fits into a record");

/* Position of the name among those that are counted; added if it is new. NULL is none: 0. */
static unsigned event_of(struct tl_pmu_plan *plan, const char *name)
{
    unsigned i = 1;

    if (name == NULL)
        return 0;
    while (i < plan->n_names && strcmp(plan->names[i], name) != 0)
        i++;
    if (i == plan->n_names && i <= TL_PMU_MAX_MACHINE)
        plan->names[plan->n_names++] = name;
    return i < plan->n_names ? i : 0;
}

/* Asks the machine for the events of the set's columns, and keeps the columns that it can measure. */
static void ask_machine(struct tl_pmu_plan *plan, const struct tl_counter_ops *ops)
{
    uint32_t counted;

    plan->names[0] = CORE_CYCLES;
    plan->n_names = 1;
    for (uint32_t c = 0; c < plan->set->n_columns; c++) {
        plan->event[c] = (uint8_t)event_of(plan, plan->set->columns[c].machine.event);
        plan->less[c] = (uint8_t)event_of(plan, plan->set->columns[c].machine.less);
    }
    plan->machine = plan->n_names == 1 ? TL_MACHINE_NOT_ASKED : TL_MACHINE_ABSENT;
    if (plan->n_names == 1 || ops == NULL)
        return;
    counted = ops->begin(ops->ctx, plan->names, plan->n_names, &plan->machine);
    for (uint32_t c = 0; c < plan->set->n_columns; c++)
        if (plan->event[c] != 0 && (counted >> plan->event[c] & 1u) != 0 &&
            (plan->less[c] == 0 || (counted >> plan->less[c] & 1u) != 0))
            plan->measured |= (uint16_t)(1u << c);
    if (plan->measured != 0) {
        plan->machine = TL_MACHINE_USED;
        plan->ops = ops;
    }
}

static void pmu_begin(struct tl_device *d)
{
    struct tl_pmu_plan *plan = &d->pmu;

    memset(plan, 0, sizeof(*plan));
    plan->set = tl__pmu_set(d->opts.arch, (uint32_t)d->launch->levels[TL_COLLECT_PMU]);
    if (plan->set == NULL) /* the host has checked it */
        plan->set = tl__pmu_set(d->opts.arch, TL_PMU_DEFAULT_EVENT);
    ask_machine(plan, d->opts.counters);
}

static void pmu_before(const struct tl_device *d, struct tl_token *token, struct tl_kernel_args *args)
{
    const struct tl_pmu_plan *plan = &d->pmu;

    (void)args;
    token->measured = plan->ops != NULL && plan->ops->read(plan->ops->ctx, token->before);
}

static void pmu_after(const struct tl_device *d, struct tl_token *token)
{
    const struct tl_pmu_plan *plan = &d->pmu;

    token->measured = token->measured && plan->ops->read(plan->ops->ctx, token->after);
}

/* The machine's value of a column. */
static uint64_t measured_value(const struct tl_pmu_plan *plan, const struct tl_token *token, unsigned column,
                               uint64_t total_cycles)
{
    const struct tl_pmu_machine *m = &plan->set->columns[column].machine;
    unsigned event = plan->event[column], less = plan->less[column];
    uint64_t value = token->after[event] - token->before[event], core = token->after[0] - token->before[0];

    if (less != 0) {
        uint64_t off = token->after[less] - token->before[less];

        value = value > off ? value - off : 0; /* they are not read at one instant */
    }
    if (m->times != 0)
        return value * m->times;
    return core == 0 ? 0 : (uint64_t)((unsigned __int128)value * total_cycles / core);
}

static void fill_counters(const struct tl_pmu_plan *plan, const struct tl_token *token, struct tl_wire_pmu *r)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < TL_COUNT_CLASSES; i++)
        any |= token->counts[i];
    r->counted = any != 0;
    r->measured = token->measured ? plan->measured : (uint16_t)0;
    for (uint32_t c = 0; c < plan->set->n_columns && (any != 0 || r->measured != 0); c++) {
        if (((unsigned)r->measured >> c & 1u) != 0)
            r->counters[c] = measured_value(plan, token, c, r->total_cycles);
        else if (any != 0)
            r->counters[c] = tl__pmu_model(&plan->set->columns[c], r->core_type, token->counts);
    }
}

static int pmu_record(struct tl_scheduler *s, const struct tl_core_role *core, struct tl_token *token)
{
    const struct tl_pmu_plan *plan = &s->device->pmu;
    struct tl_producer *lane = &s->rec.producer[TL_STREAM_PMU];
    struct tl_wire_pmu *r;
    uint64_t offset;
    void *payload;
    int ret = tl__producer_reserve(lane, 0, &payload, &offset);

    if (ret < 0)
        return ret;
    r = tl__producer_record(lane);
    *r = (struct tl_wire_pmu){.task_id = token->slot->payload->id,
                              .total_cycles = token->end - token->start,
                              .func_id = tl__kernel_of(core, token->slot)->func_id,
                              .block = token->block,
                              .core_id = core->id,
                              .core_type = core->kind == TL_KIND_AIC ? TL_AIC : TL_AIV,
                              .event = (uint8_t)plan->set->event,
                              .machine = plan->machine};
    fill_counters(plan, token, r);
    tl__producer_commit(lane, 0);
    return 0;
}

static uint64_t pmu_expected(const struct tl_scheduler *s, const struct tl_slot *slot)
{
    (void)s;
    return tl__subtasks_of(slot);
}

const struct tl_probe_ops tl__pmu_probe = {.timed = true,
                                           .counted = true,
                                           .begin = pmu_begin,
                                           .before = pmu_before,
                                           .after = pmu_after,
                                           .subtask = pmu_record,
                                           .expected = pmu_expected};
