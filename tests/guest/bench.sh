#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Costs, in the guest: lines "NAME FRAMES COST".  With /t/threads instead the
# events per millisecond of so many CPUs.

tracing=/sys/kernel/tracing
[ -d $tracing/events ] || tracing=/sys/kernel/debug/tracing
dmesg -n 1

costs() {
	dmesg -c >/dev/null
	insmod /t/stackbuf_bench.ko "$@" 2>/dev/null
	dmesg | sed -n 's/.*stackbuf_bench: //p'
}

insmod /t/stackbuf.ko || exit 1
if [ -e /t/threads ]; then
	for n in 1 2 1 2 1 2; do
		costs threads=$n rounds=1000000
	done
	exit
fi

costs
costs probed=call
insmod /t/stackbuf_probe.ko functions=int_sqrt && costs probed=stackbuf_probe
rmmod stackbuf_probe

cd $tracing || exit 1
echo 'p:bench int_sqrt' >kprobe_events && echo 1 >events/kprobes/bench/enable &&
	costs probed=ftrace_kprobe
echo stacktrace >events/kprobes/bench/trigger && costs probed=ftrace_kprobe_stacktrace
echo '!stacktrace' >events/kprobes/bench/trigger
echo 'hist:keys=common_stacktrace' >events/kprobes/bench/trigger 2>/dev/null ||
	echo 'hist:keys=stacktrace' >events/kprobes/bench/trigger
costs probed=ftrace_hist_stacktrace
echo 0 >events/kprobes/bench/enable
$(cat /t/reader) info | sed -n 's/^events in a MiB of ring *//p' | sed 's/^/events_per_mib 0 /'
