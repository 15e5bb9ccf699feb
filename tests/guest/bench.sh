#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures costs in the guest.  The file /t/what selects one of:
#
#   costs   prints lines "NAME FRAMES COST"
#   own     the same of stackbuf and a walk only
#   sights  prints lines "NAME_CONTEXT FRAMES MEAN MAX": the first events of stacks, and a walk
#   loads   prints lines "load NAME EVENTS RECALLED INTERRUPTS COST P99 MAX WALKCOST WALKP99
#           WALKMAX"; INTERRUPTS is how many of 10,000 events occurred in softirqs and interrupts
#   answers prints lines "answer NAME FIGURE": leaks and off-CPU times beside bcc's

set -u

tracing=/sys/kernel/tracing
[ -d $tracing/events ] || tracing=/sys/kernel/debug/tracing
STACKBUF=$(cat /t/reader)
probe=/sys/module/stackbuf/parameters/probe
pair=/sys/module/stackbuf/parameters/pair
dmesg -n 1

costs() {
	dmesg -c >/dev/null
	insmod /t/stackbuf_bench.ko "$@" && rmmod stackbuf_bench
	dmesg | sed -n 's/.*stackbuf_bench: //p'
}

own_costs() {
	insmod /t/stackbuf.ko || exit 1
	# Recall compares less after it has seen the kernel's frames in a few system calls
	for _ in 1 2 3 4 5 6 7 8; do costs rounds=2 >/dev/null; done
	costs
	costs probed=call
	echo int_sqrt >$probe && costs probed=stackbuf_probe
	echo t:kmem:kfree@arg2 >$probe && costs probed=stackbuf_event event=1
	echo >$probe
}

sights() {
	insmod /t/stackbuf.ko && insmod /t/stackbuf_test.ko || exit 1
	echo sights >/sys/kernel/debug/stackbuf_test/run && cat /sys/kernel/debug/stackbuf_test/run
}

all_costs() {
	own_costs
	cd $tracing || exit 1
	echo 'p:bench int_sqrt' >kprobe_events && echo 1 >events/kprobes/bench/enable &&
		costs probed=ftrace_kprobe
	echo stacktrace >events/kprobes/bench/trigger && costs probed=ftrace_kprobe_stacktrace
	echo '!stacktrace' >events/kprobes/bench/trigger
	echo 'hist:keys=common_stacktrace' >events/kprobes/bench/trigger 2>/dev/null ||
		echo 'hist:keys=stacktrace' >events/kprobes/bench/trigger
	costs probed=ftrace_hist_stacktrace
	echo 0 >events/kprobes/bench/enable
	# The trigger keeps the event enabled: remove it before the probe
	sed 's/^hist/!hist/; s/ \[active\]$//' events/kprobes/bench/trigger >/tmp/trigger
	cat /tmp/trigger >events/kprobes/bench/trigger && echo >kprobe_events || exit 1

	# bpftrace's probe is set while the command runs; then bpftrace prints its counts
	cat >/tmp/measure <<'END'
dmesg -c >/dev/null
insmod /t/stackbuf_bench.ko probed=bpftrace && rmmod stackbuf_bench
dmesg | sed -n 's/.*stackbuf_bench: /measured /p'
END
	/usr/bin/bpftrace -e 'kprobe:int_sqrt { @[kstack] = count(); }' \
		-c '/bin/busybox sh /tmp/measure' >/tmp/bpftrace 2>&1
	if grep -q '^]: 20[0-9][0-9]$' /tmp/bpftrace; then
		sed -n 's/^measured //p' /tmp/bpftrace
	else
		head -n 20 /tmp/bpftrace >&2
		exit 1
	fi
	"$STACKBUF" info | sed -n 's/^events in a MiB of ring *//p' | sed 's/^/events_per_mib 0 /'
	first_event
	probe_costs
}

# mark NAME: a time stamp in the kernel log.  An instruction takes a nanosecond here; time
# that the CPU spends waiting counts, too.
mark() { echo "bench mark $1" >/dev/kmsg; }

# between FROM TO: microseconds between the last two marks of these names
between() {
	dmesg | awk -v from="$1" -v to="$2" '
		/bench mark / { sub(/^\[ */, ""); at[$NF] = $1 * 1000000 }
		END { printf "%.0f\n", at[to] - at[from] }'
}

# Time from the start of the command until it prints an event, in ms.  The function is called
# every 30 ms.
first_event() {
	(while [ ! -e /tmp/seen ]; do cat /proc/version; usleep 30000; done) >/dev/null &
	mark from
	"$STACKBUF" snoop -n 1 -D 30 vfs_open >/tmp/first || exit 1
	mark to
	touch /tmp/seen
	wait
	grep -q '^	vfs_open$' /tmp/first || exit 1
	echo "first_event 0 $(($(between from to) / 1000))"
}

# Time to set and to remove one probe, by name and by address, in ms: the median of 9
probe_costs() {
	address=0x$(sed -n 's/^\([0-9a-f]*\) T int_sqrt$/\1/p' /proc/kallsyms)
	for how in name address; do
		[ $how = name ] && what=int_sqrt || what=$address
		for _ in 1 2 3 4 5 6 7 8 9; do
			mark from
			echo "$what" >$probe || exit 1
			mark set
			echo >$probe
			mark removed
			echo "$(between from set) $(between set removed)"
		done >/tmp/times
		for column in 1 2; do
			cut -d ' ' -f $column /tmp/times | sort -n | sed -n "5s/...\$//;5s/^/probe_$how $column /p"
		done
	done
}

# --- real loads

# Functions to probe for a load: the last two run in interrupts only
hot() {
	case $1 in
	softirq) echo ip_rcv,tcp_v4_rcv,tcp_rcv_established ;;
	hardirq) echo nvme_irq,update_process_times ;;
	*) echo kmem_cache_free,dput,vfs_read,ip_rcv,submit_bio_noacct,try_to_wake_up,handle_mm_fault,__alloc_skb ;;
	esac
}

files() {
	find / -xdev >/dev/null
	ls -lR /proc/self /sys/kernel >/dev/null 2>&1
	mkdir /root/copy
	for n in 1 2 3 4 5 6 7 8 9 10; do
		dd if=/dev/zero of=/root/copy/$n bs=4k count=50 2>/dev/null
		md5sum </root/copy/$n | cat >/dev/null
		mv /root/copy/$n /root/copy/other
	done
	sync
	rm -r /root/copy
}

tcp() { /t/load tcp 50; }

compile() {
	"$(cat /t/cc1)" -quiet -fpreprocessed -O1 /t/compiled.i -o /tmp/compiled.s &&
		as /tmp/compiled.s -o /tmp/compiled.o
}

softirq() { tcp; }

hardirq() {
	files
}

fact() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" /tmp/info; }

# under NAME WALK: runs the load with probes set; leaves the cost of an event in cost
under() {
	echo 3 >/proc/sys/vm/drop_caches
	# RCU frees the dropped objects with a delay
	sleep 2
	insmod /t/stackbuf_probe.ko "functions=$(hot "$1")" walk="$2" || exit 1
	"$1" || echo "bench: load $1 failed" >&2
	rmmod stackbuf_probe
	cost=$(dmesg | sed -n 's/.*stackbuf_probe: .* cost //p' | tail -n 1)
}

loads() {
	for name in files tcp compile softirq hardirq; do
		insmod /t/stackbuf.ko || exit 1
		under $name 1
		walk=$cost
		under $name 0
		"$STACKBUF" info --json >/tmp/info
		interrupts=$("$STACKBUF" log --last 10000 --json | awk '
			/"context": *"(soft|hard)irq"/ { n++ } END { printf "%d", n * 10000 / NR }')
		rmmod stackbuf
		echo "load $name $(fact events_recorded) $(fact events_recalled) $interrupts $cost $walk"
	done
}

# --- leaks and times off CPU, beside bcc's

leak=/sys/module/stackbuf_leak/parameters

# least COMMAND: microseconds of the shortest of five
least() {
	for _ in 1 2 3 4 5; do
		mark from
		echo "$1" >$leak/run
		mark to
		between from to
	done | sort -n | head -n 1
}

# between_two LESS MORE THOUSANDS: instructions for each of so many thousands more: what comes before and
# after them, and is as long for both, counts for neither
between_two() {
	less=$(least "$1")
	more=$(least "$2")
	echo $(((more - less) / $3))
}

# allocations NAME: instructions for a kmalloc() and its kfree(), of few objects: no page is needed
allocations() { echo "answer $1_allocation $(between_two 'run 0 10 0 500' 'run 0 10 0 1500' 30)"; }

# Of each context 37 objects are not freed, and some hundred of interrupts that come in between
leaking() {
	for context in 0 1 2; do echo "run $context 1000 37" >$leak/run; done
	before=$(cat $leak/forgotten)
	echo 'beat 200' >$leak/run
	while [ "$(cat $leak/forgotten)" -lt $((before + 100)) ]; do echo 'run 0 1000 0' >$leak/run; done
	echo 'beat 0' >$leak/run
	forgotten=$(($(cat $leak/forgotten) - before))
}

# found NAME: reads "PLACE OBJECTS" by stack
found() {
	awk -v name="$1" -v forgotten="$forgotten" '
		{ open[$1] += $2 }
		END {
			print "answer " name "_known " 111 + forgotten
			print "answer " name "_leaked " open["leak_path_b"] + open["leak_beat_make"]
			print "answer " name "_wrong " open["leak_path_a"] + open["leak_path_c"]
		}'
}

# switches NAME: instructions from one task to the next and back.  So many that what the first of each
# stack takes is not among them, which comes once for all tools
switches() { echo "answer $1_switch $(between_two 'switch 1500' 'switch 11500' 10)"; }

sleeping() {
	mark from
	echo 'sleep 20 20' >$leak/run
	mark to
	echo "answer $1_slept $(between from to)"
}

memleak() {
	mkdir -p "/lib/modules/$(uname -r)"
	ln -s /t/bcc/source /t/bcc/build "/lib/modules/$(uname -r)/"
	PYTHONHOME=/t/bcc PYTHONPATH=/t/bcc LD_LIBRARY_PATH=/t/bcc python3 /t/bcc/memleak-bpfcc -o 0 -T 10000 20 \
		>/tmp/memleak 2>&1 &
	reported 1 && allocations memleak && leaking && reported 3 || { tail /tmp/memleak >&2; exit 1; }
	kill -INT $!
	# It follows allocations of pages, too: those that the slab makes for these objects
	awk '
		function add() {
			if (place && !pages)
				print place, n
			place = ""
			pages = 0
		}
		/ stacks with outstanding/ { add(); print "reset" }
		/ bytes in / { add(); n = $4 }
		/alloc_pages/ { pages = 1 }
		!place && match($0, /leak_(path_[abc]|beat_make)/) { place = substr($0, RSTART, RLENGTH) }
		END { add() }' /tmp/memleak | awk '$1 == "reset" { n = 0; next } { line[n++] = $0 }
		END { while (n) print line[--n] }' | found memleak
}

# reported N: memleak has written N reports more, and has ended the last
reported() {
	had=$(($(grep -c ' stacks with ' /tmp/memleak 2>/dev/null) + $1))
	size=
	for _ in $(seq 300); do
		sleep 1
		[ "$(grep -c ' stacks with ' /tmp/memleak)" -ge $had ] || continue
		[ "$size" != "$(wc -c </tmp/memleak)" ] || return 0
		size=$(wc -c </tmp/memleak)
	done
	return 1
}

# Interrupt the last program in the background until it ends: until it catches the signal it ignores
# it, as a shell begins what runs in the background; and libbpf-tools' programs wait for ever if it
# comes just before they sleep
interrupt() {
	while kill -INT $! 2>/dev/null; do sleep 1; done
}

answers() {
	insmod /t/stackbuf.ko && insmod /t/stackbuf_leak.ko || exit 1
	# What the kernel does after booting takes half the processor for a second
	sleep 10
	allocations none
	switches none
	echo 't:kmem:kmalloc@arg2' >$probe
	allocations event
	echo >$probe

	echo slab >$pair || exit 1
	allocations stackbuf
	leaking
	"$STACKBUF" leaks >/tmp/leaks
	head -n 1 /tmp/leaks >&2
	# The first of these functions has allocated: an interrupt's stack goes on with what it interrupted
	awk '/ open, .* bytes, / { n = $1; seen = 0 }
		!seen && match($0, /leak_(path_[abc]|beat_make)/) { seen = 1; print substr($0, RSTART, RLENGTH), n }' \
		/tmp/leaks | found stackbuf
	echo offcpu >$pair || exit 1
	switches stackbuf
	sleeping stackbuf
	"$STACKBUF" offcpu --json | sed -n '/leak_sleep/s/.*"sum":"\([0-9]*\).*/answer stackbuf_offcpu \1/p'
	echo >$pair

	/usr/sbin/offcputime >/tmp/offcputime 2>&1 &
	sleep 10
	switches offcputime
	sleeping offcputime
	interrupt
	awk '/leak_sleep/ { inside = 1 } /^ *[0-9]+$/ { if (inside) print "answer offcputime_offcpu " $1 * 1000; inside = 0 }' \
		/tmp/offcputime
	[ ! -e /t/bcc ] || memleak
}

calls=/sys/module/stackbuf_return/parameters

# call NAME VALUE: instructions of a call of return_int(), which returns VALUE
call() {
	ns=
	for _ in 1 2 3; do
		echo "int $2 10000" >$calls/run
		now=$(cat $calls/ns)
		[ -n "$ns" ] && [ "$now" -ge "$ns" ] || ns=$now
	done
	echo "$1 0 $((ns / 10000))"
}

# traced NAME PROGRAM: the same while bpftrace runs it
traced() {
	rm -f /tmp/bpftrace
	bpftrace -e "$2" >/tmp/bpftrace 2>&1 &
	until grep -qs Attaching /tmp/bpftrace; do sleep 1; done
	sleep 2
	call "$1" 0
	interrupt
}

returns() {
	insmod /t/stackbuf.ko && insmod /t/stackbuf_return.ko || exit 1
	call none 0
	echo 1 >$calls/bare && call bare 0 && echo 0 >$calls/bare
	echo stackbuf_return:return_int%return@error >$probe && call no_error 0 && call error -5
	echo stackbuf_return:return_int >$probe && call entry 0 && echo >$probe
	echo stackbuf_return:return_int%return@took10ms >$probe && call short 0 && echo >$probe
	echo stackbuf_return:return_int@sp:stackbuf_return:return_int%return@sp >$pair && call latency 0 && echo >$pair
	# shellcheck disable=SC2016 # bpftrace's
	traced bpftrace_filter 'kretprobe:return_int /(int32)retval < 0/ { @ = count(); }'
	traced bpftrace_latency 'kprobe:return_int { @s[tid] = nsecs; }
		kretprobe:return_int /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]); }'
}

case $(cat /t/what) in
returns) returns ;;
costs) all_costs ;;
own) own_costs ;;
sights) sights ;;
loads) loads ;;
answers) answers ;;
esac
