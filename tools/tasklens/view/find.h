/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recording a viewer opens. A word may name the recording's own directory, the run's, or the file; a directory
 * that holds several (round<k>/, rank<R>/d<K>/, or whole runs) means the newest one in it; no word means outputs/.
 */
#ifndef TL_TOOLS_FIND_H
#define TL_TOOLS_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_meta; /* artifact/dfx_meta.h */

/* Of a tree of ranks, which dispatch; -1: whichever. */
struct tl_rank_pick {
    int64_t rank, dispatch;
};
#define TL_RANK_PICK_INIT                                                                                              \
    {                                                                                                                  \
        .rank = -1, .dispatch = -1                                                                                     \
    }
/* The rows of a viewer's options for it. */
#define TL_RANK_PICK_OPTIONS(pick)                                                                                     \
    {.name = "rank",                                                                                                   \
     .kind = TL_OPT_NUMBER,                                                                                            \
     .target = &(pick)->rank,                                                                                          \
     .value = "R",                                                                                                     \
     .help = "of a tree of ranks, rank R",                                                                             \
     .max = 1 << 20},                                                                                                  \
    {                                                                                                                  \
        .name = "dispatch", .kind = TL_OPT_NUMBER, .target = &(pick)->dispatch, .value = "K",                          \
        .help = "and of it dispatch K", .max = 1 << 30                                                                 \
    }

/* What a viewer opens. */
struct tl_artifact {
    const char *file;                /* its name: "args_dump.json" */
    const char *flag;                /* of `tasklens run`, that makes it: "--dump-args 2" */
    const struct tl_rank_pick *pick; /* NULL: whichever */
};

struct tl_found {
    char *path;    /* directory that holds the file: "outputs/x_default_20261130_120000/args_dump" */
    char **others; /* those that are beside it, sorted; the last is NULL */
    size_t other_count;
    char *cut_short; /* a run's directory below the same root, newer, with a journal and no recording; NULL: none */
};

/* 0, or the exit code after one line on stderr in the name of `command`. End with tl__found_fini. */
int tl__find_recording(const char *command, const char *word, const struct tl_artifact *what,
                       struct tl_found *ret_found);
/* Says on stderr, in the name of `command`, what else could have been meant: others beside it, a run cut short; and
 * that the run it is of did not end well. */
void tl__found_mention(const char *command, const struct tl_found *found);
/* Of that only a run cut short, or one that still goes on. */
void tl__found_mention_newer(const char *command, const struct tl_found *found);
/* Of the run that it is of only, and how that ended, where it did not end well. */
void tl__found_mention_end(const char *command, const struct tl_found *found);
/* The same in a tree of ranks only: a table of its dispatches. False, and nothing is said: it is none. */
bool tl__found_mention_ranks(const char *command, const struct tl_found *found);
/* What the run's dfx_meta.json says: the caller's to free. NULL: there is none, as beside foreign recordings, or it
 * cannot be read, or no memory. */
struct tl_meta *tl__found_meta(const struct tl_found *found);
/* Whether a run that records, or recovers, into `dir` still goes on. */
bool tl__run_lives(const char *dir);
void tl__found_fini(struct tl_found *found);

#endif
