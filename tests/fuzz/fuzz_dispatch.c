/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of dispatch_program.json and clock.json: what they take is in range, what they refuse they explain. */
#include "fuzz.h"

#include <string.h>

#include "artifact/dispatch_program.h"
#include "artifact/rank_clock.h"

static void a_dispatch(const uint8_t *data, size_t size)
{
    struct tl_error error = {0};
    struct tl_dispatch d;
    int code = tl__dispatch_parse(data, size, "fuzz", &d, &error);

    if (code != 0) {
        MUST((code == TL_EPARSE || code == TL_EVERSION) && error.code == code && error.msg[0] != 0);
        return;
    }
    MUST(d.program[0] != 0 && strnlen(d.program, sizeof(d.program)) < sizeof(d.program));
    MUST(strnlen(d.host, sizeof(d.host)) < sizeof(d.host) && strnlen(d.job, sizeof(d.job)) < sizeof(d.job));
    MUST(d.ranks <= TL_MAX_RANKS && (d.ranks == 0 || d.rank < d.ranks));
}

static void a_clock(const uint8_t *data, size_t size)
{
    struct tl_error error = {0};
    struct tl_rank_clock c;
    int code = tl__rank_clock_parse(data, size, "fuzz", &c, &error);

    if (code != 0) {
        MUST((code == TL_EPARSE || code == TL_EVERSION) && error.code == code && error.msg[0] != 0);
        return;
    }
    MUST(c.method < TL_CLOCK_METHODS && c.offset_ns <= INT64_MAX / 4 && c.offset_ns >= -(INT64_MAX / 4));
    MUST(c.error_ns <= INT64_MAX / 4 && strnlen(c.reason, sizeof(c.reason)) < sizeof(c.reason));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    a_dispatch(data, size);
    a_clock(data, size);
    return 0;
}
