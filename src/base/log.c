/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX 1000

/* Set before threads exist, so that the threads' creation publishes it. */
static tl_log_sink log_sink;
static void *log_ctx;

void tl__log_set_sink(tl_log_sink sink, void *ctx)
{
    log_sink = sink;
    log_ctx = ctx;
}

void tl__log(enum tl_log_level level, const char *format, ...)
{
    char line[LINE_BYTES_MAX + 1];
    va_list ap;
    int bytes;

    if (log_sink == NULL)
        return;
    va_start(ap, format);
    bytes = vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    if (bytes < 0)
        return;
    if ((size_t)bytes > LINE_BYTES_MAX) {
        size_t cut = LINE_BYTES_MAX - 3;

        while (cut > 0 && ((unsigned char)line[cut] & 0xC0) == 0x80) /* never inside a UTF-8 character */
            cut--;
        memcpy(line + cut, "...", 4);
    }
    /* One call is one line, whatever a kernel's name or a file's path holds. */
    for (char *c = line; (c = strpbrk(c, "\r\n")) != NULL; c++)
        *c = ' ';
    log_sink(log_ctx, level, line);
}
