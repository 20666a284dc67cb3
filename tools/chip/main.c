/* SPDX-License-Identifier: Apache-2.0 */
/* tasklens-chip: a simulated chip as a process. Started by the library, never by hand. */
#include <stdio.h>

#include "base/log.h"
#include "sim/chip.h"

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
