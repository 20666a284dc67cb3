/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical paths as text for the screen, as a Markdown report and as JSON. No printing here. One thread; the run
 * is borrowed for the call.
 */
#ifndef TL_ANALYSIS_PATH_SHOW_H
#define TL_ANALYSIS_PATH_SHOW_H

#include "analysis/path_run.h"
#include "base/json.h"

/* Of each path the report lists so many steps at its beginning and so many at its end. */
#define TL_PATH_REPORT_STEPS 500u

/* `dir` is the recording's, for the first line. 0, TL_ENOMEM, or what the page says. */
int tl__path_text(struct tl_page *out, const struct tl_path_run *run, const char *dir);
int tl__path_markdown(struct tl_page *out, const struct tl_path_run *run, const char *dir);
/* All steps of both paths. 0 or TL_ENOMEM; the writer keeps its own errors. */
int tl__path_json(struct tl_json *json, const struct tl_path_run *run, const char *dir);

/* A line a kind of time: share, microseconds, word, meaning; then the total, which is the wall. */
int tl__put_path_kinds(struct tl_page *out, const struct tl_path_run *run);
/* The same as members of an object, in ns, named as the words are, "core_busy". */
void tl__path_kinds_json(struct tl_json *json, const struct tl_path_run *run);

/* What to try next, most promising first. */
#define TL_PATH_ADVICE_MAX 3u
struct tl_path_advice {
    struct tl_page text[TL_PATH_ADVICE_MAX]; /* one line each, without its end */
    uint32_t count;
};
/* TL_ENOMEM. End with tl__path_advice_fini. `dir` stands in commands to type. */
int tl__path_advise(const struct tl_path_run *run, const char *dir, struct tl_path_advice *ret_advice);
void tl__path_advice_fini(struct tl_path_advice *advice);

/* What is wrong with the recording, or missing in it: a line each behind `lead`; nothing for a good one of level 4. */
void tl__put_path_notes(struct tl_page *out, const struct tl_path_run *run, const char *lead);
/* The counts behind the notes, those that are 0 too. */
void tl__path_notes_json(struct tl_json *json, const struct tl_path_run *run);

/* "the start of the recording", "its producer r0t1", "core AIV_10, busy with r0t1", "its submit". */
void tl__put_path_release(struct tl_page *page, const struct tl_path_run *run, uint32_t step);
/* "AIV_10" */
void tl__put_path_core(struct tl_page *page, const struct tl_path_run *run, uint32_t slice);

#endif
