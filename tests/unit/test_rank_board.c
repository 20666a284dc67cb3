/* SPDX-License-Identifier: Apache-2.0 */
/* The board of the ranks: whose the root is, notes that are never torn, and what is said when a rank makes no
 * progress. */
#include "unit/artifact_fixture.h"

#include <pthread.h>

#include "host/rank_board_file.h"
#include "host/rank_report.h"

static void a_root_is_one_jobs(void **state)
{
    struct tl_rank_board *a, *b;
    struct tl_error err;

    (void)state;
    assert_int_equal(tl__board_open(fixture_dir, "job1", 4, &a, NULL), 0);
    assert_int_equal(tl__board_ranks(a), 4);
    assert_int_equal(tl__board_take(a, 2, NULL), 0);
    assert_int_equal(tl__board_open(fixture_dir, "job1", 4, &b, NULL), 0);
    assert_int_equal(tl__board_take(b, 2, &err), TL_EEXIST);
    assert_non_null(strstr(err.msg, "rank 2"));
    assert_int_equal(tl__board_take(b, 3, NULL), 0);
    tl__board_close(b);
    assert_int_equal(tl__board_open(fixture_dir, "job2", 4, &b, &err), TL_EEXIST);
    assert_non_null(strstr(err.msg, "another job"));
    assert_int_equal(tl__board_open(fixture_dir, "job1", 5, &b, &err), TL_EEXIST);
    assert_non_null(strstr(err.msg, "4 ranks"));
    assert_int_equal(tl__board_open(fixture_dir, "job1", 400, &b, &err), TL_EEXIST);
    fixture_write_text(".ranks", "x");
    assert_int_equal(tl__board_open(fixture_dir, "job1", 4, &b, &err), TL_EEXIST);
    tl__board_close(a);
    tl__board_close(NULL);
    assert_int_equal(tl__board_open("/nowhere", "", 1, &a, NULL), TL_ENOENT);
}

static void one_rank_alone_reports(void **state)
{
    struct tl_rank_board *b;

    (void)state;
    assert_int_equal(tl__board_open(NULL, "", 3, &b, NULL), 0);
    assert_true(tl__board_tells(b, 1));
    assert_false(tl__board_tells(b, 2));
    assert_false(tl__board_tells(b, 1));
    tl__board_close(b);
}

static void a_dead_process_is_known_to_be_dead(void **state)
{
    struct tl_rank_board *b;
    struct tl_rank_note note = {.state = TL_RANK_RUNNING};

    (void)state;
    assert_int_equal(tl__board_open(NULL, "", 1, &b, NULL), 0);
    tl__board_post(b, 0, &note);
    tl__board_read(b, 0, &note);
    assert_int_equal(note.pid, getpid());
    assert_true(tl__board_lives(&note));
    note.pid = 0x7FFFFFF0; /* no process has this number */
    assert_false(tl__board_lives(&note));
    note.state = TL_RANK_DONE;
    assert_true(tl__board_lives(&note));
    note.state = TL_RANK_RUNNING;
    note.machine++; /* of another machine nothing is known */
    assert_true(tl__board_lives(&note));
    tl__board_close(b);
}

/* ---- torn notes ---- */

static struct tl_rank_slot slot;
static tl_au32 over;

static void *write_notes(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; tl_load_rlx(&over) == 0; i++) {
        struct tl_rank_note note = {.state = i % 6, .retired = i, .submitted = i, .last_task = i};

        memset(note.waits, 'a' + (int)(i % 26), sizeof(note.waits) - 1);
        tl__rank_slot_write(&slot, &note);
    }
    return NULL;
}

static void notes_are_whole(void **state)
{
    pthread_t writer;
    unsigned whole = 0;

    (void)state;
    assert_int_equal(pthread_create(&writer, NULL, write_notes, NULL), 0);
    for (unsigned i = 0; i < 20000; i++) {
        struct tl_rank_note n;

        if (!tl__rank_slot_read(&slot, &n))
            continue;
        whole++;
        assert_int_equal(n.retired, n.submitted);
        assert_int_equal(n.retired, n.last_task);
        if (n.waits[0] != '\0') {
            assert_int_equal(n.waits[0], 'a' + (char)(n.retired % 26));
            assert_int_equal(n.waits[sizeof(n.waits) - 2], n.waits[0]);
        }
    }
    tl_store_rlx(&over, 1u);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_not_equal(whole, 0);
    /* A writer that died in the middle of a note. */
    tl_store_rlx(&slot.count, tl_load_rlx(&slot.count) | 1);
    assert_false(tl__rank_slot_read(&slot, &(struct tl_rank_note){0}));
}

/* ---- the report ---- */

#define NOW UINT64_C(1796030453000000000)
#define MS UINT64_C(1000000)

static struct tl_rank_view rank(enum tl_rank_state state, uint64_t dispatch, uint64_t retired, uint64_t still_ms)
{
    return (struct tl_rank_view){.note = {.state = state,
                                          .dispatch = dispatch,
                                          .retired = retired,
                                          .submitted = 5,
                                          .last_task = retired,
                                          .last_ns = NOW - still_ms * MS,
                                          .still_ns = NOW - still_ms * MS}};
}

static void odd(const struct tl_rank_view *ranks, uint32_t n, uint32_t expected, const char *why)
{
    const char *got;

    assert_int_equal(tl__rank_odd_one(ranks, n, NOW, &got), expected);
    assert_string_equal(got, why);
}

static void the_rank_that_holds_up_the_others_is_named(void **state)
{
    struct tl_rank_view r[4] = {rank(TL_RANK_RUNNING, 0, 3, 10), rank(TL_RANK_STALLED, 0, 3, 2000),
                                rank(TL_RANK_DONE, 1, 5, 5000), rank(TL_RANK_RUNNING, 0, 3, 999)};

    (void)state;
    odd(r, 4, 1, "the only one without progress");
    /* The others wait for it, and make no progress either: it is the one that got least far. */
    r[0] = rank(TL_RANK_RUNNING, 1, 0, 3000);
    r[3] = rank(TL_RANK_RUNNING, 0, 4, 3000);
    odd(r, 4, 1, "it is behind all others");
    r[3] = rank(TL_RANK_RUNNING, 0, 3, 3000);
    odd(r, 4, TL_RANK_NONE, "several make no progress, and none is behind all others");
    r[3].gone = true;
    odd(r, 4, 3, "its process has ended, the others run");
    r[0].gone = true; /* two */
    odd(r, 4, TL_RANK_NONE, "several make no progress, and none is behind all others");
    odd(&r[1], 1, TL_RANK_NONE, "there is no other rank");
    r[0] = rank(TL_RANK_RUNNING, 0, 3, 10);
    r[1] = (struct tl_rank_view){0};
    odd(r, 2, 1, "it did not start");
    r[1] = rank(TL_RANK_RUNNING, 0, 3, 10);
    odd(r, 2, TL_RANK_NONE, "all of them move");
}

static char text[4000];

static void keep(void *ctx, const char *line)
{
    (void)ctx;
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", line);
}

static void the_report_has_a_line_for_each_rank(void **state)
{
    struct tl_rank_view r[4] = {rank(TL_RANK_RUNNING, 0, 3, 20), rank(TL_RANK_STALLED, 0, 2, 2345),
                                rank(TL_RANK_DONE, 1, 5, 5000), rank(TL_RANK_RUNNING, 2, 0, 1500)};

    (void)state;
    (void)snprintf(r[1].note.waits, sizeof(r[1].note.waits), "task r0t2 \"stuck\" RUNNING");
    r[1].note.last_task = (UINT64_C(1) << 32) + 8;
    text[0] = '\0';
    tl__rank_report(r, 4, NOW, keep, NULL);
    assert_string_equal(
        text, "  rank 0: running, dispatch 0, 3 of 5 tasks finished, last r0t2 20 ms ago; it moves\n"
              "  rank 1: stalled, dispatch 0, 2 of 5 tasks finished, last r1t7 2345 ms ago; has waited 2345 ms for: "
              "task r0t2 "
              "\"stuck\" RUNNING\n"
              "  rank 2: done, dispatch 1, 5 of 5 tasks finished, last r0t4 5000 ms ago\n"
              "  rank 3: running, dispatch 2, 0 of 5 tasks finished; no progress for 1500 ms, the cause is not known\n"
              "  look at rank 1 first: it is behind all others\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_root_is_one_jobs),
        cmocka_unit_test(one_rank_alone_reports),
        cmocka_unit_test(a_dead_process_is_known_to_be_dead),
        cmocka_unit_test(notes_are_whole),
        cmocka_unit_test(the_rank_that_holds_up_the_others_is_named),
        cmocka_unit_test(the_report_has_a_line_for_each_rank),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
