/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `tasklens deps` in a browser: found by search, hovered over, clicked on, and safe for any name. Skipped
 * where there is no chromium. A script is put into a copy of the page; what it notes is read from the page it leaves.
 */
#include "scene/cli.h"
#include "scene/deps_recording.h"

/* Notes "key: value" lines; waits for what an animation brings. `ask(fn)` asks until the answer is not empty. */
static const char *const tools =
    "const notes = [], note = (key, value) => notes.push(key + ': ' + value);\n"
    "const by = id => document.getElementById(id), text = node => node.innerText.replace(/\\s+/g, ' ');\n"
    "const rest = ms => new Promise(done => setTimeout(done, ms));\n"
    "async function ask(fn) { for (let i = 0; i < 60; i++) { const a = fn(); if (a) return a; await rest(100); }\n"
    "  return 'nothing'; }\n"
    "const box = by('canvas').getBoundingClientRect();\n"
    "const middle = [box.left + box.width / 2, box.top + box.height / 2];\n"
    "const mouse = (type, at) => by('canvas').dispatchEvent(\n"
    "  new MouseEvent(type, { clientX: at[0], clientY: at[1], bubbles: true, view: window }));\n"
    "const tip = at => { mouse('mousemove', at); return by('tip').style.display === 'block' ? text(by('tip')) : ''; "
    "};\n"
    "const find = words => { by('query').value = words; by('query').dispatchEvent(new Event('input')); };\n"
    "const next = () => by('search').requestSubmit();\n"
    "const title = () => document.querySelector('#panel h1').firstChild.textContent;\n"
    "window.addEventListener('error', event => note('error', event.message));\n";

/* Before the page's own script. A browser without a window draws a frame when it likes to, while time goes on as fast
 * as timers are due: frames come by timers, too, and with each a look at sizes, so that it is always the same. */
static const char *const frames =
    "<script>\n"
    "window.requestAnimationFrame = fn => setTimeout(() => fn(performance.now()), 16);\n"
    "window.cancelAnimationFrame = clearTimeout;\n"
    "window.ResizeObserver = class { constructor(fn) { this.fn = fn; } observe() { setInterval(this.fn, 16); } };\n"
    "</script>\n";

static char *notes; /* of the last page */
static int window_width = 1400;

/* Opens a copy of the page with the script in it; fails if the script does not come to its end. */
static void visit(const char *page, const char *address, const char *script)
{
    char command[1500];
    char *html = fixture_read(page, NULL), *head = strstr(html, "<head>"), *end = strstr(html, "</body>"), *begin;
    FILE *f = fopen(fixture_path("visit.html"), "wb");

    assert_non_null(f);
    assert_non_null(head);
    assert_non_null(end);
    head += strlen("<head>");
    assert_true(fprintf(f,
                        "%.*s%s%.*s<script>\n%s(async () => {\n%s\nconst pre = document.createElement('pre');\n"
                        "pre.textContent = 'NOTES\\n' + notes.join('\\n') + '\\nEND';\ndocument.body.append(pre); })();"
                        "\n</script>\n%s",
                        (int)(head - html), html, frames, (int)(end - head), head, tools, script, end) > 0);
    assert_int_equal(fclose(f), 0);
    free(html);
    (void)snprintf(command, sizeof(command),
                   "timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir='%s/profile' "
                   "--window-size=%d,900 --virtual-time-budget=20000 --dump-dom 'file://%s/visit.html%s' >'%s/dom' "
                   "2>'%s/said'",
                   fixture_dir, window_width, fixture_dir, address, fixture_dir, fixture_dir);
    assert_int_equal(system(command), 0);
    free(notes);
    notes = fixture_read("dom", NULL);
    begin = strstr(notes, "<pre>NOTES\n");
    if (begin == NULL || strstr(begin, "\nEND</pre>") == NULL)
        fail_msg("%s: the script did not come to its end: %.2000s", page, begin != NULL ? begin : "no notes");
    memmove(notes, begin + strlen("<pre>NOTES"), strlen(begin + strlen("<pre>NOTES")) + 1);
}

/* A line of the notes. */
static void noted(const char *line)
{
    char want[1200];

    (void)snprintf(want, sizeof(want), "\n%s\n", line);
    if (strstr(notes, want) == NULL)
        fail_msg("no \"%s\" in: %s", line, notes);
}

static void page_of(const char *words)
{
    expect(0, words);
    assert_string_equal(message, "");
    assert_non_null(strstr(output, "laid out by dot in "));
}

static void a_page_of_two_thousand_tasks_works(void **state)
{
    (void)state;
    fixture_grid("grid", 2000, 40);
    expect(0, "deps grid --format html --engine dot");
    assert_non_null(strstr(output, "all 2,000 tasks with 3920 edges, laid out by dot in "));
    assert_non_null(strstr(output, "\ngrid/deps.html\n"));
    visit("grid/deps.html", "",
          "note('about', text(by('about'))); note('start', title()); note('legend', text(by('legend')));\n"
          "find('matmul'); note('kernel', text(by('found')));\n"
          "find('r0t1025'); note('task', text(by('found'))); next(); note('step', text(by('found')));\n"
          "note('tip', await ask(() => tip(middle))); note('panel', text(by('panel')));\n"
          "mouse('click', [box.left + 2, box.top + 2]); note('released', title());\n"
          "mouse('click', middle); note('click', title() + ' ' + location.hash);\n"
          "document.querySelector('#panel a').click(); note('link', title());\n"
          "note('moved', await ask(() => { const t = tip(middle); return t.startsWith('r0t984 ') ? t : ''; }));\n"
          "find('nothing at all'); note('none', text(by('found')));\n"
          "window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); note('escape', title());");
    noted("about: all 2,000 tasks, 3,920 edges, laid out by dot");
    noted("start: all 2,000 tasks");
    noted("legend: kernels load_block 680 matmul_accumulate 680 store 640 edges by source tensormap");
    noted("kernel: 680 tasks");
    noted("task: 1 task");
    noted("step: 1 of 1 task");
    noted("tip: r0t1025 matmul_accumulate level 25, 1 block fed by 2 tasks, feeds 2 tasks");
    noted(
        "panel: r0t1025 × aiv0 matmul_accumulate level 25 of 0 to 49, auto scope, 1 block arguments type buffer and "
        "slice 0 OUTPUT_EXISTING 0x7f0010000000 float32 [8, 8] offset 65600 1 INPUT 0x7f0010000000 float32 [8, 8] "
        "offset 63040 fed by 2 tasks r0t984 load_block tensormap, flags: wait, argument 1 buffer 0x7f0010000000, read "
        "float32 [8, 8] offset 62976 written the same slice, overlap: covered r0t985 load_block tensormap, flags: "
        "wait, argument 0 buffer 0x7f0010000000, read float32 [8, 8] offset 63040 written the same slice, overlap: "
        "covered feeds 2 tasks r0t1065 store tensormap, flags: wait, argument 0 buffer 0x7f0010000000, read float32 "
        "[8, 8] offset 65600 written the same slice, overlap: covered r0t1066 store tensormap, flags: wait, argument "
        "1 buffer 0x7f0010000000, read float32 [8, 8] offset 65600 written the same slice, overlap: covered");
    noted("released: all 2,000 tasks");
    noted("click: r0t1025 #r0t1025");
    noted("link: r0t984");
    noted("moved: r0t984 load_block level 24, 1 block fed by 2 tasks, feeds 2 tasks");
    noted("none: nothing found");
    noted("escape: all 2,000 tasks");
    assert_null(strstr(notes, "\nerror: "));
}

/* Every source, a mix, a scope, edges by click; opened at a task. */
static void sources_mixes_scopes_and_edges_are_shown(void **state)
{
    (void)state;
    fixture_deps("run");
    page_of("deps run --format html -o every.html");
    visit("every.html", "#r1t0",
          "note('opened', title()); note('panel', text(by('panel')));\n"
          "note('legend', text(by('legend')));\n"
          "let at = null; for (let y = middle[1] + 20; y < middle[1] + 60 && !at; y++) {\n"
          "  const t = tip([middle[0], y]); if (t.includes(' feeds r1t1')) at = [middle[0], y]; }\n"
          "note('edge tip', at ? tip(at) : 'nothing'); mouse('click', at || middle); note('edge', text(by('panel')));");
    noted("opened: r1t0");
    noted("panel: r1t0 × aic MATMUL, aiv0 a\"b&lt;c&gt;\\d&amp;'e, aiv1 add\\tand\\nmore level 2 of 0 to 3, manual "
          "scope, 1 "
          "block arguments type buffer and slice 0 INOUT 0x7f0020000400 v1 float32 [4, 16] 1 NO_DEP 0x7f0010000000 "
          "float32 [8, 16] fed by 2 tasks r0t1 add\\tand\\nmore creator, flags: wait retain, argument 0 buffer "
          "0x7f0020000400 v1, read float32 [4, 16] explicit, flags: retain r0t2 add\\tand\\nmore explicit, flags: wait "
          "feeds 1 task r1t1 func_7 tensormap, flags not said, argument 0 buffer 0x7f0020000400 v1, read float32 [4, "
          "16] written the same slice, overlap: other");
    noted("legend: kernels no kernel 1 add\\tand\\nmore (aiv0) 1 add\\tand\\nmore (aiv0, aiv1) 1 "
          "MATMUL+a\"b&lt;c&gt;\\d&amp;'e+add\\tand\\nmore 1 func_7 1 edges by source explicit tensormap several");
    noted("edge tip: r1t0 feeds r1t1, 1 edge tensormap, flags not said, argument 0 buffer 0x7f0020000400 v1, read "
          "float32 [4, 16] written the same slice, overlap: other");
    noted("edge: 1 edge × r1t0 MATMUL+a\"b&lt;c&gt;\\d&amp;'e+add\\tand\\nmore feeds r1t1 func_7 tensormap, flags not "
          "said, "
          "argument 0 buffer 0x7f0020000400 v1, read float32 [4, 16] written the same slice, overlap: other");
    assert_null(strstr(notes, "\nerror: "));
}

/* Names that would be markup, or end the script that holds the data, are shown and do nothing. */
static void hostile_names_are_shown_and_do_nothing(void **state)
{
    const char *const names[] = {"</script><script>window.caught = 1</script><!--",
                                 "<img src=x onerror=\"window.caught = 2\">", "]]>&amp;\\\"'`${7*7}\xff"};
    char *html;

    (void)state;
    fixture_deps("hostile");
    fixture_save_names("hostile", names, 3);
    page_of("deps hostile --format html");
    html = fixture_read("hostile/deps.html", NULL);
    assert_null(strstr(html, "window.caught = 1</script>"));
    assert_null(strstr(html, "<img"));
    free(html);
    visit("hostile/deps.html", "#r1t0",
          "note('caught', String(window.caught)); note('panel', text(by('panel')).slice(0, 200));\n"
          "note('tip', await ask(() => tip(middle))); note('images', document.images.length);");
    noted("caught: undefined");
    noted("images: 0");
    assert_non_null(strstr(notes, "panel: r1t0 × aic &lt;/script&gt;&lt;script&gt;window.caught = 1&lt;/script&gt;"));
    assert_null(strstr(notes, "\nerror: "));
}

/* Where the page has drawn each task's name, as it passed it to the canvas; `settled` waits until that does not
 * change. */
static const char *const drawing =
    "const drawn = new Map(), paint = by('canvas').getContext('2d');\n"
    "const write = paint.fillText.bind(paint), turn = paint.setTransform.bind(paint);\n"
    "paint.setTransform = (a, b, c, d, e, f) => { if (e === 0 && f === 0) drawn.clear(); turn(a, b, c, d, e, f); };\n"
    "paint.fillText = (name, x, y) => { const m = paint.getTransform();\n"
    "  drawn.set(name, [m.a * x + m.e, m.d * (y + 8) + m.f]); write(name, x, y); };\n"
    "const place = name => { const c = by('canvas'), r = c.getBoundingClientRect(), at = drawn.get(name);\n"
    "  return at ? [r.left + at[0] * r.width / c.width, r.top + at[1] * r.height / c.height] : null; };\n"
    "async function settled(name) { let last = 'null', now; for (let i = 0; i < 60; i++) {\n"
    "  await rest(100); now = JSON.stringify(place(name)); if (now === last && now !== 'null') return place(name);\n"
    "  last = now; } return [0, 0]; }\n"
    "const shown = at => { const r = by('canvas').getBoundingClientRect();\n"
    "  return at[0] > r.left && at[0] < r.right && at[1] > r.top && at[1] < r.bottom; };\n"
    "const tasks = () => [...drawn.keys()].filter(name => /^r0t[0-9]+$/.test(name) && shown(place(name)));\n";

/* The canvas is drawn as large as it is shown, also after the panel has changed; the mouse meets the tasks where they
 * are drawn; nothing is outside the window, however long the path. */
static void a_narrow_window_shows_everything(void **state)
{
    char name[230], words[300], page[300], script[4000];

    (void)state;
    memset(name, 'p', sizeof(name));
    name[sizeof(name) - 1] = 0;
    fixture_grid(name, 40, 4);
    (void)snprintf(words, sizeof(words), "deps %s --format html", name);
    (void)snprintf(page, sizeof(page), "%s/deps.html", name);
    expect(0, words);
    for (window_width = 400; window_width <= 1400; window_width += 400 + window_width / 800 * 200) {
        (void)snprintf(
            script, sizeof(script), "%s%s", drawing,
            "await rest(300);\n"
            "const same = () => by('canvas').width === by('canvas').clientWidth && by('canvas').height === "
            "by('canvas').clientHeight;\n"
            "const inside = node => { const r = node.getBoundingClientRect(); return r.left >= 0 && r.right <= "
            "innerWidth && r.top >= 0 && r.bottom <= innerHeight; };\n"
            "note('size', same());\n"
            "find('r0t21'); next(); await rest(900);\n"
            "note('selected', title() + ' ' + same());\n"
            "window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); await rest(300);\n"
            "note('released', title().slice(0, 3) + ' ' + same());\n"
            "const at = await settled('r0t21'), seen = tasks();\n"
            "note('tip', tip(at));\n"
            "note('met', seen.length > 1 && seen.every(one => tip(place(one)).startsWith(one + ' ')));\n"
            "mouse('click', at); note('clicked', title() + ' ' + location.hash);\n"
            "note('drawn', tip(await settled('r0t21')).slice(0, 6) + same());\n"
            "note('buttons', ['query', 'previous', 'next', 'fit'].every(id => inside(by(id))));\n"
            "note('no wider', document.documentElement.scrollWidth <= innerWidth);");
        visit(page, "", script);
        noted("size: true");
        noted("selected: r0t21 true");
        noted("released: all true");
        noted("tip: r0t21 store level 5, 1 block fed by 2 tasks, feeds 2 tasks");
        noted("met: true");
        noted("clicked: r0t21 #r0t21");
        noted("drawn: r0t21 true");
        noted("buttons: true");
        noted("no wider: true");
        assert_null(strstr(notes, "\nerror: "));
    }
    window_width = 1400;
}

/* A graph without order, and a part of one: nothing on them may fail. */
static void odd_graphs_are_drawn(void **state)
{
    struct tl_deps_task list[] = {{.task_id = 0, .kernel_ids = {0, -1, -1}, .block_num = 1},
                                  {.task_id = 1, .kernel_ids = {0, -1, -1}, .block_num = 1}};
    struct tl_deps_edge edges[202] = {{.pred = 1, .arg = -1}, {.pred = 1, .succ = 1, .arg = -1}};

    (void)state;
    for (int i = 2; i < 202; i++)
        edges[i] = (struct tl_deps_edge){.succ = 1, .arg = -1};
    fixture_save_deps("circle", &(struct tl_deps){.tasks = list, .edges = edges, .n_tasks = 2, .n_edges = 202});
    expect(0, "deps circle --format html --engine sfdp");
    visit("circle/deps.html", "#r0t1", "note('panel', text(by('panel')).slice(0, 90)); next();");
    noted("panel: r0t1 × aic func_0 on a cycle or behind one: it could never start, auto scope, 1 block argu");
    assert_non_null(strstr(message, "wait in a cycle"));
    assert_null(strstr(notes, "\nerror: "));
}

static int has_chromium(void)
{
    return system("command -v chromium >/dev/null 2>&1 && command -v dot >/dev/null 2>&1") == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_page_of_two_thousand_tasks_works),
                                       cmocka_unit_test(sources_mixes_scopes_and_edges_are_shown),
                                       cmocka_unit_test(hostile_names_are_shown_and_do_nothing),
                                       cmocka_unit_test(odd_graphs_are_drawn),
                                       cmocka_unit_test(a_narrow_window_shows_everything)};

    if (!has_chromium())
        return 77;
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
