/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens-chip: a simulated chip as a process. Started by the library, never by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tasklens/error.h>

#include "base/log.h"
#include "sim/chip.h"

/* What a program finds in place of the C library's: a kernel that ends the process is told of. */
TL_API _Noreturn void _exit(int code)
{
    tl__chip_exit("_exit", code);
    for (;;)
        (void)syscall(SYS_exit_group, code);
}

TL_API _Noreturn void _Exit(int code)
{
    tl__chip_exit("_Exit", code);
    _exit(code);
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

    tl__log_set_sink(to_stderr, NULL);
    code = tl__chip_main(argc, argv, &error);
    if (error != NULL)
        (void)fprintf(stderr, "tasklens-chip: %s\n", error);
    return code;
}
