/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that touches what belongs to the chip: the bell page, the size of its memory, its mailbox; and a func_id
 * that is none. The host answers at once, and right.
 */
#include "scene/cli.h"

static const char program[] = TL_TEST_BINARY_DIR "/tests/strays.so";

enum { NONE, BELLS, TRUNCATE, MAIL, MIX, CLOSE };

/* Recorders on, with small buffers, so that lanes and host have to meet. */
static void run_way(int way, int code)
{
    char words[700];

    (void)snprintf(words, sizeof(words),
                   "run %s --set way=%d --dump-args 2 --enable-pmu --enable-dep-gen --dfx-set records=4 --out w%d",
                   program, way, way);
    expect(code, words);
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, text);
}

/* All tasks end, and so does the run; nothing of the recording is missing. */
static void a_bell_page_full_of_zeros_costs_nothing(void **state)
{
    (void)state;
    run_way(NONE, 0);
    run_way(BELLS, 0);
    expect_in(output, "6 retired");
    expect_in(output, "nothing lost");
}

static void memory_of_the_chip_cannot_be_cut(void **state)
{
    (void)state;
    run_way(TRUNCATE, 0);
    expect_in(output, "6 retired");
    expect_in(message, "strays: /memfd:tasklens-gm (deleted) keeps its size");
    expect_in(message, "strays: /memfd:tasklens-bells (deleted) keeps its size");
    assert_null(strstr(message, "was cut"));
}

/* Not a budget later: what came is no message, and the line says whose it was. */
static void a_byte_in_the_mailbox_ends_the_run_at_once(void **state)
{
    (void)state;
    run_way(MAIL, 3);
    expect_in(message, "a program wrote 1 byte into the chip's mailbox, descriptor 5");
    expect(0, "dump --verify w3");
}

/* No budget is waited for, and what was recorded until then is there. */
static void a_closed_mailbox_ends_the_run(void **state)
{
    (void)state;
    run_way(CLOSE, 3);
    expect_in(message, "a program closed the chip's mailbox, descriptor 5");
    expect(0, "dump --verify w5");
}

static void a_negative_func_id_in_a_mix_is_refused(void **state)
{
    (void)state;
    run_way(MIX, 2);
    expect_in(message, "task r0t2: func_id -2 cannot be a kernel's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bell_page_full_of_zeros_costs_nothing),
        cmocka_unit_test(memory_of_the_chip_cannot_be_cut),
        cmocka_unit_test(a_byte_in_the_mailbox_ends_the_run_at_once),
        cmocka_unit_test(a_closed_mailbox_ends_the_run),
        cmocka_unit_test(a_negative_func_id_in_a_mix_is_refused),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
