/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens-chip: a simulated chip as a process. Started by the library, never by hand. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <tasklens/error.h>

#include "base/log.h"
#include "../way_out.h"
#include "sim/chip.h"

/* A kernel or an orchestration that ends the process is reported. */
void tl__way_out(const char *called, int code)
{
    if (tl__chip_exit(called, code))
        tl__way_out_end(code);
}

/* The chip's handlers report signals, except SIGKILL, which no handler sees. */
void tl__way_out_signal(int signal_number)
{
    if (signal_number == SIGKILL)
        tl__chip_kills_itself();
}

void (*tl__way_out_handler(void))(int, siginfo_t *, void *)
{
    return NULL;
}

static void to_stderr(void *ctx, enum tl_log_level level, const char *line)
{
    (void)ctx;
    if (level >= TL_LOG_WARN)
        (void)fprintf(stderr, "tasklens-chip: %s: %s\n", level == TL_LOG_WARN ? "warning" : "error", line);
}

int main(int argc, char **argv)
{
    const char *error;
    int code;

    tl_log_set_sink(to_stderr, NULL);
    code = tl__chip_main(argc, argv, &error);
    if (error != NULL)
        (void)fprintf(stderr, "tasklens-chip: %s\n", error);
    return code;
}
