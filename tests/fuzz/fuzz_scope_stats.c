/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of ring usage: what it takes is in range and can be summed up and shown, what it refuses it explains. */
#include "fuzz.h"

#include "analysis/scope/scope_view.h"
#include "artifact/scope_stats.h"

static int forget(void *ctx, const void *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)ctx += n;
    return 0;
}

static void show(const struct tl_scope_stats *s)
{
    struct tl_scope_usage usage;
    struct tl_rendering out;
    size_t written = 0;

    MUST(tl__scope_usage(s, &usage) == 0);
    MUST(usage.n_scopes + usage.endings <= s->boundaries.count && usage.n_groups <= usage.n_scopes);
    for (uint64_t i = 0; i < usage.n_scopes; i++)
        MUST(usage.scopes[i].begin <= usage.scopes[i].last && usage.scopes[i].last < s->boundaries.count);
    tl__rendering_init(&out, forget, &written);
    MUST(tl__scope_text(&out, &(struct tl_scope_view){.usage = &usage, .dir = "fuzz", .sites_shown = 3}) == 0);
    MUST(tl__scope_html(&out, &(struct tl_scope_view){.usage = &usage, .dir = "fuzz"}) == 0);
    MUST(tl__rendering_end(&out) == 0 && written > 0);
    tl__rendering_fini(&out);
    tl__scope_usage_fini(&usage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_scope_stats s;
    struct tl_error error = {0};
    int code = tl__scope_stats_parse(data, size, "fuzz", &s, &error);

    if (code != 0) {
        MUST(code < 0 && error.code == code && error.msg[0] != 0);
        return 0;
    }
    MUST(s.n_rings <= TL_SCOPE_MAX_RINGS);
    for (uint64_t i = 0; i < s.boundaries.count; i++)
        MUST(s.boundaries.items[i].ring < s.n_rings && s.boundaries.items[i].site < s.n_sites &&
             s.boundaries.items[i].depth <= TL_SCOPE_MAX_DEPTH);
    show(&s);
    tl__scope_stats_fini(&s);
    return 0;
}
