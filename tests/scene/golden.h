/* SPDX-License-Identifier: Apache-2.0 */
/* What a command said, against a file of tests/golden/ (TL_UPDATE_GOLDEN=1 writes it). */
#ifndef TL_TESTS_GOLDEN_H
#define TL_TESTS_GOLDEN_H

#include "unit/artifact_fixture.h"

#include <errno.h>
#include <stdbool.h>

/* `name`: below tests/golden, "scope/nested.txt". */
static inline void golden_is(const char *text, const char *name)
{
    char path[600], *want = calloc(1, 1 << 20);
    bool update = getenv("TL_UPDATE_GOLDEN") != NULL;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/tests/golden/%s", TL_TEST_SOURCE_DIR, name);
    f = fopen(path, update ? "wb" : "rb");
    if (f == NULL)
        fail_msg("%s: %s", path, strerror(errno));
    assert_non_null(want);
    if (update)
        assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    else
        assert_true(fread(want, 1, (1 << 20) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    if (!update && strcmp(text, want) != 0) {
        print_message("---- %s has:\n%s---- but it is:\n%s", path, want, text);
        fail();
    }
    free(want);
}

#endif
