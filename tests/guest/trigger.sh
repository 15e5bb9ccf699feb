#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/trigger.t: recording stops so many events after a place was hit, and says so.

# shellcheck source=lib.sh
. /t/lib.sh

L=/sys/module/stackbuf_leak/parameters/run
HOLD=stackbuf_leak:leak_hold@arg1
RELEASE=stackbuf_leak:leak_release

refusals() {
	refused trigger 'no such function' nothing_of_this_name && refused trigger 'no function matches\|no ftrace for patterns' 'nothing_of_this_*:3' &&
		refused trigger 'PLACE\[:EVENTS\] is accepted' vfs_read:1k && refused trigger 'no such event' t:nothing
}
holds() { # OPTION...
	"$STACKBUF" log "$@" --json | grep -c '"leak_hold'
}
# A hundred before, and ten of the hundred after, in a ring that others write to as well
counted() {
	echo "$HOLD" >$P/probe && echo "$RELEASE:10" >$P/trigger && [ "$(cat $P/trigger)" = "$RELEASE:10" ] || return 1
	echo "keep 100" >$L
	[ "$(cat $P/enable)" = 1 ] && [ -z "$(latest trigger)" ] || return 1
	echo "drop 1" >$L && echo "keep 9" >$L && [ "$(cat $P/enable)" = 1 ] &&
		"$STACKBUF" info | grep 'enabled, a trigger was hit: 1 of 10 events are still to come' && echo "keep 1" >$L && [ "$(cat $P/enable)" = 0 ] || return 1
	echo "keep 90" >$L
	# Written anew it stays stopped, and says by which
	echo dput >$P/trigger && echo vfs_write >$P/trigger && echo "$RELEASE:10" >$P/trigger && [ "$(cat $P/enable)" = 0 ] && [ "$(latest trigger)" = "$RELEASE" ] && is "$(latest trigger_left) == 10" &&
		is "$(holds) == 110 && $(holds --until trigger) == 100 && $(holds --since trigger) == 10" &&
		"$STACKBUF" info | grep 'stopped by a trigger after 10 of 10 events' && is "$(latest stop_ns) - $(latest newest_ns) >= 0 && $(latest stop_ns) - $(latest newest_ns) < 1000000000"
}
# It goes on, and stops at the next hit; probes and triggers are two lists
again() {
	echo 1 >$P/enable && [ "$(cat $P/enable)" = 1 ] && [ -z "$(latest trigger)" ] && echo "keep 50" >$L && echo "$HOLD,dput" >$P/probe || return 1
	before=$(holds)
	echo "drop 3" >$L && echo "keep 100" >$L
	[ "$(cat $P/enable)" = 0 ] && [ "$(cat $P/trigger)" = "$RELEASE:10" ] && is "$(holds) <= $before + 10" || return 1
	echo "$HOLD" >$P/probe && [ "$(cat $P/trigger)" = "$RELEASE:10" ]
}
by_pattern() {
	echo 'stackbuf_leak:leak_rel*:5' >$P/trigger && echo 1 >$P/enable && echo "drop 1" >$L && echo "keep 100" >$L || return 1
	[ "$(cat $P/enable)" = 0 ] && [ "$(latest trigger)" = 'stackbuf_leak:leak_rel*' ] && is "$(holds --since trigger) == 5"
}
# At once, by a tracepoint, while a filter keeps all else out
at_once() {
	echo 1 >$P/enable && echo t:sched:sched_process_exit >$P/trigger && echo 32767 >$P/pid || return 1
	sh -c 'exit 0'
	[ "$(cat $P/enable)" = 0 ] && [ "$(latest trigger)" = t:sched:sched_process_exit ] || return 1
	echo 0 >$P/pid && echo >$P/trigger && echo 1 >$P/enable && [ "$(cat $P/enable)" = 1 ] && facts && ! grep sched_process_exit info.json
}
# Until the command in the background waits
waits() {
	until [ "$(cat /proc/$!/comm)" = stackbuf ] && grep -q '^State:.S' /proc/$!/status || ! kill -0 $! 2>/dev/null; do usleep 50000; done
}
saved() {
	if "$STACKBUF" save snapshot --on-trigger : 2>said; then return 1; fi
	is "$(wc -l <said) == 1" && grep 'no trigger is set' said && echo "$RELEASE" >$P/trigger || return 1
	"$STACKBUF" save snapshot --on-trigger 'echo ran >ran' 2>said &
	waits
	echo >$P/trigger
	! wait $! && grep 'was removed' said && [ ! -e snapshot ] && [ ! -e ran ] && echo "$RELEASE" >$P/trigger || return 1
	"$STACKBUF" save snapshot --on-trigger 'echo ran >ran' &
	waits
	[ ! -e snapshot ] && [ ! -e ran ] || return 1
	echo "keep 5" >$L && echo "drop 1" >$L
	wait $! && [ "$(cat ran)" = ran ] && "$STACKBUF" -f snapshot info | grep 'stopped by a trigger$' || return 1
	# It has stopped already
	if "$STACKBUF" save snapshot --on-trigger 'exit 3' 2>said; then return 1; fi
	grep 'exit status 3' said && echo >$P/trigger && echo 1 >$P/enable
}
# While one of many hits counts down: a refused write leaves it, another one ends it
written() {
	dd if=/dev/zero of=/dev/null bs=1 count=1000000000 2>/dev/null &
	reading=$!
	echo vfs_read:4000000000 >$P/trigger && until [ "$(latest trigger)" = vfs_read ]; do usleep 50000; done
	hit=$(latest trigger_ns)
	refused trigger 'no such function' nothing_of_this_name && [ "$(latest trigger_ns)" = "$hit" ] && echo "$RELEASE" >$P/trigger
	written=$?
	kill $reading
	[ $written = 0 ] && [ "$(cat $P/enable)" = 1 ] && [ -z "$(latest trigger)" ] && echo >$P/trigger
}
# Where a task hangs: what it was switched out at, and for how long
hung() {
	echo 1 >/proc/sys/kernel/hung_task_timeout_secs && echo 1 >/proc/sys/kernel/hung_task_check_interval_secs || return 1
	echo offcpu >$P/pair && echo t:sched:sched_process_hang >$P/trigger || return 1
	# Until it is found, and no other task that waited for the host before it
	for _ in $(seq 20); do
		echo 1 >$P/enable
		echo "sleep 1 6000" >$L
		"$STACKBUF" leaks --older 900ms --json offcpu >json && grep -q leak_sleep json && [ "$(cat $P/enable)" = 0 ] && break
	done
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs
	[ "$(latest trigger)" = t:sched:sched_process_hang ] && grep -q leak_sleep json
}
# Where a CPU kept RCU waiting: the last event came in an interrupt of that loop, or of a CPU that was idle and saw it first
stalled() {
	echo >$P/pair && echo print_cpu_stall_info >$P/trigger && echo print_cpu_stall_info >$P/probe && echo 1 >$P/enable &&
		echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout &&
		echo 0 >/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress || return 1
	: >last
	spin=3600
	# RCU_STALL_DELAY_DELTA
	! grep -q '^CONFIG_PROVE_RCU=y' /t/config || spin=8600
	# Once should do, unless the host gives the guest no processor for seconds, within the loop or elsewhere
	for _ in $(seq 20); do
		echo 1 >$P/enable
		# Whatever ends has RCU do something
		(for _ in 1 2 3; do sleep 0.1; done) &
		echo "spin $spin" >$L
		[ "$(cat $P/enable)" = 0 ] && "$STACKBUF" log --until trigger --last 1 >last && grep -q hardirq last &&
			grep -qE '^	(leak_spin|do_idle)[+]' last && break
	done
	echo 1 >/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress
	echo >$P/probe
	[ "$(cat $P/enable)" = 0 ] && [ "$(latest trigger)" = print_cpu_stall_info ] || return 1
	echo >$P/trigger && echo 1 >$P/enable && grep -q hardirq last && grep -qE '^	(leak_spin|do_idle)[+]' last || { cat last; return 1; }
}

insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_leak.ko
result "what is no trigger is refused, in one line" refusals
result "ten events after the hit of a function recording stops" counted
result "it goes on, and stops at the next hit" again
with DYNAMIC_FTRACE "at the hit of a function that a pattern matches" by_pattern
result "at once, at a tracepoint that filters leave out" at_once
result "written while hits come" written
result "a snapshot when it has stopped, and then a command" saved
when /proc/sys/kernel/hung_task_timeout_secs "this kernel looks for none" "where a task hangs" hung
result "where a CPU kept RCU waiting" stalled
rmmod stackbuf_leak stackbuf
echo "done"
