#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Options of the command: output files, filters, formats, help; on made-up arrays.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

made="$dir/made up"

# ------------------------------------------------------------- output files ---

links_are_followed() {
	mkdir "$dir/links" "$dir/links/far" && cd "$dir/links" || return
	echo old >far/file
	ln -s far/link link && ln -s file far/link && ln -s far/new dangling || return
	"$sane" -f "$made" save link && "$sane" -f "$made" save dangling || return
	[ -L link ] && [ -L far/link ] && [ -L dangling ] && [ "$(ls far)" = $'file\nlink\nnew' ] &&
		cmp far/file far/new && "$plain" -f far/file log >/dev/null || { ls -lR; return 1; }
	ln -s loop loop
	refused 1 'cannot be written: Too many' -f "$made" save loop &&
	refused 1 'cannot be written: Is a directory' -f "$made" save far
}

# Run before any test that names a file of /dev: finds a command that replaces such files
special_files() {
	mkdir "$dir/special" && cd "$dir/special" || return
	mkfifo pipe && ln -s /dev/null sink || return
	cat pipe >copy &
	# The reader of the pipe must not hang the test
	limited 60 "$sane" -f "$made" save pipe || { kill $!; return 1; }
	[ -p pipe ] || { kill $!; ls -l; return 1; }
	wait $!
	cmp copy ../snapshot && "$plain" -f copy log | cmp - ../log || return
	"$sane" -f "$made" count --flame sink && "$sane" -f "$made" save sink &&
		[ -L sink ] && [ -c /dev/null ] || { ls -l . /dev/null; return 1; }
	[ "$(ls)" = $'copy\npipe\nsink' ]
}

devices() {
	cd "$dir/special" && mknod null c 1 3 || return
	"$sane" -f "$made" save null && "$sane" -f "$made" log --flame null && [ -c null ]
}

pipes() {
	cd "$dir/special" || return
	"$sane" -f "$made" save - | cmp - ../snapshot &&
	"$sane" -f "$made" save /dev/stdout | cmp - ../snapshot &&
	"$sane" -f "$made" save /dev/fd/5 5>&1 >/dev/null | cmp - ../snapshot || return
	# /dev/stdout is the shell's descriptor: append to what the file has already
	{ echo before; "$sane" -f "$made" count --flame /dev/stdout; } >out || return
	[ "$(head -n 1 out)" = before ] && tail -n +2 out | cmp - <("$plain" -f "$made" count --flame -) || return
	[ -L /dev/stdout ] && [ -p pipe ]
}

terminal() {
	cd "$dir" && ! script -qec "'$plain' -f '$made' save -" /dev/null </dev/null >"$dir/tty" || return
	[ "$(wc -l <"$dir/tty")" = 1 ] && grep -q 'is a terminal' "$dir/tty"
}

nothing_half() {
	local command
	mkdir "$dir/full" && cd "$dir/full" || return
	echo precious >kept
	for command in save 'count --flame'; do
		# shellcheck disable=SC2086 # words
		! (ulimit -f 1; exec "$sane" -f "$made" $command kept) 2>"$dir/err" || return
		[ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'kept: cannot be written: File too large' "$dir/err" &&
			[ "$(ls)" = kept ] && [ "$(cat kept)" = precious ] || { ls; cat "$dir/err"; return 1; }
	done
	(umask 027 && "$sane" -f "$made" count --flame kept) && [ "$(stat -c %a kept)" = 640 ]
}

# ------------------------------------------------------------------ formats ---

# Sums of all samples by label: "cpu 0 N" and so on
labels() {
	zcat | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" | awk '
		/^string_table: / { sub(/^string_table: "/, ""); sub(/"$/, ""); name[n++] = $0 }
		/^sample \{/ { nr = 0 }
		/^  value: / { events = $2 }
		/^  label \{/ { key = value = 0 }
		/^    key: / { key = $2 }
		/^    (str|num): / { value = $2; text = $1 == "str:" }
		/^  \}/ { if (value) sum[key, text, value] += events; value = 0 }
		END { for (s in sum) { split(s, part, SUBSEP); print name[part[1]], part[2] ? name[part[3]] : part[3], sum[s] } }'
}

zeroes_survive() {
	"$sane" -f "$made" log --pprof | labels >"$dir/labels" || return
	"$plain" -f "$made" log | awk '/^[0-9]/ { print "cpu", substr($0, 44, 3) + 0; print "pid", substr($0, 36, 7) + 0 }' |
		sort | uniq -c | awk '{ print $2, $3, $1 }' | sort >"$dir/wanted"
	grep -q '^cpu 0 ' "$dir/wanted" && grep -q '^pid 0 ' "$dir/wanted" || return
	diff "$dir/wanted" <(grep '^[cp][pi][ud] ' "$dir/labels" | sort)
}

# ------------------------------------------- stacks that the table holds twice ---

# Events of the stack "same", which has the ids 1 and 3: by each command, for all ids and for one
one_identity() {
	local id total other
	total=$("$plain" -f "$dir/snapshot" count --folded | sed -n 's/.*;same_0[^ ]* //p') || return
	[ "$total" -gt 500 ] && [ "$(wc -w <<<"$total")" = 1 ] || return
	"$sane" -f "$made" log | awk '/^[0-9]/ { id = substr($0, 48, 10) + 0; getline; if (/^\tsame/) n[id]++ }
		END { for (id in n) print id, n[id] }' >"$dir/ids"
	[ "$(cat "$dir/ids")" = "1 $total" ] || { echo log; cat "$dir/ids"; return 1; }
	for id in '' 1 3; do
		for other in count log 'count --function same_0' 'count --folded --function same_0'; do
			# shellcheck disable=SC2086 # words
			"$sane" -f "$made" $other ${id:+--stack $id} >"$dir/out" || return
			case $other in
			log) grep -c '^	same_0' "$dir/out" ;;
			'count --folded'*) awk '{ n += $NF } END { print n }' "$dir/out" ;;
			*) awk '/^  [a-z]*_0/ { same = /same_0/ } NF == 1 && /^    [0-9]/ && same { n += $1 } END { print n }' "$dir/out" ;;
			esac >"$dir/n"
			[ "$(cat "$dir/n")" = "$total" ] || { echo "$other, --stack $id: $(cat "$dir/n"), not $total"; return 1; }
		done
		"$sane" -f "$made" count --flame "$dir/twins.svg" ${id:+--stack $id} || return
		grep -o 'same_0 \[made\] ([0-9]* events' "$dir/twins.svg" >"$dir/n"
		[ "$(cat "$dir/n")" = "same_0 [made] ($total events" ] || { echo "flame, --stack $id"; cat "$dir/n"; return 1; }
		[ "$("$sane" -f "$made" log --function same_0 ${id:+--stack $id} | grep -c '^[0-9]')" = "$total" ] || { echo "log --function"; return 1; }
		if command -v protoc >/dev/null; then
			"$sane" -f "$made" count --pprof ${id:+--stack $id} | labels >"$dir/n" || return
			[ -z "$id" ] || [ "$(awk '$1 == "cpu" { n += $3 } END { print n }' "$dir/n")" = "$total" ] ||
				{ echo "pprof, --stack $id"; cat "$dir/n"; return 1; }
		fi
	done
	# The text log has a record of one of the ids only
	[ "$("$sane" -f "$made" text --stack 1)" = "$("$sane" -f "$made" text --stack 3)" ] &&
		"$sane" -f "$made" text --stack 1 | grep -q '^stack 3 '
}

# -------------------------------------------------------------- functions ---

# The newest event of "far" is not the newest of all
last_of_pattern() {
	local all last
	all=$("$sane" -f "$made" log --function far_0 | grep -c '^[0-9]') &&
		[ "$all" -gt 200 ] && [ "$all" -lt 800 ] || return
	last=$("$plain" -f "$made" log | awk '/^[0-9]/ { t = $1 } /^\tfar_0/ { last = t } END { print last }')
	[ "$last" != 1005.000000000 ] || return
	[ "$("$sane" -f "$made" log --last 1 --function far_0 | awk '/^[0-9]/ { print $1 }')" = "$last" ] || return
	[ "$("$sane" -f "$made" log --last 5 --function far_0 | grep -c '^[0-9]')" = 5 ] &&
	[ "$("$sane" -f "$made" log --last 5 --cpu 1 --function far_0 | grep -c '^[0-9]')" = 5 ] &&
	[ "$("$sane" -f "$made" count --last 7 --function far_0 2>/dev/null | grep -x '    [0-9]*')" = '    7' ]
}

# "far" begins with the frame 0xffffffffc0000010 far_0+0x10/0x20, which has a name
addresses_match() {
	local all
	all=$("$plain" -f "$made" log --function far_0 | grep -c '^[0-9]')
	[ "$("$sane" -f "$made" log --function 0xffffffffc0000010 | grep -c '^[0-9]')" = "$all" ] || { echo log; return 1; }
	[ "$("$sane" -f "$made" count --function 0xffffffffc0000010 | grep -x '    [0-9]*')" = "    $all" ] || { echo count; return 1; }
	# An address without an offset: that of the function's beginning
	[ "$("$sane" -f "$made" count --function 0xffffffffc0000000@arg1 | grep -x '    [0-9]*')" = "    $all" ] || { echo start; return 1; }
	refused 1 'no stack begins in 0xffffffffc0000011' -f "$made" count --function 0xffffffffc0000011
}

nothing_matches() {
	refused 1 "no stack begins in samme_0" -f "$made" log --function samme_0 &&
	refused 1 "no stack begins in samme_0" -f "$made" count --function samme_0 &&
	refused 1 '(4 were searched): not probed, not called, or inlined into its callers' -f "$made" log --function samme_0 &&
	refused 1 'no stack begins in other:*' -f "$made" count --function 'other:*' || return
	# One of two functions does not exist: events of the other are shown
	"$sane" -f "$made" count --function samme_0 --function far_0 >"$dir/out" 2>"$dir/err" || return
	grep -q far_0 "$dir/out" && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'no stack begins in samme_0 (4 were searched)' "$dir/err" || return
	# Of three, both that have no stack
	"$sane" -f "$made" log --function samme_0 --function far_0 --function 'x*' >"$dir/out" 2>"$dir/err" || return
	grep -q far_0 "$dir/out" && [ "$(wc -l <"$dir/err")" = 1 ] && grep -qF 'no stack begins in samme_0, x* (' "$dir/err" || return
	# Which tracepoint a stack is at is not recorded
	"$sane" -f "$made" log --function t:kfree --function far_0 2>"$dir/err" >"$dir/out" || return
	grep -q far_0 "$dir/out" && grep -qF -e '--function t:kfree: stacks do not name their tracepoint' "$dir/err" || return
	"$sane" -f "$made" log --function 't:*' --function far_0 2>&1 >"$dir/out" | grep 'do not name their tracepoint' && return 1
	# The function exists, but the filter leaves none of its events
	"$sane" -f "$made" log --cpu 7 --function far_0 >"$dir/out" 2>"$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
}

# none WORDS ARGUMENT...: of $source, no event, exit 0, and one line on stderr, beside the one on the ring, with WORDS
none() {
	local words=$1
	shift
	"$sane" -f "${source:-$made}" "$@" >"$dir/out" 2>"$dir/err" && ! grep -qs 'same_0\|far_0\|cut_0' "$dir/out" &&
		[ "$(grep -vc 'only events still in the ring' "$dir/err")" = 1 ] && grep -qF -- "$words" "$dir/err" && return
	echo "stackbuf $* said:"
	cat "$dir/err"
	return 1
}

says_why_nothing() {
	local command one='no event matches: 1000 events searched, from 6.000000000 to 1005.000000000: '
	for command in log 'log --json' 'log --folded' 'log --perf' 'log --pprof' count 'count --json' 'count --pprof' \
		'log --function far_0' 'log --json --function far_0' 'count --function far_0'; do
		# shellcheck disable=SC2086 # words
		none "$one--cpu excludes all of them: loosen it" $command --cpu 7 &&
		none "$one--pid and --tag each exclude all of them: loosen them" $command --pid 1 --tag 5 --cpu 0 || return
	done
	none "$one--comm excludes all of them: loosen it; the graph is empty" log --flame /dev/null --comm nobody &&
	none "$one--comm excludes all of them: loosen it; the graph is empty" count --flame /dev/null --comm nobody &&
	none "$one--since excludes all of them" log --since 2000 &&
	none "$one--until excludes all of them" log --until 5 &&
	none "$one--stack excludes all of them" log --stack 99 || return
	none "from 2023-11-14T22:13:21.123456789+00:00 to 2023-11-14T22:30:00.123456789+00:00" log --wall --until 5 &&
	none "${one}none meets --pid and --comm together: loosen one (without --pid 250 match)" log --pid 9 --comm worker &&
	none "${one}none meets --pid, --comm and --tag together: loosen several" log --pid 9 --comm worker --tag 0xffff888100000001/2 &&
	# Each of the filters leaves events of other functions only
	none "1000 events searched, from 6.000000000 to 1005.000000000: of these 1 meet the filters, and none is of the functions named" \
		log --since 1005 --function far_0 || return
	none '--stack excludes all 3 stacks of the record' count --stack 99 &&
	none '--stack excludes all 3 stacks of the text log' text --stack 99 &&
	none '--stack excludes all 3 stacks of the record: loosen it; the graph is empty' count --stack 99 --flame /dev/null &&
	none '--stack and --function exclude all 3 stacks of the record' count --stack 1 --function far_0 || return
	# Nothing was recorded
	"$fake" "$dir/empty" 0 && source=$dir/empty none 'the ring holds none' log &&
		source=$dir/empty none 'the ring holds none' log --cpu 1 && source=$dir/empty none 'no stack: the record holds none' count || return
	# Stacks that have no text yet
	mkdir "$dir/unrendered" && cp "$made"/{info,events,stacks} "$dir/unrendered" && truncate -s 2M "$dir/unrendered/text" &&
		source=$dir/unrendered none 'no stack: the text log holds none' text || return
	# No event has a tag
	"$fake" "$dir/untagged" 1 && source=$dir/untagged none 'none has a tag: FUNCTION@argN records one' log --tag 0 || return
	# Something is found: no line
	"$sane" -f "$made" log --cpu 1 2>&1 >/dev/null | grep . && return 1
	true
}

# ----------------------------------------------------------------- filters ---

events() { grep -c '^[0-9]'; }

bytes_of_comm() {
	local n
	n=$("$sane" -f "$made" log --pid 9 | events) && [ "$n" -gt 200 ] || return
	[ "$("$sane" -f "$made" log --comm $'gr\303\266\303\237e' | events)" = "$n" ] || return
	[ "$("$sane" -f "$made" log --comm $'gr\303*e' | events)" = "$n" ] || return
	[ "$("$sane" -f "$made" log --comm $'gr\303\266\303\237e' --function 'far*' --function 'same*' --function 'cut*' | events)" = "$n" ] || return
	[ "$("$sane" -f "$made" log --comm $'gr\303\266\303\240e' | events)" = 0 ] || return
	# Output has no bytes that could control a terminal
	! "$sane" -f "$made" log --pid 9 | grep -q '[^ -~	]' &&
	"$sane" -f "$made" log --pid 9 | grep -q ' gr????e '
}

numbers() {
	local option
	[ "$("$sane" -f "$made" log --pid 0110 | events)" = "$("$sane" -f "$made" log --pid 110 | events)" ] || return
	[ "$("$sane" -f "$made" log --pid 110 | events)" -gt 200 ] && [ "$("$sane" -f "$made" log --pid 72 | events)" -gt 200 ] || return
	[ "$("$sane" -f "$made" log --last 010 | events)" = 10 ] || return
	[ "$("$sane" -f "$made" log --pid 0x6e | events)" = "$("$sane" -f "$made" log --pid 110 | events)" ] || return
	for option in pid cpu stack tag last; do
		refused 2 "--$option 0x: must be" log --$option 0x && refused 2 "--$option 08x: must be" log --$option 08x || return
	done
	for option in pid= pid=x pid=-1 pid=4194304 'pid= 1' pid=1.5 pid=1,-2 'pid=1,' cpu=-1 cpu=65536 cpu=all cpu=,1 'cpu=1,' cpu=1- cpu=3-2 tag= tag=18446744073709551616 tag=0xg tag=-1 \
		stack= stack=0 stack=4294967296 stack=-3 last= last=0 last=-1 last=1k since=yesterday since=. since=1. since=1.2.3 since=1.1234567891 until=1s until=99999999999; do
		refused 2 "--${option/=/ }: must be" log "--$option" || return
	done
	refused 2 --comm log --comm '' && refused 2 --comm log --comm 'sixteen letters!'
}

# expected CONDITION: events of a log for which awk's condition on t, pid and cpu holds
expected() {
	"$plain" -f "$made" log | awk '/^[0-9]/ { t = $1; pid = substr($0, 36, 7) + 0; cpu = substr($0, 44, 3) + 0; if ('"$1"') n++ } END { print n + 0 }'
}

# chooses CONDITION OPTION...: the options choose the events for which the condition holds
chooses() {
	local want got
	want=$(expected "$1")
	shift
	got=$("$sane" -f "$made" log "$@" | events)
	[ "$got" = "$want" ] && [ "$got" -gt 0 ] && return
	echo "log $*: $got events, not $want"
	return 1
}

lists() {
	chooses 'pid == 110 || pid == 9' --pid 110,9 &&
	chooses 'pid == 110 || pid == 9' --pid 110 --pid 9 &&
	chooses 'pid >= 9 && pid <= 72' --pid 9-72 && chooses 'cpu != 1' --cpu 0,2-3 &&
	chooses 'cpu != 1 && pid == 9' --cpu 2 --cpu 0 --pid 9 &&
	chooses 'pid == 110 || pid == 72' --comm worker --comm b,c &&
	chooses 'pid == 110 || pid == 9' --comm 'w*' --comm 'gr*' &&
	chooses 't >= 7 && t <= 15 && t % 2' --tag 0xffff888100000001-0xffff888100000009 &&
	chooses 't == 7 || t == 11' --tag 0xffff888100000001,0xffff888100000005 || return
	# An address and a size; and all but some: what has no tag meets no --tag
	chooses 't >= 7 && t <= 15 && t % 2' --tag 0xffff888100000000/10 &&
	chooses 't == 7' --tag 0xffff888100000001/2 && chooses 't == 7 || t >= 15 && t <= 17 && t % 2' --tag 0xffff888100000001/1,0xffff888100000009/0x3 &&
	chooses 't % 2' --tag '!0' && chooses 't % 2 && t != 7' --tag '!0xffff888100000001' &&
	chooses 't % 2 && t > 15' --tag '!0xffff888100000000/10' && chooses 't % 2 && t > 15' --tag '!0xffff888100000000-0xffff888100000009' &&
	chooses 't == 7 || t == 11' --tag 0xffff888100000001-0xffff888100000005 --tag '!0xffff888100000003' &&
	chooses 'cpu != 1' --cpu '!1' && chooses 'cpu == 2' --cpu '!1,!0' && chooses 'pid != 9 && pid != 110' --pid '!9,!110' &&
	[ "$("$sane" -f "$made" log --tag '!0' --function far_0 | events)" = "$("$sane" -f "$made" log --tag 1-0xffffffffffffffff --function far_0 | events)" ] &&
	[ "$("$sane" -f "$made" count --tag 0xffff888100000000/10 2>/dev/null | totals | awk '{ n += $1 } END { print n }')" = 5 ] &&
	[ "$("$sane" -f "$made" log --stack '!1' | grep -c '^	same_0')" = 0 ] && [ "$("$sane" -f "$made" log --stack '!3' | grep -c '^	same_0')" = 0 ] &&
	[ "$("$sane" -f "$made" log --stack '!3' | events)" = "$("$sane" -f "$made" log --stack 2,4 | events)" ] || return
	for option in '--tag=!' '--tag=!!0' '--tag=0/0' '--tag=1/' '--tag=1-2/3' '--tag=0xffffffffffffffff/2' '--pid=1/2' '--tag=not 0'; do
		refused 2 "must be" log "$option" || return
	done
	[ "$("$sane" -f "$made" log --stack 2,4 | grep -c '^	\(far\|cut\)_0')" = "$("$plain" -f "$made" log --stack 2,4 | events)" ] &&
	[ "$("$plain" -f "$made" log --stack 2 --stack 4 | events)" = "$("$plain" -f "$made" log | grep -c '^	\(far\|cut\)_0')" ] || return
	# The highest there is
	"$sane" -f "$made" log --pid 4194303 >/dev/null || return
	[ "$("$sane" -f "$made" log --pid 110 --pid 9,72 --cpu 0-2 --function far_0 | events)" = "$("$plain" -f "$made" log --function far_0 | awk '/^[0-9]/' |
		wc -l | awk -v idle="$("$plain" -f "$made" log --pid 0 --function far_0 | events)" '{ print $1 - idle }')" ]
}

# The newest event is at 1005 s, 22:30:00.123456789
times() {
	local first zone time
	chooses 't >= 995' --since -10s && chooses 't >= 945' --since -1m && chooses 't <= 45' --until -16m &&
	chooses 't >= 1004.5' --since -0.5s && chooses 't >= 1004.5' --since -500ms && chooses 't >= 6' --since -1h && chooses 't >= 6' --since -2d &&
	chooses 't >= 995 && t <= 1000' --since -10s --until -5s &&
	# Relative to the newest event of all, not to the newest that is chosen
	chooses 't >= 1000 && pid == 9' --pid 9 --since -5s &&
	chooses 't == 989 && pid == 9' --pid 9 --until -11s --last 1 || return
	chooses 't >= 995' --since 22:29:50.123456789 && chooses 't >= 995' --since 22:29:50 &&
	chooses 't > 995' --since 22:29:50.2 && chooses 't >= 945' --since 22:29 &&
	chooses 't >= 945' --since '2023-11-14 22:29' && chooses 't >= 6' --since 2023-11-14 &&
	chooses 't >= 995' --since 2023-11-14T22:29:50.123456789+00:00 &&
	chooses 't >= 995' --since 2023-11-14T22:29:50Z &&
	chooses 't >= 995' --since 2023-11-14T23:59:50+0130 &&
	chooses 't <= 65' --until 22:14:20.2 && chooses 't >= 0' --until 9999-12-31 && chooses 't >= 0' --until 2300-01-01 || return
	"$sane" -f "$made" log --since 9999-12-31 2>&1 >/dev/null | grep -q ': --since excludes all of them: loosen it$' || return
	TZ=XYZ-2 chooses 't >= 995' --since 00:29:50 && TZ=XYZ-2 chooses 't >= 995' --since '2023-11-15 00:29:50' || return
	# Times as --wall prints them, in any zone
	for zone in UTC XYZ-5:30 ABC3; do
		first=$(TZ=$zone "$plain" -f "$made" log --wall --last 11 | sed -n '2s/ .*//p')
		TZ=$zone chooses 't >= 995' --since "$first" || return
	done
	[ "$(TZ=XYZ-5:30 "$sane" -f "$made" log --wall --last 1 | sed -n '2s/ .*//p')" = 2023-11-15T04:00:00.123456789+05:30 ] ||
		{ echo zone; return 1; }
	# Columns are aligned with their headings
	TZ=ABC3 "$sane" -f "$made" log --wall --last 1 | awk 'NR == 1 { at = index($0, "COMM") } NR == 2 { exit substr($0, at - 1, 7) != " worker" }' ||
		{ echo columns; return 1; }
	refused 2 'later than --until' -f "$made" log --since -1s --until -2s &&
	refused 2 'later than --until' -f "$made" log --since 22:29 --until 22:28 || return
	for time in 7:00 24:00 22:60 22:29:61 22:29: '2023-02-30' '2023-11-14 ' '2023-11-14X' '2023-13-01' 22:29+01:00 -10 -s -10y --10s ''; do
		refused 2 "--since $time: must be" log --since "$time" || return
	done
}

# ----------------------------------------------------------------- totals ---

totals() { awk '/^    [0-9]/ { print $1 }'; }

top() {
	local what
	for what in count 'count --function far* --function same* --function cut*'; do
		set -f
		# shellcheck disable=SC2086 # words
		set -- $what
		set +f
		[ "$("$sane" -f "$made" "$@" | totals | tail -n 2)" = "$("$sane" -f "$made" "$@" --top 2 | totals)" ] &&
		[ "$("$plain" -f "$made" "$@" | totals | wc -l)" = 3 ] &&
		[ "$("$plain" -f "$made" "$@" --top 3)" = "$("$plain" -f "$made" "$@")" ] &&
		[ "$("$sane" -f "$made" "$@" --folded --top 1 | wc -l)" = 1 ] &&
		[ "$("$sane" -f "$made" "$@" --json --top 1 | wc -l)" = 1 ] || { echo "$what"; return 1; }
		# Percentages are of all events, also if some are not shown
		"$sane" -f "$made" "$@" --percent --top 2 >"$dir/out" &&
			awk '/^    [0-9]/ { if (NF != 3 || $3 != "%" || sprintf("%.2f", $1 / 10) != $2) exit 1; n++ } END { exit n != 2 }' "$dir/out" ||
			{ echo "$what --percent"; cat "$dir/out"; return 1; }
	done
	refused 2 '--top is for text' count --top 1 --pprof && refused 2 '--percent is for text' count --percent --folded &&
	refused 2 '--top 0: must be' count --top 0
}

json_of_functions() {
	"$sane" -f "$made" log --json --function far_0 >"$dir/out" && [ -s "$dir/out" ] &&
		"$plain" -f "$made" log --json | grep '"frames":\["far_0' | cmp - "$dir/out" || return
	"$sane" -f "$made" count --json "${all_functions[@]}" >"$dir/out" &&
		"$plain" -f "$made" count --json | cmp - "$dir/out" || return
	"$sane" -f "$made" count --json --percent "${all_functions[@]}" | python3 -c '
import json, sys
total = percent = 0
for line in sys.stdin:
    e = json.loads(line)
    total += e["count"]
    percent += e["percent"]
    assert len(e["frames"]) == len(e["addresses"]) and e["stack"] != 3
assert total == 1000 and abs(percent - 100) < 0.01, (total, percent)'
}

# One event, in each format
formats_exact() {
	local format
	for format in '' --perf --folded '--json --wall' --wall; do
		# shellcheck disable=SC2086 # words
		"$sane" -f "$made" log $format --tag 0xffff888100000003 || return
	done >"$dir/out"
	diff - "$dir/out" <<'END'
TIME(s)            COMM            PID     CPU STACK      TGID    CONTEXT TAG
9.000000000        worker          110     0   4          110     nmi     0xffff888100000003
	cut_0+0x10/0x20 [made]
	cut_1+0x10/0x20 [made]
	(more frames were not kept)

worker 110/110 [000] 9.000000000: 1 stackbuf:
	ffffffff81234610 cut_0+0x10 ([made])
	ffffffff81234720 cut_1+0x10 ([made])
	               0 [more_frames_were_not_kept] ([stackbuf])

worker;(more frames were not kept);cut_1_[made];cut_0_[made] 1
{"time_ns":"9000000000","wall_ns":"1700000004123456789","wall":"2023-11-14T22:13:24.123456789+00:00","cpu":0,"pid":110,"tgid":110,"comm":"worker","context":"nmi","tag":"0xffff888100000003","release":"6.1.0-made","stack":4,"symbols":"text","gone":false,"cut":true,"build_ids":{},"frames":["cut_0+0x10/0x20 [made]","cut_1+0x10/0x20 [made]"],"addresses":["0xffffffff81234610","0xffffffff81234720"]}
TIME(s)                             COMM            PID     CPU STACK      TGID    CONTEXT TAG
2023-11-14T22:13:24.123456789+00:00 worker          110     0   4          110     nmi     0xffff888100000003
	cut_0+0x10/0x20 [made]
	cut_1+0x10/0x20 [made]
	(more frames were not kept)

END
}

# In perf script's format "#" begins a comment, and a blank a frame
perf_names() {
	cp -r "$made" "$dir/hash" && LC_ALL=C sed -i 's/worker/#orker/g' "$dir/hash/events" && "$sane" -f "$dir/hash" log --perf >"$dir/out" || return
	[ "$(grep -c '^_orker ' "$dir/out")" = "$("$plain" -f "$made" log --perf | grep -c '^worker ')" ] && ! grep '^[# ]' "$dir/out" || return
	# An empty name
	LC_ALL=C sed -i 's/#orker/\x00orker/g' "$dir/hash/events" && "$sane" -f "$dir/hash" log --perf >"$dir/out" || return
	[ "$(grep -c '^? [0-9]' "$dir/out")" = "$("$plain" -f "$made" log --perf | grep -c '^worker ')" ] && ! grep '^?[^ ]' "$dir/out" || return
	refused 2 'does not begin with "#"' -f "$made" count --folded --prefix '#1 prod'
}

# Every stack of this record begins in one of these
all_functions=(--function 'far*' --function 'same*' --function 'cut*')

formats_of_functions() {
	local format command
	# Formats of all events are those of the log
	for format in --perf --wall --json; do
		"$sane" -f "$made" log $format "${all_functions[@]}" >"$dir/out" &&
			"$plain" -f "$made" log $format >"$dir/all" || return
		case $format in
		--wall) diff <(awk '/^[0-9]/ { print $1 }' "$dir/all") <(awk '/^[0-9]/ { print $1 }' "$dir/out") && [ -s "$dir/out" ] ;;
		*) cmp "$dir/all" "$dir/out" ;;
		esac || { echo "log $format"; return 1; }
	done
	for command in log count; do
		"$sane" -f "$made" "$command" --folded "${all_functions[@]}" | sort >"$dir/out" || return
		"$plain" -f "$made" "$command" --folded | sort | diff - "$dir/out" || { echo "$command --folded"; return 1; }
		"$sane" -f "$made" "$command" --flame "$dir/out.svg" "${all_functions[@]}" &&
			"$plain" -f "$made" "$command" --flame "$dir/all.svg" && cmp "$dir/all.svg" "$dir/out.svg" ||
			{ echo "$command --flame"; return 1; }
	done
	"$sane" -f "$made" log --flame "$dir/out.svg" --pid 9 --function far_0 || return
	grep -q ">far_0 \[made\] ($("$plain" -f "$made" log --pid 9 --function far_0 | events) events" "$dir/out.svg" &&
		! grep -q same_0 "$dir/out.svg" || return
	# Without a PATTERN count shows no commands, nor with a filter
	"$sane" -f "$made" count --pid 9 --flame "$dir/out.svg" && "$plain" -f "$made" count --pid 9 --folded | cut -d ';' -f 1 | cut -d ' ' -f 1 | sort -u >"$dir/outermost" &&
		grep -o '<title>[^ ]*' "$dir/out.svg" | sed -n '3s/<title>//p' | grep -qxFf "$dir/outermost" || { grep -o '<title>[^ ]*' "$dir/out.svg" | head -n 3; cat "$dir/outermost"; return 1; }
}

# A module with the functions of "far", in line 5, 10 and 15 of made.S
lines_of_functions() {
	local i command lines=(--lines --force -k "$dir/debug/vmlinux" -m "$dir/debug")
	mkdir "$dir/debug" && cd "$dir/debug" || return
	for i in 0 1 2; do
		printf '.type far_%d,@function\nfar_%d:\n.size far_%d,32\n.rept 32\nnop; .endr\n' $i $i $i
	done >made.S
	gcc -g -c -o made.ko made.S && echo 'int none;' >none.c && gcc -g -c -o "$dir/debug/vmlinux" none.c || return
	for command in log count; do
		"$sane" -f "$made" $command "${lines[@]}" --function far_0 2>/dev/null >"$dir/out" || return
		grep '^[	 ][	 ]*far_' "$dir/out" >"$dir/frames" && ! grep -v ' (.*made\.S:\(5\|10\|15\))$' "$dir/frames" ||
			{ echo "$command:"; head -n 5 "$dir/out"; return 1; }
		"$sane" -f "$made" $command --json "${lines[@]}" --function far_0 2>/dev/null | head -n 1 |
			grep -q '"lines":\["([^"]*made.S:5)","([^"]*made.S:10)","([^"]*made.S:15)"\]' || { echo "$command --json"; return 1; }
	done
	# Modules are searched for at any depth of vmlinux's directory
	cd "$dir" && rm -r "$dir/debug"
}

# With labels, and those of events that were overwritten
profiles_of_functions() {
	local command
	for command in log count; do
		"$plain" -f "$made" "$command" --pprof | labels | sort >"$dir/all" && [ -s "$dir/all" ] || return
		"$sane" -f "$made" "$command" --pprof "${all_functions[@]}" | labels | sort | diff "$dir/all" - ||
			{ echo "$command --pprof"; return 1; }
	done
	EVENT_PAGES=64 "$fake" "$dir/laps" 20000 && "$plain" -f "$dir/laps" count --pprof | labels | sort >"$dir/all" || return
	grep -q '^event overwritten [1-9]' "$dir/all" && grep -q '^tag ' "$dir/all" || return
	# The events that were overwritten are in its duration: 20,000 us
	"$sane" -f "$dir/laps" count --pprof | zcat | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" | grep -q '^10: 19999[0-9]*$' || return
	# Without an event it has none
	cat "$dir/laps/"{info,stacks,text} >"$dir/no_laps" || return
	"$sane" -f "$dir/no_laps" count --pprof | zcat | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" >"$dir/out" &&
		grep -q '^1 ' "$dir/out" && ! grep '^10:' "$dir/out" || return
	"$sane" -f "$dir/laps" count --pprof --function 'known_*' | labels | sort | diff "$dir/all" - | head -n 5 >"$dir/out"
	[ ! -s "$dir/out" ] || { cat "$dir/out"; return 1; }
}

# Numbers that a double cannot hold exactly are strings
exact_numbers() {
	# That has addresses of probes as well
	"$fake" "$dir/counted" 10 counted || return
	{
		"$sane" -f "$made" log --json --wall
		"$sane" -f "$made" count --json
		"$sane" -f "$dir/counted" info --json
		"$sane" -f "$made" info --json
	} | python3 -c '
import json, sys
def walk(x):
    if isinstance(x, dict):
        for value in x.values(): walk(value)
    elif isinstance(x, list):
        for value in x: walk(value)
    elif isinstance(x, int): assert abs(x) <= 2 ** 53, x
for line in sys.stdin:
    e = json.loads(line)
    walk(e)
    for key in e:
        assert not key.endswith("_ns") or isinstance(e[key], str) and int(e[key]), key
assert e["load_realtime_ns"] == "1700000000123456789" and e["newest_ns"] == "1005000000000"'
}

# Machines 0 and 3 run one kernel at different addresses, machine 1 another
same_code() {
	local n
	for n in 0 1 3; do
		"$fake" "$dir/host$n" host $n 20000 && "$sane" -f "$dir/host$n" count --json >"$dir/host$n.count" 2>/dev/null &&
			"$sane" -f "$dir/host$n" log --json --last 1000 >"$dir/host$n.log" || return
	done
	python3 - "$dir" <<'END'
import json, sys
def stacks(n, what):
    lines = [json.loads(line) for line in open(f"{sys.argv[1]}/host{n}.{what}")]
    assert all(e["host"] == f"host{n}" and e["release"] == f"6.1.{n % 3}-made" for e in lines), lines[0]
    assert what == "count" or all(int(e["wall_ns"]) > 16 * 10 ** 17 for e in lines)
    return {(tuple(sorted(e["build_ids"].items())), tuple(e["frames"])): e["addresses"] for e in lines}
for what in "count", "log":
    zero, one, three = stacks(0, what), stacks(1, what), stacks(3, what)
    assert all(ids for ids, _ in zero) and not zero.keys() & one.keys(), what
    both = zero.keys() & three.keys()
    # Each of the 300 has some events, or nearly
    assert len(both) > 200 and not any(zero[k] == three[k] for k in both), (what, len(both))
END
}

modules() {
	"$sane" -f "$made" count --folded | grep -q '^far_2_\[made\];far_1_\[made\];far_0_\[made\] [0-9]*$' &&
	"$sane" -f "$made" log --folded | grep -q '^worker;far_2_\[made\];far_1_\[made\];far_0_\[made\] [0-9]*$' &&
	"$sane" -f "$made" count --folded --function far_0 | grep -q '^far_2_\[made\];far_1_\[made\];far_0_\[made\] [0-9]*$' || return
	# Each line has two fields: the stack and its total
	"$plain" -f "$made" count --folded >"$dir/out" && [ -s "$dir/out" ] && ! grep -v '^[^ ]* [0-9]*$' "$dir/out" | grep -v 'more frames were not kept'
}

# -------------------------------------------------------------------- help ---

# completed COMMAND: the options that are completed for it
completed() (
	COMP_WORDS=("$plain" "$1" --) COMP_CWORD=2
	# shellcheck source=/dev/null
	. "$top/tools/stackbuf.bash"
	_stackbuf
	printf '%s\n' "${COMPREPLY[@]}" | sort
)

# in_manual COMMAND: the long options that its own manual page has in the synopsis and as tags
in_manual() {
	sed 's/\\-/-/g; s/\\f[A-Z]/ /g' "$top/man/stackbuf-$1.8" | awk '
		/^\.SH/ { on = /SYNOPSIS/ }
		on || tag { print }
		{ tag = /^\.T[PQ]/ }' | grep -o -- '--[a-z-]*' | sort -u
}

# --around is --since and --until, whatever kind of time it is given
around() {
	local span time=("100" "100.25,500ms" "-20s,3" "22:15:00,2" "2023-11-14 22:15:00,2" "0.5,1h") since=("99" "99.75" "-23s" "22:14:58" "2023-11-14 22:14:58" "0")
	local until=("101" "100.75" "-17s" "22:15:02" "2023-11-14 22:15:02" "3600.5")
	for ((span = 0; span < ${#time[@]}; span++)); do
		"$sane" -f "$made" log --around="${time[span]}" >"$dir/out" &&
			"$plain" -f "$made" log --since="${since[span]}" --until="${until[span]}" | cmp - "$dir/out" &&
			[ "$(wc -l <"$dir/out")" -gt 4 ] || { echo "${time[span]}"; wc -l "$dir/out"; return 1; }
	done
	"$sane" -f "$made" log --around 99999 2>&1 >/dev/null | grep -q ': --around excludes all of them: loosen it$' || return
	refused 2 'must be TIME or TIME,SPAN' log --around 5,x && refused 2 'must be TIME or TIME,SPAN' log --around x &&
		refused 2 'must be TIME or TIME,SPAN' log --around 5,0 && refused 2 'cannot be used with --since' log --around 5 --since 3
}

# life prints the events of --tag, each with a line before it
life() {
	local line
	"$sane" -f "$made" life 0xffff888100000001+9 >"$dir/out" || return
	"$plain" -f "$made" log --tag 0xffff888100000001/9 >"$dir/log" || return
	grep -v '^[1-9]\. ' "$dir/out" | diff <(sed 1d "$dir/log") - || return
	"$sane" -f "$made" life 0xffff888100000001+9 --json | cmp - <("$plain" -f "$made" log --tag 0xffff888100000001/9 --json) || return
	"$sane" -f "$made" life 0xffff888100000003 --last 1 | grep -qx '1\. cut_0 \[made\]' || return
	for line in '1. far_0 [made]' '2. cut_0 [made], at +2, 2.000000000 s later' '5. same_0 [made], at +8, 2.000000000 s later'; do
		grep -qxF "$line" "$dir/out" || { cat "$dir/out"; return 1; }
	done
	# What the ring no longer has is not known
	"$fake" "$dir/laps" 1000000 || return
	"$sane" -f "$dir/laps" life 0+0xffffffffffffffff 2>&1 >/dev/null | grep -q 'goes back to .*: earlier events are not known' || return
	"$sane" -f "$made" life 1+0xffffffffffffffff >"$dir/out" 2>"$dir/err" && [ -s "$dir/out" ] && ! grep 'earlier events are not known' "$dir/err" || return
	"$sane" -f "$made" life 12 2>&1 | grep -q 'no event matches: .*: ADDRESS excludes all of them: loosen it' || return
	refused 2 'must be an address' life 0x12/3 && refused 2 'must be an address' life '!1' && refused 2 'must be an address' life 1+0 &&
		refused 2 'the ADDRESS is missing' life && refused 2 'one argument too many' life 1 2
}

# Each option that a command's help shows is accepted and completed, and no other
help_is_exact() {
	local command option all value shown said alien='is not for|unknown option'
	all=$("$plain" --help | grep -o '^  *\(-., \)\?--[a-z-]*' | grep -o -- '--[a-z-]*' | sort -u) || return
	for command in leaks latency errors count snoop; do
		all+=" $("$plain" "$command" -h | grep -o -- '^  *\(-., \)\?--[a-z-]*' | grep -o -- '--[a-z-]*' | tr '\n' ' ')"
	done
	all=$(tr ' ' '\n' <<<"$all" | sort -u)
	for command in info text log report life leaks latency offcpu errors count snoop depth save diff metrics decode; do
		shown=$("$plain" "$command" -h | grep -o '^  *\(-., \)\?--[a-z-]*') || return
		for option in $all; do
			case $option in
			--help | --version) continue ;;
			--file | --instance | --last | --stack | --number | --interval | --duration | --older | --pid | --cpu | --tag | --since | --until | --around) value="=1" ;;
			--comm | --function | --error | --exclude | --longer | --cgroup | --on-trigger | --vmlinux | --top | --prefix) value="=1" ;;
			--output | --flame) value="=$dir/nowhere/x" ;;
			--modules) value="=/" ;;
			*) value='' ;;
			esac
			# A source that does not exist, where one is needed, so that nothing is done
			set -- "$command" "$option$value"
			[[ $command == decode || $command == diff || $command == snoop ]] || set -- --file "$dir/nowhere" "$@"
			[ "$command" != diff ] || set -- "$@" "$dir/nowhere" "$dir/nowhere"
			[[ $command != save && $command != report ]] || set -- "$@" "$dir/nothing"
			[ "$command" != life ] || set -- "$@" 1
			said=$(STACKBUF_PARAMETERS=$dir/nowhere "$plain" "$@" 2>&1 >/dev/null </dev/null)
			if [[ $shown$'\n' == *"$option"$'\n'* ]]; then
				[[ ! $said =~ $alien ]] || { echo "$command -h shows $option: $said"; return 1; }
			else
				[[ $said =~ $alien ]] || { echo "$command -h does not show $option: $said"; return 1; }
				continue
			fi
			# The same with a function
			[[ $command == count || $command == snoop ]] || continue
			case $option in
			--file | --kept | --scan | --instance | --since | --until | --around | --stack | --function | --last) continue ;;
			esac
			said=$(STACKBUF_PARAMETERS=$dir/nowhere "$plain" "$command" "$option$value" vfs_read 2>&1 >/dev/null </dev/null)
			[[ ! $said =~ $alien|'too many' ]] || { echo "$command with a function does not take $option: $said"; return 1; }
		done
		grep -o -- '--[a-z-]*' <<<"$shown" | cat - <(echo --version) | sort -u >"$dir/shown"
		diff "$dir/shown" <(completed "$command") || { echo "completion of $command"; return 1; }
	done
	for command in count snoop metrics; do
		[ "$(in_manual "$command" | wc -l)" -ge "$([ $command = metrics ] && echo 2 || echo 4)" ] || { echo "too few options in stackbuf-$command(8)"; return 1; }
		"$plain" "$command" -h | grep -o -- '--[a-z-]*' | sort -u | comm -13 - <(in_manual "$command") >"$dir/out"
		[ ! -s "$dir/out" ] || { echo "$command does not take, but stackbuf-$command(8) has:"; cat "$dir/out"; return 1; }
	done
	# Headings: letter, name and value
	"$top/tests/helpers/manual.py" "$plain" "$top/man" >"$dir/out" && [ ! -s "$dir/out" ] || { cat "$dir/out"; return 1; }
	! "$plain" log -h | grep -q -- '-[pc],' && "$plain" snoop -h | grep -q -- '-p, --pid' &&
		"$plain" count -h | grep -q -- '-c, --cpu'
}

empty_graph() {
	cd "$dir" || return
	"$sane" -f "$made" log --cpu 7 --flame empty.svg 2>err || { cat err; return 1; }
	[ "$(wc -l <err)" = 1 ] && grep -q 'no event' err && grep -q '>0 events' empty.svg &&
		grep '<rect' empty.svg >rects && ! grep -qi 'nan\|inf%' rects || return
	python3 -c 'import sys, xml.etree.ElementTree as x; x.parse(sys.argv[1])' empty.svg
}

# ---------------------------------------------------- versions, KASLR's offset ---

# info_has WORDS SOURCE [OPTION...]: "info" has this line, with any number of blanks
info_has() {
	"$sane" -f "$2" info "${@:3}" >"$dir/out" 2>"$dir/err" && tr -s ' ' <"$dir/out" | grep -qx -- "$1" && [ ! -s "$dir/err" ] && return
	echo "$2: not \"$1\":"
	grep 'version\|KASLR' "$dir/out"
	cat "$dir/err"
	return 1
}

# image FILE OFFSET...: a raw image of memory with the made-up record, and a page of VMCOREINFO for each offset
image() {
	local file=$1 offset
	shift
	for offset; do
		printf 'OSRELEASE=%s\nBUILD-ID=0123456789abcdef\nPAGESIZE=4096\nKERNELOFFSET=%s\nX=1\n' "${release:-6.1.0-made}" "$offset" >"$dir/page"
		truncate -s 4096 "$dir/page"
		cat "$dir/page"
	done >"$file"
	cat "$made/info" "$made/events" "$made/stacks" "$made/text" >>"$file"
}

versions() {
	local version source
	version=$(sed -n 's/^VERSION := //p' "$top/Makefile") && [ "$version" ] || return
	"$sane" --version | head -n 1 | grep -qx "stackbuf $version, memory format [0-9]*" || return
	if [ -e /sys/module/stackbuf/version ]; then
		"$sane" --version | grep -qx "module $(cat /sys/module/stackbuf/version) is loaded"
	else
		"$sane" --version | grep -qx 'no module is loaded'
	fi || return
	image "$dir/image" 0
	for source in "$made" "$dir/snapshot" "$dir/image"; do
		info_has "reader's version $version" "$source" && info_has "module's version 7.5-made" "$source" || return
		"$sane" -f "$source" info --json | grep -q "\"reader_version\":\"$version\",\"module_version\":\"7.5-made\"," || return
	done
	# A module that did not know its version
	cp -r "$made" "$dir/old" && LC_ALL=C sed -i 's/7\.5-made/\x00\x00\x00\x00\x00\x00\x00\x00/' "$dir/old/info" &&
		info_has "module's version unknown" "$dir/old"
}

# By VMCOREINFO of a dump, kept by a snapshot of it, and by vmlinux
kernel_offset() {
	local addr
	info_has 'offset of KASLR unknown: name vmlinux with -k' "$made" &&
	"$sane" -f "$made" info --json >"$dir/out" && ! grep -q kernel_offset "$dir/out" || return
	image "$dir/image" 1c200000 && info_has 'offset of KASLR 0x1c200000 (from VMCOREINFO)' "$dir/image" || return
	"$sane" -f "$dir/image" info --json | grep -q '"kernel_offset":"0x1c200000"' &&
	"$sane" -f "$dir/image" info --json | grep -q '"kernel_offset_from":"VMCOREINFO"' || return
	"$sane" -f "$dir/image" save "$dir/kept" && info_has 'offset of KASLR 0x1c200000 (from snapshot)' "$dir/kept" &&
		"$sane" -f "$dir/kept" save "$dir/kept again" && info_has 'offset of KASLR 0x1c200000 (from snapshot)' "$dir/kept again" || return
	image "$dir/image" 0 && info_has 'offset of KASLR 0x0 (from VMCOREINFO)' "$dir/image" || return
	# Which of two kernels is it of?  Is the dump of another kernel than the record?
	image "$dir/image" 1c200000 1c400000 && info_has 'offset of KASLR unknown: name vmlinux with -k' "$dir/image" &&
	image "$dir/image" 1c200000 1c200000 && info_has 'offset of KASLR 0x1c200000 (from VMCOREINFO)' "$dir/image" &&
	release=6.1.0-other image "$dir/image" 1c200000 && info_has 'offset of KASLR unknown: name vmlinux with -k' "$dir/image" &&
	image "$dir/image" 1c2x && info_has 'offset of KASLR unknown: name vmlinux with -k' "$dir/image" || return
	echo 'void stack_trace_save(void); void stack_trace_save(void) {} int main(void) { return 0; }' >"$dir/kernel.c"
	gcc -g -no-pie -Wl,--build-id=0x0123456789abcdef -o "$dir/vmlinux" "$dir/kernel.c" || return
	addr=$(nm "$dir/vmlinux" | sed -n 's/ T stack_trace_save$//p') || return
	addr=$(printf '%x' $((0xffffffff81234500 - 0x$addr)))
	image "$dir/image" 1c200000
	info_has "offset of KASLR 0x$addr (from vmlinux)" "$dir/image" -k "$dir/vmlinux" &&
	info_has "offset of KASLR 0x$addr (from vmlinux)" "$made" -k "$dir/vmlinux" || return
	# arm64's is ET_DYN
	gcc -g -pie -o "$dir/dynamic" "$dir/kernel.c" && readelf -h "$dir/dynamic" | grep -q 'Type: *DYN' || return
	addr=$(nm "$dir/dynamic" | sed -n 's/ T stack_trace_save$//p') && info_has "offset of KASLR 0x$(printf '%x' $((0xffffffff81234500 - 0x$addr))) (from vmlinux)" "$made" -k "$dir/dynamic" || return
	gcc -g -Dstack_trace_save=other -o "$dir/other" "$dir/kernel.c" &&
	refused 1 'has no function stack_trace_save' -f "$made" info -k "$dir/other"
}

# ------------------------------------------------------------- source lines ---

# module DIRECTORY NAME: a file for a module with one function; prints a frame in it
module() {
	mkdir -p "$1" || return
	printf 'int %s_f(int x);\nint %s_f(int x)\n{\n\treturn x + 1;\n}\n' "$2" "$2" >"$1/$2.c"
	(cd "$1" && gcc -g -c -o "$2.ko" "$2.c") || return
	nm -S "$1/$2.ko" | awk -v name="$2" '$4 == name "_f" { sub(/^0*/, "", $2); print " " name "_f+0x1/0x" $2 " [" name "]" }'
}

directories_of_modules() {
	{ module "$dir/m/one" one && module "$dir/m/two" two; } >"$dir/frames" && [ "$(wc -l <"$dir/frames")" = 2 ] || return
	"$sane" decode -k "$dir/vmlinux" -m "$dir/m/one" --modules "$dir/m/two" "$dir/frames" >"$dir/out" 2>"$dir/err" || { cat "$dir/err"; return 1; }
	[ "$(grep -c 'one_f.*one.c:[0-9]*)$\|two_f.*two.c:[0-9]*)$' "$dir/out")" = 2 ] || { cat "$dir/out"; return 1; }
	# The first one that has the module counts
	module "$dir/m/three" one >"$dir/frames"
	"$sane" decode -k "$dir/vmlinux" -m "$dir/m/three" -m "$dir/m/one" "$dir/frames" 2>&1 >/dev/null | grep -q 'm/three/one.ko: not known' || return
	echo ' four_f+0x1/0x9 [four]' >"$dir/frames"
	"$sane" decode -k "$dir/vmlinux" -m "$dir/m/one" -m "$dir/m/two" "$dir/frames" >/dev/null 2>"$dir/err"
	grep -q 'no four.ko in the directories of -m or the usual places' "$dir/err" || { cat "$dir/err"; return 1; }
	refused 1 "-m $dir/nowhere: No such" decode -m "$dir/m/one" -m "$dir/nowhere" "$dir/frames"
}

# vmlinuz RELEASE: the part of an image for x86 that says what it is
vmlinuz() {
	head -c 514 /dev/zero
	printf 'HdrS'
	head -c 8 /dev/zero
	printf '\0\1'
	head -c 240 /dev/zero
	printf '%s (debian-kernel@lists.debian.org) #1 SMP' "$1"
	noise 4096
}

images_without_debug_information() {
	local boot='is a compressed image for booting, without debug information, not a vmlinux'
	echo ' vfs_read+0x12/0x80' >"$dir/frames"
	vmlinuz 6.1.0-none-cloud-amd64 >"$dir/vmlinuz"
	refused 1 "$dir/vmlinuz $boot: Debian's package linux-image-6.1.0-none-cloud-amd64-dbg has it" decode -k "$dir/vmlinuz" "$dir/frames" || return
	for one in "5.14.0-362.el9.x86_64 the package kernel-debuginfo-5.14.0-362.el9.x86_64" "6.8.0-90-generic Ubuntu's package linux-image-6.8.0-90-generic-dbgsym"; do
		vmlinuz "${one%% *}" >"$dir/other"
		refused 1 "$dir/other $boot: ${one#* } has it" decode -k "$dir/other" "$dir/frames" || return
	done
	# The release of the record goes before
	cp -r "$made" "$dir/debian" && LC_ALL=C sed -i 's/6\.1\.0-made\x00\x00\x00\x00/6.1.0-no-amd64/; s/#1 SMP made up/#1 SMP Debian /' "$dir/debian/info" || return
	info_has 'kernel 6.1.0-no-amd64' "$dir/debian" &&
	refused 1 "$boot: Debian's package linux-image-6.1.0-no-amd64-dbg has it" -f "$dir/debian" log --lines -k "$dir/vmlinuz" &&
	refused 1 "install Debian's package linux-image-6.1.0-no-amd64-dbg, or name the file: -k" -f "$dir/debian" log --lines &&
	refused 1 "$boot: the debug package of kernel 6.1.0-made has it, and the directory that it was built in" -f "$made" log --lines -k "$dir/vmlinuz" &&
	refused 1 'of kernel 6.1.0-made below /usr/lib/debug, /boot or /lib/modules: install its debug package, or name the file: -k' -f "$made" count --lines || return
	# A module of the kernel
	"$sane" -f "$dir/debian" log --lines -k "$dir/vmlinux" >/dev/null 2>"$dir/err"
	grep -q "no made.ko in the usual places (name its directory: -m): Debian's package linux-image-6.1.0-no-amd64-dbg has the kernel's own" "$dir/err" ||
		{ cat "$dir/err"; return 1; }
	mkdir -p "$dir/lib/kernel" && (cd "$dir/m/one" && gcc -c -o "$dir/lib/kernel/made.ko" one.c) || return
	"$sane" -f "$dir/debian" log --lines -k "$dir/vmlinux" -m "$dir/lib" >/dev/null 2>"$dir/err"
	grep -q "lib/kernel/made.ko has no debug information: Debian's package linux-image-6.1.0-no-amd64-dbg has it" "$dir/err" ||
		{ cat "$dir/err"; return 1; }
	gzip -c "$dir/vmlinuz" >"$dir/Image.gz" && refused 1 "$boot" decode -k "$dir/Image.gz" "$dir/frames" || return
	gcc -no-pie -o "$dir/stripped" "$dir/kernel.c" &&
	refused 1 "$dir/stripped has no debug information: Debian's package linux-image-6.1.0-no-amd64-dbg has it" -f "$dir/debian" log --lines -k "$dir/stripped" || return
	# What is no file, or no whole one
	mkfifo "$dir/fifo" && head -c $(($(stat -c %s "$dir/vmlinux") * 3 / 4)) "$dir/vmlinux" >"$dir/cut" &&
		refused 1 'fifo is no regular file: name the file' decode -k "$dir/fifo" "$dir/frames" && refused 1 "$dir is a directory: name the file" decode -k "$dir" "$dir/frames" &&
		refused 1 'cut is cut: it has ' decode -k "$dir/cut" "$dir/frames" &&
		refused 1 "-m $dir/frames: is no directory" decode -k "$dir/vmlinux" -m "$dir/frames" "$dir/frames" || return
	# A module's frames with its build id and without are missing for one reason
	printf ' f+0x1/0x2 [nosuch]\n f+0x1/0x2 [nosuch 0123456789012345678901234567890123456789]\n' >"$dir/ids"
	"$sane" decode -k "$dir/vmlinux" "$dir/ids" 2>&1 >/dev/null | grep -c 'frames of \[nosuch\] stay as they are' | grep -x 1
}

sizeless() {
	printf '[    1.0] Call Trace:\n vfs_read+0x12\n ffffffff81234567 ksys_read+0x1f ([kernel.kallsyms])\n' >"$dir/frames"
	"$sane" decode -k "$dir/vmlinux" "$dir/frames" >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && cmp "$dir/out" "$dir/frames" && [ "$(wc -l <"$dir/err")" = 2 ] &&
		grep -q "2 frames stay as they are: they lack the function's size, and not exactly one function has their name" "$dir/err" ||
		{ cat "$dir/err"; return 1; }
	# No frame: names alone, numbers, what is no hexadecimal number
	printf '\tvfs_read\n[mem 0x1000+0x2000] a+0x b+0x1g\n' >"$dir/frames"
	"$sane" decode "$dir/frames" >"$dir/out" 2>"$dir/err" && cmp "$dir/out" "$dir/frames" && [ "$(wc -l <"$dir/err")" = 1 ] &&
		grep -q 'the text holds no frame as vfs_read+0x12/0x80' "$dir/err" || { cat "$dir/err"; return 1; }
	"$sane" decode </dev/null 2>&1 | grep . && return 1
	# Some have their size
	{ module "$dir/m/one" one; echo ' vfs_read+0x12'; } >"$dir/frames"
	"$sane" decode -k "$dir/vmlinux" -m "$dir/m/one" "$dir/frames" >"$dir/out" 2>"$dir/err" && grep -q 'one.c:[0-9]*)$' "$dir/out" &&
		grep -q '1 frame is cut and stays as it is: other frames have their size' "$dir/err" || { cat "$dir/out" "$dir/err"; return 1; }
}

all_tests() {
local why=''
result 'a made-up record' "$fake" "$made" options
"$plain" -f "$made" log >"$dir/log"
"$plain" -f "$made" save "$dir/snapshot"

result 'save follows symbolic links, and replaces what they lead to' links_are_followed
if result 'save and --flame write into FIFOs and devices' special_files | tee "$dir/special.said" | grep -q '^ok'; then
	cat "$dir/special.said"
	[ "$(id -u)" = 0 ] && mknod "$dir/try" c 1 3 2>/dev/null || why='not root, or no devices can be made here'
	unless "$why" 'a device stays one' devices
	result 'save - and /dev/stdout into a pipe: the same snapshot' pipes
else
	cat "$dir/special.said"
fi
with script 'save - does not write to a terminal' terminal
result 'save and --flame: when the file cannot be written, the old one stays and nothing else' nothing_half

with protoc '--pprof: CPU 0 and PID 0 have their labels' zeroes_survive

result 'a stack that the table holds twice is one everywhere' one_identity
result '--comm compares bytes' bytes_of_comm
result 'numbers are decimal, or hexadecimal with 0x' numbers
result 'lists of --pid, --cpu, --tag, --stack; several --comm' lists
result 'no event matches: one line says what was searched, and what to loosen' says_why_nothing
result '--since and --until: before the newest event, times of day, zones' times
result 'count --top and --percent' top
result '--around: --since and --until in one' around
result 'life: events of an address, with what was between them' life
result '--function and --json' json_of_functions
result 'JSON: numbers beyond 2^53 are strings' exact_numbers
result 'JSON: host, release and build ids: stacks of several machines match' same_code
result 'folded frames have their module' modules
result 'help, completion and manual pages show what each command takes' help_is_exact
result '--flame without events: an empty graph' empty_graph
result 'one event in each format' formats_exact
result '--perf, --folded: names that begin as a comment does' perf_names
result '--function of all: formats are those without' formats_of_functions
result '--function: source lines' lines_of_functions
with protoc '--function of all, --pprof: labels are those without' profiles_of_functions
result '--version and info: versions of the command and of the module' versions
result "info: KASLR's offset, by VMCOREINFO, a snapshot, vmlinux" kernel_offset
result '-m several times' directories_of_modules
result 'vmlinuz, and a vmlinux without debug information: which package has it' images_without_debug_information
result 'decode of frames without a size, or of none' sizeless
result '--function: --last is of the events of the functions' last_of_pattern
result '--function: an address is found where the frame has a name' addresses_match
result '--function: one that no stack begins in' nothing_matches
}

with_tools all_tests tests
