/* SPDX-License-Identifier: Apache-2.0 */
/* From where the time of the observed path went to what could shorten it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/kernel.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"
#include "base/env.h"

#define WORTH_PERCENT 10u /* of the wall: less is not worth a line */
#define TIGHT_PERCENT 80u /* the static path is so much of the wall: a better schedule would gain little */

struct advisor {
    const struct tl_path_run *run;
    const char *dir;
    uint64_t wall_ns;
    struct tl_path_share *shares; /* of the observed path */
    uint32_t n_shares;
};

static bool worth(uint64_t part, uint64_t whole, unsigned percent)
{
    return whole > 0 && (double)part * 100.0 >= (double)whole * percent;
}

/* The core type in whose queues the path waited longest. */
static const char *busiest_type(const struct tl_path_run *run)
{
    uint64_t busy[2] = {0, 0};

    for (uint32_t i = 0; i < run->observed.count; i++) {
        const struct tl_path_step *step = &run->observed.steps[i];

        busy[tl__path_slice(run, step->slice)->core_type == TL_AIV] +=
            run->graph.slices[step->slice].end_ns - step->busy_ns;
    }
    return busy[1] > busy[0] ? "AIV" : "AIC";
}

/* The kernel with the most of what `pick` says. */
static const struct tl_path_share *largest(const struct advisor *a, bool busy)
{
    const struct tl_path_share *best = &a->shares[0];

    for (uint32_t i = 1; i < a->n_shares; i++)
        if (busy ? a->shares[i].busy_ns > best->busy_ns : a->shares[i].ns > best->ns)
            best = &a->shares[i];
    return best;
}

static void on_kernels(const struct advisor *a, struct tl_rendering *out)
{
    const struct tl_path_share *top = largest(a, false);

    tl__put_str(out, "make ");
    tl__put_path_kernel(out, a->run, &top->kernel, false);
    tl__put_str(out, " faster or split it: it runs for ");
    tl__put_share(out, top->ns, a->wall_ns);
    tl__put_str(out, " of the wall, in ");
    tl__put_count(out, top->count, "step");
    if (tl__path_contradicted(a->run) || !worth(a->run->chain.length_ns, a->wall_ns, TIGHT_PERCENT))
        return;
    tl__put_str(out, "; the static path is ");
    tl__put_share(out, a->run->chain.length_ns, a->wall_ns);
    tl__put_str(out, " of the wall: more cores cannot help, a shorter chain of tasks can");
}

static void on_cores(const struct advisor *a, struct tl_rendering *out)
{
    const struct tl_path_share *top = largest(a, true);

    tl__put_format(out, "more %s cores (--block-dim), or smaller and more even tasks: ready tasks wait, longest for ",
                   busiest_type(a->run));
    tl__put_path_kernel(out, a->run, &top->kernel, false);
    tl__put_str(out, " with ");
    tl__put_us(out, top->busy_ns);
    tl__put_str(out, " us");
}

static void on_scheduler(const struct advisor *a, struct tl_rendering *out)
{
    tl__put_str(out, "fewer, larger tasks, or more schedulers (--aicpu-threads): from release to dispatch it takes ");
    tl__put_us(out, a->run->observed.spent_ns[TL_PATH_SCHEDULER] / a->run->observed.count);
    tl__put_format(out, " us a step; `tasklens sched %s` shows why", a->dir);
}

static void on_dispatch(const struct advisor *a, struct tl_rendering *out)
{
    tl__put_str(out, "fewer, larger tasks: from dispatch to start it takes ");
    tl__put_us(out, a->run->observed.spent_ns[TL_PATH_DISPATCH] / a->run->observed.count);
    tl__put_format(out,
                   " us a step (on a simulator the cores share this machine's CPUs); `tasklens swimlane %s` draws it",
                   a->dir);
}

/* The submits that the path waited for, which are all up to its first task's. */
static void put_submits(const struct advisor *a, struct tl_rendering *out)
{
    const struct tl_swimlane *lane = a->run->join->lane;
    const struct tl_swim_slice *first = tl__path_slice(a->run, a->run->observed.steps[0].slice);
    const struct tl_swim_orch *own = &lane->orchs[a->run->join->tasks[first->task].submit];
    uint64_t until = own->end_cycles, count = 0, sum = 0, longest = 0, at = 0;

    for (uint64_t i = 0; i < lane->n_orchs; i++) {
        const struct tl_swim_orch *o = &lane->orchs[i];

        if (o->end_cycles > until || o->end_cycles < o->start_cycles)
            continue;
        count++;
        sum += o->end_cycles - o->start_cycles;
        if (o->end_cycles - o->start_cycles > longest) {
            longest = o->end_cycles - o->start_cycles;
            at = i;
        }
    }
    if (longest == 0)
        return;
    tl__put_str(out, ": the path's first task, ");
    tl__put_task(out, a->run->join->layout, own->task_id);
    tl__put_str(out, ", waits ");
    tl__put_us(out, a->run->observed.spent_ns[TL_PATH_ORCHESTRATION]);
    if (count == 1) {
        tl__put_str(out, " us for its own submit, the run's first");
        return;
    }
    tl__put_format(out, " us until it is submitted; the %" PRIu64 " submits up to its own take ", count);
    tl__put_us(out, tl__path_ns(a->run->join, sum));
    tl__put_str(out, " us of them, the longest, ");
    tl__put_task(out, a->run->join->layout, lane->orchs[at].task_id);
    tl__put_str(out, ", ");
    tl__put_us(out, tl__path_ns(a->run->join, longest));
    tl__put_str(out, " us");
}

static void on_orchestration(const struct advisor *a, struct tl_rendering *out)
{
    tl__put_str(out, "submit earlier, or fewer and larger tasks");
    put_submits(a, out);
    tl__put_format(out, "; it also waits for a full ring (`tasklens scope %s`) and for a recording that cannot keep up",
                   a->dir);
}

static void on_head(const struct advisor *a, struct tl_rendering *out)
{
    (void)a;
    tl__put_str(out, "what comes before the first task is paid once a run: a longer run hides it");
}

static void on_tail(const struct advisor *a, struct tl_rendering *out)
{
    (void)a;
    tl__put_str(out, "what comes after the last task is paid once a run: a longer run hides it");
}

static void (*const advisers[TL_PATH_KINDS])(const struct advisor *a, struct tl_rendering *out) = {
    [TL_PATH_KERNEL] = on_kernels,
    [TL_PATH_CORE_BUSY] = on_cores,
    [TL_PATH_SCHEDULER] = on_scheduler,
    [TL_PATH_DISPATCH] = on_dispatch,
    [TL_PATH_ORCHESTRATION] = on_orchestration,
    [TL_PATH_HEAD] = on_head,
    [TL_PATH_TAIL] = on_tail,
};

/* The kind with the most time that is not reported yet; TL_PATH_KINDS if the rest is not worth one. */
static unsigned next_kind(const struct advisor *a, unsigned said)
{
    const uint64_t *spent = a->run->observed.spent_ns;
    unsigned best = TL_PATH_KINDS;

    for (unsigned k = 0; k < TL_PATH_KINDS; k++)
        if ((said & 1u << k) == 0 && worth(spent[k], a->wall_ns, WORTH_PERCENT) &&
            (best == TL_PATH_KINDS || spent[k] > spent[best]))
            best = k;
    return best;
}

int tl__path_advise(const struct tl_path_run *run, const char *dir, struct tl_path_advice *ret_advice)
{
    struct advisor a = {.run = run, .dir = dir, .wall_ns = run->graph.end_ns - run->graph.begin_ns};
    int r = tl__path_shares_observed(run, &a.shares, &a.n_shares);
    unsigned said = 0;

    memset(ret_advice, 0, sizeof(*ret_advice));
    if (r < 0)
        return r;
    while (run->observed.count > 0 && tl__swim_time_broken(run->join) == NULL &&
           ret_advice->count < TL_PATH_ADVICE_MAX) {
        unsigned kind = next_kind(&a, said);
        struct tl_rendering *out = &ret_advice->text[ret_advice->count];

        if (kind == TL_PATH_KINDS)
            break;
        said |= 1u << kind;
        tl__rendering_init(out, NULL, NULL);
        tl__put_format(out, "%s, ", tl__path_kind_word(kind));
        tl__put_share(out, run->observed.spent_ns[kind], a.wall_ns);
        tl__put_str(out, ": ");
        advisers[kind](&a, out);
        r = out->error != 0 ? out->error : r;
        ret_advice->count++;
    }
    tl__free(a.shares);
    if (r < 0)
        tl__path_advice_fini(ret_advice);
    return r;
}

void tl__path_advice_fini(struct tl_path_advice *advice)
{
    for (uint32_t i = 0; i < advice->count; i++)
        tl__rendering_fini(&advice->text[i]);
    memset(advice, 0, sizeof(*advice));
}
