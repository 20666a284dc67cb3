/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printf whose numbers do not follow the locale that a program around the library has set: 1.5 is never 1,5. Any
 * thread; the locale of the process and of other threads is not touched.
 */
#ifndef TL_BASE_FORMAT_H
#define TL_BASE_FORMAT_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf. */
int tl__vformat(char *to, size_t size, const char *format, va_list ap) __attribute__((format(printf, 3, 0)));

/* As snprintf. */
int tl__format(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For code that prints by itself: this thread's numbers are plain from here to the end, which takes what the begin
 * gave. */
locale_t tl__plain_begin(void);
void tl__plain_end(locale_t before);

#endif
