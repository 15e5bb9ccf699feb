#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# "stackbuf diff" on made-up arrays: what it finds is what the totals of both records say.
# Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

# Three records: few events, many of the same stacks, and other stacks
a="$dir/few events" b=$dir/many c=$dir/other

records() {
	"$fake" "$a" 100 && "$fake" "$b" 5003 && "$fake" "$c" options && "$sane" -f "$b" save "$dir/snapshot"
}

# compare FILE FILE OPTION...: what diff --json prints is what the totals of both say
compare() {
	local one=$1 two=$2
	shift 2
	"$sane" diff --json "$@" "$one" "$two" >"$dir/diff" && "$plain" -f "$one" count --json >"$dir/one" &&
		"$plain" -f "$two" count --json >"$dir/two" || return
	python3 - "$dir" "$@" <<'END'
import json, sys
def read(name):
    return [json.loads(line) for line in open(sys.argv[1] + "/" + name)]
def totals(name):
    found = {}
    for s in read(name):
        frames = s["frames"] + ["(more frames were not kept)"] * s["cut"]
        found[tuple(frames)] = found.get(tuple(frames), 0) + s["count"]
    return found
one, two, percent = totals("one"), totals("two"), "--percent" in sys.argv
sums = sum(one.values()) or 1, sum(two.values()) or 1
want = {}
for frames in one.keys() | two.keys():
    n = one.get(frames, 0), two.get(frames, 0)
    change = n[1] / sums[1] - n[0] / sums[0] if percent else n[1] - n[0]
    if change:
        want[frames] = ("new" if not n[0] else "gone" if not n[1] else "more" if change > 0 else "fewer",
                        n[0], n[1], abs(change))
last = 0
for d in read("diff"):
    w = want.pop(tuple(d["frames"]))
    assert (d["change"], d["before"], d["after"]) == w[:3], (d, w)
    assert w[3] >= last - 1e-9, "the largest change is not the last"
    last = w[3]
    if percent:
        assert abs(d["percent_after"] - 100 * d["after"] / sums[1]) < 0.001, d
        assert abs(d["percent_before"] - 100 * d["before"] / sums[0]) < 0.001, d
assert not want, want
END
}

changes() {
	compare "$a" "$b" && compare "$b" "$a" --percent && compare "$a" "$c" && compare "$c" "$dir/snapshot" --percent || return
	# A stack that the table holds twice is one
	compare "$b" "$b" && [ ! -s "$dir/diff" ]
}

text() {
	"$sane" diff "$a" "$b" >"$dir/out" && "$plain" diff --json "$a" "$b" >"$dir/json" || return
	[ "$(head -n 1 "$dir/out")" = "--- $a: 100 events, 7 stacks, Linux 6.1.0-made, loaded 2023-11-14T22:13:20.123456789+00:00" ] &&
		sed -n 2p "$dir/out" | grep -qxF "+++ $b: 5003 events, 7 stacks, Linux 6.1.0-made, loaded 2023-11-14T22:13:20.123456789+00:00" &&
		[ "$(tail -n 1 "$dir/out")" = '0 new, 0 gone, 7 more, 0 fewer, 0 equal' ] || { cat "$dir/out"; return 1; }
	sed -n 's/^    \([0-9]*\) -> \([0-9]*\)  +\([0-9]*\)  (\([a-z]*\))$/\4 \1 \2/p' "$dir/out" |
		diff - <(sed 's/.*"change":"\([a-z]*\)","before":\([0-9]*\),"after":\([0-9]*\),.*/\1 \2 \3/' "$dir/json") || return
	[ "$(grep -c '^  known' "$dir/out")" = "$(grep -o '"known' "$dir/json" | wc -l)" ] || return
	"$sane" diff --percent --top 2 "$a" "$c" | grep -c ' %  [-+][0-9.]*  (\(new\|gone\))$' | grep -qx 2 || return
	[ "$("$sane" diff --json --top 3 "$a" "$b")" = "$(tail -n 3 "$dir/json")" ]
}

# As difffolded.pl writes it: both numbers, of all stacks
folded() {
	"$sane" diff --folded "$a" "$b" | sort >"$dir/out" || return
	join -t '#' -a 1 -a 2 -e 0 -o 0,1.2,2.2 <("$plain" -f "$a" count --folded | sed 's/ \([0-9]*\)$/#\1/' | sort -t '#' -k 1,1) \
		<("$plain" -f "$b" count --folded | sed 's/ \([0-9]*\)$/#\1/' | sort -t '#' -k 1,1) | tr '#' ' ' | sort | diff - "$dir/out" || return
	[ "$(wc -l <"$dir/out")" = 7 ] && [ "$("$sane" diff --folded "$b" "$b" | wc -l)" = 7 ]
}

# another RELEASE: the record with many events, of a kernel of that release
another() {
	rm -rf "$dir/kernel" && cp -r "$b" "$dir/kernel" && LC_ALL=C sed -i "s/6\.1\.0-made/$1/" "$dir/kernel/info"
}

# Of another kernel offsets mean nothing, so functions are compared
by_function() {
	another 6.1.1-made || return
	"$sane" diff "$b" "$dir/kernel" >"$dir/out" 2>"$dir/err" && grep -q 'compared by function' "$dir/err" &&
		[ "$(tail -n 1 "$dir/out")" = '0 new, 0 gone, 0 more, 0 fewer, 7 equal' ] || { cat "$dir/out" "$dir/err"; return 1; }
	"$sane" diff --json "$a" "$dir/kernel" 2>/dev/null | grep -c '"known_0_0 \[made\]"' | grep -qx 1 || return
	"$sane" diff --folded "$a" "$dir/kernel" 2>/dev/null | cmp - <("$plain" diff --folded "$a" "$b")
}

# A frame that has only an address is not that of another boot
addresses() {
	rm -rf "$dir/nameless" && cp -r "$b" "$dir/nameless" && : >"$dir/nameless/text" || return
	truncate -s "$(stat -c %s "$b/text")" "$dir/nameless/text"
	"$sane" diff "$dir/nameless" "$dir/nameless" | tail -n 1 | grep -qx '0 new, 0 gone, 0 more, 0 fewer, 7 equal' || return
	# The number of the load is in each page
	LC_ALL=C perl -0pi -e 's/\x15\xcd\x85\x3d\xfe\x9c\x97\x17/\x16\xcd\x85\x3d\xfe\x9c\x97\x17/g' "$dir/nameless"/{info,events,stacks}
	cp -r "$b" "$dir/again" && : >"$dir/again/text" && truncate -s "$(stat -c %s "$b/text")" "$dir/again/text" || return
	"$sane" diff "$dir/again" "$dir/nameless" 2>/dev/null | tail -n 1 | grep -qx '7 new, 7 gone, 0 more, 0 fewer, 0 equal' || return
	# Words of folded stacks are the user's
	printf '0xdead;main 5\nfoo;bar 3\n' >"$dir/given" && cp "$dir/given" "$dir/given2" &&
		"$sane" diff "$dir/given" "$dir/given2" | tail -n 1 | grep -qx '0 new, 0 gone, 0 more, 0 fewer, 2 equal' &&
		"$sane" -f "$dir/given" count --pprof | zcat >"$dir/profile" && grep -qa 0xdead "$dir/profile" && ! grep -a overwritten "$dir/profile"
}

# sums of samples by the label pprof::base, and their sum
profile() {
	"$sane" diff --pprof "$a" "$c" | zcat | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" | awk '
		/^string_table: / { sub(/^string_table: "/, ""); sub(/"$/, ""); name[n++] = $0 }
		/^sample \{/ { base = 0 }
		/^  value: / { value = $2 }
		/^    key: / { base = $2 }
		/^}/ && value { sum[base] += value; value = 0 }
		END { for (key in sum) print key + 0 ? name[key] : "after", sum[key] }' | sort >"$dir/out"
	[ "$(cat "$dir/out")" = $'after 1000\npprof::base -100' ] || { cat "$dir/out"; return 1; }
}

graph() {
	"$sane" diff --flame "$dir/diff.svg" "$a" "$c" || return
	grep -q 'data-diff="1"' "$dir/diff.svg" && grep -q '<title>all (before: 100 events, 100.00 %; after: 1000 events, 100.00 %)</title>' "$dir/diff.svg" &&
		grep -q '<title>same_0 \[made\] (before: 0 events, 0.00 %; after: 600 events, 60.00 %)</title>.*hsl(10,' "$dir/diff.svg" &&
		grep -q '<title>known_0_0 \[made\] (before: 15 events, 15.00 %; after: 0 events, 0.00 %)</title>.*hsl(220,' "$dir/diff.svg" || return
	# Equal shares are grey, whatever the numbers
	"$sane" diff --flame "$dir/diff.svg" "$b" "$b" && ! grep -q 'fill="hsl(\(10\|220\),' "$dir/diff.svg" &&
		[ "$(grep -c 'fill="hsl(0,0%,85%)"' "$dir/diff.svg")" -gt 100 ]
}

# --- the recipe for Pyroscope in docs/fleet.md

r=$dir/received

# block MARK: this block of the page
block() { part docs/fleet.md "$1" | sed '/^```/d'; }

# sends RECORD: the page's script, where "stackbuf save" saves this record
sends() {
	# shellcheck disable=SC2016 # for that script
	printf '#!/bin/sh\n[ "$1" != save ] || set -- -f "%s" "$@"\nexec "%s" "$@"\n' "$1" "$plain" >"$dir/bin/stackbuf" && chmod +x "$dir/bin/stackbuf" || return
	env PATH="$dir/bin:$PATH" STATE_DIRECTORY="$dir/state" SERVER="http://127.0.0.1:$(cat "$r/port")" "$dir/bin/send" 2>"$dir/err"
}

# new BEFORE AFTER [STATUS]: the last request has what is in AFTER alone, and was answered by STATUS
new() {
	{ [ ! -e "$1" ] || "$plain" -f "$1" count --folded | sed 's/[0-9]*$/-&/'; "$plain" -f "$2" count --folded; } 2>/dev/null >"$dir/both"
	python3 - "$dir/both" "$r/requests" "${3:-200}" <<'END'
import collections, json, sys
def add(lines):
    sums = collections.Counter()
    for line in lines:
        stack, n = line.rsplit(" ", 1)
        sums[stack] += int(n)
    return {stack: n for stack, n in sums.items() if n > 0}
want = add(open(sys.argv[1]))
last = json.loads(open(sys.argv[2]).readlines()[-1])
assert last["status"] == int(sys.argv[3]), last["status"]
assert want and add(last["body"].splitlines()) == want
END
}

requests() { wc -l <"$r/requests"; }

pyroscope() {
	local i=''
	mkdir -p "$dir/bin" "$dir/state" "$r" && : >"$r/requests" && echo 200 >"$r/how" && block pyroscope >"$dir/bin/send" && chmod +x "$dir/bin/send" || return
	"$here/helpers/receiver.py" "$r" 2>"$r/err" &
	receiver=$!
	until [ -e "$r/port" ]; do
		kill -0 "$receiver" || return
		sleep 0.1
	done
	# Only what is recorded from the first run on
	sends "$a" && [ "$(requests)" = 0 ] && sends "$b" && new "$a" "$b" && sends "$b" && [ "$(requests)" = 1 ] &&
		# The server is away: then all since the last one that it took
		"$fake" "$dir/more" 9000 && "$fake" "$dir/most" 20000 && echo 503 >"$r/how" && ! sends "$dir/more" && grep -q 503 "$dir/err" &&
		new "$b" "$dir/more" 503 && echo 200 >"$r/how" && sends "$dir/most" && new "$b" "$dir/most" &&
		# Another load of the module
		sends "$c" && new "$dir/nowhere" "$c" && [ "$(requests)" = 4 ] || i=failed
	kill "$receiver"
	[ "$i" != failed ] && [ ! -e "$r/wrong" ] && [ ! -s "$r/err" ] && [ "$(stat -c %a "$dir/state/old")" = 600 ] || { cat "$dir/err" "$r"/*; return 1; }
}

units() {
	local unit
	for unit in service timer; do
		block "pyroscope-$unit" | sed 's@/usr/local/sbin/stackbuf-to-pyroscope@/bin/true@' >"$dir/stackbuf-to-pyroscope.$unit" || return
	done
	systemd-analyze verify "$dir"/stackbuf-to-pyroscope.* 2>"$dir/err" && ! grep stackbuf-to-pyroscope "$dir/err" || { cat "$dir/err"; return 1; }
}

nothing() {
	"$fake" "$dir/empty" 0 || return
	"$sane" diff "$dir/empty" "$dir/empty" >"$dir/out" 2>"$dir/err" && grep -q 'no event: neither record' "$dir/err" || return
	"$sane" diff "$dir/empty" "$a" 2>/dev/null | tail -n 1 | grep -qx '7 new, 0 gone, 0 more, 0 fewer, 0 equal' &&
		"$sane" diff --percent "$a" "$dir/empty" | tail -n 1 | grep -qx '0 new, 7 gone, 0 more, 0 fewer, 0 equal' &&
		"$sane" diff --flame "$dir/diff.svg" "$dir/empty" "$dir/empty" 2>/dev/null && grep -q '</svg>' "$dir/diff.svg"
}

refusals() {
	refused 2 'diff: a file is missing' diff && refused 2 'one argument too many' diff "$a" "$b" "$c" &&
		refused 1 "$dir/nowhere" diff "$a" "$dir/nowhere" && refused 2 '--file is not for "diff"' -f "$a" diff "$b" "$c" &&
		refused 2 'is for text and --json' diff --percent --folded "$a" "$b" &&
		refused 1 'cannot be written' diff --flame "$dir/no/where.svg" "$a" "$b"
}

all_tests() {
	result 'records are made' records
	result 'changes are those of the totals of both, the largest last' changes
	result 'text, --top and --percent' text
	result '--folded: both numbers of all stacks' folded
	result 'records of two kernels: by function' by_function
	result 'frames without a name match within one load only' addresses
	with protoc '--pprof: the base is negative, and has its label' profile
	result '--flame: both numbers, and red and blue' graph
	with curl "docs/fleet.md: Pyroscope gets what is new, once, also after it was away" pyroscope
	with systemd-analyze '... by a timer: systemd accepts the units' units
	result 'records without events' nothing
	result 'what makes no sense is refused' refusals
}

with_tools all_tests tests
