#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# "stackbuf report" on made-up arrays: the page holds what "log" and "count" print, and a browser shows
# it.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

made=$dir/made
page=$dir/page.html

# holds RECORD FILTER...: the page's data are what log, count and info print
holds() {
	local record=$1
	shift
	"$sane" -f "$record" report "$@" "$page" && "$plain" -f "$record" log --json "$@" >"$dir/log" &&
		"$plain" -f "$record" count --json >"$dir/count" && "$plain" -f "$record" info --json >"$dir/info" && "$plain" -f "$record" info >"$dir/info.text" || return
	python3 - "$dir" <<'END'
import html, json, re, sys
def lines(name):
    return [json.loads(line) for line in open(sys.argv[1] + "/" + name)]
page = open(sys.argv[1] + "/page.html").read()
data = json.loads(re.search(r'<script type="application/json" id="record">(.*?)</script>', page, re.S).group(1))
assert data["info"] == lines("info")[0], data["info"]
assert data["left_out"] == 0
log, time = lines("log"), int(data["start"])
assert len(log) == len(data["after"]), (len(log), len(data["after"]))
for i, want in enumerate(log):
    time += data["after"][i]
    stack = data["stack"][data["stack_of"][i]]
    got = {"time_ns": str(time), "cpu": data["cpu"][i], "pid": data["pid"][i], "tgid": data["tgid"][i],
           "comm": data["comm"][data["comm_of"][i]], "context": ["task", "softirq", "hardirq", "nmi"][data["context"][i]],
           "tag": data["tag"][i] or None, "frames": [data["frame"][f] for f in stack[3]], "cut": stack[2] == 1}
    for key, value in got.items():
        assert want.get(key, None) == value, (i, key, want, got)
total = {tuple(s["frames"]): s["count"] for s in lines("count")}
for stack in data["stack"]:
    # An equal one, which another stands for, has none
    assert stack[1] == 0 or stack[1] == total.pop(tuple(data["frame"][f] for f in stack[3]), 0), stack
assert not total, total
title = html.unescape(re.search(r"<title>(.*?)</title>", page).group(1))
assert title.split(", Linux ")[1].startswith(data["info"].get("release", "unknown") + ": "), title
# What "info" prints, of the same second
got = html.unescape(re.search(r'<pre id="info"[^>]*>(.*?)</pre>', page, re.S).group(1))
assert got == open(sys.argv[1] + "/info.text").read(), got
END
}

data() {
	holds "$made" && holds "$made" --cpu 1 --since 100 --last 50 && holds "$made" --tag '!0' --comm worker && holds "$dir/many" --last "$(few 20000 420000)"
}

# Nothing is loaded, and nothing of the record is taken for HTML
contained() {
	cp -r "$made" "$dir/hostile" && LC_ALL=C sed -i 's@6\.1\.0-made@</script>x@' "$dir/hostile/info" &&
		LC_ALL=C sed -i 's@same_0+@</scRipt+@; s@far_0+@<!--+@' "$dir/hostile/text" || return
	"$sane" -f "$dir/hostile" report "$page" || return
	[ "$(grep -ci '</script' "$page")" = 2 ] && ! sed -n '/id="record"/,/^<.script>/p' "$page" | grep '<!--' &&
		grep -q 'u003c/script>x' "$page" && ! grep -E '(src|href)=|url\(|@import' "$page" &&
		grep -q "Content-Security-Policy\" content=\"default-src 'none'" "$page"
}

shown_as_text() {
	"$sane" -f "$dir/hostile" report "$page" && in_browser "file://$page" >"$dir/dom" && grep -q 'Linux &lt;/script&gt;x' "$dir/dom"
}

files() {
	cd "$dir" && mkdir files && cd files || return
	"$sane" -f "$made" report - | cmp - <("$sane" -f "$made" report /dev/stdout | cat) || return
	refused 1 'cannot be written' -f "$made" report nowhere/x.html && refused 2 'the name of a file is missing' report &&
		refused 2 '--json is not for "report"' report --json x.html && [ -z "$(ls)" ] || return
	(umask 022 && "$sane" -f "$made" report mine.html) && [ "$(stat -c %a mine.html)" = 600 ] && rm mine.html || return
	# All events were overwritten, or lost with their pages
	"$fake" "$dir/counted" 0 counted && "$sane" -f "$dir/counted" report all.html && grep -q '</html>' all.html && rm all.html || return
	local longest
	longest=$(printf '%0255d' 0) && "$sane" -f "$made" report "$longest" && cmp "$longest" <("$sane" -f "$made" report -) &&
		[ "$(ls)" = "$longest" ] && rm "$longest" || return
	"$sane" -f "$made" report --comm nobody x.html 2>"$dir/err" && grep -q 'no event matches' "$dir/err" && grep -q '"after":\[\]' x.html
}

# More events than a page takes: the newest are there, and both the page and standard error report it
too_many() {
	EVENT_PAGES=8192 "$fake" "$dir/huge" 1200000 && "$plain" -f "$dir/huge" report "$page" 2>"$dir/err" || return
	[ "$(cat "$dir/err")" = 'stackbuf: the page has the newest 1000000 events of 1200000: choose others with --until or --around' ] || { cat "$dir/err"; return 1; }
	grep -q '^"left_out":200000,' "$page" && "$plain" -f "$dir/huge" log --json --last 1000000 | head -n 1 |
		grep -qF "\"time_ns\":\"$(sed -n 's/^"start":"\([0-9]*\)".*/\1/p' "$page")\"" || return
	[ "$(grep '^"cpu":' "$page" | tr -cd , | wc -c)" = 1000000 ]
}

# What sampling left out is told wherever totals are
sampled() {
	local kind
	cp -r "$made" "$dir/sampled" && printf '\5' | dd of="$dir/sampled/info" bs=1 seek=4336 conv=notrunc status=none || return
	for kind in count 'count --function same_0' 'count --folded'; do
		# shellcheck disable=SC2086 # words
		"$sane" -f "$dir/sampled" $kind 2>&1 >/dev/null | grep -qx 'stackbuf: 5 events were left out by sampling: no total has them' || { echo "$kind"; return 1; }
	done
	"$sane" diff "$made" "$dir/sampled" 2>&1 >/dev/null | grep -q '5 events were left out by sampling' &&
		"$sane" -f "$dir/sampled" info | grep -q '^events not sampled  *5$'
}

# ------------------------------------------------------------------ in a browser ---

# shown PATTERN: the document has this, and its script had nothing to complain about
shown() {
	grep -qE -- "$1" "$dir/dom" && ! grep 'CONSOLE' "$work/chromium" && grep -q 'data-ready=' "$dir/dom" && return
	echo "no $1"
	sed 's/.*<main/<main/' "$dir/dom" | tail -n 5 | cut -c 1-2000
	return 1
}

# rows: those of the table that is shown, a line each, cells separated by tabs
rows() {
	tr -d '\n' <"$dir/dom" | grep -o '<tbody>.*</tbody>' | sed 's/<tr>/\n/g' | sed 's/<\/td>/\t/g; s/<[^>]*>//g' | tail -n +2
}

graph() {
	in_browser "file://$page" >"$dir/dom" && shown '>1,000 events, from 6\.000000000 s to 1005\.000000000 s<' &&
		shown '>no event was refused, missed, overwritten or evicted<' || return
	# Widths are those of the totals
	"$plain" -f "$made" log --folded | awk '{ n[$1] += $NF } { sum += $NF } END { print sum }' | grep -qx 1000 || return
	for name in same_0 far_0 cut_0; do
		events=$("$plain" -f "$made" count --folded | sed -n "s/.*;${name}_\[made\] //p")
		shown "<title>$name \[made\] \($events events, [0-9.]* %\)</title><rect [^>]*width=\"$(awk "BEGIN { printf \"%g\", $events / 10 }")%\"" || return
	done
}

# Without stackbuf_info nothing is known of losses, the machine and the date
without_info() {
	cat "$made/events" "$made/stacks" "$made/text" >"$dir/image" && "$sane" -f "$dir/image" report "$dir/unknown.html" 2>"$dir/err" &&
		grep -q 'the page of stackbuf_info is missing' "$dir/err" && in_browser "file://$dir/unknown.html" >"$dir/dom" &&
		shown '>how many events were refused, missed, overwritten or left out is unknown: ' &&
		shown '>machine unknown; .*recording unknown<' && shown '>unknown how many were recorded, 1,000 in the ring, ' || return
	! grep -o '<p id="[a-z]*">[^<]*\|<li[^>]*>[^<]*' "$dir/dom" | grep '1970\|no event was refused\|disabled'
}

stacks() {
	in_browser "file://$page#tab=stacks&search=FAR%7Csame_2" >"$dir/dom" && shown '>[0-9,]* events, from' || return
	rows | sed -n 's/^\([0-9,]*\)\t\([0-9.]*\) %\t.*\t\([a-z_0-9]*\) \[made\].*/\3 \1/p' >"$dir/rows"
	# A search with capitals is case-sensitive: FAR finds nothing
	[ "$(cat "$dir/rows")" = "same_0 $("$plain" -f "$made" count --folded | sed -n 's/.*;same_0_\[made\] //p')" ] || { cat "$dir/rows"; return 1; }
}

# Two stacks of one function and caller: the first frame in which they differ
alike() {
	"$fake" "$dir/many0" 5003 && "$plain" -f "$dir/many0" report - | sed 's/known_1_\([01]\)+/known_0_\1+/' >"$dir/alike.html" &&
		in_browser "file://$dir/alike.html#tab=stacks" >"$dir/dom" || return
	tr -d '\n' <"$dir/dom" | grep -o '<summary>[^<]*' | sed 's/&lt;/</g' >"$dir/rows"
	grep -q '^<summary>known_0_0 \[made\] < known_0_1 \[made\] < known_0_2+0x10/0x20 \[made\]$' "$dir/rows" &&
		grep -q '^<summary>known_0_0 \[made\] < known_0_1 \[made\] < known_1_2+0x10/0x20 \[made\]$' "$dir/rows" &&
		grep -q '^<summary>known_2_0 \[made\] < known_2_1 \[made\]$' "$dir/rows" || { cat "$dir/rows"; return 1; }
}

# Of a span of time, and one CPU: the events that log prints
events() {
	in_browser "file://$page#tab=events&from=94000000000&to=156500000000&cpu=2" >"$dir/dom" &&
		shown '>2[0-9] events, from 100\.000000000 s to 162\.500000000 s, CPU 2<' || return
	rows | awk -F '\t' '{ print $1, $2, $3, $5, $4, $6 $7 }' >"$dir/rows"
	"$plain" -f "$made" log --cpu 2 --since 100 --until 162.5 | sed -n '/^[0-9]/p' |
		awk '{ print $1, $2, $3, $4, $6, $7 $8 }' | diff "$dir/rows" - && [ -s "$dir/rows" ]
}

# Zoom by the mouse, search by the field, go back by a key: in the page itself
by_hand() {
	cat "$page" - >"$dir/hand.html" <<'END'
<script>
(function () {
	var canvas = document.getElementById("timeline"), box = canvas.getBoundingClientRect(), field = document.getElementById("search");
	var said = [];

	function press(type, share) {
		canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 5 }));
	}
	function note() { said.push(document.getElementById("range").textContent + " | " + location.hash); }
	press("pointerdown", 0.25);
	press("pointerup", 0.75);
	note();
	press("pointerdown", 0.5);
	press("pointerup", 0.5);
	note();
	field.value = "far_1";
	field.dispatchEvent(new Event("input"));
	note();
	window.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
	window.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
	note();
	Array.from(document.querySelectorAll(".f")).find(function (f) { return /^far_1/.test(f.textContent); }).dispatchEvent(new MouseEvent("click"));
	said.push(Array.from(document.querySelectorAll(".f:not(.hidden)")).map(function (f) {
		return f.querySelector("text").textContent + " " + f.querySelector("rect").getAttribute("width");
	}).join(", "));
	document.querySelector("[data-tab=stacks]").click();
	document.querySelector("details").open = true;
	document.body.dataset.said = said.join("\n");
}());
</script>
END
	in_browser "file://$dir/hand.html" >"$dir/dom" && shown 'data-said=' || return
	tr -d '\r' <"$dir/dom" | sed -n '/data-said="/,/"/p' | sed 's/.*data-said="//; s/".*//' >"$dir/said"
	sed -n 1p "$dir/said" | grep -qE '^(499|500|501) events, from 255\.[0-9]* s to 755\.[0-9]* s \| #from=[0-9]*&amp;to=[0-9]*$' &&
		sed -n 2p "$dir/said" | grep -qE '^16[67] events, .* s, CPU 0 \| .*&amp;cpu=0$' &&
		sed -n 3p "$dir/said" | grep -qE '^[1-9][0-9]? events, .*CPU 0 \| .*&amp;search=far_1$' &&
		sed -n 4p "$dir/said" | grep -qE '^1,000 events, from 6\.0* s to 1005\.0* s \| $' &&
		[ "$(sed -n 5p "$dir/said")" = 'all 100%, far_2 [made] 100%, far_1 [made] 100%, far_0 [made] 100%' ] &&
		return
	cat "$dir/said"
	return 1
}

# 250,000 events: two seconds from the start of loading until all is drawn
fast() {
	local ms
	"$plain" -f "$dir/many" report --last 250000 "$page" || return
	in_browser "file://$page#tab=events" >"$dir/dom" && shown '>250,000 events' && shown '<li>[0-9,]* events were overwritten' || return
	ms=$(sed -n 's/.*data-ready="\([0-9]*\)".*/\1/p' "$dir/dom")
	echo "$ms ms"
	[ -n "$ms" ] || return
	# How fast is a question of the host
	! thorough || [ "$ms" -lt 2000 ]
}

all_tests() {
	"$fake" "$made" options && EVENT_PAGES=1600 "$fake" "$dir/many" 420000
	result 'the page holds what log, count and info print, filters included' data
	result 'it refers to nothing, and text of the record is no HTML' contained
	result 'files that cannot be written, and no event' files
	result 'a million events of more' too_many
	result 'what sampling left out is told wherever totals are' sampled
	with chromium 'in a browser: text of the record is no HTML' shown_as_text
	"$plain" -f "$made" report "$page"
	with chromium 'in a browser: widths of functions' graph
	with chromium 'in a browser: of a record without stackbuf_info what is not known is called unknown' without_info
	with chromium '... stacks that match a search' stacks
	with chromium '... rows of the same functions say in what they differ' alike
	with chromium '... events of a span of time and a CPU' events
	with chromium '... zoom by mouse and click, search, back' by_hand
	with chromium '... 250,000 events open' fast
}

with_tools all_tests tests
