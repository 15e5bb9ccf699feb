#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094,SC2218 # files are named after the commands they come from
#
# Tests stackbuf.ko with few pages, with all of them full, under NMIs and where CPUs go
# offline; the file /t/what selects which.  /t/few has 8 KiB for events and 64 KiB for each
# other array, /t/full 2 MiB for events and 64 KiB for each other, /t/page a page for each.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# try TEXT COMMAND...: a result; unloads the modules after a failure
try() {
	result "$@"
	# A test that failed may have left the modules loaded
	rmmod stackbuf_test 2>/dev/null
	rmmod stackbuf 2>/dev/null
}

# ------------------------------------------------- fewer pages than CPUs ---

turns() {
	load "$1" || return 1
	run turns "$(few 2 5)" >turns
	cat turns
	is "$(value never turns) == 0" || return 1
	check || return 1
	unload
}

starve() {
	load "$1" || return 1
	run turns 2 >turns || return 1
	run starve 2000 >starve
	cat starve
	is "$(value pages starve) == $(value open starve) && $(value none starve) == 2000" || return 1
	is "$(value aged starve) <= 2 * $(value pages starve) && $(value recovered starve) == 1" || return 1
	check || return 1
	unload
}

# All CPUs save concurrently: one that never gets a page records nothing.  How often they take
# turns depends on how busy the host is: so many times over, until each has had enough.
shares() {
	rm -f storms
	for try in $(seq 100); do
		load "$1" || return 1
		run storm "$(few 600 5000)" 40 0 0 >storm
		cat storm
		accounted || return 1
		unload
		cat storm >>storms
		[ "$(for cpu in 0 1 2 3; do
			awk -v "cpu=cpu$cpu" '$1 == cpu { n += $2 } END { print (n > 20) }' storms
		done | grep -c 1)" -lt 4 ] || return 0
		echo "storm $try: not yet"
	done
	return 1
}

# ------------------------------------------------------------------ NMIs ---

# nmis KIND MS PATHS [PARAMETER [RECALLED]]: a storm with NMIs, at least RECALLED recalled
nmis() {
	# shellcheck disable=SC2086 # none, or one
	load "$1" ${4:-} || return 1
	run storm "$(few $(($2 / 8)) "$2")" "$3" 0 2 >storm
	cat storm
	accounted || return 1
	is "$(value nmi storm) > $(few 10 200)" || return 1
	# Full
	[ "$1" = few ] || is "$(value refused storm) > 0" || return 1
	# Where the table or the ring is full, few saves get as far as recall
	is "$(value recalled storm) >= ${5:-$(few 1 100)}" || return 1
	guards && unload
}

# ----------------------------------------------------- CPUs go and return ---

online=/sys/devices/system/cpu/cpu1/online

# rmmod waits for pending work, endlessly if that never runs
in_time() {
	rmmod stackbuf_test || return 1
	rmmod stackbuf &
	for _ in $(seq 6000); do
		grep -q '^stackbuf ' /proc/modules || return 0
		sleep 0.1
	done
	echo "rmmod stackbuf does not end"
	return 1
}

# Take the other CPU offline and back online
unplug() {
	echo 0 >$online || return 1
	# Keep the table full while the CPU is offline
	run distinct 300 5 0 >distinct
	echo 1 >$online
}

# late COMMAND TIMES: COMMAND takes CPUs offline; these save as late as possible
late() {
	load full "probe=cpuhp_report_idle_dead" || return 1
	# More stacks than the table holds, so that these CPUs request an eviction
	run late 1200 1 || return 1
	# Fill the table and keep it full
	run distinct 1500 5 0 >distinct
	is "$(value none distinct) > 0 && $(value wrong distinct) == 0 && $(value gone distinct) == 0" || return 1
	for _ in $(seq "$2"); do
		"$1" || return 1
		run distinct 300 5 0 >distinct
	done
	run late 0 >late
	cat late
	is "$(value late late) == $2" || return 1
	check /proc/kallsyms || return 1
	# Eviction still works
	before=$(value evicted check)
	for try in $(seq 600); do
		run path 0x66666666 8 0 1 | grep 'id [1-9]' && break
		sleep 1
	done
	run distinct 1500 5 0 >distinct
	check && is "$try < 600 && $(value evicted check) > $before" || return 1
	in_time
}

# late_steps LIST: a save inside another at each instruction of LIST, on a CPU that has gone offline
late_steps() {
	load full || return 1
	echo 0 >/proc/sys/debug/kprobes-optimization
	grep '\[stackbuf\]$' /proc/kallsyms >symbols
	while read -r name offset; do
		at=$(awk -v name="$name" '$3 == name && !n++ { print "0x" $1 }' symbols)
		[ -z "$at" ] || run step $((at + 0x$offset)) >/dev/null || return 1
	done <"$1"
	run latesteps 1 || return 1
	unplug && unplug || return 1
	run latesteps 0 >steps
	run step 0 >/dev/null
	cat steps
	check /proc/kallsyms || { cat check; return 1; }
	is "$(value stepped steps) > $(few 8 30) && $(value wrong steps) == 0" || return 1
	is "$(value right steps) > $(few 5 20)" || return 1
	in_time
}

# Nothing more can be tried where rmmod has not ended
gone() { ! grep -q '^stackbuf ' /proc/modules || exit 1; }

case $(cat /t/what) in
storms)
	result "there are four CPUs" is "$(nproc) == 4"
	try "two pages of events for four CPUs: one CPU after the other records" turns few
	try "one page of events for four CPUs: one CPU after the other records" turns page
	try "refused events do not age the ring" starve few
	try "two pages of events, all four CPUs at once: each records" shares few
	try "NMIs over two pages of events for four CPUs" nmis few 7000 200
	try "NMIs over a full table" nmis full 8000 5000 "" 0
	try "NMIs over a full table, every recall verified" nmis full 7000 5000 verify=1 0
	try "NMIs over a page of events and a full page of stacks" nmis page 8000 5000 "" 0
	;;
late)
	try "a save at every instruction of another, on a CPU that has gone offline" late_steps /t/instructions.late
	gone
	try "saves on a CPU that has gone offline: room is made all the same, stackbuf unloads" late unplug "$(few 1 3)"
	gone
	if has_to_memory; then
		try "saves on a CPU that goes offline as the machine is suspended to memory: likewise" late to_memory 1
	else
		echo "ok saves on a CPU that goes offline as the machine is suspended to memory: likewise # SKIP this kernel or machine cannot"
	fi
	;;
esac
echo "done"
