/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/pmu/pmu_view.h"
#include "artifact/dfx_meta.h"
#include "cmd.h"
#include "view/find.h"
#include "opts.h"
#include "base/count_of.h"
#include "base/pathname.h"

#define NAME "pmu"

struct pmu {
    const char *word; /* as given; NULL: none */
    struct tl_rank_pick which;
    const char *column;
    int64_t run_epoch; /* -1: all */
    bool json;
    /* What was opened. */
    struct tl_found found;
    struct tl_pmu rows;
    struct tl_pmu_meta meta;
    struct tl_name_map names;
    bool has_meta, has_names;
};

static int parse(struct pmu *p, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 'c',
         .name = "column",
         .kind = TL_OPT_TEXT,
         .target = &p->column,
         .value = "NAME|all",
         .help = "this one counter by kernel, or each of them"},
        {.name = "run-epoch",
         .kind = TL_OPT_NUMBER,
         .target = &p->run_epoch,
         .value = "N",
         .help = "of rows of several runs, those of this one",
         .max = UINT32_MAX},
        TL_RANK_PICK_OPTIONS(&p->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &p->json, .help = "for machines"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about = "Shows by kernel what cores counted in a run with --enable-pmu.\n"
                 "DIR is the run's directory or its pmu.csv; without it, the newest in outputs/.",
        .after =
            "min, median, p95 and max are over the subtasks of a kernel (one run of it on one core), total is their\n"
            "sum, share of all kernels' total, busy of the kernel's own cycles. A dash stands for what nobody\n"
            "measured, though the file has a 0 there; pmu_meta.json beside it says why.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &p->word, &words);

    if (words == 0)
        p->word = NULL;
    return code;
}

static void mention(const struct tl_found *found)
{
    tl__found_mention_newer(NAME, found);
    if (found->other_count > 0 && !tl__found_mention_ranks(NAME, found))
        tl__cmd_note(NAME, "opening the newest, %s, of %zu here", found->path, found->other_count + 1);
    tl__found_mention_end(NAME, found);
}

/* Rows that were collected, as the run says in two places, and are not in the file: it was cut. */
static void mention_missing(const struct pmu *p)
{
    struct tl_meta *meta = tl__found_meta(&p->found);
    uint64_t collected = p->has_meta ? p->meta.records : 0;

    for (uint32_t i = 0; meta != NULL && i < meta->stream_count; i++)
        if (strcmp(meta->streams[i].name, "pmu") == 0 && meta->streams[i].collected > collected)
            collected = meta->streams[i].collected;
    free(meta);
    if (p->rows.n_rows < collected)
        tl__cmd_note(NAME,
                     "%s/" TL_PMU_NAME " has %llu rows of the %llu that were collected: the rest was cut off, "
                     "and the figures are of what is there",
                     p->found.path, (unsigned long long)p->rows.n_rows, (unsigned long long)collected);
}

static int keep_run(struct pmu *p)
{
    const uint32_t first = p->rows.first_epoch, last = p->rows.last_epoch;

    if (p->run_epoch < 0 || tl__pmu_keep_run(&p->rows, (uint32_t)p->run_epoch) > 0)
        return 0;
    return tl__cmd_fail(NAME, "%s/" TL_PMU_NAME " has no row of run_epoch %lld; it has %u to %u", p->found.path,
                        (long long)p->run_epoch, first, last);
}

/* The rows must be there; what explains them may be missing, and what is wrong with it is reported. */
static int open_all(struct pmu *p)
{
    struct tl_error error = {0};
    char path[TL_PATHNAME_BYTES];
    int code;

    if (!tl__pathname(path, "%s/%s", p->found.path, TL_PMU_NAME))
        return tl__cmd_fail(NAME, "%.200s...: the path is too long", p->found.path);
    if (tl__pmu_read(path, &p->rows, &error) != 0)
        return tl__cmd_fail(NAME, "%s", error.msg);
    code = tl__pmu_meta_read(p->found.path, &p->meta, &error);
    if (code != 0 && code != TL_ENOENT)
        return tl__cmd_fail(NAME, "%s", error.msg);
    p->has_meta = code == 0;
    code = tl__name_map_find(p->found.path, &p->names, &error);
    if (code != 0 && code != TL_ENOENT)
        tl__cmd_note(NAME, "kernels are shown by number: %s", error.msg);
    p->has_names = code == 0;
    mention_missing(p);
    return keep_run(p);
}

static int unknown_column(const struct tl_pmu_view *view, const char *name)
{
    char list[900] = "";
    size_t used = 0;

    for (unsigned c = 0; c < view->n_columns && used < sizeof(list); c++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", c > 0 ? ", " : "", view->columns[c].name);
    return tl__cmd_fail(NAME, "no column %s in it; the columns: %s", name, list);
}

static int show_text(const struct tl_pmu_view *view, bool all, int column)
{
    struct tl_rendering out;
    int code = 0, end;

    tl__rendering_init(&out, tl__cmd_text, stdout);
    if (column >= 0)
        code = tl__pmu_column_text(&out, view, (unsigned)column);
    else if (!all)
        code = tl__pmu_text(&out, view);
    for (unsigned c = 0; all && c < view->n_columns && code == 0; c++) {
        tl__put(&out, "\n", c > 0);
        code = tl__pmu_column_text(&out, view, c);
    }
    end = tl__rendering_end(&out);
    tl__rendering_fini(&out);
    return code != 0 ? code : end;
}

static int show_json(const struct tl_pmu_view *view, int column)
{
    struct tl_json json;

    tl__json_init(&json, tl__cmd_bytes, stdout);
    tl__pmu_json(&json, view, column);
    return tl__json_finish(&json);
}

static int answer(struct pmu *p)
{
    struct tl_pmu_view view = {.pmu = &p->rows, .meta = p->has_meta ? &p->meta : NULL, .dir = p->found.path};
    bool all = p->column != NULL && strcmp(p->column, "all") == 0;
    int column = -1, code = tl__pmu_view_make(&view, p->has_names ? &p->names : NULL);

    if (code != 0)
        return tl__cmd_fail(NAME, "out of memory");
    if (p->column != NULL && !all)
        column = tl__pmu_view_find(&view, p->column);
    if (p->column != NULL && !all && column < 0) {
        code = unknown_column(&view, p->column);
        tl__pmu_view_fini(&view);
        return code;
    }
    code = p->json ? show_json(&view, column) : show_text(&view, all, column);
    tl__pmu_view_fini(&view);
    if (code != 0 && code != TL_EIO)
        return tl__cmd_fail(NAME, "%s", tl_strerror(code));
    return tl__cmd_finish(NAME);
}

static int run(int argc, char **argv)
{
    static struct pmu p; /* its meta is too large for a stack */
    const struct tl_artifact artifact = {TL_PMU_NAME, "--enable-pmu", &p.which};
    int code;

    p.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    p.run_epoch = -1;
    code = parse(&p, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__find_recording(NAME, p.word, &artifact, &p.found);
    if (code != 0)
        return code;
    mention(&p.found);
    code = open_all(&p);
    if (code == 0)
        code = answer(&p);
    if (p.has_names)
        tl__name_map_fini(&p.names);
    tl__pmu_meta_fini(&p.meta);
    tl__pmu_fini(&p.rows);
    tl__found_fini(&p.found);
    return code;
}

const struct tl_cmd tl__cmd_pmu = {
    .name = NAME,
    .summary = "Show by kernel what cores counted",
    .run = run,
};
