#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/pairs.t: outstanding objects, and how long others were open, are known exactly from what
# stackbuf_leak.ko does, or it is said why not.

# shellcheck source=lib.sh
. /t/lib.sh

L=/sys/module/stackbuf_leak/parameters/run
HOLD=stackbuf_leak:leak_hold@arg1
RELEASE=stackbuf_leak:leak_release@arg1
# What calls a tracepoint's handlers, where clang does not inline it
trace='\(__do_trace_[a-z_]*+[^"]*","\)*'

# Where tracepoints are reached by kprobes, an interrupt's hits inside of a handler are missed, and that is said
EXACT='; exact$' exact=true
! needs_group || { EXACT='exact' exact='[a-z]*'; }

# What an object of the test takes, more where KASAN adds to it
each=$(cat /sys/kernel/slab/kmalloc-128/slab_size 2>/dev/null)
: "${each:=128}"

begin() { # KIND
	insmod "/t/$1/stackbuf.ko" && insmod "/t/$1/stackbuf_leak.ko"
}
end() { rmmod stackbuf_leak stackbuf; }
# field NAME FILE: the values of a key, a line each
field() {
	sed -n "s/.*\"$1\":\"\\{0,1\\}\([a-z0-9]*\).*/\1/p" "${2:--}"
}
# second NAME: a figure of the second reader, of the pair set first
second() {
	dump now NOW
	/t/sbcheck pairs now >second || { cat second; return 1; }
	value "$1" second
}

# ------------------------------------------------------------------- leaks ---

# Of 3,000 objects on three paths 37 of one are not freed
leaked() { # CONTEXT TIMES
	echo "run $1 1000 37" >$L || return 1
	"$STACKBUF" leaks --json >json
	grep leak_path_b json >b
	is "$(wc -l <b) == $2 && $(field open b | sort -u) == 37 && $(field value b | sort -u) == 37 * $each" &&
		! grep 'leak_path_[ac]' json && field exact b | sort -u | grep -x "$exact" || { cut -c 1-600 json; return 1; }
}
# Arguments of events by their names
named() {
	echo "t:kmem:kmalloc@ptr@bytes_alloc:t:kmem:kfree@ptr" >$P/pair && leaked 0 1 && "$STACKBUF" leaks | grep '@bytes_alloc:.*kfree@ptr: [0-9]* open'
}
elsewhere() {
	"$STACKBUF" save snapshot && "$STACKBUF" -f snapshot leaks >text || return 1
	"$STACKBUF" leaks >live
	grep -c "^37 open, $((37 * each)) bytes, " text live
	is "$(grep -c "^37 open, $((37 * each)) bytes, " text) == 3 && $(grep -c 'leak_path_b' text) == 3" && grep "$EXACT" text || { head -n 3 text; return 1; }
	# The second reader finds as many.  What is allocated while it reads may refer to what it has read before
	for _ in 1 2 3 4 5; do
		open=$(second open)
		[ "$(value half second)" != 0 ] || [ "$(value other second)" != 0 ] || break
	done
	is "$open >= 111 && $(value half second) == 0 && $(value other second) == 0"
}
older() {
	"$STACKBUF" leaks --older 1h --json >json
	is "$(wc -l <json) == 0" || return 1
	sleep 1
	"$STACKBUF" leaks --older 500ms --json >json
	is "$(grep -c leak_path_b json) == 3"
}
pictures() {
	"$STACKBUF" leaks --folded >folded && "$STACKBUF" leaks --flame leaks.svg && "$STACKBUF" report leaks.html &&
		grep -qE '^\["slab",(true|false),\[' leaks.html && is "$(grep -o "\[[0-9]*,37,$((37 * each))," leaks.html | wc -l) == 3" &&
		is "$(grep 'leak_path_b' folded | awk '{ n += $NF } END { print n }') == 111" && grep -q leak_path_b leaks.svg
}
# A free inside of another probe's handler, and of a save
inside() {
	echo 'kfree,kmem_cache_free,t:kmem:kmalloc' >$P/probe && echo "run 0 1000 0" >$L && echo "run 1 1000 0" >$L || return 1
	echo >$P/probe
	"$STACKBUF" leaks --json >json
	is "$(grep -c leak_path_b json) == 3" && ! grep 'leak_path_[ac]' json && "$STACKBUF" leaks | head -n 1 | grep "$EXACT"
}
# Set for the time of the command, and nothing stays
by_itself() {
	echo >$P/pair
	"$STACKBUF" leaks -D 2 --json >json 2>err &
	for _ in $(seq 100); do [ "$(cat $P/pair)" != slab ] || break; sleep 0.1; done
	echo "run 0 100 5" >$L
	wait $!
	"$STACKBUF" leaks -D 1 2>err | true
	is "$(grep leak_path_b json | field open) == 5" && [ -z "$(cat $P/pair)" ] && "$STACKBUF" info | grep '^probes  *0$' || { cat err; return 1; }
}
# Of one command, of outstanding objects the newest, the largest last; and what cannot be chosen is refused
choices() {
	"$STACKBUF" leaks -D 2 --comm pairs_test --json >json 2>err &
	for _ in $(seq 100); do [ "$(cat $P/pair)" != slab ] || break; sleep 0.1; done
	echo "run 0 100 5" >$L
	printf '#!/bin/sh\necho "run 0 100 7" >%s\n' $L >pairs_test && chmod +x pairs_test && ./pairs_test
	wait $!
	is "$(grep leak_path_b json | field open) == 7" && [ -z "$(cat $P/comm)" ] || { cat err json; return 1; }
	echo slab >$P/pair && echo "run 0 100 6" >$L && "$STACKBUF" leaks --last 4 >text && grep -x "slab: 4 open, .*" text &&
		"$STACKBUF" leaks | sed -n 's/ open, .* for .*//p' >rows && sort -n rows | diff rows - || return 1
	! "$STACKBUF" leaks --pid 1 2>err && grep -q 'the pair was set before: its totals' err || return 1
	! "$STACKBUF" leaks --comm 'a*' page 2>err && grep -q 'takes one --comm without' err && ! "$STACKBUF" latency --last 1 2>err && grep -q 'no order' err &&
		! "$STACKBUF" latency vfs_read@arg1 2>err && grep -q 'CLOSE is missing, as in: stackbuf latency mutex_lock@arg1' err &&
		! "$STACKBUF" latency vfs_read vfs_write 2>err && grep -q 'the KEY of both is missing' err &&
		! "$STACKBUF" leaks a@arg1,b@arg1 c@arg1 2>err && grep -q 'are separated by blanks' err && [ "$(cat $P/pair)" = slab ]
}

# Kernel threads that wait for work are left out, and counted
busy() {
	idle='"schedule[^"]*","(worker_thread|smpboot_thread_fn|rcu_gp_kthread)'
	"$STACKBUF" offcpu -D 2 --json >json 2>err && ! grep -E "$idle" json &&
		grep -E 'offcpu: .* [1-9][0-9]* of them by kernel threads without work, which are left out' err &&
		"$STACKBUF" offcpu -D 2 --all --json 2>err | grep -qE "$idle" && ! grep 'left out' err
}

# Not processes that are switched out as they begin, on x86-64 from 6.7 on by a function that ret_from_fork() calls
not_idle() {
	rounds=1
	! grep -q ' ret_from_fork_asm$' /proc/kallsyms || rounds=20
	echo offcpu >$P/pair || return 1
	for _ in $(seq $rounds); do
		for _ in $(seq 300); do true & done
		wait
		"$STACKBUF" text >texts || return 1
		! tr '\n' ' ' <texts | grep -E 'schedule[^ ]* [a-z_]*exit_to_user_mode[^ ]* ret_from_fork[_asm]*\+' >/dev/null || break
	done
	"$STACKBUF" save snapshot && echo >$P/pair && "$STACKBUF" -f snapshot offcpu --json | sort >shown && "$STACKBUF" -f snapshot offcpu --all --json | sort >all || return 1
	grep -vxFf shown all >left
	grep -c ret_from_fork shown left
	[ -s left ] && ! grep -vE '"kthreadd?\+|\[stackbuf\]"' left
}

# Of 30 objects a sample of one in three is known, and that it is a sample
sampled() {
	echo "$HOLD:$RELEASE" >$P/pair && echo 3 >$P/every && echo nobody >$P/comm && echo "keep 30" >$L && echo >$P/comm &&
		echo "keep 30" >$L || return 1
	"$STACKBUF" leaks >first && "$STACKBUF" leaks --json >json
	echo 1 >$P/every && echo "drop 30" >$L && echo >$P/pair
	cat first
	is "$(field open json) == 10" && grep -q '"exact":false' json && grep 'not exact: 20 were not recorded' first
}

# ------------------------------------------------------------------- times ---

# The clock counts instructions: a hundred holds of 1 ms, and what a loop and two probes take; KCSAN delays some of them
held() {
	most=1030000
	! slowed || most=2000000
	echo "$HOLD:$RELEASE" >$P/pair && echo "hold 100 1000000" >$L || return 1
	"$STACKBUF" latency --json >json
	cut -c 1-300 json
	is "$(field closed json) == 100 && $(field sum json) >= 100000000 && $(field sum json) < $most * 100" &&
		is "$(field longest json) >= 1000000 && $(field longest json) < $most && $(field p50 json) <= $(field longest json)" &&
		is "$(second closed) == 100 && $(second sum) == $(field sum json)" &&
		rows=$("$STACKBUF" latency -v | grep -c '^ .*|\*') && { slowed || is "$rows == 1"; } && "$STACKBUF" latency | grep '; exact'
}
# The functions that patterns match; one that cannot be traced may have opened something
patterns() {
	echo 'stackbuf_leak:leak_hold*@arg1:stackbuf_leak:leak_rel*@arg1' >$P/pair && echo "hold 9 1000" >$L || return 1
	"$STACKBUF" latency --json >json && is "$(field closed json) == 9" && [ "$(field exact json)" = true ] || { cat json; return 1; }
	# What holds has opened its number, too
	"$STACKBUF" leaks --folded >folded
	is "$(wc -l <folded) == 1" && grep -q 'leak_hold_for[^;]* 1$' folded || { cat folded; return 1; }
	# Two names of one place
	echo 'leak_hol?@arg1 leak_hold@arg1:leak_release@arg1' >$P/pair && echo "hold 7 1000" >$L && "$STACKBUF" latency --json >json || return 1
	is "$(field closed json) == 7" && [ "$(field exact json)" = true ] || { cat json; return 1; }
	echo "kernel_t*@arg1:$RELEASE" >$P/pair && "$STACKBUF" leaks | head -n 1 | grep 'not exact: [0-9]* places are not probed' &&
		echo "$HOLD:$RELEASE" >$P/pair
}
# What the scheduler says of this process: how long it has slept, and waited to run
off_cpu() {
	total=0
	while read -r name _ time; do
		case $name in
		*sum_sleep_runtime | *wait_sum) total=$((total + ${time%.*} * 1000000 + 1${time#*.} - 1000000)) ;;
		esac
	done </proc/self/sched
}
# One tracepoint at both ends, of two pairs.  What comes by it is open, and closed at once.  When its module
# comes again, they are set in another order than before: by their entries, of which some were free
both_ends() {
	at=t:stackbuf_test:stackbuf_numbered@arg2
	echo >$P/pair && insmod /t/big/stackbuf_event.ko && echo vfs_read,vfs_write,vfs_open >$P/probe &&
		echo vfs_read,vfs_open >$P/probe && echo "$at:$at" >$P/pair && echo >$P/probe &&
		echo "$at:$at,$at@arg2:$at" >$P/pair && rmmod stackbuf_event && insmod /t/big/stackbuf_event.ko &&
		echo 5 >/sys/module/stackbuf_event/parameters/run && "$STACKBUF" info >facts && echo "$HOLD:$RELEASE" >$P/pair ||
		return 1
	grep '^pair ' facts
	# The kernel warns of a function that is still registered
	is "$(grep -c '^pair .* 0 open, 5 closed' facts) == 2" && rmmod stackbuf_event
}
asleep() {
	stats=/proc/sys/kernel/sched_schedstats
	[ ! -e $stats ] || echo 1 >$stats
	"$STACKBUF" offcpu -D 3 --json >json 2>err &
	for _ in $(seq 100); do ! grep -q offcpu $P/pair || break; sleep 0.1; done
	for _ in $(seq 30); do sh -c 'exit 0'; done
	off_cpu
	before=$total
	echo "sleep 20 20" >$L
	off_cpu
	wait $!
	[ ! -e $stats ] || echo 0 >$stats
	# Of tasks that end the memory goes to others, which do not wake up there
	grep leak_sleep json >slept
	cut -c 1-300 slept
	# msleep() waits for up to two ticks more.  The scheduler's time begins and ends a few hundred instructions apart
	is "$(field closed slept) == 20 && $(field sum slept) >= 400000000 && $(field sum slept) < 400000000 + 20 * 9000000" &&
		{ [ ! -e $stats ] || is "$(field sum slept) - ($total - $before) < 400000 && $total - $before - $(field sum slept) < 400000"; } &&
		! grep do_task_dead json && [ "$(field exact slept)" = true ] && [ "$(cat $P/pair)" = "$HOLD:$RELEASE" ] || { cat err; return 1; }
}
# On one CPU, two that wait for each other: in each of 1,000 rounds one of them sleeps
woken() {
	one_line 'there is no process 4194303' "$STACKBUF" offcpu --pid 4194303 -D 1 &&
		one_line 'takes no --pid, --comm and --cpu' "$STACKBUF" offcpu --wakers --pid 1 -D 1 || return 1
	"$STACKBUF" offcpu --wakers -D 3 --json >json 2>err &
	for _ in $(seq 100); do ! grep -q wakers $P/pair || break; sleep 0.1; done
	echo "switch 1000" >$L
	echo "sleep 10 20" >$L
	wait $!
	# Not those that have interrupted it
	grep '"complete+[^"]*","leak_[ps]' json >by_partner
	# The timer wakes a sleeper
	grep '"call_timer_fn' json >by_timer
	cut -c 1-300 by_partner by_timer
	[ -s by_partner ] && [ -s by_timer ] || { cat json err; return 1; }
	rounds=$(field closed by_partner | awk '{ n += $1 } END { print n }')
	is "$rounds >= 990 && $rounds <= 2001" &&
		is "$(field sum by_timer | awk '{ n += $1 } END { printf "%.0f", n }') >= 200000000" &&
		! grep leak_sleep json && field exact json | sort -u | grep -x "$exact" || { cat err; return 1; }
}
twice() {
	echo "twice 77" >$L || return 1
	"$STACKBUF" leaks >text
	head -n 1 text
	is "$(second reopened) == 1 && $(second unmatched) == 0" && grep 'not exact: 1 were opened again' text && ! grep ' open, .*for' text
}

# parts COMMAND...: runs it, and sets parts to how many blocks were freed in parts or moved meanwhile
parts() {
	before=$("$STACKBUF" leaks | sed -n '1s/.*not exact.* \([0-9]*\) were freed in parts or moved;.*/\1/p')
	"$@"
	"$STACKBUF" leaks >text
	parts=$(sed -n '1s/.*not exact.* \([0-9]*\) were freed in parts or moved;.*/\1/p' text)
	parts=$((${parts:-0} - ${before:-0}))
	echo "parts $parts"
}
tell() { echo "$*" >$L; }
# Pages that are freed together are one object.  Of those that are freed one by one, some may stay: that is said
in_parts() {
	echo page >$P/pair && parts tell pages 7
	"$STACKBUF" latency --json >json
	is "$(grep leak_pages json | field closed) == 7" && ! grep leak_pages text || return 1
	# The first of eight pages goes first, and the rest is of no block any more; then three of eight go before
	parts tell split 5
	is "$parts >= 5 && $parts < 10" && parts tell exact 5 && is "$parts >= 20 && $parts < 25" && ! grep leak_exact text || return 1
}
moved() {
	parts sh -c 'echo 1 >/proc/sys/vm/compact_memory'
	is "$parts >= 1"
}

# -------------------------------------------------------------- what is refused ---

refusals() {
	refused pair 'pair: bogus: OPEN@KEY' bogus && refused pair 'pair: vfs_open@arg1: OPEN@KEY' vfs_open@arg1 &&
		refused pair 'pair: vfs_open@arg1:fput: OPEN@KEY' vfs_open@arg1:fput &&
		refused pair 'probe: no_such@arg1: no such function' "$HOLD:no_such@arg1" &&
		refused pair 'probe: t:kmem:nosuch@arg2: no such event' "t:kmem:nosuch@arg2:$RELEASE" &&
		refused pair 'probe: vfs_read@arg9: @arg1' "vfs_read@arg9:$RELEASE" &&
		refused pair 'probe: .*only the places of a pair take' "$HOLD@foo2:$RELEASE" && refused pair 'probe: .*only the places of a pair take' "$HOLD@cache2:$RELEASE" &&
		refused pair 'probe: t:kmem:kmalloc@ptr@bytes: @bytes: the arguments of kmalloc are call_site ptr .*bytes_alloc' "t:kmem:kmalloc@ptr@bytes:t:kmem:kfree@ptr" &&
		refused pair 'probe: t:kmem:kfree@object: @object: the arguments of kfree are call_site ptr' "t:kmem:kmalloc@ptr:t:kmem:kfree@object" &&
		refused pair 'probe: kfree@ptr: @arg1' "t:kmem:kmalloc@ptr:kfree@ptr" && refused pair '@order=order: the arguments of' "t:kmem:mm_page_alloc@page@order=order:t:kmem:mm_page_free@page" &&
		refused pair 'kmalloc@gfp_flags@arg6: @arg6 is argument 6: @arg1 to @arg5' "t:kmem:kmalloc@gfp_flags@arg6:t:kmem:kfree@ptr" && refused pair 'only CLOSE takes @here' "t:kmem:kmalloc@ptr@here:t:kmem:kfree@ptr" &&
		refused pair '@that: this module knows no arguments of nosuch by name' "t:kmem:nosuch@that:t:kmem:kfree@ptr" &&
		refused pair 'probe: vfs_open: each place of a pair needs a key' "vfs_open $HOLD:fput@arg1" &&
		refused pair 'pair: .*no room: at most 10 pairs' "$(for i in $(seq 11); do printf 'vfs_read@arg%s:vfs_write@arg%s,' $((i % 4 + 1)) $((i / 4 + 1)); done)" || return 1
	if echo 'vfs_read@arg1@arg2' 2>/dev/null >$P/probe; then return 1; fi
}
# The list of probes and that of pairs are two
apart() {
	echo vfs_open >$P/probe && [ "$(cat $P/pair)" = "$HOLD:$RELEASE" ] && [ "$(cat $P/probe)" = vfs_open ] &&
		echo >$P/pair && [ "$(cat $P/probe)" = vfs_open ] && echo "slab,$HOLD:$RELEASE" >$P/pair && [ "$(cat $P/probe)" = vfs_open ] &&
		[ "$(cat $P/pair)" = "slab,$HOLD:$RELEASE" ] && echo >$P/probe && echo "run 0 10 3" >$L && echo "hold 4 1000" >$L || return 1
	# Keeping one of two keeps what it knows
	echo "$HOLD:$RELEASE" >$P/pair && "$STACKBUF" latency --json >json && is "$(field closed json) == 4" &&
		is "$(second open) == 0" && echo >$P/pair
}
# The module with both ends goes and comes
reloaded() {
	echo "$HOLD:$RELEASE" >$P/pair && rmmod stackbuf_leak && "$STACKBUF" leaks | head -n 1 | grep 'not exact: 2 places are not probed' &&
		insmod /t/big/stackbuf_leak.ko && echo "hold 5 1000" >$L && "$STACKBUF" latency --json >json || return 1
	is "$(field closed json) == 5" && [ "$(field exact json)" = true ] && "$STACKBUF" info | grep -c 'set, .*s pair' | grep -x 2
}
# While it is off nothing opens or closes, and that is said
off() {
	echo 0 >$P/enable && echo "keep 3" >$L && "$STACKBUF" leaks | head -n 1 | grep ': 0 open' && echo 1 >$P/enable &&
		"$STACKBUF" leaks | head -n 1 | grep ': 0 open.*not exact: 1 were not recorded' && echo >$P/pair
}
# However many places of the pair are passed until it is on again.  One may find it off, and then on
off_once() {
	echo "$HOLD:$RELEASE" >$P/pair && touch passing || return 1
	while [ -e passing ]; do echo "keep 1" >$L; echo "drop 1" >$L; done &
	for _ in 1 2 3 4 5; do
		echo 0 >$P/enable && echo 1 >$P/enable || break
	done
	rm passing
	wait $!
	refused=$(second refused)
	echo >$P/pair
	is "$refused >= 5 && $refused <= 7"
}
# 480 places for a thousand keys: each is open or was refused, and nothing is wrong
small() {
	echo "$HOLD:$RELEASE" >$P/pair && echo "keep 1000" >$L || return 1
	"$STACKBUF" leaks | head -n 1 | tee first
	open=$(second open) refused=$(second refused)
	is "$open + $refused == 1000 && $open <= 480 && $open > 480 * 3 / 4" &&
		grep "not exact: $refused were not recorded or had no room" first && [ "$("$STACKBUF" leaks --json | field open)" = "$open" ] || return 1
	echo "drop 1000" >$L
	is "$(second open) == 0 && $(second closed) == $open && $(second unmatched) == $refused"
}

# So close to each other that they share buckets
# Other pairs close the same keys before.  The table was full once: both buckets of a key are looked at
same_keys() {
	OTHER=stackbuf_leak:leak_sleep@arg1
	echo >$P/pair && echo "$OTHER:$HOLD,$OTHER:$RELEASE,$HOLD:$RELEASE" >$P/pair || return 1
	closed=0
	for n in 1000 300; do
		echo "keep $n" >$L && open=$("$STACKBUF" leaks --json "$HOLD" "$RELEASE" | field open) && echo "drop $n" >$L || return 1
		closed=$((closed + open))
	done
	"$STACKBUF" latency --json "$HOLD" "$RELEASE" >json
	second open >/dev/null
	# Of this pair those are unmatched that had no room
	unmatched=$(awk -v name="$HOLD:$RELEASE" '$NF == name { print $(NF - 2) }' second)
	is "$open == 300 && $(field closed json) == $closed && $unmatched == 1300 - $closed"
}

# ---------------------------------------------------------------- suspended ---

# Objects are opened before and afterwards, a task sleeps meanwhile, and events come; the host reads the kept memory
suspended() {
	tell run 0 1000 37
	asleep_to_memory() { echo thread 1500 >"$L" && to_memory && grep leak_asleep /proc/[0-9]*/comm && sleep 2; }
	clock asleep_to_memory || return 1
	tell run 0 1000 37
	"$STACKBUF" leaks slab --json >json
	grep leak_path_b json >b
	is "$(field open b) == 74 && $(field exact b | grep -c true) == 1" && ! grep 'leak_path_[ac]' json || { cat json; return 1; }
	"$STACKBUF" offcpu --json >json
	is "$(grep leak_sleep json | field closed) == 1 && $(grep -c '"exact":true' json) > 1" && ! grep '"exact":false' json || { grep -e leak_sleep -e '"exact":false' json; return 1; }
	# Pairs are copied once a second
	for _ in 1 2 3 4 5; do sleep 1; done
	host raw suspended && echo 0 >$P/enable && check && is "$(value backwards check) == 0" && echo 1 >$P/enable
}

# -------------------------------------------------------------------- wakes ---

# wakes INSTANT CLOSED EARLY: 50 sleeps and what ended them, as stackbuf_wake.c says; at least EARLY were woken
# before they slept, as those of others may be
wakes() {
	echo >$P/pair && echo wakers >$P/pair && echo "$1 50" >/sys/module/stackbuf_wake/parameters/run || return 1
	"$STACKBUF" offcpu --wakers --json >json
	# What interrupts it has other stacks
	grep '"frames":\["'"$trace"'try_to_wake_up+[^"]*","\(wake_up_process+[^"]*","\)*wake_asleep' json >by_waker
	early=$(field early json | sort -u)
	cut -c 1-300 by_waker
	echo "early $early"
	is "$(field closed by_waker | awk '{ n += $1 } END { print n + 0 }') == $2 && $early >= $3 && $early < $3 + 50" &&
		is "$2 == 0 || $(field sum by_waker | awk '{ n += $1 } END { printf "%.0f", n }') >= ${4:-0} * 50" &&
		! grep '"frames":\["'"$trace"'try_to_wake_up+[^"]*","\(wake_up_process+[^"]*","\)*wake_awake' json && field exact json | sort -u | grep -x true
}

# Two threads on two CPUs that wait for each other: how often they slept, and how long, as the scheduler's own events
# say.  These are some microseconds apart from ours, or, where KCSAN delays handlers, much further: a wakeup in between
# finds a sleeper there, and here one who does not sleep yet, or the reverse.  Those of others are woken early, too
as_ftrace() {
	# Clocks of two CPUs may show a switch and a wake in the wrong order
	echo 4096 >$T/buffer_size_kb && echo global >$T/trace_clock && echo wakers >$P/pair || return 1
	# On one CPU one of the two may never sleep
	cat >switch <<-END
		one() { echo "\$1""comm == \"leak_partner\" || \$1""pid == \$\$"; }
		echo "\$(one prev_) || \$(one next_)" >$T/events/sched/sched_switch/filter && one '' >$T/events/sched/sched_waking/filter &&
			echo 1 >$T/events/sched/sched_switch/enable && echo 1 >$T/events/sched/sched_waking/enable && echo \$\$ >pid && echo 'switch 2000' >$L
	END
	taskset -c 0 sh switch && "$STACKBUF" offcpu --wakers --json >json || return 1
	cat $T/trace >trace
	echo 0 >$T/events/sched/enable
	echo local >$T/trace_clock
	grep '"\(complete\|wake_up_process\)+[^"]*","leak_\(switch\|partner\)' json >by_partner
	awk -v main="$(cat pid)" '
		{ for (i = 1; i <= NF && $i !~ /^[0-9]+\.[0-9]+:$/; i++); at = $i * 1000000 }
		function is(name) { return match($0, name "=[0-9]+") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) : "" }
		function one(name) { task = is(name "pid"); return task == main || index($0, name "comm=leak_partner ") }
		/sched_waking:/ && one(" ") { if (slept[task]) { closed++; sum += at - slept[task]; slept[task] = 0 } else awake++ }
		/sched_switch:/ && one("prev_") { if ($0 !~ /prev_state=[RX]/) slept[task] = at }
		/sched_switch:/ && one("next_") { if (slept[task]) early++; slept[task] = 0 }
		END { printf "%d %d %d %d\n", closed, early, awake, sum }' trace >theirs
	read -r closed early awake sum <theirs
	ours=$(field closed by_partner | awk '{ n += $1 } END { print n + 0 }')
	ours_early=$(field early json | sort -u)
	time=$(field sum by_partner | awk '{ n += $1 } END { printf "%.0f", n / 1000 }')
	echo "# by ftrace $closed slept for $sum us, $early woken early, $awake wakes of who is awake; here $ours, $time us, $ours_early woken early" | tee -a figures
	cut -c 1-300 by_partner
	# Either may see a wake before a switch where the other does not
	slowed || is "$ours <= $closed + 20 && $ours + 20 >= $closed" || return
	is "$ours > 100 && $ours + $ours_early <= $closed + $early + 70 && $ours + $ours_early + 20 >= $closed + $early" && field exact json | sort -u | grep -x true
}

# ------------------------------------------------------------------- clock ---

# clock [WORD]: the time of each event is between local_clock() before it and before the next one there, on two CPUs,
# while the word is written
clock() {
	echo "$HOLD" >$P/probe || return 1
	for n in 1 2; do
		for cpu in 0 1; do
			taskset -c $cpu sh -c "echo 'clock 1000' >$L" &
		done
		wait
		[ $n = 2 ] || "$@" || return 1
	done
	echo >$P/probe
	"$STACKBUF" log --json >clocked || return 1
	least=4000
	# Frees while it is suspended overwrite the first half
	! slowed || least=2000
	awk -v least=$least '
		function hex(text, i, n) {
			for (i = 1; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		function field(name) {
			return match($0, "\"" name "\":\"?[0-9a-fx]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : ""
		}
		/"frames":\["leak_hold/ {
			cpu = field("cpu")
			tag = field("tag")
			time = field("time_ns")
			sub(/"/, "", tag)
			sub(/"/, "", time)
			tag = hex(substr(tag, 3))
			time += 0
			n++
			if (time < tag)
				early++
			if (cpu in last && last[cpu] > tag)
				late++
			if (time - tag > most)
				most = time - tag
			sum += time - tag
			last[cpu] = time
		}
		END { printf "# %d events, %d before local_clock(), %d after the next; late by %d ns on average, %d at most\n", n, early, late, sum / n, most
			exit n < least || early || late }' clocked | tee -a figures
	is "$(grep -c '"frames":\["leak_hold' clocked) >= $least" && tail -n 1 figures | grep -q ' 0 before local_clock(), 0 after the next'
}

# ------------------------------------------------------------------- storms ---

# Both CPUs allocate and free, in all contexts, while the table is read and stacks are evicted
storm() {
	for cpu in 0 1; do
		(for i in $(seq "$(few 6 100)"); do taskset -c $cpu sh -c "echo 'run $((i % 3)) 500 0' >$L" || { echo failed >failed; exit; }; done; echo ended >ended.$cpu) &
	done
	while [ ! -e ended.0 ] || [ ! -e ended.1 ]; do
		ls -lR /sys/module >/dev/null
		"$STACKBUF" leaks --json >json || return 1
		[ ! -e failed ] || return 1
	done
	wait
	"$STACKBUF" leaks >text
	head -n 1 text
	! grep leak_path text && grep "$EXACT" text || return 1
	# Everything that runs allocates
	echo 0 >$P/enable && dump now && /t/sbcheck check now /proc/kallsyms && /t/sbcheck pairs now >second && is "$(value half second) == 0" &&
		echo 1 >$P/enable
}
# Set and removed while all is hot
replaced() {
	(while [ ! -e stop ]; do echo 'run 0 300 0' >$L; done) &
	failed=
	for _ in $(seq "$(few 2 30)"); do echo slab >$P/pair && echo >$P/pair || { failed=1; break; }; done
	touch stop
	wait
	[ -z "$failed" ] && [ -z "$(cat $P/pair)" ] && dump now && /t/sbcheck pairs now && ! /t/sbcheck pairs now | grep pair
}

# ---------------------------------------------------------------- contention ---

# Four writers and a reader of one pipe wait for its mutex, until some have, as ftrace's events say.  It begins up to
# three times for a wait that ends once
contended() {
	# Clocks of two CPUs may show an end before its beginning
	echo contention >$P/pair && echo dd >$P/comm && echo 8192 >$T/buffer_size_kb && echo counter >$T/trace_clock && mkfifo pipe || return 1
	for event in begin end; do
		echo 'comm == "dd"' >$T/events/lock/contention_$event/filter && echo 1 >$T/events/lock/contention_$event/enable || return 1
	done
	until is "$(grep -c 'contention_begin: .*=MUTEX)' $T/trace) >= 20"; do
		cat pipe >/dev/null &
		for _ in 1 2 3 4; do dd if=/dev/zero of=pipe bs=64k count=500 2>/dev/null & done
		wait
	done
	"$STACKBUF" latency contention --json >json && cat $T/trace >trace && "$STACKBUF" leaks contention >left || return 1
	echo 0 >$T/events/lock/enable
	echo local >$T/trace_clock
	echo >$P/comm
	ours=$(field closed json | awk '{ n += $1 } END { print n + 0 }')
	theirs=$(awk '
		{ for (i = 1; i < NF && $i !~ /^contention_/; i++); pid = $0; sub(/ *\[.*/, "", pid); lock = pid $(i + 1) }
		$i == "contention_begin:" { waits[lock] = 1 }
		$i == "contention_end:" { n += waits[lock]; waits[lock] = 0 }
		END { print n + 0 }' trace)
	echo "$ours waits, by ftrace $theirs, which began $(grep -c contention_begin trace) times"
	cut -c 1-300 json
	head -n 1 left
	is "$ours == $theirs && $ours >= 20" && grep -q '"frames":\["'"$trace"'__mutex_lock[^]]*"\(anon_\)*pipe_write+' json && field exact json | sort -u | grep -x true && grep -q '^contention: 0 open, .*; exact$' left
}

case $(cat /t/what) in
exact)
	begin big && echo slab >$P/pair
	result "37 of 3,000 objects of a task leak: so many, and their path" leaked 0 1
	result "... of a softirq" leaked 1 2
	result "... of a hardirq" leaked 2 3
	result "a snapshot, and a second reader: the same" elsewhere
	result "only what is older" older
	result "folded, a flame graph, the report" pictures
	result "frees inside of other probes' handlers are not missed" inside
	result "leaks by itself: set for its time" by_itself
	result "of one command, the newest, the largest last; refusals" choices
	result "off CPU: kernel threads that wait for work are left out, and counted" busy
	! has_events || result "37 of 1,000 leak, by the names of arguments of events" named
	echo >$P/pair
	result "a sample of objects: not exact" sampled
	result "held for known times" held
	with DYNAMIC_FTRACE "ends that are patterns" patterns
result "off CPU for a known time; other pairs stay" asleep
	result "off CPU, by the stack that wakes" woken
	result "a key that is opened twice: not exact" twice
	result "pages that are freed one by one: not exact" in_parts
	when /proc/sys/vm/compact_memory "this kernel moves no pages" "what is in pages is moved to others: not exact" moved
	echo "$HOLD:$RELEASE" >$P/pair
	result "what makes no pair is refused, in one line" refusals
	result "probes and pairs are two lists" apart
	result "a module with both ends goes and comes" reloaded
	! needs_group || group="this kernel checks indirect calls: events of a module that comes again are refused"
	! has_events || unless "${group:-}" "... of two pairs, at one tracepoint, in another order" both_ends
	result "recording is off for a while: not exact" off
	result "... each time counts once" off_once
	end
	begin few
	result "a table that is too small: not exact, and nothing wrong is shown" small
	result "the same keys in two pairs" same_keys
	end
	;;
wakes)
	insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_wake.ko
	result "woken when asleep: counted by who woke it" wakes asleep 50 0 300000
	result "woken before it slept, TASK_WAKING: no time, and counted" wakes state 0 50
	result "... and its lock is held" wakes lock 0 50
	result "its lock is held, and it is woken when asleep" wakes late 50 0 0
	when $T/events/lock/contention_begin "Linux 5.19 has its events" "waits for locks: as many as ftrace has" contended
	result "off CPU: nothing is left out but kernel threads that wait for work" not_idle
	rmmod stackbuf_wake stackbuf
	;;
storm)
	if needs_group; then
		echo "ok two CPUs, all contexts: all is closed # SKIP this kernel misses hits inside of kprobes' handlers"
		echo "done"
		exit
	fi
	insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_leak.ko
	result "as often as the scheduler's events say" as_ftrace
	result "the time of an event is local_clock()'s, on two CPUs" clock true
	cat figures
	rmmod stackbuf_leak stackbuf
	insmod /t/big/stackbuf.ko pair=slab && insmod /t/big/stackbuf_leak.ko
	result "two CPUs, all contexts: all is closed" storm
	echo "run 2 100 37" >$L
	result "QEMU dumps the machine" host elf elf
	result "set and removed meanwhile" replaced
	if ! has_to_memory || [ ! -e /t/memory ]; then
		echo "ok suspended to memory: pairs are exact, clocks and kept memory right # SKIP this kernel or machine cannot"
	else
		rmmod stackbuf_leak stackbuf
		insmod /t/big/stackbuf.ko pair=slab,offcpu keep=0x8000000:32M:take && insmod /t/big/stackbuf_leak.ko
		: >figures
		result "suspended to memory: pairs are exact, clocks and kept memory right" suspended
		cat figures
	fi
	: >figures
	on_x86 "its cycles cannot become unstable" "... while the kernel comes to distrust the cycles, and afterwards" clock tell unstable
	cat figures
	if [ -e /t/crash ]; then
		echo slab >$P/pair && echo "run 1 100 37" >$L
		echo "done"
		echo c >/proc/sysrq-trigger
	fi
	end
	;;
esac
echo "done"
