/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of `tasklens deps`: the page, with Graphviz for the layout, and the text for Graphviz. */
#ifndef TL_TOOLS_DEPS_DRAW_H
#define TL_TOOLS_DEPS_DRAW_H

#include "analysis/deps/deps_picture.h"

struct tl_deps_draw {
    const char *command;
    const struct tl_deps_subject *subject;
    const struct tl_deps_part_of *of;
    const char *output; /* file; NULL: deps.html in the recording, the standard output for the text */
    int engine;         /* enum tl_deps_engine; looked at if it was given */
    bool engine_given;
};

/* Exit codes, after a message where there is something to say. */
int tl__deps_draw_html(const struct tl_deps_draw *d);
int tl__deps_draw_dot(const struct tl_deps_draw *d);

#endif
