/* SPDX-License-Identifier: Apache-2.0 */
/* The line is made beforehand: a handler may do little more than write it. */
#include "run/run_signal.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static char line[1400], recording[1200];
static volatile sig_atomic_t line_bytes; /* read by the signal handler; 0: no line */

void tl__signal_tells(const char *dir)
{
    int n;

    tl__signal_tells_nothing();
    n = snprintf(line, sizeof(line),
                 "%stasklens run: ended by a signal; what it had recorded until then is kept: `tasklens recover %s` "
                 "makes it readable\n",
                 isatty(STDERR_FILENO) ? "\r\033[K" : "", dir);
    if (n <= 0 || (size_t)n >= sizeof(line))
        return;
    (void)snprintf(recording, sizeof(recording), "%s", dir);
    line_bytes = n;
}

void tl__signal_tells_nothing(void)
{
    line_bytes = 0;
}

const char *tl__signal_recording(void)
{
    return line_bytes > 0 ? recording : "";
}

void tl__signal_tell(void)
{
    ssize_t written = line_bytes > 0 ? write(STDERR_FILENO, line, (size_t)line_bytes) : 0;

    (void)written; /* nobody can be told */
}
