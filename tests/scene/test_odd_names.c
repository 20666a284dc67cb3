/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, cases and tensors that hold what a terminal, a page or a file system would obey: in everything that
 * the commands write they are shown and do nothing, and two of them stay two.
 */
#include "scene/cli.h"

#include <stdbool.h>

#include "base/safe_text.h"

/* Two names that begin with the same 300 bytes, whole characters of three. */
static const char program[] =
    "#include <string.h>\n"
    "#include <tasklens/program.h>\n"
    "#define TEN(c) c c c c c c c c c c\n"
    "#define LONG TEN(TEN(\"\\u6ce8\"))\n"
    "static void nop(const struct tl_kernel_args *k)\n"
    "{ *TL_DATA(k, 1, float) = *TL_DATA(k, 0, const float) + 1; }\n"
    "#define K(i, n) TL_KERNEL(i, n, TL_AIV, nop, TL_IN, TL_OUT)\n"
    "static const struct tl_kernel kernels[] = {K(0, \"line\\nbreak\"), K(1, \"\\x1b[31mred\\a\"),\n"
    "    K(2, \"</title><script>alert(1)</script>|x\"), K(3, \"\\xff bad\"), K(4, \"\\xfe bad\"),\n"
    "    K(5, \"\\xe2\\x80\\xaertl\\xc2\\x9b\"), K(6, LONG \"a\"), K(7, LONG \"b\"), K(8, \"q\\\"];evil[x\")};\n"
    "static void orch(struct tl_orch *o, const struct tl_program_args *in)\n"
    "{\n"
    "    struct tl_tensor prev = in->tensors[0];\n"
    "    const uint32_t one = 1;\n"
    "    TL_SCOPE(o) { for (int i = 0; i < 9; i++) {\n"
    "        struct tl_task_args a = TL_TASK_ARGS_INIT;\n"
    "        struct tl_tensor t = tl_tensor_make(TL_FLOAT32, 1, &one);\n"
    "        tl_add_input(&a, &prev); tl_add_output(&a, i < 8 ? &t : &in->tensors[1]); tl_submit_aiv(o, i, &a); prev = "
    "t;\n"
    "    } }\n"
    "}\n"
    "static const struct tl_case cases[] = {{.name = \"default\"}, {.name = \"../../up\\x1b\\nx\"}};\n"
    "static int prepare(struct tl_data *d)\n"
    "{ const uint32_t one = 1; tl_data_tensor(d, \"in\", TL_IN, TL_FLOAT32, 1, &one);\n"
    "  return tl_data_tensor(d, \"out\\x1b\", TL_OUT, TL_FLOAT32, 1, &one) ? 0 : TL_ENOMEM; }\n"
    "TL_PROGRAM(.name = \"odd \\x1b\", .summary = \"s\", .kernels = kernels, .n_kernels = 9, .cases = cases, .n_cases "
    "= 2,\n"
    "           .orchestrate = orch, .prepare = prepare);\n";

#define RECORD "--dump-args 2 --enable-chip-swimlane 4 --enable-dep-gen --enable-pmu --enable-scope-stats"

static void expect_printable(const char *text, const char *of)
{
    size_t bytes = strlen(text);

    for (size_t at = 0, step; at < bytes; at += step) {
        step = text[at] == '\n' ? 1 : tl__printable_bytes(text + at, bytes - at);
        if (step == 0)
            fail_msg("%s: byte %02x at %zu: %.80s", of, (unsigned char)text[at], at, text + at);
    }
}

static void expect_safe_file(const char *name)
{
    char *text = fixture_read(name, NULL);

    expect_printable(text, name);
    free(text);
}

static void says(const char *words)
{
    expect(0, words);
    expect_printable(output, words);
    expect_printable(message, words);
}

static void record(void)
{
    static bool done;

    if (!done)
        fixture_write_text("odd.c", program);
    says(done ? "--version" : "run odd.c --out rec " RECORD);
    done = true;
}

static void what_the_run_says(void **state)
{
    (void)state;
    fixture_write_text("odd.c", program);
    says("run odd.c --case list");
    assert_non_null(strstr(output, "../../up\\x1b\\nx"));
    says("run odd.c --case \"$(printf '../../up\\033\\nx')\" " RECORD);
    assert_non_null(strstr(output, "odd \\x1b, case ../../up\\x1b\\nx, on"));
    assert_non_null(strstr(output, "\noutputs/odd%20%1b_%2e.%2f..%2fup%1b%0ax_"));
    assert_non_null(strstr(output, "  out\\x1b "));
}

static void viewers_show_odd_names_safely(void **state)
{
    static const char *const texts[] = {"dump",  "dump rec -i 2",    "dump rec --verify",
                                        "deps",  "deps rec -t r0t3", "deps rec -t r0t0 --down 9",
                                        "pmu",   "critical-path",    "sched",
                                        "scope", "swimlane"};
    static const char *const shown[] = {"line\\nbreak", "\\x1b[31mred\\x07",
                                        "\xef\xbf\xbd"
                                        "ff bad",
                                        "\xef\xbf\xbd"
                                        "fe bad",
                                        "\\u202ertl\\u009b"};
    char words[100];

    (void)state;
    record();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(words, sizeof(words), "%s%s", texts[i], strchr(texts[i], ' ') != NULL ? "" : " rec");
        says(words);
        if (i == 0 || i == 3 || i == 5 || i == 6)
            for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++)
                if (strstr(output, shown[k]) == NULL)
                    fail_msg("%s: no %s in %s", words, shown[k], output);
    }
    expect_safe_file("rec/critical_path.md");
}

/* JSON holds the names themselves, escaped by its own rules. */
static void what_viewers_write_for_machines(void **state)
{
    static const char *const commands[] = {"dump", "deps", "pmu", "critical-path", "sched", "scope", "swimlane"};
    char words[100];
    char *trace;

    (void)state;
    record();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        (void)snprintf(words, sizeof(words), "%s rec --json", commands[i]);
        says(words);
        if (i == 1 || i == 2) {
            assert_non_null(strstr(output, "\"line\\nbreak\""));
            assert_non_null(strstr(output, "\"\\u001b[31mred\\u0007\""));
            assert_non_null(strstr(output, "\"\xef\xbf\xbd"
                                           "ff bad\""));
            assert_non_null(strstr(output, "\"\xef\xbf\xbd"
                                           "fe bad\""));
            assert_non_null(strstr(output, "\"\\u202ertl\\u009b\""));
        }
    }
    trace = fixture_read("rec/merged_swimlane.json", NULL);
    expect_printable(trace, "trace");
    assert_non_null(strstr(trace, "注注a(r0t6)\""));
    assert_non_null(strstr(trace, "注注b(r0t7)\""));
    free(trace);
}

static void what_pages_and_drawings_hold(void **state)
{
    char *page;

    (void)state;
    record();
    says("deps rec --format dot -o g.dot");
    page = fixture_read("g.dot", NULL);
    expect_printable(page, "g.dot");
    assert_non_null(strstr(page, "q\\\"];evil[x\""));
    assert_non_null(strstr(page, "\\\\x1b[31mred"));
    free(page);
    says("deps rec --format html -o g.html");
    page = fixture_read("g.html", NULL);
    expect_printable(page, "g.html");
    assert_null(strstr(page, "<script>alert"));
    free(page);
    page = fixture_read("rec/critical_path.md", NULL);
    assert_null(strstr(page, "<script>"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(1)&lt;/script&gt;\\|x"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_run_says),
        cmocka_unit_test(viewers_show_odd_names_safely),
        cmocka_unit_test(what_viewers_write_for_machines),
        cmocka_unit_test(what_pages_and_drawings_hold),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
