/* SPDX-License-Identifier: Apache-2.0 */
/* The critical paths as a report: what the screen says, and the steps of both paths. */
#include <inttypes.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"
#include "base/env.h"

struct report {
    struct tl_rendering *out;
    const struct tl_path_run *run;
    const char *dir;
    struct tl_rendering scratch;
    uint64_t wall_ns;
};

static void put_kernel(struct report *r, const struct tl_path_kernel *kernel)
{
    r->scratch.used = 0;
    tl__put_path_kernel(&r->scratch, r->run, kernel, false);
    tl__put_markdown(r->out, r->scratch.data, r->scratch.used);
}

/* A cell with microseconds. */
static void put_us(struct report *r, uint64_t ns)
{
    tl__put_us(r->out, ns);
    tl__put_str(r->out, " | ");
}

static void put_summary(struct report *r)
{
    const struct tl_path_run *run = r->run;
    uint64_t length = run->chain.length_ns;
    bool contradicted = tl__path_contradicted(run);

    tl__put_str(r->out, "# Critical path\n\n");
    tl__put_str(r->out, "Recording: ");
    tl__put_markdown(r->out, r->dir, strlen(r->dir));
    tl__put_format(r->out, ", level %" PRIu32 ". All times in microseconds.\n\n", run->join->lane->level);
    tl__put_str(r->out, "| | us | share of the wall | |\n|---|---:|---:|---|\n| wall | ");
    put_us(r, r->wall_ns);
    tl__put_str(r->out, "100.0 % | from the first thing recorded on the device to the last |\n| static path | ");
    put_us(r, length);
    if (contradicted) {
        tl__put_str(r->out, "- | ");
        tl__put_path_static(r->out, run);
    } else {
        tl__put_share(r->out, length, r->wall_ns);
        tl__put_str(r->out, " | the longest chain of the graph: however many cores, it cannot run shorter");
    }
    tl__put_str(r->out, " |\n| work | ");
    put_us(r, run->work_ns);
    tl__put_share(r->out, run->work_ns, r->wall_ns);
    tl__put_str(r->out, " | all slices of all cores together");
    if (length > 0 && !contradicted)
        tl__put_format(r->out, ": the graph can keep %.1f cores busy on average, this run kept %.1f",
                       (double)run->work_ns / (double)length, (double)run->work_ns / (double)r->wall_ns);
    tl__put_str(r->out,
                " |\n\n## Where the wall went\n\nWalked back from the slice that ended last: a slice could start "
                "when its producers, the slice before it on its core and its own submit were over; the path goes "
                "on at the latest of them.\n\n| | us | share | what it is |\n|---|---:|---:|---|\n");
    for (unsigned k = 0; k < TL_PATH_KINDS; k++) {
        tl__put_format(r->out, "| %s | ", tl__path_kind_word(k));
        put_us(r, run->observed.spent_ns[k]);
        tl__put_share(r->out, run->observed.spent_ns[k], r->wall_ns);
        tl__put_format(r->out, " | %s |\n", tl__path_kind_text(k));
    }
    tl__put_str(r->out, "| wall | ");
    put_us(r, r->wall_ns);
    tl__put_str(r->out, "100.0 % | the sum |\n");
}

static int put_advice(struct report *r)
{
    struct tl_path_advice advice;
    int code = tl__path_advise(r->run, r->dir, &advice);

    if (code < 0)
        return code;
    if (advice.count > 0)
        tl__put_str(r->out, "\n## What to try next\n\n");
    for (uint32_t i = 0; i < advice.count; i++) {
        tl__put_format(r->out, "%" PRIu32 ". ", i + 1);
        tl__put_markdown(r->out, advice.text[i].data, advice.text[i].used);
        tl__put_str(r->out, "\n");
    }
    tl__path_advice_fini(&advice);
    return 0;
}

static int put_kernels(struct report *r, bool observed)
{
    struct tl_path_share *shares = NULL;
    uint32_t count = 0;
    int code =
        observed ? tl__path_shares_observed(r->run, &shares, &count) : tl__path_shares_static(r->run, &shares, &count);

    if (code < 0)
        return code;
    tl__put_str(r->out, "\n### By kernel\n\n| kernel | steps | runs | share |");
    tl__put_str(r->out, observed ? " of it core busy | waits before |\n|---|---:|---:|---:|---:|---:|\n"
                                 : "\n|---|---:|---:|---:|\n");
    for (uint32_t i = 0; i < count; i++) {
        tl__put_str(r->out, "| ");
        put_kernel(r, &shares[i].kernel);
        tl__put_format(r->out, " | %" PRIu64 " | ", shares[i].count);
        put_us(r, shares[i].ns);
        tl__put_share(r->out, shares[i].ns, r->wall_ns);
        tl__put_str(r->out, " | ");
        if (observed) {
            put_us(r, shares[i].busy_ns);
            put_us(r, shares[i].wait_ns);
        }
        r->out->used -= 1; /* the blank behind the last bar */
        tl__put_str(r->out, "\n");
    }
    tl__free(shares);
    return 0;
}

/* Whether row i of a long list is left out; the first one is replaced by a row that says how many. */
static bool left_out(struct report *r, uint32_t i, uint32_t count, const char *bars)
{
    if (count <= 2 * TL_PATH_REPORT_STEPS || i < TL_PATH_REPORT_STEPS || i >= count - TL_PATH_REPORT_STEPS)
        return false;
    if (i == TL_PATH_REPORT_STEPS)
        tl__put_format(r->out, "| ... | %" PRIu32 " more: --json has all %s\n", count - 2 * TL_PATH_REPORT_STEPS, bars);
    return true;
}

static void put_observed_steps(struct report *r)
{
    const struct tl_path_observed *path = &r->run->observed;

    tl__put_str(r->out,
                "\n### Steps\n\n| | task | kernel | core | released by | scheduler | dispatch wait | runs | of it "
                "core busy | share |\n|---:|---|---|---|---|---:|---:|---:|---:|---:|\n");
    for (uint32_t i = 0; i < path->count; i++) {
        const struct tl_path_step *step = &path->steps[i];
        const struct tl_path_slice *s = &r->run->graph.slices[step->slice];
        struct tl_path_kernel kernel = tl__path_kernel_of_slice(r->run, step->slice);

        if (left_out(r, i, path->count, "| | | | | | | | |"))
            continue;
        tl__put_format(r->out, "| %" PRIu32 " | ", i + 1);
        tl__put_task(r->out, r->run->join->layout, r->run->graph.tasks[s->task].task_id);
        tl__put_str(r->out, " | ");
        put_kernel(r, &kernel);
        tl__put_str(r->out, " | ");
        tl__put_path_core(r->out, r->run, step->slice);
        tl__put_str(r->out, " | ");
        tl__put_path_release(r->out, r->run, i);
        tl__put_str(r->out, " | ");
        put_us(r, step->dispatched_ns - step->released_ns);
        put_us(r, s->start_ns - step->dispatched_ns);
        put_us(r, s->end_ns - s->start_ns);
        put_us(r, s->end_ns - step->busy_ns);
        tl__put_share(r->out, s->end_ns - step->released_ns, r->wall_ns);
        tl__put_str(r->out, " |\n");
    }
}

static void put_static_steps(struct report *r)
{
    const struct tl_path_static *chain = &r->run->chain;
    const struct tl_path_graph *g = &r->run->graph;

    tl__put_str(r->out, "\n### Steps\n\n| | task | kernel | slices | runs | share |\n|---:|---|---|---:|---:|---:|\n");
    for (uint32_t i = 0; i < chain->count; i++) {
        uint32_t t = chain->tasks[i];
        struct tl_path_kernel kernel = tl__path_kernel_of_task(r->run, t);

        if (left_out(r, i, chain->count, "| | | | |"))
            continue;
        tl__put_format(r->out, "| %" PRIu32 " | ", i + 1);
        tl__put_task(r->out, r->run->join->layout, g->tasks[t].task_id);
        tl__put_str(r->out, " | ");
        put_kernel(r, &kernel);
        tl__put_format(r->out, " | %" PRIu32 " | ", g->slice_first[t + 1] - g->slice_first[t]);
        put_us(r, g->last_end_ns[t] - g->first_start_ns[t]);
        tl__put_share(r->out, g->last_end_ns[t] - g->first_start_ns[t], r->wall_ns);
        tl__put_str(r->out, " |\n");
    }
}

static void put_notes(struct report *r)
{
    r->scratch.used = 0;
    tl__put_path_notes(&r->scratch, r->run, "- ");
    if (r->scratch.used == 0)
        return;
    tl__put_str(r->out, "\n## Notes\n\n");
    tl__put(r->out, r->scratch.data, r->scratch.used);
}

int tl__path_markdown(struct tl_rendering *out, const struct tl_path_run *run, const char *dir)
{
    struct report r = {.out = out, .run = run, .dir = dir, .wall_ns = run->graph.end_ns - run->graph.begin_ns};
    int code;

    tl__rendering_init(&r.scratch, NULL, NULL);
    put_summary(&r);
    code = put_advice(&r);
    if (code == 0) {
        tl__put_str(out, "\n## Observed path\n");
        code = put_kernels(&r, true);
    }
    if (code == 0) {
        put_observed_steps(&r);
        tl__put_str(out, "\n## Static path\n\nEach task weighs from its first start to its last end, so that a task in "
                         "more blocks than there are cores weighs all its turns.\n");
        code = put_kernels(&r, false);
    }
    if (code == 0) {
        put_static_steps(&r);
        put_notes(&r);
    }
    if (code == 0)
        code = r.scratch.error != 0 ? r.scratch.error : out->error;
    tl__rendering_fini(&r.scratch);
    return code;
}
