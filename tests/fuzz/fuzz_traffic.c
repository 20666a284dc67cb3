/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of traffic: what it takes can be summed up and shown, what it refuses it explains. */
#include "fuzz.h"

#include "analysis/traffic/traffic_view.h"

static int forget(void *ctx, const void *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)ctx += n;
    return 0;
}

static void show(const struct tl_traffic *t)
{
    const struct tl_name_map names = {0};
    struct tl_traffic_view view = {.traffic = t, .names = &names, .dir = "fuzz", .buffers_shown = 3};
    struct tl_rendering out;
    size_t written = 0;

    MUST(tl__traffic_view_make(&view, 1000) == 0);
    MUST(view.accesses + view.invalid == t->args.count);
    MUST(view.n_buffers <= view.n_slices && view.n_slices <= view.accesses && view.n_kernels <= t->tasks.count);
    MUST(view.cache.found <= view.cache.reads && view.cache.reads <= view.accesses);
    tl__rendering_init(&out, forget, &written);
    MUST(tl__traffic_text(&out, &view) == 0);
    MUST(tl__rendering_end(&out) == 0 && written > 0);
    tl__rendering_fini(&out);
    tl__traffic_view_fini(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_traffic t;
    struct tl_error error = {0};
    int code = tl__traffic_parse(data, size, "fuzz", &t, &error);

    if (code != 0) {
        MUST(code < 0 && error.code == code && error.msg[0] != 0);
        return 0;
    }
    for (size_t i = 0; i < t.args.count; i++)
        MUST(t.args.items[i].access < TL_TRAFFIC_ACCESSES);
    show(&t);
    tl__traffic_fini(&t);
    return 0;
}
