/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __x86_64__
#define LANES 8
#define FLOATS_NAME tl__stats_floats_8
#define FLOATS_TARGET __attribute__((target("avx2")))
#include "tensor/stats_floats_impl.h"
#endif
