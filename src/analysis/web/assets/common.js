/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scripts of all pages share, as window.tasklens:
 *   data            what tl_web_page.data wrote
 *   tip.show(text)  a tooltip by the mouse, lines as in the text; tip.hide()
 *   colour(i)       the ith of twenty colours that can be told apart, in both colour schemes
 *   count(n)        12345 as "12,345";  plural(n, "edge") as "1 edge", "2 edges"
 */
"use strict";
window.tasklens = (function () {
  var element = document.createElement("div"), x = 0, y = 0, shown = false;
  var colours = ["#4c78a8", "#e8833a", "#54a24b", "#c95dab", "#b79a20", "#3aa6a0", "#d05555", "#8a6fd1", "#8c6d4f",
    "#7f8fa6", "#2f9bd8", "#b5651d", "#7aa52a", "#e0709c", "#5a7d5a", "#a45ee5", "#c0803f", "#3f6fd8", "#9c4f6a", "#6b8e9e"];

  function place() {
    var width = element.offsetWidth, height = element.offsetHeight;

    element.style.left = Math.max(4, x + 14 + width > window.innerWidth ? x - width - 10 : x + 14) + "px";
    element.style.top = Math.max(4, y + 16 + height > window.innerHeight ? y - height - 10 : y + 16) + "px";
  }

  element.id = "tip";
  element.setAttribute("role", "tooltip");
  document.body.appendChild(element);
  document.addEventListener("mousemove", function (event) {
    x = event.clientX;
    y = event.clientY;
    if (shown)
      place();
  }, true);

  function count(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  return {
    data: JSON.parse(document.getElementById("data").textContent),
    tip: {
      show: function (text) {
        element.textContent = text;
        element.style.display = "block";
        shown = true;
        place();
      },
      hide: function () {
        element.style.display = "none";
        shown = false;
      }
    },
    colour: function (i) {
      return colours[i % colours.length];
    },
    count: count,
    plural: function (n, word) {
      return count(n) + " " + word + (n === 1 ? "" : "s");
    }
  };
})();
