/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of the text of `tasklens sched` are made of. */
#include "analysis/sched/sched_text.h"
#include "analysis/text/phrases.h"

void tl__sched_us_cell(struct tl_row *row, uint64_t ns)
{
    tl__put_us(&row->text, ns);
    tl__cell_end(row);
}

void tl__sched_share_cell(struct tl_row *row, uint64_t part, uint64_t whole)
{
    tl__put_share(&row->text, part, whole);
    tl__cell_end(row);
}

void tl__sched_count_cell(struct tl_row *row, uint64_t count)
{
    tl__put_u64(&row->text, count);
    tl__cell_end(row);
}

void tl__sched_text_cell(struct tl_row *row, const char *text)
{
    tl__put_str(&row->text, text);
    tl__cell_end(row);
}

bool tl__sched_begin(struct tl_rendering *out, const struct tl_sched *s, enum tl_sched_part part)
{
    static const char *const titles[TL_SCHED_PARTS] = {"overhead", "core switch", "head",
                                                       "tail",     "loop budget", "critical path"};

    tl__put_format(out, "\n%d. %s: ", (int)part + 1, titles[part]);
    if (s->missing[part] != NULL)
        tl__put_format(out, "%s\n", s->missing[part]);
    return s->missing[part] == NULL;
}
