/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens swimlane: what ran when, with what waited for what, as a trace that Perfetto opens. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/swimlane/swim_summary.h"
#include "cmd.h"
#include "view/find.h"
#include "opts.h"
#include "view/output.h"
#include "view/swim_part.h"
#include "view/swimlane_ranks.h"
#include "base/count_of.h"
#include "base/pathname.h"

#define NAME "swimlane"

struct swimlane {
    const char *word, *out, *names_file; /* as given; NULL: not */
    struct tl_rank_pick which;
    bool overhead, json;
    struct tl_found found;
    /* What was read. */
    struct tl_swimlane lane;
    struct tl_deps deps;
    struct tl_name_map names;
    bool has_deps, has_names;
    char names_note[1200];
    /* What was made of it. */
    struct tl_swim_part part; /* what of it is drawn */
    struct tl_swim_join join;
    struct tl_swim_scheds scheds;
    struct tl_swim_drawn drawn;
    char trace[TL_PATHNAME_BYTES];
};

static int parse(struct swimlane *s, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 'o',
         .name = "output",
         .kind = TL_OPT_TEXT,
         .target = &s->out,
         .value = "FILE",
         .help =
             "the trace, compressed if it ends with .json.gz; -: standard output, without a summary;\n" TL_TRACE_NAME
             " in DIR if not said"},
        {.name = "overhead",
         .kind = TL_OPT_FLAG,
         .target = &s->overhead,
         .help = "counters too: idle cores and ready tasks by core type, and where both meet"},
        {.name = "names",
         .kind = TL_OPT_TEXT,
         .target = &s->names_file,
         .value = "FILE",
         .help = "the kernels' names; the one name_map_*.json in DIR if not said"},
        {.name = "from",
         .kind = TL_OPT_TEXT,
         .target = &s->part.from,
         .value = "TIME",
         .help = "draw only what touches the time from here: 200us, 1.5ms (us without a unit), or a task, r1t5"},
        {.name = "to", .kind = TL_OPT_TEXT, .target = &s->part.to, .value = "TIME", .help = "and up to here"},
        {.name = "kernel",
         .kind = TL_OPT_TEXT,
         .target = &s->part.kernel,
         .value = "RE",
         .help = "draw only tasks of kernels whose name matches this extended regular expression"},
        TL_RANK_PICK_OPTIONS(&s->which),
        {.name = "json", .kind = TL_OPT_FLAG, .target = &s->json, .help = "the summary for machines"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about = "Writes what a run with --enable-chip-swimlane recorded as a trace for https://ui.perfetto.dev or\n"
                 "chrome://tracing: tasks on cores, dispatch and finish, scheduler phases, submits; with the graph of\n"
                 "--enable-dep-gen, kernels and arrows too. DIR is the run's directory or " TL_SWIMLANE_NAME
                 ";\nwithout it, the newest in outputs/. The root of a distributed run (rank<R>/d<K>/), named or the "
                 "newest: "
                 "all\nranks in one trace, on one axis of time.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &s->word, &words);

    if (words == 0)
        s->word = NULL;
    if (code == TL_OPTS_GO_ON && s->json && tl__output_is_stdout(s->out))
        return tl__cmd_fail(NAME, "-o - and --json both write to the standard output: name one of them");
    return code;
}

/* ---- reading ---- */

/* The file that --names gives: what is wrong with it is an error. */
static int read_given_names(struct swimlane *s, struct tl_error *error)
{
    static char text[1 << 20];
    FILE *f = fopen(s->names_file, "re");
    bool failed = f == NULL;
    size_t n = 0;
    int code, why = errno;

    if (f != NULL) {
        n = fread(text, 1, sizeof(text), f);
        failed = ferror(f) != 0;
        why = errno;
        (void)fclose(f);
    }
    if (failed) {
        (void)snprintf(error->msg, sizeof(error->msg), "cannot read %.800s: %s", s->names_file, strerror(why));
        return TL_ENOENT;
    }
    code = tl__name_map_parse(text, n, s->names_file, &s->names, error);
    s->has_names = code == 0;
    return code;
}

/* Names are a help: without them, or with a damaged file of them, kernels are shown by number, as all viewers do. */
static void find_names(struct swimlane *s)
{
    struct tl_error error = {0};
    int code = tl__name_map_find(s->found.path, &s->names, &error);

    s->has_names = code == 0;
    if (code == TL_ENOENT) {
        (void)snprintf(s->names_note, sizeof(s->names_note),
                       "no name_map_*.json: kernels are func_<id>; --names FILE gives one");
    } else if (code != 0) {
        (void)snprintf(s->names_note, sizeof(s->names_note), "kernels are func_<id>: %s; --names FILE %s one",
                       error.msg, code == TL_EEXIST ? "picks" : "gives");
        tl__cmd_note(NAME, "without kernel names: %s", error.msg);
    }
}

static int path_in(const char *dir, const char *name, char *path)
{
    size_t n = strlen(dir);
    const char *slash = n > 0 && dir[n - 1] == '/' ? "" : "/";

    return tl__pathname(path, "%s%s%s", dir, slash, name) ? 0 : TL_EINVAL;
}

static int read_all(struct swimlane *s, struct tl_error *error)
{
    char path[TL_PATHNAME_BYTES];
    int code;

    if (path_in(s->found.path, TL_SWIMLANE_NAME, path) != 0) {
        (void)snprintf(error->msg, sizeof(error->msg), "%.200s...: the path is too long", s->found.path);
        return TL_EINVAL;
    }
    code = tl__swimlane_read(path, &s->lane, error);
    if (code != 0)
        return code;
    (void)path_in(s->found.path, TL_DEPS_NAME, path); /* shorter than the first */
    code = tl__deps_read(path, &s->deps, error);
    s->has_deps = code == 0;
    if (code != 0 && code != TL_ENOENT)
        return code;
    if (s->names_file != NULL)
        return read_given_names(s, error);
    find_names(s);
    return 0;
}

/* ---- writing ---- */

/* An exit code after a message; 0: it is written. */
static int write_trace(struct swimlane *s)
{
    struct tl_swim_trace_opts opts = {.overhead = s->overhead};
    const struct tl_output_place place = {.command = NAME,
                                          .given = s->out,
                                          .dir = s->found.path,
                                          .name = TL_TRACE_NAME,
                                          .way_out = "-o FILE writes it elsewhere",
                                          .also_read = s->names_file};
    struct tl_output output;
    int code = tl__swim_part(NAME, &s->part, &s->join, &opts);

    if (code == 0)
        code = tl__output_open(&output, &place);
    if (code != 0)
        return code;
    if (!output.to_stdout)
        (void)tl__pathname(s->trace, "%s", output.out.path);
    return tl__output_end(&output, tl__swim_trace_write(&output.out.json, &s->scheds, &opts, &s->drawn), &place);
}

static int merge(struct swimlane *s, struct tl_error *error)
{
    int code = read_all(s, error);

    if (code == 0)
        code = tl__swim_join(&s->lane, s->has_deps ? &s->deps : NULL, s->has_names ? &s->names : NULL, &s->join, error);
    if (code == 0)
        code = tl__swim_scheds(&s->join, &s->scheds);
    return code;
}

static int report(const struct swimlane *s)
{
    const struct tl_swim_summary summary = {.scheds = &s->scheds,
                                            .drawn = &s->drawn,
                                            .dir = s->found.path,
                                            .trace = s->trace,
                                            .names_note = s->names_note[0] != 0 ? s->names_note : NULL,
                                            .part = s->part.words[0] != 0 ? s->part.words : NULL,
                                            .overhead = s->overhead};
    struct tl_rendering page;
    struct tl_json json;
    int code = 0, end;

    if (s->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        tl__swim_summary_json(&json, &summary);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        code = tl__swim_summary_text(&page, &summary);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
    }
    code = code != 0 ? code : end;
    end = tl__cmd_finish(NAME);
    return code == TL_ENOMEM ? tl__cmd_fail(NAME, "out of memory") : end;
}

/* `root` holds several ranks, and none of them is picked: all of them. False: it is not so. */
static bool all_ranks(const struct swimlane *s, const char *root, int *ret_code)
{
    const struct tl_swimlane_ranks_opts opts = {.out = s->out, .overhead = s->overhead, .json = s->json};
    struct tl_rank_leaves leaves;
    bool so;

    if (root == NULL || s->which.rank >= 0 || s->which.dispatch >= 0)
        return false;
    *ret_code = tl__rank_leaves(NAME, root, &leaves);
    so = *ret_code != 0 || leaves.list.count > 0;
    if (so && *ret_code == 0 && (s->part.from != NULL || s->part.to != NULL || s->part.kernel != NULL))
        *ret_code =
            tl__cmd_fail(NAME, "--from, --to and --kernel draw a part of one recording: pick it with --rank and "
                               "--dispatch");
    else if (so && *ret_code == 0)
        *ret_code = tl__swimlane_ranks(NAME, &leaves, &opts);
    tl__rank_leaves_fini(&leaves);
    return so;
}

/* No DIR, and the newest is one of several ranks: all of them, as if their root had been named. */
static bool newest_ranks(const struct swimlane *s, int *ret_code)
{
    uint32_t rank, dispatch;
    char root[TL_PATHNAME_BYTES];
    size_t bytes;

    if (s->word != NULL || !tl__rank_leaf_of(s->found.path, &rank, &dispatch, &bytes) || bytes >= sizeof(root))
        return false;
    memcpy(root, s->found.path, bytes);
    root[bytes] = '\0';
    return all_ranks(s, root, ret_code);
}

static int run(int argc, char **argv)
{
    static struct swimlane s;
    struct tl_error error = {0};
    const struct tl_artifact artifact = {TL_SWIMLANE_NAME, "--enable-chip-swimlane", &s.which};
    int code;

    s.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    code = parse(&s, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    if (all_ranks(&s, s.word, &code))
        return code;
    code = tl__find_recording(NAME, s.word, &artifact, &s.found);
    if (code != 0)
        return code;
    if (newest_ranks(&s, &code)) {
        tl__found_fini(&s.found);
        return code;
    }
    tl__found_mention(NAME, &s.found);
    code = merge(&s, &error);
    if (code != 0)
        code = tl__cmd_fail(NAME, "%s", error.msg[0] != 0 ? error.msg : tl_strerror(code));
    else
        code = write_trace(&s);
    if (code == 0 && !tl__output_is_stdout(s.out))
        code = report(&s);
    tl__swim_part_fini(&s.part);
    tl__swim_scheds_fini(&s.scheds);
    tl__swim_join_fini(&s.join);
    tl__swimlane_fini(&s.lane);
    tl__deps_fini(&s.deps);
    tl__name_map_fini(&s.names);
    tl__found_fini(&s.found);
    return code;
}

const struct tl_cmd tl__cmd_swimlane = {
    .name = NAME,
    .summary = "Show what ran when, as a trace for Perfetto",
    .run = run,
};
