#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Every recall is walked as well, under a mixed load on all CPUs, while return
# addresses are replaced, modules come and go, and hot functions are probed.
# Also with the module of the folder "fault", whose recall is wrong on purpose.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

tracing=/sys/kernel/tracing
[ -d $tracing/events ] || tracing=/sys/kernel/debug/tracing
hot=dput,vfs_read,vfs_write,kmem_cache_free,path_openat,do_exit,wake_up_process
hot=$hot,handle_mm_fault,pipe_write,getname_flags,tcp_sendmsg,do_send_sig_info

load() {
	for _ in $(seq "$(cat /t/rounds)"); do
		find / -xdev >/dev/null
		ls -lR /proc/self /sys/kernel >/dev/null 2>&1
		dd if=/dev/zero of="/tmp/load$1" bs=4k count=100 2>/dev/null
		md5sum <"/tmp/load$1" >/dev/null
		for _ in 1 2 3 4 5 6 7 8 9 10; do true | cat | cat >/dev/null; done
		sleep 60 &
		kill $!
		wait $! 2>/dev/null
		rm -f "/tmp/load$1"
	done
}

network() {
	ip link set lo up 2>/dev/null || ifconfig lo 127.0.0.1 up
	nc -l -p 4711 >/dev/null 2>&1 </dev/null &
	sleep 1
	dd if=/dev/zero bs=64k count=100 2>/dev/null | nc 127.0.0.1 4711
	kill $! 2>/dev/null
}

# Return addresses replaced: by a kretprobe, by the function graph tracer.  On a few
# functions: the emulator may run a breakpoint of text patching that is gone by
# then, and there are many of them when all functions are patched.
trace() {
	echo 'r:stackbuf_test do_filp_open' >$tracing/kprobe_events &&
		echo 1 >$tracing/events/kprobes/stackbuf_test/enable
	sleep 2
	grep -q function_graph $tracing/available_tracers &&
		echo 'do_sys_openat2 do_filp_open path_openat vfs_read' >$tracing/set_ftrace_filter &&
		echo function_graph >$tracing/current_tracer
	sleep 2
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
	echo 0 >$tracing/events/kprobes/stackbuf_test/enable
	echo >$tracing/kprobe_events
}

fact() {
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" info.json
}

# probes KIND: the load with probes on, then the facts in info.json
probes() {
	insmod "/t/$1/stackbuf.ko" verify=1 &&
		insmod "/t/$1/stackbuf_probe.ko" "functions=$hot" || return
	load 1 &
	one=$!
	load 2 &
	two=$!
	if [ "$1" = big ]; then
		network
		trace
		# Modules come and go, in part at the same addresses
		for _ in 1 2 3; do
			insmod /t/big/stackbuf_test.ko && rmmod stackbuf_test
		done
	fi
	wait $one $two
	rmmod stackbuf_probe
	"$STACKBUF" info --json >info.json
	rmmod stackbuf
	attempted=$(dmesg | sed -n 's/.*stackbuf_probe: attempted \([0-9]*\).*/\1/p' | tail -n 1)
	tr ',' '\n' <info.json | grep -E 'events_re|walked|verified|differed|lost' | note
}

STACKBUF=$(cat /t/reader)

probes big
result "every event that was attempted is recorded or counted as refused" \
	is "$attempted == $(fact events_recorded) + $(fact events_refused) - 1"
result "a hundred thousand recalled stacks are walked as well" is "$(fact verified) >= 100000"
result "none of them differs" is "$(fact differed) == 0"
result "of ten events at least seven are recalled" \
	is "$(fact events_recalled) * 10 >= $(fact events_recorded) * 7"
result "no complaint in the log" sh -c '! dmesg | grep "recalled stack differed"'

probes fault
result "a recall that is wrong on purpose is found to differ" is "$(fact differed) >= 1"
result "recall is off after that, and every event walked" \
	is "$(fact differed) <= 4 && $(fact events_recalled) * 2 < $(fact events_recorded)"
result "one line of the log says so" \
	is "$(dmesg | grep -c 'recalled stack differed from the walked one: recall is off') == 1"
echo "done"
