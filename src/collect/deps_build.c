/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/deps_build.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "graph/region.h"

#define FIRST_SLOTS 64u

void tl__deps_build_fini(struct tl_deps_builder *b)
{
    tl_vec_fini(&b->tasks);
    tl_vec_fini(&b->args);
    tl_vec_fini(&b->buffers);
    tl_vec_fini(&b->tensors);
    tl_vec_fini(&b->edges);
    tl_vec_fini(&b->filtered);
    for (unsigned i = 0; i < TL_DEPS_RINGS; i++)
        tl_vec_fini(&b->by_local[i]);
    tl__free(b->places);
    tl__free(b->by_tensor);
    memset(b, 0, sizeof(*b));
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

static size_t mix(uint64_t key)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(key ^ key >> 32);
}

static struct tl_deps_place *place_slot(struct tl_deps_place *places, size_t slots, uint64_t addr)
{
    size_t at = mix(addr) & (slots - 1);

    assert(slots != 0 && (slots & (slots - 1)) == 0); /* CI12 */
    while (places[at].used && places[at].addr != addr)
        at = (at + 1) & (slots - 1);
    return &places[at];
}

static int grow_places(struct tl_deps_builder *b)
{
    size_t slots = b->place_slots == 0 ? FIRST_SLOTS : b->place_slots * 2;
    struct tl_deps_place *more;

    if (b->n_places * 2 < b->place_slots)
        return 0;
    more = tl__alloc(slots, sizeof(*more));
    if (more == NULL)
        return TL_ENOMEM;
    for (size_t i = 0; i < b->place_slots; i++)
        if (b->places[i].used)
            *place_slot(more, slots, b->places[i].addr) = b->places[i];
    tl__free(b->places);
    b->places = more;
    b->place_slots = slots;
    assert(b->n_places * 2 < b->place_slots); /* CI12 */
    return 0;
}

/* The version of the address that this tensor is. */
static int version_of(struct tl_deps_builder *b, const struct tl_tensor *t, uint32_t *ret_version)
{
    struct tl_deps_place *p;

    if (grow_places(b) < 0)
        return TL_ENOMEM;
    p = place_slot(b->places, b->place_slots, t->buffer);
    if (!p->used) {
        *p = (struct tl_deps_place){.addr = t->buffer, .owner = t->owner, .used = true};
        b->n_places++;
    } else if (p->owner != t->owner) {
        p->owner = t->owner;
        p->base = p->top + 1;
    }
    *ret_version = p->base + t->version;
    if (*ret_version > p->top)
        p->top = *ret_version;
    return 0;
}

static uint32_t *tensor_slot(uint32_t *slots, size_t n, const struct tl_deps_tensor *tensors, uint64_t id)
{
    size_t at = mix(id) & (n - 1);

    assert(n != 0 && (n & (n - 1)) == 0); /* CI12 */
    while (slots[at] != 0 && tensors[slots[at] - 1].tensor_id != id)
        at = (at + 1) & (n - 1);
    return &slots[at];
}

static int grow_tensors(struct tl_deps_builder *b)
{
    size_t slots = b->tensor_slots == 0 ? FIRST_SLOTS : b->tensor_slots * 2;
    uint32_t *more;

    if (b->tensors.count * 2 < b->tensor_slots)
        return 0;
    more = tl__alloc(slots, sizeof(*more));
    if (more == NULL)
        return TL_ENOMEM;
    for (size_t i = 0; i < b->tensors.count; i++)
        *tensor_slot(more, slots, b->tensors.items, b->tensors.items[i].tensor_id) = (uint32_t)i + 1;
    tl__free(b->by_tensor);
    b->by_tensor = more;
    b->tensor_slots = slots;
    assert(b->tensors.count * 2 < b->tensor_slots); /* CI12 */
    return 0;
}

static uint8_t known_dtype(unsigned dtype)
{
    return (uint8_t)(dtype < TL_DTYPE_COUNT ? dtype : TL_DTYPE_COUNT);
}

static uint64_t numel_of(const struct tl_tensor *t)
{
    unsigned bits = tl_dtype_bits(t->dtype);

    return bits == 0 ? t->buffer_bytes : t->buffer_bytes / bits * 8 + t->buffer_bytes % bits * 8 / bits;
}

static int tensor_add(struct tl_deps_builder *b, const struct tl_tensor *t, uint64_t *ret_id)
{
    uint32_t version = 0, *slot;
    uint64_t id;

    if (version_of(b, t, &version) < 0 || grow_tensors(b) < 0)
        return TL_ENOMEM;
    *ret_id = id = tl__deps_tensor_id(t->buffer, version);
    slot = tensor_slot(b->by_tensor, b->tensor_slots, b->tensors.items, id);
    assert(*slot <= b->tensors.count); /* CI12 */
    if (*slot != 0)
        return 0;
    *slot = (uint32_t)b->tensors.count + 1;
    return tl_vec_push(&b->tensors, ((struct tl_deps_tensor){.tensor_id = id,
                                                             .buffer_addr = t->buffer,
                                                             .buffer_numel = numel_of(t),
                                                             .version = version,
                                                             .dtype = known_dtype(t->dtype)}));
}

/* --- tasks -------------------------------------------------------------------------------------------------------- */

/* A rank that the file cannot hold is none, as in the dump. */
static struct tl_deps_view view_of(const struct tl_region *r)
{
    struct tl_deps_view v = {.start_offset = r->start_offset, .dtype = known_dtype(r->dtype)};

    if (r->rank > TL_MAX_DIMS)
        return v;
    v.rank = r->rank;
    memcpy(v.strides, r->strides, sizeof(v.strides));
    memcpy(v.shape, r->shape, sizeof(v.shape));
    return v;
}

static int arg_add(struct tl_deps_builder *b, const struct tl_wire_deps_arg *w)
{
    struct tl_deps_arg arg = {.idx = w->arg, .type = w->direction, .has_view = true};
    struct tl_region region;

    assert(b->args.count == b->buffers.count); /* CI12 */
    tl__region_of(&w->tensor, &region);
    arg.view = view_of(&region);
    if (tensor_add(b, &w->tensor, &arg.tensor_id) < 0 || tl_vec_push(&b->buffers, w->tensor.buffer) < 0)
        return TL_ENOMEM;
    return tl_vec_push(&b->args, arg);
}

static int edge_add(struct tl_deps_builder *b, const struct tl_deps_found *f, const struct tl_deps_task *task)
{
    struct tl_deps_edge e = {
        .pred = f->pred, .succ = task->task_id, .arg = f->arg, .source = f->source, .flags = TL_DEPS_HAS_FLAGS};

    assert(f->arg < (int)task->n_args && f->source <= TL_EDGE_TENSORMAP); /* CI14 */
    assert(b->filtered.count <= b->edges.count);                          /* CI12 */
    if ((f->flags & TL_EDGE_WAIT) != 0)
        e.flags |= TL_DEPS_WAIT;
    if ((f->flags & TL_EDGE_RETAIN) != 0)
        e.flags |= TL_DEPS_RETAIN;
    if (f->arg >= 0) {
        const struct tl_deps_arg *arg = &b->args.items[task->first_arg + (uint32_t)f->arg];

        e.tensor_id = arg->tensor_id;
        e.consumer = arg->view;
    }
    if (f->source == TL_EDGE_TENSORMAP) {
        e.overlap = (f->flags & TL_EDGE_COVERED) != 0 ? TL_DEPS_COVERED : TL_DEPS_OTHER;
        e.producer = view_of(&f->producer);
    }
    if (b->edges.count >= TL_DEPS_MAX_EDGES)
        return TL_ERANGE;
    if (f->gone && tl_vec_push(&b->filtered, e) < 0)
        return TL_ENOMEM;
    return tl_vec_push(&b->edges, e);
}

int tl__deps_build_add(struct tl_deps_builder *b, const struct tl_deps_submit *s, const struct tl_deps_found *found,
                       size_t n_found)
{
    const struct tl_wire_deps_task *w = s->task;
    struct tl_deps_task task = {.task_id = w->task_id,
                                .first_arg = b->args.count,
                                .kernel_ids = {w->func[0], w->func[1], w->func[2]},
                                .block_num = w->block_num,
                                .n_args = w->n_args,
                                .manual = (w->flags & TL_WIRE_DEPS_MANUAL) != 0};
    int code;

    assert(w->task_id >> 32 < TL_DEPS_RINGS);                            /* CI13 */
    assert(b->by_local[w->task_id >> 32].count == (uint32_t)w->task_id); /* CI13 */
    code = tl_vec_push(&b->by_local[w->task_id >> 32], (uint32_t)b->tasks.count);
    for (uint32_t i = 0; i < w->n_args && code == 0; i++)
        code = arg_add(b, &s->args[i]);
    for (size_t i = 0; i < n_found && code == 0; i++)
        code = edge_add(b, &found[i], &task);
    return code < 0 ? code : tl_vec_push(&b->tasks, task);
}

bool tl__deps_build_lookup(void *ctx, uint64_t task, uint64_t buffer, uint32_t hash, struct tl_region *ret_region)
{
    const struct tl_deps_builder *b = ctx;
    const struct tl_deps_task *t;

    if (task >> 32 >= TL_DEPS_RINGS || (uint32_t)task >= b->by_local[task >> 32].count)
        return false;
    assert(b->by_local[task >> 32].items[(uint32_t)task] < b->tasks.count); /* CI12 */
    t = &b->tasks.items[b->by_local[task >> 32].items[(uint32_t)task]];
    assert(t->task_id == task && t->first_arg + t->n_args <= b->args.count); /* CI12 */
    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct tl_deps_view *v = &b->args.items[t->first_arg + i].view;
        struct tl_region region = {.start_offset = v->start_offset, .dtype = v->dtype, .rank = v->rank};

        memcpy(region.strides, v->strides, sizeof(region.strides));
        memcpy(region.shape, v->shape, sizeof(region.shape));
        if (b->buffers.items[t->first_arg + i] != buffer || tl__region_hash(&region) != hash)
            continue;
        *ret_region = region;
        return true;
    }
    return false;
}

struct tl_deps tl__deps_build_view(const struct tl_deps_builder *b)
{
    assert(b->args.count == b->buffers.count && b->filtered.count <= b->edges.count); /* CI12 */
    return (struct tl_deps){.tasks = b->tasks.items,
                            .args = b->args.items,
                            .tensors = b->tensors.items,
                            .edges = b->edges.items,
                            .filtered = b->filtered.items,
                            .n_tasks = b->tasks.count,
                            .n_args = b->args.count,
                            .n_tensors = b->tensors.count,
                            .n_edges = b->edges.count,
                            .n_filtered = b->filtered.count,
                            .has_filtered = true};
}
