/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/tensormap.h"

#include <assert.h>
#include <string.h>

#include "base/env.h"

#define FIRST_BUCKETS 256u
#define SHORT_LIST 8u   /* entries that are searched one by one */
#define WIDE UINT16_MAX /* the size class whose one cell holds entries that fit no other */

static uint32_t fold(uint64_t x, uint32_t n_buckets)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(x >> 32) & (n_buckets - 1);
}

static uint32_t buffer_bucket(const struct tl_map *m, uint64_t addr, uint64_t owner)
{
    return fold((addr >> 3) ^ (owner * UINT64_C(0xBF58476D1CE4E5B9)), m->n_buffer_buckets);
}

static uint32_t cell_bucket(const struct tl_map *m, uint32_t buffer, unsigned kind, unsigned size_class, uint64_t row,
                            uint64_t col)
{
    uint64_t key = ((uint64_t)buffer << 32) ^ (uint64_t)(size_class << 1 | kind) ^ (col << 17);

    key ^= row * UINT64_C(0xBF58476D1CE4E5B9);
    key ^= key >> 29;
    assert(m->n_cell_buckets != 0);
    return fold(key, m->n_cell_buckets);
}

static unsigned log2_up(uint64_t n)
{
    return n <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(n - 1);
}

int tl__map_init(struct tl_map *m, uint32_t capacity)
{
    *m = (struct tl_map){.capacity = capacity,
                         .free_entry = TL_MAP_NONE,
                         .free_buffer = TL_MAP_NONE,
                         .free_index = TL_MAP_NONE,
                         .last_buffer = TL_MAP_NONE};
    m->entries = tl__reserve(capacity * sizeof(*m->entries));
    m->buffers = tl__reserve(capacity * sizeof(*m->buffers));
    if (m->entries == NULL || m->buffers == NULL)
        return TL_ENOMEM;
    return tl__map_reserve(m, 1);
}

void tl__map_fini(struct tl_map *m)
{
    if (m->entries != NULL)
        tl__release(m->entries, m->capacity * sizeof(*m->entries));
    if (m->buffers != NULL)
        tl__release(m->buffers, m->capacity * sizeof(*m->buffers));
    tl_vec_fini(&m->indexes);
    tl__free(m->buffer_buckets);
    tl__free(m->cell_buckets);
    *m = (struct tl_map){0};
}

int tl__map_reset(struct tl_map *m)
{
    tl__free(m->buffer_buckets);
    tl__free(m->cell_buckets);
    tl_vec_fini(&m->indexes);
    *m = (struct tl_map){.entries = m->entries,
                         .buffers = m->buffers,
                         .capacity = m->capacity,
                         .free_entry = TL_MAP_NONE,
                         .free_buffer = TL_MAP_NONE,
                         .free_index = TL_MAP_NONE,
                         .last_buffer = TL_MAP_NONE};
    return tl__map_reserve(m, 1);
}

static void chain_buffer(struct tl_map *m, uint32_t index)
{
    struct tl_map_buffer *b = &m->buffers[index];
    uint32_t *bucket = &m->buffer_buckets[buffer_bucket(m, b->addr, b->owner)];

    assert(*bucket != index); /* GI8 */
    b->next = *bucket;
    *bucket = index;
}

static void chain_cell(struct tl_map *m, uint32_t index)
{
    struct tl_map_entry *e = &m->entries[index];
    uint32_t *bucket = &m->cell_buckets[cell_bucket(m, e->buffer, e->kind, e->size_class, e->row, e->col)];

    assert(e->buffer != TL_MAP_NONE && *bucket != index); /* GI8: an entry is in one cell */
    e->in_cell = true;
    e->cell_prev = TL_MAP_NONE;
    e->cell_next = *bucket;
    if (*bucket != TL_MAP_NONE)
        m->entries[*bucket].cell_prev = index;
    *bucket = index;
}

/* Empty buckets for `n` items in place of the old ones; the caller chains the items again. */
static int grow_buckets(uint32_t **buckets, uint32_t *n_buckets, uint32_t n)
{
    uint32_t more = *n_buckets == 0 ? FIRST_BUCKETS : *n_buckets;
    uint32_t *bigger;

    while (more < n)
        more *= 2;
    assert((more & (more - 1)) == 0); /* a place is a hash and a mask */
    bigger = tl__alloc(more, sizeof(**buckets));
    if (bigger == NULL)
        return TL_ENOMEM;
    memset(bigger, 0xff, more * sizeof(*bigger)); /* TL_MAP_NONE */
    tl__free(*buckets);
    *buckets = bigger;
    *n_buckets = more;
    return 0;
}

int tl__map_reserve(struct tl_map *m, uint32_t n)
{
    if (m->n_entries + n > m->n_cell_buckets) {
        if (grow_buckets(&m->cell_buckets, &m->n_cell_buckets, m->n_entries + n) < 0)
            return TL_ENOMEM;
        for (uint32_t i = 0; i < m->entries_used; i++)
            if (m->entries[i].buffer != TL_MAP_NONE && m->entries[i].in_cell)
                chain_cell(m, i);
    }
    if (m->n_buffers + n > m->n_buffer_buckets) {
        if (grow_buckets(&m->buffer_buckets, &m->n_buffer_buckets, m->n_buffers + n) < 0)
            return TL_ENOMEM;
        for (uint32_t i = 0; i < m->buffers_used; i++)
            if (m->buffers[i].lists[0].count + m->buffers[i].lists[1].count > 0)
                chain_buffer(m, i);
    }
    return 0;
}

static bool is_buffer(const struct tl_map_buffer *b, uint64_t addr, uint64_t owner)
{
    return b->addr == addr && b->owner == owner;
}

/* A task's arguments, and those of the tasks around it, are often in one buffer. */
uint32_t tl__map_find(struct tl_map *m, uint64_t addr, uint64_t owner)
{
    uint32_t i = m->last_buffer;

    if (i != TL_MAP_NONE && is_buffer(&m->buffers[i], addr, owner))
        return i;
    i = m->buffer_buckets[buffer_bucket(m, addr, owner)];
    while (i != TL_MAP_NONE && !is_buffer(&m->buffers[i], addr, owner))
        i = m->buffers[i].next;
    if (i != TL_MAP_NONE)
        m->last_buffer = i;
    return i;
}

struct query {
    const struct tl_map_view *view;
    tl_map_visit visit;
    void *ctx;
};

/* Neither is empty. For dense ranges it is enough to compare their ends. */
static int try_entry(const struct tl_map *m, uint32_t index, const struct query *q)
{
    const struct tl_map_entry *e = &m->entries[index];
    const struct tl_extent *x = &q->view->extent;
    struct tl_map_hit hit = {.entry = index};

    assert(e->lo < e->hi && x->lo < x->hi); /* GI9 */
    assert(e->buffer != TL_MAP_NONE);       /* GI8 */
    if (e->lo >= x->hi || x->lo >= e->hi)
        return 0;
    if (x->dense && e->dense) {
        hit.covered = x->lo <= e->lo && e->hi <= x->hi;
    } else {
        const struct tl_extent extent = {.lo = e->lo, .hi = e->hi, .dense = e->dense};

        if (tl__region_overlap(&q->view->region, x, &e->region, &extent) == TL_OVERLAP_NONE)
            return 0;
        hit.covered = tl__region_covers(&q->view->region, x, &e->region, &extent);
    }
    return q->visit(q->ctx, &hit);
}

static int search_list(const struct tl_map *m, const struct tl_map_list *list, const struct query *q)
{
    int found = 0;

    for (uint32_t i = list->head; i != TL_MAP_NONE && found == 0; i = m->entries[i].next)
        found = try_entry(m, i, q);
    return found;
}

/* The cells of one size class that may hold an entry which reaches into a rectangle. */
struct cells {
    uint64_t row, row_end, col, col_end;
};

static struct cells cells_of(const struct tl_rect *x, const struct tl_map_class *class)
{
    unsigned a = class->size >> 8, b = class->size & 0xff;
    struct cells c;

    assert(x->row < x->row_end && x->col < x->col_end); /* GI11 */
    c.row = x->row >> a;
    c.col = x->col >> b;
    c.row -= class->row_crosses && c.row > 0;
    c.col -= class->col_crosses && c.col > 0;
    c.row_end = ((x->row_end - 1) >> a) + 1;
    c.col_end = ((x->col_end - 1) >> b) + 1;
    assert(c.row < c.row_end && c.col < c.col_end); /* GI11: a query has at least one cell of each size */
    return c;
}

static int search_cell(const struct tl_map *m, uint32_t buffer, enum tl_map_kind kind, unsigned size_class,
                       uint64_t row, uint64_t col, const struct query *q)
{
    uint32_t i = m->cell_buckets[cell_bucket(m, buffer, kind, size_class, row, col)];
    int found = 0;

    for (; i != TL_MAP_NONE && found == 0; i = m->entries[i].cell_next) {
        const struct tl_map_entry *e = &m->entries[i];

        /* Other cells may share the bucket. */
        if (e->row == row && e->col == col && e->buffer == buffer && e->kind == kind && e->size_class == size_class)
            found = try_entry(m, i, q);
    }
    return found;
}

static int search_cells(const struct tl_map *m, uint32_t buffer, enum tl_map_kind kind, unsigned size_class,
                        const struct cells *c, const struct query *q)
{
    int found = 0;

    for (uint64_t row = c->row; row < c->row_end && found == 0; row++)
        for (uint64_t col = c->col; col < c->col_end && found == 0; col++)
            found = search_cell(m, buffer, kind, size_class, row, col, q);
    return found;
}

/* The cells to look at, by size class. False: they are more than `left`. */
static bool find_cells(const struct tl_map_index *index, uint64_t left, const struct tl_rect *rect, struct cells *cells)
{
    for (uint32_t i = 0; i < index->n_classes; i++) {
        uint64_t rows, cols;

        cells[i] = cells_of(rect, &index->classes[i]);
        rows = cells[i].row_end - cells[i].row;
        cols = cells[i].col_end - cells[i].col;
        if (rows > left || cols > left || rows * cols > left)
            return false;
        left -= rows * cols;
    }
    return true;
}

/* Tiles of one size in rows and columns: a query for such a tile looks at one cell. */
static bool only_cell(const struct tl_map_index *index, const struct tl_rect *rect, uint64_t *ret_row,
                      uint64_t *ret_col)
{
    const struct tl_map_class *class = &index->classes[0];
    unsigned a = class->size >> 8, b = class->size & 0xff;

    assert(index->n_classes > 0 || index->has_wide); /* GI11: a list with cells has entries in them */
    if (index->n_classes != 1 || index->has_wide || class->row_crosses || class->col_crosses)
        return false;
    *ret_row = rect->row >> a;
    *ret_col = rect->col >> b;
    return (rect->row_end - 1) >> a == *ret_row && (rect->col_end - 1) >> b == *ret_col;
}

/* Any number of cells, of any size. A function of its own, so that the usual search stays short. */
static __attribute__((noinline)) int search_many(const struct tl_map *m, uint32_t buffer, enum tl_map_kind kind,
                                                 const struct query *q)
{
    const struct tl_map_list *list = &m->buffers[buffer].lists[kind];
    const struct tl_map_index *index = &m->indexes.items[list->index];
    struct cells cells[TL_MAP_CLASSES];
    int found = 0;

    if (!find_cells(index, list->count, &q->view->rect, cells))
        return search_list(m, list, q);
    for (uint32_t i = 0; i < index->n_classes && found == 0; i++)
        found = search_cells(m, buffer, kind, index->classes[i].size, &cells[i], q);
    if (index->has_wide && found == 0)
        found = search_cell(m, buffer, kind, WIDE, 0, 0, q);
    return found;
}

#ifndef NDEBUG
#define CHECKED_ENTRIES 16u /* of a list: more would make each submit of an assertion build slow */

/* GI8: the first entries of a list name their list, and one another, and have bytes. */
static bool list_is_sound(const struct tl_map *m, uint32_t buffer, unsigned kind)
{
    const struct tl_map_list *list = &m->buffers[buffer].lists[kind];
    uint32_t prev = TL_MAP_NONE, seen = 0, i = list->head;

    for (; i != TL_MAP_NONE && seen < CHECKED_ENTRIES; i = m->entries[i].next, seen++) {
        const struct tl_map_entry *e = &m->entries[i];

        if (e->buffer != buffer || e->kind != kind || e->prev != prev || e->lo >= e->hi)
            return false;
        if (e->in_cell != (list->index != TL_MAP_NONE))
            return false;
        prev = i;
    }
    return i != TL_MAP_NONE ? seen < list->count : seen == list->count && list->tail == prev;
}
#endif

/* Lists that one argument is searched in and added to mostly have the same pitch. */
static void set_rect(struct tl_map_view *view, uint64_t pitch)
{
    assert(!view->extent.empty); /* GI9 */
    if (view->rect.row_end != 0 && view->pitch == pitch)
        return;
    tl__region_rect(&view->region, &view->extent, pitch, &view->rect);
    view->pitch = pitch;
}

int tl__map_search(const struct tl_map *m, uint32_t buffer, enum tl_map_kind kind, struct tl_map_view *view,
                   tl_map_visit visit, void *ctx)
{
    const struct tl_map_list *list = &m->buffers[buffer].lists[kind];
    const struct query q = {.view = view, .visit = visit, .ctx = ctx};
    const struct tl_map_index *index;
    uint64_t row, col;

    assert(buffer < m->buffers_used);       /* GI8 */
    assert(list_is_sound(m, buffer, kind)); /* GI8 */
    if (list->index == TL_MAP_NONE)
        return search_list(m, list, &q);
    index = &m->indexes.items[list->index];
    set_rect(view, index->pitch);
    if (only_cell(index, &view->rect, &row, &col))
        return search_cell(m, buffer, kind, index->classes[0].size, row, col, &q);
    return search_many(m, buffer, kind, &q);
}

static uint32_t buffer_get(struct tl_map *m, uint64_t addr, uint64_t owner)
{
    uint32_t i = tl__map_find(m, addr, owner);

    if (i != TL_MAP_NONE)
        return i;
    i = m->free_buffer;
    if (i != TL_MAP_NONE)
        m->free_buffer = m->buffers[i].next;
    else
        i = m->buffers_used++;
    m->n_buffers++;
    assert(i < m->capacity && m->n_buffers <= m->buffers_used); /* GI8: no more buffers than entries */
    m->buffers[i] = (struct tl_map_buffer){.addr = addr, .owner = owner};
    for (unsigned kind = 0; kind < 2; kind++)
        m->buffers[i].lists[kind] = (struct tl_map_list){TL_MAP_NONE, TL_MAP_NONE, 0, TL_MAP_NONE};
    chain_buffer(m, i);
    return i;
}

static void buffer_put(struct tl_map *m, uint32_t index)
{
    struct tl_map_buffer *b = &m->buffers[index];
    uint32_t *link = &m->buffer_buckets[buffer_bucket(m, b->addr, b->owner)];

    assert(b->lists[0].count + b->lists[1].count == 0); /* GI8: nothing names it */
    while (*link != index) {
        assert(*link != TL_MAP_NONE); /* GI8: a buffer in use is in its bucket */
        link = &m->buffers[*link].next;
    }
    *link = b->next;
    if (m->last_buffer == index)
        m->last_buffer = TL_MAP_NONE;
    b->next = m->free_buffer;
    m->free_buffer = index;
    m->n_buffers--;
}

/* NULL: no place for one more size class. */
static struct tl_map_class *class_get(struct tl_map_index *index, unsigned size)
{
    for (uint32_t i = 0; i < index->n_classes; i++)
        if (index->classes[i].size == size)
            return &index->classes[i];
    assert(size != WIDE && index->n_classes <= TL_MAP_CLASSES); /* GI11 */
    if (index->n_classes == TL_MAP_CLASSES)
        return NULL;
    index->classes[index->n_classes] = (struct tl_map_class){.size = (uint16_t)size};
    return &index->classes[index->n_classes++];
}

static void cell_unchain(struct tl_map *m, struct tl_map_entry *e)
{
    assert(e->in_cell && e->buffer != TL_MAP_NONE); /* GI8 */
    if (e->cell_prev != TL_MAP_NONE)
        m->entries[e->cell_prev].cell_next = e->cell_next;
    else
        m->cell_buckets[cell_bucket(m, e->buffer, e->kind, e->size_class, e->row, e->col)] = e->cell_next;
    if (e->cell_next != TL_MAP_NONE)
        m->entries[e->cell_next].cell_prev = e->cell_prev;
    e->in_cell = false;
}

static void place(struct tl_map *m, struct tl_map_index *in, uint32_t entry, const struct tl_rect *rect)
{
    struct tl_map_entry *e = &m->entries[entry];
    unsigned a = log2_up(rect->row_end - rect->row), b = log2_up(rect->col_end - rect->col);
    struct tl_map_class *class;

    assert(!e->in_cell && rect->row < rect->row_end && rect->col < rect->col_end); /* GI8, GI11 */
    class = class_get(in, a << 8 | b);
    if (class == NULL) {
        in->has_wide = true;
        e->size_class = WIDE;
        e->row = e->col = 0;
    } else {
        e->size_class = class->size;
        e->row = rect->row >> a;
        e->col = rect->col >> b;
        class->row_crosses |= (rect->row_end - 1) >> a != e->row;
        class->col_crosses |= (rect->col_end - 1) >> b != e->col;
    }
    chain_cell(m, entry);
}

static struct tl_extent extent_of(const struct tl_map_entry *e)
{
    return (struct tl_extent){.lo = e->lo, .hi = e->hi, .dense = e->dense};
}

/* TL_MAP_NONE when out of memory. */
static uint32_t index_get(struct tl_map *m)
{
    uint32_t i = m->free_index;

    if (i != TL_MAP_NONE) {
        m->free_index = m->indexes.items[i].next;
        return i;
    }
    if (tl_vec_push(&m->indexes, (struct tl_map_index){0}) < 0)
        return TL_MAP_NONE;
    return (uint32_t)m->indexes.count - 1;
}

static void index_put(struct tl_map *m, struct tl_map_list *list)
{
    assert(list->count == 0); /* GI8: the index goes with the last entry */
    if (list->index == TL_MAP_NONE)
        return;
    assert(list->index < m->indexes.count);
    m->indexes.items[list->index].next = m->free_index;
    m->free_index = list->index;
    list->index = TL_MAP_NONE;
}

/* Puts every entry of the list into cells, at the pitch of the first strided one. Without memory for that the list
 * stays as it is, correct but slow. */
static void list_index(struct tl_map *m, struct tl_map_list *list)
{
    struct tl_map_index *in;

    if (list->index == TL_MAP_NONE)
        list->index = index_get(m);
    if (list->index == TL_MAP_NONE)
        return;
    in = &m->indexes.items[list->index];
    *in = (struct tl_map_index){0};
    for (uint32_t i = list->head; i != TL_MAP_NONE; i = m->entries[i].next) {
        struct tl_map_entry *e = &m->entries[i];
        const struct tl_extent extent = extent_of(e);

        if (e->in_cell)
            cell_unchain(m, e);
        if (in->pitch == 0)
            in->pitch = tl__region_pitch(&e->region, &extent);
    }
    for (uint32_t i = list->head; i != TL_MAP_NONE; i = m->entries[i].next) {
        const struct tl_extent extent = extent_of(&m->entries[i]);
        struct tl_rect rect;

        tl__region_rect(&m->entries[i].region, &extent, in->pitch, &rect);
        place(m, in, i, &rect);
    }
}

static void list_append(struct tl_map *m, uint32_t index, struct tl_map_view *view)
{
    struct tl_map_entry *e = &m->entries[index];
    struct tl_map_list *list = &m->buffers[e->buffer].lists[e->kind];

    assert((list->head == TL_MAP_NONE) == (list->count == 0) &&
           (list->tail == TL_MAP_NONE) == (list->count == 0)); /* GI8 */
    e->prev = list->tail;
    e->next = TL_MAP_NONE;
    if (list->tail != TL_MAP_NONE)
        m->entries[list->tail].next = index;
    else
        list->head = index;
    list->tail = index;
    list->count++;
    m->count[e->kind]++;
    if (list->index == TL_MAP_NONE) {
        if (list->count > SHORT_LIST)
            list_index(m, list);
    } else if (m->indexes.items[list->index].pitch == 0 && tl__region_pitch(&view->region, &view->extent) != 0) {
        list_index(m, list); /* again, once: the first strided entry has the pitch */
    } else {
        set_rect(view, m->indexes.items[list->index].pitch);
        place(m, &m->indexes.items[list->index], index, &view->rect);
    }
    assert(m->count[TL_MAP_WRITER] + m->count[TL_MAP_READER] <= m->n_entries); /* GI8: dead ones are in no list */
}

void tl__map_add(struct tl_map *m, uint64_t addr, uint64_t owner, enum tl_map_kind kind, struct tl_map_view *view,
                 uint64_t task, uint32_t *task_head)
{
    uint32_t index = m->free_entry != TL_MAP_NONE ? m->free_entry : m->entries_used++;
    struct tl_map_entry *e = &m->entries[index];

    assert(index < m->capacity && !view->extent.empty); /* GI8, GI9 */
    assert(m->n_entries < m->n_cell_buckets);           /* reserved */
    if (m->free_entry != TL_MAP_NONE)
        m->free_entry = e->task_next;
    m->n_entries++;
    e->region = view->region;
    e->lo = view->extent.lo;
    e->hi = view->extent.hi;
    e->task = task;
    e->buffer = buffer_get(m, addr, owner);
    e->kind = (uint8_t)kind;
    e->dense = view->extent.dense;
    e->in_cell = false;
    e->task_next = *task_head;
    *task_head = index;
    list_append(m, index, view);
}

void tl__map_unlink(struct tl_map *m, uint32_t entry)
{
    struct tl_map_entry *e = &m->entries[entry];
    struct tl_map_buffer *b;
    struct tl_map_list *list;

    if (e->buffer == TL_MAP_NONE)
        return;
    b = &m->buffers[e->buffer];
    list = &b->lists[e->kind];
    assert(list->count > 0 && m->count[e->kind] > 0);   /* GI8 */
    assert(e->in_cell == (list->index != TL_MAP_NONE)); /* GI8 */
    if (e->in_cell)
        cell_unchain(m, e);
    if (e->prev != TL_MAP_NONE)
        m->entries[e->prev].next = e->next;
    else
        list->head = e->next;
    if (e->next != TL_MAP_NONE)
        m->entries[e->next].prev = e->prev;
    else
        list->tail = e->prev;
    list->count--;
    m->count[e->kind]--;
    if (list->count == 0)
        index_put(m, list);
    if (b->lists[0].count + b->lists[1].count == 0)
        buffer_put(m, e->buffer);
    e->buffer = TL_MAP_NONE;
}

void tl__map_drop_chain(struct tl_map *m, uint32_t *task_head)
{
    uint32_t i = *task_head;

    while (i != TL_MAP_NONE) {
        uint32_t next = m->entries[i].task_next;

        assert(m->n_entries > 0 && next != i); /* GI8 */
        tl__map_unlink(m, i);
        m->entries[i].task_next = m->free_entry;
        m->free_entry = i;
        m->n_entries--;
        i = next;
    }
    *task_head = TL_MAP_NONE;
}
