#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/return.t: probes where functions return.

# shellcheck disable=SC2094 # files are named after the commands they come from

# shellcheck source=lib.sh
. /t/lib.sh

M=/sys/module/stackbuf_return/parameters
G=/sys/kernel/tracing
cpus=$(nproc)

# call NAME VALUE TIMES
call() { echo "$1 $2 $3" >$M/run; }

# tags: the tags of what was recorded, in order of time, a line each
tags() { "$STACKBUF" log --json "$@" | sed -n 's/.*"tag":"\([^"]*\)".*/\1/p'; }

# named LIST: the list; where no ftrace finds what a pattern matches, each function of the module by its name
named() {
	rest=$1,
	while [ -n "$rest" ]; do
		one=${rest%%,*}
		rest=${rest#*,}
		case $one in
		stackbuf_return:return_\**) has_ftrace || one=$(sed -n "s/.* t \(return_[a-z0-9_]*\)\t\[stackbuf_return\]$/stackbuf_return:\1${one#*\*}/p" /proc/kallsyms | tr '\n' ',') ;;
		esac
		printf '%s%s' "$one" "${rest:+,}"
	done | sed 's/,,*/,/g; s/,$//'
}
# anew LIST: sets it, and forgets what was recorded
anew() { set_list '' && rmmod stackbuf && insmod /t/big/stackbuf.ko verify=1 && set_list "$(named "$1")"; }

# exact: every stack that begins in a function of the module has its true callers, by whom the kernel replaced none
exact() {
	"$STACKBUF" count --folded --function 'return_*' | sed 's/_\[stackbuf_return]//g' >folded && [ -s folded ] || return 1
	! grep -E 'trampoline|return_to_handler|0x' folded && ! grep -v 'ksys_write;.*;run;return_' folded
}

same_stack() {
	anew 'stackbuf_return:return_int,stackbuf_return:return_int%return@retval' && call int 7 5 || return 1
	"$STACKBUF" count --json --function 'return_*' >counted && "$STACKBUF" log >log || return 1
	is "$(wc -l <counted) == 1" && grep -q '"count":10,' counted && [ "$(tags --tag '!0' | tr '\n' ' ')" = '0x7 0x7 0x7 0x7 0x7 ' ] && exact ||
		{ cat counted log; return 1; }
}

# errors NAME VALUE... : of these only errors are recorded, with their number
errors() {
	name=$1
	shift
	anew "stackbuf_return:return_$name%return@error" || return 1
	for value in "$@"; do call "$name" "$value" 1; done
	tags >got
	for value in "$@"; do
		[ "$value" -ge 0 ] || [ "$value" -lt -4095 ] || printf '0x%x\n' "$value"
	done >want
	diff want got && [ -s want ]
}
all_errors() {
	errors int 0 1 -1 -22 -4095 22 && errors long 0 -1 -4095 -4096 -5000 22 && errors pointer 0 -12 -4095 -4096 1234567
}
nothing_but_null() {
	anew 'stackbuf_return:return_pointer%return@null' && call pointer 0 3 && call pointer 4096 3 && call pointer -2 1 &&
		[ "$(tags | tr '\n' ' ')" = '0x0 0x0 0x0 0xfffffffffffffffe ' ] || { tags; return 1; }
}
nested() {
	anew 'stackbuf_return:return_*%return@retval' && call outer -5 3 && call again 4 2 && exact || { cat folded; return 1; }
	grep -q 'run;return_outer;return_inner;return_int 3$' folded && grep -q 'run;return_outer;return_inner 3$' folded && grep -q 'run;return_outer 3$' folded &&
		grep -q 'run;return_again 2$' folded && grep -q 'run;return_again;return_again;return_again;return_again 2$' folded &&
		[ "$(tags --function return_again | sort | uniq -c | tr -s ' \n' ' ')" = ' 2 0x1 2 0x2 2 0x3 2 0x4 ' ] || { cat folded; return 1; }
}

# Another tracer of returns at the same functions, set before the probe or after it.  Then the kernel's unwinder does
# not get beyond a function further out that both have
traced() {
	anew 'stackbuf_return:return_*%return' && echo 'return_*' >$G/set_ftrace_filter && echo function_graph >$G/current_tracer && call outer 1 4
	exact >said
	grep -q 'ksys_write;.*;run;return_outer 4$' folded && grep -qE '(run|return_to_handler);return_outer;return_inner 4$' folded
	status=$?
	cat folded
	anew 'stackbuf_return:return_*%return' && call outer 1 4 && exact || status=1
	echo nop >$G/current_tracer && echo >$G/set_ftrace_filter
	is "$status == 0 && $(grep -c 'run;return_outer;return_inner 4' folded) == 1"
}

# callers: each of return_int()'s events with a tag has the address of its caller as the tag
callers() {
	"$STACKBUF" log --json --function return_int | sed -n 's/.*"tag":"\(0x[0-9a-f]*\)".*"addresses":\["[^"]*","\(0x[0-9a-f]*\)".*/\1 \2/p' >pairs
	is "$(wc -l <pairs) > 2" && ! grep -vE '^(0x[0-9a-f]+) \1$' pairs
}

# Probes at beginnings, set before and after probes on the returns of the same functions, and with the graph tracer
# started later
entered() {
	starts='stackbuf_return:return_int@retaddr,stackbuf_return:return_inner' returns='stackbuf_return:return_*%return'
	for list in "$starts,$returns" "$returns,$starts"; do
		anew "$list" && call outer 1 3 && exact && callers || { cat folded pairs; return 1; }
		grep -q ';run;return_outer;return_inner;return_int 6$' folded && grep -q ';run;return_outer;return_inner 6$' folded || { cat folded; return 1; }
	done
	! grep -q '^CONFIG_FUNCTION_GRAPH_TRACER=y' /t/config || {
		anew 'stackbuf_return:return_int@retaddr,stackbuf_return:return_inner' && echo 'return_*' >$G/set_ftrace_filter && echo function_graph >$G/current_tracer && call outer 1 3
		exact && callers && grep -q ';run;return_outer;return_inner;return_int 3$' folded
		status=$?
		echo nop >$G/current_tracer && echo >$G/set_ftrace_filter
		[ $status = 0 ] || { cat folded pairs; return 1; }
	}
}

# In a storm on all CPUs each return is recorded, or counted
counted() {
	anew 'stackbuf_return:return_*%return@error' || return 1
	before=$(cat $M/calls)
	for _ in $(seq "$cpus"); do call outer -5 5000 & done
	call again 3 1
	wait
	set_list '' && facts || return 1
	calls=$(($(cat $M/calls) - before - 3))
	# The module has one event of its own
	echo "$calls calls, $(fact events_recorded) recorded, $(fact probes_missed) missed"
	is "$(fact events_recorded) - 1 + $(fact probes_missed) == $calls && $calls == $cpus * 15000 && $(fact differed) == 0"
}

# start_bpftrace PROGRAM COMMAND...: repeats COMMAND until PROGRAM prints "ready"; what it
# counts is in counted, once it is stopped
start_bpftrace() {
	bpftrace -B line -e "$1" >counted 2>said &
	shift
	while kill -0 $! 2>/dev/null; do
		"$@" >called || return 1
		! grep -q ready counted || return 0
		usleep 100000
	done
	cat counted said
	return 1
}
# Until it catches it: what runs in the background begins with it ignored
stop_bpftrace() { while kill -INT $! 2>/dev/null; do sleep 1; done; }

# bpftrace counts the same errors
like_bpftrace() {
	anew 'stackbuf_return:return_int%return@error' && start_bpftrace 'kretprobe:return_int /(int32)retval < 0/ {
		if ((int32)retval == -7) { printf("ready\n"); } else { @errors = count(); } }' call int -7 1 || return 1
	call int -5 700 && call int 5 300
	stop_bpftrace
	is "$(sed -n 's/@errors: //p' counted) == 700 && $(tags | grep -c 0xfffffffffffffffb) == 700" || { cat counted said; return 1; }
}

# From 6.19 on x86-64 has a jump where ftrace's call is, while a BPF program of this kind is attached alone
beside_bpf() {
	anew '' && start_bpftrace 'kretfunc:vfs_statx { @calls = count(); printf("ready\n"); }' stat /t && set_list 'vfs_stat[x]%return@retval,vfs_statx' && stat /t >stat
	status=$?
	"$STACKBUF" info >info && "$STACKBUF" count --function vfs_statx >stacks
	set_list '' && stop_bpftrace
	is "$status == 0 && $(sed -n 's/@calls: //p' counted) > 0" && grep -q vfs_statx stacks && ! grep kprobe info || { cat counted said info stacks; return 1; }
}

# Calls that are inside return as ever, when nothing waits for them any more
inside() {
	anew 'stackbuf_return:return_asleep%return' && echo 0 >$M/wake || return 1
	inside=$(($(cat $M/calls) + 3))
	for _ in 1 2 3; do call asleep -1 1 & done
	until [ "$(cat $M/calls)" = $inside ] || ! kill -0 $!; do usleep 50000; done
	set_list ''
	echo 1 >$M/wake
	wait
	[ -z "$(cat $P/probe)" ] && anew 'stackbuf_return:return_asleep%return@error' && call asleep 10 1 && [ "$(tags)" = 0xfffffffffffffffc ] || return 1
	# And where they are inside as stackbuf goes
	echo 0 >$M/wake
	inside=$(($(cat $M/calls) + 1))
	call asleep -1 1 &
	until [ "$(cat $M/calls)" = $inside ] || ! kill -0 $!; do usleep 50000; done
	set_list '' && rmmod stackbuf
	status=$?
	echo 1 >$M/wake
	wait
	[ $status = 0 ] && insmod /t/big/stackbuf.ko
}

# made_dirs N: so many calls of vfs_mkdir() have returned, and each was recorded
made_dirs() { is "$("$STACKBUF" log --json --function vfs_mkdir | wc -l) == $1"; }
goes() {
	anew 'stackbuf_return:return_*%return,return_int%return,vfs_mkdir%return' && call int 1 1 && mkdir 1 && rmmod stackbuf_return && mkdir 2 || return 1
	"$STACKBUF" info >info && grep 'return_int%return  .*pending' info && insmod /t/big/stackbuf_return.ko && mkdir 3 && "$STACKBUF" info >info && made_dirs 3 &&
		rmdir 1 2 3 &&
		call int 1 1 && call outer 1 1 && exact && is "$(grep -c 'run;return_int 2$' folded) == 2" && grep 'return_outer;return_inner 1$' folded || { cat info folded; return 1; }
}
# A pattern has vfs_mkdir() as well, and others: the module's part of it goes with the module, the rest stays
some_go() {
	anew '[vr]*_[mi][kn][dt]*%return' || return 1
	for n in 1 2 3; do call int 1 1 && rmmod stackbuf_return && mkdir $n && insmod /t/big/stackbuf_return.ko || return 1; done
	call int 1 1 && rmdir 1 2 3 && made_dirs 3 && "$STACKBUF" count --folded --function return_int >folded && cat folded && is "$(awk '/run[^;]*;return_int[^;]* [0-9]+$/ { n += $NF } END { print n + 0 }' folded) == 4"
}
triggers() {
	anew 'stackbuf_return:return_int%return' && echo 'stackbuf_return:return_long%return@error:2' >$P/trigger && call long 3 9 && call int 1 3 && [ "$(cat $P/enable)" = 1 ] || return 1
	call long -3 1 && call int 2 9
	[ "$(cat $P/enable)" = 0 ] && [ "$(latest trigger)" = 'stackbuf_return:return_long%return@error' ] && is "$("$STACKBUF" log --since trigger --json | grep -c return_int) == 2" || return 1
	echo >$P/trigger && echo 1 >$P/enable
}

# A save calls it: it cannot be recorded inside of that, and is counted
missed() {
	anew 'unwind_next_frame%return,stackbuf_return:return_int' && call int 1 20 && "$STACKBUF" info | grep 'unwind_next_frame%return .*missed'
}
bad() {
	none='no function matches'
	has_ftrace || none='this kernel has no ftrace for patterns'
	part=$(sed -n 's/.* t \([a-z_]*\.cold\)$/\1/p' /proc/kallsyms | head -n 1)
	[ -z "$part" ] || refuses "$part%return" "$part%return: a return has no offset" || return 1
	refuses vfs_read%ret 'vfs_read%ret: only %return is accepted after %' && refuses vfs_read+4%return 'a return has no offset' &&
		refuses t:sched_switch%return 'a tracepoint does not return' && refuses vfs_read%return@arg1 '@took, @took10ms or @sp is accepted, not @arg1' && refuses vfs_read%return@took0ms 'is accepted, not @took0ms' && refuses vfs_read%return@took5 'is accepted, not @took5' &&
		refuses no_such_function%return 'no function matches' && refuses 'no_such_*%return' "$none" &&
		refuses vfs_read@retval "@arg1 to @arg$arguments, @retaddr or @sp is accepted, not @retval" &&
		refused pair 'arguments are not known where a function returns' 'vfs_read@arg1:vfs_read%return@retval@arg1'
}
# during probe|pair WORK ARGUMENT...: the command with these arguments, from when it has set its probes, or pairs, until
# WORK is done.  Prints to out and err
during() {
	until_set=$P/$1 work=$2
	shift 2
	"$STACKBUF" "$@" >out 2>err &
	until [ -n "$(cat "$until_set")" ] || ! kill -0 $! 2>/dev/null; do usleep 50000; done
	$work
	kill -INT $!
	wait $! || { cat out err; return 1; }
}

# How long calls take, and which are inside, also of a function that calls itself
long_calls() {
	sleeps() { call asleep 40 5; cat "$M/ns" >ns; call again 4 2; }
	anew '' && during pair sleeps latency --json 'stackbuf_return:return_asleep stackbuf_return:return_again' || return 1
	mv out took
	cat took
	is "$(grep -c '"return_again' took) == 4 && $(grep -c '"closed":2,' took) == 4 && $(grep -c '"closed":5,' took) == 1" &&
		! grep -v '"exact":true' took && sum=$(sed -n 's/.*"closed":5,"sum":"*\([0-9]*\).*/\1/p' took) && is "$sum >= 200000000 && $sum <= $(cat ns)"
}
who_is_inside() {
	# Whatever has stopped the recording
	anew '' && echo 'stackbuf_return:return_asleep@sp:stackbuf_return:return_asleep%return@sp' >$P/pair && call asleep 1 3 || return 1
	echo 0 >$M/wake
	call asleep -1 1 &
	call asleep -1 1 &
	until "$STACKBUF" leaks stackbuf_return:return_asleep | grep -q ': 2 open' || ! kill -0 $!; do usleep 100000; done
	"$STACKBUF" leaks stackbuf_return:return_asleep >inside && "$STACKBUF" save snapshot && "$STACKBUF" -f snapshot leaks stackbuf_return:return_asleep --json >kept
	echo 1 >$M/wake
	wait
	"$STACKBUF" leaks stackbuf_return:return_asleep >after && echo >$P/pair
	cat inside after kept
	grep -q ': 2 open, .*; exact$' inside && grep -q '	return_asleep+' inside && grep -q '"open":2,' kept && grep -q ': 0 open, .*; exact$' after
}

# short NAME VALUE TIMES: calls, none of which should take a second; stalled is how many did, as the host let the guest wait
short() { call "$@" && stalled=$((stalled + $(cat $M/slow))); }
# 7 calls of 1 ms and 3 of 1.5 s, and others: only those are recorded, and stop the recording
slow_calls() {
	for _ in 1 2 3 4 5; do
		stalled=0
		! slow_calls_once || return 0
		[ $stalled != 0 ] || return 1
	done
	return 1
}
slow_calls_once() {
	anew '' || return 1
	some_slow() { short asleep 1 7; call asleep 1500 3; cat "$M/ns" >ns; short outer 3 100; }
	during probe some_slow latency -L 1s --json 'stackbuf_return:return_*' || return 1
	mv out took
	cat took err ns
	is "$(wc -l <took) == 1" && grep -q '"exact":true,"closed":3,' took && grep -q '"frames":\["return_asleep+' took &&
		sum=$(sed -n 's/.*"sum":"*\([0-9]*\).*/\1/p' took) && is "$sum >= 4500000000 && $sum <= $(cat ns)" || return 1
	# Another probe's tag at the same function may be taken for a time
	anew 'stackbuf_return:return_asleep@retaddr' || return 1
	"$STACKBUF" latency -L 1s --json 'stackbuf_return:return_a*' >out 2>err &
	until grep -q took $P/probe || ! kill -0 $! 2>/dev/null; do usleep 50000; done
	short asleep 1 3
	kill -INT $!
	wait $! && [ ! -s out ] && grep -q '^stackbuf: 3 events are left out: other probes' err && grep -q 'not exact: 3 hits' err || { cat out err; return 1; }
	anew '' && echo 'stackbuf_return:return_asleep%return@took1s:0' >$P/trigger && short asleep 1 3 && [ "$(cat $P/enable)" = 1 ] && call asleep 1500 2 && [ "$(cat $P/enable)" = 0 ] &&
		[ $(($(tags --tag '!0' | tail -n 1))) -ge 1500000000 ] || return 1
	echo >$P/trigger && echo 1 >$P/enable && anew 'stackbuf_return:return_*%return@took' && call outer 1 5 && exact && is "$(tags --function return_outer | wc -l) == 5" || return 1
	# Each took longer than what it called
	for function in return_int return_inner return_outer; do tags --function $function | head -n 1; done >nested
	cat nested
	is "$(sed -n 1p nested) <= $(sed -n 2p nested) && $(sed -n 2p nested) <= $(sed -n 3p nested)" || return
	# A busy host makes the kernel think that the TSC is unstable: then its clock may stand still until the next tick
	dmesg | grep 'sched_clock: Marking unstable' || is "$(sed -n 1p nested) > 0"
}

commands() {
	three_paths() { call outer -22 3; }
	set_list '' || return 1
	"$STACKBUF" snoop -n 3 'stackbuf_return:return_int%return@error' >out 2>err &
	until [ -n "$(cat $P/probe)" ] || ! kill -0 $!; do usleep 50000; done
	call int -22 3
	wait $! && is "$(grep -c '^	return_int' out) == 3" || { cat out err; return 1; }
	set_list '' && during probe three_paths count 'stackbuf_return:return_*%return@error' --folded && grep ';return_outer_\[stackbuf_return];return_inner_\[stackbuf_return];return_int_\[stackbuf_return] 3$' out || { cat out err; return 1; }
}

# paths FILE: of each, in order, how often, the error, which frames have returned it, and where it is from
paths() { sed -n 's/^{.*"error":"\([^"]*\)","returned":\[\([0-9,]*\)\].*"frames":\["\([^+]*\)+.*/\1 \2 \3 &/p' "$1" | sed 's/ {.*"count":\([0-9]*\),.*/ \1/; s/ {.*//' | sort; }
# What was called, and the paths: known from the source of stackbuf_return
fail() { call outer -22 3 && call tries -12 2 && call changed -22 1 && call others -22 1 && call tail -7 5 && call int -11 4 && call int -512 2 && call int -4000 1 && call outer 0 5; }
# With frame pointers compilers make no jumps of calls at a function's end, nor with KCSAN, whose call comes last:
# return_tail() and return_end() have frames
tail=0,1
if grep -q '^CONFIG_FRAME_POINTER=y' /t/config || kcsan; then tail=0,1,2,3; fi
cat >/tmp/paths <<-E
	-4000 0 return_int 1
	-E2BIG $tail return_int 5
	-EINVAL 0,1 return_int 1
	-EINVAL 0,1 return_int 1
	-EINVAL 0,1,2 return_int 3
	-EINVAL 0,1 return_int 1
	-EIO 0 return_changed 1
	-ENOMEM 0,1 return_int 4
	-ENOMEM 0,1,2 return_int 2
E
sort /tmp/paths >/tmp/paths.sorted

which_error() {
	set_list '' && during probe fail errors --json 'stackbuf_return:return_*' && paths out | diff /tmp/paths.sorted - &&
		grep 'left out, as they seldom are errors: 4 of -EAGAIN, 2 of -ERESTARTSYS (-e all' err && [ -z "$(cat $P/probe)" ] || { cat out err; return 1; }
}
# Also of functions that two probes have; with the call of one of them between
recorded_errors() {
	anew 'stackbuf_return:return_*%return@error,stackbuf_return:return_outer%return@error,stackbuf_return:return_inner' && fail && "$STACKBUF" errors --json >out 2>err &&
		paths out | diff /tmp/paths.sorted - && "$STACKBUF" save snapshot && "$STACKBUF" -f snapshot errors --json | cmp - out || { cat out err; return 1; }
	"$STACKBUF" errors --log --json -e EINVAL >out && [ "$(paths out | wc -l)" = 6 ] && "$STACKBUF" -f snapshot errors --json -e all -x EINVAL,-5,ENOMEM,E2BIG return_int >out &&
		[ "$(paths out | tr '\n' ' ')" = '-4000 0 return_int 1 -EAGAIN 0 return_int 4 -ERESTARTSYS 0 return_int 2 ' ] || { cat out; return 1; }
	"$STACKBUF" errors --function return_changed >out && cat out && grep -q '^1 -EIO from return_changed \[stackbuf_return]$' out && is "$(grep -c '^[0-9]' out) == 1" &&
		grep -q '^	\[-EIO] return_changed+0x' out && grep -q '^	       run+0x' out || return 1
	"$STACKBUF" report report.html 2>err && grep -q 'data-tab="errors"' report.html && grep -q ',3,"-EINVAL",\[0,1,2]\]' report.html && cp report.html snapshot /out/ || { cat err; return 1; }
	"$STACKBUF" errors --folded -e EIO >out && grep -x -- '-EIO;.*;run_\[stackbuf_return];return_changed_\[stackbuf_return] 1' out && "$STACKBUF" errors --flame errors.svg && grep -q '>-EINVAL<' errors.svg &&
		"$STACKBUF" errors --pprof | gzip -dc | grep -q -e -EINVAL
}
# On all CPUs at once: no two paths become one, and none two
errors_at_once() {
	anew 'stackbuf_return:return_*%return@error' || return 1
	for _ in $(seq "$cpus"); do
		call outer -22 500 &
		call changed -13 300 &
	done
	wait
	"$STACKBUF" errors --json >out 2>err && paths out | tr '\n' ' ' >got && facts &&
		is "$(fact events_overwritten) + $(fact probes_missed) == 0" && [ "$(cat got)" = "-EACCES 0,1 return_int $((cpus * 300)) -EINVAL 0,1,2 return_int $((cpus * 500)) -EIO 0 return_changed $((cpus * 300)) " ] || { cat got err; return 1; }
}
on_a_cpu() {
	set_list '' || return 1
	on() { taskset "$1" sh -c "echo int -5 $2 >$M/run"; }
	calls() { cp "$P/cpu" cpu; on 1 3; on 2 4; }
	during probe calls errors --cpu 1 --json stackbuf_return:return_int && paths out &&
		[ "$(paths out)" = '-EIO 0 return_int 4' ] && [ "$(cat cpu)" = -1 ]
}
# As the kernel's BTF says: jiffies_to_msecs() returns an unsigned int.  Of return_u32() it is known where its module was built
# with debug information, beside a vmlinux
cannot_fail() {
	set_list '' || return 1
	left=3 said='-EINVAL 0 return_u32 2'
	! grep -qs return_u32 /sys/kernel/btf/stackbuf_return || { left=5 said=; }
	numbers() { call ms -24 3; call u32 -22 2; }
	during probe numbers errors --json jiffies_to_msecs stackbuf_return:return_u32 || [ -z "$said" ] || return 1
	[ "$(paths out)" = "$said" ] && grep "$left returns are left out, of functions that return no error" err || { cat out err; return 1; }
	echo jiffies_to_msecs%return@error >$P/probe && call ms -24 1 && "$STACKBUF" errors 2>err && grep -q '[1-4] returns* .* left out, of ' err && "$STACKBUF" save snapshot && "$STACKBUF" -f snapshot errors >out && grep 'EMFILE from jiffies_to_msecs' out
}
no_errors() {
	set_list return_int && ! "$STACKBUF" errors 2>err && grep 'no probe of this record is for errors' err && ! "$STACKBUF" errors vfs_read@arg1 2>err && grep "takes functions, as 'ext4_\*'" err &&
		! "$STACKBUF" errors -e EFOO 2>err && grep -e '--error EFOO: must be errors by name or number' err && ! "$STACKBUF" errors --since -5m vfs_read 2>err && grep 'a PATTERN is for new errors' err &&
		! "$STACKBUF" errors -D 1 no_such_function 2>err && grep 'no function matches' err && ! "$STACKBUF" errors --folded --log 2>err && grep -e '--log is for text and --json' err &&
		"$STACKBUF" errors -D 1 vfs_fsync 2>err && grep 'no error: these functions returned none' err
}

# When ftrace has died, it still calls what is attached.  Unloading then waits forever.  Of a kretprobe there the
# kernel itself warns
dead() {
	events=15
	set_list '' && rmmod stackbuf && insmod /t/big/stackbuf.ko && set_list 'stackbuf_return:return_outer%return@retval' || return 1
	! grep return_outer /sys/kernel/debug/kprobes/list || { events=5 && set_list ''; } || return 1
	echo 'stackbuf_return:return_int@sp:stackbuf_return:return_others@sp' >$P/pair && call outer 1 5 && echo 1 >$M/dead &&
		echo >$P/pair && call outer 2 5 && set_list '' && call outer 3 5 || return 1
	if set_list 'stackbuf_return:return_lon[g]'; then echo 'ftrace lives'; return 1; fi
	refuses vfs_read+0x4 'ftrace has died' || return 1
	call outer 4 5 && call long 4 5
	"$STACKBUF" log --json --function 'return_*' >log
	rmmod stackbuf &
	sleep 2
	call outer 5 5 && kill -0 $! && dmesg | grep 'ftrace has died and still calls this module' >said && is "$(wc -l <said) == 1 && $(wc -l <log) == $events" || { cat log; return 1; }
}

insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_return.ko
if [ -e /t/clock ]; then
	result "errors: by a clock that stands still" errors_at_once
	dead=
	has_ftrace && grep -q ' ftrace_disabled$' /proc/kallsyms || dead="this kernel has no ftrace, or no names for data"
	unless "$dead" "ftrace has died: nothing is called that is not there" dead
	[ -z "$dead" ] || rmmod stackbuf_return stackbuf
	echo "done"
	exit 0
fi
result "the stack is that of the call, and recalled from it; @retval" same_stack
result "@error: an int, a long or a pointer, from -4095 to -1" all_errors
result "@null: and NULL" nothing_but_null
result "functions that call each other and themselves, by a pattern" nested
result "probes at the beginnings: the callers are the true ones" entered
graph=
grep -q '^CONFIG_FUNCTION_GRAPH_TRACER=y' /t/config || graph="CONFIG_FUNCTION_GRAPH_TRACER is not set"
! grep -q '^CONFIG_UNWINDER_FRAME_POINTER=y' /t/config || graph="with frame pointers a caller that the graph tracer has replaced is not found"
unless "$graph" "whoever else has replaced return addresses: exact" traced
result "a storm on all CPUs: each error is recorded, or counted as missed" counted
: "${bpf:=$(command -v bpftrace)}"
grep -q '^CONFIG_DEBUG_INFO_BTF=y' /t/config || bpf=
when "$bpf" "bpftrace or the kernel's BTF is not there" "as many as bpftrace's kretprobe counts" like_bpftrace
[ -z "$bpf" ] || bpftrace --info 2>/dev/null | grep -q ' kfunc: yes' || bpf=
when "$bpf" "no bpftrace, or this kernel takes no such program" "beside a BPF program at the function's end" beside_bpf
result "removed while calls are inside, and unloaded" inside
result "a module goes and comes back" goes
with DYNAMIC_FTRACE "a module goes, of a pattern that has other functions" some_go
result "a trigger" triggers
on_x86 "the unwinder takes frame records" "what a save itself calls is missed, and counted" missed
result "what makes no sense is refused, in one line" bad
result "snoop and count" commands
result "latency FUNCTION: how long calls take" long_calls
result "latency -L, @took: only calls that took long, which stop the recording" slow_calls
result "leaks FUNCTION: the calls that are inside, live and in a snapshot" who_is_inside
result "errors: the function that returned one first, and how far it went" which_error
result "errors: the same of what was recorded, and chosen" recorded_errors
result "errors: of many tasks at once" errors_at_once
[ "$cpus" = 1 ] || result "errors: of a CPU, by the first return, wherever the next ones are" on_a_cpu
btf=
grep -q '^CONFIG_DEBUG_INFO_BTF=y' /t/config || btf="CONFIG_DEBUG_INFO_BTF is not set"
grep -q ' jiffies_to_msecs$' /proc/kallsyms || btf="the compiler inlines jiffies_to_msecs()"
unless "$btf" "errors: a function that returns none, as BTF says, is left out" cannot_fail
result "errors: what makes no sense is refused, in one line" no_errors
rmmod stackbuf_return stackbuf
echo "done"
