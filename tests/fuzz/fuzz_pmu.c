/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of pmu.csv: what is accepted can be summed up, and is the same after a way through the writer's form. */
#include "fuzz.h"

#include <string.h>

#include "analysis/pmu/pmu_view.h"
#include "artifact/pmu.h"

static void must_add_up(const struct tl_pmu *pmu)
{
    struct tl_pmu_view view = {.pmu = pmu, .dir = "fuzz"};
    struct tl_rendering out;
    uint64_t subtasks = 0;

    MUST(tl__pmu_view_make(&view, NULL) == 0);
    for (uint32_t i = 0; i < view.n_kernels; i++) {
        subtasks += view.kernels[i].subtasks;
        for (unsigned c = 0; c < view.n_columns; c++) {
            const struct tl_pmu_figure *f = &view.figures[view.kernels[i].first + c];

            MUST(f->min <= f->median && f->median <= f->p95 && f->p95 <= f->max);
        }
    }
    MUST(subtasks == pmu->n_rows);
    tl__rendering_init(&out, NULL, NULL);
    MUST(tl__pmu_text(&out, &view) == 0);
    MUST(tl__pmu_column_text(&out, &view, view.n_columns - 1) == 0);
    tl__rendering_fini(&out);
    tl__pmu_view_fini(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_pmu pmu = {0};
    struct tl_error error = {0};
    int code = tl__pmu_parse(data, size, "fuzz", &pmu, &error);

    if (code != 0) {
        MUST(code == TL_EPARSE && error.code == code && strncmp(error.msg, "fuzz: line ", 11) == 0 &&
             error.offset >= 1);
        return 0;
    }
    MUST(pmu.n_counters <= TL_PMU_MAX_COLUMNS && (pmu.n_rows == 0) == (pmu.rows == NULL));
    for (uint64_t i = 0; i < pmu.n_rows; i++)
        MUST(pmu.rows[i].core_type <= 1);
    must_add_up(&pmu);
    tl__pmu_fini(&pmu);
    return 0;
}
