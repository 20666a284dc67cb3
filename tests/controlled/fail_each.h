/* SPDX-License-Identifier: Apache-2.0 */
/* One fault at each step at which it can come: in a writer or a reader of files, under the controlled environment. */
#ifndef TL_TESTS_FAIL_EACH_H
#define TL_TESTS_FAIL_EACH_H

#include "unit/artifact_fixture.h"

#include <stdbool.h>

#include "base/env_controlled.h"

struct call {
    int (*fn)(void);
    int code;
};

static inline void make_call(void *arg)
{
    struct call *call = arg;

    call->code = call->fn();
}

static struct tl_controlled_report report;

/* What the call returns when the fault `name` comes at step `n`; *ret_fired: whether it came. */
static inline int call_with(int (*fn)(void), const char *name, unsigned n, bool *ret_fired)
{
    struct call call = {fn, 0};
    char faults[48];
    struct tl_controlled_opts opts = {.seed = 1, .faults = faults, .steps_max = 1000000};

    (void)snprintf(faults, sizeof(faults), "%s@%u", name, n);
    if (tl__controlled_run(&opts, make_call, &call, &report) != 0)
        fail_msg("%s: %s", faults, report.text);
    assert_int_equal(report.allocs_live, 0);
    *ret_fired = report.faults.entries[0].fired != 0;
    return call.code;
}

/* Every step at which the fault can come, one after the other. `target`: the file it writes, NULL for a reader. Returns
 * how many there were. */
static inline unsigned fail_each(int (*fn)(void), const char *name, int expected, const char *target)
{
    bool fired = true;

    for (unsigned n = 1;; n++) {
        int code;

        if (target != NULL)
            fixture_write_text(target, "old");
        code = call_with(fn, name, n, &fired);
        if (!fired) {
            assert_int_equal(code, 0);
            return n - 1;
        }
        if (target == NULL && code == 0)
            continue; /* a reader may get by: the short cut's failure is made good by the general way */
        assert_int_equal(code, expected);
        if (target == NULL)
            continue;
        char *text = fixture_read(target, NULL);
        assert_string_equal(text, "old");
        free(text);
        assert_false(fixture_has_temporary());
    }
}

#endif
