/* SPDX-License-Identifier: Apache-2.0 */
/* The words that the text, the report and the JSON share. */
#include <tasklens/kernel.h>

#include "analysis/text/phrases.h"
#include "analysis/path/path_show.h"
#include "analysis/text/table.h"

static void put_kind(void *ctx, uint64_t number, struct tl_row *row)
{
    const struct tl_path_run *run = ctx;
    uint64_t wall = run->graph.end_ns - run->graph.begin_ns;
    uint64_t ns = number < TL_PATH_KINDS ? run->observed.spent_ns[number] : wall;

    tl__put_share(&row->text, ns, wall);
    tl__cell_end(row);
    tl__put_us(&row->text, ns);
    tl__cell_end(row);
    tl__put_str(&row->text, number < TL_PATH_KINDS ? tl__path_kind_word((unsigned)number) : "wall");
    tl__cell_end(row);
    tl__put_str(&row->text, number < TL_PATH_KINDS ? tl__path_kind_text((unsigned)number) : "all of it");
    tl__cell_end(row);
}

int tl__put_path_kinds(struct tl_rendering *out, const struct tl_path_run *run)
{
    static const struct tl_column columns[] = {
        {"share", true, false}, {"us", true, false}, {"", false, false}, {"", false, false}};

    return tl__table_put(out, columns, 4, TL_PATH_KINDS + 1, put_kind, (void *)(uintptr_t)run);
}

void tl__path_kinds_json(struct tl_json *json, const struct tl_path_run *run)
{
    for (unsigned k = 0; k < TL_PATH_KINDS; k++) {
        char key[32] = "";
        const char *word = tl__path_kind_word(k);

        for (size_t i = 0; i < sizeof(key) - 1 && word[i] != 0; i++)
            key[i] = word[i] == ' ' ? '_' : word[i];
        tl__json_member_u64(json, key, run->observed.spent_ns[k]);
    }
}

void tl__put_path_core(struct tl_rendering *page, const struct tl_path_run *run, uint32_t slice)
{
    const struct tl_swim_slice *s = tl__path_slice(run, slice);

    tl__put_str(page, s->core_type == TL_AIC ? "AIC_" : "AIV_");
    tl__put_u64(page, s->core);
}

void tl__put_path_release(struct tl_rendering *page, const struct tl_path_run *run, uint32_t step)
{
    const struct tl_path_step *s = &run->observed.steps[step];
    uint64_t before = step > 0 ? tl__path_slice(run, run->observed.steps[step - 1].slice)->task_id : 0;

    switch (s->release) {
    case TL_PATH_BY_PRODUCER:
        tl__put_str(page, "producer ");
        tl__put_task(page, run->join->layout, before);
        break;
    case TL_PATH_BY_CORE:
        tl__put_str(page, "its core, busy with ");
        tl__put_task(page, run->join->layout, before);
        break;
    case TL_PATH_BY_SUBMIT:
        tl__put_str(page, "its submit");
        break;
    default:
        tl__put_str(page, "nothing recorded");
        break;
    }
}
