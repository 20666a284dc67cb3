/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deps.json as a graph that can be walked: the edges of each task, distances, levels, a cycle if there is one. Tasks
 * and edges are named by their positions in struct tl_deps. Constant once made; any thread may read it.
 */
#ifndef TL_ANALYSIS_DEPS_GRAPH_H
#define TL_ANALYSIS_DEPS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/deps.h"

#define TL_DEPS_NONE UINT32_MAX /* no task, edge or level */

struct tl_deps_graph {
    const struct tl_deps *deps; /* borrowed; indexed */
    uint32_t tasks, edges;
    /* Edges that end (in) or begin (out) at task t, in the file's order: in[in_at[t]] up to in[in_at[t + 1]]. Those
     * whose other end is not listed are among them. */
    uint32_t *in_at, *in, *out_at, *out;
    uint32_t *producers, *consumers; /* by task: how many different listed tasks are at the other ends */
    uint64_t pairs;                  /* different (pred, succ) with both ends listed */
    uint64_t loose;                  /* edges that name a task that is not listed */
    /* Levels: 0 for a task that waits for nothing listed, else one more than the highest that it waits for. An edge
     * that only retains is no wait, one without flags is. TL_DEPS_NONE: on a cycle or behind one. */
    uint32_t *level;
    uint32_t levels;               /* how many there are */
    uint32_t widest, widest_tasks; /* the first level with the most tasks, and how many these are */
    uint32_t roots, leaves;        /* tasks that wait for nothing; tasks that nothing waits for */
    uint32_t *cycle, cycle_tasks;  /* one cycle of waits, each task feeding the next and the last the first */
    uint32_t unlevelled;           /* tasks without a level */
    uint32_t *tensor_order;        /* positions in deps->tensors by tensor_id */
};

/* TL_ENOMEM; TL_ERANGE: more than four billion tasks or edges. End with tl__deps_graph_fini, also after an error. */
int tl__deps_graph(const struct tl_deps *deps, struct tl_deps_graph *ret_graph, struct tl_error *reterr);
void tl__deps_graph_fini(struct tl_deps_graph *graph);

/* Whether the consumer starts only after the producer: the flag, or no flags in the file. */
bool tl__deps_waits(const struct tl_deps_edge *edge);
/* The tensor of that id, or NULL. */
const struct tl_deps_tensor *tl__deps_tensor(const struct tl_deps_graph *graph, uint64_t tensor_id);

/* What a walk from one task reaches, nearest first. Entry 0 is the start. */
struct tl_deps_reach {
    uint32_t count;
    uint32_t *task, *distance; /* edges from the start */
    uint32_t *from;            /* the entry that it was reached from */
    uint32_t *edge;            /* by which edge */
};

/* All within `levels` edges of `start`, to its producers (up) or consumers; edges of every kind. TL_ENOMEM. End with
 * tl__deps_reach_fini. */
int tl__deps_walk(const struct tl_deps_graph *graph, uint32_t start, bool up, uint32_t levels,
                  struct tl_deps_reach *ret_reach);
void tl__deps_reach_fini(struct tl_deps_reach *reach);
/* The entry of a task, or TL_DEPS_NONE. */
uint32_t tl__deps_reach_find(const struct tl_deps_reach *reach, uint32_t task);

#endif
