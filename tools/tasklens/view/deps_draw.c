/* SPDX-License-Identifier: Apache-2.0 */
#include "view/deps_draw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tasklens/error.h>

#include "analysis/dump/dump_pick.h"
#include "cmd.h"
#include "view/graphviz.h"
#include "view/output.h"

/* dot is for what a person can follow. Regular graphs of this size take it a second or two, tangled ones minutes. */
#define DOT_TASKS 5000
#define DOT_PAIRS 20000
#define LIMIT_SECONDS 5

static int out_of_memory(const struct tl_deps_draw *d)
{
    return tl__cmd_fail(d->command, "out of memory");
}

static bool is_large(const struct tl_deps_part *part)
{
    return part->n_tasks > DOT_TASKS || part->n_pairs > DOT_PAIRS;
}

/* One run of one engine. 0, TL_ETIMEDOUT, or another code with its message. */
static int run_engine(const struct tl_deps_draw *d, const struct tl_deps_part *part, enum tl_deps_engine engine,
                      unsigned limit_s, struct tl_deps_layout *ret_layout, struct tl_error *reterr)
{
    struct tl_rendering input;
    char *plain = NULL;
    size_t bytes = 0;
    int code;

    tl__rendering_init(&input, NULL, NULL);
    code = tl__deps_layout_input(&input, d->subject, part, engine);
    if (code == 0)
        code = tl__graphviz_layout(&(struct tl_graphviz){.command = d->command,
                                                         .engine = tl__deps_engines[engine],
                                                         .input = input.data,
                                                         .bytes = input.used,
                                                         .limit_s = limit_s},
                                   &plain, &bytes, reterr);
    if (code == 0)
        code = tl__deps_layout(plain, bytes, part, ret_layout, reterr);
    if (code == 0 && engine == TL_DEPS_SFDP)
        tl__deps_layout_spread(ret_layout, part);
    free(plain);
    tl__rendering_fini(&input);
    return code;
}

/* The engine that was asked for has no time limit. */
static int lay_out_by(const struct tl_deps_draw *d, const struct tl_deps_part *part, struct tl_deps_layout *ret_layout,
                      struct tl_error *reterr)
{
    enum tl_deps_engine engine = (enum tl_deps_engine)d->engine;

    if (engine == TL_DEPS_LEVELS)
        return tl__deps_layout_levels(d->subject, part, ret_layout, reterr);
    if (engine == TL_DEPS_DOT && is_large(part))
        tl__cmd_note(d->command,
                     "%" PRIu32 " tasks and %" PRIu32
                     " lines are many for dot, which may take minutes or hours: --engine levels is done at once, "
                     "-t TASK --up 3 --down 3 draws a part",
                     part->n_tasks, part->n_pairs);
    return run_engine(d, part, engine, 0, ret_layout, reterr);
}

/* Graphviz if it is there and is done in a few seconds, else the levels. */
static int lay_out(const struct tl_deps_draw *d, const struct tl_deps_part *part, struct tl_deps_layout *ret_layout,
                   enum tl_deps_engine *ret_engine, struct tl_error *reterr)
{
    enum tl_deps_engine engine = is_large(part) ? TL_DEPS_SFDP : TL_DEPS_DOT;
    int code;

    *ret_engine = (enum tl_deps_engine)d->engine;
    if (d->engine_given)
        return lay_out_by(d, part, ret_layout, reterr);
    *ret_engine = engine;
    code = run_engine(d, part, engine, LIMIT_SECONDS, ret_layout, reterr);
    if (code == TL_ETIMEDOUT)
        tl__cmd_note(d->command,
                     "%s was not done in %d s: the levels of the graph are drawn below each other; --engine %s waits, "
                     "-t TASK --up 3 --down 3 draws a part",
                     tl__deps_engines[engine], LIMIT_SECONDS, tl__deps_engines[engine]);
    else if (code == TL_ENOENT)
        tl__cmd_note(d->command,
                     "no %s on PATH: the levels of the graph are drawn below each other; with graphviz "
                     "(apt-get install graphviz) lines cross less",
                     tl__deps_engines[engine]);
    else
        return code;
    tl__deps_layout_fini(ret_layout);
    *reterr = (struct tl_error){0};
    *ret_engine = TL_DEPS_LEVELS;
    return tl__deps_layout_levels(d->subject, part, ret_layout, reterr);
}

/* deps.html, or deps_r0t5.html of a part. */
static void name_file(const struct tl_deps_draw *d, char *name, size_t bytes)
{
    uint64_t id = d->of->task != TL_DEPS_NONE ? d->subject->deps->tasks[d->of->task].task_id : 0;
    char part[60] = "";

    if (d->of->task != TL_DEPS_NONE)
        (void)snprintf(part, sizeof(part), "_r%" PRIu64 "t%" PRIu64, id >> 32, id & UINT32_MAX);
    else if (d->of->filter->by_kernel || d->of->filter->by_tensor)
        (void)snprintf(part, sizeof(part), "_part");
    (void)snprintf(name, bytes, "deps%s.html", part);
}

static int write_page(const struct tl_deps_draw *d, const struct tl_deps_part *part,
                      const struct tl_deps_layout *layout, enum tl_deps_engine engine,
                      const struct tl_output_place *place, struct tl_output *output)
{
    struct tl_rendering page;
    int code = tl__output_open(output, place), end;

    if (code != 0)
        return code;
    tl__rendering_init(&page, tl__output_bytes, output);
    code = tl__deps_html(&page, d->subject, part, layout, engine);
    end = tl__rendering_end(&page);
    tl__rendering_fini(&page);
    return tl__output_end(output, code != 0 ? code : end, place);
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int draw(const struct tl_deps_draw *d, const struct tl_deps_part *part, struct tl_deps_layout *layout)
{
    struct tl_error error = {0};
    double begin = seconds(), took;
    enum tl_deps_engine engine;
    char name[100];
    const struct tl_output_place place = {.command = d->command,
                                          .given = d->output,
                                          .dir = d->subject->dir,
                                          .name = name,
                                          .way_out = "-o FILE names another"};
    struct tl_output output;
    int code;

    if (part->n_tasks == 0)
        return tl__cmd_fail(d->command, "%s: no tasks to draw", d->subject->dir);
    name_file(d, name, sizeof(name));
    code = lay_out(d, part, layout, &engine, &error);
    if (code == TL_ENOENT)
        return tl__cmd_fail(d->command, "no %s on PATH: apt-get install graphviz, or --engine levels, which needs none",
                            tl__deps_engines[engine]);
    if (code < 0)
        return tl__cmd_fail(d->command, "%s", error.msg[0] != 0 ? error.msg : tl_strerror(code));
    took = seconds() - begin;
    code = write_page(d, part, layout, engine, &place, &output);
    if (code != TL_EXIT_OK || output.to_stdout)
        return code;
    printf("%s with %" PRIu32 " edges, laid out by %s in %.1f s\n%s\n", part->title, part->n_edges,
           tl__deps_engines[engine], took, output.out.path);
    return tl__cmd_finish(d->command);
}

int tl__deps_draw_html(const struct tl_deps_draw *d)
{
    struct tl_deps_layout layout = {0};
    struct tl_deps_part part;
    int code;

    if (tl__deps_part(d->subject, d->of, &part) < 0)
        code = out_of_memory(d);
    else
        code = draw(d, &part, &layout);
    tl__deps_layout_fini(&layout);
    tl__deps_part_fini(&part);
    return code;
}

int tl__deps_draw_dot(const struct tl_deps_draw *d)
{
    const struct tl_output_place place = {
        .command = d->command, .given = d->output != NULL ? d->output : "-", .dir = d->subject->dir};
    struct tl_deps_part part;
    struct tl_output output;
    struct tl_rendering page;
    int code = tl__deps_part(d->subject, d->of, &part), end;

    if (code == 0) {
        code = tl__output_open(&output, &place);
        if (code != 0) {
            tl__deps_part_fini(&part);
            return code;
        }
        tl__rendering_init(&page, tl__output_bytes, &output);
        code = tl__deps_dot(&page, d->subject, &part);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
        code = tl__output_end(&output, code != 0 ? code : end, &place);
    } else {
        code = out_of_memory(d);
    }
    tl__deps_part_fini(&part);
    return code;
}
