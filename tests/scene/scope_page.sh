#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of `tasklens scope` in a browser: it draws, and hover, click, zoom, search and sort do what they say.
set -euo pipefail
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 77
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/run/scope_stats"
cp "$source_dir/tests/fuzz/corpus/scope_stats/nested.jsonl" "$work/run/scope_stats/scope_stats.jsonl"
"$1/tasklens" scope "$work/run" -o "$work/page.html" >/dev/null

# The last two lines end body and page; what the script finds goes to the page's end.
head -n -2 "$work/page.html" >"$work/acted.html"
cat >>"$work/acted.html" <<'HTML'
<pre id="found"></pre>
<script>
"use strict";
window.addEventListener("load", function () {
  var found = [], charts = document.querySelectorAll(".catch"), box;
  function say(what) { found.push(what); }
  function all(selector, f) { return [].map.call(document.querySelectorAll(selector), f).join(" "); }
  function text(node) { return node.textContent; }
  function act(node, type, x, more) {
    var o = {bubbles: true, cancelable: true, view: window, clientX: x, clientY: box.top + 60};
    for (var k in more || {})
      o[k] = more[k];
    node.dispatchEvent(type === "wheel" ? new WheelEvent(type, o) : new MouseEvent(type, o));
  }
  function axis() { return [].map.call(document.querySelectorAll(".x")[0].querySelectorAll("text"), text).join(" ").trim(); }
  function tip() { return document.getElementById("tip"); }
  function at(i) { /* where boundary i is drawn in the charts: dots of the tensormap stand at each */
    return box.left + Number(document.querySelectorAll(".chart")[6].querySelectorAll(".dot")[i].getAttribute("cx"));
  }
  try {
    say("charts " + charts.length + " " + all("h2", text).slice(0, 16));
    say("to type " + all("#settings p code", text) + " | " + all("#settings p span", text).trim());
    say("edges " + all(".edge", function (p) { return p.getAttribute("d") ? 1 : 0; }));
    box = charts[3].getBoundingClientRect();
    act(charts[3], "mousemove", at(3));
    say("tip " + tip().style.display + " " + tip().textContent.split("\n").join(" | "));
    act(charts[3], "click", at(3));
    say("marked " + all(".chosen-row", function (row) { return row.firstChild.textContent; }));
    act(charts[3], "mouseleave", at(3));
    say("tip " + tip().style.display);
    act(charts[3], "wheel", at(3), {deltaY: -400});
    say("plain wheel " + axis());
    act(charts[3], "wheel", at(3), {deltaY: -400, ctrlKey: true});
    say("zoomed " + (axis().split(" ").length < 6));
    document.getElementById("all").click();
    say("whole " + axis());
    document.getElementById("full").click();
    say("full " + document.querySelectorAll(".y")[0].textContent);
    document.getElementById("positions").click();
    say("tails " + all(".tail", function (p) { return p.getAttribute("d") ? 1 : 0; }));
    document.getElementById("search").value = ":31";
    document.getElementById("search").dispatchEvent(new Event("input"));
    say("searched " + all("#sites tbody tr", function (row) { return row.firstChild.textContent; }));
    document.getElementById("search").value = "";
    document.getElementById("search").dispatchEvent(new Event("input"));
    document.querySelectorAll("#sites th")[5].click();
    say("by heap " + all("#sites tbody tr", function (row) { return row.children[5].textContent; }));
    document.querySelectorAll("#sites tbody tr")[2].click();
    say("row " + all(".chosen-row", function (row) { return row.firstChild.textContent; }));
  } catch (e) {
    say("failed " + e);
  }
  document.getElementById("found").textContent = found.join("\n");
});
</script>
</body>
</html>
HTML
timeout 100 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size=1400,1200 \
  --virtual-time-budget=8000 --dump-dom "file://$work/acted.html" >"$work/dom" 2>"$work/log" || true
sed -n '/<pre id="found">/,/<\/pre>/p' "$work/dom" | sed -e 's/<pre id="found">//' -e 's/<\/pre>//' -e 's/&gt;/>/g' >"$work/found"
cat >"$work/want" <<'WANT'
charts 7 Ring 0, 2 scopes
to type tasklens run PROGRAM --task-window 4 --heap-bytes 192K --dep-pool 6 | (a flag sets every ring alike)
edges 1 1 1 1 1 1 1
tip block layers/attention.c:44 | ends, depth 2, ring 1, boundary 3 | task window  4 of 16,384, tail 0, head 4 | heap  192K of 256M, tail 0, head 196,608 | dep pool  6 of 65,536, tail 0, head 6 | tensormap  4 entries | the scope itself took 4 slots, 192K of heap, 6 entries of the dep pool
marked layers/attention.c:44
tip none
plain wheel 0 1 2 3 4 5
zoomed true
whole 0 1 2 3 4 5
full 05,00010,00015,000
tails 1 1 1 1 1 1 0
searched layers/attention.c:31
by heap 192K 64K 64K
row layers/attention.c:31
WANT
if [ ! -s "$work/found" ]; then
  tail -5 "$work/log"
  echo "the browser shows nothing"
  exit 1
fi
diff -u "$work/want" "$work/found"

# At each width the page is no wider than the window, and both tables can be reached.
head -n -2 "$work/page.html" >"$work/width.html"
cat >>"$work/width.html" <<'HTML'
<pre id="found"></pre>
<script>
window.addEventListener("load", function () {
  document.getElementById("found").textContent = "no wider " +
    (document.documentElement.scrollWidth <= document.documentElement.clientWidth) + ", keys " +
    [].every.call(document.querySelectorAll("#sites th, #sites tbody tr"), function (e) { return e.tabIndex === 0; });
});
</script>
</body>
</html>
HTML
for width in 400 800 1400; do
  timeout 100 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
    --window-size=$width,900 --virtual-time-budget=8000 --dump-dom "file://$work/width.html" >"$work/dom" 2>"$work/log" || true
  grep -q '>no wider true, keys true<' "$work/dom" || {
    echo "at a width of $width: $(grep -o '>no wider[^<]*' "$work/dom")"
    exit 1
  }
done
