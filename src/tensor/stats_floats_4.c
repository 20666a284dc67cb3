/* SPDX-License-Identifier: Apache-2.0 */
#define LANES 4
#define FLOATS_NAME tl__stats_floats_4
#define FLOATS_TARGET
#include "tensor/stats_floats_impl.h"
