/* SPDX-License-Identifier: Apache-2.0 */
/* How long each kernel ran: its slices of a swimlane recording, summed up. */
#ifndef TL_ANALYSIS_SWIM_KERNELS_H
#define TL_ANALYSIS_SWIM_KERNELS_H

#include "analysis/text/rendering.h"
#include "analysis/swimlane/spread.h"
#include "analysis/swimlane/swim_join.h"
#include "base/json.h"

struct tl_swim_kernel {
    const char *name;        /* borrowed from the name map; NULL: none */
    int32_t func_id;         /* -1: not known, without deps.json */
    struct tl_spread spread; /* of the time from a slice's start to its end */
};

/* By total, the largest first; the caller frees *ret_kernels with tl__free. TL_ENOMEM. */
int tl__swim_kernels(const struct tl_swim_join *join, struct tl_swim_kernel **ret_kernels, uint32_t *ret_count);

/* "matmul", "func_3", "unknown kernel", for JSON: not made safe for text. `room` is used where there is no name. */
const char *tl__swim_kernel_name(const struct tl_swim_kernel *kernel, char room[24]);

/* A table of them, all or the first 20; the same as member "kernels" of an object. 0, TL_ENOMEM or the rendering's
 * error. */
int tl__swim_kernels_text(struct tl_rendering *out, const struct tl_swim_join *join);
int tl__swim_kernels_json(struct tl_json *json, const struct tl_swim_join *join);

#endif
