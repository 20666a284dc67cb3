/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the canaries, and the report of a damaged one. */
#include "base/guard_layout.h"
#include "base/text.h"
#include "device/device_impl.h"
#include "device/fault.h"

static bool find_damage(const struct tl_device *d, uint64_t start, uint64_t end, uint64_t *ret_address)
{
    for (uint64_t a = start; a < end; a++)
        if (*tl__guard_at(d, a) != tl__guard_canary(a)) {
            *ret_address = a;
            return true;
        }
    return false;
}

/* The lowest address beside the buffer that has been written to. */
static bool is_damaged(const struct tl_device *d, const struct tl_guarded *g, uint64_t *ret_address)
{
    uint64_t page = tl__guard_page(g->buffer, g->bytes);

    return find_damage(d, tl__guard_first(g->buffer), g->buffer, ret_address) ||
           find_damage(d, g->buffer + g->bytes, g->soft ? page + TL_GUARD_PAGE : page, ret_address);
}

/* "kernel "a"" or "kernels "a" + "b"", and the task. */
static void put_task(struct tl_text *t, const struct tl_slot *slot)
{
    const char *between = slot->shape == TL_SHAPE_MIX ? "kernels \"" : "kernel \"";

    for (unsigned k = 0; k < TL_KIND_COUNT; k++)
        if (slot->kernels[k] != NULL) {
            tl__text_put(t, between);
            tl__text_put(t, slot->kernels[k]->name);
            between = "\" + \"";
        }
    tl__text_put(t, "\", ");
    tl__fault_put_task(t, slot->payload->id);
}

/* Fails the run with `line`, which is also the first line of the block. False: the run had failed before. */
static bool fail(struct tl_device *d, const char *line, struct tl_text *ret_block)
{
    if (!tl__device_fail(d, TL_ECRASH, line))
        return false;
    *ret_block = tl__text(d->status->block, sizeof(d->status->block));
    tl__text_put(ret_block, line);
    tl__text_put(ret_block, "\n");
    return true;
}

/* A finished task's argument. An input has other readers: one that ran at the same time may have written. */
static void report_arg(struct tl_device *d, const struct tl_slot *slot, uint32_t arg, uint64_t address)
{
    const struct tl_tensor *tensor = &slot->payload->tensors[arg];
    const struct tl_fault_place place = tl__fault_place(tensor->buffer, tensor->buffer_bytes, arg, address);
    char line[900];
    struct tl_text t = tl__text(line, sizeof(line));

    put_task(&t, slot);
    tl__text_put(&t, slot->payload->direction[arg] == TL_IN ? ", or a task that ran beside it, wrote " : ", wrote ");
    tl__fault_put_place(&t, &place);
    tl__text_put(&t, "argument ");
    tl__text_dec(&t, arg);
    tl__text_put(&t, " (");
    tl__fault_put_tensor(&t, slot->payload, arg);
    tl__text_put(&t, "): found by --guard when the task was finished");
    if (fail(d, line, &t))
        tl__fault_put_args(&t, d, slot, &place);
}

/* A buffer that was damaged after the last task that had it. */
static void report_stray(struct tl_device *d, const struct tl_guarded *g, uint64_t address)
{
    const struct tl_fault_place place = tl__fault_place(g->buffer, g->bytes, g->arg, address);
    char line[900];
    struct tl_text t = tl__text(line, sizeof(line));

    tl__text_put(&t, "some task wrote ");
    tl__fault_put_place(&t, &place);
    if (g->owner == TL_NO_TASK) {
        tl__text_put(&t, "the program's tensor ");
        tl__text_dec(&t, g->arg);
    } else {
        tl__text_put(&t, "the buffer that ");
        tl__fault_put_task(&t, g->owner);
        tl__text_put(&t, " allocated as its tensor ");
        tl__text_dec(&t, g->arg);
    }
    tl__text_put(&t, ", which was not, or no longer, its argument: found by --guard at the end of the run");
    (void)fail(d, line, &t);
}

static void check_args(struct tl_device *d, const struct tl_slot *slot, bool outputs)
{
    const struct tl_task_payload *p = slot->payload;
    uint64_t address;

    for (uint32_t i = 0; i < p->n_tensors; i++) {
        const struct tl_guarded *g;

        if (p->direction[i] == TL_NO_DEP || (p->direction[i] != TL_IN) != outputs)
            continue;
        g = tl__guard_find(d, &p->tensors[i]);
        if (g != NULL && is_damaged(d, g, &address))
            report_arg(d, slot, i, address);
    }
}

void tl__guard_check(struct tl_device *d, const struct tl_slot *slot)
{
    check_args(d, slot, true); /* first: much more likely to be written past */
    check_args(d, slot, false);
}

void tl__guard_check_all(struct tl_device *d)
{
    uint64_t address;

    for (uint32_t i = 0; i < d->guard.n_program; i++)
        if (is_damaged(d, &d->guard.program[i], &address))
            report_stray(d, &d->guard.program[i], address);
    for (unsigned r = 0; r < TL_GRAPH_RINGS; r++)
        for (uint64_t i = 0; i < d->guard.heap[r].pages; i++) {
            const struct tl_guarded *g = &d->guard.heap[r].of_page[i];

            if (g->used && is_damaged(d, g, &address))
                report_stray(d, g, address);
        }
}
