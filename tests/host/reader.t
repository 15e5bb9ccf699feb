#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The reader in tools/: unit tests (plain and with sanitizers), the command on made-up
# arrays, and arbitrary bytes, always the same.  long/fuzz.t has libFuzzer.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

sane=$asan/stackbuf

all_tests() {

# --------------------------------------------------------------- its parts ---

unit 'plain' "$tools/unit"
unit 'sanitized' "$tools/asan/unit"

# ------------------------------------------------------------- the command ---

# A million known events: number n has time 5 s + n us, tag n (but every fifth), CPU n % 2
made="$dir/made up"
result 'a record of a million events' "$fake" "$made" 1000000

# Times increase by 1 us, to the last
log_is_complete() {
	"$plain" -f "$made" log >"$dir/log" && awk '
	/^[0-9]/ {
		n = int(($1 - 5) * 1000000 + 0.5)
		if (seen++ && n != before + 1) { print "event " n " after " before; bad = 1; exit }
		if ($(NF) ~ /^0x/ && strtonum_hex($(NF)) != n) { print "tag " $NF " at " n; bad = 1; exit }
		if ($(NF) !~ /^0x/ && n % 5) { print "no tag at " n; bad = 1; exit }
		before = n
	}
	function strtonum_hex(text,   i, value) {
		for (i = 3; i <= length(text); i++)
			value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
		return value
	}
	END { if (bad || before != 999999) { print "the last is " before; exit 1 } }' "$dir/log" || return
	[ "$(grep -c '^[0-9]' "$dir/log")" -gt 150000 ]
}
result 'log: the newest events, each once, in order, with their tags' log_is_complete

frames_fit() {
	# Every event's number determines its stack
	awk '/^[0-9]/ { n = int(($1 - 5) * 1000000 + 0.5); getline; split($1, part, "_"); if (part[2] != n % 7) { print n, $0; exit 1 } }' \
		"$dir/log"
}
result 'log: each event has its own stack' frames_fit

totals_fit() {
	"$sane" -f "$made" count >"$dir/count" || return
	[ "$(awk 'NF == 1 && /^    [0-9]/ { sum += $1; n++ } END { print sum, n }' "$dir/count")" = '1000000 7' ] || return
	# Totals are sorted, the lowest first
	awk 'NF == 1 && /^    [0-9]/ { if ($1 < last) exit 1; last = $1 }' "$dir/count" || return
	[ "$("$sane" -f "$made" count --folded | sed 's/.* //' | sort -u | tr '\n' ' ')" = '142857 142858 ' ] || return
	"$sane" -f "$made" count --comm sh >"$dir/out" 2>"$dir/err" || return
	grep -q 'still in the ring' "$dir/err" && [ "$(grep -c '^    [0-9]' "$dir/out")" = 7 ]
}
result 'count: totals are exact after laps of the ring, least frequent first' totals_fit

info_fits() {
	"$sane" -f "$made" info >"$dir/info" || return
	grep -q '^events recorded  *1000000$' "$dir/info" || return
	awk '/^events in the ring/ { r = $NF } /^events overwritten/ { o = $NF } END { exit r + o != 1000000 }' "$dir/info" || return
	grep -q '^loaded  *5.000000000  (2023-11-14T22:13:20.123456789+00:00)$' "$dir/info" || return
	"$sane" -f "$made" info --json | grep -q '"events_recorded":1000000,'
}
result 'info: every event is accounted for' info_fits

of_functions() {
	local one
	# Totals of one function, and of all
	one=$("$sane" -f "$made" count --function known_3_0 | awk 'NF == 1 && /^    [0-9]/ { print $1 }') || return
	[ "$one" = 142857 ] || return
	"$sane" -f "$made" count --function 'known_[0-9]_0' | awk 'NF == 1 && /^    [0-9]/ { sum += $1 } END { exit sum != 1000000 }' || return
	"$sane" -f "$made" count --folded --function 'known_[01]_0' | awk '{ sum += $NF } !/;/ { exit 1 } END { exit sum != 285715 }' || return
	refused 1 'no stack begins in known_0_1 (' -f "$made" count --function known_0_1 || return
	# After the command -f is the source, too
	[ "$("$sane" count -f "$made" --function known_0_0 --folded)" = "$("$sane" -f "$made" count --folded --function known_0_0)" ] || return
	"$sane" -f "$made" log --last 1 --tag 999998 --function 'known_*' >"$dir/log1" &&
		grep -q '^5.999998000 .* 0xf423e$' "$dir/log1" || { cat "$dir/log1"; return 1; }
	refused 2 'which sets probes: stackbuf -f' -f "$made" snoop known_0_0 &&
		refused 2 'which sets probes: stackbuf -f' -f "$made" count known_0_0 &&
		refused 2 'for new events; for recorded ones' count --since 5 known_0_0
}
result 'log and count --function: totals, folded' of_functions

# ---------------------------------------------------------------- snapshots ---

snapshot_is_equal() {
	local command
	cd "$dir" || return
	echo old >snapshot
	chmod 644 snapshot
	"$sane" -f "$made" save snapshot || return
	[ "$(stat -c %a snapshot)" = 600 ] || { echo mode; return 1; }
	for command in log count text; do
		cmp <("$plain" -f "$made" "$command") <("$plain" -f snapshot "$command") || return
	done
	"$sane" -f snapshot save again && cmp snapshot again
}
result 'save: a snapshot, mode 0600, gives the same log, counts and text' snapshot_is_equal

# ---------------------------------------------------------------- bad input ---

usage_is_refused() {
	refused 2 'a command is missing' && refused 2 'no such command' frobnicate &&
	refused 2 'unknown option' --frobnicate log && refused 2 'takes no function' log log &&
	refused 2 'name of a file is missing' save && refused 2 '--top is for totals' errors --log --top 1 && refused 2 'no classes: write' count 'vfs_[^r]*' && refused 2 'only one of' log --json --perf && refused 2 'cannot be used with --wall' -f "$made" log --perf --wall &&
	refused 2 'cannot be used with --follow' log --folded --follow &&
	refused 2 'given twice' log --last 1 --last 2 && refused 2 'missing argument' log --pid &&
	refused 2 '--since is later' log --since 2 --until 1 &&
	refused 2 'FUNCTION is missing' snoop &&
	refused 2 'did you mean stackbuf snoop vfs_read, or count vfs_read?' log vfs_read &&
	refused 2 "the event's name is missing" count t:kmem: && refused 2 "the event's name is missing" snoop tracepoint: &&
	refused 2 'PATTERN is missing' count -P && refused 2 'unknown option' log -P &&
	refused 2 '--number 0: must be' snoop -n 0 vfs_read &&
	refused 2 '--duration x: must be' count -D x vfs_read &&
	refused 2 '--duration 5x: must be' count -D 5x vfs_read &&
	refused 2 '--interval 0ms: must be' count -i 0ms vfs_read &&
	refused 2 'is written once, at the end' count -i 1 --flame x.svg vfs_read &&
	refused 2 'is written once, at the end' count -i 1 --pprof vfs_read &&
	refused 2 'only one of' snoop --perf --flame x.svg vfs_read &&
		refused 2 '--flame x.PNG: must be a name for SVG' -f "$made" count --flame x.PNG &&
		refused 2 'is OPEN and CLOSE' leaks f@arg1 f@arg1 && refused 2 'is OPEN and CLOSE' leaks f@arg1@arg2 f@arg1 &&
	refused 2 '--lines is for' snoop --lines --folded vfs_read &&
	refused 2 '--vmlinux needs --lines' count -k x vfs_read &&
	refused 2 'not a regular expression' count -r 'vfs_(' &&
	refused 2 'neither blanks nor commas' snoop 'vfs_read,dput' &&
	refused 2 '0xzz: not an address' snoop 0xzz &&
	refused 2 'a+b: no offset after the +' snoop a+b &&
	refused 2 "'mod:': the function's name is missing" snoop mod: &&
	refused 2 "'@arg1': the function's name is missing" snoop @arg1 &&
	refused 2 '--last is not for' snoop --last 3 vfs_read
}
result 'nonsense on the command line is refused in one line' usage_is_refused

sources_are_refused() {
	local bad=$dir/bad array how=empty
	mkdir "$bad" "$bad/empty directory" || return
	: >"$bad/empty"
	echo 'just text' >"$bad/foreign"
	head -c 1000000 /dev/zero >"$bad/zeroes"
	head -c -4096 "$dir/snapshot" >"$bad/cut"
	head -c -1 "$dir/snapshot" >"$bad/cut inside"
	cp -r "$made" "$bad/cut directory"
	cp -r "$made" "$bad/mixed"
	head -c 4194304 /dev/zero >"$bad/mixed/events"
	cp -r "$made" "$bad/newer"
	printf '\3' | dd of="$bad/newer/info" bs=1 seek=8 conv=notrunc status=none
	refused 1 'No such file' -f "$bad/nothing" log &&
	refused 1 'is empty' -f "$bad/empty" log &&
	refused 1 'neither a snapshot' -f "$bad/foreign" log &&
	refused 1 'neither a snapshot' -f "$bad/zeroes" count &&
	refused 1 'is cut' -f "$bad/cut" log && refused 1 'is cut' -f "$bad/cut inside" text &&
	refused 1 'holds no file' -f "$bad/empty directory" info &&
	refused 1 'events is not from stackbuf' -f "$bad/mixed" log &&
	refused 1 'format version 3; this stackbuf knows version 2' -f "$bad/newer" log &&
	refused 1 'neither a file nor a directory' -f /dev/null log &&
	refused 1 'nothing to follow' -f "$dir/snapshot" log --follow && refused 1 'nothing to follow' -f "$made" log --follow || return
	# Each of a directory's files is needed, and whole
	for array in info events stacks text; do
		truncate -s -1 "$bad/cut directory/$array" && refused 1 "$array is cut" -f "$bad/cut directory" log &&
			: >"$bad/cut directory/$array" && refused 1 "$array is $how" -f "$bad/cut directory" log &&
			rm "$bad/cut directory/$array" && refused 1 'holds no file' -f "$bad/cut directory" log &&
			cp "$made/$array" "$bad/cut directory/" || return
		how='cut'
	done
}
result 'bad sources are refused in one line' sources_are_refused

# says WORDS ARGUMENT...: succeeds, and reports this
says() {
	"$sane" "${@:2}" >"$dir/out" 2>"$dir/err" && grep -qxF -- "stackbuf: $1" "$dir/err" || { cat "$dir/err"; return 1; }
}

# Saved records in the page cache, older than the arrays themselves, which come last
many_copies() {
	local i
	EVENT_PAGES=8 "$fake" "$dir/few" 10 && EVENT_PAGES=8 "$fake" "$dir/more" 20 || return
	for ((i = 0; i < 20; i++)); do cat "$dir/few"/{info,events,stacks,text}; done >"$dir/copies"
	cat "$dir/more"/{info,events,stacks,text} >>"$dir/copies"
	[ "$("$sane" -f "$dir/copies" log | grep -c '^[0-9]')" = 20 ]
}
result 'the newest of many copies of a page is shown' many_copies

what_is_missing() {
	local image=$here/helpers/image.py i
	cd "$dir" && "$fake" host.snap host 1 5000 && tail -c +4097 host.snap >whole &&
		"$image" zero whole no_text 5 0 1 && says '5 pages are missing' -f no_text text &&
		"$image" zero whole no_depths 3 5 1 && says '3 pages are missing' -f no_depths depth &&
		cat few/{info,events,stacks,text} >one && "$image" version one other 3 && cat one other >both || return
	# All pages that have a head
	i=$(python3 -c 'import sys; sys.path[:0] = [sys.argv[1]]; import image; print(sum(map(image.is_ours, image.pages_of("one"))))' "$here/helpers")
	says "$i pages of format version 3 are left out; this stackbuf knows version 2" -f both log || return
	# The first stack's first frame
	cp -r few harmed && printf '\377' | dd of=harmed/stacks bs=1 seek=96 conv=notrunc status=none &&
		says '1 stack of the table is damaged or half written: it and its total are left out' -f harmed count
}
result 'what is missing or damaged is reported' what_is_missing

# Ranges of memory whose pages begin anywhere in the file; whole, cut, damaged, of another version
by_lime() {
	local image=$here/helpers/image.py head=$((0x9fc00 + 32))
	cd "$dir" && { head -c 1M /dev/zero && cat few/{info,events,stacks,text}; } >ranges && "$image" lime ranges few.lime || return
	"$sane" -f few.lime log 2>err | cmp - <("$sane" -f few log) && [ ! -s err ] || { cat err; return 1; }
	head -c -4097 few.lime >cut.lime && cp few.lime harmed.lime && printf x | dd of=harmed.lime bs=1 seek="$head" conv=notrunc status=none &&
		cp few.lime other.lime && printf '\2' | dd of=other.lime bs=1 seek=4 conv=notrunc status=none || return
	says 'cut.lime is cut: 4097 bytes or more are missing at its end' -f cut.lime log &&
		refused 1 "harmed.lime: is cut or damaged: the rest of this dump holds no page of stackbuf's memory" -f harmed.lime log &&
		refused 1 "other.lime: is in LiME's format, version 2: this stackbuf knows version 1" -f other.lime log
}
result "LiME's format: ranges of memory" by_lime

# As /proc/kcore has the area of modules
no_address() {
	cd "$dir" && "$here/helpers/image.py" core one core && "$sane" -f core log 2>err | cmp - <("$sane" -f few log) && [ ! -s err ] || { cat err; return 1; }
}
result "a core's segment without a physical address" no_address

# While a pair is set for --comm, no other filter of the module applies
one_filter() {
	local job
	mkdir "$dir/set" && cd "$dir/set" && EVENT_PAGES=8 "$fake" "$dir/enabled" 50 counted || return
	echo 1 | tee enable every >limit && echo 0 | tee pid >limit && echo -1 >cpu && echo 4711 >cgroup && : | tee comm pair >probe || return
	STACKBUF_PARAMETERS=. "$plain" -f "$dir/enabled" leaks --comm some 2>"$dir/err" &
	job=$!
	until [ -s pair ] || ! kill -0 "$job"; do sleep 0.05; done
	[ "$(cat comm)" = some ] && [ "$(cat cgroup)" = 0 ] || { tail -n +1 -- *; kill "$job"; return 1; }
	kill -INT "$job"
	wait "$job"
	[ "$(cat cgroup)" = 4711 ] && [ -z "$(cat comm)" ] || { tail -n +1 -- *; cat "$dir/err"; return 1; }
}
result "leaks --comm: the module's cgroup is set aside" one_filter

# A frame whose address is not known, and sizes that cannot be
deepest() {
	"$here/helpers/image.py" deepen "$dir/one" "$dir/deep" &&
		says '1 deepest stack is half written or damaged and is left out' -f "$dir/deep" depth || return
	[ "$(grep -c '^ *[0-9]*)' "$dir/out")" = 6 ] && grep -q '^  1)       40      24   ? (its address' "$dir/out" &&
		! grep -q 0x0000 "$dir/out" || { cat "$dir/out"; return 1; }
}
result 'depth: what it does not know' deepest

no_rights() {
	if [ "$(id -u)" = 0 ]; then
		# Another user must be able to run the command
		mkdir -m 755 "$work/bin" && chmod 711 "$work" && cp "$plain" "$work/bin" || return
		! setpriv --reuid=65534 --clear-groups "$work/bin/stackbuf" log 2>"$dir/err" || return
	else
		! "$plain" log 2>"$dir/err" || return
	fi
	cat "$dir/err"
	[ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'root' "$dir/err"
}
result 'without rights: one line' no_rights

why=''
[ -r /proc/kallsyms ] || why='/proc/kallsyms is not there'
[ ! -e /sys/kernel/debug/stackbuf ] || why='the module is loaded here'
[ "$(id -u)" = 0 ] || why='not root'
unless "$why" 'without the module: one line' refused 1 'the module stackbuf is not loaded' log

full_disk() {
	local words
	for words in "log" "-h" "log -h" "--version"; do
		# shellcheck disable=SC2086 # words
		! "$plain" -f "$made" $words 2>"$dir/err" >/dev/full || return
		cat "$dir/err"
		[ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'cannot write: No space' "$dir/err" || return
	done
}
result 'output that cannot be written is an error' full_disk

# ------------------------------------------------------------------- follow ---

# Of a log: the number of events, how many are missing between them, the first and the last; nothing
# if two are out of order
gaps() {
	awk '/^[0-9]/ { n = int(($1 - 5) * 1000000 + 0.5); if (!seen++) { first = n; last = n - 1 } if (n <= last) { bad = 1; exit }; gap += n - last - 1; last = n }
		END { print bad ? "out of order" : seen + 0 " " gap + 0 " " first + 0 " " last + 0 }'
}

# follow RATE SECONDS READER [OPTION...]: sets seen, out, first, last by what a reader prints beside a
# writer, and recorded to what that wrote.  The writer begins in earnest when something is printed, and
# the reader is ended when the last event is, which the ring keeps, unless it ends itself by --until.
follow() {
	local writer reader go
	rm -rf "$dir/live" "$dir"/{ready,go,followed}
	mkfifo "$dir/ready" "$dir/go"
	: >"$dir/followed"
	"$fake" "$dir/live" "$1" "$2" <"$dir/go" >"$dir/ready" &
	writer=$!
	exec {go}>"$dir/go" {ready}<"$dir/ready"
	read -r _ <&"$ready"
	STACKBUF_PARAMETERS=$dir "$plain" -f "$dir/live" log --follow "${@:4}" 2>"$dir/err" > >("$3" >"$dir/followed") &
	reader=$!
	until grep -qm 1 '^[0-9]' "$dir/followed" || ! kill -0 "$reader" 2>/dev/null; do sleep 0.1; done
	echo >&"$go"
	exec {go}>&-
	read -r recorded <&"$ready"
	exec {ready}<&-
	wait "$writer"
	if [[ " $* " != *" --until "* ]]; then
		until read -r seen out first last < <(tail -n 400 "$dir/followed" | gaps) && [ "$last" = $((recorded - 1)) ] || ! kill -0 "$reader" 2>/dev/null; do sleep 0.1; done
		kill -INT "$reader"
	fi
	wait "$reader" || { cat "$dir/err"; return 1; }
	cat "$dir/err"
	# What the pipe still holds
	for _ in {1..600}; do
		! read -r seen out first last < <(gaps <"$dir/followed") || [ "$(printed)" != "$seen" ] || break
		sleep 0.1
	done
	[ "$(printed)" = "$seen" ] || { echo "$(printed) were printed, $seen came"; return 1; }
	echo "recorded $recorded, seen $seen, left out $out, from $first to $last"
}

printed() { sed -n 's/^stackbuf: \([0-9]*\) events printed.*/\1/p' "$dir/err"; }
lost() { sed -n 's/^stackbuf: .* printed, \([0-9]*\) lost.*/\1/p' "$dir/err"; }

# Those that the reader reports as lost are missing, and no others.  How many depends on the host
counts_lost() {
	local seen out first last recorded ready
	follow "$@" && [ "$last" = $((recorded - 1)) ] && [ "$out" = "$(lost)" ]
}
result 'log --follow: 100,000 events/s, each in order and once, or counted as lost' counts_lost 100000 "$(few 2 5)" cat
result 'log --follow: the same at 1,000,000 events/s' counts_lost 1000000 "$(few 1 3)" cat

# Reads nothing from the first event on until all has been written
late() {
	while read -r; do
		echo "$REPLY"
		[[ $REPLY != [0-9]* ]] || break
	done
	while kill -0 "$writer" 2>/dev/null; do sleep 0.1; done
	cat
}
misses() { counts_lost 1000000 2 late && [ "$(lost)" -gt 10000 ]; }
result 'log --follow: what a slow reader misses is counted exactly' misses

# Of a ring that holds all: none is missing, and the last one is that before the time
ends_itself() {
	local seen out first last recorded ready
	EVENT_PAGES=4096 follow 100000 2 cat --last 10 --until 5.1 && [ "$out $last $(lost)" = '0 100000 0' ]
}
result 'log --follow --until ends by itself' ends_itself

# -------------------------------------------------- help, manual, completion ---

usage() { "$plain" -h | grep -q 'Usage: stackbuf' && "$plain" --version | grep -q '^stackbuf [0-9]'; }
result 'help and version' usage

if command -v man >/dev/null && echo '.TH x 1' | man -l --warnings - >/dev/null 2>&1; then
	for page in "$top"/man/*.[1-9]; do
		result "${page##*/}: no warnings" test -z "$(man -l --warnings -Tutf8 "$page" 2>&1 >/dev/null)"
	done
else
	echo 'ok no manual page has warnings # SKIP man is not installed'
fi

completes() {
	complete_words() { # words: completes the last
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_stackbuf
		echo "${COMPREPLY[*]-}"
	}
	# shellcheck source=/dev/null
	. "$top/tools/stackbuf.bash" || return
	[ "$(complete_words "$plain" l)" = 'log life leaks latency' ] &&
	[ "$(complete_words "$plain" '')" = 'info text log report life leaks latency offcpu errors count depth snoop save diff metrics decode' ] &&
	[ "$(complete_words "$plain" log --fol)" = '--folded --follow' ] &&
	[ "$(complete_words "$plain" count --p)" = '--perpid --pid --percent --prefix --pprof' ] &&
	[ "$(complete_words "$plain" snoop --n)" = '--number' ] &&
	[[ " $(complete_words "$plain" count -p $$) " == *" $$ "* ]] && [ -z "$(complete_words "$plain" log -p $$)" ] &&
	[ -z "$(complete_words "$plain" info l)" ] && cd "$dir" && mkdir -p snap.d || return
	[ "$(complete_words "$plain" -f snapsh)" = snapshot ] && [ "$(complete_words "$plain" --file = snapsh)" = snapshot ] &&
	[ "$(complete_words "$plain" diff --percent snapsh)" = snapshot ] && [ "$(complete_words "$plain" count --comm log --per)" = '--perpid --percent' ] &&
	[ "$(complete_words "$plain" diff snapsh)" = snapshot ] && [ "$(complete_words "$plain" decode -m snap)" = snap.d ] &&
	[ "$(complete_words "$plain" count -f snapsh)" = snapshot ]
}
result 'completion for bash' completes

# The binary is hardened, should a hostile dump exploit a bug in a parser
hardened() {
	readelf -h "$plain" | grep -q 'Type: *DYN' || { echo 'no position-independent program'; return 1; }
	readelf -lW "$plain" >"$dir/elf" && readelf -dW "$plain" >>"$dir/elf" &&
		nm -D --undefined-only "$plain" >>"$dir/elf" || return
	grep -q GNU_RELRO "$dir/elf" && grep -Eq 'BIND_NOW|Flags:.* NOW' "$dir/elf" ||
		{ echo 'tables of addresses can be written'; return 1; }
	grep -Eq 'GNU_STACK .* RW ' "$dir/elf" || { echo 'the stack can be executed'; return 1; }
	! grep -Eq 'LOAD .* RWE|TEXTREL' "$dir/elf" || { echo 'code can be written'; return 1; }
	grep -q ' __stack_chk_fail' "$dir/elf" || { echo 'no stack protector'; return 1; }
	grep -q ' __[a-z]*printf_chk' "$dir/elf" || { echo 'no _FORTIFY_SOURCE'; return 1; }
}
result 'the command is built with hardening flags' hardened

# -------------------------------------------------------------- any bytes ---

bytes() { # PROGRAM N SEED...
	"$asan/$1" "${@:2}" >"$dir/bytes" 2>&1 && grep -qx "$2 inputs" "$dir/bytes" && return
	tail -n 40 "$dir/bytes"
	return 1
}
result 'arbitrary bytes as arrays do no harm' bytes bytes "$(few 5000 100000)" "$tools"/corpus/seed-*
result 'arbitrary bytes as text to decode do no harm' bytes bytes_text "$(few 20000 400000)" "$tools"/text/seed-*
}

with_tools all_tests tests "$asan/bytes" "$asan/bytes_text" "$tools"/{corpus,text}/seed-1
