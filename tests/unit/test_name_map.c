/* SPDX-License-Identifier: Apache-2.0 */
/* name_map_<case>.json: one program's names, or none. */
#include "json_edit.h"

#include "artifact/name_map.h"

static char *names[] = {(char[]){"add"}, NULL, (char[]){"mul \"x\"\n"}, NULL};
static const struct tl_name_map map = {.orchestrator = (char[]){"main"}, .count = 4, .names = names};

static void what_is_written_is_found(void **state)
{
    struct tl_name_map back;

    (void)state;
    assert_int_equal(tl__name_map_write(fixture_dir, "case/a", &map, NULL), 0);
    json_matches_golden("name_map_case%2fa.json");
    assert_int_equal(tl__name_map_find(fixture_dir, &back, NULL), 0);
    assert_string_equal(back.orchestrator, "main");
    assert_int_equal(back.count, 3);
    assert_string_equal(tl__name_of(&back, 0), "add");
    assert_null(tl__name_of(&back, 1));
    assert_string_equal(tl__name_of(&back, 2), "mul \"x\"\n");
    assert_null(tl__name_of(&back, 3));
    assert_null(tl__name_of(&back, -1));
    assert_null(tl__name_of(&back, INT64_MIN));
    assert_null(tl__name_of(&back, INT64_MAX));
    tl__name_map_fini(&back);
    assert_null(back.names);
}

/* Two cases of one program say the same; two programs do not. */
static void programs_are_not_mixed(void **state)
{
    char *other_names[] = {(char[]){"sub"}, NULL, (char[]){"mul \"x\"\n"}};
    struct tl_name_map other = {.orchestrator = map.orchestrator, .count = 3, .names = other_names};
    struct tl_name_map found = {0};
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__name_map_write(fixture_dir, "a", &map, NULL), 0);
    assert_int_equal(tl__name_map_write(fixture_dir, "b", &map, NULL), 0);
    fixture_write_text("name_map_c.txt", "no map");
    fixture_write_text("my_name_map_c.json", "no map");
    fixture_write_text("name_map_.jso", "no map");
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), 0);
    assert_string_equal(tl__name_of(&found, 0), "add");
    tl__name_map_fini(&found);
    assert_int_equal(tl__name_map_write(fixture_dir, "c", &other, NULL), 0);
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), TL_EEXIST);
    assert_null(found.names);
    assert_non_null(strstr(err.msg, "name_map_a.json"));
    assert_non_null(strstr(err.msg, "name_map_c.json"));
    assert_int_equal(unlink(fixture_path("name_map_c.json")), 0);
    other = map;
    other.orchestrator = NULL;
    assert_int_equal(tl__name_map_write(fixture_dir, "c", &other, NULL), 0);
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), TL_EEXIST);
    assert_int_equal(unlink(fixture_path("name_map_c.json")), 0);
    other = map;
    other.count = 1;
    assert_int_equal(tl__name_map_write(fixture_dir, "c", &other, NULL), 0);
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), TL_EEXIST);
    fixture_write_text("name_map_b.json", "{");
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), TL_EPARSE);
    assert_non_null(strstr(err.msg, "name_map_b.json:1: the file is cut"));
}

static void nothing_named_is_nothing_written(void **state)
{
    static char *none[] = {NULL, NULL};
    struct tl_name_map found;
    struct tl_error err = {0};

    (void)state;
    assert_int_equal(tl__name_map_write(fixture_dir, "a", &(struct tl_name_map){.count = 2, .names = none}, &err), 0);
    assert_int_equal(
        tl__name_map_write(fixture_dir, "a", &(struct tl_name_map){.orchestrator = map.orchestrator}, &err), 0);
    assert_int_equal(tl__name_map_find(fixture_dir, &found, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, ": no name_map_*.json"));
    assert_int_equal(tl__name_map_find(fixture_path("none"), &found, &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "/none: cannot open: No such file or directory"));
    assert_int_equal(tl__name_map_write(fixture_path("none"), "a", &map, &err), TL_ENOENT);
}

static void a_case_of_any_length_has_a_file(void **state)
{
    char name[400];
    struct tl_name_map found = {0};

    (void)state;
    memset(name, 'n', sizeof(name));
    name[399] = 0;
    assert_int_equal(tl__name_map_write(fixture_dir, name, &map, NULL), 0);
    assert_int_equal(tl__name_map_find(fixture_dir, &found, NULL), 0);
    assert_string_equal(tl__name_of(&found, 0), "add");
    tl__name_map_fini(&found);
}

static int parse(const void *text, size_t bytes, const char *name, struct tl_error *reterr)
{
    struct tl_name_map read;
    int code = tl__name_map_parse(text, bytes, name, &read, reterr);

    if (code == 0)
        tl__name_map_fini(&read);
    return code;
}

static void other_writers_are_understood(void **state)
{
    static const char text[] = "{\"callable_id_to_name\": {\"2\": \"b\", \"0\": \"a\", \"1\": null, \"2\": \"c\"},"
                               " \"callables\": []}";
    struct tl_name_map read;

    (void)state;
    assert_int_equal(tl__name_map_parse(text, sizeof(text) - 1, "f.json", &read, NULL), 0);
    assert_null(read.orchestrator);
    assert_int_equal(read.count, 3);
    assert_string_equal(read.names[0], "a");
    assert_null(read.names[1]);
    assert_string_equal(read.names[2], "c");
    tl__name_map_fini(&read);
    assert_int_equal(tl__name_map_parse("{\"callable_id_to_name\": {}}", 27, "f.json", &read, NULL), 0);
    assert_int_equal(read.count, 0);
    assert_null(tl__name_of(&read, 0));
    tl__name_map_fini(&read);
}

static void what_is_wrong_is_named(void **state)
{
    static const char text[] = "{\"level\": 2, \"orchestrator_name\": \"o\", \"callable_id_to_name\": {\"7\": \"k\"}}";
    static const struct json_edit edits[] = {
        {"\"level\": 2", "\"level\": \"two\"", ": field 'level': expected an integer from 0 to 4294967295, found two",
         -1},
        {"\"o\"", "3", ": field 'orchestrator_name': expected a string, found a number", -1},
        {"\"callable_id_to_name\"", "\"names\"", ": field 'callable_id_to_name': missing", -1},
        {"{\"7\": \"k\"}", "[]", ": field 'callable_id_to_name': expected an object, found an array", -1},
        {"\"7\"", "\"-7\"", ": field 'callable_id_to_name': '-7' is not a func_id (0 to 1048575)", -1},
        {"\"7\"", "\"1048576\"", ": field 'callable_id_to_name': '1048576' is not a func_id (0 to 1048575)", -1},
        {"\"k\"", "[]", ": field '7': expected a string, found an array", -1},
    };
    struct tl_error err = {0};

    (void)state;
    json_must_fail(text, parse, edits, sizeof(edits) / sizeof(edits[0]));
    json_cuts_must_fail(text, parse);
    assert_int_equal(parse("[]", 2, "f.json", &err), TL_EPARSE);
    assert_string_equal(err.msg, "f.json: expected an object, found an array");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(programs_are_not_mixed, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(nothing_named_is_nothing_written, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_case_of_any_length_has_a_file, fixture_setup, fixture_teardown),
        cmocka_unit_test(other_writers_are_understood),
        cmocka_unit_test(what_is_wrong_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
