/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `tasklens deps --format html`. The graph is drawn on a canvas, so that tens of thousands of tasks can be
 * moved about; d3 pans and zooms it and finds what is under the mouse. The data is described in deps_html.c. Its texts
 * reach the page by .text() and fillText() alone.
 */
"use strict";
(function () {
  const data = tasklens.data, words = data.words, tip = tasklens.tip, plural = tasklens.plural;
  const SOURCES = ["explicit", "creator", "tensormap", "several"];
  const LISTED = 150; // neighbours in the panel

  /* ---- the data, with names ---- */

  const CORES = ["aic", "aiv0", "aiv1"];
  const shortNames = data.kinds.map(kind => {
    const names = kind.filter((name, i) => name !== null && kind.indexOf(name) === i);
    return names.length > 0 ? names.join("+") : "no kernel";
  });
  /* The same kernels on other cores are another kind: in the legend the cores tell them apart. */
  const kindNames = shortNames.map((name, i) => shortNames.indexOf(name) === shortNames.lastIndexOf(name) ? name :
    name + " (" + CORES.filter((core, k) => data.kinds[i][k] !== null).join(", ") + ")");
  const tasks = data.tasks.map((row, i) => ({
    index: i, name: row[0], kind: row[1], level: row[2], manual: row[3], early: row[4], blocks: row[5],
    producers: row[6], consumers: row[7], x: row[8], y: row[9], width: row[10], height: row[11], args: row[12],
    kernels: shortNames[row[1]], into: [], from: []
  }));
  const pairs = data.pairs.map(row => {
    const pair = { pred: tasks[row[0]], succ: tasks[row[1]], line: row[2], edges: row[3], count: row[4] };
    const source = pair.edges[0][1];

    pair.style = pair.edges.every(edge => edge[1] === source) ? source : 3;
    if (pair.line.length < 4)
      pair.line = straight(pair.pred, pair.succ);
    pair.box = boundsOf(pair.line);
    pair.pred.from.push(pair);
    pair.succ.into.push(pair);
    return pair;
  });
  const halfWidth = d3.max(tasks, t => t.width) / 2, halfHeight = d3.max(tasks, t => t.height) / 2;
  const tree = d3.geom.quadtree().x(t => t.x).y(t => t.y)(tasks);

  /* From the middle of one box, which lies over the line, to where an arrow of 9 points ends at the other. */
  function straight(from, to) {
    const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1;
    const inside = Math.min(to.width / 2 / (Math.abs(dx) || 1e-9), to.height / 2 / (Math.abs(dy) || 1e-9));
    const part = Math.max(0.05, 1 - inside - 9 / length);

    return [from.x, from.y, from.x + dx * part, from.y + dy * part];
  }

  function boundsOf(line) {
    const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };

    for (let i = 0; i < line.length; i += 2) {
      box.left = Math.min(box.left, line[i]);
      box.right = Math.max(box.right, line[i]);
      box.top = Math.min(box.top, line[i + 1]);
      box.bottom = Math.max(box.bottom, line[i + 1]);
    }
    return box;
  }

  /* ---- state ---- */

  const state = { task: null, pair: null, overTask: null, overPair: null, found: [], foundSet: new Set(), at: -1 };

  /* ---- drawing ---- */

  const canvas = d3.select("#canvas"), element = canvas.node(), paint = element.getContext("2d");
  const zoom = d3.behavior.zoom().on("zoom", redraw);
  let width = 0, height = 0, due = false, colours = {};

  function readColours() {
    const style = getComputedStyle(document.documentElement);

    for (const name of ["ground", "text", "faint", "mark", "up", "down"].concat(SOURCES))
      colours[name] = style.getPropertyValue("--" + name).trim();
  }

  function redraw() {
    if (due)
      return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      draw();
    });
  }

  /* The canvas is as large as the panel beside it leaves it: its size changes with the window, and with the panel. The
   * middle of what is seen stays where it is. */
  function resize() {
    const ratio = window.devicePixelRatio || 1, [x, y] = zoom.translate();

    if (width > 0 && height > 0)
      zoom.translate([x + (element.clientWidth - width) / 2, y + (element.clientHeight - height) / 2]);
    width = element.clientWidth;
    height = element.clientHeight;
    element.width = width * ratio;
    element.height = height * ratio;
    zoom.size([width, height]);
    redraw();
  }

  /* What of the graph can be seen, in its own points. */
  function visible() {
    const [x, y] = zoom.translate(), k = zoom.scale();

    return { left: -x / k, top: -y / k, right: (width - x) / k, bottom: (height - y) / k };
  }

  function meets(box, view) {
    return box.left <= view.right && box.right >= view.left && box.top <= view.bottom && box.bottom >= view.top;
  }

  function trace(pair) {
    const line = pair.line;

    paint.moveTo(line[0], line[1]);
    if (line.length % 6 === 2)
      for (let i = 2; i + 5 < line.length; i += 6)
        paint.bezierCurveTo(line[i], line[i + 1], line[i + 2], line[i + 3], line[i + 4], line[i + 5]);
    else
      paint.lineTo(line[2], line[3]);
  }

  function arrow(pair) {
    const line = pair.line, n = line.length, x = line[n - 2], y = line[n - 1];
    let from = n - 4;

    while (from > 0 && line[from] === x && line[from + 1] === y)
      from -= 2;
    const angle = Math.atan2(y - line[from + 1], x - line[from]), cos = Math.cos(angle), sin = Math.sin(angle);

    paint.moveTo(x + 9 * cos, y + 9 * sin);
    paint.lineTo(x - 3.5 * sin, y + 3.5 * cos);
    paint.lineTo(x + 3.5 * sin, y - 3.5 * cos);
    paint.closePath();
  }

  /* All of one look with one stroke. */
  function drawPairs(list, colour, dashed, thick, k) {
    if (list.length === 0)
      return;
    paint.strokeStyle = paint.fillStyle = colour;
    paint.lineWidth = Math.max(thick, 0.6 / k);
    paint.setLineDash(dashed ? [6, 4] : []);
    paint.beginPath();
    list.forEach(trace);
    paint.stroke();
    if (k < 0.22)
      return;
    paint.beginPath();
    list.forEach(arrow);
    paint.fill();
  }

  function drawTask(task, k) {
    const left = task.x - task.width / 2, top = task.y - task.height / 2, colour = tasklens.colour(task.kind);

    paint.fillStyle = colours.ground;
    paint.fillRect(left, top, task.width, task.height);
    paint.globalAlpha *= k < 0.3 ? 0.85 : 0.25;
    paint.fillStyle = colour;
    paint.fillRect(left, top, task.width, task.height);
    paint.globalAlpha = task.alpha;
    if (k >= 0.12) {
      paint.strokeStyle = colour;
      paint.lineWidth = 1.6;
      paint.strokeRect(left, top, task.width, task.height);
    }
    if (k < 0.42)
      return;
    paint.fillStyle = colours.text;
    paint.fillText(task.name, task.x, task.y - 8);
    paint.fillText(task.kernels.length > 26 ? task.kernels.slice(0, 25) + "\u2026" : task.kernels, task.x, task.y + 7);
  }

  function ring(task, colour, thick, k) {
    const out = 2 + thick / 2 / Math.min(k, 1);

    paint.strokeStyle = colour;
    paint.lineWidth = thick / Math.min(k, 1);
    paint.strokeRect(task.x - task.width / 2 - out, task.y - task.height / 2 - out, task.width + 2 * out,
      task.height + 2 * out);
  }

  /* What is not beside the selected task or edge steps back. */
  function nearSelection() {
    if (state.task === null && state.pair === null)
      return null;
    if (state.pair !== null)
      return new Set([state.pair.pred, state.pair.succ]);
    return new Set([state.task].concat(state.task.into.map(p => p.pred), state.task.from.map(p => p.succ)));
  }

  function drawAllPairs(view, near, k) {
    const byStyle = [[], [], [], []], up = [], down = [];

    for (const pair of pairs) {
      if (!meets(pair.box, view))
        continue;
      if (state.task !== null && pair.succ === state.task)
        up.push(pair);
      else if ((state.task !== null && pair.pred === state.task) || pair === state.pair)
        down.push(pair);
      else
        byStyle[pair.style].push(pair);
    }
    paint.globalAlpha = near !== null ? 0.13 : 0.8;
    byStyle.forEach((list, style) => drawPairs(list, colours[SOURCES[style]], style === 0, style === 3 ? 2 : 1.2, k));
    paint.globalAlpha = 1;
    drawPairs(up, colours.up, false, 2.4 / Math.min(1, k * 2), k);
    drawPairs(down, colours.down, false, 2.4 / Math.min(1, k * 2), k);
    if (state.overPair !== null)
      drawPairs([state.overPair], colours.mark, false, 2.4 / Math.min(1, k * 2), k);
  }

  function drawAllTasks(view, near, k) {
    const margin = { left: view.left - halfWidth, right: view.right + halfWidth, top: view.top - halfHeight,
      bottom: view.bottom + halfHeight };

    paint.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
    paint.textAlign = "center";
    paint.textBaseline = "middle";
    for (const task of tasks) {
      if (task.x < margin.left || task.x > margin.right || task.y < margin.top || task.y > margin.bottom)
        continue;
      task.alpha = near === null || near.has(task) ? 1 : 0.25;
      paint.globalAlpha = task.alpha;
      drawTask(task, k);
    }
    paint.globalAlpha = 1;
    for (const task of state.found)
      ring(task, colours.mark, 2, k);
    if (state.overTask !== null)
      ring(state.overTask, colours.faint, 1.5, k);
    if (state.task !== null)
      ring(state.task, colours.text, 3, k);
  }

  function draw() {
    const [x, y] = zoom.translate(), k = zoom.scale(), ratio = window.devicePixelRatio || 1, view = visible();
    const near = nearSelection();

    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.fillStyle = colours.ground;
    paint.globalAlpha = 1;
    paint.fillRect(0, 0, width, height);
    paint.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y);
    drawAllPairs(view, near, k);
    paint.setLineDash([]);
    drawAllTasks(view, near, k);
  }

  /* ---- moving about ---- */

  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  function moveTo(translate, scale, slowly) {
    if (slowly && !still.matches)
      canvas.transition().duration(300).call(zoom.translate(translate).scale(scale).event);
    else
      zoom.translate(translate).scale(scale);
    redraw();
  }

  function showAll(slowly) {
    const scale = Math.min(1.25, 0.96 * Math.min(width / (data.width || 1), height / (data.height || 1)));

    zoom.scaleExtent([Math.min(scale, 1) / 4, 6]);
    moveTo([(width - data.width * scale) / 2, (height - data.height * scale) / 2], scale, slowly);
  }

  /* Brings a task to the middle, and near enough to be read. */
  function centre(task) {
    const scale = Math.max(zoom.scale(), 0.75);

    moveTo([width / 2 - task.x * scale, height / 2 - task.y * scale], scale, true);
  }

  /* With the canvas in focus: arrows move, plus and minus zoom about the middle. */
  function byKey(key) {
    const step = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] }[key];
    const factor = { "+": 1.3, "-": 1 / 1.3 }[key], [x, y] = zoom.translate(), [least, most] = zoom.scaleExtent();

    if (step) {
      d3.event.preventDefault();
      moveTo([x + step[0], y + step[1]], zoom.scale(), false);
    } else if (factor) {
      const scale = Math.max(least, Math.min(most, zoom.scale() * factor)), k = scale / zoom.scale();

      moveTo([width / 2 - (width / 2 - x) * k, height / 2 - (height / 2 - y) * k], scale, false);
    }
  }

  /* ---- what is under the mouse ---- */

  function taskAt(x, y) {
    let found = null;

    tree.visit((node, left, top, right, bottom) => {
      const t = node.point;

      if (t && Math.abs(x - t.x) <= t.width / 2 && Math.abs(y - t.y) <= t.height / 2 &&
          (found === null || t.index > found.index))
        found = t; // drawn last, so on top
      return left > x + halfWidth || right < x - halfWidth || top > y + halfHeight || bottom < y - halfHeight;
    });
    return found;
  }

  function distance(x, y, ax, ay, bx, by) {
    const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
    const t = length > 0 ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;

    return Math.hypot(x - ax - t * dx, y - ay - t * dy);
  }

  /* The line as short straight pieces, made when first needed. */
  function pieces(pair) {
    if (pair.flat)
      return pair.flat;
    const line = pair.line, flat = [line[0], line[1]];

    for (let i = 2; i + 5 < line.length; i += 6)
      for (let s = 1; s <= 8; s++) {
        const t = s / 8, u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;

        flat.push(a * line[i - 2] + b * line[i] + c * line[i + 2] + d * line[i + 4],
          a * line[i - 1] + b * line[i + 1] + c * line[i + 3] + d * line[i + 5]);
      }
    if (flat.length === 2)
      flat.push(line[2], line[3]);
    return pair.flat = flat;
  }

  function pairAt(x, y, reach) {
    let found = null, best = reach;

    for (const pair of pairs) {
      const box = pair.box;

      if (x < box.left - reach || x > box.right + reach || y < box.top - reach || y > box.bottom + reach)
        continue;
      const flat = pieces(pair);
      for (let i = 2; i < flat.length; i += 2) {
        const d = distance(x, y, flat[i - 2], flat[i - 1], flat[i], flat[i + 1]);

        if (d < best) {
          best = d;
          found = pair;
        }
      }
    }
    return found;
  }

  function under(mouse) {
    const [x, y] = zoom.translate(), k = zoom.scale();
    const px = (mouse[0] - x) / k, py = (mouse[1] - y) / k, task = taskAt(px, py);

    return { task: task, pair: task === null ? pairAt(px, py, 5 / k) : null };
  }

  /* ---- words ---- */

  function edgeText(edge) {
    let text = SOURCES[edge[1]] + ", " + (words[edge[2]] === "not said" ? "flags not said" : "flags: " + words[edge[2]]);

    if (edge[0] >= 0)
      text += ", argument " + edge[0];
    if (edge.length > 4)
      text += "\nbuffer " + words[edge[4]] + ", read " + words[edge[5]];
    if (edge.length > 6)
      text += "\nwritten " + (words[edge[5]].endsWith(" " + words[edge[6]]) ? "the same slice" : words[edge[6]]) +
        (words[edge[3]] ? ", overlap: " + words[edge[3]] : "");
    return text;
  }

  function taskTip(task) {
    return task.name + "  " + task.kernels + "\n" +
      (task.level >= 0 ? "level " + task.level : "on a cycle or behind one") + ", " + plural(task.blocks, "block") +
      "\nfed by " + plural(task.producers, "task") + ", feeds " + plural(task.consumers, "task");
  }

  function pairTip(pair) {
    return pair.pred.name + " feeds " + pair.succ.name + ", " + plural(pair.count, "edge") + "\n" +
      pair.edges.slice(0, 3).map(edgeText).join("\n") + (pair.count > 3 ? "\n..." : "");
  }

  /* ---- the panel ---- */

  const panel = d3.select("#panel");

  function link(parent, task) {
    parent.append("a").attr("tabindex", 0).attr("role", "button").text(task.name)
      .on("click", () => select(task, null, true))
      .on("keydown", () => { if (d3.event.key === "Enter") select(task, null, true); });
    parent.append("span").text("  " + task.kernels);
  }

  function putEdges(parent, pair) {
    for (const edge of pair.edges)
      edgeText(edge).split("\n").forEach((line, i) => {
        parent.append("div").attr("class", i > 0 ? "faint" : null).style("padding-left", i > 0 ? "12px" : null).text(line);
      });
    if (pair.count > pair.edges.length)
      parent.append("div").attr("class", "faint")
        .text("... " + plural(pair.count - pair.edges.length, "more edge") + ": tasklens deps " + data.dir + " -t " +
          pair.succ.name + " --limit 0");
  }

  function putSide(title, kind, list, other, all) {
    panel.append("h2").attr("class", kind).text(title + " " + (all === 0 ? "no task" : plural(all, "task")));
    if (list.length < all)
      panel.append("p").attr("class", "faint").text(tasklens.count(all - list.length) + " of them not on this page");
    const items = panel.append("ul");
    for (const pair of list.slice(0, LISTED)) {
      const item = items.append("li");

      link(item, pair[other]);
      putEdges(item, pair);
    }
    if (list.length > LISTED)
      items.append("li").attr("class", "faint").text("... " + plural(list.length - LISTED, "more task"));
  }

  function putArgs(task) {
    panel.append("h2").text("arguments");
    if (task.args.length === 0) {
      panel.append("p").attr("class", "faint").text("no tensors");
      return;
    }
    const table = panel.append("table"), head = table.append("tr");
    ["", "type", "buffer and slice"].forEach(title => head.append("th").text(title));
    for (const arg of task.args) {
      const row = table.append("tr");

      row.append("td").attr("class", "number").text(arg[0]);
      row.append("td").text(words[arg[1]]);
      const slice = row.append("td");
      if (arg.length > 2) {
        slice.append("code").text(words[arg[2]]);
        slice.append("div").text(words[arg[3]]);
      } else {
        slice.append("span").attr("class", "faint").text("allocated at submit");
      }
    }
  }

  function putTitle(text) {
    const title = panel.append("h1");

    title.append("span").text(text);
    title.append("button").attr("type", "button").attr("title", "close (Escape)").text("\u00d7")
      .on("click", () => select(null, null));
  }

  function showTask(task) {
    const kind = data.kinds[task.kind];

    putTitle(task.name);
    panel.append("p").text(kind.map((name, i) => name === null ? null : CORES[i] + " " + name)
      .filter(text => text !== null).join(", ") || "no kernel");
    panel.append("p").attr("class", "faint").text((task.level >= 0 ? "level " + task.level + " of 0 to " +
      (data.levels - 1) : "on a cycle or behind one: it could never start") + ", " +
      (task.manual ? "manual" : "auto") + " scope, " + plural(task.blocks, "block") +
      (task.early ? ", dispatched early" : ""));
    putArgs(task);
    putSide("fed by", "up", task.into, "pred", task.producers);
    putSide("feeds", "down", task.from, "succ", task.consumers);
  }

  function showPair(pair) {
    putTitle(plural(pair.count, "edge"));
    const ends = panel.append("p");
    link(ends, pair.pred);
    const fed = panel.append("p");
    fed.append("span").attr("class", "faint").text("feeds ");
    link(fed, pair.succ);
    putEdges(panel.append("ul").append("li"), pair);
  }

  function showGraph() {
    const facts = [
      [plural(data.all_tasks - data.allocations, "task") +
        (data.allocations > 0 ? " and " + plural(data.allocations, "allocation") : ""), plural(data.all_edges, "edge"), plural(data.levels, "level")].join(", ") +
        " in the whole graph",
      data.skipped > 0 ? plural(data.skipped, "edge") + " skipped at submit: the producer had retired" : "",
      data.loose > 0 ? plural(data.loose, "edge") + " to or from tasks that are not listed" : "",
      data.unlevelled > 0 ? plural(data.unlevelled, "task") + " on a cycle or behind one" : ""
    ];

    panel.append("h1").text(data.part);
    facts.filter(fact => fact !== "").forEach(fact => panel.append("p").text(fact));
    panel.append("h2").text("how to look at it");
    for (const line of ["Drag to move, turn the wheel to zoom; or arrows, + and -.", "Click a task: its arguments, what feeds it and what " +
      "it feeds. Click a line: its edges.", "Search with / and go through what was found with Enter.",
      "0 shows all, Escape lets go.", "The address of this page keeps the task: it can be passed on."])
      panel.append("p").attr("class", "faint").text(line);
    panel.append("h2").text("the same as text");
    panel.append("p").append("code").text("tasklens deps " + data.dir + " -t " + (tasks.length > 0 ? tasks[0].name : "r0t0"));
  }

  /* ---- selecting ---- */

  function select(task, pair, move) {
    state.task = task;
    state.pair = pair;
    panel.html("");
    if (task !== null)
      showTask(task);
    else if (pair !== null)
      showPair(pair);
    else
      showGraph();
    panel.node().scrollTop = 0;
    history.replaceState(null, "", task !== null ? "#" + task.name : location.pathname + location.search);
    if (task !== null && move)
      centre(task);
    redraw();
  }

  function fromAddress() {
    const name = decodeURIComponent(location.hash.slice(1)), task = tasks.find(t => t.name === name);

    select(task || null, null);
    if (task)
      moveTo([width / 2 - task.x, height / 2 - task.y], 1, false);
  }

  /* ---- searching ---- */

  function setFound(list) {
    state.found = list;
    state.at = -1;
    d3.select("#found").text(d3.select("#query").property("value") === "" ? "" :
      list.length === 0 ? "nothing found" : plural(list.length, "task"));
    redraw();
  }

  function search() {
    const text = d3.select("#query").property("value").trim().toLowerCase();

    if (text === "")
      return setFound([]);
    const exact = tasks.filter(t => t.name === text);
    setFound(exact.length > 0 ? exact :
      tasks.filter(t => t.name.startsWith(text) || t.kernels.toLowerCase().includes(text)));
  }

  function step(by) {
    if (state.found.length === 0)
      return;
    state.at = (state.at + by + state.found.length + (state.at < 0 && by < 0 ? 1 : 0)) % state.found.length;
    d3.select("#found").text(state.at + 1 + " of " + plural(state.found.length, "task"));
    select(state.found[state.at], null, true);
  }

  /* ---- the legend ---- */

  function putLegend() {
    const legend = d3.select("#legend"), used = d3.set(pairs.map(p => p.style)), counts = d3.map();

    tasks.forEach(t => counts.set(t.kind, (counts.get(t.kind) || 0) + 1));
    legend.append("h2").text("kernels");
    const kinds = counts.keys().map(Number).sort((a, b) => counts.get(b) - counts.get(a));
    for (const kind of kinds.slice(0, 20)) {
      const row = legend.append("div").attr("class", "kind").attr("title", "find these");

      row.append("i").style("background", tasklens.colour(kind));
      row.append("span").text(kindNames[kind]);
      row.append("span").attr("class", "faint").text(tasklens.count(counts.get(kind)));
      const findThese = () => {
        d3.select("#query").property("value", kindNames[kind]);
        setFound(tasks.filter(t => t.kind === kind));
      };

      row.attr("tabindex", 0).attr("role", "button").on("click", findThese).on("keydown", () => {
        if (d3.event.key === "Enter")
          findThese();
      });
    }
    if (kinds.length > 20)
      legend.append("div").attr("class", "faint").text("and " + (kinds.length - 20) + " more");
    if (pairs.length > 0)
      legend.append("h2").text("edges by source");
    SOURCES.forEach((source, i) => {
      if (!used.has(i))
        return;
      const row = legend.append("div"), svg = row.append("svg").attr("width", 26).attr("height", 8);

      svg.append("line").attr({ x1: 0, x2: 26, y1: 4, y2: 4, "stroke-width": i === 3 ? 3 : 2,
        "stroke-dasharray": i === 0 ? "6 4" : null }).style("stroke", "var(--" + source + ")");
      row.append("span").text(i === 3 ? "several" : source);
    });
  }

  /* ---- the whole ---- */

  function listen() {
    canvas.call(zoom).on("dblclick.zoom", null)
      .on("mousemove", () => {
        const what = under(d3.mouse(element));

        if (what.task !== state.overTask || what.pair !== state.overPair) {
          state.overTask = what.task;
          state.overPair = what.pair;
          canvas.classed("over", what.task !== null || what.pair !== null);
          redraw();
        }
        if (what.task !== null)
          tip.show(taskTip(what.task));
        else if (what.pair !== null)
          tip.show(pairTip(what.pair));
        else
          tip.hide();
      })
      .on("mouseleave", () => {
        state.overTask = state.overPair = null;
        tip.hide();
        redraw();
      })
      .on("click", () => {
        if (d3.event.defaultPrevented)
          return; // the end of a drag
        const what = under(d3.mouse(element));

        select(what.task, what.pair);
      });
    d3.select("#query").on("input", search);
    d3.select("#search").on("submit", () => {
      d3.event.preventDefault();
      step(1);
    });
    d3.select("#previous").on("click", () => step(-1));
    d3.select("#fit").on("click", () => showAll(true));
    new ResizeObserver(() => {
      if (width !== element.clientWidth || height !== element.clientHeight)
        resize();
    }).observe(element);
    d3.select(window).on("resize", resize).on("hashchange", fromAddress).on("keydown", () => {
      const key = d3.event.key, typing = document.activeElement === d3.select("#query").node();

      if (key === "Enter" && d3.event.shiftKey && typing) {
        d3.event.preventDefault();
        step(-1);
      } else if (key === "Escape") {
        select(null, null);
      } else if (key === "/" && !typing) {
        d3.event.preventDefault();
        d3.select("#query").node().select();
      } else if (key === "0" && !typing) {
        showAll(true);
      } else if (document.activeElement === element) {
        byKey(key);
      }
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readColours();
      redraw();
    });
  }

  /* Of a long path the end says most; the title has all of it. */
  d3.select("#title").attr("title", data.dir).text(data.dir.length > 60 ? "\u2026" + data.dir.slice(-59) : data.dir);
  d3.select("#about").text(data.part + ", " + plural(data.edges, "edge") + ", laid out by " + data.engine);
  readColours();
  putLegend();
  listen();
  fromAddress(); // fills the panel: what it leaves is the canvas
  resize();
  showAll(false);
  fromAddress();
})();
