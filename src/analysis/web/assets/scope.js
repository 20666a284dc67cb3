/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring usage over a run's scope boundaries. tasklens.data:
 *   dir, summary, warnings[], settings_title: texts
 *   line, note    the line to type and what is said about it; null: none
 *   sites[]       texts
 *   boundaries[]  [site, ends, depth, ring, task tail, head, heap tail, head, dep tail, head, tensormap]
 *   scopes[]      [begin, last, ended]: positions in boundaries
 *   rings[]       {ring, scopes, settings, use: [{size, peak, bound, flag, why}, ...]}; bound: the peak is an upper bound
 *   groups[]      {site, depth, ring, scopes, open, most: [3], own: [3], tensormap, at: [3]}: at is a scope
 *   tensormap     {size, peak}
 */
(function () {
  "use strict";
  var data = tasklens.data, boundaries = data.boundaries;
  var SITE = 0, ENDS = 1, DEPTH = 2, RING = 3, SPAN = 4, MAP = 10;
  var resources = [
    {name: "task window", unit: "slots", share: "slots"},
    {name: "heap", unit: "bytes", share: "of heap"},
    {name: "dep pool", unit: "entries", share: "entries of the dep pool"}
  ];
  var margin = {left: 56, right: 10, top: 18, bottom: 20}, height = 170, DOTS = 150;
  var view = {positions: false, full: false}, chosen = null, hovered = null, charts = [];
  var x = d3.scale.linear().domain(wholeRun()), zoom = d3.behavior.zoom();
  var scopeOf = pairs();

  function wholeRun() {
    return [-0.5, Math.max(1, boundaries.length) - 0.5];
  }

  /* Which scope a boundary belongs to. */
  function pairs() {
    var of = {};

    data.scopes.forEach(function (scope, i) {
      of[scope[0]] = i;
      if (scope[2])
        of[scope[1]] = i;
    });
    return of;
  }

  /* ---- words ---- */

  function bytes(n) {
    var names = ["", "K", "M", "G", "T"], i = 0;

    while (n >= 1024 && i < names.length - 1) {
      n /= 1024;
      i++;
    }
    return (i === 0 ? String(n) : String(+n.toFixed(n < 10 ? 2 : 1))) + names[i];
  }

  function amount(resource, n) {
    return resource === 1 ? bytes(n) : tasklens.count(n);
  }

  function peakOf(use, words, unit) {
    return (use.bound ? "peak at most " : "peak ") + words(use.peak) + (use.size > 0 ? " of " + words(use.size) : "") + unit +
      (use.size > 0 ? " (" + Number((100 * use.peak / use.size).toPrecision(2)) + "\u00a0%)" : "");
  }

  function taken(b, resource) {
    return Math.max(0, b[SPAN + 2 * resource + 1] - b[SPAN + 2 * resource]);
  }

  function ringOf(number) {
    return data.rings.filter(function (ring) { return ring.ring === number; })[0];
  }

  function describe(i) {
    var b = boundaries[i], ring = ringOf(b[RING]), scope = data.scopes[scopeOf[i]];
    var lines = [data.sites[b[SITE]], (b[ENDS] ? "ends" : "begins") + ", depth " + b[DEPTH] + ", ring " + b[RING] +
      ", boundary " + tasklens.count(i)];

    resources.forEach(function (resource, r) {
      var size = ring.use[r].size;

      lines.push(resource.name + "  " + amount(r, taken(b, r)) + (size ? " of " + amount(r, size) : "") +
        ", tail " + tasklens.count(b[SPAN + 2 * r]) + ", head " + tasklens.count(b[SPAN + 2 * r + 1]));
    });
    lines.push("tensormap  " + tasklens.count(b[MAP]) + " entries");
    if (b[ENDS] && scope)
      lines.push("the scope itself took " + resources.map(function (resource, r) {
        return amount(r, b[SPAN + 2 * r + 1] - boundaries[scope[0]][SPAN + 2 * r + 1]) + " " + resource.share;
      }).join(", "));
    else if (scope && !scope[2])
      lines.push("it never ended");
    return lines.join("\n");
  }

  /* ---- charts ---- */

  /* The boundaries in sight, and one to each side. Of more than two a pixel the fullest one stands for its pixel. */
  function inSight(chart, width) {
    var domain = x.domain(), from, to, some, bucket, best;

    from = Math.max(0, d3.bisectLeft(chart.at, domain[0]) - 1);
    to = Math.min(chart.at.length, d3.bisectRight(chart.at, domain[1]) + 1);
    if (to - from <= 2 * width)
      return chart.at.slice(from, to);
    some = [];
    bucket = Math.ceil((to - from) / width);
    for (var i = from; i < to; i += bucket) {
      best = i;
      for (var k = i; k < Math.min(to, i + bucket); k++)
        if (chart.taken(boundaries[chart.at[k]]) > chart.taken(boundaries[chart.at[best]]))
          best = k;
      some.push(chart.at[best]);
    }
    return some;
  }

  function yDomain(chart, points) {
    var low = 0, high = Math.max(1, chart.peak);

    if (view.positions && chart.head) {
      low = d3.min(points, function (i) { return chart.tail(boundaries[i]); }) || 0;
      high = d3.max(points, function (i) {
        return view.full ? chart.tail(boundaries[i]) + chart.size : chart.head(boundaries[i]);
      }) || 1;
      high = Math.max(high, low + 1);
    } else if (chart.size > 0 && (view.full || chart.size <= 3 * high)) {
      high = chart.size;
    }
    return [low, high + (high - low) * 0.06];
  }

  function ticks(chart, y) {
    var step, values = [], domain = y.domain();

    if (!chart.isBytes)
      return y.ticks(4).filter(function (v) { return v === Math.floor(v); });
    step = Math.max(1, Math.pow(2, Math.ceil(Math.log((domain[1] - domain[0]) / 5) / Math.LN2)));
    for (var v = Math.ceil(domain[0] / step) * step; v <= domain[1]; v += step)
      values.push(v);
    return values;
  }

  function widthOf(chart) {
    return Math.max(120, chart.svg.node().clientWidth);
  }

  function draw(chart) {
    var width = widthOf(chart), points = inSight(chart, width), plot = chart.plot;
    var positions = view.positions && !!chart.head, line = d3.svg.line(), area = d3.svg.area(), y, domain = x.domain();
    var low = function (i) { return positions ? chart.tail(boundaries[i]) : 0; };
    var high = function (i) { return positions ? chart.head(boundaries[i]) : chart.taken(boundaries[i]); };
    var limit = function (i) { return low(i) + chart.size; };
    var dots = points.filter(function (i) { return i >= domain[0] && i <= domain[1]; });

    y = d3.scale.linear().domain(yDomain(chart, points)).range([height - margin.bottom, margin.top]);
    chart.y = y;
    area.x(x).y0(function (i) { return y(low(i)); }).y1(function (i) { return y(high(i)); });
    line.x(x).y(function (i) { return y(high(i)); });
    chart.clip.attr("x", margin.left).attr("y", 0).attr("width", Math.max(0, width - margin.left - margin.right))
      .attr("height", height - margin.bottom + 1);
    plot.select(".area").attr("d", points.length ? area(points) : null);
    plot.select(".edge").attr("d", points.length ? line(points) : null);
    plot.select(".tail").attr("d", positions && points.length ? line.y(function (i) { return y(low(i)); })(points) : null);
    plot.select(".size").attr("d", chart.size > 0 && points.length ? line.y(function (i) { return y(limit(i)); })(points) : null);
    if (dots.length > DOTS)
      dots = [];
    dots = plot.selectAll(".dot").data(dots);
    dots.enter().append("circle").attr("class", "dot").attr("r", 2.5);
    dots.exit().remove();
    dots.attr("cx", x).attr("cy", function (i) { return y(high(i)); });
    chart.svg.select(".x").attr("transform", "translate(0," + (height - margin.bottom) + ")")
      .call(d3.svg.axis().scale(x).orient("bottom").ticks(Math.max(2, width / 90)).tickSize(3)
        .tickFormat(function (v) { return v === Math.floor(v) && v >= 0 && v < boundaries.length ? tasklens.count(v) : ""; }));
    chart.svg.select(".y").attr("transform", "translate(" + margin.left + ",0)")
      .call(d3.svg.axis().scale(y).orient("left").tickValues(ticks(chart, y)).tickSize(3)
        .tickFormat(chart.isBytes ? bytes : tasklens.count));
    chart.svg.select(".note").attr("x", width - margin.right - 2)
      .text(chart.size > 0 && y(chart.size + (positions ? d3.min(points, low) || 0 : 0)) < 0 ?
        "size " + chart.amount(chart.size) + ", above this scale" : "");
    drawChosen(chart);
    drawCross(chart);
  }

  function drawChosen(chart) {
    var scope = chosen === null ? null : data.scopes[chosen];

    chart.plot.select(".chosen").style("display", scope === null ? "none" : null)
      .attr("x", scope === null ? 0 : x(scope[0])).attr("y", 0)
      .attr("width", scope === null ? 0 : Math.max(2, x(scope[1]) - x(scope[0]))).attr("height", height - margin.bottom);
  }

  function drawCross(chart) {
    chart.plot.select(".cross").style("display", hovered === null ? "none" : null)
      .attr("x1", hovered === null ? 0 : x(hovered)).attr("x2", hovered === null ? 0 : x(hovered))
      .attr("y1", margin.top).attr("y2", height - margin.bottom);
  }

  function drawAll() {
    charts.forEach(draw);
  }

  /* The boundary of this chart that is nearest to the mouse; null if there is none. */
  function nearest(chart, element) {
    var at, i;

    at = x.invert(d3.mouse(element)[0]);
    i = d3.bisectLeft(chart.at, at);
    if (i > 0 && (i === chart.at.length || at - chart.at[i - 1] < chart.at[i] - at))
      i--;
    return i < chart.at.length ? chart.at[i] : null;
  }

  function choose(scope) {
    var b = scope === null ? null : boundaries[data.scopes[scope][0]];

    chosen = scope;
    charts.forEach(drawChosen);
    d3.selectAll("#sites tbody tr").classed("chosen-row", function (group) {
      return b !== null && group.site === b[SITE] && group.depth === b[DEPTH] && group.ring === b[RING];
    });
  }

  function addChart(parent, chart) {
    var box = parent.append("div").attr("class", "chart"), title = box.append("div").attr("class", "title"), svg, plot;
    var id = "clip" + charts.length;

    title.append("b").text(chart.name);
    title.append("span").attr("class", "faint").text(chart.caption);
    svg = chart.svg = box.append("svg").attr("role", "img").attr("aria-label", chart.name + ", " + chart.caption);
    chart.clip = svg.append("clipPath").attr("id", id).append("rect");
    plot = chart.plot = svg.append("g").attr("clip-path", "url(#" + id + ")");
    plot.append("rect").attr("class", "chosen");
    ["area", "edge", "tail", "size"].forEach(function (name) { plot.append("path").attr("class", name); });
    plot.append("line").attr("class", "cross");
    svg.append("g").attr("class", "axis x");
    svg.append("g").attr("class", "axis y");
    svg.append("text").attr("class", "note").attr("y", 12).attr("text-anchor", "end");
    svg.append("rect").attr("class", "catch").attr("width", "100%").attr("height", height).call(zoom).call(wheelWithCtrl)
      .on("mousemove", function () {
        hovered = nearest(chart, this);
        charts.forEach(drawCross);
        if (hovered !== null)
          tasklens.tip.show(describe(hovered));
      })
      .on("mouseleave", function () {
        hovered = null;
        charts.forEach(drawCross);
        tasklens.tip.hide();
      })
      .on("click", function () {
        var i = nearest(chart, this), scope = i === null || d3.event.defaultPrevented ? undefined : scopeOf[i];

        if (!d3.event.defaultPrevented)
          choose(scope === undefined || scope === chosen ? null : scope);
      });
    charts.push(chart);
  }

  /* A plain wheel scrolls the page. */
  function wheelWithCtrl(rect) {
    ["wheel.zoom", "mousewheel.zoom"].forEach(function (type) {
      var turn = rect.on(type);

      if (turn)
        rect.on(type, function () {
          if (d3.event.ctrlKey)
            turn.apply(this, arguments);
        });
    });
    rect.on("dblclick.zoom", null);
  }

  function addRings() {
    var root = d3.select("#rings");

    data.rings.forEach(function (ring) {
      var at = [], section = root.append("section").attr("class", "ring"), grid;

      boundaries.forEach(function (b, i) {
        if (b[RING] === ring.ring)
          at.push(i);
      });
      section.append("h2").text("Ring " + ring.ring + ", " + tasklens.plural(ring.scopes, "scope"))
        .append("code").text((data.line ? "" : "at least ") + ring.settings);
      if (ring.use.every(function (use) { return use.peak === 0; })) {
        section.append("p").attr("class", "faint").text("Nothing was ever taken here.");
        return;
      }
      grid = section.append("div").attr("class", "charts");
      resources.forEach(function (resource, r) {
        var use = ring.use[r];

        addChart(grid, {
          name: resource.name, at: at, size: use.size, peak: use.peak, isBytes: r === 1,
          caption: peakOf(use, function (n) { return amount(r, n); }, r === 1 ? "" : " " + resource.unit),
          amount: function (n) { return amount(r, n); },
          taken: function (b) { return taken(b, r); },
          tail: function (b) { return b[SPAN + 2 * r]; },
          head: function (b) { return Math.max(b[SPAN + 2 * r], b[SPAN + 2 * r + 1]); }
        });
      });
    });
    if (boundaries.length > 0) {
      root = root.append("section").attr("class", "ring");
      root.append("h2").text("All rings");
      addChart(root.append("div").attr("class", "charts"), {
        name: "tensormap", at: d3.range(boundaries.length), size: data.tensormap.size, peak: data.tensormap.peak,
        isBytes: false, amount: tasklens.count, taken: function (b) { return b[MAP]; },
        caption: peakOf(data.tensormap, tasklens.count, " entries")
      });
    }
  }

  /* ---- tables ---- */

  var columns = [
    {name: "site", text: function (g) { return data.sites[g.site]; }, key: function (g) { return data.sites[g.site]; }},
    {name: "depth", key: function (g) { return g.depth; }},
    {name: "ring", key: function (g) { return g.ring; }},
    {name: "scopes", key: function (g) { return g.scopes; }}
  ].concat(resources.map(function (resource, r) {
    return {name: ["tasks", "heap", "deps"][r], title: "taken at most of the " + resource.name + " while one was open",
      key: function (g) { return g.most[r]; }, text: function (g) { return amount(r, g.most[r]); }, at: r};
  })).concat(resources.map(function (resource, r) {
    return {name: "own " + ["tasks", "heap", "deps"][r], title: "taken at most by one scope itself",
      key: function (g) { return g.own[r]; }, text: function (g) { return amount(r, g.own[r]); }, at: r};
  })).concat([
    {name: "tensormap", key: function (g) { return g.tensormap; }},
    {name: "notes", key: function (g) { return g.open; },
      text: function (g) { return g.open > 0 ? tasklens.count(g.open) + " never ended" : ""; }}
  ]);
  var ROWS = 500, sorted = {column: null, up: false};

  function isNumber(column) {
    return column.name !== "site" && column.name !== "notes";
  }

  function cell(column, group) {
    return column.text ? column.text(group) : tasklens.count(column.key(group));
  }

  function fillSites() {
    var wanted = d3.select("#search").property("value").toLowerCase(), rows, tr;

    rows = data.groups.filter(function (g) { return data.sites[g.site].toLowerCase().indexOf(wanted) >= 0; });
    if (sorted.column !== null)
      rows.sort(function (a, b) {
        return (sorted.up ? 1 : -1) * d3.ascending(sorted.column.key(a), sorted.column.key(b));
      });
    d3.select("#more").text(rows.length === 0 ? "No site has this text." :
      rows.length > ROWS ? tasklens.count(rows.length - ROWS) + " more; search for them." : "");
    d3.select("#sites tbody").selectAll("tr").remove();
    tr = d3.select("#sites tbody").selectAll("tr").data(rows.slice(0, ROWS)).enter().append("tr").attr("tabindex", 0)
      .on("click", show).on("keydown", function (g) {
        if (d3.event.keyCode === 13)
          show(g);
      });
    columns.forEach(function (column) {
      tr.append("td").attr("class", isNumber(column) ? "number" : "site").text(function (g) { return cell(column, g); });
    });
    d3.selectAll("#sites th").classed("sorted", function (column) { return column === sorted.column; });
    choose(chosen);
  }

  /* The scope in which the site took most: of the resource that the table is sorted by, else of the task window. */
  function show(group) {
    var scope = group.at[sorted.column && sorted.column.at !== undefined ? sorted.column.at : 0];
    var ends = data.scopes[scope], middle = (ends[0] + ends[1]) / 2, domain = x.domain();

    choose(scope === chosen ? null : scope);
    if (middle < domain[0] || middle > domain[1]) {
      domain = [middle - (domain[1] - domain[0]) / 2, middle + (domain[1] - domain[0]) / 2];
      setDomain(domain);
    }
  }

  function sortBy(column) {
    sorted = {column: column, up: sorted.column === column ? !sorted.up : !isNumber(column)};
    fillSites();
  }

  function addSites() {
    d3.select("#sites thead tr").selectAll("th").data(columns).enter().append("th")
      .attr("class", function (c) { return isNumber(c) ? "number" : null; })
      .attr("title", function (c) { return c.title || null; }).text(function (c) { return c.name; })
      .attr("tabindex", 0).on("click", sortBy)
      .on("keydown", function (column) {
        if (d3.event.keyCode === 13)
          sortBy(column);
      });
    d3.select("#search").on("input", fillSites);
    fillSites();
  }

  function addSettings() {
    var section = d3.select("#settings"), row;

    if (boundaries.length === 0) {
      section.remove();
      d3.select("#sites").remove();
      return;
    }
    row = section.select("p").text(data.settings_title + (data.line || data.note ? ": " : ""));
    if (data.line)
      row.append("code").text(data.line);
    if (data.note)
      row.append("span").attr("class", "faint").text(data.line ? " (" + data.note + ")" : data.note);
    data.rings.forEach(function (ring) {
      resources.forEach(function (resource, r) {
        var use = ring.use[r];

        row = section.select("tbody").append("tr");
        row.append("td").text(r === 0 ? "ring " + ring.ring : "");
        row.append("td").text(resource.name);
        row.append("td").attr("class", "number").text((use.bound ? "peak at most " : "peak ") + amount(r, use.peak) + (use.size ? " of " + amount(r, use.size) : ""));
        row.append("td").append("code").text(use.flag);
        row.append("td").attr("class", "faint").text(use.why);
      });
    });
  }

  /* ---- the bar ---- */

  /* The scale of the whole run is what zoom starts from, so that zooming out always comes back to it. */
  function setDomain(domain) {
    var whole = wholeRun(), range, scale;

    setRange();
    range = x.range();
    zoom.x(x.domain(whole));
    scale = Math.min(zoom.scaleExtent()[1], (whole[1] - whole[0]) / (domain[1] - domain[0]));
    zoom.scale(scale).translate([range[0] - scale * x(domain[0]), 0]);
    moved();
  }

  function setRange() {
    x.range([margin.left, (charts.length > 0 ? widthOf(charts[0]) : 400) - margin.right]);
  }

  /* After a zoom: the run never leaves the chart. */
  function moved() {
    var range = x.range(), t = zoom.translate()[0], k = zoom.scale();

    zoom.translate([Math.min(range[0] * (1 - k), Math.max(range[1] * (1 - k), t)), 0]);
    drawAll();
  }

  function press(id, field, value) {
    d3.select("#" + id).on("click", function () {
      view[field] = value;
      showBar();
      drawAll();
    });
  }

  function showBar() {
    d3.select("#taken").classed("on", !view.positions).attr("aria-pressed", !view.positions);
    d3.select("#positions").classed("on", view.positions).attr("aria-pressed", view.positions);
    d3.select("#fit").classed("on", !view.full).attr("aria-pressed", !view.full);
    d3.select("#full").classed("on", view.full).attr("aria-pressed", view.full);
  }

  function start() {
    d3.select("h1").text("Ring usage of " + data.dir);
    d3.select("#summary").text(data.summary);
    d3.select("#warnings").selectAll("li").data(data.warnings).enter().append("li").text(String);
    zoom.scaleExtent([1, Math.max(2, boundaries.length / 2)]).on("zoom", moved);
    addRings();
    addSettings();
    if (boundaries.length > 0)
      addSites();
    press("taken", "positions", false);
    press("positions", "positions", true);
    press("fit", "full", false);
    press("full", "full", true);
    d3.select("#all").on("click", function () { setDomain(wholeRun()); });
    d3.select(window).on("resize", function () { setDomain(x.domain()); });
    showBar();
    setDomain(wholeRun());
  }

  start();
})();
