/* SPDX-License-Identifier: Apache-2.0 */
/* What pages are made of: that it is built in, byte for byte, and that no text can leave its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tasklens/error.h>

#include "analysis/web/web.h"

static void assets_are_their_files(void **state)
{
    static const char *const names[] = {"common.css", "common.js", "d3.licence"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct tl_web_asset *asset = tl__web_asset(names[i]);
        char path[600];
        char *file;
        size_t n;
        FILE *f;

        assert_non_null(asset);
        (void)snprintf(path, sizeof(path), "%s/src/analysis/web/assets/%s", TL_TEST_SOURCE_DIR, names[i]);
        f = fopen(path, "rb");
        assert_non_null(f);
        file = malloc(1 << 20);
        assert_non_null(file);
        n = fread(file, 1, 1 << 20, f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal((size_t)(asset->end - asset->bytes), n);
        assert_memory_equal(asset->bytes, file, n);
        assert_int_equal(*asset->end, 0);
        free(file);
    }
    assert_null(tl__web_asset("nothing.js"));
    assert_null(tl__web_asset(""));
}

/* Version 3, whose names the scripts use, and nothing in it that would end its element. */
static void d3_is_the_third(void **state)
{
    const struct tl_web_asset *d3 = tl__web_asset("d3.min.js");

    (void)state;
    assert_non_null(d3);
    assert_true(d3->end - d3->bytes > 100000);
    assert_non_null(strstr(d3->bytes, "version:\"3."));
    assert_null(strstr(d3->bytes, "</script"));
}

static void html_is_escaped(void **state)
{
    struct tl_rendering out;

    (void)state;
    tl__rendering_init(&out, NULL, NULL);
    tl__put_html(&out, "<a href='x'>&amp;\"plain\"");
    tl__put_html(&out, "");
    tl__put_html(&out, "plain");
    tl__put(&out, "", 1);
    assert_int_equal(tl__rendering_end(&out), 0);
    assert_string_equal(out.data, "&lt;a href=&#39;x&#39;&gt;&amp;amp;&quot;plain&quot;plain");
    tl__rendering_fini(&out);
}

static void no_data(struct tl_json *json, void *ctx)
{
    (void)ctx;
    tl__json_null(json);
}

static void a_page_that_is_not_there(void **state)
{
    struct tl_rendering out;

    (void)state;
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(tl__put_web_page(&out, &(struct tl_web_page){.name = "none", .title = "x", .data = no_data}),
                     TL_ENOENT);
    assert_int_equal(out.used, 0);
    assert_int_equal(tl__rendering_end(&out), 0);
    tl__rendering_fini(&out);
}

static void hostile_data(struct tl_json *json, void *ctx)
{
    tl__json_string(json, ctx);
}

/* Between the tag that begins the data and the one that ends it there is no other. */
static void data_stays_in_its_element(void **state)
{
    static char text[] = "</script><script>x()</script><!-- <script>";
    struct tl_rendering out;
    char *data, *end;

    (void)state;
    tl__rendering_init(&out, NULL, NULL);
    assert_int_equal(
        tl__put_web_page(
            &out, &(struct tl_web_page){.name = "deps", .title = "</title><b>", .data = hostile_data, .ctx = text}),
        0);
    tl__put(&out, "", 1);
    assert_non_null(strstr(out.data, "<title>&lt;/title&gt;&lt;b&gt;</title>"));
    data = strstr(out.data, "<script id=\"data\" type=\"application/json\">\n");
    assert_non_null(data);
    data = strchr(data, '\n') + 1;
    end = strchr(data, '<');
    assert_non_null(end);
    assert_int_equal(strncmp(end, "</script>\n<script>\n/*\nd3 version 3", 34), 0);
    *end = 0;
    assert_string_equal(data, "\"\\u003c/script>\\u003cscript>x()\\u003c/script>\\u003c!-- \\u003cscript>\"\n");
    tl__rendering_fini(&out);
}

static int full(void *ctx, const void *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return TL_ENOSPC;
}

static void a_page_on_a_full_disk_is_an_error(void **state)
{
    struct tl_rendering out;

    (void)state;
    tl__rendering_init(&out, full, NULL);
    assert_int_equal(tl__put_web_page(&out, &(struct tl_web_page){.name = "deps", .title = "x", .data = no_data}),
                     TL_ENOSPC);
    assert_int_equal(tl__rendering_end(&out), TL_ENOSPC);
    tl__rendering_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assets_are_their_files),    cmocka_unit_test(d3_is_the_third),
        cmocka_unit_test(html_is_escaped),           cmocka_unit_test(a_page_that_is_not_there),
        cmocka_unit_test(data_stays_in_its_element), cmocka_unit_test(a_page_on_a_full_disk_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
