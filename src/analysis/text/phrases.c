/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/text/phrases.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"

void tl__put_us(struct tl_rendering *out, uint64_t ns)
{
    tl__put_format(out, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

void tl__put_share(struct tl_rendering *out, uint64_t part, uint64_t whole)
{
    uint64_t tenths;

    if (whole == 0) {
        tl__put_str(out, "-");
        return;
    }
    tenths = (uint64_t)((double)part * 1000.0 / (double)whole + 0.5);
    tl__put_format(out, "%" PRIu64 ".%" PRIu64 " %%", tenths / 10, tenths % 10);
}

void tl__put_markdown(struct tl_rendering *out, const char *text, size_t bytes)
{
    tl__put_safe(out, TL_SAFE_MARKDOWN, text, bytes);
}

void tl__put_grouped(struct tl_rendering *out, uint64_t value)
{
    char digits[TL_NUMBER_BYTES];
    size_t n = tl__print_u64(digits, value);

    for (size_t i = 0; i < n; i++) {
        tl__put(out, ",", i > 0 && (n - i) % 3 == 0);
        tl__put(out, digits + i, 1);
    }
}

void tl__put_count(struct tl_rendering *out, uint64_t count, const char *word)
{
    tl__put_grouped(out, count);
    tl__put_format(out, " %s%s", word, count == 1 ? "" : "s");
}

void tl__put_task_total(struct tl_rendering *out, uint64_t all, uint64_t allocations)
{
    tl__put_count(out, all - allocations, "task");
    if (allocations > 0) {
        tl__put_str(out, " and ");
        tl__put_count(out, allocations, "allocation");
    }
}

void tl__put_task(struct tl_rendering *out, enum tl_task_layout layout, uint64_t task_id)
{
    char text[TL_TASK_BYTES];

    tl__put_str(out, tl__task_text(text, layout, task_id));
}

void tl__put_kernel(struct tl_rendering *out, const struct tl_name_map *names, int32_t func_id)
{
    const char *name = tl__name_of(names, func_id);

    if (name != NULL)
        tl__put_name(out, name);
    else
        tl__put_format(out, "func_%" PRId32, func_id);
}

void tl__put_kernels(struct tl_rendering *out, const struct tl_name_map *names, const int32_t kernel_ids[3])
{
    bool any = false;

    for (unsigned i = 0; i < 3; i++) {
        bool again = false;

        for (unsigned k = 0; k < i; k++)
            again |= kernel_ids[k] == kernel_ids[i];
        if (kernel_ids[i] < 0 || again)
            continue;
        tl__put(out, "+", any);
        tl__put_kernel(out, names, kernel_ids[i]);
        any = true;
    }
    if (!any)
        tl__put_str(out, "no kernel");
}
