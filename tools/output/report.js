// SPDX-License-Identifier: GPL-2.0
// The page that "stackbuf report" wrote: what is chosen by time, CPU and search is shown as a flame
// graph, as stacks and as events.  All text of the record is set as text, never as HTML.  search.js
// stands before it.
"use strict";
(function () {
	var data = JSON.parse(document.getElementById("record").textContent), info = data.info;
	var n = data.after.length, start = BigInt(data.start), contexts = ["task", "softirq", "hardirq", "nmi"];
	var time = new Float64Array(n), cpus = Array.from(new Set(data.cpu)), row_of = [], zoom = [], page = 0, more = 100, order = "events";
	var shown = { from: 0, to: 0, cpu: -1, search: "", tab: "flame" }, view;
	var i, sum = 0;

	for (i = 0; i < n; i++) {
		sum += data.after[i];
		time[i] = sum;
	}
	cpus.sort(function (a, b) { return a - b; }).forEach(function (cpu, row) { row_of[cpu] = row; });
	var last = n ? time[n - 1] : 0;
	// A function, with its module, is what is left of a frame without offset and source line
	var functions = data.frame.map(function (text) {
		var part = /^(\S+?)(?:\+0x[0-9a-f]+\/0x[0-9a-f]+)?(?: (\[[^\]]*\]))?(?: |$)/.exec(text);

		return part ? part[1] + (part[2] ? " " + part[2] : "") : text;
	});

	function make(tag, attributes, text) {
		var e = document.createElement(tag), key;

		for (key in attributes || {})
			e.setAttribute(key, attributes[key]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	}

	function count(number) {
		return Number(number).toLocaleString("en-US");
	}

	// ns since the first event as seconds since boot: exact, as a double is not
	function seconds(ns) {
		var at = start + BigInt(Math.round(ns)), rest = String(at % 1000000000n);

		return at / 1000000000n + "." + "0".repeat(9 - rest.length) + rest;
	}

	function day(ns) {
		var at = BigInt(info.load_realtime_ns || 0) + start + BigInt(Math.round(ns)) - BigInt(info.load_ns || 0);

		return new Date(Number(at / 1000000n)).toISOString();
	}

	function events(number) {
		return count(number) + (number === 1 ? " event" : " events");
	}

	// ------------------------------------------------------ what was recorded, and what was lost

	var lost = [
		["lost_off", "while recording was off"], ["lost_nested", "as they were nested too deep"],
		["lost_table", "as the stack table was full"], ["lost_page", "as the ring had no room"],
		["lost_empty", "as no frame was found"],
	];

	function losses() {
		var list = [];

		function say(key, text) {
			if (+info[key])
				list.push(count(info[key]) + " " + text);
		}
		if (info.events_recorded === undefined)
			list.push("how many events were refused, missed, overwritten or left out is unknown: " +
				  "the page of stackbuf_info is missing");
		lost.forEach(function (one) { say(one[0], "events were refused " + one[1]); });
		say("probes_missed", "hits were missed by probes: the kernel runs none inside another's handler");
		say("kept_out", "events were kept out, by a filter or of who read the record");
		say("not_sampled", "events were left out by sampling: totals and graph lack them");
		say("over_limit", "events were left out, as the limit was reached");
		say("events_overwritten", "events were overwritten by newer ones: only totals of stacks have them");
		say("evicted_events", "events at most are in no total: their stacks were evicted from the table");
		say("cut", "traces were cut");
		say("pages_missing", "pages are missing in the source");
		say("pages_damaged", "pages are damaged");
		say("pages_changed", "pages changed while they were read");
		say("unreadable_pages", "pages could not be read");
		say("half_events", "events were half written");
		if (data.left_out)
			list.push(count(data.left_out) + " older events were chosen, but are too many for this page");
		return list;
	}

	function head() {
		var list = losses(), ul = make("ul", { id: "losses" });

		document.body.append(make("h1", {}, "stackbuf: kernel call stacks"),
			make("p", { id: "machine" }, (info.release ? "Linux " + info.release + ", " + info.machine + ", " +
			     info.cpus + " CPUs; " : "machine unknown; ") + info.source + "; recording " + info.state),
			make("p", { id: "recorded" }, (info.events_recorded === undefined ? "unknown how many were" :
			     count(info.events_recorded)) + " recorded, " +
			     count(info.events_in_ring || 0) + " in the ring, " + count(n) + " in this page" +
			     (n ? ", from " + seconds(0) + " s" + (info.load_realtime_ns ? " (" + day(0) + ")" : "") +
			      " to " + seconds(last) + " s after boot" : "")));
		list.forEach(function (text) {
			ul.append(make("li", /refused|missed|missing|damaged|evicted|left|many|unknown/.test(text) ?
				       { class: "bad" } : {}, text));
		});
		if (!list.length)
			ul.append(make("li", {}, "no event was refused, missed, overwritten or evicted"));
		document.body.append(ul);
	}

	// --------------------------------------------------------------------- what is chosen

	// The first event at or after a time
	function first(at) {
		var low = 0, high = n, middle;

		while (low < high) {
			middle = low + high >> 1;
			if (time[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	function choose() {
		var regex = shown.search && to_regex(shown.search), end = first(shown.to + 1), at, stack;
		var frame = regex && functions.map(function (name) { return regex.test(name); });
		var comm = regex && data.comm.map(function (name) { return regex.test(name); });
		var stacks = regex && data.stack.map(function (one) {
			return one[3].some(function (f) { return frame[f]; });
		});

		view = { event: [], count: new Uint32Array(data.stack.length), newest: {}, regex: regex };
		for (at = first(shown.from); at < end; at++) {
			stack = data.stack_of[at];
			if ((shown.cpu >= 0 && data.cpu[at] !== shown.cpu) ||
			    (regex && !stacks[stack] && !comm[data.comm_of[at]]))
				continue;
			view.event.push(at);
			view.count[stack]++;
			view.newest[stack] = at;
		}
	}

	// -------------------------------------------------------------------- events over time

	function timeline() {
		var canvas = document.getElementById("timeline"), width = canvas.clientWidth || 1200;
		var rows = Math.max(cpus.length, 1), row = Math.max(2, Math.min(18, Math.floor(320 / rows))), height = rows * row;
		var bins = new Uint32Array(width * rows), most = 1, span = shown.to - shown.from || 1;
		var paint = canvas.getContext("2d"), ink = getComputedStyle(document.body).color, k;

		canvas.width = width;
		canvas.height = height;
		canvas.style.height = height + "px";
		view.event.forEach(function (at) {
			var x = Math.min(width - 1, Math.floor((time[at] - shown.from) / span * width));

			most = Math.max(most, ++bins[row_of[data.cpu[at]] * width + x]);
		});
		paint.fillStyle = ink;
		for (k = 0; k < bins.length; k++) {
			if (!bins[k])
				continue;
			paint.globalAlpha = 0.2 + 0.8 * Math.log(1 + bins[k]) / Math.log(1 + most);
			paint.fillRect(k % width, Math.floor(k / width) * row, 1, Math.max(1, row - 1));
		}
		document.getElementById("axis").replaceChildren(make("span", {}, seconds(shown.from) + " s"),
			make("span", {}, "a row for each CPU with events: click one; drag: zoom; Esc: back"),
			make("span", {}, seconds(shown.to) + " s"));
	}

	function drag() {
		var canvas = document.getElementById("timeline"), from = null;

		function at(e) {
			var box = canvas.getBoundingClientRect();

			return Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
		}
		canvas.addEventListener("pointerdown", function (e) { from = at(e); });
		window.addEventListener("pointerup", function (e) {
			var to, low = shown.from, span = shown.to - shown.from, cpu;

			if (from === null)
				return;
			to = at(e);
			if (Math.abs(to - from) > 0.003) {
				shown.from = Math.floor(low + Math.min(from, to) * span);
				shown.to = Math.ceil(low + Math.max(from, to) * span);
			} else {
				cpu = cpus[Math.floor((e.clientY - canvas.getBoundingClientRect().top) /
						      canvas.getBoundingClientRect().height * cpus.length)];
				shown.cpu = shown.cpu === cpu || cpu === undefined ? -1 : cpu;
			}
			from = null;
			show();
		});
	}

	// ------------------------------------------------------------------------ flame graph

	function colour(name) {
		var hash = 5381, k;

		for (k = 0; k < name.length && name[k] !== " "; k++)
			hash = (hash * 33 ^ name.charCodeAt(k)) >>> 0;
		if (name[0] === "(" || name === "all")
			return "hsl(220,12%," + (74 + hash % 9) + "%)";
		return name.indexOf("[") >= 0 ? "hsl(" + (165 + hash % 32) + ",52%," + (62 + (hash >>> 6) % 11) + "%)" :
			"hsl(" + (12 + hash % 36) + "," + (82 + (hash >>> 6) % 12) + "%," + (62 + (hash >>> 10) % 9) + "%)";
	}

	function names(stack) {
		var list = data.stack[stack][3].map(function (f) { return functions[f]; });

		if (data.stack[stack][2] === 1)
			list.push("(more frames were not kept)");
		if (data.stack[stack][2] === 2)
			list.push("(stacks that are gone)");
		return list.reverse();
	}

	function flame() {
		var root = { name: "all", events: 0, inner: new Map() }, depth = 0, box = make("div", { id: "flame" });
		var path = [root], node, k;

		view.count.forEach(function (events, stack) {
			var at = root;

			if (!events)
				return;
			root.events += events;
			names(stack).forEach(function (name, d) {
				if (!at.inner.has(name))
					at.inner.set(name, { name: name, events: 0, inner: new Map() });
				at = at.inner.get(name);
				at.events += events;
				depth = Math.max(depth, d + 1);
			});
		});
		for (k = 0; k < zoom.length && path[k].inner.has(zoom[k]); k++)
			path.push(path[k].inner.get(zoom[k]));
		zoom.length = k;
		box.style.height = (depth + 1) * 17 + "px";

		function put(one, level, x, width, trail) {
			var e = make("div", { class: "f" + (level < path.length - 1 ? " below" : "") +
				(view.regex && view.regex.test(one.name) ? " hit" : "") }, one.name);

			e.title = one.name + ": " + events(one.events) + ", " +
				(100 * one.events / root.events).toFixed(2) + " %";
			e.style.cssText = "left:" + x + "%;width:" + width + "%;top:" + (depth - level) * 17 +
				"px;background:" + colour(one.name);
			e.addEventListener("click", function () {
				zoom = trail;
				show();
			});
			box.append(e);
		}

		function draw(one, level, x, width, trail) {
			put(one, level, x, width, trail);
			Array.from(one.inner.values()).sort(function (a, b) {
				return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
			}).forEach(function (inner) {
				var part = width * inner.events / one.events;

				// Narrower than half a pixel on a wide screen
				if (part > 0.02)
					draw(inner, level + 1, x, part, trail.concat(inner.name));
				x += part;
			});
		}

		for (k = 0; k < path.length - 1; k++)
			put(path[k], k, 0, 100, zoom.slice(0, k));
		node = path[path.length - 1];
		if (root.events)
			draw(node, path.length - 1, 0, 100, zoom.slice());
		return [make("p", { class: "faint" }, "Click: zoom.  The width is the number of events in which a function was on the stack."),
			box];
	}

	// ---------------------------------------------------------------------------- tables

	function table(columns, rows) {
		var t = make("table"), line = make("tr");

		columns.forEach(function (c) {
			var th = make("th", c.sort ? { "data-sort": c.sort, class: "n" } : {}, c.name + (c.sort === order ? " \u25be" : ""));

			if (c.sort)
				th.addEventListener("click", function () {
					order = c.sort;
					show();
				});
			line.append(th);
		});
		t.append(make("thead"), make("tbody"));
		t.tHead.append(line);
		t.tBodies[0].append.apply(t.tBodies[0], rows);
		return t;
	}

	// Each cell is a text or an element
	function row(cells, attributes) {
		var tr = make("tr");

		cells.forEach(function (cell) {
			tr.append(cell instanceof Node ? cell : make("td", attributes, cell));
		});
		return tr;
	}

	function button(text, disabled, action) {
		var b = make("button", {}, text);

		b.disabled = disabled;
		b.addEventListener("click", function () {
			action();
			show();
		});
		return b;
	}

	function summary(stack) {
		var list = data.stack[stack][3];

		return list.length ? functions[list[0]] + (list.length > 1 ? " < " + functions[list[1]] : "") :
			"stack " + data.stack[stack][0] + " is gone";
	}

	// Where a stack is another than those with the same summary: the first frame that not all have
	function difference(stack, same) {
		var own = data.stack[stack][3], at, others;

		function is_other(one) {
			return data.frame[data.stack[one][3][at]] !== data.frame[own[at]];
		}
		for (at = 0; same.length > 1 && at < own.length; at++) {
			others = same.filter(is_other);
			if (others.length)
				return " \u2026 " + (others.some(function (one) {
					return functions[data.stack[one][3][at]] === functions[own[at]];
				}) ? data.frame[own[at]] : functions[own[at]]);
		}
		return "";
	}

	// The function recorded, and the whole stack when it is opened; @same: stacks of that function and caller
	function stack_cell(stack, same) {
		var td = make("td"), details = make("details"), list = data.stack[stack][3];

		details.append(make("summary", {}, summary(stack) + difference(stack, same || [])));
		details.addEventListener("toggle", function () {
			if (details.open && details.childElementCount === 1)
				details.append(make("pre", {}, list.map(function (f) { return data.frame[f]; }).join("\n") +
					(data.stack[stack][2] === 1 ? "\n(more frames were not kept)" : "")));
		});
		td.append(details);
		return td;
	}

	function stacks() {
		var list = [], all = view.event.length, same = {}, rows;

		view.count.forEach(function (events, stack) {
			if (!events)
				return;
			list.push(stack);
			(same[summary(stack)] = same[summary(stack)] || []).push(stack);
		});
		list.sort(function (a, b) {
			return order === "total" ? data.stack[b][1] - data.stack[a][1] :
				order === "newest" ? view.newest[b] - view.newest[a] : view.count[b] - view.count[a] || a - b;
		});
		rows = list.slice(0, more).map(function (stack) {
			var share = (100 * view.count[stack] / all).toFixed(2);
			var cell = make("td", { class: "n share", style: "--share:" + share + "%" }, share + " %");

			return row([count(view.count[stack]), cell, count(data.stack[stack][1]), seconds(time[view.newest[stack]]),
				    data.stack[stack][0], stack_cell(stack, same[summary(stack)])], { class: "n" });
		});
		return [make("p", { class: "faint", id: "stacks" }, count(list.length) + " stacks; since loading: with events that the ring no longer has"),
			table([{ name: "events", sort: "events" }, { name: "share" }, { name: "since loading", sort: "total" },
			       { name: "newest", sort: "newest" }, { name: "stack" }, { name: "function < caller" }], rows),
			button("100 more", list.length <= more, function () { more += 100; })];
	}

	// What pairs of probes know, whatever part of the events is shown: by time open where all was closed
	function pairs() {
		var all = [];

		function ms(ns) {
			return (ns / 1e6).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
		}
		data.pair.forEach(function (pair) {
			var list = pair[2].slice().sort(function (a, b) {
				return b[1] - a[1] || b[4] - a[4];
			});

			all.push(make("p", { class: "faint" }, pair[0] + ": " + count(list.length) + " stacks have opened" + (pair[1] ? "" : "; not exact: see stackbuf leaks")),
				 table([{ name: "open" }, { name: "their value" }, { name: "closed" }, { name: "time open, ms" },
					{ name: "longest, ms" }, { name: "stack" }, { name: "function < caller" }],
				       list.slice(0, more).map(function (one) {
					       return row([count(one[1]), count(one[2]), count(one[3]), ms(one[4]), ms(one[5]),
							   data.stack[one[0]][0], stack_cell(one[0])], { class: "n" });
				       })));
		});
		return all;
	}

	function event_table() {
		var size = 100, pages = Math.max(1, Math.ceil(view.event.length / size)), bar = make("p"), rows;

		page = Math.min(page, pages - 1);
		rows = view.event.slice(page * size, (page + 1) * size).map(function (at) {
			return row([seconds(time[at]), data.comm[data.comm_of[at]], data.pid[at], data.tgid[at], data.cpu[at],
				    contexts[data.context[at]], data.tag[at] || "", stack_cell(data.stack_of[at])]);
		});
		[["first", 0], ["before", page - 1], ["next", page + 1], ["last", pages - 1]].forEach(function (to) {
			bar.append(button(to[0], to[1] < 0 || to[1] >= pages || to[1] === page, function () { page = to[1]; }), " ");
		});
		bar.append(make("span", { class: "faint" }, "page " + count(page + 1) + " of " + count(pages)));
		return [bar, table([{ name: "time, s" }, { name: "command" }, { name: "thread" }, { name: "process" },
				    { name: "CPU" }, { name: "context" }, { name: "tag" }, { name: "function < caller" }], rows)];
	}

	function record() {
		return [table([{ name: "key of stackbuf-json(5)" }, { name: "value" }], Object.keys(info).map(function (key) {
			return row([key, typeof info[key] === "object" ? JSON.stringify(info[key]) : info[key]]);
		}))];
	}

	// ------------------------------------------------------------------------------ page

	var tabs = { flame: ["Flame graph", flame], stacks: ["Stacks", stacks], events: ["Events", event_table],
		     record: ["Record", record] };

	if (data.pair.length)
		tabs.pairs = ["Pairs", pairs];

	function keep() {
		var hash = [];

		if (shown.from > 0 || shown.to < last)
			hash.push("from=" + shown.from, "to=" + shown.to);
		if (shown.cpu >= 0)
			hash.push("cpu=" + shown.cpu);
		if (shown.search)
			hash.push("search=" + encodeURIComponent(shown.search));
		if (shown.tab !== "flame")
			hash.push("tab=" + shown.tab);
		keep_address(hash);
	}

	function from_address() {
		var given = new URLSearchParams(location.hash.slice(1));

		shown.from = Math.max(0, +given.get("from") || 0);
		shown.to = given.has("to") ? Math.min(last, +given.get("to") || 0) : last;
		shown.cpu = given.has("cpu") ? +given.get("cpu") : -1;
		shown.search = given.get("search") || "";
		shown.tab = tabs[given.get("tab")] ? given.get("tab") : "flame";
	}

	function show() {
		var main = document.getElementById("view"), field = document.getElementById("search");

		choose();
		timeline();
		if (field.value !== shown.search)
			field.value = shown.search;
		document.getElementById("range").textContent = events(view.event.length) +
			(n ? ", from " + seconds(shown.from) + " s to " + seconds(shown.to) + " s" : "") +
			(shown.cpu >= 0 ? ", CPU " + shown.cpu : "");
		document.querySelectorAll("#bar button").forEach(function (b) {
			b.setAttribute("aria-selected", b.dataset.tab === shown.tab);
		});
		main.replaceChildren.apply(main, tabs[shown.tab][1]());
		keep();
	}

	function build() {
		var bar = make("div", { id: "bar", role: "tablist" });

		head();
		bar.append(make("span", { id: "range", "aria-live": "polite" }),
			   make("input", { id: "search", type: "search", placeholder: "search functions, commands", "aria-label": "search" }));
		Object.keys(tabs).forEach(function (tab) {
			var b = button(tabs[tab][0], false, function () { shown.tab = tab; });

			b.setAttribute("role", "tab");
			b.dataset.tab = tab;
			bar.append(b);
		});
		document.body.append(make("canvas", { id: "timeline", role: "img", "aria-label": "events over time, a row for each CPU" }),
				     make("div", { id: "axis" }), bar, make("main", { id: "view" }));
	}

	build();
	from_address();
	show();
	drag();
	document.getElementById("search").addEventListener("input", function (e) {
		shown.search = e.target.value;
		show();
	});
	window.addEventListener("resize", show);
	window.addEventListener("hashchange", function () {
		from_address();
		show();
	});
	on_keys(document.getElementById("search"), function () {
		if (shown.search)
			shown.search = "";
		else if (zoom.length)
			zoom = [];
		else {
			shown.from = 0;
			shown.to = last;
			shown.cpu = -1;
		}
		show();
	});
	document.body.dataset.ready = Math.round(performance.now());
}());
