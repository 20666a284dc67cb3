/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "graph/graph.h"
#include "runtime/runtime.h"
#include "sim/chip.h"
#include "wire/launch.h"

int tl__chip_runtime(const char *name, struct tl_chip_rings *ret_rings)
{
    int kind = tl__runtime_parse(name);
    bool image = kind == TL_RUNTIME_HOST_BUILD;

    ret_rings->heaps = image ? 1 : TL_RINGS;
    ret_rings->task_window = image ? TL_TASK_WINDOW_IMAGE : TL_TASK_WINDOW_DEFAULT;
    ret_rings->dep_pool = image ? TL_DEP_POOL_IMAGE : TL_DEP_POOL_DEFAULT;
    ret_rings->heap_bytes = image ? TL_HEAP_BYTES_DEFAULT * TL_RINGS : TL_HEAP_BYTES_DEFAULT;
    return kind;
}
