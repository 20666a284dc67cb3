/* SPDX-License-Identifier: Apache-2.0 */
/* How all texts write times, shares, counts, tasks and kernels. */
#ifndef TL_ANALYSIS_PHRASES_H
#define TL_ANALYSIS_PHRASES_H

#include "analysis/text/rendering.h"
#include "artifact/name_map.h"
#include "base/task_id.h"

/* Microseconds with three digits: "41172.456". */
void tl__put_us(struct tl_rendering *out, uint64_t ns);
/* "48.0 %" of `whole`, to the nearest tenth; "-" of nothing. */
void tl__put_share(struct tl_rendering *out, uint64_t part, uint64_t whole);
/* Text inside a Markdown table or line: what would end a cell or begin markup is escaped. */
void tl__put_markdown(struct tl_rendering *out, const char *text, size_t bytes);
/* "1,234": set apart where numbers are read, not copied; and with a word, "1,234 edges", "1 edge". */
void tl__put_grouped(struct tl_rendering *out, uint64_t value);
void tl__put_count(struct tl_rendering *out, uint64_t count, const char *word);
/* A total of tasks, for people: "24 tasks and 3 allocations", of `all` tasks those without a kernel apart. */
void tl__put_task_total(struct tl_rendering *out, uint64_t all, uint64_t allocations);
/* Ring and local number: "r2t2560". */
void tl__put_task(struct tl_rendering *out, enum tl_task_layout layout, uint64_t task_id);
/* "ADD", or "func_3" without a name. */
void tl__put_kernel(struct tl_rendering *out, const struct tl_name_map *names, int32_t func_id);
/* "MATMUL+ADD", each kernel once; "no kernel". */
void tl__put_kernels(struct tl_rendering *out, const struct tl_name_map *names, const int32_t kernel_ids[3]);

#endif
