/* SPDX-License-Identifier: Apache-2.0 */
/* A pick narrowed and ordered by the payloads' values. */
#ifndef TL_ANALYSIS_DUMP_RANK_H
#define TL_ANALYSIS_DUMP_RANK_H

#include "analysis/dump/dump_payload.h"

enum tl_dump_key {
    TL_DUMP_BY_NONE,
    TL_DUMP_BY_MAX,
    TL_DUMP_BY_MIN,
    TL_DUMP_BY_MEAN,
    TL_DUMP_BY_STD,
    TL_DUMP_BY_NAN,
    TL_DUMP_BY_INF
};
extern const char *const tl__dump_keys[]; /* "none", "max", ...; the last is NULL */

/*
 * Reads every picked payload. Of `only_bad`, leaves records with NaN or Inf. Orders by the key: the smallest minimum
 * first, of the others the largest; equal ones keep their order, records without a value come last. 0 or
 * TL_ENOMEM.
 */
int tl__dump_rank(const struct tl_dump_scan *scan, struct tl_dump_pick *pick, enum tl_dump_key key, bool only_bad,
                  struct tl_error *reterr);

#endif
