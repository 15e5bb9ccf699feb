// SPDX-License-Identifier: GPL-2.0
// Zoom and search in a flame graph of flame.c, alone or inside of a report.  Without it the graph is
// a still picture.  search.js stands before it.
"use strict";
// @field has the pattern; @changed is called after a click
function flame_graph(svg, field, changed) {
	const [details, matched, reset] = ["details", "matched", "reset"].map((name) => document.querySelector("." + name));
	const char_width = 7.23, told = details.textContent, path = [];
	let zoomed = 0, pattern = "", total = +svg.dataset.total;
	const frames = Array.from(svg.querySelectorAll("g.f"), (g) => {
		const rect = g.querySelector("rect"), label = g.querySelector("title"), title = label.textContent;
		const f = { g, rect, label, title, text: g.querySelector("text"), name: title.replace(/ \([^(]*\)$/, ""), x: +g.dataset.x,
			    w: +g.dataset.w, end: Number(BigInt(g.dataset.x) + BigInt(g.dataset.w)), y: +rect.getAttribute("y"), inner: new Map() };

		// Each stands right after its caller, or after what others of its callees call
		while (path.length && path.at(-1).y <= f.y)
			path.pop();
		if (path.length)
			path.at(-1).inner.set(f.name, f);
		path.push(f);
		return f;
	});

	// Ends are rounded as beginnings are, or a frame of more than 2^53 would end beyond its caller.
	// Place all frames as if the zoomed one were the whole width
	function draw() {
		const pixels = svg.getBoundingClientRect().width || 1200, root = frames[zoomed];

		frames.forEach((f) => {
			const inside = f.y <= root.y && f.x >= root.x && f.end <= root.end && (f.w > 0 || f === root);
			const above = f.y > root.y && f.x <= root.x && f.end >= root.end;
			const x = above || !root.w ? 0 : 100 * (f.x - root.x) / root.w;
			const w = above || !root.w ? 100 : 100 * f.w / root.w;
			const chars = Math.floor((pixels * w / 100 - 6) / char_width);

			f.g.classList.toggle("hidden", !inside && !above);
			f.g.classList.toggle("up", above);
			if (!inside && !above)
				return;
			f.rect.setAttribute("x", x + "%");
			f.rect.setAttribute("width", w + "%");
			f.text.setAttribute("x", x + "%");
			f.text.textContent = chars >= f.name.length ? f.name : chars < 3 ? "" : f.name.slice(0, chars - 2) + "..";
		});
		reset.classList.toggle("hidden", !zoomed);
	}

	// Mark the frames that match, and show the share of the events that have one
	function search() {
		const regex = pattern && to_regex(pattern), root = frames[zoomed];
		let end = root.x, sum = 0;

		frames.filter((f) => {
			const hit = regex && regex.test(f.name);

			f.g.classList.toggle("match", !!hit);
			return hit && !f.g.classList.contains("hidden");
		}).sort((a, b) => a.x - b.x || b.w - a.w).forEach((f) => {
			const from = Math.max(f.x, end), to = Math.min(f.end, root.end);

			if (to > from) {
				sum += to - from;
				end = to;
			}
		});
		matched.textContent = pattern ? "matched: " + share(sum, root.w) : "";
	}

	function share(n, of) {
		return (svg.dataset.diff ? "" : n.toLocaleString("en-US") + " " + svg.dataset.unit + ", ") + (100 * n / (of || 1)).toFixed(2) + " %";
	}

	function tell(f) {
		details.textContent = f && svg.dataset.diff ? f.title : f ? f.name + ": " + share(f.w, total) +
			(zoomed ? " (" + (100 * f.w / frames[zoomed].w).toFixed(2) + " % of what is shown)" : "") : told;
	}

	function show(to, text) {
		zoomed = to > 0 && to < frames.length && frames[to].w ? to : 0;
		pattern = text;
		if (field.value !== text)
			field.value = text;
		draw();
		search();
	}

	// Callees stand at the right end of their caller: before them is what ended there
	function place(f, x) {
		f.x = x;
		f.end = x += f.w;
		Array.from(f.inner.values()).reverse().forEach((inner) => place(inner, x -= inner.w));
		f.label.textContent = f.title = f.name + " (" + share(f.w, total) + ")";
	}

	// Give frames the widths of these stacks: names, outermost first, and events of each
	function weigh(stacks) {
		frames.forEach((f) => { f.w = 0; });
		stacks.forEach(([names, events]) => {
			let at = frames[0];

			at.w += events;
			names.every((name) => (at = at.inner.get(name)) && (at.w += events));
		});
		total = frames[0].w;
		place(frames[0], 0);
		// Above them is nothing of what is chosen
		svg.style.marginTop = -frames.reduce((top, f) => f.w ? Math.min(top, f.y) : top, frames[0].y) + "px";
	}

	frames.forEach((f, i) => {
		f.g.addEventListener("click", () => {
			show(i, pattern);
			changed();
			tell(f);
		});
		f.g.addEventListener("mouseover", () => tell(f));
		f.g.addEventListener("mouseout", () => tell(null));
	});
	reset.addEventListener("click", () => { show(0, pattern); changed(); });
	window.addEventListener("resize", draw);
	return { show, weigh, zoomed: () => zoomed };
}

// A graph that is a file of its own: what it shows is in its address
function flame_alone() {
	const svg = document.querySelector("svg.stackbuf"), field = svg.querySelector("input");
	const graph = flame_graph(svg, field, keep);

	function keep() {
		keep_address([graph.zoomed() && "zoom=" + graph.zoomed(),
			      field.value && "search=" + encodeURIComponent(field.value)].filter(Boolean));
	}

	function from_address() {
		const given = new URLSearchParams(location.hash.slice(1));

		graph.show(parseInt(given.get("zoom"), 10), given.get("search") || "");
	}

	field.addEventListener("input", () => { graph.show(graph.zoomed(), field.value); keep(); });
	window.addEventListener("hashchange", from_address);
	on_keys(field, () => {
		graph.show(field.value ? graph.zoomed() : 0, "");
		keep();
	});
	from_address();
}
