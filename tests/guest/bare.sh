#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/long/bare.t: what the other tests do to a kernel, by what the kernel itself has.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# Walks of the kernel's own: how many frames are recorded while COMMAND... runs, and what goes on otherwise
walks() {
	echo >$T/trace && echo 1 >$T/tracing_on && "$@" || return 1
	dd if=/dev/zero of=/tmp/file bs=4k count=2000
	sleep 3
	for n in 1 2 3 4 5 6 7 8; do cat /proc/*/status >/dev/null; done
	echo 0 >$T/tracing_on
	# The next tracer empties it
	n=$(grep -c '^ => ' $T/trace)
	echo 0 >$T/events/enable
	echo nop >$T/current_tracer
	echo 0 >$T/options/stacktrace
	echo "$n frames"
	is "$n > 1000"
}
# In interrupts as well
at_events() {
	echo 1 >$T/options/stacktrace || return 1
	for event in sched/sched_switch sched/sched_waking timer/hrtimer_expire_entry irq/softirq_entry kmem/kmalloc kmem/kfree; do
		echo 1 >$T/events/$event/enable || return 1
	done
}
at_functions() {
	echo "vfs_* schedule" >$T/set_ftrace_filter && echo function >$T/current_tracer && echo 1 >$T/options/func_stack_trace
}

probed() {
	echo 1 >$T/tracing_on && echo >$T/trace && echo 'p:bare vfs_read+0' >$T/kprobe_events && echo 1 >$T/events/kprobes/bare/enable || return 1
	cat /proc/self/stat
	# Else reading the trace makes it longer
	echo 0 >$T/tracing_on
	grep 'bare: (vfs_read' $T/trace && echo 0 >$T/events/kprobes/bare/enable && echo >$T/kprobe_events
}

tasks() {
	echo 1 >/proc/sys/kernel/sysrq && echo t >/proc/sysrq-trigger && echo l >/proc/sysrq-trigger || return 1
	cat /proc/[0-9]*/stack | grep '+0x'
}

offline() {
	cpu=/sys/devices/system/cpu/cpu1/online
	for n in 1 2 3; do echo 0 >$cpu && echo 1 >$cpu || return 1; done
}

result "stacks walked at tracepoints, by ftrace" walks at_events
with FUNCTION_TRACER "... at the beginnings of functions" walks at_functions
with KPROBE_EVENTS "a kprobe comes and goes" probed
with MAGIC_SYSRQ "stacks of all tasks and CPUs" tasks
when /sys/devices/system/cpu/cpu1/online "there is one CPU, or none can be switched off" "a CPU is switched off and on again" offline
why='this kernel or machine cannot'
[ "$arch" != x86_64 ] || ! has_to_memory || why=
unless "$why" "suspended to memory and back" to_memory
echo "done"
