/* SPDX-License-Identifier: Apache-2.0 */
/* What recover.c is made of. */
#ifndef TL_COLLECT_RECOVER_H
#define TL_COLLECT_RECOVER_H

#include "artifact/dfx_meta.h"
#include "collect/engine.h"

/* A descriptor of the journal with its lock, which the run holds while it lives, and a recovery while it works; the
 * caller's to close. TL_EBUSY: somebody has it. */
int tl__recover_lock(const char *path, struct tl_error *reterr);

/* recover_check.c: notes in *result each artifact of DIR that was recorded, as *meta tells, and is not there, cannot be
 * read, or holds less. NULL: nothing is known, and what is there is read. */
void tl__recover_check(const char *dir, const struct tl_meta *meta, struct tl_recover_result *result);
/* One of them, in words. */
void tl__recover_missing(struct tl_recover_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* recover_copy.c: brings what a recovery of DIR works with to OUT, which is made if it is not there, the journal last.
 * 1: it is there, 0: DIR has no journal. TL_EEXIST: OUT holds another recording, or is DIR; and as
 * tl__engine_recover. */
int tl__recover_copy(const char *dir, const char *out, struct tl_error *reterr);

#endif
