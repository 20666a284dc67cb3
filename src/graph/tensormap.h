/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tasks last wrote, and which have read since, each part of each buffer. One thread.
 *
 * A buffer is an address and the task that allocated it, so that memory which a ring uses again is another buffer. A
 * buffer has two lists of entries, writers and readers. Short ones are searched entry by entry. A longer one is also
 * put into cells: the buffer is seen as rows of `pitch` bytes, and an entry of up to 2^a rows by 2^b columns is in one
 * cell of that size, the one with its first row and column. A query looks, for each size class in the list, at the
 * cells of its own rectangle, and one more before it in each direction if entries cross the edges of cells. So tiles of
 * one matrix, whose byte ranges all overlap, are distinguished by looking at a few cells.
 *
 * Searching changes only caches of its own; adding never fails after tl__map_reserve.
 */
#ifndef TL_GRAPH_TENSORMAP_H
#define TL_GRAPH_TENSORMAP_H

#include "base/vec.h"
#include "graph/region.h"

#define TL_MAP_NONE UINT32_MAX

enum tl_map_kind { TL_MAP_WRITER, TL_MAP_READER };

/* What a search looks at is in its first 64 bytes. */
struct tl_map_entry {
    uint64_t lo, hi;
    uint64_t row, col;             /* its cell, while in_cell */
    uint32_t cell_next, cell_prev; /* in the bucket of its cell, while in_cell */
    uint32_t next, prev;           /* in the buffer's list */
    uint32_t buffer;               /* index of its struct tl_map_buffer; TL_MAP_NONE while free or unlinked */
    uint16_t size_class;
    uint8_t kind; /* enum tl_map_kind */
    bool dense : 1, in_cell : 1;
    uint64_t task;
    struct tl_region region;
    uint32_t task_next; /* next entry of the same task, or free entry */
};
_Static_assert(offsetof(struct tl_map_entry, region) == 64, "what a search looks at");

/* A view of one buffer, as it is searched for and added. */
struct tl_map_view {
    struct tl_region region;
    struct tl_extent extent; /* not empty */
    uint64_t pitch;          /* what `rect` is for; set by the map */
    struct tl_rect rect;     /* none yet: row_end 0 */
};

#define TL_MAP_CLASSES 6u

/* How the entries of one long list are put into cells. */
struct tl_map_index {
    uint64_t pitch;
    uint32_t next; /* free index */
    bool has_wide; /* the cell of entries that fit no class is in use */
    uint8_t n_classes;
    struct tl_map_class {
        uint16_t size;                 /* a << 8 | b */
        bool row_crosses, col_crosses; /* some entry reaches into the next cell */
    } classes[TL_MAP_CLASSES];
};

struct tl_map_list {
    uint32_t head, tail, count;
    uint32_t index; /* TL_MAP_NONE while the list is short */
};

struct tl_map_buffer {
    uint64_t addr, owner;
    uint32_t next; /* in its bucket, or free buffer */
    struct tl_map_list lists[2];
};

struct tl_map {
    struct tl_map_entry *entries; /* as many as there can be, touched only when used */
    struct tl_map_buffer *buffers;
    TL_VEC(struct tl_map_index) indexes;
    uint32_t *buffer_buckets, *cell_buckets; /* powers of two */
    uint32_t capacity, n_buffer_buckets, n_cell_buckets;
    uint32_t entries_used, buffers_used; /* ever; those above have not been touched */
    uint32_t free_entry, free_buffer, free_index, n_entries, n_buffers;
    uint32_t last_buffer; /* the one found last; TL_MAP_NONE: none */
    uint32_t count[2];    /* by kind */
};

/* One match of a search. */
struct tl_map_hit {
    uint32_t entry;
    bool covered; /* the query covers the entry */
};

/* For at most `capacity` entries at a time. 0 or TL_ENOMEM; fini in either case. */
int tl__map_init(struct tl_map *m, uint32_t capacity);
void tl__map_fini(struct tl_map *m);
/* Forgets every entry and keeps the memory. 0 or TL_ENOMEM; fini in either case. */
int tl__map_reset(struct tl_map *m);
/* Makes sure that `n` entries can be added. 0 or TL_ENOMEM. */
int tl__map_reserve(struct tl_map *m, uint32_t n);

/* The buffer's index, or TL_MAP_NONE if it has no entries. */
uint32_t tl__map_find(struct tl_map *m, uint64_t addr, uint64_t owner);

/* Calls `hit` for every entry of `kind` in `buffer` that may share a byte with the query, stopping at the first nonzero
 * return, which is returned. */
typedef int (*tl_map_visit)(void *ctx, const struct tl_map_hit *hit);
int tl__map_search(const struct tl_map *m, uint32_t buffer, enum tl_map_kind kind, struct tl_map_view *view,
                   tl_map_visit visit, void *ctx);

/* Adds an entry at the front of the chain *task_head (a task's entries). */
void tl__map_add(struct tl_map *m, uint64_t addr, uint64_t owner, enum tl_map_kind kind, struct tl_map_view *view,
                 uint64_t task, uint32_t *task_head);
/* Takes an entry out of its buffer and cell. It stays in its task's chain, dead, until tl__map_drop_chain. */
void tl__map_unlink(struct tl_map *m, uint32_t entry);
/* Frees all entries of a task. */
void tl__map_drop_chain(struct tl_map *m, uint32_t *task_head);

#endif
