/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"

#define LINE_BYTES_MAX 1000
#define MADE_BYTES 4000 /* of a line before it is made safe */

/* Set while the library has no threads, and published by their creation. */
static tl_log_sink log_sink;
static void *log_user;

TL_API void tl_log_set_sink(tl_log_sink sink, void *user)
{
    log_sink = sink;
    log_user = user;
}

void tl__log(enum tl_log_level level, const char *format, ...)
{
    char made[MADE_BYTES + 1], line[LINE_BYTES_MAX + 1];
    va_list ap;
    int bytes;

    if (log_sink == NULL)
        return;
    va_start(ap, format);
    bytes = tl__vformat(made, sizeof(made), format, ap);
    va_end(ap);
    if (bytes < 0)
        return;
    /* One call is one line, whatever a kernel's name or a file's path holds. */
    (void)tl__safe_text(line, sizeof(line), TL_SAFE_LINE, made, strlen(made));
    log_sink(log_user, level, line);
}
