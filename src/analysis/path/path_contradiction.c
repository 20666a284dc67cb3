/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of tasks of which each waits for the one before cannot take longer than the run: if it does, some consumer
 * began before its producer had ended, and either the times or the edges are not the run's.
 */
#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"

#define NAMED 3u /* edges that a sentence names */

bool tl__path_contradicted(const struct tl_path_run *run)
{
    return run->chain.length_ns > run->graph.end_ns - run->graph.begin_ns;
}

/* Tasks that no core ran say nothing of time: the ones around them are compared. */
bool tl__path_next_contradiction(const struct tl_path_run *run, uint32_t *at, struct tl_path_contradiction *ret_found)
{
    const struct tl_path_graph *g = &run->graph;
    uint32_t pred = TL_PATH_NONE;

    for (uint32_t i = 0; i < run->chain.count; i++) {
        uint32_t succ = run->chain.tasks[i];

        if (!tl__path_has_slices(g, succ))
            continue;
        if (pred != TL_PATH_NONE && i >= *at && g->last_end_ns[pred] > g->first_start_ns[succ]) {
            *at = i + 1;
            *ret_found = (struct tl_path_contradiction){pred, succ, g->last_end_ns[pred] - g->first_start_ns[succ]};
            return true;
        }
        pred = succ;
    }
    return false;
}

static void put_edges(struct tl_rendering *out, const struct tl_path_run *run)
{
    struct tl_path_contradiction c;
    uint32_t at = 0, n = 0;

    for (; tl__path_next_contradiction(run, &at, &c); n++) {
        if (n >= NAMED)
            continue;
        tl__put_str(out, n > 0 ? ", " : "");
        tl__put_task(out, run->join->layout, run->graph.tasks[c.succ].task_id);
        tl__put_str(out, " begins ");
        tl__put_us(out, c.overlap_ns);
        tl__put_str(out, " us before ");
        tl__put_task(out, run->join->layout, run->graph.tasks[c.pred].task_id);
        tl__put_str(out, " ends");
    }
    if (n > NAMED)
        tl__put_format(out, ", and %" PRIu32 " more", n - NAMED);
}

static void put_chain_total(struct tl_rendering *out, const struct tl_path_run *run)
{
    uint32_t allocations = 0;

    for (uint32_t i = 0; i < run->chain.count; i++)
        allocations += tl__path_is_allocation(run, run->chain.tasks[i]);
    tl__put_task_total(out, run->chain.count, allocations);
}

void tl__put_path_static(struct tl_rendering *out, const struct tl_path_run *run)
{
    uint64_t wall_ns = run->graph.end_ns - run->graph.begin_ns;

    if (!tl__path_contradicted(run)) {
        tl__put_share(out, run->chain.length_ns, wall_ns);
        tl__put_str(out, " of the wall, ");
        put_chain_total(out, run);
        tl__put_str(out, ": however many cores, this graph cannot run shorter");
        return;
    }
    put_chain_total(out, run);
    tl__put_str(out, ", more than the wall of ");
    tl__put_us(out, wall_ns);
    tl__put_str(out, " us: a contradiction, no bound; the times contradict these edges: ");
    put_edges(out, run);
}
