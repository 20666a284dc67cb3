/* SPDX-License-Identifier: Apache-2.0 */
/* The critical paths on the screen: where the time went and what to try, in one view. */
#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"
#include "analysis/text/table.h"
#include "base/env.h"

#define KERNELS_SHOWN 8u

struct list {
    const struct tl_path_run *run;
    struct tl_path_share *shares;
};

static void put_kernel(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct list *list = ctx;
    const struct tl_path_share *share = &list->shares[number];

    tl__put_path_kernel(&row->text, list->run, &share->kernel, false);
    tl__cell_end(row);
    tl__put_u64(&row->text, share->count);
    tl__cell_end(row);
    tl__put_us(&row->text, share->ns);
    tl__cell_end(row);
    tl__put_share(&row->text, share->ns, list->run->graph.end_ns - list->run->graph.begin_ns);
    tl__cell_end(row);
    tl__put_us(&row->text, share->busy_ns);
    tl__cell_end(row);
    tl__put_us(&row->text, share->wait_ns);
    tl__cell_end(row);
}

static int put_kernels(struct tl_rendering *out, const struct tl_path_run *run)
{
    static const struct tl_column columns[] = {{"kernel", false, false},      {"steps", true, false},
                                               {"runs us", true, false},      {"share", true, false},
                                               {"core busy us", true, false}, {"waits before us", true, false}};
    struct list list = {.run = run};
    uint32_t count = 0;
    int r = tl__path_shares_observed(run, &list.shares, &count);

    if (r < 0)
        return r;
    if (count > 0) {
        tl__put_str(out, "\nkernels of the observed path\n");
        r = tl__table_put(out, columns, 6, count < KERNELS_SHOWN ? count : KERNELS_SHOWN, put_kernel, &list);
        if (count > KERNELS_SHOWN)
            tl__put_format(out, "... and %" PRIu32 " more in the report\n", count - KERNELS_SHOWN);
    }
    tl__free(list.shares);
    return r;
}

static int put_advice(struct tl_rendering *out, const struct tl_path_run *run, const char *dir)
{
    struct tl_path_advice advice;
    int r = tl__path_advise(run, dir, &advice);

    if (r < 0)
        return r;
    if (advice.count > 0)
        tl__put_str(out, "\nwhat to try next\n");
    for (uint32_t i = 0; i < advice.count; i++) {
        tl__put_format(out, "%" PRIu32 ". ", i + 1);
        tl__put(out, advice.text[i].data, advice.text[i].used);
        tl__put_str(out, "\n");
    }
    tl__path_advice_fini(&advice);
    return 0;
}

static int put_notes(struct tl_rendering *out, const struct tl_path_run *run)
{
    struct tl_rendering notes;
    int r;

    tl__rendering_init(&notes, NULL, NULL);
    tl__put_path_notes(&notes, run, "note: ");
    if (notes.used > 0) {
        tl__put_str(out, "\n");
        tl__put(out, notes.data, notes.used);
    }
    r = notes.error != 0 ? notes.error : out->error;
    tl__rendering_fini(&notes);
    return r;
}

static void put_static(struct tl_rendering *out, const struct tl_path_run *run)
{
    tl__put_str(out, "static path: ");
    tl__put_us(out, run->chain.length_ns);
    tl__put_str(out, " us, ");
    tl__put_path_static(out, run);
    tl__put_str(out, "\n");
}

int tl__path_text(struct tl_rendering *out, const struct tl_path_run *run, const char *dir)
{
    const struct tl_path_graph *g = &run->graph;
    int r;

    tl__put_format(out, "%s: level %" PRIu32 ", wall ", dir, run->join->lane->level);
    tl__put_us(out, g->end_ns - g->begin_ns);
    tl__put_str(out, " us, ");
    tl__put_task_total(out, g->n_tasks, tl__path_allocations(run));
    tl__put_str(out, ", ");
    tl__put_count(out, g->n_slices, "slice");
    tl__put_str(out, "\n");
    if (tl__swim_time_broken(run->join) != NULL)
        tl__put_format(out, "%s: what follows is not to be trusted, and nothing is advised\n",
                       tl__swim_time_broken(run->join));
    put_static(out, run);
    tl__put_str(out, "observed path: ");
    tl__put_count(out, run->observed.count, "step");
    tl__put_str(out, "; where the wall went along it\n\n");
    r = tl__put_path_kinds(out, run);
    if (r == 0)
        r = put_kernels(out, run);
    if (r == 0)
        r = put_advice(out, run, dir);
    return r != 0 ? r : put_notes(out, run);
}
