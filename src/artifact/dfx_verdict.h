/* SPDX-License-Identifier: Apache-2.0 */
/* The list `verdicts` of dfx_meta.json: each output of a run against its golden. For artifact/dfx_meta.c. */
#ifndef TL_ARTIFACT_DFX_VERDICT_H
#define TL_ARTIFACT_DFX_VERDICT_H

#include "artifact/dfx_meta.h"
#include "base/json.h"
#include "base/json_tape.h"

/* "agrees", "differs", "not_checked". */
const char *tl__verdict_name(unsigned verdict);
void tl__verdict_put(struct tl_json *j, const struct tl_meta_verdict *verdict);
/* Takes the object at `at`. 0, or the tape's error. */
int tl__verdict_take(struct tl_tape *t, uint32_t at, struct tl_meta_verdict *ret_verdict);

#endif
