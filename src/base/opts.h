/* SPDX-License-Identifier: Apache-2.0 */
/* Options structs of the installed headers: each begins with `uint32_t struct_size` and grows only at its end. */
#ifndef TL_BASE_OPTS_H
#define TL_BASE_OPTS_H

#include <stddef.h>

#include <tasklens/error.h>

/*
 * Copies the caller's options into `to`, which has the `size` bytes that this version knows. A caller of an older
 * version has fewer: the rest is 0. A caller of a newer one has more: TL_EVERSION if any byte of them is not 0.
 * TL_EINVAL: `from` is NULL, or struct_size does not even cover itself. `name` and `init` are for the message:
 * "tl_worker_opts", "TL_WORKER_OPTS_INIT".
 */
int tl__copy_opts(void *to, size_t size, const void *from, const char *name, const char *init, struct tl_error *reterr);

#endif
