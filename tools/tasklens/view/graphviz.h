/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz as a program: found on PATH, fed and read through memory, ended when it takes too long. */
#ifndef TL_TOOLS_GRAPHVIZ_H
#define TL_TOOLS_GRAPHVIZ_H

#include <stddef.h>

#include <tasklens/error.h>

struct tl_graphviz {
    const char *command; /* in whose name the line on a terminal says how long it takes */
    const char *engine;  /* the program: "dot" */
    const char *input;   /* text in the dot language */
    size_t bytes;
    unsigned limit_s; /* 0: as long as it takes */
};

/*
 * Runs `ENGINE -Tplain`. 0 with what it wrote, to be freed; TL_ENOENT: no such program; TL_ETIMEDOUT: it took longer;
 * TL_EIO: it failed, or cannot be run; TL_ENOMEM. All but the time limit come with a message.
 */
int tl__graphviz_layout(const struct tl_graphviz *g, char **ret_text, size_t *ret_bytes, struct tl_error *reterr);

#endif
