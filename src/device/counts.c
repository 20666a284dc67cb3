/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device_impl.h"

void tl__device_report_counts(struct tl_device *d, struct tl_run_status *status)
{
    uint64_t allocations = tl_load_rlx(&d->retired_early), retired = 0; /* relaxed, all: figures until R7 */
    uint64_t submitted = tl_load_rlx(&d->submitted);                    /* after the allocations, which it includes */

    for (uint32_t i = 0; i < d->n_scheds; i++)
        retired += tl_load_rlx(&d->scheds[i].retired);
    tl_store_rlx(&status->allocations, allocations);
    tl_store_rlx(&status->submitted, submitted > allocations ? submitted - allocations : 0);
    tl_store_rlx(&status->retired, retired);
}
