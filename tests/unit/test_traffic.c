/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.jsonl: what is written is read again; bad input is named by line and field. */
#include "unit/artifact_fixture.h"

#include "artifact/traffic.h"

#define HEAD "{\"version\": 1, \"fatal\": false, \"dropped\": 3, \"tasks\": 1}\n"
#define TASK                                                                                                           \
    "{\"task_id\": 4294967297, \"func_id\": 2, \"start\": 77, \"subtasks\": 4, \"counted_subtasks\": 3, "              \
    "\"counted_read_bytes\": 640, \"counted_written_bytes\": 64, \"args\": [{\"buffer\": \"0x00000000000000a0\", "     \
    "\"owner\": null, \"view\": \"0x0000000000000001\", \"bytes\": 16, \"access\": \"both\"}]}\n"

static struct tl_traffic traffic;
static struct tl_error error;

static int parse(const char *text)
{
    return tl__traffic_parse(text, strlen(text), "t.jsonl", &traffic, &error);
}

static void the_example_of_the_format(void **state)
{
    const struct tl_traffic_task *task;

    (void)state;
    if (parse(HEAD TASK) != 0)
        fail_msg("%s", error.msg);
    assert_false(traffic.fatal);
    assert_int_equal(traffic.dropped, 3);
    assert_int_equal(traffic.tasks.count, 1);
    task = &traffic.tasks.items[0];
    assert_true(task->task_id == UINT64_C(4294967297) && task->func_id == 2 && task->start == 77);
    assert_true(task->subtasks == 4 && task->counted == 3);
    assert_true(task->counted_read == 640 && task->counted_written == 64 && task->n_args == 1);
    assert_true(traffic.args.items[0].buffer == 0xa0 && traffic.args.items[0].owner == TL_TRAFFIC_NO_OWNER);
    assert_int_equal(tl__traffic_read_bytes(&traffic.args.items[0]), 16);
    assert_int_equal(tl__traffic_written_bytes(&traffic.args.items[0]), 16);
    tl__traffic_fini(&traffic);
}

static void written_and_read_again(void **state)
{
    struct tl_traffic out = {.fatal = true, .dropped = 5}, in;
    const struct tl_traffic_arg args[3] = {{1, 2, UINT64_MAX, 4, TL_TRAFFIC_READ},
                                           {UINT64_MAX, TL_TRAFFIC_NO_OWNER, 0, 0, TL_TRAFFIC_WRITE},
                                           {9, 8, 7, 6, TL_TRAFFIC_BOTH}};
    const struct tl_traffic_task one = {UINT64_MAX, 1, 2, 3, -1, 5, 4, 3, 0}, none = {.task_id = 6};

    (void)state;
    assert_true(tl__traffic_add(&out, &one, args) == 0 && tl__traffic_add(&out, &none, NULL) == 0);
    if (tl__traffic_write(fixture_dir, &out, &error) != 0 ||
        tl__traffic_file_read(fixture_path(TL_TRAFFIC_NAME), &in, &error) != 0)
        fail_msg("%s", error.msg);
    assert_true(in.fatal && in.dropped == 5 && in.tasks.count == 2 && in.args.count == 3);
    assert_memory_equal(&in.tasks.items[0], &one, sizeof(one));
    assert_int_equal(in.tasks.items[1].task_id, 6);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(in.args.items[i].buffer == args[i].buffer && in.args.items[i].owner == args[i].owner);
        assert_true(in.args.items[i].view == args[i].view && in.args.items[i].bytes == args[i].bytes);
        assert_int_equal(in.args.items[i].access, args[i].access);
    }
    tl__traffic_fini(&out);
    tl__traffic_fini(&in);
}

/* The example with its first `from` replaced. */
static void refused_with(const char *from, const char *to, int code, const char *message)
{
    const char *text = HEAD TASK, *at = strstr(text, from);
    char made[4096];

    assert_non_null(at);
    (void)snprintf(made, sizeof(made), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(parse(made), code);
    if (strstr(error.msg, message) == NULL)
        fail_msg("no \"%s\" in: %s", message, error.msg);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    assert_int_equal(parse(""), TL_EPARSE);
    assert_non_null(strstr(error.msg, "empty"));
    refused_with("\"version\": 1", "\"version\": 2", TL_EVERSION, "line 1");
    refused_with("\"tasks\": 1", "\"tasks\": 2", TL_EPARSE, "the file is cut");
    refused_with("\"subtasks\": 4", "\"subtasks\": \"x\"", TL_EPARSE, "line 2: field 'subtasks'");
    refused_with("\"both\"", "\"none\"", TL_EPARSE, "\"read\", \"write\" or \"both\", found \"none\"");
    refused_with("\"bytes\": 16", "\"bytes\": -1", TL_EPARSE, "args[0]: field 'bytes'");
    refused_with("\"args\": [", "\"args\": [[],", TL_EPARSE, "args[0]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_of_the_format),
                                       cmocka_unit_test(written_and_read_again), cmocka_unit_test(bad_input_is_named)};

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
