#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Files that are made to use up time, memory or disk space: the command "stackbuf" reads
# each within bounds, or reports what is wrong with it.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

# READER: another build to test instead
plain=${READER:-$plain}
image=$here/helpers/image.py

# Of processor time: how busy the host is does not matter.  Each file took a minute or more before the
# reader was fixed
SECONDS_MAX=20

# in_time COMMAND...: each of its processes ends within SECONDS_MAX
in_time() { limited "$SECONDS_MAX" "$@"; }

# within CODE MB ARGUMENT...: the command ends with CODE, within SECONDS_MAX and MB of memory
within() {
	local expected=$1 mb=$2 code
	shift 2
	in_time "$image" limit "$mb" "$plain" "$@" >"$work/out" 2>"$work/err"
	code=$?
	[ $code = "$expected" ] || { echo "code $code, not $expected"; tail -n 3 "$work/err"; return 1; }
	[ "$expected" = 0 ] || [ "$(wc -l <"$work/err")" = 1 ]
}
says() { grep -q -- "$1" "$work/err" || { cat "$work/err"; return 1; }; }

headers() {
	"$image" hostile headers "$work/f" && within 1 100 -f "$work/f" info && says 'is cut or damaged'
}

layers() {
	"$image" hostile layers "$work/f" && within 1 100 -f "$work/f" info && says 'is cut or damaged'
}

# 5 million events, of which --last shows one
last() {
	"$image" hostile events "$work/f" && within 0 80 -f "$work/f" log --last 1 &&
		[ "$(grep -c '^[0-9]' "$work/out")" = 1 ] &&
		within 0 80 -f "$work/f" count --last 5000 && within 0 80 -f "$work/f" log --pid 99 || return
	within 0 80 -f "$work/f" log --json --last 3000 && [ "$(wc -l <"$work/out")" = 3000 ] || return
	! thorough || "$plain" -f "$work/f" log --json 2>/dev/null | tail -n 3000 | cmp - "$work/out"
}

# 5 million ids of stacks that are not in the table; each has a line in the totals
ids() {
	"$image" hostile ids "$work/f" && within 0 80 -f "$work/f" log --last 1 || return
	head -c 8M "$work/f" >"$work/part" && within 0 400 -f "$work/part" count &&
		[ "$(grep -c 'is gone$' "$work/out")" = $((2047 * 500)) ]
}

meeting() {
	"$image" hostile meeting "$work/f" && within 0 200 -f "$work/f" info &&
		grep -q '^events in the ring  *130000$' "$work/out"
}

names() {
	"$image" hostile names "$work/f" && within 0 100 -f "$work/f" log --flame "$work/svg" &&
		grep -q 'data-total="50000"' "$work/svg"
}

# A raw log of a serial console
returns() {
	head -c 2M /dev/zero | tr '\0' '\r' >"$work/f" && within 0 100 decode "$work/f"
}

copies() {
	"$image" hostile copies "$work/f" && within 0 200 -f "$work/f" log && [ "$(grep -c '^[0-9]' "$work/out")" = 500 ]
}

# More pages than the reader looks at
left_out() {
	local i files=()
	"$image" hostile events "$work/f" || return
	for ((i = 0; i < 103; i++)); do files+=(-f "$work/f"); done
	SECONDS_MAX=120 within 0 1000 "${files[@]}" log --last 1 && says '^stackbuf: 6247 pages are beyond the limit and were not read$'
}

# 150,000 pieces of one byte, each in another block of the flattened file
pieces() {
	mkdir -p "$work/tmp"
	"$image" hostile pieces "$work/f" && TMPDIR=$work/tmp within 1 100 -f "$work/f" info &&
		says 'is damaged: flattened, with pieces too far apart'
}

# The limit of the file size is too low for the temporary file
file_limit() {
	mkdir -p "$work/tmp"
	"$image" hostile flat "$work/f" && (ulimit -f 4096; TMPDIR=$work/tmp within 1 100 -f "$work/f" info) &&
		says 'File too large (set TMPDIR to another directory)' && [ -z "$(ls -A "$work/tmp")" ] &&
		TMPDIR=$work/tmp within 0 100 -f "$work/f" log --last 1
}

directory() {
	local a
	mkdir "$work/dir" && "$image" hostile claims "$work/dir/info" || return
	for a in events stacks text; do cp "$work/dir/info" "$work/dir/$a"; done
	within 1 100 -f "$work/dir" info && says 'is cut: it ends after 4096 of 1073741824 bytes' || return
	rm "$work/dir/events" && mkfifo "$work/dir/events" || return
	within 1 100 -f "$work/dir" info && says 'dir/events: is not a regular file' || return
	# Large files that are holes
	rm "$work/dir/events" && truncate -s 1G "$work/dir"/{events,stacks,text} && truncate -s 1M "$work/dir/info" &&
		within 1 100 -f "$work/dir" info && says 'events is not from stackbuf' || return
	truncate -s 1T "$work/dir/kallsyms" && within 1 100 -f "$work/dir" info && says 'kallsyms: is too large'
}

one() {
	rm -rf "$work/f" "$work/dir" "$work/part"
	result "$@"
}

all() {
	one 'billions of program headers, none of a segment' headers
	one 'segments that overlap in every way' layers
	one '--last, --pid: events that are not shown take no memory' last
	one 'events of millions of stacks that are gone' ids
	one 'ids that meet in a table of stacks' meeting
	one 'a flame graph of stacks with thousands of names' names
	one 'a line of carriage returns' returns
	one 'many copies of one page' copies
	one 'more pages than are looked at: it says how many' left_out
	one 'a flattened file that would fill the disk' pieces
	one 'a flattened file, and a limit of the size of files' file_limit
	one 'a directory: sizes that are not true, a pipe for a file, holes' directory
}

with_tools all all
