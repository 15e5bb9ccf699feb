#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares every recall with a walk: under a mixed load on all CPUs, while return
# addresses are replaced, modules are loaded and unloaded, and hot functions are
# probed; from frames that are hard to recall; and from code that replaced other code.
# Also with a deliberately faulty module: that of the directory "fault" leaves out a comparison.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

hot=dput,vfs_read,vfs_write,kmem_cache_free,path_openat,do_exit,wake_up_process
hot=$hot,handle_mm_fault,pipe_write,getname_flags,tcp_sendmsg,do_send_sig_info
hot=$hot,ip_rcv,tcp_v4_rcv,udp_sendmsg,copy_process,begin_new_exec,alloc_inode
# pipe_write() is called anon_pipe_write() in newer kernels
hot=$(those "$hot,anon_pipe_write")

load() {
	for _ in $(seq "$(cat /t/rounds)"); do
		find / -xdev >/dev/null
		ls -lR /proc/self "/sys/kernel$(few /mm '')" >/dev/null 2>&1
		dd if=/dev/zero of="/tmp/load$1" bs=4k count=100 2>/dev/null
		md5sum <"/tmp/load$1" >/dev/null
		for _ in 1 2 3 4 5 6 7 8 9 10; do true | cat | cat >/dev/null; done
		for kind in faults jumps tcp udp sched signals execs threads files; do
			/t/load $kind "$(few 1 10)" || touch load-failed
		done
		sleep 60 &
		kill $!
		wait $! 2>/dev/null
		rm -f "/tmp/load$1"
	done
}

# alone COMMAND...: with one CPU.  A CPU of the emulator may still execute code that another
# CPU has patched, a removed breakpoint or ftrace trampoline, and end at address 0.
alone() {
	other=/sys/devices/system/cpu/cpu1/online
	[ ! -e $other ] || echo 0 >$other
	"$@"
	status=$?
	[ ! -e $other ] || echo 1 >$other
	return $status
}

# do_filp_open() is called do_file_open() in 7.1
opens=$(those do_filp_open,do_file_open)

replacing() {
	if [ -e $T/kprobe_events ]; then
		echo "r:stackbuf_test $opens" >$T/kprobe_events &&
			echo 1 >$T/events/kprobes/stackbuf_test/enable || touch not-replaced
	fi
	if grep -q function_graph $T/available_tracers; then
		echo "do_sys_openat2 $opens path_openat vfs_read" >$T/set_ftrace_filter &&
			echo function_graph >$T/current_tracer || touch not-replaced
	fi
}

replaced() {
	echo nop >$T/current_tracer
	echo >$T/set_ftrace_filter
	echo 0 >$T/events/kprobes/stackbuf_test/enable
	echo >$T/kprobe_events
}

# Return addresses replaced: by a kretprobe, by the function graph tracer
trace() {
	sleep 1
	alone replacing
	sleep 3
	alone replaced
}

# probes KIND: runs the load with probes set; then facts go to info.json
probes() {
	insmod "/t/$1/stackbuf.ko" verify=1 &&
		alone insmod /t/big/stackbuf_probe.ko "functions=$hot" || return
	load 1 &
	one=$!
	two=$one
	if [ "$1" = big ] || [ -e /t/thorough ]; then
		load 2 &
		two=$!
	fi
	if [ "$1" = big ]; then
		trace
		# Load and unload a module, sometimes at the same addresses
		for _ in 1 2 3; do insmod /t/big/stackbuf_test.ko && rmmod stackbuf_test; done
	fi
	wait $one $two
	alone rmmod stackbuf_probe
	facts
	rmmod stackbuf
	attempted=$(dmesg | sed -n 's/.*stackbuf_probe: attempted \([0-9]*\).*/\1/p' | tail -n 1)
	tr ',' '\n' <info.json | grep -E 'events_re|walked|verified|differed|lost' | note
}

FIT=/sys/module/stackbuf_fit/parameters

# fit KIND: saves from tasks and kernel threads, on all CPUs
fit() {
	before=$(fact events_recalled)
	echo "$1 3000" >$FIT/run &
	echo "$1 3000" >$FIT/run
	wait $!
	echo "kthread $1 3000" >$FIT/run
	facts
	recalled=$(($(fact events_recalled) - before))
	echo "# $1: 12000 saves, $recalled recalled"
}

fits() {
	insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_fit.ko || return
	facts
	fit end
	result "of stacks that are recalled the deepest is kept" is "$("$STACKBUF" depth |
		awk '$1 == "0)" && $4 ~ /^fit_save/ { print $2 }') == $(cat $FIT/deepest)"
	echo 1 >/sys/module/stackbuf/parameters/verify
	for kind in alloca align tail mixed end; do
		fit $kind
		# A jump leaves no frame record, so with records many paths have the same places;
		# recall knows only four stacks with the same places
		[ $kind != tail ] || [ ! -e /t/records ] || recalled=$((recalled * 10))
		# KCSAN's calls change the frames of stackbuf_fit.c
		why=
		[ $kind != tail ] || ! kcsan || why="with KCSAN's calls they are others"
		unless "$why" "frames that are hard, $kind: recalled in part" is "$recalled >= 1000"
	done
	fit deep
	attempted=$(cat $FIT/attempted)
	result "frames that are hard: none differs" is "$(fact differed) == 0"
	result "frames that are hard: every save is recorded" \
		is "$(fact events_recorded) == $attempted + 1 && $(fact events_refused) == 0"
	"$STACKBUF" count --folded >folded
	result "frames that are hard: totals are exact" \
		is "$(awk '{ n += $NF } END { print n }' folded) == $attempted + 1"
	rmmod stackbuf_fit stackbuf
}

# write TIMES TEXT FILE: each time in another system call, so that the stack's offset differs
write() {
	for _ in $(seq "$1"); do echo "$2" >"$3" || return; done
}

# Loads a module, then in its place another whose function has another frame
replace() {
	same=0
	tries=0
	insmod /t/big/stackbuf.ko verify=1 || return
	while [ $same -lt 3 ] && [ $tries -lt 20 ]; do
		tries=$((tries + 1))
		insmod /t/big/stackbuf_fit.ko && was=$(cat $FIT/../sections/.text) &&
			write 200 "old 2" $FIT/run && rmmod stackbuf_fit &&
			insmod /t/big/stackbuf_fit2.ko || return
		if [ "$was" = "$(cat /sys/module/stackbuf_fit2/sections/.text)" ]; then
			write 100 "new 2" /sys/module/stackbuf_fit2/parameters/run
			same=$((same + 1))
		fi
		rmmod stackbuf_fit2
	done
	facts
	rmmod stackbuf
	echo "# $same of $tries modules took the place of the one before; $(fact events_recalled) events recalled"
}

# Saves of tasks, and in softirqs, interrupts and NMIs: none is walked for the stack that it is on
interrupts() {
	insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_test.ko || return
	for _ in 1 2 3; do run context >contexts; done
	# What a timer interrupts is another place now and then.  Nine of the 21 events are of tasks
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		facts
		before=$(fact walked_elsewhere)
		recalled=$(fact events_recalled)
		for _ in 1 2 3; do run context >contexts; done
		facts
		cat contexts
		echo "elsewhere $before $(fact walked_elsewhere), recalled $recalled $(fact events_recalled)"
		is "$(fact walked_elsewhere) == $before" || break
		! is "$(fact events_recalled) - $recalled >= 12" || { rmmod stackbuf_test stackbuf; return; }
	done
	rmmod stackbuf_test stackbuf
	return 1
}

# An interrupt that came during a save is served when that ends, within the handler of the probe
within() {
	for _ in 1 2 3 4 5; do
		within_once && return
		is "$(fact differed) == 0 && $within >= 20" || return
	done
	return 1
}

within_once() {
	insmod /t/big/stackbuf.ko verify=64 probe=vfs_read,vfs_write,update_process_times &&
		dd if=/dev/zero of=/dev/null bs=1 count=500000 2>/dev/null || return
	facts
	"$STACKBUF" count --folded >folded
	within=$(awk '/;handle_call[^;]*;(asm_|sysvec_)/ { n += $NF } END { print n + 0 }' folded)
	# In the walks that verify, interrupts hit the unwinder, which uses rbp for other things
	walks=$(awk '/;sbuf_save_walked/ { n += $NF } END { print n + 0 }' folded)
	"$STACKBUF" info | sed -n 's/^ *events by function */# unfit: /p'
	rmmod stackbuf
	echo "# $within events within a handler, $walks in a walk, $(fact walked_unfit) unfit, $(fact verified) verified, $(fact differed) differed"
	# Were they all unfit, these would be more than there are; what else is interrupted is, now and then
	is "$(fact differed) == 0 && $within >= 20 && $(fact walked_unfit) - $walks < $within"
}

probes big
result "every event that was attempted is recorded or counted as refused" \
	is "$attempted == $(fact events_recorded) + $(fact events_refused) - 1"
most=$(few 10000 300000)
result "$most recalled stacks a round are walked as well" \
	is "$(fact verified) >= $most * $(cat /t/rounds)"
echo "# $(fact verified) recalled stacks walked as well, $(fact differed) differed"
result "return addresses are replaced meanwhile, where the kernel can" [ ! -e not-replaced ]
result "none of them differs" is "$(fact differed) == 0"
result "each load did what it should" [ ! -e load-failed ]
result "of ten events at least seven are recalled" \
	is "$(fact events_recalled) * 10 >= $(fact events_recorded) * 7"
result "no complaint in the log" sh -c '! dmesg | grep "recalled stack differed"'

why=
[ ! -e /t/records ] || [ "$arch" != x86_64 ] || why='frame pointers do not lead to another stack'
unless "$why" "events of interrupts are recalled" interrupts
why=
[ ! -e /t/records ] || why='the handler is called by code of the kernel itself'
unless "$why" "stacks of interrupts within a handler are recalled" within
fits
replace
result "a module in another's place: none differs" \
	is "$same >= 1 && $(fact events_recalled) >= 100 && $(fact differed) == 0"
mark
probes fault
result "a recall that is wrong on purpose is found to differ" is "$(fact differed) >= 1"
result "recall is off after that, and every event walked" \
	is "$(fact differed) <= 4 && $(fact events_recalled) * 2 < $(fact events_recorded)"
result "one line of the log says so" \
	is "$(since | grep -c 'differed from the walked one, so recall is switched off') == 1"
echo "done"
