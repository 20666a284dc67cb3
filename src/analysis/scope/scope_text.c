/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/scope/scope_view.h"

#include <inttypes.h>

#include "analysis/text/table.h"
#include "base/count_of.h"

struct peak_rows {
    const struct tl_scope_usage *usage;
    uint32_t rings[TL_SCOPE_MAX_RINGS]; /* those that were used */
};

static void put_peak_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct peak_rows *rows = ctx;
    uint32_t ring = rows->rings[number / TL_RING_RESOURCES];
    unsigned r = (unsigned)(number % TL_RING_RESOURCES);
    const struct tl_scope_usage *u = rows->usage;
    const struct tl_resource_use *use = &u->rings[ring].use[r];
    struct tl_rendering *page = &row->text;

    if (r == 0)
        tl__put_u64(page, ring);
    tl__cell_end(row);
    tl__put_str(page, tl__ring_resource_name(r));
    tl__cell_end(row);
    if (use->seen < use->peak)
        tl__put_str(page, "<= ");
    tl__put_ring_amount(page, r, use->peak);
    tl__cell_end(row);
    if (use->size != 0)
        tl__put_ring_amount(page, r, use->size);
    tl__cell_end(row);
    if (use->size != 0)
        tl__put_format(page, use->peak >= use->size / 10 ? "%.0f %%" : "%.2g %%",
                       100 * (double)use->peak / (double)use->size);
    tl__cell_end(row);
    tl__put_ring_setting(page, r, use->enough);
    tl__cell_end(row);
    tl__put_str(page, tl__scope_why(r, use, tl__scope_state(u)));
    tl__cell_end(row);
    if (use->peak_scope != TL_NO_SCOPE && use->peak > 0)
        tl__put_str(page, u->stats->sites[u->scopes[use->peak_scope].site]);
    tl__cell_end(row);
}

static int put_peaks(struct tl_rendering *out, const struct tl_scope_usage *u)
{
    /* A run that did not end well, or is not recorded whole, shows what was needed at least. */
    const struct tl_column columns[] = {
        {"ring", true, false}, {"", false, false},
        {"peak", true, false}, {"of", true, true},
        {"", true, true},      {tl__scope_state(u) == TL_SCOPE_WHOLE ? "enough" : "at least", true, false},
        {"why", false, false}, {"where", false, true},
    };
    struct peak_rows rows = {.usage = u};
    uint64_t n = 0;

    for (uint32_t i = 0; i < u->stats->n_rings; i++)
        if (u->rings[i].used)
            rows.rings[n++] = i;
    tl__put_str(out, "\nTaken at most; <=: no boundary saw as much, so it is an upper bound\n");
    return tl__table_put(out, columns, COUNT_OF(columns), n * TL_RING_RESOURCES, put_peak_row, &rows);
}

static void put_tensormap(struct tl_rendering *out, const struct tl_scope_usage *u)
{
    tl__put_format(out, "tensormap, of all rings: %" PRIu64, u->tensormap_peak);
    if (u->stats->tensormap_max != 0)
        tl__put_format(out, " of %" PRIu64, u->stats->tensormap_max);
    tl__put_str(out, " entries\n");
}

/* One line a ring, and what to type. */
static void put_settings(struct tl_rendering *out, const struct tl_scope_view *view)
{
    const struct tl_scope_usage *u = view->usage;
    const char *note = tl__scope_note(u);

    tl__put_format(out, "\nSettings: %s\n", tl__scope_settings_title(u));
    for (uint32_t i = 0; i < u->stats->n_rings; i++) {
        if (!u->rings[i].used)
            continue;
        tl__put_format(out, "  ring %-3" PRIu32 "  ", i);
        tl__put_ring_settings(out, &u->rings[i]);
        tl__put_str(out, "\n");
    }
    if (tl__scope_state(u) == TL_SCOPE_WHOLE) {
        tl__put_str(out, "  to type   ");
        (void)tl__put_scope_line(out, view);
        if (note != NULL)
            tl__put_format(out, "\n            (%s)", note);
    } else {
        tl__put_format(out, "  next      %s", note);
    }
    tl__put_str(out, "\n");
}

static void put_site_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_scope_view *view = ctx;
    const struct tl_scope_group *g = &view->usage->groups[number];
    struct tl_rendering *page = &row->text;

    tl__put_str(page, view->usage->stats->sites[g->site]);
    tl__cell_end(row);
    tl__put_u64(page, g->depth);
    tl__cell_end(row);
    tl__put_u64(page, g->ring);
    tl__cell_end(row);
    tl__put_u64(page, g->scopes);
    tl__cell_end(row);
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        tl__put_ring_amount(page, r, g->peak[r]);
        tl__cell_end(row);
    }
    for (unsigned r = 0; r < TL_RING_RESOURCES; r++) {
        tl__put_ring_amount(page, r, g->alloc[r]);
        tl__cell_end(row);
    }
    tl__put_u64(page, g->tensormap);
    tl__cell_end(row);
    if (g->open > 0)
        tl__put_format(page, "%" PRIu64 " never ended", g->open);
    tl__cell_end(row);
}

static int put_sites(struct tl_rendering *out, const struct tl_scope_view *view)
{
    static const struct tl_column columns[] = {
        {"site", false, false},    {"depth", true, false},    {"ring", true, false},      {"scopes", true, false},
        {"tasks", true, false},    {"heap", true, false},     {"deps", true, false},      {"own tasks", true, false},
        {"own heap", true, false}, {"own deps", true, false}, {"tensormap", true, false}, {"notes", false, true},
    };
    const struct tl_scope_usage *u = view->usage;
    uint64_t shown = u->n_groups < view->sites_shown ? u->n_groups : view->sites_shown;
    int code;

    tl__put_str(out,
                "\nScopes by site, the largest share of a ring first: taken at most while one was open, and by one "
                "itself\n");
    code = tl__table_put(out, columns, COUNT_OF(columns), shown, put_site_row, (void *)(uintptr_t)view);
    if (shown < u->n_groups)
        tl__put_format(out, "%" PRIu64 " more; --sites N shows more\n", u->n_groups - shown);
    return code;
}

int tl__scope_text(struct tl_rendering *out, const struct tl_scope_view *view)
{
    const struct tl_scope_usage *u = view->usage;
    int code;

    tl__put_format(out, "%s: ", view->dir);
    tl__put_scope_summary(out, u);
    tl__put_str(out, "\n");
    for (unsigned w = 0; w < TL_SCOPE_WARNINGS; w++)
        if (tl__put_scope_warning(out, u, (enum tl_scope_warning)w))
            tl__put_str(out, "\n");
    if (u->stats->boundaries.count == 0) {
        tl__put_str(out, "No scope began or ended in this run, so there are no peaks to show.\n");
        return out->error;
    }
    code = put_peaks(out, u);
    put_tensormap(out, u);
    put_settings(out, view);
    return code != 0 ? code : put_sites(out, view);
}
