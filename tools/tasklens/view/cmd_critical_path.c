/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analysis/path/path_show.h"
#include "analysis/path/path_trace.h"
#include "cmd.h"
#include "opts.h"
#include "view/output.h"
#include "view/swim_open.h"
#include "base/count_of.h"

#define NAME "critical-path"
#define REPORT TL_SWIMLANE_REPORT_NAME

struct critical_path {
    const char *word, *report, *trace;
    struct tl_rank_pick which;
    bool json, report_given;
    bool reported;  /* the report is there */
    bool no_report; /* only the trace, on the standard output */
    struct tl_swim_opened opened;
    struct tl_path_run run;
};

static int parse(struct critical_path *c, int argc, char **argv)
{
    const struct tl_opt table[] = {
        {.letter = 'o',
         .name = "output",
         .kind = TL_OPT_TEXT,
         .target = &c->report,
         .given = &c->report_given,
         .value = "FILE.md",
         .help = "where the report goes; -: standard output; " REPORT " in the recording if not said"},
        {.name = "trace",
         .kind = TL_OPT_TEXT,
         .target = &c->trace,
         .value = "FILE",
         .help = "the trace of `tasklens swimlane` too, with both paths as lanes above the others; -: only it, to\n"
                 "standard output"},
        TL_RANK_PICK_OPTIONS(&c->which),
        {.name = "json",
         .kind = TL_OPT_FLAG,
         .target = &c->json,
         .help = "for machines: all steps of both paths; a report only with -o"},
    };
    const struct tl_opts opts = {
        .command = NAME,
        .synopsis = "[DIR] [OPTION]...",
        .about = "Shows which tasks decided how long a run took, what each of them waited for, and writes a report.\n"
                 "DIR is the directory of a run with --enable-chip-swimlane and --enable-dep-gen; without it, the\n"
                 "newest in outputs/.",
        .table = table,
        .count = COUNT_OF(table),
        .max_words = 1,
    };
    size_t words = 0;
    int code = tl__opts_parse(&opts, argc, argv, &c->word, &words);

    if (words == 0)
        c->word = NULL;
    if (code == TL_OPTS_GO_ON && tl__output_is_stdout(c->report) + tl__output_is_stdout(c->trace) + c->json > 1)
        return tl__cmd_fail(NAME, "-o -, --trace - and --json all write to the standard output: name one of them");
    if (code == TL_OPTS_GO_ON && tl__output_is_stdout(c->trace) && !c->report_given)
        c->no_report = true;
    return code;
}

static int write_report(struct critical_path *c)
{
    const struct tl_output_place place = {.command = NAME,
                                          .given = c->report,
                                          .dir = c->opened.found.path,
                                          .name = REPORT,
                                          .way_out = "-o FILE.md writes the report elsewhere"};
    static struct tl_output output;
    struct tl_rendering page;
    int code = tl__output_open(&output, &place), end;

    if (code != 0)
        return code;
    tl__rendering_init(&page, tl__output_bytes, &output);
    code = tl__path_markdown(&page, &c->run, c->opened.found.path);
    end = tl__rendering_end(&page);
    tl__rendering_fini(&page);
    return tl__output_end(&output, code != 0 ? code : end, &place);
}

static int write_trace(struct critical_path *c)
{
    const struct tl_output_place place = {.command = NAME, .given = c->trace, .dir = c->opened.found.path};
    static struct tl_output output;
    struct tl_swim_drawn drawn;
    int code = tl__output_open(&output, &place);

    return code != 0 ? code : tl__output_end(&output, tl__path_trace_write(&output.out.json, &c->run, &drawn), &place);
}

static int show(struct critical_path *c)
{
    struct tl_rendering page;
    struct tl_json json;
    int code, end;

    if (c->json) {
        tl__json_init(&json, tl__cmd_bytes, stdout);
        code = tl__path_json(&json, &c->run, c->opened.found.path);
        end = tl__json_finish(&json);
    } else {
        tl__rendering_init(&page, tl__cmd_text, stdout);
        code = tl__path_text(&page, &c->run, c->opened.found.path);
        tl__put_str(&page, "\n");
        if (c->reported && c->report != NULL)
            tl__put_format(&page, "report: %s\n", c->report);
        else if (c->reported)
            tl__put_format(&page, "report: %s/" REPORT "\n", c->opened.found.path);
        if (c->trace != NULL && !tl__output_is_stdout(c->trace))
            tl__put_format(&page, "trace:  %s, for https://ui.perfetto.dev\n", c->trace);
        end = tl__rendering_end(&page);
        tl__rendering_fini(&page);
    }
    code = code != 0 ? code : end;
    if (code == TL_EIO)
        return tl__cmd_finish(NAME);
    return code < 0 ? tl__cmd_fail(NAME, "%s: %s", c->opened.found.path, tl_strerror(code)) : tl__cmd_finish(NAME);
}

static int answer(struct critical_path *c)
{
    struct tl_error error = {0};
    int code = tl__path_run_make(&c->opened.join, &c->run, &error), reported = 0;

    if (code < 0)
        return tl__cmd_fail(NAME, "%s/" TL_DEPS_NAME ": %s", c->opened.found.path, error.msg);
    if ((!c->json && !c->no_report) || c->report_given)
        reported = write_report(c);
    c->reported = reported == 0;
    if (reported != 0 && c->report_given)
        return reported;
    code = c->trace != NULL ? write_trace(c) : 0;
    if (code == 0 && !tl__output_is_stdout(c->report) && !tl__output_is_stdout(c->trace))
        code = show(c); /* of a recording that cannot be written to, too */
    return code != 0 ? code : reported;
}

static int run(int argc, char **argv)
{
    struct critical_path c = {0};
    int code;

    c.which = (struct tl_rank_pick)TL_RANK_PICK_INIT;
    code = parse(&c, argc, argv);
    if (code != TL_OPTS_GO_ON)
        return code;
    code = tl__swim_open(NAME, c.word, true, &c.which, &c.opened);
    if (code == 0)
        code = answer(&c);
    tl__path_run_fini(&c.run);
    tl__swim_close(&c.opened);
    return code;
}

const struct tl_cmd tl__cmd_critical_path = {
    .name = NAME,
    .summary = "Show which tasks decided how long a run took",
    .run = run,
};
