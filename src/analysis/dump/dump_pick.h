/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a dump a question is about, and how tasks are named in questions and answers. */
#ifndef TL_ANALYSIS_DUMP_PICK_H
#define TL_ANALYSIS_DUMP_PICK_H

#include <tasklens/recording.h>

#include "artifact/name_map.h"
#include "base/task_id.h"

#define TL_DUMP_TASKS_MAX 256

/* A plain value; TL_DUMP_FILTER_INIT lets everything through. */
struct tl_dump_filter {
    struct {
        uint64_t first, last;
    } tasks[TL_DUMP_TASKS_MAX]; /* ids; each range lies in one ring */
    unsigned n_tasks;           /* 0: all */
    uint64_t arg, index;
    const char *kernel;              /* an extended regular expression that a kernel of the task matches; NULL: any */
    const struct tl_name_map *names; /* of the kernels; NULL: none are known */
    enum tl_task_layout layout;      /* of the recording's tasks, for messages */
    bool by_arg, by_index;
    int stage, role; /* -1: any */
};
#define TL_DUMP_FILTER_INIT                                                                                            \
    {                                                                                                                  \
        .stage = -1, .role = -1                                                                                        \
    }

struct tl_dump_pick {
    uint64_t *index; /* ours; NULL: all records in order */
    uint64_t count;
};

/* Adds "r1t3", "r1t3..r1t9" or several of them with commas. TL_EPARSE: it is none; TL_ERANGE: a range that goes
 * backward or over two rings, or too many. */
int tl__dump_filter_tasks(struct tl_dump_filter *filter, const char *text);
/* The records that pass, which may be none. TL_ERANGE: filter->index is past the end; TL_ENOENT: no record at all is of
 * a task that is named, or of the argument, or of a kernel that matches; TL_EINVAL: the expression is none; TL_ENOMEM.
 * End with tl__dump_pick_fini. */
int tl__dump_pick(const struct tl_recording *recording, const struct tl_dump_filter *filter,
                  struct tl_dump_pick *ret_pick, struct tl_error *reterr);
void tl__dump_pick_fini(struct tl_dump_pick *pick);

static inline uint64_t tl__dump_pick_at(const struct tl_dump_pick *pick, uint64_t i)
{
    return pick->index != NULL ? pick->index[i] : i;
}

/* "before", "before_dispatch", "after", "after_completion"; "input", "output", "inout". The value or TL_EPARSE. */
int tl__stage_parse(const char *text);
int tl__role_parse(const char *text);

#endif
