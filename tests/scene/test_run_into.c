/* SPDX-License-Identifier: Apache-2.0 */
/* Runs into a directory that is there: what an older run left goes, and what no run of ours made stays. */
#include "cli.h"

#define ALL "--dump-args 2 --enable-chip-swimlane --enable-dep-gen --enable-pmu --enable-scope-stats"

static void shell(const char *text)
{
    char command[1600];

    (void)snprintf(command, sizeof(command), "cd '%s' && %s", fixture_dir, text);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Exports, pages, traces and the program's copy are of the run that they were made from. */
static void what_was_made_of_an_older_run_goes_with_it(void **state)
{
    (void)state;
    expect(0, "run paged_attention " ALL " --out again");
    expect(0, "dump again --export txt");
    expect(0, "dump again --export npy");
    expect(0, "deps again --format html");
    expect(0, "deps again --format html -t r1t1");
    expect(0, "scope again --html");
    expect(0, "swimlane again");
    expect(0, "critical-path again");
    shell("echo mine >again/notes.txt; [ -e again/program/paged_attention.so ] && [ -e again/deps_r1t1.html ]");
    expect(0, "run vector_add --dump-args 2 --out again");
    shell("find again -type f | sort >there; printf '%s\\n' again/args_dump/args.bin again/args_dump/args_dump.json "
          "again/dfx_meta.json again/name_map_default.json again/notes.txt again/program/vector_add.so >want; "
          "sed 's/name_map_[A-Za-z_0-9]*_default/name_map_default/' there | diff want -");
}

/* A file with an artifact's name and no dfx_meta.json beside it is somebody's, not an older run's. */
static void what_no_run_made_stays(void **state)
{
    static const char *const names[] = {"deps.json", "pmu.csv", "critical_path.md", "chip_swimlane_records.json",
                                        "args_dump/args_dump.json"};
    char command[300];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(command, sizeof(command), "rm -rf own; mkdir -p own/args_dump; echo precious >own/%s", names[i]);
        shell(command);
        refuses("run vector_add " ALL " --out own", "no run of tasklens made it");
        (void)snprintf(command, sizeof(command), "[ \"$(find own -type f)\" = own/%s ] && grep -q precious own/%s",
                       names[i], names[i]);
        shell(command);
    }
    shell("rm -rf own; mkdir own; echo mine >own/notes.txt");
    expect(0, "run vector_add " ALL " --out own");
    shell("grep -q mine own/notes.txt");
}

static void a_run_does_not_write_through_links(void **state)
{
    (void)state;
    shell("mkdir -p outside linked; ln -s ../outside linked/args_dump");
    refuses("run vector_add --dump-args 2 --out linked", "linked/args_dump is a link");
    shell("rm linked/args_dump; ln -s ../outside linked/program");
    refuses("run vector_add --dump-args 2 --out linked", "linked/program is a link");
    shell("[ -z \"$(ls outside)\" ]");
    /* The directory that the user names may be one. */
    shell("mkdir real; ln -s real named");
    expect(0, "run vector_add --dump-args 2 --out named");
    shell("[ -s real/args_dump/args_dump.json ]");
}

/* A directory whose name leaves no space for the artifacts' names is refused before anything runs. */
static void a_path_that_is_too_long_is_known_at_once(void **state)
{
    char words[1400], part[256];
    size_t n;

    (void)state;
    memset(part, 'd', sizeof(part) - 1);
    part[199] = '\0';
    for (size_t bytes = 640; bytes < 1010; bytes += 5) {
        n = (size_t)snprintf(words, sizeof(words), "run vector_add " ALL " --rounds 2 --out ");
        for (size_t i = 0; i < bytes; i++)
            words[n++] = i % 200 == 199 ? '/' : 'd';
        words[n - 1] = 'e';
        words[n] = '\0';
        tasklens(words);
        if (exit_code == 0) {
            (void)snprintf(part, sizeof(part),
                           "[ $(find d* -name dfx_meta.json | wc -l) = 2 ] && [ $(find d* -name scope_stats.jsonl | wc "
                           "-l) = 2 ] && rm -rf d*");
            shell(part);
            assert_in_range(bytes, 0, 660);
        } else {
            assert_int_equal(exit_code, 2);
            assert_string_equal(output, "");
            assert_non_null(strstr(message, "at most 660 leave space for the names below it"));
            assert_in_range(bytes, 661, 2000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_of_an_older_run_goes_with_it),
        cmocka_unit_test(what_no_run_made_stays),
        cmocka_unit_test(a_run_does_not_write_through_links),
        cmocka_unit_test(a_path_that_is_too_long_is_known_at_once),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
