/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_stats/scope_stats.jsonl: how full each ring was whenever a scope began or ended (docs/formats/scope_stats.md).
 * Line 1 says what the rings hold at most, each further line is one boundary, oldest first. One writer and one reader;
 * the reader takes files made by others of this kind. One thread per object.
 */
#ifndef TL_ARTIFACT_SCOPE_STATS_H
#define TL_ARTIFACT_SCOPE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tasklens/error.h>

#include "base/vec.h"

#define TL_SCOPE_DIR_NAME "scope_stats"
#define TL_SCOPE_NAME "scope_stats.jsonl"
#define TL_SCOPE_PAGE_NAME "scope.html" /* what `tasklens scope --html` makes of it, beside it */
#define TL_SCOPE_VERSION 6              /* of what we write; a file that says more is refused */
#define TL_SCOPE_MAX_RINGS 64u          /* that a file may have; ours have 4 or 1 */
#define TL_SCOPE_MAX_DEPTH (1u << 20)   /* that a boundary may have */

/* What a ring has of each, and what a boundary says about each. */
enum tl_ring_resource { TL_RING_TASKS, TL_RING_HEAP, TL_RING_DEPS, TL_RING_RESOURCES };

/* Monotonic positions, never wrapped: head - tail is taken. In slots, bytes, entries. */
struct tl_ring_span {
    uint64_t tail, head;
};

/* A scope begins or ends: the state of its ring at that moment. */
struct tl_boundary {
    struct tl_ring_span span[TL_RING_RESOURCES];
    uint64_t tensormap; /* entries of the tensormap, which all rings share */
    uint32_t site;      /* index in the sites */
    uint32_t depth;     /* open scopes around it; 0: the orchestration as a whole */
    uint32_t ring;
    bool ends;
};

struct tl_scope_stats {
    uint32_t version;
    uint32_t n_rings; /* at most TL_SCOPE_MAX_RINGS */
    bool fatal;       /* the run ended abnormally */
    uint64_t dropped; /* boundaries that are not here */
    uint64_t total;   /* that the file says it has; the writer takes those that are here */
    uint64_t size[TL_RING_RESOURCES][TL_SCOPE_MAX_RINGS]; /* what each ring holds at most; 0: not known */
    uint64_t tensormap_max;                               /* 0: not known */
    TL_VEC(struct tl_boundary) boundaries;                /* oldest first */
    /* "file.c:77", each text once. */
    char **sites;
    uint32_t n_sites, site_room;
    uint32_t *site_index; /* open addressing: 1 + site, 0: free; twice site_room places */
};

/* Boundaries are added at the end; 0 or TL_ENOMEM. Begin with an object that is all 0. */
int tl__scope_stats_add(struct tl_scope_stats *s, const struct tl_boundary *boundary);
/* The index of a site's text, which is copied. 0 and *ret_site, or TL_ENOMEM. */
int tl__scope_stats_site(struct tl_scope_stats *s, const char *text, size_t length, uint32_t *ret_site);
/* Frees what it holds, and is all 0 again. */
void tl__scope_stats_fini(struct tl_scope_stats *s);

/* Writes DIR/scope_stats.jsonl by rename. TL_EINVAL: a ring, site or depth out of range; TL_EIO, TL_ENOSPC,
 * TL_ENOMEM. */
int tl__scope_stats_write(const char *dir, const struct tl_scope_stats *s, struct tl_error *reterr);
/* Reads the file at `path`. TL_ENOENT, TL_EIO, TL_ENOMEM, TL_EVERSION; TL_EPARSE with file, line and field. What is
 * returned is in range; that heads and tails make sense analysis/scope/scope_usage.h checks. The caller's: end
 * with tl__scope_stats_fini. */
int tl__scope_stats_read(const char *path, struct tl_scope_stats *ret_stats, struct tl_error *reterr);
/* The same from memory; `name` appears in messages. */
int tl__scope_stats_parse(const void *text, size_t bytes, const char *name, struct tl_scope_stats *ret_stats,
                          struct tl_error *reterr);

#endif
