/* SPDX-License-Identifier: Apache-2.0 */
/* Filling struct tl_error. */
#ifndef TL_BASE_ERROR_H
#define TL_BASE_ERROR_H

#include <tasklens/error.h>

/* Sets *reterr (NULL is fine) and returns `code`, so that callers can `return tl__fail(reterr, TL_EINVAL, ...)`. */
int tl__fail(struct tl_error *reterr, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tl__fail_at(struct tl_error *reterr, int code, long offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#ifdef __clang_analyzer__ /* what it cannot see in another file: they return `code` */
#define tl__fail(reterr, code, ...) ((void)tl__fail((reterr), (code), __VA_ARGS__), (code))
#define tl__fail_at(reterr, code, offset, ...) ((void)tl__fail_at((reterr), (code), (offset), __VA_ARGS__), (code))
#endif
/* Code for errno: ENOSPC, EDQUOT -> TL_ENOSPC; ENOENT -> TL_ENOENT; ENOMEM; EEXIST; EACCES, EIO, ... -> TL_EIO. */
int tl__code_of_errno(int err);

#endif
