/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that a filter leaves. */
#ifndef TL_ANALYSIS_DEPS_LIST_H
#define TL_ANALYSIS_DEPS_LIST_H

#include "analysis/deps/deps_show.h"

struct tl_deps_list_row {
    uint32_t task;
    const struct tl_deps_arg *arg; /* the use of the buffer; NULL: no buffer was asked for */
};
struct tl_deps_list {
    struct tl_deps_list_row *rows; /* ours */
    uint64_t count, room;
    uint32_t tasks; /* different ones */
};

/* TL_ENOMEM. End with tl__deps_list_fini. */
int tl__deps_list(const struct tl_deps_subject *s, const struct tl_deps_filter *filter, struct tl_deps_list *ret_list);
void tl__deps_list_fini(struct tl_deps_list *list);

#endif
