/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/path_put.h"

#include <inttypes.h>

void tl__put_us(struct tl_page *page, uint64_t ns)
{
    tl__put_format(page, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

void tl__put_share(struct tl_page *page, uint64_t part, uint64_t whole)
{
    uint64_t tenths;

    if (whole == 0) {
        tl__put_str(page, "-");
        return;
    }
    tenths = (uint64_t)((double)part * 1000.0 / (double)whole + 0.5);
    tl__put_format(page, "%" PRIu64 ".%" PRIu64 " %%", tenths / 10, tenths % 10);
}

void tl__put_markdown(struct tl_page *page, const char *text, size_t bytes)
{
    tl__put_safe(page, TL_SAFE_MARKDOWN, text, bytes);
}
