/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to show a run's ring usage: text, JSON, a page. One thread per object. */
#ifndef TL_ANALYSIS_SCOPE_VIEW_H
#define TL_ANALYSIS_SCOPE_VIEW_H

#include "analysis/text/rendering.h"
#include "analysis/scope/scope_usage.h"
#include "base/json.h"

#define TL_SCOPE_SITES_SHOWN 20u

struct tl_scope_view {
    const struct tl_scope_usage *usage;
    const char *dir;      /* where it was read, for the heading */
    const char *runtime;  /* that made it, to be named in the line to type; NULL: the default, or not known */
    uint64_t sites_shown; /* of the list of sites */
};

/* Peaks, settings and sites for people. 0, or the rendering's error. */
int tl__scope_text(struct tl_rendering *out, const struct tl_scope_view *view);
/* The same, with every scope, as one object on several lines. Errors are the writer's. */
void tl__scope_json(struct tl_json *j, const struct tl_scope_view *view);

/* A whole page for a browser (analysis/web/web.h). 0, or the rendering's error. */
int tl__scope_html(struct tl_rendering *out, const struct tl_scope_view *view);

/* ---- words of all of them ---- */

/* What the reader should know before the figures. */
enum tl_scope_warning {
    TL_SCOPE_FATAL,
    TL_SCOPE_DROPPED,
    TL_SCOPE_CUT,
    TL_SCOPE_OPEN,
    TL_SCOPE_UNMATCHED,
    TL_SCOPE_BACKWARD,
    TL_SCOPE_WARNINGS
};
/* One line without its end, if there is a reason for it. */
bool tl__put_scope_warning(struct tl_rendering *out, const struct tl_scope_usage *u, enum tl_scope_warning warning);
/* "2 scopes on 2 of 4 rings, 4 boundaries". */
void tl__put_scope_summary(struct tl_rendering *out, const struct tl_scope_usage *u);
uint64_t tl__scope_rings_used(const struct tl_scope_usage *u);
/* What was taken, for reading: "196", "192K", "1.3G". */
void tl__put_ring_amount(struct tl_rendering *out, unsigned resource, uint64_t amount);
/* A size as its flag takes it, exact: "8", "192K". */
void tl__put_ring_setting(struct tl_rendering *out, unsigned resource, uint64_t enough);
/* What to type for one ring: "--task-window 8 --heap-bytes 192K --dep-pool 6". */
void tl__put_ring_settings(struct tl_rendering *out, const struct tl_ring_use *ring);
/* Whether the peaks are those of a whole run. */
enum tl_scope_state {
    TL_SCOPE_WHOLE,
    TL_SCOPE_STOPPED, /* the run ended abnormally */
    TL_SCOPE_PARTIAL, /* boundaries are missing, or do not fit together */
};
enum tl_scope_state tl__scope_state(const struct tl_scope_usage *u);
/* What these sizes are. */
const char *tl__scope_settings_title(const struct tl_scope_usage *u);
/* The line to type; false, and nothing: it would not be enough, and the note says what to do. */
bool tl__put_scope_line(struct tl_rendering *out, const struct tl_scope_view *view);
/* What to know about the line, or what to do instead; NULL: nothing. */
const char *tl__scope_note(const struct tl_scope_usage *u);
/* Why the size is enough, in a few words. */
const char *tl__scope_why(unsigned resource, const struct tl_resource_use *use, enum tl_scope_state state);
#endif
