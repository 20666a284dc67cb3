/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages for a browser: one file each that needs nothing beside it, no network either. What they are made of is in
 * src/analysis/web/assets/ and is built in, with d3 version 3 (Debian's libjs-d3).
 *
 * A page NAME is three files there, found by their names alone (cmake/web.cmake takes what it finds):
 *     NAME.html   the content of <body>
 *     NAME.css    after common.css: colours, the frame of a page, the tooltip
 *     NAME.js     after d3.min.js and common.js. `window.tasklens.data` is the data, `tasklens.tip` the tooltip;
 *                 common.js says what else is there
 * and one call:
 *     tl__put_web_page(out, &(struct tl_web_page){.name = "NAME", .title = title, .data = put_data, .ctx = &mine});
 * `put_data(json, ctx)` writes one JSON value. The data is text to the page, never markup, whatever names are in it,
 * as long as NAME.js puts it in place by textContent or d3's .text() and .attr(), never by innerHTML or .html().
 *
 * Threads: any; the assets are constant.
 */
#ifndef TL_ANALYSIS_WEB_H
#define TL_ANALYSIS_WEB_H

#include <stddef.h>

#include "analysis/text/rendering.h"
#include "base/json.h"

struct tl_web_asset {
    const char *name;        /* of the file: "d3.min.js" */
    const char *bytes, *end; /* [bytes, end); a zero byte follows at `end` */
};

/* The asset of that name, static; NULL: there is none. */
const struct tl_web_asset *tl__web_asset(const char *name);

struct tl_web_page {
    const char *name;  /* of its three assets */
    const char *title; /* any text */
    void (*data)(struct tl_json *json, void *ctx);
    void *ctx;
};

/* Writes the whole page. 0; TL_ENOENT: an asset is missing, nothing is written; or the first error of `out` or the
 * JSON writer (TL_ENOMEM, the sink's code), which `out` keeps too. */
int tl__put_web_page(struct tl_rendering *out, const struct tl_web_page *page);
/* Any text between tags or in a quoted attribute: & < > " ' become entities. */
void tl__put_html(struct tl_rendering *out, const char *text);

#endif
