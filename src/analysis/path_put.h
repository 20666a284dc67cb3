/* SPDX-License-Identifier: Apache-2.0 */
/* How times and shares stand in the texts about schedules. */
#ifndef TL_ANALYSIS_PATH_PUT_H
#define TL_ANALYSIS_PATH_PUT_H

#include "analysis/page.h"

/* Microseconds with three digits: "41172.456". */
void tl__put_us(struct tl_page *page, uint64_t ns);
/* "48.0 %" of `whole`, to the nearest tenth; "-" of nothing. */
void tl__put_share(struct tl_page *page, uint64_t part, uint64_t whole);
/* Text inside a Markdown table or line: what would end a cell or begin markup is escaped. */
void tl__put_markdown(struct tl_page *page, const char *text, size_t bytes);

#endif
