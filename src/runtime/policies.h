/* SPDX-License-Identifier: Apache-2.0 */
/* The policies, one file each; what they decide is struct tl_runtime_policy of device/orch.h. */
#ifndef TL_RUNTIME_POLICIES_H
#define TL_RUNTIME_POLICIES_H

#include "device/orch.h"

extern const struct tl_runtime_policy tl__tensormap_and_ringbuffer;
extern const struct tl_runtime_policy tl__host_build_graph;

#endif
