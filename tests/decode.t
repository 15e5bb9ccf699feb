#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# decode.t: source lines ("stackbuf decode", --lines), profiles and flame graphs.
# Lines are compared with objdump and addr2line; a profile is decoded by protoc, a flame graph
# tried in a browser.  DECODE_FRAMES is the number of frames.

# shellcheck source-path=SCRIPTDIR source-path=SCRIPTDIR/host source=host/tools.sh
. "${BASH_SOURCE[0]%/*}/host/tools.sh"

frames=${DECODE_FRAMES:-$(few 50 500)}
python=$here/helpers/decode.py
modules=$work/modules
kernel=$("$top/scripts/machine/stackbuf-kernel" 6.1) || exit 1
newer=$("$top/scripts/machine/stackbuf-kernel" 6.12) || exit 1
vmlinux=$kernel/vmlinux

# -------------------------------------------------------------------- lines ---

# About 900 frames, each an address after a call
some_frames() { python3 "$python" frames "$vmlinux" 300 >"$work/frames" && [ -s "$work/frames" ]; }

# Without the inserted lines, the output is the input
only_inserted() {
	local text=$work/text decoded=$work/decoded
	{
		printf '\n\n  blanks  \tand tabs \r\nno frame: a+0x/0x1 +0x1/0x2 b+0x1 c+0x1/ d/0x2\n'
		printf 'bytes \001\002\000\377\376 and %s\n' "$(head -c 3000 /dev/zero | tr '\0' x)"
		sed 's/^/[    1.000000]  /' "$work/frames"
		sed 's/$/ [unknown_module]/; s/^/ ? /' "$work/frames"
		sed 's/$/ [stackbuf 0123456789abcdef0123456789abcdef01234567] (P)\r/' "$work/frames"
		printf ' [<ffffffffc0a01234>] 0xffffffffc0a01234 ffffffff81000000\n'
		printf 'Code: 48 89 e5 <0f> 0b\nat the end, without one: %s' "$(head -n 1 "$work/frames")"
	} >"$text"
	"$sane" decode -k "$vmlinux" "$text" >"$decoded" 2>"$work/err" || { cat "$work/err"; return 1; }
	[ "$(grep -ac ' ([a-z].*:[0-9]*)' "$decoded")" -ge 300 ] &&
	[ "$(wc -l <"$text")" = "$(wc -l <"$decoded")" ] || return
	# One place, or a list of inlined functions, the innermost first
	local one='(?: [\w.]+)? \([^ ()]+:[0-9?]+\)'
	perl -pe "s/$one(?: \(inlined by\)$one| or$one)*//g" "$decoded" | cmp - "$text"
}

# Input that arrives line by line, as from "dmesg -w"
as_it_comes() {
	local line
	mkfifo "$work/in" "$work/out.fifo"
	"$plain" decode -k "$vmlinux" <"$work/in" >"$work/out.fifo" &
	exec 5>"$work/in" 6<"$work/out.fifo"
	head -n 1 "$work/frames" >&5
	read -r line <&6
	exec 5>&- 6<&-
	echo "$line"
	[[ $line == *:[0-9]*\) ]]
}

refused() { # STATUS WORDS COMMAND...: one line that says so
	local status=$1 words=$2
	shift 2
	"$@" >"$work/refused" 2>"$work/err"
	[ $? = "$status" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$words" "$work/err" && return
	echo "$* said:"
	head -n 5 "$work/err" "$work/refused"
	return 1
}

another_kernel() {
	local release
	release=$(cat "$kernel/release")
	{
		echo "CPU: 0 PID: 1 Comm: x Not tainted $(cat "$newer/release") #1"
		cat "$work/frames"
	} >"$work/text"
	refused 1 "not of $(cat "$newer/release")" "$sane" decode -k "$vmlinux" "$work/text" &&
	cmp "$work/refused" "$work/text" &&
	"$sane" decode --force -k "$vmlinux" "$work/text" | grep -q ':[0-9]*)$' &&
	sed -i "1s/.*/[ 0.0] Linux version $release (me@here) (gcc) #1 SMP another build/" "$work/text" &&
	refused 1 "another build" "$sane" decode -k "$vmlinux" "$work/text" &&
	sed -i "1s/.*/CPU: 0 PID: 1 Comm: x Not tainted $release #1/" "$work/text" &&
	"$sane" decode -k "$vmlinux" "$work/text" | grep -q ':[0-9]*)$' &&
	# The text names no kernel, but most functions have other sizes in this vmlinux
	! "$sane" decode -k "$newer/vmlinux" "$work/frames" >"$work/decoded" 2>"$work/err" &&
	grep -q 'have another size' "$work/err" && grep -q 'most frames do not fit' "$work/err"
}

# A log of several kernels: only frames of the given kernel get lines, and all text stays
several_kernels() {
	local release banner id
	id=$(readelf -n "$vmlinux" 2>/dev/null | sed -n 's/.*Build ID: //p')
	release=$(cat "$kernel/release")
	banner=$(strings "$vmlinux" | grep -m 1 '^Linux version.* #[0-9]')
	ours() { sed -n "$1p" "$work/frames" | sed "s/^/[    ${1%,*}.000000]  /"; }
	{
		echo "[    0.000000] $banner"
		ours 1,4
		echo "[    0.000000] Linux version 5.0.0-other (me@here) (gcc) #1"
		ours 5,8
		# Our banner again; then a message of a process that contains another one
		echo "[    9.000000] $banner"
		echo '[    9.000000] init: Linux version 5.0.0-words'
		ours 9,12
		# Possibly written by user space: frames are in doubt until the kernel names itself
		echo '[   13.000000] Linux version 5.0.0-spoofed'
		ours 13,16
		echo "[   16.000000] CPU: 0 PID: 1 Comm: x Not tainted $release #1"
		ours 17,20
		# With CONFIG_STACKTRACE_BUILD_ID
		echo "[   20.000000] CPU: 0 PID: 1 Comm: x Not tainted $release #1 ${id//[0-9]/f}"
		ours 21,24
		echo "[   24.000000] CPU: 0 PID: 1 Comm: x Not tainted $release #1 $id"
		ours 25,28
		echo "[   28.000000] Linux version $release (me@here) (gcc) #2 SMP another build"
		ours 29,32
		printf 'at the end, without one: %s' "$(sed -n 33p "$work/frames")"
	} >"$work/text"
	"$sane" decode -k "$vmlinux" "$work/text" >"$work/decoded" 2>"$work/err"
	[ $? = 1 ] || { echo "status"; return 1; }
	cat "$work/err"
	[ "$(wc -l <"$work/err")" = 5 ] && for words in 'is of kernel .* not of 5.0.0-other' \
		'is of kernel .* not of 5.0.0-spoofed' "has build id $id; the kernel that ran" 'is of another build'; do
		[ "$(grep -c "frames stay as they are: $vmlinux $words" "$work/err")" = 1 ] || return
	done && grep -q 'not known to be the build that ran' "$work/err" || return
	[ "$(wc -l <"$work/text")" = "$(wc -l <"$work/decoded")" ] || { tail -n 3 "$work/decoded"; return 1; }
	paste -d '\n' "$work/text" "$work/decoded" | awk '
		NR % 2 { text = $0; next }
		substr($0, 1, length(text)) != text { print "lost:", text; bad = 1 }
		/^\[ +[0-9.]+\]  / {
			n = $2 + 0
			fits = n == 1 || n == 9 || n == 17 || n == 25
			if (fits != (length($0) > length(text))) { print; bad = 1 }
			frames++
		}
		END { exit bad || frames != 32 }'
}

# There is no vmlinux at all
no_kernel() {
	{ echo 'CPU: 0 PID: 1 Comm: x Not tainted 5.0.0-none #1'; head -n 5 "$work/frames"; printf 'the end'; } >"$work/text"
	refused 1 'no vmlinux with debug information of kernel 5.0.0-none' "$sane" decode "$work/text" &&
		cmp "$work/refused" "$work/text"
}

nonsense_is_refused() {
	refused 1 'No such file' "$sane" decode "$work/nothing" &&
	refused 1 'nothing' "$sane" decode -k "$work/nothing" "$work/frames" &&
	refused 1 'not a valid ELF file' "$sane" decode -k "$python" "$work/frames" &&
	refused 2 'too many' "$sane" decode a b &&
	refused 2 "--flame adds up" "$sane" log --follow --flame x &&
	: | "$sane" decode -k "$work/nothing"
}

# Another build of the module, identified by the build id in the text
another_module() {
	local frame id
	"$sane" decode -k "$vmlinux" -m "$modules" "$work/module" >"$work/decoded" &&
	grep -q '^stackbuf_init+.*stackbuf.c:[0-9]*)$' "$work/decoded" || return
	frame=$(head -n 1 "$work/module")
	id=$(readelf -n "$modules/stackbuf.ko" | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] || return
	echo "${frame%]} $id]" | "$sane" decode -k "$vmlinux" -m "$modules" | grep -q '\.c:[0-9]*)$' || return
	echo "${frame%]} ${id//[0-9]/f}]" | "$sane" decode -k "$vmlinux" -m "$modules" >"$work/decoded" 2>"$work/err"
	grep -q 'another build id' "$work/err" && ! grep -q ')' "$work/decoded" || return
	# A text with frames of several builds
	printf '%s\n' "${frame%]} ${id//[0-9]/f}]" "${frame%]} $id]" "${frame%]} ${id//[a-f]/0}]" |
		"$sane" decode -k "$vmlinux" -m "$modules" 2>"$work/err" | grep ')$' >"$work/decoded"
	[ "$(wc -l <"$work/decoded")" = 1 ] && grep -q "$id.*\.c:[0-9]*)\$" "$work/decoded" || return
	echo "$frame" | "$sane" decode -k "$newer/vmlinux" -m "$modules" >"$work/decoded" 2>"$work/err"
	cat "$work/err"
	grep -q 'is for kernel' "$work/err" && ! grep -q ')' "$work/decoded"
}

# Run a command with another /usr/lib/debug and other notes of the kernel
with_debug() { # COMMAND...
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount --bind "$1" /usr/lib/debug && mount --bind "$2" /sys/kernel/notes && shift 2 && exec "$@"' - \
		"$work/debug" "$work/notes" "$@"
}

build_ids() {
	local file id kernel_id frame text=$work/text
	for file in "$vmlinux" "$modules/stackbuf.ko"; do
		id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: //p')
		kernel_id=${kernel_id:-$id}
		mkdir -p "$work/debug/.build-id/${id:0:2}" && ln -s "$file" "$work/debug/.build-id/${id:0:2}/${id:2}.debug" || return
	done
	frame=$(head -n 1 "$work/module")
	: >"$work/notes"
	# As a kernel with CONFIG_STACKTRACE_BUILD_ID prints it
	{
		echo "CPU: 0 PID: 1 Comm: x Not tainted $(cat "$kernel/release") #1 $kernel_id"
		head -n 20 "$work/frames"
		echo "${frame%]} $id]"
	} >"$text"
	with_debug "$plain" decode "$text" >"$work/decoded" 2>"$work/err" || { cat "$work/err"; return 1; }
	tail -n 1 "$work/decoded"
	[ "$(grep -c ':[0-9]*)$' "$work/decoded")" = 21 ] || return
	sed -i '1s/.$/x/' "$text"
	refused 1 'no vmlinux with debug information' with_debug "$plain" decode "$text" || return
	# The notes identify the running kernel
	objcopy -O binary --only-section=.notes "$vmlinux" "$work/notes" && [ -s "$work/notes" ] || return
	with_debug "$plain" decode "$work/frames" >"$work/decoded" 2>"$work/err" || { cat "$work/err"; return 1; }
	[ "$(grep -c ':[0-9]*)$' "$work/decoded")" -gt 250 ]
}

# A debuginfod server that has the module under its build id
debuginfod() {
	local frame id server port status=1
	frame=$(head -n 1 "$work/module")
	id=$(readelf -n "$modules/stackbuf.ko" | sed -n 's/.*Build ID: //p')
	mkdir -p "$work/served/buildid/$id" && cp "$modules/stackbuf.ko" "$work/served/buildid/$id/debuginfo"
	python3 -u -m http.server --bind 127.0.0.1 --directory "$work/served" 0 >"$work/port" 2>/dev/null &
	server=$!
	until port=$(grep -om 1 ' port [0-9]*' "$work/port"); do
		kill -0 "$server" || return
		sleep 0.1
	done
	port=${port##* }
	echo "${frame%]} $id]" | DEBUGINFOD_URLS=http://127.0.0.1:$port/ HOME=$work \
		DEBUGINFOD_CACHE_PATH=$work/cache "$plain" decode -k "$vmlinux" 2>&1 | grep '\.c:[0-9]*)$' && status=0
	kill $server
	return $status
}

# ------------------------------------------------------------------- records ---

record=$work/record

# Names and addresses give the same lines, wherever the kernel was loaded
named_or_not() {
	local base there inside last
	last=$(few 20000 10000000)
	"$plain" -f "$record" log --last "$last" --lines -k "$vmlinux" -m "$modules" >"$work/log" || return
	"$plain" -f "$record" log --last "$last" | "$plain" decode -k "$vmlinux" -m "$modules" >"$work/log2" || return
	# They may differ where several functions have one name: the address identifies one
	diff "$work/log" "$work/log2" >"$work/differ"
	grep '^>' "$work/differ" | grep -qv ' or ' && { head -n 9 "$work/differ"; return 1; }
	mkdir "$work/bare" && cp "$record"/{info,events,stacks} "$work/bare" &&
		head -c "$(stat -c %s "$record/text")" /dev/zero >"$work/bare/text" || return
	"$plain" -f "$work/bare" log --last "$last" --lines -k "$vmlinux" -m "$modules" >"$work/log3" 2>/dev/null
	[ "$(grep -c '0x[0-9a-f]* .*:[0-9]*)$' "$work/log3")" -gt 1000 ] ||
		{ echo "few lines for addresses"; return 1; }
	# Compare all frames except those in modules, which an address alone cannot identify
	diff <(sed -n '/\[/d; /^\t0xffffffff[c-f]/d; s/^\t[^ ]*//p' "$work/log") \
		<(sed -n 's/^\t0xffffffff[89ab][^ ]*//p' "$work/log3") >"$work/differ" ||
		{ head -n 5 "$work/differ"; grep -vE ':[0-9?]+\)$|^[^\t]|^$' "$work/log" | sort | uniq -c | head -n 5; return 1; }
	base=$("$plain" -f "$record" info --json | sed -n 's/.*"base_address":"0x\([0-9a-f]*\)".*/\1/p')
	there=$(nm "$vmlinux" | sed -n 's/^\([0-9a-f]*\) T stack_trace_save$/\1/p')
	# An address in a module must get no line from vmlinux
	inside=$(grep -cE '^\s0xffffffff[c-f][0-9a-f]*$' "$work/log3")
	[ "$inside" -gt 100 ] || { echo "only $inside frames in modules"; return 1; }
	grep -m 3 -E '^\s0xffffffff[c-f][0-9a-f]* ' "$work/log3" && return 1
	echo "loaded $(((0x$base - 0x$there) >> 20)) MiB from where it was linked"
	[ "$base" != "$there" ]
}

all_have_lines() {
	local command missing
	for command in "log --last $(few 20000 10000000)" count text; do
		# shellcheck disable=SC2086 # words
		"$plain" -f "$record" $command --lines -k "$vmlinux" -m "$modules" >"$work/lines" 2>"$work/err" || return
		grep -E '\+0x[0-9a-f]+/0x[0-9a-f]+' "$work/lines" >"$work/some"
		missing=$(grep -vc ':[0-9?]*)$' "$work/some")
		echo "$command: $missing of $(wc -l <"$work/some") frames without a line"
		[ "$(wc -l <"$work/some")" -gt 500 ] && [ $((missing * 1000)) -lt "$(wc -l <"$work/some")" ] || return
	done
	# A probe's frame is exact: it gets the line of the function's beginning
	grep -qE '^vfs_read\+0x0/0x[0-9a-f]+ \(fs/read_write.c:[0-9]+\)$' "$work/lines"
}

record_of_another() {
	refused 1 'not of' "$plain" -f "$record" log --lines -k "$newer/vmlinux" -m "$modules" &&
	[ ! -s "$work/refused" ] &&
	"$plain" -f "$record" log --lines --force --last 1 -k "$newer/vmlinux" -m "$modules" >/dev/null || return
	mkdir "$work/other" && cp "$modules/stackbuf.ko" "$work/other" &&
		objcopy --dump-section .modinfo="$work/modinfo" "$modules/stackbuf.ko" &&
		sed -i 's/srcversion=./srcversion=_/' "$work/modinfo" &&
		objcopy --update-section .modinfo="$work/modinfo" "$work/other/stackbuf.ko" || return
	"$plain" -f "$record" text --lines -k "$vmlinux" -m "$work/other" >"$work/lines" 2>"$work/err"
	cat "$work/err"
	grep -q 'srcversion' "$work/err" && grep -q 'stackbuf_init+.*\]$' "$work/lines"
}

kernel_log() {
	"$sane" decode -k "$vmlinux" -m "$modules" "$work/out/dmesg" >"$work/decoded" || return
	grep 'stackbuf_init+' "$work/decoded"
	sed -n 's/.*stackbuf_init+[^ ]* \[stackbuf\] (.*stackbuf.c:\([0-9]*\))$/\1/p' "$work/decoded" >"$work/at"
	# The line must be that of the call that prints
	[ -s "$work/at" ] && sed -n "$(cat "$work/at")p" "$top/stackbuf.c" | grep print
}

# ------------------------------------------------- profiles and flame graphs ---

profile() { # COMMAND
	"$plain" -f "$record" "$1" --folded >"$work/$1.folded" &&
	"$sane" -f "$record" "$1" --pprof >"$work/$1.pb.gz" && gzip -t "$work/$1.pb.gz" &&
	zcat "$work/$1.pb.gz" | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" >"$work/profile" || return
	# Totals of overwritten events have a single label, which reports that
	if [ "$1" = count ]; then
		"$plain" -f "$record" info --json | grep -q '"events_overwritten":0,' ||
			grep -q 'string_table: "overwritten"' "$work/profile" || return
		python3 "$python" pprof --no-comm "$work/$1.folded" <"$work/profile"
	else
		python3 "$python" pprof "$work/$1.folded" <"$work/profile"
	fi
}

graph() { # COMMAND
	"$plain" -f "$record" "$1" --folded >"$work/$1.folded" &&
	"$sane" -f "$record" "$1" --flame "$work/$1.svg" 2>"$work/err" &&
	python3 "$python" svg "$work/$1.folded" <"$work/$1.svg"
}

# matching REGEXP: events in stacks with a matching function
matching() { grep -E "$1" "$work/log.folded" | awk '{ n += $NF } END { print n + 0 }'; }

searches() {
	local found
	in_browser "file://$work/log.svg#search=vfs_read%7Cdput" >"$work/page" || return
	found=$(grep -o 'class="matched"[^<]*' "$work/page" | sed 's/.*matched: \([0-9,]*\) events.*/\1/; s/,//g')
	echo "$found events found"
	[ "$found" -gt 0 ] && [ "$found" = "$(matching 'vfs_read|dput')" ] &&
		[ "$(grep -c 'class="f match"' "$work/page")" = "$(grep -cE '<title>[^<]*(vfs_read|dput)' "$work/log.svg")" ]
}

zooms() {
	local number width
	# The first vfs_read that does not fill the whole graph
	number=$(grep '<g class="f"' "$work/log.svg" | grep -n -m 1 '<title>vfs_read ' | cut -d : -f 1)
	[ "$number" -gt 1 ] || return
	# Zoom by a click and search by the field, in a page that embeds the graph
	{
		echo '<!doctype html><body>'
		sed 1d "$work/log.svg"
		echo "<script>
			document.querySelectorAll('g.f')[$((number - 1))].dispatchEvent(new MouseEvent('click', { bubbles: true }));
			document.querySelector('input').value = 'VFS_';
			document.querySelector('input').dispatchEvent(new Event('input'));
		</script>"
	} >"$work/click.html"
	in_browser "file://$work/click.html" >"$work/clicked" &&
	in_browser "file://$work/log.svg#zoom=$((number - 1))" >"$work/zoomed" || return
	for page in clicked zoomed; do
		width=$(grep '<g class="f' "$work/$page" | sed -n "${number}s/.*<rect x=\"\([^\"]*\)\".* width=\"\([^\"]*\)\".*/\1 \2/p")
		echo "$page: $width, $(grep -c 'class="f hidden"' "$work/$page") hidden, $(grep -c 'class="f up"' "$work/$page") below"
		[ "$width" = '0% 100%' ] && [ "$(grep -c 'class="f hidden"' "$work/$page")" -gt 10 ] &&
			[ "$(grep -c 'class="f up"' "$work/$page")" -gt 2 ] || return
	done
	# A search with capitals is case-sensitive
	grep -q 'matched: 0 events' "$work/clicked"
}

# --------------------------------------------------------------- everything ---

{
	result 'the reader builds' build_tools all "$sane"
	result 'the module builds' build 6.1 big
	mkdir -p "$modules" "$work/vm" "$work/out" && cp "$work/vm/big"/*.ko "$modules/"
	cp "$modules/stackbuf_probe.ko" "$work/vm/" && guest 6.1 decode
	KASLR=1 boot 6.1 >"$work/booted" &
	# After a call, as a return address is
	read -r start at < <(objdump -d --no-show-raw-insn "$modules/stackbuf.ko" | awk '
		/^[0-9a-f]+ <init_module>:|^[0-9a-f]+ <stackbuf_init>:/ { start = $1; next }
		/^$/ { start = "" }
		start && call { sub(":", "", $1); print start, $1; exit }
		start { call = $2 ~ /^call/ }')
	printf 'stackbuf_init+0x%x/0x1000 [stackbuf]\n' $((0x$at - 0x$start)) >"$work/module"

	for series in 6.1 $(few '' 6.12); do
		python3 "$python" lines "$plain" "$("$top/scripts/machine/stackbuf-kernel" "$series")/vmlinux" "$frames" >"$work/held" 2>&1
		sed -E "s/^((not )?ok) /\\1 $series: /" "$work/held"
		[ "$(grep -cE '^(not )?ok ' "$work/held")" = 3 ] || echo "not ok $series: decode.py came to its end"
	done
	result 'frames to work with' some_frames
	result 'nothing but source lines is added, whatever the text' only_inserted
	result 'lines are decoded as they come' as_it_comes
	result 'a vmlinux of another release or build is refused' another_kernel
	result 'several kernels in one log: those frames that fit, and all of the text' several_kernels
	result 'no vmlinux: all of the text, and a line that says so' no_kernel
	result 'a module of another build is not used; .init.text is found' another_module
	why=''
	[ "$(id -u)" = 0 ] && [ -d /usr/lib/debug ] || why='not root, or no /usr/lib/debug to put some into'
	unless "$why" 'vmlinux and modules are found by their build ids' build_ids
	why=''
	ldconfig -p | grep -q 'libdebuginfod\.so\.1 ' || why='libdebuginfod1 is not installed'
	unless "$why" 'a module is fetched by its build id' debuginfod
	result 'nonsense is refused in one line' nonsense_is_refused

	wait
	cat "$work/booted"
	mkdir "$record" && cp "$work/out"/{text,info,events,stacks,kallsyms} "$record/"
	result 'log --lines: the same from names as from addresses, KASLR undone' named_or_not
	result 'log, count, text --lines: all frames have lines' all_have_lines
	result 'a record of another kernel or module is refused' record_of_another
	result 'the kernel log: the line of the call in an init function' kernel_log
	with protoc 'log --pprof: the sums of --folded' profile log
	with protoc 'count --pprof: likewise, events that are gone are labelled' profile count
	result 'log --flame: every frame has its place and width' graph log
	result 'count --flame: likewise' graph count
	with chromium 'a flame graph in a browser: search' searches
	with chromium 'a flame graph in a browser: zoom, by click and by address' zooms
	ended
} | ktap
