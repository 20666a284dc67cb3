/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of test_graph_random.c: buffers in their lives, tasks, a naive list of who touched which bytes, and a
 * device that runs what the plans' preds allow, in any order, on memory that is reused as the rings say. One file
 * includes it.
 */
#ifndef TEST_GRAPH_WORLD_H
#define TEST_GRAPH_WORLD_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/region.h"

#define MAX_TASKS 192u
#define MAX_BUFS 256u
#define MAX_ARGS 4u
#define BUF_BYTES 256u /* at most */
#define HEAP_BYTES_MAX (16u * 1024)
#define OUTSIDE 3u /* buffers of the caller */
#define ANY UINT32_MAX

typedef uint8_t byte_set[BUF_BYTES / 8];

/* A buffer in one of its lives: the same address may come again with another owner. */
struct buf {
    uint64_t addr, owner;
    uint32_t bytes, ring, depth; /* depth of the scope that must be open; 0: always */
    uint32_t scope_serial;
    uint32_t logical[BUF_BYTES]; /* who wrote each byte last, in program order: 1 + task, 0 nobody, ANY unknown */
};

struct arg {
    struct tl_tensor tensor;
    uint32_t buf;
    uint8_t direction;
    byte_set touched;
    uint32_t expected[BUF_BYTES]; /* by byte of the buffer, for reads */
};

struct task {
    tl_task_id id;
    uint32_t n_args, n_preds, retainers; /* retainers: incomplete successors that keep it */
    struct arg args[MAX_ARGS];
    uint32_t preds[MAX_TASKS * 2], pred_flags[MAX_TASKS * 2];
    bool complete, released;
};

struct note { /* the naive tensormap: one line an access */
    uint32_t task, buf;
    bool writes, alive, replaced; /* replaced: a later write covers it; alive: neither that, nor is its task retired */
    byte_set touched;
    struct tl_tensor tensor;
};

struct world {
    uint64_t seed, program, device; /* two generators: what is submitted, and what runs when */
    struct tl_graph *g;
    struct tl_graph_opts opts;
    struct buf bufs[MAX_BUFS];
    struct task tasks[MAX_TASKS];
    struct note notes[MAX_TASKS * MAX_ARGS];
    uint32_t n_bufs, n_tasks, n_notes, limit;
    uint32_t tails[TL_GRAPH_RINGS];
    uint32_t scope_serials[16], scope_ends, n_scopes, next_serial;
    bool manual[16];
    uint32_t shadow_heap[TL_GRAPH_RINGS][HEAP_BYTES_MAX], shadow_outside[OUTSIDE][BUF_BYTES];
    uint64_t waits, edges;
    bool loud;
    char failure[1100];
};

static struct world w;

#define FAIL(...)                                                                                                      \
    do {                                                                                                               \
        if (w.failure[0] == 0)                                                                                         \
            (void)snprintf(w.failure, sizeof(w.failure), __VA_ARGS__);                                                 \
    } while (0)

static uint32_t below(uint64_t *state, uint32_t n)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static uint32_t pick(uint32_t n)
{
    return below(&w.program, n);
}

static bool has(const byte_set s, uint32_t byte)
{
    return s[byte / 8] >> (byte % 8) & 1;
}

static void put(byte_set s, uint32_t byte)
{
    s[byte / 8] = (uint8_t)(s[byte / 8] | 1u << (byte % 8));
}

static bool meets(const byte_set a, const byte_set b)
{
    bool found = false;

    for (uint32_t i = 0; i < sizeof(byte_set); i++)
        found |= (a[i] & b[i]) != 0;
    return found;
}

static bool holds(const byte_set a, const byte_set b)
{
    bool all = true;

    for (uint32_t i = 0; i < sizeof(byte_set); i++)
        all &= (b[i] & ~a[i]) == 0;
    return all;
}

/* Whether `a` covers what was noted. test_graph_region.c compares this answer with bytes for all kinds of views; that
 * it may be no for odd ones, where yes would be hard to see, is part of the rules. */
static bool covers(const struct arg *a, const struct note *n)
{
    struct tl_region ra, rn;
    struct tl_extent ea, en;
    bool known;

    (void)tl__region_measure(&a->tensor, &ea);
    (void)tl__region_measure(&n->tensor, &en);
    tl__region_of(&a->tensor, &ra);
    tl__region_of(&n->tensor, &rn);
    known = tl__region_covers(&ra, &ea, &rn, &en);
    if (known && !holds(a->touched, n->touched))
        FAIL("a cover that is none");
    return known;
}

static uint32_t task_of(tl_task_id id)
{
    for (uint32_t i = 0; i < w.n_tasks; i++)
        if (w.tasks[i].id == id)
            return i;
    FAIL("an edge names task r%ut%u, which does not exist", tl__task_ring(id), tl__task_local(id));
    return 0;
}

static bool retired(tl_task_id id)
{
    return w.opts.recycle && tl__task_local(id) < w.tails[tl__task_ring(id)];
}

/* ---- the device: runs what may run, in any order ---- */

static uint32_t *shadow_of(const struct buf *b)
{
    uint32_t ring = b->ring;

    if (b->owner == TL_NO_TASK)
        return w.shadow_outside[b - w.bufs];
    return &w.shadow_heap[ring][b->addr - w.opts.heap[ring]];
}

static void execute(uint32_t index)
{
    struct task *t = &w.tasks[index];

    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct arg *a = &t->args[i];
        const uint32_t *memory = shadow_of(&w.bufs[a->buf]);

        if (a->direction != TL_IN && a->direction != TL_INOUT)
            continue;
        for (uint32_t byte = 0; byte < BUF_BYTES; byte++)
            if (has(a->touched, byte) && a->expected[byte] != ANY && memory[byte] != a->expected[byte])
                FAIL("task %u (r%ut%u) reads byte %u of argument %u as task %d wrote it, not task %d", index,
                     tl__task_ring(t->id), tl__task_local(t->id), byte, i, (int)memory[byte] - 1,
                     (int)a->expected[byte] - 1);
    }
    for (uint32_t i = 0; i < t->n_args; i++) {
        const struct arg *a = &t->args[i];
        uint32_t *memory = shadow_of(&w.bufs[a->buf]);

        if (a->direction == TL_IN || a->direction == TL_NO_DEP)
            continue;
        for (uint32_t byte = 0; byte < BUF_BYTES; byte++)
            if (has(a->touched, byte))
                memory[byte] = index + 1;
    }
    t->complete = true;
    for (uint32_t i = 0; i < t->n_preds; i++)
        if (t->pred_flags[i] & TL_EDGE_RETAIN)
            w.tasks[t->preds[i]].retainers--;
}

static bool is_ready(const struct task *t)
{
    bool ready = !t->complete;

    for (uint32_t i = 0; i < t->n_preds; i++)
        ready &= !(t->pred_flags[i] & TL_EDGE_WAIT) || w.tasks[t->preds[i]].complete;
    return ready;
}

static bool retire_some(void)
{
    bool any = false;

    for (uint32_t ring = 0; ring < w.opts.rings; ring++) {
        uint32_t tail = w.tails[ring];

        for (uint32_t i = 0; i < w.n_tasks; i++) {
            const struct task *t = &w.tasks[i];

            if (tl__task_ring(t->id) == ring && tl__task_local(t->id) == tail && t->complete && t->released &&
                t->retainers == 0)
                tail++;
        }
        if (tail == w.tails[ring] || !w.opts.recycle)
            continue;
        any = true;
        w.tails[ring] = tail;
        tl__graph_retired(w.g, ring, tail);
    }
    for (uint32_t i = 0; i < w.n_notes; i++)
        if (w.notes[i].alive && retired(w.tasks[w.notes[i].task].id))
            w.notes[i].alive = false;
    return any;
}

/* One step: runs a ready task or retires what can be. False if there is nothing to do. */
static bool device_step(void)
{
    uint32_t ready[MAX_TASKS], n = 0;

    for (uint32_t i = 0; i < w.n_tasks; i++)
        if (is_ready(&w.tasks[i]))
            ready[n++] = i;
    if (n > 0 && below(&w.device, 4) != 0) {
        execute(ready[below(&w.device, n)]);
        return true;
    }
    if (retire_some())
        return true;
    if (n > 0)
        execute(ready[below(&w.device, n)]);
    return n > 0;
}

#endif
