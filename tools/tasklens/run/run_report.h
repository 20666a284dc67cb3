/* SPDX-License-Identifier: Apache-2.0 */
/* One `tasklens run`, and what it prints for people on stdout. */
#ifndef TL_TOOLS_RUN_REPORT_H
#define TL_TOOLS_RUN_REPORT_H

#include "base/pathname.h"
#include "host/data.h"
#include "host/params.h"
#include "run/run_opts.h"

/* One `tasklens run`. */
struct tl_run_session {
    struct tl_run_options o;
    char path[TL_PATHNAME_BYTES]; /* of the shared object */
    bool compiled;                /* path is ours to remove, with its lock */
    int compile_lock;
    struct tl_worker *worker;
    struct tl_loaded *loaded;
    const struct tl_program *program;
    const char *case_name;
    int64_t params[TL_MAX_PARAMS];
    struct tl_data *data;
    bool has_golden;
    char dir[TL_PATHNAME_BYTES]; /* of the recording; "" without one */
    char heading[64];            /* what is above a run of several; "": its round */
    /* Over all rounds. */
    bool launched, differs, incomplete;
    unsigned viewers; /* tl__viewers_of what was written */
    int exit_code;    /* of a failed run; 0: none failed */
};

/* Program, case, platform. */
void tl__report_head(const struct tl_run_session *s);
/* Tasks, each output against its golden (notes in *s if one differs), the recording in `dir`. */
void tl__report_round(struct tl_run_session *s, int64_t round, const char *dir, const struct tl_run_result *result);
/* What to type next; the recording's path is alone on the last line. */
void tl__report_tail(const struct tl_run_session *s);

#endif
