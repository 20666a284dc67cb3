/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/web/web.h"

#include <stdio.h>
#include <string.h>

#include <tasklens/error.h>

#include "analysis/web/web_table.h"

const struct tl_web_asset *tl__web_asset(const char *name)
{
    for (unsigned i = 0; i < tl__web_asset_count; i++)
        if (strcmp(tl__web_assets[i].name, name) == 0)
            return &tl__web_assets[i];
    return NULL;
}

void tl__put_html(struct tl_rendering *out, const char *text)
{
    tl__put_safe(out, TL_SAFE_HTML, text, strlen(text));
}

/* JSON inside a page: '<' occurs only in strings there, and escaped it can neither close the element nor open a
 * comment. */
static int put_json(void *ctx, const void *data, size_t bytes)
{
    struct tl_rendering *out = ctx;
    const char *at = data, *end = at + bytes;

    while (at < end) {
        const char *bracket = memchr(at, '<', (size_t)(end - at));
        const char *stop = bracket != NULL ? bracket : end;

        tl__put(out, at, (size_t)(stop - at));
        if (bracket == NULL)
            break;
        tl__put_str(out, "\\u003c");
        at = bracket + 1;
    }
    return out->error;
}

/* What a page is made of, in its order. */
enum part { COMMON_CSS, OWN_CSS, BODY, LICENCE, D3, COMMON_JS, OWN_JS, PARTS };

static int find_parts(const char *name, const struct tl_web_asset *ret_parts[PARTS])
{
    static const struct {
        const char *name; /* NULL: the page's own, with this ending */
        const char *ending;
    } wanted[PARTS] = {
        [COMMON_CSS] = {"common.css", NULL},
        [OWN_CSS] = {NULL, ".css"},
        [BODY] = {NULL, ".html"},
        [LICENCE] = {"d3.licence", NULL},
        [D3] = {"d3.min.js", NULL},
        [COMMON_JS] = {"common.js", NULL},
        [OWN_JS] = {NULL, ".js"},
    };

    for (int i = 0; i < PARTS; i++) {
        char own[80];

        (void)snprintf(own, sizeof(own), "%s%s", name, wanted[i].name == NULL ? wanted[i].ending : "");
        ret_parts[i] = tl__web_asset(wanted[i].name != NULL ? wanted[i].name : own);
        if (ret_parts[i] == NULL)
            return TL_ENOENT;
    }
    return 0;
}

static void put_part(struct tl_rendering *out, const struct tl_web_asset *asset)
{
    tl__put(out, asset->bytes, (size_t)(asset->end - asset->bytes));
}

static void put_head(struct tl_rendering *out, const char *title, const struct tl_web_asset *const parts[PARTS])
{
    tl__put_str(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     /* Nothing is fetched, whatever the data says. */
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    tl__put_html(out, title);
    tl__put_str(out, "</title>\n<style>\n");
    put_part(out, parts[COMMON_CSS]);
    put_part(out, parts[OWN_CSS]);
    tl__put_str(out, "</style>\n</head>\n<body>\n");
}

int tl__put_web_page(struct tl_rendering *out, const struct tl_web_page *page)
{
    const struct tl_web_asset *parts[PARTS];
    struct tl_json json;
    int code = find_parts(page->name, parts);

    if (code < 0)
        return code;
    put_head(out, page->title, parts);
    put_part(out, parts[BODY]);
    tl__put_str(out, "<script id=\"data\" type=\"application/json\">\n");
    tl__json_init(&json, put_json, out);
    page->data(&json, page->ctx);
    code = tl__json_finish(&json);
    if (code < 0 && out->error == 0)
        out->error = code;
    tl__put_str(out, "\n</script>\n<script>\n/*\n");
    put_part(out, parts[LICENCE]);
    tl__put_str(out, "*/\n");
    put_part(out, parts[D3]);
    tl__put_str(out, "\n</script>\n<script>\n");
    put_part(out, parts[COMMON_JS]);
    put_part(out, parts[OWN_JS]);
    tl__put_str(out, "</script>\n</body>\n</html>\n");
    return out->error;
}
