/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestration runs on the device beside the schedulers; four rings are recycled, with back-pressure. */
#include "runtime/policies.h"

const struct tl_runtime_policy tl__tensormap_and_ringbuffer = {
    .name = "tensormap_and_ringbuffer",
    .recycle = true,
    .build_first = false,
    .rings = TL_GRAPH_RINGS,
};
