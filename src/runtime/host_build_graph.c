/* SPDX-License-Identifier: Apache-2.0 */
/* The orchestration runs to its end before the first task; one image of tasks, nothing is recycled. */
#include "runtime/policies.h"

const struct tl_runtime_policy tl__host_build_graph = {
    .name = "host_build_graph",
    .recycle = false,
    .build_first = true,
    .rings = 1,
};
