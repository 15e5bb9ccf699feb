#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Runs for /t/minutes on all CPUs: probes on hot functions, every recall verified,
# saves from timers, interrupts and NMIs, readers that follow, parameters that are
# rewritten, modules that are loaded and unloaded.  Then compares the arrays and all figures.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

hot=$(those dput,vfs_read,vfs_write,kmem_cache_free,path_openat,do_exit,wake_up_process)
more=$(those handle_mm_fault,pipe_write,anon_pipe_write,getname_flags,tcp_sendmsg)

go_on() { [ "$(date +%s)" -lt $end ]; }

shell_load() {
	while go_on; do
		find / -xdev >/dev/null
		ls -lR /proc/self >/dev/null 2>&1
		dd if=/dev/zero of="/tmp/load$1" bs=4k count=100 2>/dev/null
		md5sum <"/tmp/load$1" >/dev/null
		for _ in 1 2 3 4 5; do true | cat | cat >/dev/null; done
	done
	rm -f "/tmp/load$1"
}

network() {
	while go_on; do
		nc -l -p 4711 >/dev/null 2>&1 </dev/null &
		sleep 1
		dd if=/dev/zero bs=64k count=20 2>/dev/null | nc 127.0.0.1 4711
		kill $! 2>/dev/null
	done
}

# Readers, in turn: one that follows the log, one of totals, one of a snapshot
readers() {
	while go_on; do
		timeout 20 "$STACKBUF" log --follow >/dev/null 2>err.follow
		"$STACKBUF" count >/dev/null || echo "count failed" >>troubles
		"$STACKBUF" save /tmp/snapshot.soak && "$STACKBUF" -f /tmp/snapshot.soak log >/dev/null ||
			echo "snapshot failed" >>troubles
	done
}

rewrite() {
	while go_on; do
		echo "+$more" >$P/probe || echo "adding probes failed" >>troubles
		sleep 2
		echo "$hot" >$P/probe || echo "replacing probes failed" >>troubles
		if echo "+no_such_function" >$P/probe; then echo "nonsense was taken" >>troubles; fi 2>/dev/null
		for value in 0 7 1; do echo $value >$P/verify; done
		for value in 10 0; do echo $value >$P/panic_dump; done
		sleep 1
	done
}

modules() {
	while go_on; do
		# Its figures do not matter here; few rounds, as it occupies a CPU while it measures
		insmod /t/big/stackbuf_bench.ko rounds=20 && rmmod stackbuf_bench || echo "a module failed" >>troubles
		insmod /t/big/stackbuf_probe.ko functions=vfs_statx && rmmod stackbuf_probe || echo "a module failed" >>troubles
		sleep 1
	done
}

# The client's own saves: attempted = recorded + refused, and no id is wrong
storms() {
	while go_on; do run storm 4000 400 1000 1 >>storms || echo "storm failed" >>troubles; done
}

memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	awk '/^(Slab|VmallocUsed|Percpu|KernelStack):/ { n += $2 } END { print n }' /proc/meminfo
}

mark
# Run everything once before memory is measured: the kernel sets up some memory only once, and
# keeps some of each of the load's tasks, sockets and files
insmod /t/big/stackbuf.ko "probe=$hot" && insmod /t/big/stackbuf_bench.ko rounds=1 &&
	rmmod stackbuf_bench && rmmod stackbuf
end=$(($(date +%s) + 10))
shell_load 1 &
shell_load 2 &
network
wait
before=$(memory)
end=$(($(date +%s) + $(cat /t/minutes) * 60))
load big verify=1 "probe=$hot" || exit 1
: >troubles
: >storms
echo "# $(latest events_recorded) events before"
shell_load 1 &
shell_load 2 &
network &
readers &
rewrite &
modules &
storms
wait
echo 0 >$P/enable
echo >$P/probe
facts
attempted=$(awk '$1 == "attempted" { n += $2 } END { printf "%.0f", n }' storms)
recorded=$(awk '$1 == "attempted" { n += $4 } END { printf "%.0f", n }' storms)
refused=$(awk '$1 == "attempted" { n += $6 } END { printf "%.0f", n }' storms)
wrong=$(awk '{ n += $8 } END { printf "%.0f", n }' storms)
echo "# attempted $attempted recorded $recorded refused $refused by the client"
tr ',' '\n' <info.json | grep -E 'events_re|walked|verified|differed|lost|kept|missed' | note
echo "# $(cat /t/minutes) minutes, $(fact events_recorded) events recorded, $(fact events_refused) refused and counted, $(fact verified) recalls verified, $(fact differed) differed"
result "what the client attempted was recorded or refused, nothing else" is "$attempted == $recorded + $refused && $attempted > 10000"
result "no id of its own stood for another stack" is "$wrong == 0"
result "no recalled stack differed from the walked one" is "$(fact differed) == 0 && $(fact verified) > 10000"
result "nobody's work failed" sh -c 'cat troubles; [ ! -s troubles ]'
result "ring, table and text are whole" check
total() { is "$(value total check) == $(fact events_recorded)"; }
result "the ring and the counts of stacks add up to the events recorded" total
unload
after=$(memory)
result "memory as before: $before kB, then $after kB" is "$after - $before < 1024"
quiet() {
	since >log
	# The emulator causes complaints about slowness; stackbuf_bench sets up the stack depot
	if grep -v -E 'stackbuf: .*events recorded|INIT stackbuf|EXIT stackbuf|Stack trace\(|^\[ *[0-9.]*\]  [a-zA-Z_]|stackbuf_probe: attempted|stackbuf: probe: |stackbuf_bench|module verification|taints kernel|drop_caches|Stack Depot|stackdepot: allocating|took too long to run|nmi_check_duration: [0-9]+ callbacks suppressed|hrtimer: interrupt took' log; then return 1; fi
}
result "no line in the log that should not be there" quiet
echo "done"
