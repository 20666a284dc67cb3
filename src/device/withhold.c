/* SPDX-License-Identifier: Apache-2.0 */
#include "device/withhold.h"

#ifdef TASKLENS_CONTROLLED

#include <string.h>

#include "base/env.h"
#include "device/core.h"

#define MAX_CORES (TL_MAX_CLUSTERS * TL_CLUSTER_CORES_MAX)

/* One withheld output. Each core has its own row; the thread that runs the core is the only one to touch it. */
struct held {
    uint8_t *shadow, *home;
    uint64_t bytes;
};

static struct held table[MAX_CORES][TL_MAX_TENSORS];

/* Bytes from the view's first element to its end. */
static uint64_t span_bytes(const struct tl_tensor *t)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0)
            return 0;
        last += (uint64_t)(t->shape[i] - 1) * t->strides[i];
    }
    return ((last + 1) * tl_dtype_bits(t->dtype) + 7) / 8;
}

void tl__withhold_begin(const struct tl_core_role *core, const struct tl_task_payload *p, void **data)
{
    if (core->id >= MAX_CORES || !tl__fault("withhold_stores"))
        return;
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        struct held *h = &table[core->id][i];

        if (p->direction[i] != TL_OUT && p->direction[i] != TL_INOUT && p->direction[i] != TL_OUT_EXISTING)
            continue;
        h->bytes = span_bytes(&p->tensors[i]);
        if (h->bytes == 0 || data[i] == NULL || (h->shadow = tl__alloc(1, h->bytes)) == NULL)
            continue;
        h->home = data[i];
        memcpy(h->shadow, h->home, h->bytes);
        data[i] = h->shadow;
    }
}

void tl__withhold_flush(const struct tl_core_role *core)
{
    if (core->id >= MAX_CORES)
        return;
    for (uint32_t i = 0; i < TL_MAX_TENSORS; i++) {
        struct held *h = &table[core->id][i];

        if (h->shadow == NULL)
            continue;
        memcpy(h->home, h->shadow, h->bytes);
        tl__free(h->shadow);
        h->shadow = NULL;
    }
}

void tl__withhold_late(const struct tl_core_role *core)
{
    for (int i = 0; i < 64; i++) /* long enough for a scheduler to have looked, in most interleavings */
        TL__POINT();
    tl__withhold_flush(core);
}

#endif
