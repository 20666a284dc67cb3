/* SPDX-License-Identifier: Apache-2.0 */
/* What `tasklens swimlane` says about the trace that it wrote. Pure, but for the rendering and the JSON. */
#ifndef TL_ANALYSIS_SWIM_SUMMARY_H
#define TL_ANALYSIS_SWIM_SUMMARY_H

#include <stdbool.h>

#include "analysis/text/rendering.h"
#include "analysis/swimlane/swim_trace.h"

struct tl_swim_summary {
    const struct tl_swim_scheds *scheds;
    const struct tl_swim_drawn *drawn;
    const char *dir;        /* the recording's */
    const char *trace;      /* path of the file */
    const char *names_note; /* why there are no names, or NULL */
    const char *part;       /* which part the trace shows, or NULL: all */
    bool overhead;          /* it was asked for */
};

/* A few lines: what was merged, what was left out and why, what is not there and which flag makes it, how to open
 * it; the trace's path is the last. The rendering's error, or 0. */
int tl__swim_summary_text(struct tl_rendering *out, const struct tl_swim_summary *summary);
void tl__swim_summary_json(struct tl_json *json, const struct tl_swim_summary *summary);

#endif
