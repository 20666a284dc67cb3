/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of a part of a graph: text for Graphviz, to be laid out or to be drawn; where Graphviz put everything; and
 * the page. Lengths are points of 1/72 inch, which a page shows as pixels; y grows downward.
 */
#ifndef TL_ANALYSIS_DEPS_PICTURE_H
#define TL_ANALYSIS_DEPS_PICTURE_H

#include "analysis/deps/deps_part.h"

enum tl_deps_engine { TL_DEPS_DOT, TL_DEPS_SFDP, TL_DEPS_LEVELS };
/* "dot", "sfdp": programs of Graphviz; "levels": ours; NULL. */
extern const char *const tl__deps_engines[];

/* A digraph with labels, colours and edges by source, to be kept, changed and drawn by any Graphviz program. */
int tl__deps_dot(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part);
/* Only the sizes of the tasks' boxes and who feeds whom, as fast as the engine can take it; no text of others is in it.
 * For `ENGINE -Tplain`. */
int tl__deps_layout_input(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part,
                          enum tl_deps_engine engine);

struct tl_deps_box {
    float x, y, width, height; /* of its middle */
};
struct tl_deps_layout {
    float width, height;
    struct tl_deps_box *boxes; /* by place */
    /* The line of pair i: points[2 * first[i]] .. points[2 * first[i + 1]), x and y in turn: the start, then three a
     * piece of a Bezier curve. None if the engine drew none. */
    float *points;
    uint32_t *first;
};

/* What -Tplain wrote for the part. TL_EPARSE: it is not that, or a task has no place; TL_ENOMEM. End with
 * tl__deps_layout_fini, also after an error. */
int tl__deps_layout(const char *plain, size_t bytes, const struct tl_deps_part *part, struct tl_deps_layout *ret_layout,
                    struct tl_error *reterr);
/* For an engine that takes boxes for points and draws lines straight: moves the boxes apart, evenly, until a line is
 * two boxes long, and leaves the lines to the page. */
void tl__deps_layout_spread(struct tl_deps_layout *layout, const struct tl_deps_part *part);
/* Without Graphviz: levels below each other, lines straight, in a time that grows with tasks and lines alone.
 * TL_ENOMEM. End with tl__deps_layout_fini, also after an error. */
int tl__deps_layout_levels(const struct tl_deps_subject *s, const struct tl_deps_part *part,
                           struct tl_deps_layout *ret_layout, struct tl_error *reterr);
void tl__deps_layout_fini(struct tl_deps_layout *layout);
/* Of a task's box, in inches; the page is scratch. */
double tl__deps_box_width(const struct tl_deps_subject *s, uint32_t task, struct tl_rendering *scratch);

/* The page, src/analysis/web/assets/deps.*. `engine`: what made the layout, for the page to say. */
int tl__deps_html(struct tl_rendering *out, const struct tl_deps_subject *s, const struct tl_deps_part *part,
                  const struct tl_deps_layout *layout, enum tl_deps_engine engine);

#endif
