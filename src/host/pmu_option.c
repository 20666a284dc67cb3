/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the event type that a run counts. */
#include <stdio.h>
#include <string.h>

#include "arch/pmu_set.h"
#include "base/log.h"
#include "host/worker_impl.h"

void tl__settle_pmu(struct tl_worker *w, struct tl_run_config *c)
{
    char known[200] = "";

    if (c->levels[TL_COLLECT_PMU] == 0 || tl__pmu_set(w->arch, (uint32_t)c->levels[TL_COLLECT_PMU]) != NULL)
        return;
    for (unsigned i = 0; tl__pmu_set_at(w->arch, i) != NULL; i++) {
        const struct tl_pmu_set *set = tl__pmu_set_at(w->arch, i);
        size_t used = strlen(known);

        (void)snprintf(known + used, sizeof(known) - used, "%s%u %s", i > 0 ? ", " : "", set->event, set->name);
    }
    if (!w->pmu_reported)
        tl_log_warn("--enable-pmu %d is no event type of %s: %u (%s) is counted; the types: %s",
                    c->levels[TL_COLLECT_PMU], w->arch->name, TL_PMU_DEFAULT_EVENT,
                    tl__pmu_set(w->arch, TL_PMU_DEFAULT_EVENT)->name, known);
    w->pmu_reported = true;
    c->levels[TL_COLLECT_PMU] = (int)TL_PMU_DEFAULT_EVENT;
}
