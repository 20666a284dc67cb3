/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/format.h"

/* Forms for the analyser alone, of what is defined here. */
#undef tl__fail
#undef tl__fail_at

TL_API const char *tl_strerror(int code)
{
    switch (code) {
    case TL_OK:
        return "success";
#define TL_ERROR_TEXT(name, value, text)                                                                               \
    case name:                                                                                                         \
        return text;
        TL_ERROR_LIST(TL_ERROR_TEXT)
#undef TL_ERROR_TEXT
    default:
        return "unknown error";
    }
}

TL_API const char *tl_errname(int code)
{
    switch (code) {
    case TL_OK:
        return "TL_OK";
#define TL_ERROR_NAME(name, value, text)                                                                               \
    case name:                                                                                                         \
        return #name;
        TL_ERROR_LIST(TL_ERROR_NAME)
#undef TL_ERROR_NAME
    default:
        return "TL_?";
    }
}

static int fail_va(struct tl_error *reterr, int code, long offset, const char *format, va_list ap)
    __attribute__((format(printf, 4, 0)));

static int fail_va(struct tl_error *reterr, int code, long offset, const char *format, va_list ap)
{
    if (reterr == NULL)
        return code;
    reterr->code = code;
    reterr->offset = offset;
    (void)tl__vformat(reterr->msg, sizeof(reterr->msg), format, ap);
    return code;
}

int tl__fail(struct tl_error *reterr, int code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fail_va(reterr, code, -1, format, ap);
    va_end(ap);
    return code;
}

int tl__fail_at(struct tl_error *reterr, int code, long offset, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fail_va(reterr, code, offset, format, ap);
    va_end(ap);
    return code;
}

int tl__code_of_errno(int err)
{
    switch (err) {
    case 0:
        return TL_OK;
    case ENOSPC:
    case EDQUOT:
        return TL_ENOSPC;
    case ENOENT:
    case ENOTDIR:
        return TL_ENOENT;
    case ENOMEM:
        return TL_ENOMEM;
    case EEXIST:
        return TL_EEXIST;
    case ETIMEDOUT:
        return TL_ETIMEDOUT;
    default:
        return TL_EIO;
    }
}
