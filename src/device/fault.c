/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a fault in terms of the program: kernel, task, argument. All of it may run in a signal handler. */
#include "device/fault.h"

#include "base/count_of.h"
#include "device/device_impl.h"

#define NULL_PAGE UINT64_C(4096)       /* an address below it comes from a null pointer */
#define NEAR_BYTES (UINT64_C(1) << 40) /* an address further than that from an argument has nothing to do with it */

_Thread_local const struct tl_current *tl__current;

static const uint8_t *buffer_of(const struct tl_device *d, const struct tl_tensor *t)
{
    return tl__dev_ptr(&d->opts.memory, t->buffer, t->buffer_bytes);
}

struct tl_fault_place tl__fault_place(uint64_t start, uint64_t bytes, uint32_t arg, uint64_t address)
{
    if (address < start)
        return (struct tl_fault_place){TL_SIDE_BEFORE, arg, start - address};
    if (address - start >= bytes)
        return (struct tl_fault_place){TL_SIDE_PAST, arg, address - start - bytes};
    return (struct tl_fault_place){TL_SIDE_INSIDE, arg, address - start};
}

static bool is_output(uint8_t direction)
{
    return direction == TL_OUT || direction == TL_INOUT || direction == TL_OUT_EXISTING;
}

/* The nearest tensor; of two at the same distance (views of one buffer) the one that fits the access. */
static struct tl_fault_place find_place(const struct tl_current *c, const struct tl_fault *f)
{
    const struct tl_task_payload *p = c->slot->payload;
    struct tl_fault_place best = {TL_SIDE_NONE, 0, 0};
    bool best_fits = false;

    for (uint32_t i = 0; i < p->n_tensors && i < TL_MAX_TENSORS; i++) {
        const uint8_t *start = buffer_of(c->device, &p->tensors[i]);
        struct tl_fault_place here = tl__fault_place((uintptr_t)start, p->tensors[i].buffer_bytes, i, f->address);
        bool fits = is_output(p->direction[i]) == (f->access == TL_ACCESS_WRITE);
        uint64_t far = here.side == TL_SIDE_INSIDE ? 0 : here.distance + 1;
        uint64_t best_far = best.side == TL_SIDE_INSIDE ? 0 : best.distance + 1;

        if (start == NULL || far > NEAR_BYTES)
            continue;
        if (best.side == TL_SIDE_NONE || far < best_far || (far == best_far && fits && !best_fits)) {
            best = here;
            best_fits = fits;
        }
    }
    return best;
}

/* ---- words ---- */

void tl__fault_put_task(struct tl_text *t, uint64_t id)
{
    tl__text_put(t, "task r");
    tl__text_dec(t, tl__task_ring(id));
    tl__text_put(t, "t");
    tl__text_dec(t, tl__task_local(id));
}

static void put_kernel(struct tl_text *t, const struct tl_current *c)
{
    tl__text_put(t, "kernel \"");
    tl__text_put(t, c->kernel->name);
    tl__text_put(t, "\"");
}

static void put_core(struct tl_text *t, const struct tl_core_role *core)
{
    tl__text_put(t, core->kind == TL_KIND_AIC ? "AIC core " : "AIV core ");
    tl__text_dec(t, core->id);
}

/* "out float32[4,8]" */
void tl__fault_put_tensor(struct tl_text *t, const struct tl_task_payload *p, uint32_t i)
{
    static const char *const names[] = {"no_dep", "in", "out", "inout", "out", "scalar"};
    const struct tl_tensor *tensor = &p->tensors[i];

    tl__text_put(t, names[p->direction[i] % 6]);
    tl__text_put(t, " ");
    tl__text_put(t, tl_dtype_name(tensor->dtype));
    tl__text_put(t, "[");
    for (unsigned k = 0; k < tensor->rank && k < TL_MAX_DIMS; k++) {
        if (k > 0)
            tl__text_put(t, ",");
        tl__text_dec(t, tensor->shape[k]);
    }
    tl__text_put(t, "]");
}

/* "64 bytes past the end of " */
void tl__fault_put_place(struct tl_text *t, const struct tl_fault_place *place)
{
    if (place->side == TL_SIDE_INSIDE)
        tl__text_put(t, "at byte ");
    tl__text_dec(t, place->distance);
    if (place->side != TL_SIDE_INSIDE)
        tl__text_put(t, place->distance == 1 ? " byte" : " bytes");
    tl__text_put(t, place->side == TL_SIDE_PAST     ? " past the end of "
                    : place->side == TL_SIDE_BEFORE ? " before the start of "
                                                    : " of ");
}

static const char *access_name(uint8_t access)
{
    static const char *const names[] = {"an access", "a read", "a write", "a jump"};

    return names[access < COUNT_OF(names) ? access : 0];
}

/* What was done wrong: "a write 64 bytes past the end of argument 1 (out float32[64])". */
static void put_cause(struct tl_text *t, const struct tl_current *c, const struct tl_fault *f,
                      const struct tl_fault_place *place)
{
    if (f->overflow) {
        tl__text_put(t, "the stack overflowed");
        return;
    }
    if (f->how != NULL) {
        tl__text_put(t, f->how);
        return;
    }
    tl__text_put(t, access_name(f->access));
    if (f->hidden) {
        tl__text_put(t, " with an invalid address, such as a device address used as a pointer");
    } else if (f->address < NULL_PAGE) {
        tl__text_put(t, f->address == 0 ? " through a null pointer" : " through a null pointer, at offset ");
        if (f->address != 0)
            tl__text_dec(t, f->address);
    } else if (place->side != TL_SIDE_NONE) {
        tl__text_put(t, " ");
        tl__fault_put_place(t, place);
        tl__text_put(t, "argument ");
        tl__text_dec(t, place->arg);
        tl__text_put(t, " (");
        tl__fault_put_tensor(t, c->slot->payload, place->arg);
        tl__text_put(t, ")");
    } else {
        tl__text_put(t, f->access == TL_ACCESS_JUMP ? " to" : " at");
        tl__text_put(t, " an address without memory");
        if (c != NULL && c->core != NULL)
            tl__text_put(t, ", far from every argument");
    }
}

/* ---- the line ---- */

static void put_who(struct tl_text *t, const struct tl_current *c)
{
    if (c == NULL)
        tl__text_put(t, "a thread that runs no kernel");
    else if (c->core == NULL)
        tl__text_put(t, "the orchestration");
    else
        put_kernel(t, c);
}

static void put_where(struct tl_text *t, const struct tl_current *c)
{
    if (c == NULL)
        return;
    if (c->core == NULL) {
        struct tl_device *d = (struct tl_device *)(uintptr_t)c->device;
        uint64_t allocations = tl_load_rlx(&d->retired_early); /* relaxed, both: this thread's own */
        uint64_t submitted = tl_load_rlx(&d->submitted) - allocations;

        tl__text_put(t, ", after ");
        tl__text_dec(t, submitted);
        tl__text_put(t, submitted == 1 ? " submitted task" : " submitted tasks");
        if (allocations != 0) {
            tl__text_put(t, " and ");
            tl__text_dec(t, allocations);
            tl__text_put(t, allocations == 1 ? " allocation" : " allocations");
        }
        return;
    }
    tl__text_put(t, ", ");
    tl__fault_put_task(t, c->slot->payload->id);
    tl__text_put(t, " on ");
    put_core(t, c->core);
}

static void put_line(struct tl_text *t, const struct tl_current *c, const struct tl_fault *f,
                     const struct tl_fault_place *place)
{
    if (f->signal == NULL) {
        put_who(t, c);
        tl__text_put(t, " called ");
        tl__text_put(t, f->called);
        put_where(t, c);
        return;
    }
    tl__text_put(t, f->signal);
    if (f->has_address) {
        tl__text_put(t, " at address ");
        tl__text_hex(t, f->address, 1);
    }
    tl__text_put(t, " in ");
    put_who(t, c);
    put_where(t, c);
    tl__text_put(t, ": ");
    put_cause(t, c, f, place);
}

/* ---- the block ---- */

static void put_running(struct tl_text *t, const struct tl_current *c)
{
    const char *between = " of the mix ";

    put_who(t, c);
    put_where(t, c);
    if (c == NULL || c->core == NULL)
        return;
    if (c->slot->payload->block_num > 1) {
        tl__text_put(t, ", block ");
        tl__text_dec(t, c->block);
        tl__text_put(t, " of ");
        tl__text_dec(t, c->slot->payload->block_num);
    }
    for (unsigned k = 0; c->slot->shape == TL_SHAPE_MIX && k < TL_KIND_COUNT; k++)
        if (c->slot->kernels[k] != NULL) {
            tl__text_put(t, between);
            tl__text_put(t, c->slot->kernels[k]->name);
            between = " + ";
        }
}

static void put_event(struct tl_text *t, const struct tl_current *c, const struct tl_fault *f,
                      const struct tl_fault_place *place)
{
    if (f->signal == NULL) {
        tl__text_put(t, "it called ");
        tl__text_put(t, f->called);
    } else {
        tl__text_put(t, f->signal);
        tl__text_put(t, ": ");
        put_cause(t, c, f, place);
        if (f->has_address) {
            tl__text_put(t, "; the address is ");
            tl__text_hex(t, f->address, 1);
        }
    }
    tl__text_put(t, "\n");
    if (f->code == 0 || f->in_program) /* the host says where in the program */
        return;
    tl__text_put(t, "the code at ");
    tl__text_hex(t, f->code, 1);
    tl__text_put(t, ", outside of the program\n");
}

void tl__fault_put_args(struct tl_text *t, const struct tl_device *d, const struct tl_slot *slot,
                        const struct tl_fault_place *place)
{
    const struct tl_task_payload *p = slot->payload;
    const uint64_t *scalars = tl__payload_scalars(p);

    for (uint32_t i = 0; i < p->n_tensors; i++) {
        uint64_t start = (uintptr_t)buffer_of(d, &p->tensors[i]);

        tl__text_put(t, "argument ");
        tl__text_dec(t, i);
        tl__text_put(t, ": ");
        tl__fault_put_tensor(t, p, i);
        tl__text_put(t, ", buffer ");
        tl__text_hex(t, start, 1);
        tl__text_put(t, " to ");
        tl__text_hex(t, start + p->tensors[i].buffer_bytes, 1);
        if (place->side != TL_SIDE_NONE && place->arg == i) {
            tl__text_put(t, "  <- ");
            tl__fault_put_place(t, place);
            tl__text_put(t, "it");
        }
        tl__text_put(t, "\n");
    }
    for (uint32_t i = 0; i < p->n_scalars; i++) {
        tl__text_put(t, "argument ");
        tl__text_dec(t, p->n_tensors + i);
        tl__text_put(t, ": ");
        tl__text_put(t, tl_dtype_name(p->scalar_dtype[i]));
        tl__text_put(t, " ");
        tl__text_hex(t, scalars[i], 1);
        tl__text_put(t, "\n");
    }
}

/* The run will not report any more. */
static void put_counts(const struct tl_current *c, struct tl_run_status *status)
{
    struct tl_device *d = (struct tl_device *)(uintptr_t)c->device;

    tl__device_report_counts(d, status);
    status->wall_ns = tl__now_ns() - d->began_ns;
}

enum tl_current_kind tl__device_current(void)
{
    return tl__current == NULL         ? TL_CURRENT_NONE
           : tl__current->core == NULL ? TL_CURRENT_ORCHESTRATION
                                       : TL_CURRENT_KERNEL;
}

void tl__device_whose(char *to, size_t size)
{
    struct tl_text t = tl__text(to, size);

    if (tl__current == NULL)
        return;
    put_who(&t, tl__current);
    put_where(&t, tl__current);
}

void tl__device_describe(const struct tl_fault *fault, struct tl_run_status *status)
{
    const struct tl_current *c = tl__current;
    struct tl_text text = tl__text(status->message, sizeof(status->message));
    struct tl_fault_place place = {TL_SIDE_NONE, 0, 0};

    if (fault->has_address && !fault->overflow && fault->address >= NULL_PAGE && c != NULL && c->core != NULL)
        place = find_place(c, fault);
    put_line(&text, c, fault, &place);
    if (c != NULL)
        put_counts(c, status);
    text = tl__text(status->block, sizeof(status->block));
    put_running(&text, c);
    tl__text_put(&text, "\n");
    put_event(&text, c, fault, &place);
    if (c != NULL && c->core != NULL)
        tl__fault_put_args(&text, c->device, c->slot, &place);
}
