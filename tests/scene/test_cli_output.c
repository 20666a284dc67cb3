/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What viewers write and where: a recording's own files are never replaced, under whatever name; "-" is the standard
 * output; links inside a recording lead nowhere.
 */
#include "cli.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

/* Everything there is in a recording and its derived files, made once. */
static int record(void **state)
{
    if (fixture_setup(state) != 0)
        return 1;
    expect(0, "run vector_add --dump-args 2 --enable-chip-swimlane --enable-dep-gen --enable-pmu --enable-scope-stats "
              "--out R");
    return 0;
}

/* A name of the state of all files of R: names, sizes and contents. */
static char *sum_of_recording(void)
{
    char command[1200];

    (void)snprintf(command, sizeof(command),
                   "cd '%s' && find R -type f ! -name critical_path.md -print0 | sort -z | xargs -0 sha256sum >sum; "
                   "find R -type l >>sum",
                   fixture_dir);
    assert_int_equal(system(command), 0);
    return fixture_read("sum", NULL);
}

static void shell(const char *text)
{
    char command[1600];

    (void)snprintf(command, sizeof(command), "cd '%s' && %s", fixture_dir, text);
    if (system(command) != 0)
        fail_msg("%s", command);
}

static const char *const viewers[] = {"swimlane R -o",       "deps R --format html -o", "deps R --format dot -o",
                                      "scope R --html -o",   "critical-path R -o",      "critical-path R --trace",
                                      "swimlane R --json -o"};
static const char *const files[] = {"R/chip_swimlane_records.json",
                                    "R/deps.json",
                                    "R/pmu.csv",
                                    "R/dfx_meta.json",
                                    "R/args_dump/args.bin",
                                    "R/args_dump/args_dump.json",
                                    "R/scope_stats/scope_stats.jsonl"};

static void a_recording_is_not_replaced_by_what_is_made_of_it(void **state)
{
    char *before = sum_of_recording(), *after;

    (void)state;
    shell("rm -f hard soft; ln R/deps.json hard; ln -s R/args_dump/args.bin soft; mkdir -p folder");
    for (size_t v = 0; v < sizeof(viewers) / sizeof(viewers[0]); v++) {
        char words[200];

        for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
            (void)snprintf(words, sizeof(words), "%s %s", viewers[v], files[f]);
            refuses(words, "is a file of the recording");
        }
        (void)snprintf(words, sizeof(words), "%s R/../R/./deps.json", viewers[v]);
        refuses(words, "is a file of the recording");
        (void)snprintf(words, sizeof(words), "%s hard", viewers[v]);
        refuses(words, "is a file of the recording");
        (void)snprintf(words, sizeof(words), "%s soft", viewers[v]);
        refuses(words, "is a file of the recording");
        (void)snprintf(words, sizeof(words), "%s \"$(ls -d R/program/*)\"", viewers[v]);
        refuses(words, "is a file of the recording");
        (void)snprintf(words, sizeof(words), "%s folder", viewers[v]);
        refuses(words, "folder is a directory; name a file");
    }
    shell("printf '[]' >names.json");
    refuses("swimlane R --names names.json -o names.json", "");
    shell("cp R/name_map_*.json mine.json");
    refuses("swimlane R --names mine.json -o ./mine.json", "is the file that is read");
    after = sum_of_recording();
    assert_string_equal(after, before);
    free(before);
    free(after);
    /* What is made of a recording may be made again, in the same place. */
    expect(0, "swimlane R -o trace.json");
    expect(0, "swimlane R -o trace.json");
    expect(0, "critical-path R -o report.md");
    expect(0, "critical-path R -o report.md");
}

static void a_dash_is_the_standard_output(void **state)
{
    static const struct {
        const char *words, *begin, *end;
    } rows[] = {{"swimlane R -o -", "{", "}\n"},
                {"deps R --format html -o -", "<!doctype html>", "</html>\n"},
                {"deps R --format dot -o -", "/*", "}\n"},
                {"deps R --format dot", "/*", "}\n"},
                {"scope R --html -o -", "<!doctype html>", "</html>\n"},
                {"critical-path R -o -", "#", "\n"},
                {"critical-path R --trace -", "{", "}\n"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = strlen(rows[i].end);

        expect(0, rows[i].words);
        if (strncasecmp(output, rows[i].begin, strlen(rows[i].begin)) != 0 || strlen(output) < n ||
            strcmp(output + strlen(output) - n, rows[i].end) != 0)
            fail_msg("%s: it begins with %.60s and ends with %s", rows[i].words, output,
                     strlen(output) > 60 ? output + strlen(output) - 60 : output);
    }
    assert_int_equal(access(fixture_path("-"), F_OK), -1);
    refuses("swimlane R -o - --json", "name one of them");
    refuses("critical-path R -o - --json", "name one of them");
    refuses("critical-path R -o - --trace -", "name one of them");
    shell("'" TL_TEST_BINARY_DIR
          "/tasklens' swimlane R -o - >trace 2>/dev/null; python3 -m json.tool trace >/dev/null");
}

/* Links where viewers put what they make: the link is replaced, and what it leads to stays. */
static void links_in_a_recording_lead_nowhere(void **state)
{
    (void)state;
    shell("rm -rf L outside; cp -r R L; mkdir outside; echo precious >outside/file; rm -rf L/args_dump/npy "
          "L/args_dump/txt");
    shell("for f in deps.html critical_path.md merged_swimlane.json scope_stats/scope.html; do"
          " ln -sf \"$PWD/outside/file\" L/$f; ln -sf \"$PWD/outside/file\" L/$f.tmp; done");
    expect(0, "swimlane L");
    expect(0, "deps L --format html");
    expect(0, "critical-path L");
    expect(0, "scope L --html");
    shell("[ \"$(cat outside/file)\" = precious ] && [ ! -L L/deps.html ] && [ ! -L L/critical_path.md ] &&"
          " [ ! -L L/merged_swimlane.json ] && [ ! -L L/scope_stats/scope.html ]");
    shell("ln -s \"$PWD/outside\" L/args_dump/npy; ln -s \"$PWD/outside\" L/args_dump/txt");
    refuses("dump L --export npy", "is a link, and may lead out of the recording");
    refuses("dump L --export txt", "is a link, and may lead out of the recording");
    shell("rm L/args_dump/txt; mkdir L/args_dump/txt; "
          "for i in $('" TL_TEST_BINARY_DIR "/tasklens' dump R --export txt | tail -n 1 | xargs ls); do"
          " ln -s \"$PWD/outside/file\" L/args_dump/txt/$i; done");
    expect(0, "dump L --export txt");
    shell("[ \"$(cat outside/file)\" = precious ] && [ \"$(ls outside)\" = file ]");
}

/* In place of any file of a recording there may be something that never ends, or never begins. */
static void what_is_no_file_is_not_waited_for(void **state)
{
    static const char *const words[] = {"dump F",  "swimlane F",      "deps F",          "pmu F",    "scope F",
                                        "sched F", "critical-path F", "dump F --verify", "recover F"};
    char command[1200];

    (void)state;
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        shell("rm -rf F; cp -r R F");
        (void)snprintf(command, sizeof(command), "rm F%s; mkfifo F%s", files[f] + 1, files[f] + 1);
        shell(command);
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            int status;

            (void)snprintf(command, sizeof(command), "cd '%s' && timeout 60 '%s/tasklens' %s >out 2>err </dev/null",
                           fixture_dir, TL_TEST_BINARY_DIR, words[i]);
            status = system(command);
            assert_true(WIFEXITED(status));
            if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2 && WEXITSTATUS(status) != 4)
                fail_msg("%s with a FIFO for %s: exit code %d", words[i], files[f], WEXITSTATUS(status));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_is_not_replaced_by_what_is_made_of_it),
        cmocka_unit_test(a_dash_is_the_standard_output),
        cmocka_unit_test(links_in_a_recording_lead_nowhere),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, record, fixture_teardown);
}
