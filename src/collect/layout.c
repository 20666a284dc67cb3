/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The region in device memory: header, lanes, queues, pools, arenas, in one allocation. It is written here as a whole,
 * while no device uses it, and by narrow fields from then on.
 */
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "collect/engine_impl.h"

#define DEFAULT_RECORDS 256u
#define DEFAULT_BUFFERS 8u
#define DEFAULT_AVG_BYTES UINT64_C(65536)
#define DEFAULT_READY 16u
#define ARENA_ALIGN UINT64_C(4096)
#define LINE UINT64_C(64)

#define STREAM(id, number, collector, name, role, from) [TL_STREAM_##id] = &tl__##name##_collector,
static const struct tl_collector_spec *const specs[TL_STREAM_COUNT] = {
    TL__COLLECTORS(TL__STREAMS_ONLY, TL__COLLECT_NONE, STREAM)};
#undef STREAM

const struct tl_collector_spec *tl__collector_at(unsigned stream)
{
    return stream < TL_STREAM_COUNT ? specs[stream] : NULL;
}

static uint64_t align_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static uint32_t power_of_two(uint32_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

unsigned tl__lanes_of(unsigned stream, unsigned schedulers)
{
    return tl__stream_rows[stream].writer == TL_WRITER_ORCHESTRATOR ? 1 : schedulers;
}

int tl__shape_of(const struct tl_run_config *config, unsigned lanes, struct tl_shape *ret_shape,
                 struct tl_error *reterr)
{
    struct tl_shape s = {.records = config->dfx_records ? config->dfx_records : DEFAULT_RECORDS,
                         .buffers = config->dfx_buffers ? config->dfx_buffers : DEFAULT_BUFFERS};
    uint64_t avg = config->dfx_avg_bytes ? config->dfx_avg_bytes : DEFAULT_AVG_BYTES;
    uint32_t ready = config->dfx_ready ? config->dfx_ready : DEFAULT_READY;
    uint32_t free_depth = config->dfx_free ? config->dfx_free : s.buffers;

    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        if (tl__stream_level(config->levels, i) != 0) {
            s.streams |= 1u << i;
            s.n_lanes += tl__lanes_of(i, lanes);
        }
    if (s.streams == 0)
        return tl__fail(reterr, TL_EINVAL, "no diagnostic is on in this run: there is nothing to collect");
    if (lanes == 0 || s.n_lanes > TL_DFX_MAX_LANES)
        return tl__fail(reterr, TL_ERANGE, "%u schedulers make %u lanes: between 1 and %u lanes in all are possible",
                        lanes, s.n_lanes, TL_DFX_MAX_LANES);
    if (s.records > 1u << 20)
        return tl__fail(reterr, TL_ERANGE, "--dfx-set records=%u: at most %u", s.records, 1u << 20);
    if (s.buffers > 1u << 14)
        return tl__fail(reterr, TL_ERANGE, "--dfx-set buffers=%u: at most %u", s.buffers, 1u << 14);
    if (ready > 1u << 16)
        return tl__fail(reterr, TL_ERANGE, "--dfx-set ready=%u: at most %u", ready, 1u << 16);
    if (free_depth > 1u << 16)
        return tl__fail(reterr, TL_ERANGE, "--dfx-set free=%u: at most %u", free_depth, 1u << 16);
    if (avg > UINT64_C(1) << 40)
        return tl__fail(reterr, TL_ERANGE, "--dfx-set avg-bytes=%llu: at most 1 TiB", (unsigned long long)avg);
    s.schedulers = lanes;
    s.ready_depth = power_of_two(ready > s.buffers ? ready : s.buffers);
    s.free_depth = power_of_two(free_depth);
    s.arena_bytes = align_up((uint64_t)s.records * s.buffers * avg, ARENA_ALIGN);
    *ret_shape = s;
    return 0;
}

void tl__shape_add(struct tl_shape *shape, uint32_t streams)
{
    unsigned lanes = 0;

    streams |= shape->streams;
    for (unsigned i = 0; i < TL_STREAM_COUNT; i++)
        if ((streams >> i & 1u) != 0)
            lanes += tl__lanes_of(i, shape->schedulers);
    if (lanes > TL_DFX_MAX_LANES)
        return;
    shape->streams = streams;
    shape->n_lanes = lanes;
}

/* Where things are in the region; offsets from its start. */
struct places {
    uint64_t lanes, total;
    struct {
        uint64_t ready, free, pool, arena, buffer_bytes;
        unsigned stream, role;
    } lane[TL_DFX_MAX_LANES];
};

static void place(const struct tl_shape *s, struct places *p)
{
    uint64_t at = align_up(sizeof(struct tl_dfx_header), LINE);
    unsigned i = 0;

    p->lanes = at;
    at += s->n_lanes * sizeof(struct tl_lane);
    for (unsigned stream = 0; stream < TL_STREAM_COUNT; stream++) {
        if ((s->streams >> stream & 1u) == 0)
            continue;
        for (unsigned role = 0; role < tl__lanes_of(stream, s->schedulers); role++, i++) {
            p->lane[i].stream = stream;
            p->lane[i].role = role;
        }
    }
    for (i = 0; i < s->n_lanes; i++) {
        p->lane[i].ready = at;
        at = align_up(at + (uint64_t)s->ready_depth * sizeof(uint64_t), LINE);
        p->lane[i].free = at;
        at = align_up(at + (uint64_t)s->free_depth * sizeof(uint64_t), LINE);
    }
    for (i = 0; i < s->n_lanes; i++) {
        p->lane[i].buffer_bytes = align_up(tl__buffer_bytes(s->records, specs[p->lane[i].stream]->record_bytes), LINE);
        p->lane[i].pool = at = align_up(at, ARENA_ALIGN);
        at += (uint64_t)s->buffers * p->lane[i].buffer_bytes;
    }
    for (i = 0; i < s->n_lanes; i++) {
        p->lane[i].arena = at = align_up(at, ARENA_ALIGN);
        if (specs[p->lane[i].stream]->has_arena)
            at += s->arena_bytes;
    }
    p->total = align_up(at, ARENA_ALIGN);
}

/* The most that the device can still give in one piece, for the message. */
static uint64_t largest_piece(struct tl_transport *t, uint64_t below)
{
    uint64_t lo = 0, hi = below, addr;

    while (hi - lo > ARENA_ALIGN) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (t->ops->alloc(t, mid, &addr) == 0) {
            t->ops->free(t, addr, mid);
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static int too_large(struct tl_engine *e, const struct tl_shape *s, uint64_t need, struct tl_error *reterr)
{
    uint64_t have = largest_piece(e->transport, need);

    return tl__fail(
        reterr, TL_ENOMEM,
        "the recording's pools need %llu bytes of device memory (%u lanes, arena %llu bytes each) and %llu are free: "
        "%llu short; lower --dfx-set avg-bytes, records or buffers",
        (unsigned long long)need, s->n_lanes, (unsigned long long)s->arena_bytes, (unsigned long long)have,
        (unsigned long long)(need - have));
}

static int lane_init(struct tl_engine *e, const struct tl_shape *s, const struct places *p, unsigned i)
{
    struct tl_hlane *l = &e->lanes[i];
    struct tl_lane *v = (struct tl_lane *)(void *)(e->region_view + p->lanes) + i;
    const struct tl_collector_spec *spec = specs[p->lane[i].stream];

    l->engine = e;
    l->shard = &e->shards[i % e->n_shards];
    l->spec = spec;
    l->index = i;
    l->addr = e->region_addr + p->lanes + i * sizeof(struct tl_lane);
    l->view = v;
    l->buffer_bytes = p->lane[i].buffer_bytes;
    l->pool_addr = e->region_addr + p->lane[i].pool;
    l->pool_view = e->region_view + p->lane[i].pool;
    l->ready_addr = e->region_addr + p->lane[i].ready;
    l->ready_view = (uint64_t *)(void *)(e->region_view + p->lane[i].ready);
    l->free_addr = e->region_addr + p->lane[i].free;
    l->free_view = (uint64_t *)(void *)(e->region_view + p->lane[i].free);
    l->arena_bytes = spec->has_arena ? s->arena_bytes : 0;
    l->arena_addr = spec->has_arena ? e->region_addr + p->lane[i].arena : 0;
    l->arena_view = spec->has_arena ? e->region_view + p->lane[i].arena : NULL;
    l->n_buffers = s->buffers;
    l->records = s->records;
    l->record_bytes = spec->record_bytes;
    l->ready_depth = s->ready_depth;
    l->free_depth = s->free_depth;
    l->mark = s->buffers < s->free_depth ? s->buffers : s->free_depth;
    l->recycled = tl__alloc(s->buffers, sizeof(*l->recycled));
    l->state = tl__alloc(s->buffers, sizeof(*l->state));
    l->copy = tl__alloc(1, spec->record_bytes);
    v->stream = spec->stream;
    v->role = p->lane[i].role;
    v->shard = l->shard->index;
    v->n_buffers = l->n_buffers;
    v->records_per_buffer = l->records;
    v->record_bytes = l->record_bytes;
    v->ready_depth = l->ready_depth;
    v->free_depth = l->free_depth;
    v->pool = l->pool_addr;
    v->buffer_bytes = l->buffer_bytes;
    v->ready_queue = l->ready_addr;
    v->free_queue = l->free_addr;
    v->arena = l->arena_addr;
    v->arena_bytes = l->arena_bytes;
    return l->recycled != NULL && l->state != NULL && l->copy != NULL ? 0 : TL_ENOMEM;
}

void tl__layout_drop(struct tl_engine *e)
{
    for (unsigned i = 0; i < e->n_lanes; i++) {
        tl__free(e->lanes[i].recycled);
        tl__free(e->lanes[i].state);
        tl__free(e->lanes[i].copy);
    }
    tl__free(e->lanes);
    for (unsigned i = 0; i < e->n_shards; i++) {
        tl__free(e->shards[i].returned);
        e->shards[i].returned = NULL;
    }
    if (e->region_addr != 0)
        e->transport->ops->free(e->transport, e->region_addr, e->region_bytes);
    e->lanes = NULL;
    e->n_lanes = 0;
    e->region_addr = e->region_bytes = 0;
    e->region_view = NULL;
    e->header = NULL;
    memset(&e->shape, 0, sizeof(e->shape));
}

/* Header, lanes and queues, from zero. The pools and arenas stay untouched until they are used. */
static int fill(struct tl_engine *e, const struct tl_shape *s, const struct places *p)
{
    uint64_t control = p->lane[0].pool;

    memset(e->region_view, 0, control);
    e->header = (struct tl_dfx_header *)(void *)e->region_view;
    e->header->magic = TL_DFX_MAGIC;
    e->header->version = TL_DFX_VERSION;
    e->header->n_lanes = s->n_lanes;
    e->header->lanes = e->region_addr + p->lanes;
    e->lanes = tl__alloc(s->n_lanes, sizeof(*e->lanes));
    if (e->lanes == NULL)
        return TL_ENOMEM;
    e->n_lanes = s->n_lanes;
    for (unsigned i = 0; i < s->n_lanes; i++)
        if (lane_init(e, s, p, i) < 0)
            return TL_ENOMEM;
    for (unsigned i = 0; i < e->n_shards; i++) {
        e->shards[i].returned = tl__alloc((size_t)s->n_lanes * s->buffers, sizeof(*e->shards[i].returned));
        if (e->shards[i].returned == NULL)
            return TL_ENOMEM;
    }
    return e->transport->ops->copy_to_device(e->transport, e->region_addr, e->region_view, control);
}

int tl__layout_build(struct tl_engine *e, const struct tl_shape *shape, struct tl_error *reterr)
{
    struct places p;
    int r;

    tl__layout_drop(e);
    memset(&p, 0, sizeof(p));
    place(shape, &p);
    r = e->transport->ops->alloc(e->transport, p.total, &e->region_addr);
    if (r < 0) {
        e->region_addr = 0;
        return too_large(e, shape, p.total, reterr);
    }
    e->region_bytes = p.total;
    e->region_view = e->transport->ops->reg(e->transport, e->region_addr, p.total);
    r = e->region_view == NULL ? TL_ENOMEM : fill(e, shape, &p);
    if (r < 0) {
        tl__layout_drop(e);
        return tl__fail(reterr, r, "building the recording's pools (%llu bytes): %s", (unsigned long long)p.total,
                        tl_strerror(r));
    }
    e->shape = *shape;
    return 0;
}
