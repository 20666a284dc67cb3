/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the device pays to record an argument: the probe's own code on a lane whose host end is served between the
 * timed stretches, so that only the device's work is timed. Arena and tensors are touched before.
 *
 *     bench_capture [ROUNDS]
 *
 * Prints, for contiguous tensors of several sizes, bytes a second with and without hash beside memcpy into the same
 * arena, as ratios of medians; and the cost of one metadata record (level 3, unmarked) in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/dump_probe.h"
#include "wire/dump_record.h"

#include "median.h"

#define MEMORY_BYTES (UINT64_C(512) << 20)
#define ARENA_BYTES (UINT64_C(64) << 20)
#define RECORDS 256u
#define BUFFERS 8u
#define MAX_ROUNDS 1001

struct rig {
    struct tl_device device;
    struct tl_bell_page *bells;
    struct tl_launch *launch;
    struct tl_lane *lane;
    uint64_t *ready, *free;
    uint64_t used, dfx;
    struct tl_scheduler *sched;
    struct tl_slot slot;
    struct tl_kernel kernel;
};

static uint64_t take(struct rig *r, uint64_t bytes)
{
    uint64_t addr = TL_DEV_BASE + r->used;

    r->used += (bytes + TL_DEV_ALIGN - 1) / TL_DEV_ALIGN * TL_DEV_ALIGN;
    if (r->used > MEMORY_BYTES)
        abort();
    return addr;
}

static void *at(struct rig *r, uint64_t addr)
{
    return tl__dev_ptr(&r->device.opts.memory, addr, 1);
}

static void lane_build(struct rig *r)
{
    uint32_t record_bytes = (uint32_t)sizeof(struct tl_wire_dump_record);
    uint64_t buffer_bytes = tl__buffer_bytes(RECORDS, record_bytes), lane;
    struct tl_dfx_header *h;

    r->dfx = take(r, sizeof(*h));
    lane = take(r, sizeof(*r->lane));
    h = at(r, r->dfx);
    *h = (struct tl_dfx_header){.magic = TL_DFX_MAGIC, .version = TL_DFX_VERSION, .n_lanes = 1, .lanes = lane};
    r->lane = at(r, lane);
    r->lane->n_buffers = BUFFERS;
    r->lane->records_per_buffer = RECORDS;
    r->lane->record_bytes = record_bytes;
    r->lane->ready_depth = r->lane->free_depth = 16;
    r->lane->buffer_bytes = buffer_bytes;
    r->lane->pool = take(r, BUFFERS * buffer_bytes);
    r->lane->ready_queue = take(r, 16 * sizeof(uint64_t));
    r->lane->free_queue = take(r, 16 * sizeof(uint64_t));
    r->lane->arena = take(r, ARENA_BYTES);
    r->lane->arena_bytes = ARENA_BYTES;
    r->ready = at(r, r->lane->ready_queue);
    r->free = at(r, r->lane->free_queue);
    for (uint32_t i = 0; i < BUFFERS; i++)
        r->free[i] = r->lane->pool + i * buffer_bytes;
    tl_store_rel(&r->lane->free_tail, BUFFERS); /* R2 */
    memset(at(r, r->lane->arena), 1, ARENA_BYTES);
}

/* The host's end: all that is ready goes back, all payloads are acknowledged. */
static void serve(struct rig *r)
{
    uint64_t tail = tl_load_acq(&r->lane->ready_tail), head = tl_load_rlx(&r->lane->ready_head); /* A1 */
    uint64_t free_tail = tl_load_rlx(&r->lane->free_tail);

    for (; head != tail; head++)
        r->free[free_tail++ & 15] = r->ready[head & 15];
    tl_store_rel(&r->lane->ready_head, head);                            /* R4 */
    tl_store_rel(&r->lane->free_tail, free_tail);                        /* R2 */
    tl_store_rel(&r->lane->arena_ack, tl_load_rlx(&r->lane->arena_pos)); /* R3 */
}

static void rig_open(struct rig *r, uint32_t level, uint32_t hash)
{
    memset(r, 0, sizeof(*r));
    r->device.opts.memory.bytes = MEMORY_BYTES;
    r->device.opts.memory.base = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    r->bells = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    r->device.opts.bells = r->bells;
    r->launch = at(r, take(r, sizeof(*r->launch)));
    lane_build(r);
    *r->launch = (struct tl_launch){
        .epoch = 1, .dfx = r->dfx, .levels = {[TL_COLLECT_DUMP] = (int32_t)level}, .dump_hash = hash};
    r->device.launch = r->launch;
    r->sched = tl__reserve(sizeof(*r->sched));
    r->sched->device = &r->device;
    if (tl__recorder_begin(&r->sched->rec, &r->device.opts.memory, r->bells, r->launch,
                           tl__streams_on(r->launch->levels, TL_WRITER_SCHEDULER), 0) < 0 ||
        tl__probe_begin(r->sched) < 0)
        abort();
    r->kernel = (struct tl_kernel)TL_KERNEL(0, "k", TL_AIV, NULL, TL_IN, TL_IN, TL_IN);
    r->slot.widest = &r->kernel;
    r->slot.width = 3;
    r->slot.kernels[TL_KIND_AIV0] = &r->kernel;
}

static void rig_close(struct rig *r)
{
    tl__release(r->sched, sizeof(*r->sched));
    munmap(r->bells, 4096);
    munmap(r->device.opts.memory.base, MEMORY_BYTES);
}

/* A task of `n` inputs of `elements` float32 each over one buffer that was touched. */
static void payload_make(struct rig *r, uint32_t n, uint32_t elements)
{
    struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 1, &elements);
    struct tl_task_payload *p = tl__alloc(1, tl__payload_bytes(n, 0));

    t.buffer_bytes = tl_tensor_bytes(&t);
    t.buffer = take(r, t.buffer_bytes);
    memset(at(r, t.buffer), 2, t.buffer_bytes);
    p->func[0] = p->func[2] = -1;
    p->block_num = 1;
    p->n_tensors = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        p->direction[i] = TL_IN;
        p->tensors[i] = t;
    }
    r->slot.payload = p;
}

/* ns for one stretch of captures that fills about half of the arena. */
static double stretch_capture(struct rig *r, unsigned times)
{
    uint64_t began;

    serve(r);
    began = tl__now_ns();
    for (unsigned i = 0; i < times; i++)
        if (tl__probe_task(r->sched, &r->slot, TL_WIRE_BEFORE_DISPATCH) != 0)
            abort();
    return (double)(tl__now_ns() - began);
}

static double stretch_memcpy(struct rig *r, unsigned times)
{
    const struct tl_tensor *t = &r->slot.payload->tensors[0];
    uint8_t *arena = at(r, r->lane->arena);
    uint64_t began = tl__now_ns();

    for (unsigned i = 0; i < times; i++) {
        memcpy(arena + i * t->buffer_bytes, at(r, t->buffer), t->buffer_bytes);
        __asm__ volatile("" ::: "memory");
    }
    return (double)(tl__now_ns() - began);
}

static void measure_bytes(uint32_t elements, int rounds)
{
    double capture[2][MAX_ROUNDS], copy[2][MAX_ROUNDS], c[2], m[2];
    uint64_t bytes = (uint64_t)elements * 4;
    unsigned times = (unsigned)(ARENA_BYTES / 2 / bytes);

    times = times > RECORDS * (BUFFERS - 1) ? RECORDS * (BUFFERS - 1) : times;
    for (uint32_t hash = 0; hash < 2; hash++) {
        struct rig r;

        rig_open(&r, 2, hash);
        payload_make(&r, 1, elements);
        for (int i = -1; i < rounds; i++) {
            double x = stretch_capture(&r, times), y = stretch_memcpy(&r, times);

            if (i < 0)
                continue;
            capture[hash][i] = x;
            copy[hash][i] = y;
        }
        tl__free(r.slot.payload);
        rig_close(&r);
        c[hash] = bench_median(capture[hash], rounds);
        m[hash] = bench_median(copy[hash], rounds);
    }
    printf("%8llu KiB   memcpy %5.1f GB/s   capture %5.1f GB/s ratio %.2f   with hash %5.1f GB/s ratio %.2f\n",
           (unsigned long long)(bytes >> 10), (double)(bytes * times) / m[0], (double)(bytes * times) / c[0],
           m[0] / c[0], (double)(bytes * times) / c[1], m[1] / c[1]);
}

static void measure_records(int rounds)
{
    unsigned tasks = RECORDS * (BUFFERS - 1) / 3;
    double ns[MAX_ROUNDS];
    struct rig r;

    rig_open(&r, 3, 1);
    payload_make(&r, 3, 16);
    for (int i = -1; i < rounds; i++) {
        double x = stretch_capture(&r, tasks);

        if (i >= 0)
            ns[i] = x / (tasks * 3);
    }
    printf("metadata record (level 3, unmarked): %.0f ns\n", bench_median(ns, rounds));
    tl__free(r.slot.payload);
    rig_close(&r);
}

int main(int argc, char **argv)
{
    static const uint32_t elements[] = {16384, 262144, 4194304};
    int rounds = argc > 1 ? atoi(argv[1]) : 15;

    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_capture [ROUNDS 1..%d]\n", MAX_ROUNDS);
        return 2;
    }
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        measure_bytes(elements[i], rounds);
    measure_records(rounds);
    return 0;
}
