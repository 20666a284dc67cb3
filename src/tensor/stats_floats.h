/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics over a block of FLOAT32, FLOAT16 or BFLOAT16, in two widths of one code (stats_floats_impl.h). */
#ifndef TL_TENSOR_STATS_FLOATS_H
#define TL_TENSOR_STATS_FLOATS_H

#include "tensor/stats.h"

/* Max elements in one call: far below what the 32-bit counters of a lane hold. */
#define TL_STATS_FLOATS_MAX (1u << 20)

/* Adds `n` elements at `data` (need not be aligned) to the counts, min, max and sum of *s. */
void tl__stats_floats_4(struct tl_stats *s, const uint8_t *data, size_t n); /* four at a time: SSE2, NEON */
#ifdef __x86_64__
void tl__stats_floats_8(struct tl_stats *s, const uint8_t *data, size_t n); /* eight: only on a machine with AVX2 */
#endif

#endif
