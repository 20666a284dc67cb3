/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/swimlane/swim_kernels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/text/phrases.h"
#include "analysis/text/table.h"
#include "base/env.h"
#include "base/error.h"
#include "base/format.h"

#define SHOWN 20u

/* One slice that ran. */
struct ran {
    const char *name;
    int32_t func_id;
    uint64_t ns;
};

static int by_kernel(const void *left, const void *right)
{
    const struct ran *l = left, *r = right;

    if (l->func_id != r->func_id)
        return l->func_id < r->func_id ? -1 : 1;
    return strcmp(l->name != NULL ? l->name : "", r->name != NULL ? r->name : "");
}

static int by_total(const void *left, const void *right)
{
    const struct tl_swim_kernel *l = left, *r = right;

    if (l->spread.total_ns != r->spread.total_ns)
        return l->spread.total_ns > r->spread.total_ns ? -1 : 1;
    return l->func_id < r->func_id ? -1 : l->func_id > r->func_id;
}

static uint32_t collect(const struct tl_swim_join *join, struct ran *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < join->n_slices; i++) {
        const struct tl_swim_slice *s = &join->slices[i];
        int64_t ps = tl__swim_ps(&join->clock, s->end) - tl__swim_ps(&join->clock, s->start);

        if ((s->flags & TL_SWIM_RAN) != 0)
            list[n++] = (struct ran){s->name, s->func_id, ps > 0 ? ((uint64_t)ps + 500) / 1000 : 0};
    }
    qsort(list, n, sizeof(*list), by_kernel);
    return n;
}

int tl__swim_kernels(const struct tl_swim_join *join, struct tl_swim_kernel **ret_kernels, uint32_t *ret_count)
{
    struct ran *list = tl__alloc((size_t)join->n_slices + 1, sizeof(*list));
    uint64_t *values = tl__alloc((size_t)join->n_slices + 1, sizeof(*values));
    struct tl_swim_kernel *kernels = tl__alloc((size_t)join->n_slices + 1, sizeof(*kernels));
    int r = list == NULL || values == NULL || kernels == NULL ? TL_ENOMEM : 0;

    *ret_count = 0;
    for (uint32_t n = r == 0 ? collect(join, list) : 0, first = 0, end; first < n; first = end) {
        for (end = first; end < n && by_kernel(&list[first], &list[end]) == 0; end++)
            values[end - first] = list[end].ns;
        kernels[(*ret_count)++] =
            (struct tl_swim_kernel){list[first].name, list[first].func_id, tl__spread(values, end - first)};
    }
    if (r == 0)
        qsort(kernels, *ret_count, sizeof(*kernels), by_total);
    tl__free(list);
    tl__free(values);
    if (r != 0)
        tl__free(kernels);
    *ret_kernels = r == 0 ? kernels : NULL;
    return r;
}

const char *tl__swim_kernel_name(const struct tl_swim_kernel *kernel, char room[24])
{
    if (kernel->name != NULL)
        return kernel->name;
    if (kernel->func_id < 0)
        return "unknown kernel";
    (void)tl__format(room, 24, "func_%" PRId32, kernel->func_id);
    return room;
}

static void put_row(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_swim_kernel *k = (const struct tl_swim_kernel *)ctx + number;
    char room[24];

    tl__put_name(&row->text, tl__swim_kernel_name(k, room));
    tl__cell_end(row);
    tl__put_u64(&row->text, k->spread.count);
    tl__cell_end(row);
    tl__put_us(&row->text, k->spread.total_ns);
    tl__cell_end(row);
    tl__put_us(&row->text, k->spread.median_ns);
    tl__cell_end(row);
    tl__put_us(&row->text, k->spread.p95_ns);
    tl__cell_end(row);
    tl__put_us(&row->text, k->spread.max_ns);
    tl__cell_end(row);
}

int tl__swim_kernels_text(struct tl_rendering *out, const struct tl_swim_join *join)
{
    static const struct tl_column columns[] = {{"kernel", false, false},  {"slices", true, false},
                                               {"total us", true, false}, {"median us", true, false},
                                               {"p95 us", true, false},   {"max us", true, false}};
    struct tl_swim_kernel *kernels;
    uint32_t count;
    int r = tl__swim_kernels(join, &kernels, &count);

    if (r == 0 && count > 0) {
        r = tl__table_put(out, columns, 6, count < SHOWN ? count : SHOWN, put_row, kernels);
        if (count > SHOWN)
            tl__put_format(out, "... and %" PRIu32 " more kernels; --json has all\n", count - SHOWN);
    }
    tl__free(kernels);
    return r;
}

int tl__swim_kernels_json(struct tl_json *json, const struct tl_swim_join *join)
{
    struct tl_swim_kernel *kernels;
    uint32_t count;
    char room[24];
    int r = tl__swim_kernels(join, &kernels, &count);

    tl__json_member_array(json, "kernels", TL_JSON_BLOCK);
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        tl__json_object_begin(json, TL_JSON_LINE);
        tl__json_member_string(json, "kernel", tl__swim_kernel_name(&kernels[i], room));
        tl__json_member_u64(json, "count", kernels[i].spread.count);
        tl__json_member_u64(json, "total_ns", kernels[i].spread.total_ns);
        tl__json_member_u64(json, "median_ns", kernels[i].spread.median_ns);
        tl__json_member_u64(json, "p95_ns", kernels[i].spread.p95_ns);
        tl__json_member_u64(json, "max_ns", kernels[i].spread.max_ns);
        tl__json_object_end(json);
    }
    tl__json_array_end(json);
    tl__free(kernels);
    return r;
}
