/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pathname.h"

#include <stdarg.h>
#include <stdio.h>

bool tl__pathname(char to[TL_PATHNAME_BYTES], const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(to, TL_PATHNAME_BYTES, format, ap);
    va_end(ap);
    if (n >= 0 && n < TL_PATHNAME_BYTES)
        return true;
    to[0] = '\0';
    return false;
}
