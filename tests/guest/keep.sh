#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/keep.t, which starts it again after each reset: checks what the load before has kept,
# and makes the next reset, of the kinds in /t/resets.  Prints "# kept N CPU FIRST LAST GAPS" for
# each CPU, which the host compares with what the console had said.

# shellcheck source=lib.sh
. /t/lib.sh

kept=/sys/kernel/debug/stackbuf/kept
fact() { # NAME FILE
	sed -n "s/^$1  *\([0-9]*\)\$/\1/p" "$2"
}
no_memory() { # PATTERN VALUE
	mark
	if insmod /t/big/stackbuf.ko keep="$2" 2>/dev/null; then rmmod stackbuf; return 1; fi
	# insmod tries twice
	since | sed -n 's/.*stackbuf: keep/stackbuf: keep/p' | sort -u >said
	is "$(wc -l <said) == 1" && grep "stackbuf: keep: .*$1" said || { cat said; return 1; }
}
# Memory of the kernel: on arm64 it begins elsewhere
ram=0x1000000
words="memmap=16384K.$ram on its command line"
[ "$(uname -m)" = x86_64 ] || ram=0x44000000 words='a node of reserved-memory'
refusals() {
	no_memory 'there is no memory of this name' nothing-of-this-name && no_memory 'ADDRESS:SIZE or NAME' 0x8000000: &&
		no_memory 'ADDRESS:SIZE or NAME' 0x8000000:16Mx && no_memory 'multiples of the page size' 0x8000800:16M &&
		no_memory "uses this memory: $words" $ram:16M && no_memory 'this memory is not reserved' 0xfed00000:4K &&
		{ [ ! -e /t/taken ] || no_memory 'could not reserve this memory' taken; } && [ ! -e /sys/module/stackbuf ]
}
# What a driver has claimed, where the whole reservation is asked for, and half of it.  The driver is below it
claimed() { # ADDRESS:SIZE
	insmod /t/big/stackbuf_claim.ko start=$((${1%:*} + 0x100000)) size=65536 && no_memory 'a driver has claimed this memory' "$1:take" &&
		no_memory 'a driver has claimed this memory' "${1%:*}:16M:take" && grep 'a driver' /proc/iomem && rmmod stackbuf_claim
}
# What a driver has left there, which claims nothing; it is not touched, and may be taken
foreign() { # ADDRESS:SIZE
	insmod /t/reed_solomon.ko && insmod /t/ramoops.ko mem_address="${1%:*}" mem_size=0x100000 record_size=0x4000 &&
		rmmod ramoops && no_memory "holds data that is not stackbuf's, at ${1%:*}: logs of ramoops; to overwrite it: $1:take" "$1" &&
		no_memory "holds data that is not" "$1" && insmod /t/big/stackbuf.ko keep="$1:take" &&
		dmesg | grep "overwrites data that is not stackbuf's, at ${1%:*}: logs of ramoops" && [ "$(cat $P/keep)" = "$1:take" ] &&
		grep "^ *$(printf %08x $((${1%:*})))-[0-9a-f]* : stackbuf" /proc/iomem && rmmod stackbuf
}
# store OFFSET: standard input, to that place of the memory
store() { dd of=/dev/mem bs=1 seek=$((${memory%:*} + $1)) conv=notrunc status=none; }
# others BYTE: how many others are in the memory
others() { dd if=/dev/mem bs=1M skip=$((${memory%:*} >> 20)) count=16 status=none | tr -d "$1" | wc -c; }
# A load or an unload that the reset has cut short leaves a first page that is no record, or no more of it than what
# makes it ours; what has that is not another's.  Any other byte is
half_written() {
	[ "$(others '\0')" = 0 ] || return
	printf '\211stkbuf\n' | store 0 && printf '\211stkbuf\n' | store 8192 && insmod /t/big/stackbuf.ko keep="$memory" && rmmod stackbuf || return
	# With the sizes of a record, and text behind it: as begin_record() and keep_arrays() leave it half-way
	insmod /t/big/stackbuf.ko keep="$memory" && dd if=$D/info bs=4096 count=1 of=first status=none && rmmod stackbuf || return
	printf '\0\0' | dd of=first bs=1 seek=10 conv=notrunc status=none
	dd if=/dev/zero of=first bs=1 seek=24 count=8 conv=notrunc status=none
	store 0 <first && echo text | store 0x600000 && insmod /t/big/stackbuf.ko keep="$memory" && [ ! -e $kept/1 ] && rmmod stackbuf || return
	[ "$(others '\0')" = 0 ] || return
	printf x | store 0x1400064 && no_memory "holds data that is not stackbuf's, at 0x9400000; to" "$memory" && printf '\0' | store 0x1400064
}
# As after hibernation: nothing is stored there any more, nor removed
changed() {
	mark
	insmod /t/big/stackbuf.ko keep="$memory" probe=vfs_read || return
	insmod /t/big/stackbuf_claim.ko start="${memory%:*}" size=4096 wipe=1 2>/dev/null
	for _ in $(seq 100); do ! since | grep -q 'stackbuf: keep: the memory has changed' || break; usleep 100000; done
	since | grep 'stackbuf: keep: the memory has changed' && ! "$STACKBUF" info | grep '^kept over' || return
	insmod /t/big/stackbuf_claim.ko start="${memory%:*}" size=16777216 wipe=1 2>/dev/null
	dd if=/dev/zero of=/dev/null bs=1 count=10000 2>/dev/null
	echo "$(others Z) bytes were stored"
	is "$(others Z) == 0" && is "$("$STACKBUF" info --json | sed -n 's/.*"events_recorded":\([0-9]*\).*/\1/p') > 10000" && rmmod stackbuf &&
		is "$(others Z) == 0" && dd if=/dev/zero of=/dev/mem bs=1M seek=$((${memory%:*} >> 20)) count=16 conv=notrunc status=none
}
# le64 NUMBER...: as they are in memory
le64() {
	for number; do
		for shift in 0 8 16 24 32 40 48 56; do
			printf %b "\\0$(printf %o $((number >> shift & 255)))"
		done
	done
}
# left_by OFFSET INSTANCE SIZES...: the first page of a record of these sizes
left_by() {
	le64 "$2" | dd of=first bs=1 seek=16 conv=notrunc status=none
	at=$1
	shift 2
	{ le64 0; dd if=first bs=1 skip=32 count=8 status=none; le64 "$@"; } | dd of=first bs=1 seek=24 conv=notrunc status=none
	store "$at" <first
}
# It is loaded, and what was found can be read, as far as it goes, and forgotten
loads_beside() { # RECORDS
	mark
	insmod /t/big/stackbuf.ko keep="$memory" || return 1
	since | sed -n 's/.*stackbuf: keep/keep/p'
	is "$(find $kept -name '[0-9]*' 2>/dev/null | wc -l) == $1" || return 1
	for file in "$kept"/[0-9]*; do
		[ -e "$file" ] || break
		cat "$file" >/dev/null && echo "${file##*/}" >$kept/forget || return 1
	done
	rmmod stackbuf
}
# First pages that lie about their sizes, one in the last page, and more records than there are files
hostile() {
	insmod /t/big/stackbuf.ko keep="$memory" && dd if=$D/info bs=4096 count=1 of=first status=none && rmmod stackbuf || return 1
	for sizes in "-4096 4096 4096 4096" "4096 -4096 4096 4096" "4096 -4096 -4096 12288" "0 0 0 0" "4104 4096 4096 4096" \
		"4096 4096 4096 0x1ffc000" "0x7ffffffffffff000 0x7ffffffffffff000 4096 4096"; do
		# shellcheck disable=SC2086
		left_by 0 1 $sizes && loads_beside 1 || { echo "$sizes"; return 1; }
	done
	left_by $((0x1fff000)) 1 4096 4096 4096 4096 && loads_beside 1 || return 1
	for i in $(seq 30); do left_by $((i * 16384)) "$i" 4096 4096 4096 4096 || return 1; done
	loads_beside 16 && loads_beside 14 && loads_beside 0 || return 1
	[ "$(dd if=/dev/mem bs=1M skip=$((${memory%:*} >> 20)) count=32 status=none | tr -d '\0' | wc -c)" = 0 ]
}
# What the last load has left, and nothing is wrong with it
survived() { # N
	"$STACKBUF" --kept info >facts && : >events || return 1
	# By CPU: one may have gone on for long after the other
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		"$STACKBUF" --kept log --cpu="$cpu" --last 4000 --json >>events || return 1
	done
	is "$(fact 'damaged pages' facts) + $(fact 'missing pages' facts) + $(fact 'pages of no known instance' facts) + $(fact 'half-written stacks' facts) == 0" &&
		is "$(fact 'events recorded' facts) > 4000" || { cat facts; return 1; }
	# Frames of each event of a writer, not only from the text log, and tags one after the other
	awk -v n="$1" '
		!/"comm":"writer/ { next }
		!/"writer_path_[ab]/ || !/"addresses":\["0x/ { bad++ }
		{
			match($0, /"tag":"?0x[0-9a-f]*/)
			tag = substr($0, RSTART, RLENGTH)
			sub(/.*0x/, "", tag)
			cpu = length(tag) > 12 ? substr(tag, 1, length(tag) - 12) + 0 : 0
			at = 0
			for (i = length(tag) > 12 ? length(tag) - 11 : 1; i <= length(tag); i++)
				at = at * 16 + index("0123456789abcdef", substr(tag, i, 1)) - 1
			if (!(cpu in last))
				first[cpu] = at
			else if (at != last[cpu] + 1)
				gaps[cpu]++
			last[cpu] = at
		}
		END {
			for (cpu in last)
				print "kept", n, cpu, first[cpu], last[cpu], gaps[cpu] + bad
		}' events >tags
	is "$(wc -l <tags) == $(nproc)"
}
# Its own record is beside it
beside() {
	"$STACKBUF" info | grep -q 'recording was off  *0' && is "$(find $kept -name '[0-9]*' | wc -l) == 1" &&
		is "$(stat -c %a $kept/1) == 400"
}
forgotten() {
	if echo 7 >$kept/forget; then return 1; fi
	echo 1 >$kept/forget && echo 1 >$kept/forget && is "$(wc -c <$kept/1) == 0" && ! "$STACKBUF" --kept info 2>said && cat said && is "$(wc -l <said) == 1"
}

n=$(cat /out/resets 2>/dev/null || echo 0)
total=$(wc -l </t/resets)
[ "$n" != 0 ] || result "what is no memory for it is refused, in one line" refusals
# Where there is a second way to name it, by turns
memory=$(sed -n "$((n % $(wc -l </t/keep) + 1))p" /t/keep)
if [ "$n" = 0 ] && [ -e /t/ramoops.ko ]; then
	on_x86 "the kernel's map has no reservation above it" "what a driver has claimed in it is refused" claimed 0x8000000:32M
	result "what a driver has left there is refused, and taken if asked" foreign "$memory"
	result "a load that a reset cut short is no other's; a byte elsewhere is" half_written
	result "memory that changes is no longer kept" changed
	result "what earlier loads have left is not trusted" hostile
fi
insmod /t/big/stackbuf.ko "keep=$memory" || exit 1
# Where, and how much, is said
said() {
	at=$(dmesg | sed -n 's/.*stackbuf: keep: at \(0x[0-9a-f]*\), \([0-9]*\) KiB$/\1, \2 KiB/p' | tail -n 1)
	"$STACKBUF" info | grep "^kept over a reset  *at $at of [0-9]* KiB$" && [ -e $kept/forget ] && "$STACKBUF" info --json | grep "\"kept_at\":\"${at%,*}\""
}
if [ "$n" != 0 ]; then
	result "a record outlives a reset: $(sed -n "${n}p" /t/resets)" survived "$n"
	sed 's/^/# /' tags
	[ "$n" != 1 ] || result "the new record is beside it" beside
	result "it is forgotten, $n" forgotten
fi
if [ "$n" = "$total" ]; then
	# Unloaded, it leaves nothing
	rmmod stackbuf
	insmod /t/big/stackbuf.ko "keep=$memory"
	result "rmmod removes what it has kept" [ ! -e $kept/1 ]
	result "that it keeps is said at load, by info and in debugfs" said
	rmmod stackbuf
	echo "done"
	exit
fi
echo $((n + 1)) >/out/resets
sync
# What is alarming goes to the console
dmesg -n 2
insmod /t/big/stackbuf_writer.ko
# Each CPU's has said how far it is; then at any instant
for cpu in 0 1; do
	until [ "$(dmesg | grep -c "CPU $cpu at")" -ge 2 ]; do usleep 50000; done
done
usleep $((n * 37 % 100))0000
case $(sed -n "$((n + 1))p" /t/resets) in
watchdog | hang)
	# Either ends it
	if [ -e /t/i6300esb.ko ]; then
		insmod /t/watchdog.ko && insmod /t/i6300esb.ko heartbeat=4 && exec 3>/dev/watchdog
	else
		host reset 3 &
	fi
	sleep 1
	echo 1 >/sys/module/stackbuf_writer/parameters/hang
	;;
sysrq) echo b >/proc/sysrq-trigger ;;
panic) echo c >/proc/sysrq-trigger ;;
*) host reset ;;
esac
sleep 100
