/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What planning a task costs, by shape of graph: ns of CPU a submit, payload and retirement included, best of five.
 * Each task has three tensors and two scalars; its payload is written to a slot of the device's size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "graph/graph.h"

#define TASKS 65536u
#define WINDOW 16384u
#define SIDE 256u /* tiles a side of the wavefront */
#define TILE 16u

static struct tl_graph *graph;
static unsigned char (*slots)[1024];
static uint64_t planned;
static bool dry; /* build the arguments, plan nothing */

/* Of this thread alone: other work on the machine does not count. */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_graph: %s\n", what);
    exit(1);
}

static void make(uint32_t window, bool recycle)
{
    struct tl_graph_opts o = {.rings = 1, .recycle = recycle};
    struct tl_error err;

    o.task_window[0] = window;
    o.dep_pool[0] = 16 * window;
    o.heap[0] = UINT64_C(1) << 40;
    o.heap_bytes[0] = UINT64_C(1) << 32;
    if (tl__graph_create(&o, &graph, &err) < 0)
        die(err.msg);
    planned = 0;
}

static void submit(struct tl_task_args *args)
{
    static const struct tl_subtasks sub = {.func = {-1, 0, -1}};
    static float alpha = 1.0f;
    static int32_t n = 3;
    struct tl_plan plan;
    struct tl_error err;

    tl_add_scalar(args, alpha);
    tl_add_scalar(args, n);
    if (dry) {
        __asm__ volatile("" : : "r"(args) : "memory");
        return;
    }
    if (tl__graph_plan(graph, args, &sub, &plan, &err) < 0)
        die("plan failed");
    tl__plan_write_payload(&plan, (void *)slots[plan.slot & (WINDOW - 1)]);
    /* A device half a window behind. */
    if (++planned % 64 == 0 && planned > WINDOW / 2)
        tl__graph_retired(graph, 0, (uint32_t)(planned - WINDOW / 2));
}

/* x -> fresh y, and so on: creator edges, heap. */
static void chain_fresh(void)
{
    uint32_t shape[1] = {64};
    struct tl_tensor x = tl_tensor_make(TL_FLOAT32, 1, shape), w = x, y;

    x.buffer = 1 << 20;
    w.buffer = 2 << 20;
    x.buffer_bytes = w.buffer_bytes = 256;
    x.owner = w.owner = TL_NO_TASK;
    for (uint32_t i = 0; i < TASKS; i++) {
        struct tl_task_args args;

        args.n_tensors = args.n_scalars = args.block_num = args.n_deps = 0;
        args.error = 0;
        args.dump_all = false;
        y = tl_tensor_make(TL_FLOAT32, 1, shape);
        tl_add_input(&args, &x);
        tl_add_no_dep(&args, &w);
        tl_add_output(&args, &y);
        submit(&args);
        x = y;
    }
}

/* Independent tasks over the caller's buffers: two inputs and an output each. */
static void independent(void)
{
    uint32_t shape[1] = {64};
    struct tl_tensor x = tl_tensor_make(TL_FLOAT32, 1, shape), y, z;

    x.buffer_bytes = 256;
    x.owner = TL_NO_TASK;
    for (uint32_t i = 0; i < TASKS; i++) {
        struct tl_task_args args;

        args.n_tensors = args.n_scalars = args.block_num = args.n_deps = 0;
        args.error = 0;
        args.dump_all = false;
        x.buffer = (UINT64_C(1) << 30) + i * UINT64_C(4096);
        y = z = x;
        y.buffer += 1024;
        z.buffer += 2048;
        tl_add_input(&args, &x);
        tl_add_input(&args, &y);
        tl_add_output(&args, &z);
        submit(&args);
    }
}

/* Tiles of one matrix, each after its upper and left neighbour. */
static void wavefront(void)
{
    uint32_t shape[2] = {SIDE * TILE, SIDE * TILE}, tile[2] = {TILE, TILE};
    struct tl_tensor m = tl_tensor_make(TL_FLOAT32, 2, shape), t[3];

    m.buffer = 1 << 20;
    m.buffer_bytes = tl_tensor_bytes(&m);
    m.owner = TL_NO_TASK;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        uint32_t row = i / SIDE, col = i % SIDE, up = row > 0 ? row - 1 : row, left = col > 0 ? col - 1 : col;
        struct tl_task_args args;

        args.n_tensors = args.n_scalars = args.block_num = args.n_deps = 0;
        args.error = 0;
        args.dump_all = false;
        (void)tl_view(&m, (uint32_t[]){up * TILE, col * TILE}, tile, &t[0]);
        (void)tl_view(&m, (uint32_t[]){row * TILE, left * TILE}, tile, &t[1]);
        (void)tl_view(&m, (uint32_t[]){row * TILE, col * TILE}, tile, &t[2]);
        if (row > 0)
            tl_add_input(&args, &t[0]);
        if (col > 0)
            tl_add_input(&args, &t[1]);
        tl_add_inout(&args, &t[2]);
        submit(&args);
    }
}

static double best_of_five(void (*body)(void), uint32_t window, bool recycle)
{
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < 5; round++) {
        uint64_t start, ns;

        make(window, recycle);
        start = cpu_ns();
        body();
        ns = cpu_ns() - start;
        best = ns < best ? ns : best;
        tl__graph_destroy(graph);
    }
    return (double)best / (double)TASKS;
}

static void measure(const char *name, void (*body)(void), uint32_t window, bool recycle)
{
    double all, args;

    dry = true;
    args = best_of_five(body, window, recycle);
    dry = false;
    all = best_of_five(body, window, recycle);
    printf("%-24s %-6s %6.0f ns/submit, and %.0f to build the arguments\n", name, recycle ? "rings" : "image",
           all - args, args);
}

int main(void)
{
    slots = calloc(WINDOW, sizeof(*slots));
    if (slots == NULL)
        die("out of memory");
    measure("chain, fresh outputs", chain_fresh, WINDOW, true);
    measure("independent", independent, WINDOW, true);
    measure("wavefront, tiles", wavefront, WINDOW, true);
    measure("chain, fresh outputs", chain_fresh, 131072, false);
    measure("independent", independent, 131072, false);
    measure("wavefront, tiles", wavefront, 131072, false);
    free(slots);
    return 0;
}
