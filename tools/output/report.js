// SPDX-License-Identifier: GPL-2.0
// The page that "stackbuf report" wrote: what is chosen by time, CPU and search is shown as a flame
// graph, as stacks and as events.  All text of the record is set as text, never as HTML.  search.js
// and flame.js stand before it.
"use strict";
(() => {
	const data = JSON.parse(document.getElementById("record").textContent);
	const element = (id) => document.getElementById(id), n = data.after.length, start = BigInt(data.start);
	const contexts = ["task", "softirq", "hardirq", "nmi"], cpus = Array.from(new Set(data.cpu)).sort((a, b) => a - b);
	const row_of = new Map(cpus.map((cpu, row) => [cpu, row])), field = element("search");
	let sum = 0n, page = 0, more = 100, order = "events", view;
	// Added exactly and rounded once, or errors would add up
	const time = Float64Array.from(data.after, (after) => Number(sum += BigInt(after))), last = Number(sum);
	const shown = { from: 0, to: last, cpu: -1, search: "", tab: "flame", zoom: 0 };
	// A function, with its module, is what is left of a frame without offset and source line
	const functions = data.frame.map((text) => {
		const part = /^(\S+?)(?:\+0x[0-9a-f]+\/0x[0-9a-f]+)?(?: \[([^\] ]*)[^\]]*\])?(?: |$)/.exec(text);

		return part ? part[1] + (part[2] ? " [" + part[2] + "]" : "") : text;
	});

	function make(tag, text, attributes) {
		const e = document.createElement(tag);

		Object.entries(attributes || {}).forEach(([key, value]) => e.setAttribute(key, value));
		e.append(text);
		return e;
	}

	const count = (number) => Number(number).toLocaleString("en-US");
	const events = (number) => count(number) + (number === 1 ? " event" : " events");

	// ns since the first event as seconds since boot: exact, as a double is not
	const seconds = (ns) => String(start + BigInt(Math.round(ns))).padStart(10, "0").replace(/(.{9})$/, ".$1");

	function choose() {
		const regex = shown.search && to_regex(shown.search);
		const frame = regex && functions.map((name) => regex.test(name)), comm = regex && data.comm.map((name) => regex.test(name));
		const stacks = regex && data.stack.map((one) => one[3].some((f) => frame[f]));

		view = { event: [], count: new Uint32Array(data.stack.length), newest: {} };
		data.stack_of.forEach((stack, at) => {
			if (time[at] < shown.from || time[at] > shown.to || (shown.cpu >= 0 && data.cpu[at] !== shown.cpu) ||
			    (regex && !stacks[stack] && !comm[data.comm_of[at]]))
				return;
			view.event.push(at);
			view.count[stack]++;
			view.newest[stack] = at;
		});
	}

	function timeline() {
		const canvas = element("timeline"), width = canvas.clientWidth || 1200, rows = Math.max(cpus.length, 1);
		const row = Math.max(2, Math.min(18, Math.floor(320 / rows))), bins = new Uint32Array(width * rows), paint = canvas.getContext("2d");
		const span = shown.to - shown.from || 1;
		let most = 1;

		canvas.width = width;
		canvas.height = rows * row;
		canvas.style.height = canvas.height + "px";
		view.event.forEach((at) => {
			const x = Math.min(width - 1, Math.floor((time[at] - shown.from) / span * width));

			most = Math.max(most, ++bins[row_of.get(data.cpu[at]) * width + x]);
		});
		paint.fillStyle = getComputedStyle(document.body).color;
		bins.forEach((events, k) => {
			paint.globalAlpha = events && 0.2 + 0.8 * Math.log(1 + events) / Math.log(1 + most);
			if (events)
				paint.fillRect(k % width, Math.floor(k / width) * row, 1, Math.max(1, row - 1));
		});
		element("axis").firstChild.textContent = seconds(shown.from) + " s";
		element("axis").lastChild.textContent = seconds(shown.to) + " s";
	}

	function drag() {
		const canvas = element("timeline"), box = () => canvas.getBoundingClientRect();
		const at = (e) => Math.max(0, Math.min(1, (e.clientX - box().left) / box().width));
		let from = null;

		canvas.addEventListener("pointerdown", (e) => { from = at(e); });
		window.addEventListener("pointerup", (e) => {
			const low = shown.from, span = shown.to - low, cpu = cpus[Math.floor((e.clientY - box().top) / box().height * cpus.length)];

			if (from === null)
				return;
			if (Math.abs(at(e) - from) > 0.003) {
				shown.to = Math.ceil(low + Math.max(from, at(e)) * span);
				shown.from = Math.floor(low + Math.min(from, at(e)) * span);
			} else {
				shown.cpu = shown.cpu === cpu || cpu === undefined ? -1 : cpu;
			}
			from = null;
			show();
		});
	}

	// A cell is a text, a number or an element; columns that can be sorted by have a key
	function table(columns, rows) {
		const t = make("table", make("thead", make("tr", "")));

		t.tHead.rows[0].append(...columns.map(([name, key]) => {
			const th = make("th", name + (key && key === order ? " \u25be" : ""), key ? { "data-sort": key } : {});

			if (key)
				th.addEventListener("click", () => { order = key; show(); });
			return th;
		}));
		t.append(make("tbody", ""));
		t.tBodies[0].append(...rows.map((cells) => {
			const tr = make("tr", "");

			tr.append(...cells.map((cell) => cell instanceof Node ? cell :
				make("td", cell, /^[\d,.]+( %)?$/.test(cell) ? { class: "n" } : {})));
			return tr;
		}));
		return t;
	}

	function button(text, disabled, action) {
		const b = make("button", text);

		b.disabled = disabled;
		b.addEventListener("click", () => { action(); show(); });
		return b;
	}

	// As many functions as tell a stack from the others in the table, and all of it when it is opened
	function stack_cell(stack, others) {
		const [id, , cut, list] = data.stack[stack], details = make("details", "");
		let deep = 2, text;

		others.forEach((other) => {
			const theirs = data.stack[other][3], differs = list.findIndex((f, i) => data.frame[f] !== data.frame[theirs[i]]);

			if (other !== stack && differs >= deep)
				deep = differs + 1;
		});
		text = list.slice(0, deep).map((f, i) => i === deep - 1 && deep > 2 ? data.frame[f] : functions[f]).join(" < ");
		details.append(make("summary", list.length ? text : "stack " + id + " is gone"));
		details.addEventListener("toggle", () => {
			if (details.open && details.childElementCount === 1)
				details.append(make("pre", list.map((f) => data.frame[f]).join("\n") + (cut === 1 ? "\n(more frames were not kept)" : "")));
		});
		return make("td", details);
	}

	function stacks() {
		const list = Array.from(view.count.keys()).filter((stack) => view.count[stack]), all = view.event.length;
		const by = { total: (s) => data.stack[s][1], newest: (s) => view.newest[s], events: (s) => view.count[s] }[order];
		const some = list.sort((a, b) => by(b) - by(a) || a - b).slice(0, more);

		return [make("p", count(list.length) + " stacks; since loading: with events that the ring no longer has", { class: "faint" }),
			table([["events", "events"], ["share"], ["since loading", "total"], ["newest", "newest"], ["stack"], ["function < caller"]],
			      some.map((s) => {
				      const share = (100 * view.count[s] / all).toFixed(2) + " %";

				      return [count(view.count[s]), make("td", share, { class: "n share", style: "--share:" + share.replace(" ", "") }),
					      count(data.stack[s][1]), seconds(time[view.newest[s]]), String(data.stack[s][0]), stack_cell(s, some)];
			      })), button("100 more", list.length <= more, () => { more += 100; })];
	}

	// What pairs of probes know, whatever part of the events is shown
	function pairs() {
		const fixed = (ns, unit) => (ns / unit).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 });

		return data.pair.flatMap(([name, exact, all]) => {
			const some = all.sort((a, b) => b[1] - a[1] || b[4] - a[4]).slice(0, more), places = some.map((one) => one[0]);

			return [make("p", name + ": " + count(all.length) + " stacks have opened" + (exact ? "; exact" : "; not exact: see stackbuf leaks"), { class: "faint" }),
				table([["open"], ["bytes"], ["youngest, s"], ["oldest, s"], ["closed"], ["open in all, ms"], ["longest, ms"], ["function < caller"]],
				      some.map(([place, open, value, closed, in_all, longest, newest, oldest]) =>
					      [count(open), count(value), open ? fixed(newest, 1e9) : "", open ? fixed(oldest, 1e9) : "", count(closed),
					       closed ? fixed(in_all, 1e6) : "", closed ? fixed(longest, 1e6) : "", stack_cell(place, places)]))];
		});
	}

	// Which functions have returned an error, from the first one on
	function errors() {
		const some = data.error.sort((a, b) => b[1] - a[1]).slice(0, more), places = some.map((one) => one[0]);

		return [make("p", count(data.error.length) + " paths of errors, whatever part of the events is shown; returned by: from the first function on", { class: "faint" }),
			table([["errors"], ["error"], ["returned by"], ["function < caller"]], some.map(([place, nr, name, returned]) =>
				[count(nr), make("td", name, { class: "n" }), returned.map((i) => functions[data.stack[place][3][i]]).join(" < "), stack_cell(place, places)]))];
	}

	function event_table() {
		const size = 100, pages = Math.max(1, Math.ceil(view.event.length / size)), bar = make("p", "");

		page = Math.min(page, pages - 1);
		[["first", 0], ["before", page - 1], ["next", page + 1], ["last", pages - 1]].forEach(([name, to]) =>
			bar.append(button(name, to < 0 || to >= pages || to === page, () => { page = to; }), " "));
		bar.append(make("span", "page " + count(page + 1) + " of " + count(pages), { class: "faint" }));
		return [bar, table(["time, s", "command", "thread", "process", "CPU", "context", "tag", "function < caller"].map((name) => [name]),
				   view.event.slice(page * size, (page + 1) * size).map((at) => [seconds(time[at]), data.comm[data.comm_of[at]],
					   String(data.pid[at]), String(data.tgid[at]), String(data.cpu[at]), contexts[data.context[at]],
					   data.tag[at] || "", stack_cell(data.stack_of[at], [])]))];
	}

	// The graph and the record are in the page already
	const tabs = { flame: () => [], stacks, events: event_table, record: () => [], pairs, errors };
	const graph = flame_graph(document.querySelector("svg.stackbuf"), field, () => {
		shown.zoom = graph.zoomed();
		keep();
	});

	function keep() {
		const hash = shown.from > 0 || shown.to < last ? ["from=" + shown.from, "to=" + shown.to] : [];

		keep_address(hash.concat(shown.cpu >= 0 ? "cpu=" + shown.cpu : [], shown.search ? "search=" + encodeURIComponent(shown.search) : [],
					 shown.zoom ? "zoom=" + shown.zoom : [], shown.tab !== "flame" ? "tab=" + shown.tab : []));
	}

	function from_address() {
		const given = new URLSearchParams(location.hash.slice(1)), tab = given.get("tab");

		shown.from = Math.max(0, +given.get("from") || 0);
		shown.to = given.has("to") ? Math.min(last, +given.get("to") || 0) : last;
		shown.cpu = given.has("cpu") ? +given.get("cpu") : -1;
		shown.search = given.get("search") || "";
		shown.zoom = +given.get("zoom") || 0;
		shown.tab = tabs[tab] ? tab : "flame";
		show();
	}

	function show() {
		choose();
		timeline();
		element("range").textContent = events(view.event.length) + (n ? ", from " + seconds(shown.from) + " s to " + seconds(shown.to) + " s" : "") +
			(shown.cpu >= 0 ? ", CPU " + shown.cpu : "");
		document.querySelectorAll("[data-tab]").forEach((b) => b.setAttribute("aria-selected", b.dataset.tab === shown.tab));
		["flame", "info"].forEach((id) => element(id).classList.toggle("hidden", id !== (shown.tab === "record" ? "info" : shown.tab)));
		element("view").replaceChildren(...tabs[shown.tab]());
		graph.weigh(data.stack.map(([, , cut, list], stack) => [list.map((f) => functions[f]).concat(cut === 1 ? "(more frames were not kept)" :
			cut === 2 ? "(stacks that are gone)" : []).reverse(), view.count[stack]]));
		graph.show(shown.zoom, shown.search);
		keep();
	}

	drag();
	document.querySelectorAll("[data-tab]").forEach((b) => b.addEventListener("click", () => { shown.tab = b.dataset.tab; show(); }));
	field.addEventListener("input", () => { shown.search = field.value; show(); });
	window.addEventListener("resize", show);
	window.addEventListener("hashchange", from_address);
	on_keys(field, () => {
		if (shown.search)
			shown.search = "";
		else if (shown.zoom)
			shown.zoom = 0;
		else
			Object.assign(shown, { from: 0, to: last, cpu: -1 });
		show();
	});
	from_address();
	document.body.dataset.ready = Math.round(performance.now());
})();
