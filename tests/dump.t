#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Dumps as sources of the command "stackbuf".  All kinds of dumps of one machine must give the
# same events, those that the client module recorded; then damaged images, several recordings
# in one image, and files that are no dumps.

# shellcheck source-path=SCRIPTDIR source-path=SCRIPTDIR/host source=host/tools.sh
. "${BASH_SOURCE[0]%/*}/host/tools.sh"

build_tools all "$fake" "$asan/stackbuf" "$asan/bytes_dump"
stackbuf=$plain
image=$here/helpers/image.py

# ------------------------------------------------------------ one machine ---

# All output from a source goes to $work/given, messages to $work/said
given() { # SOURCE-OPTIONS...
	local command
	for command in log count text; do
		"$stackbuf" "$@" $command || return
	done >"$work/given" 2>"$work/said"
}

same() { # FILE or options
	local options=("$@")
	[ $# -gt 1 ] || options=(-f "$1")
	given "${options[@]}" || { cat "$work/said"; return 1; }
	cmp "$work/given" "$work/expected" && [ ! -s "$work/said" ] || { cat "$work/said"; return 1; }
}

# Compare every event's tag, CPU and stack with what the client module printed
as_recorded() {
	"$stackbuf" -f "$work/out/raw" log --json >"$work/json" || return
	awk -v n=60000 -v cpus=2 -f "$here/guest/tags.awk" "$work/out/tags" "$work/json"
}

# converted OPTION... NAME: converts the vmcore that the capture kernel saved
converted() {
	local name=${*: -1}
	makedumpfile "${@:1:$#-1}" -d 31 "$work/out/vmcore" "$work/$name" >"$work/makedumpfile.log" 2>&1 ||
		{ tail -n 3 "$work/makedumpfile.log"; return 1; }
	same "$work/$name"
}

flattened() {
	makedumpfile -F "$1" -d 31 "$work/out/vmcore" >"$work/flat" 2>"$work/makedumpfile.log" ||
		{ tail -n 3 "$work/makedumpfile.log"; return 1; }
	[ "$(head -c 12 "$work/flat")" = makedumpfile ] || return
	mkdir -p "$work/tmp"
	TMPDIR=$work/tmp same "$work/flat" && rmdir "$work/tmp"
}

# The second begins as an ELF file does: with a page of the cache that holds a program
several_files() {
	local at status
	at=$(LC_ALL=C grep -abo -F $'\x7fELF\x02\x01\x01' "$work/out/raw" | awk -F: '$1 && $1 % 4096 == 0 { print $1; exit }')
	[ -n "$at" ] || { echo "no program in the guest's memory"; return 1; }
	head -c "$at" "$work/out/raw" >"$work/DDRCS0.BIN"
	tail -c +$((at + 1)) "$work/out/raw" >"$work/DDRCS1.BIN"
	same -f "$work/DDRCS1.BIN@$at" -f "$work/DDRCS0.BIN@0x0" && same -f "$work/DDRCS0.BIN" -f "$work/DDRCS1.BIN"
	status=$?
	rm "$work"/DDRCS?.BIN
	return $status
}

saved_again() {
	rm -f "$work/small"
	"$stackbuf" -f "$work/out/vmcore" save "$work/small" || return
	[ "$(stat -c %a "$work/small")" = 600 ] && [ "$(stat -c %s "$work/small")" -lt 12000000 ] && same "$work/small"
}

# With source lines: vmlinux is found by the build id in the dump
found_by_build_id() {
	local kernel id
	kernel=$("$top/scripts/machine/stackbuf-kernel" "$1") || return
	id=$(readelf -n "$kernel/vmlinux" 2>/dev/null | sed -n 's/.*Build ID: //p')
	mkdir -p "$work/debug/.build-id/${id:0:2}" && ln -sf "$kernel/vmlinux" "$work/debug/.build-id/${id:0:2}/${id:2}.debug" || return
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount --bind "$1" /usr/lib/debug && shift && exec "$@"' - "$work/debug" \
		"$stackbuf" -f "$work/out/raw" log --last 20 --lines >"$work/given" 2>"$work/said" || { cat "$work/said"; return 1; }
	[ "$(grep -c ' (kernel/kthread.c:[0-9]*)$' "$work/given")" = 20 ]
}

# The page tables lead to the record, and a scan gives the same
both_ways() { # DUMP...
	local dump
	for dump; do
		"$stackbuf" -f "$dump" info >"$work/info" && grep -q '^found by  *page tables$' "$work/info" &&
			[ "$(sed -n 's/^bytes read  *//p' "$work/info")" -lt 67108864 ] && same "$dump" && same -f "$dump" --scan &&
			"$stackbuf" -f "$dump" --scan info | grep -v -e '^found by' -e '^bytes read' >"$work/given" &&
			grep -v -e '^found by' -e '^bytes read' "$work/info" | cmp - "$work/given" ||
			{ echo "$dump"; grep -e '^found by' -e '^bytes read' "$work/info"; return 1; }
		grep '^bytes read' "$work/info"
	done
}

in_capture_kernel() {
	cat "$work/out/capture.err"
	grep '^found by  *page tables$' "$work/out/capture.info" || return
	cat "$work/out"/capture.{log,count,text} | cmp - "$work/expected"
}

# lime IMAGE FILE: a raw image, which begins at @start, in LiME's format
# shellcheck disable=SC2031 # all run in one shell
lime() { python3 "$image" lime "$1" "$2" "$start"; }

by_lime() {
	lime "$work/out/raw" "$work/lime" && same "$work/lime" && rm "$work/lime"
}

# Without the text log its own kernel's symbols name all frames but those of modules, as text does
own_names() { # DUMP[:lime]...
	local dump
	"$stackbuf" -f "$work/out/raw" count | grep -v ' \[.*\]$' >"$work/named" || return
	for dump; do
		python3 "$image" forget "${dump%:lime}" "$work/forgotten" || return
		[[ $dump != *:lime ]] || { lime "$work/forgotten" "$work/lime" && mv "$work/lime" "$work/forgotten"; } || return
		"$stackbuf" -f "$work/forgotten" count 2>"$work/said" >"$work/given" || { cat "$work/said"; return 1; }
		rm "$work/forgotten"
		grep -q '0xffff' "$work/given" || { echo "$dump: still has text"; return 1; }
		sed '/0xffff[0-9a-f]*$/d; s/  (names missing)$//' "$work/given" | diff "$work/named" - | head -n 4 >"$work/differ"
		[ ! -s "$work/differ" ] || { echo "$dump"; cat "$work/differ" "$work/said"; return 1; }
	done
}

# arm64 moves its linear map by KASLR, or where the CPU has fewer bits than the kernel: then memory does not begin there
moved_map() {
	LC_ALL=C sed -i 's/NUMBER(PHYS_OFFSET)=0x4/NUMBER(PHYS_OFFSET)=0x1/g' "$work/out/raw"
	own_names "$work/out/raw"
	set -- $?
	LC_ALL=C sed -i 's/NUMBER(PHYS_OFFSET)=0x1/NUMBER(PHYS_OFFSET)=0x4/g' "$work/out/raw"
	return "$1"
}

without_stackbuf() { refused 1 ', and holds no page of stackbuf' -f "$work/out/before" log && grep 'is a dump of Linux [0-9]' "$dir/err"; }

little_memory() {
	python3 "$image" limit 100 "$stackbuf" -f "$work/out/raw" log >/dev/null &&
		python3 "$image" limit 100 "$stackbuf" -f "$work/md.zlib" log >/dev/null
}

# --- The same in crash, gdb and drgn, where they open the dump

# The difference between addresses in the machine and in vmlinux
kaslr() {
	printf '0x%x' $((0x$(awk '$3 == "_text" { print $1; exit }' "$work/out/kallsyms") -
		0x$(nm "$1/vmlinux" | awk '$3 == "_text" { print $1; exit }')))
}

# "info" gives it, of each kind of dump, and by vmlinux
kaslr_shown() {
	local offset dump
	offset=$(kaslr "$1")
	for dump in "$work/out/vmcore" "$work/md.zlib" "$work/out"/{elf,elf-paging,raw}; do
		"$stackbuf" -f "$dump" info >"$work/given" && grep -qx "offset of KASLR  *$offset  (from VMCOREINFO)" "$work/given" ||
			{ echo "$dump: not $offset"; grep KASLR "$work/given"; return 1; }
	done
	"$stackbuf" -f "$work/out/raw" info -k "$1/vmlinux" | grep -qx "offset of KASLR  *$offset  (from vmlinux)"
}

by_crash() {
	"$work/scripts/stackbuf-crash" -k "$1/vmlinux" "$work/out/elf" log --cpu 1 >"$work/given" &&
		cmp "$work/given" <("$stackbuf" -f "$work/out/elf" log --cpu 1) || return
	"$work/scripts/stackbuf-crash" -k "$1/vmlinux" "$work/md.zlib" count >"$work/given" &&
		cmp "$work/given" <("$stackbuf" -f "$work/out/elf" count) || return
	# A relative name is of the user's directory
	(cd "$work" && scripts/stackbuf-crash -k "$1/vmlinux" out/elf save crashed.snap) &&
		cmp <("$stackbuf" -f "$work/crashed.snap" count) "$work/given" || return
	"$work/scripts/stackbuf-crash" -k "$1/vmlinux" "$work/out/elf" >"$work/given"
	cmp "$work/given" <("$stackbuf" -f "$work/out/elf" text)
}

by_gdb() {
	gdb -nx -q -batch -ex "symbol-file $1/vmlinux -o $(kaslr "$1")" -ex "core-file $work/out/elf-paging" \
		-ex "source $work/scripts/debugger/stackbuf-gdb.py" -ex 'echo begin\n' -ex 'stackbuf log --last 100' >"$work/gdb" 2>&1 ||
		{ tail -n 3 "$work/gdb"; return 1; }
	cmp <(sed '1,/^begin$/d' "$work/gdb") <("$stackbuf" -f "$work/out/elf" log --last 100) || return
	# Without symbols: one line that reports what is missing
	! gdb -nx -q -batch -ex "core-file $work/out/elf-paging" -ex "source $work/scripts/debugger/stackbuf-gdb.py" -ex 'stackbuf' \
		>"$work/gdb" 2>&1 || return
	tail -n 1 "$work/gdb" | grep 'vmlinux is not loaded'
}

# Where it cannot find the arrays it says what may be wrong
gdb_lost() {
	local wrong dump
	wrong=$(printf '0x%x' $(($(kaslr "$1") + 0x1000)))
	for dump in "$wrong $work/out/elf-paging" "0 $work/out/elf" "$(kaslr "$1") $work/out/vmcore"; do
		! gdb -nx -q -batch -ex "symbol-file $1/vmlinux -o ${dump% *}" -ex "core-file ${dump#* }" \
			-ex "source $work/scripts/debugger/stackbuf-gdb.py" -ex 'stackbuf' >"$work/gdb" 2>&1 &&
			tail -n 1 "$work/gdb" | grep 'not where KASLR put the kernel .*lacks virtual addresses.  stackbuf -f DUMP reads' ||
			{ tail -n 3 "$work/gdb"; return 1; }
	done
}

by_drgn() {
	local dump
	for dump in "$work/out/vmcore" "$work/md.zlib" "$work/out/elf-paging"; do
		drgn -c "$dump" -s "$1/vmlinux" "$work/scripts/debugger/stackbuf-drgn.py" text >"$work/given" 2>"$work/said" ||
			{ cat "$work/said"; return 1; }
		cmp "$work/given" <("$stackbuf" -f "$work/out/elf" text) || return
	done
	drgn -c "$work/out/vmcore" -s "$1/vmlinux" "$work/scripts/debugger/stackbuf-drgn.py" >"$work/given" 2>/dev/null &&
		cmp "$work/given" <("$stackbuf" -f "$work/out/elf" log --last 20) || return
	# From drgn's prompt
	echo 'import runpy, sys; runpy.run_path(sys.argv[1])["stackbuf"](prog, "log", "--last", "20")' >"$work/prompt"
	drgn -c "$work/out/vmcore" -s "$1/vmlinux" "$work/prompt" "$work/scripts/debugger/stackbuf-drgn.py" 2>/dev/null |
		cmp - <("$stackbuf" -f "$work/out/elf" log --last 20) || return
	# An ELF dump of QEMU without paging: only by libkdumpfile
	DRGN_USE_LIBKDUMPFILE_FOR_ELF=1 drgn -c "$work/out/elf" -s "$1/vmlinux" "$work/scripts/debugger/stackbuf-drgn.py" \
		>"$work/given" 2>/dev/null && cmp "$work/given" <("$stackbuf" -f "$work/out/elf" log --last 20)
}

# drgn_says WORDS VMLINUX DUMP: it prints nothing but one line at the end with these words
drgn_says() {
	drgn -q -c "$3" -s "$2" "$work/scripts/debugger/stackbuf-drgn.py" >"$work/given" 2>"$work/said"
	[ ! -s "$work/given" ] && tail -n 1 "$work/said" | grep "^stackbuf-drgn.py: .*$1.*stackbuf -f DUMP reads" && return
	head -n 5 "$work/given" "$work/said"
	return 1
}

drgn_lost() {
	# A newer drgn compares build ids itself, and loads nothing
	drgn_says 'no symbol .linux_banner.: .*linux-image-RELEASE-dbg' "$1/vmlinuz" "$work/md.zlib" &&
		drgn_says '\(vmlinux is of another build than the kernel\|no symbol .linux_banner.: name the vmlinux of this kernel\)' "$2/vmlinux" "$work/md.zlib" &&
		{ drgn_says 'set DRGN_USE_LIBKDUMPFILE_FOR_ELF=1' "$1/vmlinux" "$work/out/elf" || read_anyway; }
}

# A newer drgn also reads QEMU's dumps without that
read_anyway() {
	cmp "$work/given" <("$stackbuf" -f "$work/out/elf" log --last 20)
}

other_tools() { # SERIES
	local kernel other have why=''
	kernel=$("$top/scripts/machine/stackbuf-kernel" "$1") || return
	have=$(crash --version 2>/dev/null | sed -n 's/^crash \([0-9.]*\).*/\1/p')
	mkdir -p "$work/build" && cp -r "$top/scripts" "$work/" &&
		ln -sfn "$tools" "$work/build/tools"
	[ "$1" = 6.1 ] || printf '%s\n' 8.0.6 "$have" | sort -CV || why="crash $have is too old for kernel $1"
	unless "$why" "stackbuf-crash: log, count and the text are what stackbuf -f gives" by_crash "$kernel"
	result "info: the offset of KASLR, of each kind of dump" kaslr_shown "$kernel"
	result "stackbuf-gdb.py: what stackbuf -f gives; without symbols one line" by_gdb "$kernel"
	result "... a wrong offset and other dumps: what is likely wrong" gdb_lost "$kernel"
	result "stackbuf-drgn.py: what stackbuf -f gives" by_drgn "$kernel"
	other=$("$top/scripts/machine/stackbuf-kernel" "$([ "$1" = 6.1 ] && echo 6.12 || echo 6.1)") || return
	result "... another vmlinux and other dumps: what is wrong" drgn_lost "$kernel" "$other"
}

machine() {
	local out=$work/out dumps why='' start=0
	# Remove dumps of the previous kernel: makedumpfile does not overwrite files
	rm -f "$work"/md.*
	guest "$1" dump && build "$1" big || echo "not ok everything is built"
	if [[ $1 == *-arm64 ]]; then
		start=0x40000000
		KASLR=1 boot "$1" -m 384
	else
		cp "$here/guest/dump.sh" "$work/vm/capture" && chmod +x "$work/vm/capture" &&
			echo "$stackbuf" >"$work/vm/reader"
		# Leaves room for the capture kernel on one side of the kernel, wherever that is
		VMCORE="cp" KASLR=1 boot "$1" -K -e -m 448 -a crashkernel=160M -x "$stackbuf"
	fi
	"$stackbuf" -f "$out/live" log >"$work/expected" && "$stackbuf" -f "$out/live" count >>"$work/expected" &&
		"$stackbuf" -f "$out/live" text >>"$work/expected"
	result "an image gives every event as it was recorded: tag, CPU, stack" as_recorded
	result "as the module's arrays give: raw image" same "$out/raw"
	result "... ELF of QEMU" same "$out/elf"
	result "... LiME's format" by_lime
	# From 6.0 on, and on Red Hat's 5.14
	LC_ALL=C grep -aq 'SYMBOL(kallsyms_names)=' "$out/raw" || why="this kernel's VMCOREINFO does not tell where its symbols are"
	unless "$why" "the kernel's own symbols name what has no text: raw image, LiME, ELF" own_names "$out/raw" "$out/raw:lime" "$out/elf"
	[[ $1 != *-arm64 ]] || unless "$why" "... also where the linear map does not begin with the memory: raw image" moved_map
	why=''
	result "a dump from before the module was loaded is refused: it says so" without_stackbuf
	if [[ $1 == *-arm64 ]]; then
		result "page tables lead to it, and a scan gives the same" both_ways "$out/elf"
		ended
		return
	fi
	result "... ELF of QEMU with paging" same "$out/elf-paging"
	result "... kdump-zlib of QEMU, flattened" same "$out/kdump-zlib"
	result "... vmcore of kdump" same "$out/vmcore"
	result "... /proc/vmcore in the capture kernel" in_capture_kernel
	result "... makedumpfile, ELF" converted -E md.elf
	result "... makedumpfile, zlib" converted -c md.zlib
	result "... makedumpfile, lzo" converted -l md.lzo
	result "... makedumpfile, not compressed" converted md.plain
	result "... makedumpfile, flattened" flattened -c
	result "... makedumpfile, flattened ELF" flattened -E
	result "... two files with addresses, in any order" several_files
	result "... a snapshot that was saved from a dump" saved_again
	# In "make test" one of each format: the others were read by their page tables above
	dumps=("$out/elf" "$work/md.zlib")
	! thorough || dumps+=("$out"/{elf-paging,kdump-zlib,vmcore} "$work"/md.{elf,lzo,plain})
	result "page tables lead to it in each of these, and a scan gives the same" both_ways "${dumps[@]}"
	result "at most 100 MiB of memory" little_memory
	[ "$(id -u)" = 0 ] && [ -d /usr/lib/debug ] || why='not root, or no /usr/lib/debug to put one into'
	unless "$why" "--lines: vmlinux by the build id in the dump" found_by_build_id "$1"
	other_tools "$1"
	ended
	if [ "$2" = 1 ]; then
		mkdir -p "$work/kept" && cp "$out/live" "$work/md.zlib" "$work/kept/" && head -c 64M "$out/elf" >"$work/kept/elf"
	fi
}

# ----------------------------------------------------------------- damage ---

# The images hold a made-up recording, small enough to be sorted repeatedly
made=$work/made
# MiB of an image with a record in it
room=$(few 32 64)
arrays=("$made/info" "$made/events" "$made/stacks" "$made/text")

# Fail if image $1 gives events that the undamaged one does not; missing events go to $work/lost
foreign_events() {
	"$sane" -f "$1" log >"$work/log" 2>"$work/said" || { cat "$work/said"; return 1; }
	events "$work/log" >"$work/events"
	comm -13 "$work/events.made" "$work/events" >"$work/wrong"
	comm -23 "$work/events.made" "$work/events" >"$work/lost"
	[ ! -s "$work/wrong" ] || { head -n 3 "$work/wrong"; return 1; }
}

# One line per event with its stack, sorted
events() { tail -n +2 "$1" | awk -v RS='' '{ gsub(/\n\t/, ";"); print }' | sort; }

lost_at_most() {
	[ "$(wc -l <"$work/lost")" -le "$1" ] || { echo "$(wc -l <"$work/lost") events are lost"; return 1; }
}

fact() { # KEY IMAGE
	"$sane" -f "$2" info --json 2>/dev/null | grep -o "\"$1\":[^,}]*" | cut -d: -f2
}

scattered() {
	given -f "$work/scattered" && cmp "$work/given" "$work/given.made" && [ ! -s "$work/said" ]
}

sparse() {
	"$image" sparse "$work/scattered" "$work/image" 4 && [ "$(stat -c %s "$work/image")" = 4294967296 ] || return
	# Of processor time, for each process
	(slowness; ulimit -t $((60 * slow_by)); given -f "$work/image") && cmp "$work/given" "$work/given.made" &&
		python3 "$image" limit 100 "$stackbuf" -f "$work/image" log >/dev/null
}

missing_events() {
	"$image" zero "$work/scattered" "$work/image" 5 3 1 && foreign_events "$work/image" &&
		lost_at_most $((5 * 500)) && [ -s "$work/lost" ] || return
	grep -qx 'stackbuf: 5 pages are missing' "$work/said" || { cat "$work/said"; return 1; }
	[ "$(fact pages_missing "$work/image")" = 5 ]
}

# Stacks are missing: their frames are still in the text log
missing_stacks() {
	"$image" zero "$work/scattered" "$work/image" 1 2 1 && foreign_events "$work/image" && lost_at_most 0 &&
		grep -qx 'stackbuf: 1 page is missing' "$work/said"
}

missing_info() {
	"$image" zero "$work/scattered" "$work/image" 9 1 1 && foreign_events "$work/image" && lost_at_most 0 &&
		grep -q 'the page of stackbuf_info is missing' "$work/said"
}

overwritten() {
	"$image" half "$work/scattered" "$work/image" 5 3 2 || return
	# Random words in a page may look like events: allow some wrong ones
	"$sane" -f "$work/image" log >"$work/log" 2>"$work/said" || return
	events "$work/log" >"$work/events"
	comm -23 "$work/events.made" "$work/events" >"$work/lost"
	lost_at_most $((5 * 250)) || return
	comm -13 "$work/events.made" "$work/events" >"$work/wrong"
	[ "$(wc -l <"$work/wrong")" -le 500 ] || { wc -l "$work/wrong"; return 1; }
	"$image" half "$work/scattered" "$work/image" 1 2 2 && foreign_events "$work/image" && lost_at_most 0
}

# Events of pages without a flipped bit are there, and no command crashes
flipped() {
	local seed command
	for seed in $(few 1 '1 2 3 4 5 6'); do
		"$image" flip "$work/scattered" "$work/image" 200 "$seed" || return
		for command in log count text info; do
			"$asan/stackbuf" -f "$work/image" $command >"$work/log" 2>"$work/said" ||
				{ cat "$work/said"; return 1; }
			grep -q 'Sanitizer' "$work/said" && { cat "$work/said"; return 1; }
			[ $command = log ] && events "$work/log" >"$work/events"
		done
		comm -23 "$work/events.made" "$work/events" >"$work/lost"
		lost_at_most $((5 * 500)) || return
	done
}

cut_anywhere() { # FILE WORDS
	local size part
	"$stackbuf" -f "$work/kept/live" log | events /dev/stdin >"$work/events.live" || return
	size=$(stat -c %s "$1")
	for part in $(few '1 50 99' '1 3 10 30 50 70 90 99'); do
		head -c $((size * part / 100 + 1)) "$1" >"$work/image"
		"$sane" -f "$work/image" log >"$work/log" 2>"$work/said"
		case $? in
		0)
			# Something is missing, and must be reported
			[ -s "$work/said" ] || { echo "$part %: not a word"; return 1; }
			;;
		1) [ ! -s "$work/log" ] && [ "$(wc -l <"$work/said")" = 1 ] || { cat "$work/said"; return 1; } ;;
		*) cat "$work/said"; return 1 ;;
		esac
		grep -qE "$2" "$work/said" || { echo "$part %:"; cat "$work/said"; return 1; }
		# Events may lack their stack or its names, but none may have a wrong one
		events "$work/log" | grep -v 'stack [0-9]* is gone$' >"$work/events"
		{
			grep -v '(names missing);' "$work/events" | comm -13 "$work/events.live" -
			grep '(names missing);' "$work/events" | sed 's/ *(names missing);.*//' | sort |
				comm -13 <(sed 's/;.*//' "$work/events.live" | sort) -
		} >"$work/wrong"
		[ ! -s "$work/wrong" ] || { head -n 3 "$work/wrong"; return 1; }
	done
}

two_instances() {
	local other old
	# The made-up recording is dated 2023: the live one is newer
	"$image" scatter "$work/image" "$room" 7 "${arrays[@]}" "$work/kept/live" || return
	other=$(fact instance "$work/kept/live" | head -n 1 | tr -d '"')
	old=$(fact instance "$work/scattered" | head -n 1 | tr -d '"')
	"$sane" -f "$work/image" info >"$work/info" || return
	[ "$(grep -c '^found here' "$work/info")" = 2 ] && grep -q "^found here: this .*$other" "$work/info" ||
		{ cat "$work/info"; return 1; }
	cmp <("$sane" -f "$work/image" log 2>"$work/said") <("$stackbuf" -f "$work/kept/live" log) || return
	grep -q "this is instance $other, the newest; 1 more" "$work/said" || { cat "$work/said"; return 1; }
	cmp <("$sane" -f "$work/image" --instance "$old" log 2>/dev/null) <("$stackbuf" -f "$work/scattered" log) || return
	refused 1 'holds no instance 123;' -f "$work/image" --instance 123 log
}

newest_complete() {
	# The newer recording lacks a page: the older one is the default, and both are reported
	"$image" zero "$work/kept/live" "$work/incomplete" 1 2 3 &&
		"$image" scatter "$work/image" "$room" 8 "${arrays[@]}" "$work/incomplete" || return
	cmp <("$sane" -f "$work/image" log 2>"$work/said") <("$stackbuf" -f "$work/scattered" log) || return
	grep -q 'this is instance [0-9a-f]*; 1 more' "$work/said" || { cat "$work/said"; return 1; }
	"$sane" -f "$work/image" info | grep '^found here as well .*1 pages missing$'
}

# The image also has files in the page cache: an earlier state of the recording, printed text
old_copies() {
	local command
	"$tools/fake" "$work/earlier" 150000 && "$tools/fake" "$work/later" 1000000 || return
	{
		"$stackbuf" -f "$work/later" text >"$work/printed"
		cat "$work/printed"
		head -c $((4096 - $(stat -c %s "$work/printed") % 4096)) /dev/zero
	} >"$work/cached"
	head -n 1 "$work/later/text" | cat - "$work/printed" | head -c 4096 >"$work/cached.head"
	"$image" scatter "$work/image" "$room" 9 "$work/earlier"/{info,events,stacks,text} "$work/cached" "$work/cached.head" \
		"$work/later"/{info,events,stacks,text} || return
	for command in count text 'log --last 3000'; do
		# shellcheck disable=SC2086 # a word and its options
		cmp <("$sane" -f "$work/image" $command 2>"$work/said") <("$sane" -f "$work/later" $command) ||
			{ cat "$work/said"; return 1; }
	done
}

# If live pages are lost, much older copies of them are not used instead
outlived() {
	local page=$work/page
	# Lose the newest pages of the ring, and the stacks in the first page
	events <("$sane" -f "$work/later" log 2>/dev/null) >"$work/events.later"
	rm -rf "$page" && cp -r "$work/later" "$page" || return
	dd if=/dev/zero of="$page/events" bs=4096 seek=300 count=20 conv=notrunc status=none &&
		dd if=/dev/zero of="$page/stacks" bs=4096 count=1 conv=notrunc status=none || return
	"$image" scatter "$work/image" "$room" 10 "$work/earlier"/{info,events,stacks,text} "$page"/{info,events,stacks,text} || return
	"$sane" -f "$work/image" log >"$work/log" 2>"$work/said" || { cat "$work/said"; return 1; }
	grep -q '^stackbuf: 20 pages are missing$' "$work/said" &&
		grep -q '^stackbuf: 20 pages of these were found only as old copies and are left out$' "$work/said" ||
		{ cat "$work/said"; return 1; }
	events "$work/log" | comm -23 - "$work/events.later" >"$work/wrong"
	[ ! -s "$work/wrong" ] || { head -n 3 "$work/wrong"; return 1; }
	# A page of stacks does not show that it is old, but the sum of totals does
	"$sane" -f "$work/image" count 2>&1 >/dev/null | grep '^stackbuf: totals are too small, by [0-9]* events in all'
}

# -------------------------------------------------- a library that fails ---

# A faulty libkdumpfile: it exits, or never returns, when it reads certain pages.  On one processor
# one process reads all pages
libkdumpfile_fails() {
	local how dump=$work/kept/md.zlib cpu
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')

	cat >"$work/fails.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libkdumpfile/kdumpfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
kdump_status kdump_read(kdump_ctx_t *ctx, kdump_addrspace_t as, kdump_addr_t addr, void *buf, size_t *size)
{
	kdump_status (*real)(kdump_ctx_t *, kdump_addrspace_t, kdump_addr_t, void *, size_t *) =
		dlsym(RTLD_NEXT, "kdump_read");
	const char *how = getenv("HOW");
	static unsigned int calls;

	calls++;
	if (!strcmp(how, "end") && calls == 5000)
		abort();
	while (!strcmp(how, "hang") && calls == 5000)
		;
	if (!strcmp(how, "always"))
		*(volatile int *)1 = 0;
	return real(ctx, as, addr, buf, size);
}
kdump_ctx_t *kdump_new(void)
{
	kdump_ctx_t *(*real)(void) = dlsym(RTLD_NEXT, "kdump_new");

	if (!strcmp(getenv("HOW"), "open"))
		_exit(0);
	return real();
}
END
	gcc -shared -fPIC -O2 -Wall -Wno-array-bounds -o "$work/fails.so" "$work/fails.c" || return
	given -f "$dump" --scan && [ ! -s "$work/said" ] && mv "$work/given" "$work/expected" || return
	for how in end hang always open; do
		limited 600 taskset -c "$cpu" env LD_PRELOAD="$work/fails.so" HOW=$how "$stackbuf" -f "$dump" --scan log >"$work/given" 2>"$work/said"
		case $how,$? in
		end,0) grep -qE '^stackbuf: [1-9][0-9]? pages? cannot be read$' "$work/said" ;;
		hang,0) grep -qE '^stackbuf: [1-9] pages? cannot be read$' "$work/said" ;;
		always,1 | open,1) [ ! -s "$work/given" ] && [ "$(wc -l <"$work/said")" = 1 ] && grep -q 'is cut or damaged' "$work/said" ;;
		*) false ;;
		esac || { echo "$how:"; cat "$work/said"; return 1; }
		[ ! -s "$work/given" ] || [ "$(wc -l <"$work/given")" -gt 10000 ] || { wc -l "$work/given"; return 1; }
	done
}

# ----------------------------------------------------------- the progress ---

# Reads are slowed down, as for a large file
progress() {
	local before=-1 percent line bars=0
	cat >"$work/slow.c" <<END
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
ssize_t pread(int fd, void *buf, size_t size, off_t at);
ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	if (size >= 1 << 20)
		usleep($(few 60000 30000));
	return syscall(SYS_pread64, fd, buf, size, at);
}
END
	gcc -shared -fPIC -O2 -Wall -o "$work/slow.so" "$work/slow.c" || return
	python3 "$image" terminal env LD_PRELOAD="$work/slow.so" "$stackbuf" -f "$work/scattered" info >"$work/bar" || return
	tr '\r' '\n' <"$work/bar" >"$work/bars"
	while read -r line; do
		[[ $line =~ ^scattered\ \[=*\ *\]\ +([0-9]+)\ %,\ ([0-9]+)\.[0-9]\ MB/s,\ 0:0[0-9]\ left ]] || continue
		percent=${BASH_REMATCH[1]}
		# Reading a MiB takes 30 ms or more
		[ "$percent" -ge "$before" ] && [ "${BASH_REMATCH[2]}" -le 35 ] || { echo "$line"; return 1; }
		before=$percent
		bars=$((bars + 1))
	done <"$work/bars"
	echo "$bars bars, the last at $before %"
	[ $bars -ge 5 ] && [ "$before" -gt 80 ] && [ "$(tail -c 4 "$work/bar")" = $'\r\e[K' ] || { tail -n 2 "$work/bars"; return 1; }
	# Standard error is no terminal: no progress
	LD_PRELOAD="$work/slow.so" "$stackbuf" -f "$work/scattered" info 2>&1 >/dev/null | cmp - /dev/null
}

# --------------------------------------------------------------- no dumps ---

no_dumps() {
	local d=$work/bad
	mkdir -p "$d"
	noise 1000000 >"$d/random"
	gzip -c "$top/stackbuf.h" >"$d/gz"
	{ printf Salted__; noise 1000000; } >"$d/salted"
	"$image" version "$work/scattered" "$d/version" 7 || return
	head -c 100000 "$work/kept/elf" >"$d/ppc" && printf '\x15\x00' | dd of="$d/ppc" bs=1 seek=18 conv=notrunc status=none
	head -c 100000 "$work/kept/elf" >"$d/32" && printf '\x01' | dd of="$d/32" bs=1 seek=4 conv=notrunc status=none
	head -c 50 "$work/kept/elf" >"$d/elf"
	head -c 3000 "$work/kept/md.zlib" >"$d/kdump"
	cp "$work/kept/md.zlib" "$d/s390" && printf 's390x\0' | dd of="$d/s390" bs=1 seek=$((12 + 4 * 65)) conv=notrunc status=none
	printf 'makedumpfile\0\0\0\0' >"$d/flat"
	refused 1 'neither a snapshot nor a dump' -f "$d/random" log &&
	refused 1 'compressed by gzip' -f "$d/gz" log &&
	refused 1 'is encrypted (openssl)' -f "$d/salted" log &&
	refused 1 'format version 7; this stackbuf knows version' -f "$d/version" log &&
	refused 1 'another architecture (ELF machine 21' -f "$d/ppc" log &&
	refused 1 'another architecture (ELF machine 62, 32 bit' -f "$d/32" log &&
	refused 1 'another architecture (s390x)' -f "$d/s390" log &&
	refused 1 'ELF file, but not a core file' -f /bin/true log &&
	refused 1 'is cut' -f "$d/elf" log && refused 1 'is cut or damaged' -f "$d/kdump" log &&
	refused 1 'is a directory' -f "$work/scattered" -f "$made" log &&
	refused 1 'No such file' -f "$d/nothing@0x100" log &&
	TMPDIR=/nowhere refused 1 'flattened, and cannot be rearranged in /nowhere: No such' -f "$d/flat" log
}

unreadable() {
	chmod 711 "$work" && install "$stackbuf" "$work/reader" &&
		cp "$work/scattered" "$work/secret" && chmod 600 "$work/secret" || return
	setpriv --reuid=65534 --clear-groups "$work/reader" -f "$work/secret" log >"$work/given" 2>"$work/said"
	[ $? = 1 ] && [ ! -s "$work/given" ] && grep -q 'Permission denied; run it as root' "$work/said"
}

fuzzed() {
	"$asan/bytes_dump" "$1" >"$work/fuzz" 2>&1 && grep -qx "$1 inputs" "$work/fuzz" && return
	tail -n 30 "$work/fuzz"
	return 1
}

damage() {
	"$tools/fake" "$made" 30000 && "$image" scatter "$work/scattered" "$room" 1 "${arrays[@]}" || echo "not ok images are made"
	given -f "$made" && mv "$work/given" "$work/given.made"
	"$stackbuf" -f "$made" log >"$work/log" && events "$work/log" >"$work/events.made"
	result "an image with the pages scattered in other memory" scattered
	result "4 GiB with a sparse hole: nothing changes, in time" sparse
	result "pages of events are missing: what they held, and it is said" missing_events
	result "a page of stacks is missing: nothing is wrong" missing_stacks
	result "stackbuf_info is missing: every event is there" missing_info
	result "half-overwritten pages cost what they held" overwritten
	result "flipped bits" flipped
	result "two instances in an image: the newest, and the other by --instance" two_instances
	result "the newest is not complete: the newest complete one" newest_complete
	result "old copies in the page cache do not count" old_copies
	result "... nor where the live page is lost" outlived
	result "a long scan shows how far it is, on a terminal only" progress
	result "ELF dump, cut anywhere" cut_anywhere "$work/kept/elf" 'is cut'
	result "kdump dump, cut anywhere" cut_anywhere "$work/kept/md.zlib" 'is cut|cannot be read'
	result "libkdumpfile fails at some pages: these are lost, no more" libkdumpfile_fails
	result "what is no dump is refused: what it is, in one line" no_dumps
	result "arbitrary bytes as dump files" fuzzed "$(few 300 10000)"
	as_root "an unreadable file is refused" unreadable
	echo "done"
}

each() {
	if [ "$1" = made-up-images ]; then damage; else machine "$@"; fi
}

# The made-up images also use dumps of the first machine
kernels 6.12
SERIES=${chosen[*]}
[[ ${SERIES%% *} == *-arm64 ]] || SERIES+=" made-up-images"
on_each_kernel "dumps" each
