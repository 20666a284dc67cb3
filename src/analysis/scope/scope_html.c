/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page; web/scope.js says what each list holds. */
#include "analysis/scope/scope_view.h"

#include <stdio.h>

#include "analysis/web/web.h"

/* What a put function writes, as one string. */
struct line {
    struct tl_json *json;
    struct tl_rendering text;
};

static struct tl_rendering *line_begin(struct line *line, struct tl_json *j)
{
    line->json = j;
    tl__rendering_init(&line->text, NULL, NULL);
    return &line->text;
}

static void line_end(struct line *line)
{
    if (line->text.error != 0)
        tl__json_fail(line->json, line->text.error);
    tl__json_string_bytes(line->json, line->text.used > 0 ? line->text.data : "", line->text.used);
    tl__rendering_fini(&line->text);
}

/* There is nothing to write. */
static void line_drop(struct line *line)
{
    if (line->text.error != 0)
        tl__json_fail(line->json, line->text.error);
    tl__rendering_fini(&line->text);
}

static void put_three(struct tl_json *j, const char *key, const uint64_t *values)
{
    tl__json_member_array(j, key, TL_JSON_LINE);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
        tl__json_u64(j, values[r]);
    tl__json_array_end(j);
}

static void put_warnings(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "warnings", TL_JSON_BLOCK);
    for (unsigned w = 0; w < TL_SCOPE_WARNINGS; w++) {
        struct line line;

        if (tl__put_scope_warning(line_begin(&line, j), u, (enum tl_scope_warning)w))
            line_end(&line);
        else
            line_drop(&line);
    }
    tl__json_array_end(j);
}

static void put_boundaries(struct tl_json *j, const struct tl_scope_stats *s)
{
    tl__json_member_array(j, "boundaries", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < s->boundaries.count; i++) {
        const struct tl_boundary *b = &s->boundaries.items[i];

        tl__json_array_begin(j, TL_JSON_LINE);
        tl__json_u64(j, b->site);
        tl__json_u64(j, b->ends);
        tl__json_u64(j, b->depth);
        tl__json_u64(j, b->ring);
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
            tl__json_u64(j, b->span[r].tail);
            tl__json_u64(j, b->span[r].head);
        }
        tl__json_u64(j, b->tensormap);
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
}

static void put_scopes(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "scopes", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_scopes; i++) {
        tl__json_array_begin(j, TL_JSON_LINE);
        tl__json_u64(j, u->scopes[i].begin);
        tl__json_u64(j, u->scopes[i].last);
        tl__json_u64(j, !u->scopes[i].open);
        tl__json_array_end(j);
    }
    tl__json_array_end(j);
}

static void put_use(struct tl_json *j, const struct tl_scope_usage *u, unsigned r, const struct tl_resource_use *use)
{
    struct line line;

    tl__json_object_begin(j, TL_JSON_LINE);
    tl__json_member_u64(j, "size", use->size);
    tl__json_member_u64(j, "peak", use->peak);
    tl__json_member_bool(j, "bound", use->seen < use->peak);
    tl__json_key(j, "flag");
    tl__put_format(line_begin(&line, j), "%s ", tl__ring_resource_flag(r));
    tl__put_ring_setting(&line.text, r, use->enough);
    line_end(&line);
    tl__json_member_string(j, "why", tl__scope_why(r, use, tl__scope_state(u)));
    tl__json_object_end(j);
}

static void put_rings(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "rings", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < u->stats->n_rings; i++) {
        struct line line;

        if (!u->rings[i].used)
            continue;
        tl__json_object_begin(j, TL_JSON_BLOCK);
        tl__json_member_u64(j, "ring", i);
        tl__json_member_u64(j, "scopes", u->rings[i].scopes);
        tl__json_key(j, "settings");
        tl__put_ring_settings(line_begin(&line, j), &u->rings[i]);
        line_end(&line);
        tl__json_member_array(j, "use", TL_JSON_BLOCK);
        for (unsigned r = 0; r < TL_RING_RESOURCES; r++)
            put_use(j, u, r, &u->rings[i].use[r]);
        tl__json_array_end(j);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

static void put_groups(struct tl_json *j, const struct tl_scope_usage *u)
{
    tl__json_member_array(j, "groups", TL_JSON_BLOCK);
    for (uint64_t i = 0; i < u->n_groups; i++) {
        const struct tl_scope_group *g = &u->groups[i];

        tl__json_object_begin(j, TL_JSON_LINE);
        tl__json_member_u64(j, "site", g->site);
        tl__json_member_u64(j, "depth", g->depth);
        tl__json_member_u64(j, "ring", g->ring);
        tl__json_member_u64(j, "scopes", g->scopes);
        tl__json_member_u64(j, "open", g->open);
        put_three(j, "most", g->peak);
        put_three(j, "own", g->alloc);
        put_three(j, "at", g->most);
        tl__json_member_u64(j, "tensormap", g->tensormap);
        tl__json_object_end(j);
    }
    tl__json_array_end(j);
}

/* The line to type apart from what is said about it, so that it can be copied. */
static void put_advice(struct tl_json *j, const struct tl_scope_view *view)
{
    const char *note = tl__scope_note(view->usage);
    struct line line;

    tl__json_key(j, "line");
    if (tl__put_scope_line(line_begin(&line, j), view)) {
        line_end(&line);
    } else {
        line_drop(&line);
        tl__json_null(j);
    }
    tl__json_key(j, "note");
    if (note != NULL)
        tl__json_string(j, note);
    else
        tl__json_null(j);
}

static void put_data(struct tl_json *j, void *ctx)
{
    const struct tl_scope_view *view = ctx;
    const struct tl_scope_usage *u = view->usage;
    struct line line;

    tl__json_object_begin(j, TL_JSON_BLOCK);
    tl__json_member_string(j, "dir", view->dir);
    tl__json_key(j, "summary");
    tl__put_scope_summary(line_begin(&line, j), u);
    line_end(&line);
    put_warnings(j, u);
    tl__json_member_string(j, "settings_title", tl__scope_settings_title(u));
    put_advice(j, view);
    tl__json_member_array(j, "sites", TL_JSON_BLOCK);
    for (uint32_t i = 0; i < u->stats->n_sites; i++)
        tl__json_string(j, u->stats->sites[i]);
    tl__json_array_end(j);
    put_boundaries(j, u->stats);
    put_scopes(j, u);
    put_rings(j, u);
    put_groups(j, u);
    tl__json_member_object(j, "tensormap", TL_JSON_LINE);
    tl__json_member_u64(j, "size", u->stats->tensormap_max);
    tl__json_member_u64(j, "peak", u->tensormap_peak);
    tl__json_object_end(j);
    tl__json_object_end(j);
}

int tl__scope_html(struct tl_rendering *out, const struct tl_scope_view *view)
{
    char title[300];

    (void)snprintf(title, sizeof(title), "Ring usage: %.250s", view->dir);
    return tl__put_web_page(
        out, &(struct tl_web_page){.name = "scope", .title = title, .data = put_data, .ctx = (void *)(uintptr_t)view});
}
