/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"

#include <string.h>

#include <tasklens/error.h>

#include "device/device_run.h"
#include "runtime/policies.h"
#include "base/count_of.h"

static const struct tl_runtime_policy *const table[] = {
    [TL_RUNTIME_RING] = &tl__tensormap_and_ringbuffer,
    [TL_RUNTIME_HOST_BUILD] = &tl__host_build_graph,
};

#define N_RUNTIMES (COUNT_OF(table))

int tl__runtime_parse(const char *name)
{
    for (unsigned i = 0; i < N_RUNTIMES; i++)
        if (strcmp(table[i]->name, name) == 0)
            return (int)i;
    return TL_ENOENT;
}

int tl__runtime_run(struct tl_device *d, uint64_t launch, const struct tl_program *program)
{
    const struct tl_launch *l = tl__device_launch(d, launch);

    if (l == NULL || l->runtime >= N_RUNTIMES)
        return TL_ECORRUPT;
    return tl__device_run(d, launch, program, table[l->runtime]);
}
