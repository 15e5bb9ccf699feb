// SPDX-License-Identifier: GPL-2.0
// Zoom and search, inside of a flame graph that "stackbuf --flame" wrote.  Without it the
// graph is a still picture.  search.js stands before it.
"use strict";
(function () {
	var svg = document.querySelector("svg.stackbuf");
	var total = +svg.dataset.total, char_width = 7.23;
	var details = svg.querySelector(".details"), matched = svg.querySelector(".matched");
	var field = svg.querySelector("input"), reset = svg.querySelector(".reset");
	var zoomed = 0, pattern = "";
	var frames = Array.from(svg.querySelectorAll("g.f")).map(function (g) {
		var title = g.querySelector("title").textContent;

		return {
			g: g, rect: g.querySelector("rect"), text: g.querySelector("text"),
			title: title, name: title.replace(/ \([^(]*\)$/, ""),
			x: +g.dataset.x, w: +g.dataset.w, y: +g.querySelector("rect").getAttribute("y"),
		};
	});

	// Place all frames as if the zoomed one were the whole width
	function draw() {
		var pixels = svg.getBoundingClientRect().width || 1200, root = frames[zoomed];

		frames.forEach(function (f) {
			var inside = f.y <= root.y && f.x >= root.x && f.x + f.w <= root.x + root.w;
			var above = f.y > root.y && f.x <= root.x && f.x + f.w >= root.x + root.w;
			var x = above || !root.w ? 0 : 100 * (f.x - root.x) / root.w;
			var w = above || !root.w ? 100 : 100 * f.w / root.w;
			var chars = Math.floor((pixels * w / 100 - 6) / char_width);

			f.g.classList.toggle("hidden", !inside && !above);
			f.g.classList.toggle("up", above);
			if (!inside && !above)
				return;
			f.rect.setAttribute("x", x + "%");
			f.rect.setAttribute("width", w + "%");
			f.text.setAttribute("x", x + "%");
			f.text.textContent = chars >= f.name.length ? f.name :
				chars < 3 ? "" : f.name.slice(0, chars - 2) + "..";
		});
		reset.classList.toggle("hidden", !zoomed);
	}

	// Mark the frames that match, and show the share of the events that have one
	function search() {
		var regex = pattern && to_regex(pattern), root = frames[zoomed], end = root.x, sum = 0;

		frames.filter(function (f) {
			var hit = regex && regex.test(f.name);

			f.g.classList.toggle("match", !!hit);
			return hit && !f.g.classList.contains("hidden");
		}).sort(function (a, b) {
			return a.x - b.x || b.w - a.w;
		}).forEach(function (f) {
			var from = Math.max(f.x, end), to = Math.min(f.x + f.w, root.x + root.w);

			if (to > from) {
				sum += to - from;
				end = to;
			}
		});
		matched.textContent = pattern ? "matched: " + share(sum, root.w) : "";
	}

	function share(n, of) {
		return (svg.dataset.diff ? "" : n.toLocaleString("en-US") + " events, ") +
			(100 * n / of).toFixed(2) + " %";
	}

	function tell(f) {
		details.textContent = f && svg.dataset.diff ? f.title : f ? f.name + ": " + share(f.w, total) +
			(zoomed ? " (" + (100 * f.w / frames[zoomed].w).toFixed(2) + " % of what is shown)" : "") :
			svg.dataset.details;
	}

	function keep() {
		var hash = [];

		if (zoomed)
			hash.push("zoom=" + zoomed);
		if (pattern)
			hash.push("search=" + encodeURIComponent(pattern));
		keep_address(hash);
	}

	function show(to, text) {
		zoomed = to > 0 && to < frames.length ? to : 0;
		pattern = text;
		if (field.value !== text)
			field.value = text;
		draw();
		search();
	}

	function from_address() {
		var given = new URLSearchParams(location.hash.slice(1));

		show(parseInt(given.get("zoom"), 10), given.get("search") || "");
	}

	frames.forEach(function (f, i) {
		f.g.addEventListener("click", function () {
			show(i, pattern);
			keep();
			tell(f);
		});
		f.g.addEventListener("mouseover", function () { tell(f); });
		f.g.addEventListener("mouseout", function () { tell(null); });
	});
	reset.addEventListener("click", function () { show(0, pattern); keep(); });
	field.addEventListener("input", function () { show(zoomed, field.value); keep(); });
	window.addEventListener("resize", draw);
	window.addEventListener("hashchange", from_address);
	on_keys(field, function () {
		show(pattern ? zoomed : 0, "");
		keep();
	});
	from_address();
}());
