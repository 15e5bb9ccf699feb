#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# What is left in a kdump vmcore, and on the console, when the machine panics or
# oopses while all CPUs record.
#
#   panic     panic() with notifiers before kdump: recording is stopped, events are printed
#   nested    the same, and a notifier panics as well
#   nmi       the same in an NMI, where the console shows nothing before kdump starts
#   plain     panic() with kdump as usually set up: kdump runs first, no notifier is called
#   oops      an oops, which stops recording by itself

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

sbcheck=$work/sbcheck

# value WORD FILE: the word after WORD
value() {
	awk -v word="$1" '{ for (i = 1; i < NF; i++) if ($i == word) { print $(i + 1); exit } }' "$2"
}

carved() {
	rm -rf "$work/carved"
	mkdir "$work/carved" && "$sbcheck" carve "$work/out/vmcore" "$work/carved" &&
		"$sbcheck" stopped "$work/carved" >"$work/stopped" || { cat "$work/stopped"; return 1; }
	"$sbcheck" events "$work/carved" >"$work/events" && "$sbcheck" stacks "$work/carved" >"$work/stacks"
}

# ENABLED is 1, FROZEN_OOPS 2, FROZEN_PANIC 4, FILTERED 16
state() {
	local state
	state=$(value state "$work/stopped")
	echo "state $state"
	case $kind in
	panic | nested | nmi) [ "$state" = 5 ] ;;
	plain) [ "$state" = 1 ] ;;
	oops) [ $((state & 19)) = 19 ] ;;
	esac
}

# The CPU that panicked has exactly the events before the panic, in order
last_event() {
	awk '$1 == 0 && $5 == "sbtest/0" && $NF ~ /^a/ { print $NF }' "$work/events" >"$work/tags"
	seq 0 999 | awk '{ printf "a%014x\n", $1 }' | cmp - "$work/tags" || return
	[ "$(awk '$1 == 0 { tag = $NF } END { print tag }' "$work/events")" = a000000000003e7 ]
}

# The other CPU has consecutive events up to where it was stopped
other_cpu() {
	awk '$1 == 1 && $5 == "sbtest/1" && $NF ~ /^b/ { print substr($NF, 2) }' "$work/events" |
		while read -r tag; do echo $((0x$tag)); done >"$work/tags"
	[ "$(wc -l <"$work/tags")" -gt 100 ] || { echo "only $(wc -l <"$work/tags") events"; return 1; }
	awk 'NR > 1 && $1 != last + 1 { print "after", last, $1; bad = 1 } { last = $1 } END { exit bad }' "$work/tags"
}

nothing_after() {
	! grep ' tag dead$' "$work/events" || return
	[[ $kind != @(panic|nested) ]] || grep 'save after panic gives id 0' "$work/out/console.log" || return
	# The time of the stop is by the clock of the CPU that stopped recording.  Another CPU's
	# clock may be ahead by as long as that CPU had interrupts off, so do not compare its
	# times: it must have refused events, and if it had recorded again, other_cpu() would
	# have found a gap.
	local stop off
	stop=$(value stop_ns "$work/stopped")
	off=$(value off "$work/stopped")
	echo "stopped at $stop, then refused $off"
	# late_die() waits for 100 calls, of which one may have begun before the stop
	case $kind in
	panic | nested | nmi) [ "$off" -gt 0 ] ;;
	oops) [ "$off" -ge 99 ] ;;
	esac || return
	[ "$kind" = plain ] || awk -v stop="$stop" '!$1 && $2 + 0 > stop + 0 { print "after", stop, $0; bad = 1 }
		END { exit bad || !stop }' "$work/events"
}

# The console shows the newest 20 events, and each stack with its first event
panic_dump() {
	tr -d '\r' <"$work/out/console.log" | sed -n 's/^\[ *[0-9.]*\] //p' |
		awk '/^stackbuf: the last [0-9]* events:/ { on = 1 } on && !/^stackbuf: \[| \(|^stackbuf: *[a-z_A-Z.0-9]*\+0x|^stackbuf: the last/ { exit } on' >"$work/dump"
	[ "$(grep -c 'stackbuf: the last 20 events:' "$work/out/console.log")" = 1 ] &&
		grep -qx 'stackbuf: the last 20 events:' "$work/dump" || { cat "$work/dump"; return 1; }
	# Events with equal times have no order: any of them may be the first
	grep ' half written ' -v "$work/events" | sort -n -k 2 >"$work/by_time"
	first=$(tail -n 20 "$work/by_time" | awk '{ print $2; exit }')
	awk -v first="$first" '$2 >= first { split($4, pid, "/")
		printf "%s %s %s stack %s tag 0x%s %s\n", $1, pid[2], $5, $7, $9, $2 == first ? "may" : "must" }' "$work/by_time" |
		sed 's/0x0*\(.\)/0x\1/' | sort >"$work/want"
	sed -n 's/^stackbuf: \[ *[0-9.]*\] CPU: \([0-9]*\) PID: \([0-9]*\) Comm: \(.*\) stack \([0-9]*\) tag \(.*\)/\1 \2 \3 stack \4 tag \5/p' "$work/dump" |
		sort >"$work/got"
	sed -n 's/ must$//p' "$work/want" | sort | comm -13 "$work/got" - >"$work/missing"
	sed 's/ [a-z]*$//' "$work/want" | sort | comm -23 "$work/got" - >"$work/others"
	[ "$(wc -l <"$work/got")" = 20 ] && [ ! -s "$work/missing" ] && [ ! -s "$work/others" ] ||
		{ diff "$work/got" "$work/want"; return 1; }
	# Each distinct stack is shown once, with one line per frame
	frames=$(awk '{ print $5 }' "$work/got" | sort -u | while read -r id; do
		value frames <(grep "^stack $id " "$work/stacks")
	done | paste -sd+ | { read -r sum && echo $((sum)); })
	shown=$(grep -c '+0x[0-9a-f]*/0x[0-9a-f]*' "$work/dump")
	echo "$frames frames, $shown lines"
	[ "$frames" = "$shown" ] && [ "$frames" -gt 10 ]
}

panics() {
	local series=${1%/*} append=''
	kind=${1##*/}
	[[ $kind != @(panic|nested|nmi) ]] || append=crash_kexec_post_notifiers
	echo "$kind" >"$work/vm/kind"
	guest "$series" panic && build_sbcheck "$series" && build "$series" big ||
		echo "not ok everything is built"
	VMCORE="cp" "$top/scripts/machine/stackbuf-vm" -k "$series" -K "$(few -de -e)" -o "$work/out" -a "$append ${APPEND:-}" "$work/vm" \
		>"$work/guest.log" 2>&1
	vm=$?
	[ $vm = 0 ] || sed 's/^/# /' "$work/guest.log"
	# An oops starts kdump before "Kernel panic" is printed, for which -e looks
	[ "$kind" != nmi ] || vm=0
	[ "$kind" != oops ] || { grep -q 'BUG: kernel NULL pointer' "$work/out/console.log" && vm=0; }
	[ -s "$work/out/vmcore" ] || vm=1
	result "the machine goes down, and kdump saves its memory" [ $vm = 0 ]
	result "the arrays in the vmcore are consistent" carved
	result "its state says what happened" state
	result "the last event is the one before" last_event
	result "the log said before what panic_dump depends on" \
		grep -q 'stackbuf: panic_dump: a kdump kernel is loaded, so nothing is printed at a panic unless' "$work/out/console.log"
	result "the other CPU's events go on until it was stopped" other_cpu
	result "nothing is recorded afterwards" nothing_after
	[[ $kind != @(panic|nested) ]] ||
		result "panic_dump prints the newest events, each stack once" panic_dump
	echo "done"
}

all='6.1/panic 6.1/nested 6.1/nmi 6.1/plain 6.12/panic 6.12/oops'
SERIES=${CASES:-$(few '6.1/nested 6.12/oops' "$all")} on_each_kernel "a machine goes down" panics
