/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: each line is a JSON document of its own. */
#include "artifact/scope_stats.h"

#include "artifact/json_lines.h"
#include "base/error.h"

struct reading {
    struct tl_scope_stats *stats;
    bool has_head; /* line 1 is read */
};

/* ---- line 1 ---- */

enum head_field { VERSION, FATAL, DROPPED, TOTAL, TENSORMAP_MAX, WINDOW_MAX, HEAP_MAX, DEP_MAX, HEAD_FIELDS };
static const char *const head_names[HEAD_FIELDS] = {
    [VERSION] = "version",
    [FATAL] = "fatal",
    [DROPPED] = "dropped",
    [TOTAL] = "total",
    [TENSORMAP_MAX] = "tensormap_max",
    [WINDOW_MAX] = "task_window_max",
    [HEAP_MAX] = "heap_max",
    [DEP_MAX] = "dep_pool_max",
};

static int take_sizes(struct tl_tape *tape, struct tl_scope_stats *s, unsigned resource, uint32_t at)
{
    const char *name = head_names[WINDOW_MAX + resource];
    uint32_t count = 0;
    int code = tl__tape_array(tape, at, name, &count);

    if (code == 0 && count > TL_SCOPE_MAX_RINGS)
        return tl__tape_fail(tape, TL_EPARSE, name, "%u rings; at most %u make sense", count, TL_SCOPE_MAX_RINGS);
    if (code == 0 && resource == 0)
        s->n_rings = count;
    if (code == 0 && count != s->n_rings)
        return tl__tape_fail(tape, TL_EPARSE, name, "%u rings, and %u in 'task_window_max'", count, s->n_rings);
    at++;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        code = tl__tape_u64(tape, at, name, UINT64_MAX, &s->size[resource][i]);
        at = tape->tokens[at].next;
    }
    return code;
}

static int take_head(struct tl_tape *tape, struct tl_scope_stats *s)
{
    uint32_t at[HEAD_FIELDS];
    int code = tl__tape_fields(tape, 0, NULL, head_names, HEAD_FIELDS, at);

    if (code == 0)
        code = tl__tape_u32(tape, at[VERSION], head_names[VERSION], &s->version);
    if (code == 0 && s->version > TL_SCOPE_VERSION)
        return tl__tape_fail(tape, TL_EVERSION, head_names[VERSION], "%u; this tasklens reads up to %u", s->version,
                             TL_SCOPE_VERSION);
    if (code == 0)
        code = tl__tape_bool(tape, at[FATAL], head_names[FATAL], &s->fatal);
    if (code == 0)
        code = tl__tape_u64(tape, at[DROPPED], head_names[DROPPED], UINT64_MAX, &s->dropped);
    if (code == 0)
        code = tl__tape_u64(tape, at[TOTAL], head_names[TOTAL], UINT64_MAX, &s->total);
    if (code == 0)
        code = tl__tape_u64(tape, at[TENSORMAP_MAX], head_names[TENSORMAP_MAX], UINT64_MAX, &s->tensormap_max);
    for (unsigned r = 0; code == 0 && r < TL_RING_RESOURCES; r++)
        code = take_sizes(tape, s, r, at[WINDOW_MAX + r]);
    return code;
}

/* ---- a boundary ---- */

enum boundary_field { SITE, PHASE, DEPTH, RING, TENSORMAP, SPANS, BOUNDARY_FIELDS = SPANS + 2 * TL_RING_RESOURCES };
static const char *const boundary_names[BOUNDARY_FIELDS] = {
    [SITE] = "site",
    [PHASE] = "phase",
    [DEPTH] = "depth",
    [RING] = "ring",
    [TENSORMAP] = "tensormap",
    [SPANS] = "task_window_start",
    [SPANS + 1] = "task_window_end",
    [SPANS + 2] = "heap_start",
    [SPANS + 3] = "heap_end",
    [SPANS + 4] = "dep_pool_start",
    [SPANS + 5] = "dep_pool_end",
};

static int take_phase(struct tl_tape *tape, uint32_t at, struct tl_boundary *b)
{
    static const char *const words[] = {"begin", "end"};
    const char *text = "";
    size_t length = 0;
    unsigned word = 0;
    int code = tl__tape_string(tape, at, boundary_names[PHASE], &text, &length);

    if (code < 0)
        return code;
    if (tl__tape_word(tape, at, boundary_names[PHASE], words, 2, &word) < 0)
        return tl__tape_fail(tape, TL_EPARSE, boundary_names[PHASE], "expected \"begin\" or \"end\", found \"%.40s\"",
                             text);
    b->ends = word == 1;
    return 0;
}

static int take_place(struct tl_tape *tape, const uint32_t *at, const struct tl_scope_stats *s, struct tl_boundary *b)
{
    uint64_t depth = 0;
    int code = tl__tape_u64(tape, at[DEPTH], boundary_names[DEPTH], TL_SCOPE_MAX_DEPTH, &depth);

    b->depth = (uint32_t)depth;
    if (code == 0)
        code = tl__tape_u32(tape, at[RING], boundary_names[RING], &b->ring);
    if (code == 0 && b->ring >= s->n_rings)
        return tl__tape_fail(tape, TL_EPARSE, boundary_names[RING], "%u, but line 1 has the sizes of %u rings", b->ring,
                             s->n_rings);
    return code;
}

static int take_boundary(struct tl_tape *tape, struct tl_scope_stats *s)
{
    struct tl_boundary b = {.site = 0};
    uint32_t at[BOUNDARY_FIELDS];
    const char *site = "";
    size_t length = 0;
    int code = tl__tape_fields(tape, 0, NULL, boundary_names, BOUNDARY_FIELDS, at);

    if (code == 0)
        code = tl__tape_string(tape, at[SITE], boundary_names[SITE], &site, &length);
    if (code == 0)
        code = take_phase(tape, at[PHASE], &b);
    if (code == 0)
        code = take_place(tape, at, s, &b);
    for (unsigned r = 0; code == 0 && r < TL_RING_RESOURCES; r++) {
        const unsigned f = SPANS + 2 * r;

        code = tl__tape_u64(tape, at[f], boundary_names[f], UINT64_MAX, &b.span[r].tail);
        if (code == 0)
            code = tl__tape_u64(tape, at[f + 1], boundary_names[f + 1], UINT64_MAX, &b.span[r].head);
    }
    if (code == 0)
        code = tl__tape_u64(tape, at[TENSORMAP], boundary_names[TENSORMAP], UINT64_MAX, &b.tensormap);
    if (code < 0)
        return code;
    if (tl__scope_stats_site(s, site, length, &b.site) < 0 || tl__scope_stats_add(s, &b) < 0)
        return tl__tape_fail(tape, TL_ENOMEM, NULL, "out of memory");
    return 0;
}

/* ---- the file ---- */

static int on_line(void *ctx, struct tl_tape *tape)
{
    struct reading *r = ctx;
    int code = r->has_head ? take_boundary(tape, r->stats) : take_head(tape, r->stats);

    r->has_head = true;
    return code;
}

/* What was read, or nothing. */
static int settle(const struct reading *r, int code, const char *name, struct tl_scope_stats *ret_stats,
                  struct tl_error *reterr)
{
    if (code == 0 && !r->has_head)
        code = tl__fail_at(reterr, TL_EPARSE, reterr != NULL ? reterr->offset : 0,
                           "%s: empty; its first line has the sizes of the rings", name);
    if (code == 0)
        *ret_stats = *r->stats;
    else
        tl__scope_stats_fini(r->stats);
    return code;
}

int tl__scope_stats_parse(const void *text, size_t bytes, const char *name, struct tl_scope_stats *ret_stats,
                          struct tl_error *reterr)
{
    struct tl_scope_stats stats = {0};
    struct reading reading = {.stats = &stats};
    const struct tl_tape_spec spec = {.on_value = on_line, .ctx = &reading};

    return settle(&reading, tl__json_lines_parse(text, bytes, name, &spec, reterr), name, ret_stats, reterr);
}

int tl__scope_stats_read(const char *path, struct tl_scope_stats *ret_stats, struct tl_error *reterr)
{
    struct tl_scope_stats stats = {0};
    struct reading reading = {.stats = &stats};
    const struct tl_tape_spec spec = {.on_value = on_line, .ctx = &reading};

    return settle(&reading, tl__json_lines_read(path, &spec, reterr), path, ret_stats, reterr);
}
