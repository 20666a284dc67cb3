/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line is made beforehand: a handler may do little more than write it. Whichever thread gets the signal, it is
 * installed only while the line stands, and it resets itself, so that raising the signal again ends the process as if
 * there had been no handler.
 */
#include "run_signal.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/leftovers.h"

static const int told[] = {SIGINT, SIGTERM, SIGHUP};
#define TOLD_COUNT (sizeof(told) / sizeof(told[0]))

static char line[1400];
static size_t line_bytes;
static struct sigaction before[TOLD_COUNT];
static bool installed[TOLD_COUNT];

static void tell(int number)
{
    ssize_t written = write(STDERR_FILENO, line, line_bytes);

    (void)written; /* there is nobody left to tell */
    tl__leftovers_discard();
    (void)raise(number);
}

void tl__signal_tells(const char *dir)
{
    struct sigaction action = {.sa_handler = tell, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    int n;

    tl__signal_tells_nothing();
    n = snprintf(line, sizeof(line),
                 "%stasklens run: ended by a signal; what it had recorded until then is kept: `tasklens recover %s` "
                 "makes it readable\n",
                 isatty(STDERR_FILENO) ? "\r\033[K" : "", dir);
    if (n <= 0 || (size_t)n >= sizeof(line))
        return;
    line_bytes = (size_t)n;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < TOLD_COUNT; i++)
        if (sigaction(told[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            installed[i] = sigaction(told[i], &action, NULL) == 0;
}

void tl__signal_tells_nothing(void)
{
    for (size_t i = 0; i < TOLD_COUNT; i++) {
        if (installed[i])
            (void)sigaction(told[i], &before[i], NULL);
        installed[i] = false;
    }
}
