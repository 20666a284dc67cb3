/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical paths as text for the screen, as a Markdown report and as JSON. No printing here. One thread; the run
 * is borrowed for the call.
 */
#ifndef TL_ANALYSIS_PATH_SHOW_H
#define TL_ANALYSIS_PATH_SHOW_H

#include "analysis/path/path_run.h"
#include "base/json.h"

/* Of each path the report lists so many steps at its beginning and so many at its end. */
#define TL_PATH_REPORT_STEPS 500u

/* `dir` is the recording's, for the first line. 0, TL_ENOMEM, or the rendering's error. */
int tl__path_text(struct tl_rendering *out, const struct tl_path_run *run, const char *dir);
int tl__path_markdown(struct tl_rendering *out, const struct tl_path_run *run, const char *dir);
/* All steps of both paths. 0 or TL_ENOMEM; the writer keeps its own errors. */
int tl__path_json(struct tl_json *json, const struct tl_path_run *run, const char *dir);

/* Whether the static path is longer than the run, which cannot be. */
bool tl__path_contradicted(const struct tl_path_run *run);
/* An edge of the static path whose consumer began before its producer had ended: tasks of the graph. */
struct tl_path_contradiction {
    uint32_t pred, succ;
    uint64_t overlap_ns;
};
/* The next of them; *at is 0 for the first, and is moved on. False: no more. */
bool tl__path_next_contradiction(const struct tl_path_run *run, uint32_t *at, struct tl_path_contradiction *ret_found);
/* Behind the length of the static path: "60.0 % of the wall, 4 tasks: ...", or which edges the times contradict. */
void tl__put_path_static(struct tl_rendering *out, const struct tl_path_run *run);

/* A line a kind of time: share, microseconds, word, meaning; then the total, which is the wall. */
int tl__put_path_kinds(struct tl_rendering *out, const struct tl_path_run *run);
/* The same as members of an object, in ns, named as the words are, "core_busy". */
void tl__path_kinds_json(struct tl_json *json, const struct tl_path_run *run);

/* What to try next, most promising first. */
#define TL_PATH_ADVICE_MAX 3u
struct tl_path_advice {
    struct tl_rendering text[TL_PATH_ADVICE_MAX]; /* one line each, without its end */
    uint32_t count;
};
/* TL_ENOMEM. End with tl__path_advice_fini. `dir` is used in commands to type. */
int tl__path_advise(const struct tl_path_run *run, const char *dir, struct tl_path_advice *ret_advice);
void tl__path_advice_fini(struct tl_path_advice *advice);

/* What is wrong with the recording, or missing in it: a line each behind `lead`; nothing for a good one of level 4. */
void tl__put_path_notes(struct tl_rendering *out, const struct tl_path_run *run, const char *lead);
/* The counts behind the notes, those that are 0 too. */
void tl__path_notes_json(struct tl_json *json, const struct tl_path_run *run);

/* "the start of the recording", "its producer r0t1", "core AIV_10, busy with r0t1", "its submit". */
void tl__put_path_release(struct tl_rendering *out, const struct tl_path_run *run, uint32_t step);
/* "AIV_10" */
void tl__put_path_core(struct tl_rendering *out, const struct tl_path_run *run, uint32_t slice);

#endif
