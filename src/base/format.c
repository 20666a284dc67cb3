/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"

#include <stdio.h>

locale_t tl__plain_begin(void)
{
    /* Of "C" the library has one object that needs no memory and is never freed; 0 leaves the thread as it is. */
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void tl__plain_end(locale_t before)
{
    (void)uselocale(before);
}

int tl__vformat(char *to, size_t size, const char *format, va_list ap)
{
    locale_t before = tl__plain_begin();
    int n = vsnprintf(to, size, format, ap);

    tl__plain_end(before);
    return n;
}

int tl__format(char *to, size_t size, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = tl__vformat(to, size, format, ap);
    va_end(ap);
    return n;
}
