#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094,SC2218 # files and functions are named after commands
#
# Tests probes and filters, in the guest, on two CPUs.  Where any function will do, the tests
# name one of a module: a lookup of a kernel function searches all of the kernel's symbols.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# All attempts that stackbuf counts: recorded, refused, or kept out by filters
attempted() {
	echo $(($(fact events_recorded) + $(fact events_refused) + $(fact kept_out) +
		$(fact not_sampled) + $(fact over_limit)))
}

# list_is LIST: the list of probes is this, in any order
list_is() {
	[ "$(tr ',' '\n' <$P/probe | sort)" = "$(echo "$1" | tr ',' '\n' | sort)" ] ||
		{ echo "the list is $(cat $P/probe)"; return 1; }
}

# Start the workload of one process, stopped, so that its PID is known before it begins
work() {
	# shellcheck disable=SC2016,SC2046 # expanded by that shell; several words
	sh -c 'kill -STOP $$; exec grep -r nothing "$@" /proc/self/fdinfo /etc' - \
		$(few '/sys/kernel/slab/[a-k]*' '/sys/kernel/slab /bin/busybox') >/dev/null 2>&1 &
	worker=$!
	until grep -q '^State:.*T' /proc/$worker/status; do sleep 0.1; done
}

# Processes of low priority keep both CPUs busy until the file "stop" exists, in "make test" one
busy() {
	rm -f stop
	for _ in $(few 1 "1 2"); do
		# shellcheck disable=SC2016 # expanded by that shell
		sh -c 'renice -n 19 -p $$ && while [ ! -e stop ]; do
			find /proc/self /sys/kernel/slab 2>/dev/null | cat | md5sum >/dev/null
		done' &
	done
}

all_end() {
	touch stop
	# The worker of a test that failed is still stopped
	kill -KILL "${worker:-}" 2>/dev/null
	wait
}

load big verify=1

# -------------------------------------------------------------------- names ---

result "a function of a module" set_list stackbuf_test:context_save
result "the list is read back" list_is stackbuf_test:context_save

# A name that two functions have, one that only a function of stackbuf has, and the address of data: if
# kallsyms lists none, the end of the text
read -r twice own data <<NAMES
$(awk '{ before = types[$3]; types[$3] = before $2 }
	NF == 3 && $2 ~ /[tT]/ && before ~ /^[tT]$/ && $3 !~ /\.|^__/ && !twice { twice = $3 }
	$4 == "[stackbuf]" && $2 == "t" && $3 ~ /^[a-z]+_[a-z]+$/ { names[$3] }
	$3 == "jiffies" { at = $1 }
	$3 == "_etext" { end = $1 }
	END {
		for (name in names) if (length(types[name]) == 1) own = name
		print twice, own, at ? at : end
	}' /proc/kallsyms)
NAMES
result "refused: a function that does not exist" refuses no_such_function "no_such_function: no such function"
result "refused: one of a name that several have ($twice)" refuses "$twice" "$twice: [0-9]* functions have this name"
result "refused: one that several modules have" refuses cleanup_module "cleanup_module: [0-9]* functions have this name"
result "refused: one that its module does not have" refuses stackbuf_test:nothing "nothing: no such function"
waiting() {
	mark
	set_list no_such_module:f && since | grep 'stackbuf: probe: no_such_module:f waits for a module no_such_module' &&
		set_list stackbuf_test:context_save
}
result "logged: one whose module is not loaded" waiting
result "refused: stackbuf itself" refuses stackbuf:stackbuf_save "does not probe itself"
result "refused: a name that only a function of stackbuf's own has" refuses "$own" "$own: no such function"
# Code of entry, which neither ftrace nor kprobes touch
forbidden=$(awk 'NR == FNR { if ($2 ~ /^(irqentry|el1|exc)_[a-z_0-9]*$/) n[$2]++; next }
	$1 in n { n[$1] = 2 }
	END { for (name in n) if (n[name] == 1) { print name; exit } }' $KPROBES/blacklist $T/available_filter_functions 2>/dev/null)
: "${forbidden:=irqentry_enter}"
result "refused: blacklisted ($forbidden)" refuses "$forbidden" "$forbidden: the kernel allows no probe\|no such function"
result "refused: the middle of an instruction" refuses vfs_read+1 "vfs_read+1: .*no instruction begins\|vfs_read+1: the kernel allows"
result "refused: data" refuses "0x$data" "allows no probe\|no such function"
# All of what may be written wrongly is in tests/core/unit.c
result "refused: no name of a function" refuses 'a b' "FUNCTION.*accepted"
with DYNAMIC_FTRACE "refused: a pattern that matches nothing" refuses 'no_such_*' "no_such_.: no function matches"
with DYNAMIC_FTRACE "refused: a pattern of what cannot be traced" refuses "${forbidden%?}[${forbidden#"${forbidden%?}"}]" "none of the 1 functions that match can be traced"
many_patterns() {
	refuses "$(seq -s ',' 65 | sed 's/[0-9]*/&*/g')" '65 patterns: at most 64'
}
result "refused: more than 64 patterns" many_patterns
result "refused: an event that does not exist" refuses t:nosuch "t:nosuch: no such event"
result "refused: an event of another group" refuses t:sched:kfree "t:sched:kfree: no such event"
when $T/events/syscalls "this kernel has no events of system calls" \
	"refused: an event without a tracepoint" refuses t:syscalls:sys_enter_openat "no tracepoint of its own.*t:raw_syscalls:sys_enter"
result "refused: an argument that an event has not" refuses t:kfree@arg6 "@arg6 is argument 6: @arg1 to @arg5 is accepted"
result "refused: no name of an event" refuses t: "t:.GROUP:.EVENT is accepted"
result "refused: an argument that is not in a register" refuses "stackbuf_test:context_save@arg$((arguments + 1))" \
	"@arg1 to @arg$arguments, @retaddr or @sp is accepted"
result "refused: one bad name among good ones" \
	refuses "stackbuf_test:go,no_such_function,stackbuf_test:leaf_tag" "no_such_function: no such function"
many() {
	list=
	for i in $(seq 1009); do
		list=$list,m:f$i
		[ $((i % 300)) != 0 ] || { set_list "+$list" && list=; } || return 1
	done
	refuses "+$list" "no room: at most 1008 probes" && set_list stackbuf_test:context_save
}
result "refused: more than 1008 probes" many

stage lists
# No probe of ours is left in the kernel
nothing_set() { ! grep stackbuf $KPROBES/list && ! grep stackbuf_test $T/enabled_functions; }
lists() {
	set_list stackbuf_test:go && set_list +stackbuf_test:leaf_tag &&
		list_is stackbuf_test:go,stackbuf_test:leaf_tag &&
		set_list ' stackbuf_test:leaf_tag , stackbuf_test:leaf_tag,,' &&
		list_is stackbuf_test:leaf_tag && set_list '' && list_is '' && nothing_set
}
result "a list replaces, + adds, one that stands twice is one, empty removes all" lists

numbers() {
	for word in pid=-1 pid=4194305 pid=x cpu=-2 cpu=2 limit=-1 limit=4294967296 every=0 every=x \
		comm=0123456789abcdef 'verify=1000001' panic_dump=1001; do
		refused "${word%%=*}" "${word%%=*}: .* is accepted, not '${word#*=}'" "${word#*=}" || { echo "$word"; return 1; }
	done
}
result "filters and other numbers: what is out of range is refused, in one line" numbers

# --------------------------------------------------------------------- depth ---

stage depth
# This test comes first, before any event from leaf_tag.  Prints sizes and locations of the
# frames outside of the innermost one, from ftrace's table or ours.  ftrace measures from the
# slot of a return address, so ours has 8 bytes more in the outermost frame.
frames() {
	awk -v more="$1" '
		/^ +Depth/ { n++ }
		n == 1 && $1 ~ /^[0-9]+\)$/ && $1 != "0)" {
			if (at) print size, at
			size = $3
			at = $4
		}
		END { print size + more, at }'
}
tracer=/proc/sys/kernel/stack_tracer_enabled
depth() {
	set_list stackbuf_test:leaf_tag || return 1
	if [ -e $tracer ]; then
		echo leaf_tag >$T/stack_trace_filter && echo 1 >$tracer && echo 0 >$T/stack_max_size || return 1
	fi
	for levels in 3 12 25 7; do run path 0x2468ace 3 $levels 1 >/dev/null; run path 0x13579bdf $levels 1 1 >/dev/null; done
	[ ! -e $tracer ] || echo 0 >$tracer
	set_list ''
	"$STACKBUF" depth >depths
	# The stack that begins where the tracer's does
	awk -v RS= '/0\) +[0-9]+ +[0-9]+ +leaf_tag\+0x[04]\//' depths >ours
	frames 8 <ours >b
	is "$(wc -l <b) > 25" && ! grep cut ours || { cat depths; return 1; }
}
# Frames have the places that the functions themselves report
placed() {
	run places 20 | sed -n 's/^place //p' >places
	"$STACKBUF" depth | awk -v RS= '/leaf_place\+/' |
		awk '/ level_place\+/ && n++ { print $2 }' >shown
	is "$(wc -l <places) == 20" && cut -d ' ' -f 1 places | diff - shown || return
	# The variables of each are in its frame
	paste -d ' ' places shown | awk '{ if ($2 > $3 || (NR > 1 && last <= $3)) { print; bad = 1 }; last = $2 } END { exit bad || NR != 20 }'
}
# read() into memory that is not there yet: an exception in kernel code
faulted() {
	set_list handle_mm_fault && dd if=/dev/zero of=/dev/null bs=4M count=1 2>/dev/null && set_list '' || return 1
	"$STACKBUF" depth | awk -v RS= '/handle_mm_fault\+/' >shown
	# Another, as when a signal comes, may be deeper
	grep -A 99 ' asm_exc_page_fault+\| el1h_64_sync+' shown | sed 1d | grep ' entry_SYSCALL\| asm_\| el0t_64_' && ! grep cut shown || { cat shown; return 1; }
}
as_tracer() {
	cat $T/stack_trace >theirs
	frames 0 <theirs >a
	diff a b || { cat theirs ours; return 1; }
}
result "depth: all frames of the deepest stack" depth
result "depth: frames are where they say themselves" placed
why=
[ "$arch" = x86_64 ] || why='it does not find return addresses that are signed'
[ -e $tracer ] || why='this kernel has none'
result "depth: the frames outside an exception in kernel code" faulted
unless "$why" "depth: frame by frame as ftrace's stack tracer has it" as_tracer

# ----------------------------------------------------------------- 127 frames ---

# Twice: the second time they are recalled, and walked to compare
deep_frames() {
	facts
	verified=$(fact verified)
	run depth 90 138 >first && run depth 90 138 >again && run depth 90 138 >third || return 1
	facts
	is "$(grep -c ' good$' first) == 49 && $(grep -c ' good$' again) == 49" || { grep BAD first again; return 1; }
	grep -q ' frames 127 of 127 cut 0 ' first && grep -q ' frames 127 of 128 cut 1 ' first || { cat first; return 1; }
	is "$(fact verified) - $verified > 20 && $(fact differed) == 0"
}
result "127 frames: as the kernel unwinds them, recalled, cut beyond and marked" deep_frames

# ------------------------------------------------- where traces begin, contexts ---

stage kinds
# begins PROBE KIND PAIRS: the probe is implemented as KIND; each of its events begins at the
# probed address, and its other frames and its context are those of the next event, from a
# stackbuf_save_tag() in the same function
begins() {
	set_list "stackbuf_test:$1" || return 1
	kinds=$KPROBES/list
	[ "$2" != 'leaf_tag ' ] || kinds=$T/enabled_functions
	# The kernel optimizes a probe into a jump with a delay
	for _ in $(seq 3000); do ! grep -q "$2" $kinds || break; usleep 100000; done
	grep "$2" $kinds || { cat $kinds; return 1; }
	at=$("$STACKBUF" info | sed -n 's/^  stackbuf_test:.* \(0x[0-9a-f]*\) set.*/\1/p')
	"$STACKBUF" log --json | wc -l >before
	run context >context
	"$STACKBUF" log --json | tail -n "+$(($(cat before) + 1))" >log || return 1
	awk -v at="$at" -v pairs="$3" -v nmi="$nmi" '
		{
			match($0, /"context":"[a-z]*"/); context = substr($0, RSTART, RLENGTH)
			match($0, /"addresses":\[[^]]*/); all = substr($0, RSTART + 13, RLENGTH - 13)
		}
		!/c0ffee/ {
			first = all; sub(",.*", "", first); rest = all; sub("[^,]*,", "", rest)
			if (first != "\"" at "\"") { print "begins elsewhere:", all; bad = 1 }
			was = context
			next
		}
		!was { next }
		{
			if (substr(all, length(all) - length(rest) + 1) != rest) { print rest, "is no part of", all; bad = 1 }
			if (was != context) { print "context", was, "is not", context; bad = 1 }
			seen[context]; was = ""; n++
		}
		END {
			for (c in seen) contexts++
			if (n != pairs || contexts < 2 + nmi) { print n, "pairs,", contexts, "contexts"; bad = 1 }
			exit bad
		}' log
}
breakpoints="on $arch all probes are breakpoints"
with DYNAMIC_FTRACE "a probe by ftrace: begins at the function, the rest and the context are right" begins leaf_tag 'leaf_tag ' $((7 + nmi))
optimize=/proc/sys/debug/kprobes-optimization
[ ! -e $optimize ] || echo 0 >$optimize
result "a probe by a breakpoint: the same" \
	begins "context_save+$(cat /t/inside)" 'context_save+0x[0-9a-f]* ' $((4 + nmi))
[ ! -e $optimize ] || echo 1 >$optimize
on_x86 "$breakpoints" "a probe by a jump: the same" \
	begins "context_save+$(cat /t/inside)" 'stackbuf_test.*OPTIMIZED' 5

# ---------------------------------------------------------------------- tags ---

stage tags
tags() {
	set_list stackbuf_test:go@arg3 && run path 0x77 3 0 1 >/dev/null || return 1
	set_list stackbuf_test:go@arg2 && run path 0x77 5 0 1 >/dev/null || return 1
	set_list stackbuf_test:go@retaddr && run path 0x77 5 0 1 >/dev/null || return 1
	"$STACKBUF" log --last 6 --json | grep -v 'frames":\["leaf\|frames":\["stackbuf_save' >log
	"$STACKBUF" log --tag 5 --json | grep '"go+' >five
	is "$(grep -c '"go+' five) == 1" || { cat log; return 1; }
	# The return address is the second frame
	grep '"go+' log | tail -n 1 | sed 's/.*"tag":"\(0x[0-9a-f]*\)".*"addresses":\["0x[0-9a-f]*","\(0x[0-9a-f]*\)".*/\1 \2/' |
		awk '$1 == $2 && NF == 2 { ok = 1 } { print } END { exit !ok }'
}
result "an argument is the tag, and found by it; so is the return address" tags

# ----------------------------------------------------- against ftrace's counts ---

stage hist
# Print a line per stack, with the frames from the caller outwards and the total: hist's and ours.
# Hist triggers keep 16 frames, in 7.1 31.  If a stack has that many, the file depth holds how many
# of them are from the caller on.
hist_lines() {
	awk -v fn="$1" '
		/_stacktrace:|stacktrace:/ { n = 0; at = 0; next }
		/hitcount:/ { key = ""; for (i = at + 1; i <= n; i++) key = key " " line[i]
			print key, "=" $NF; if (n > most) { most = n; room = n - at }; next }
		NF { line[++n] = $1; if (!at && index($1, fn "+") == 1) at = n }
		END { if (most == 16 || most >= 30) print room >"depth" }' "$T/events/$event/hist" |
		sort
}
our_lines() {
	"$STACKBUF" count | awk -v fn="$1" -v most="$2" -v unseen="$3" '
		NF == 0 { n = 0; next }
		/^ *[0-9]+$/ { if (index(line[1], fn "+") == 1) {
				key = ""; for (i = 2 + unseen; i <= n && i <= most + 1 + unseen; i++) key = key " " line[i]
				sum[key] += $1 }
			n = 0; next }
		# Which clang does not inline, and ftrace skips
		n || $1 !~ /^__do_trace_/ { line[++n] = $1 }
		END { for (key in sum) print key, "=" sum[key] }' | sort
}
# against_hist FUNCTION LEAST [GROUP/EVENT]: at its beginning, or at that event, which it holds
against_hist() {
	rm -f depth
	of=${3:-}
	event=${of:-kprobes/sb_test}
	what=$1
	# Where a function begins, its caller is in no record yet
	without=$unseen
	[ -z "$of" ] || without=0
	[ -z "$of" ] || what=t:$(echo "$of" | tr / :)
	work
	[ -n "$of" ] || echo "p:sb_test $1" >$T/kprobe_events || return 1
	{ echo "hist:keys=stacktrace:size=16384 if common_pid == $worker" >"$T/events/$event/trigger" ||
		echo "hist:keys=common_stacktrace:size=16384 if common_pid == $worker" >"$T/events/$event/trigger"; } &&
		echo $worker >$P/pid && set_list "$what" || return 1
	kill -CONT $worker
	wait $worker
	hist_lines "$1" >hist
	our_lines "$1" "$(cat depth 2>/dev/null || echo 64)" "$without" >ours
	grep -q 'Dropped: 0' "$T/events/$event/hist" || { echo "hist dropped some"; return 1; }
	trigger=$(grep -v '^#' "$T/events/$event/trigger" | sed 's/ \[active\]//')
	echo "!$trigger" >"$T/events/$event/trigger"
	# A kprobe misses what comes inside another one's handler, in any process
	missed=$(awk '$1 == "sb_test" { print $3 }' $T/kprobe_profile)
	[ -n "$of" ] || echo >$T/kprobe_events
	set_list '' && echo 0 >$P/pid
	wc -l hist ours
	is "$(wc -l <hist) > $2" || return 1
	[ "${missed:-0}" = 0 ] || {
		awk -v missed="$missed" '{ n = $NF; sub(/^=/, "", n); sub(/=[0-9]*$/, "") }
			NR == FNR { hist[$0] = n; next }
			{ ours += n; theirs += hist[$0]; if (n < hist[$0]) { print "fewer here:", n, hist[$0], $0; bad = 1 }; delete hist[$0] }
			END { for (key in hist) { print "by hist alone:", hist[key], key; bad = 1 }; print "hist missed", missed; exit bad || ours - theirs > missed }' hist ours
		return
	}
	diff hist ours
}
with_hist "dput, by ftrace's hist trigger and here: the same stacks, the same totals" against_hist dput 12
# It failed once on a busy host
[ ! -e /t/thorough ] || with_hist "kmem_cache_free: the same" against_hist kmem_cache_free 8
with_hist "the event kfree: the same" against_hist kfree 4 kmem/kfree

# ------------------------------------------------------------------ patterns ---

stage patterns
# Ftrace's own tracer is attached to the same functions
traced() {
	set_list 'stackbuf_test:*e*' || return 1
	facts
	before=$(fact events_recorded)
	echo ':mod:stackbuf_test' >$T/set_ftrace_filter && echo function >$T/current_tracer || return 1
	run path 0x5577 9 3 2 >/dev/null
	run context >/dev/null
	awk '/ <-/ && $(NF - 1) ~ /e/ { n[$(NF - 1)]++ } END { for (f in n) print f, n[f] }' $T/trace | sort >theirs
	echo nop >$T/current_tracer
	"$STACKBUF" info >info
	set_list ''
	echo >$T/set_ftrace_filter
	# What the module saves itself does not begin at a function
	facts
	"$STACKBUF" log --json --last "$(($(fact events_recorded) - before))" |
		sed -n 's/.*"frames":\["\([a-z_0-9.]*\)+0x[048]\/.*/\1/p' | sort | uniq -c | awk '{ print $2, $1 }' >ours
	grep 'stackbuf_test:.e. .*functions, ' info
	is "$(wc -l <theirs) > 8" && diff theirs ours || { cat info; return 1; }
}
with FUNCTION_TRACER "a pattern: calls by function as ftrace's function tracer has them" traced
wide() {
	set_list 'vfs_*,tcp_*@arg1' && ls -lR /sys/module >/dev/null && "$STACKBUF" info >info || return 1
	set_list ''
	for name in vfs_ tcp_; do
		awk -v name=$name 'index($1, name) == 1 && NF == 1' $T/available_filter_functions | wc -l
		sed -n "s/^  $name\\*.* \([0-9]*\) functions, .*/\1/p" info
	done | tr '\n' ' ' >n
	cat n
	read -r vfs our_vfs tcp our_tcp <n
	is "$vfs == $our_vfs && $tcp == $our_tcp && $tcp > 100" || { cat info; return 1; }
}
with DYNAMIC_FTRACE "all that ftrace can trace" wide
comes() {
	set_list 'stackbuf_test:leaf_t*,vfs_r*' && rmmod stackbuf_test || return 1
	"$STACKBUF" info | grep 'leaf_t.*pending' && insmod /t/big/stackbuf_test.ko && run path 0x77 3 0 1 >/dev/null || return 1
	"$STACKBUF" info | grep 'leaf_t.* [1-9][0-9]* functions, .*set' && grep 'leaf_tag .*' $T/enabled_functions || return 1
	"$STACKBUF" log --function leaf_tag --last 9 | grep '^	leaf_tag+0x[048]/' || return 1
	# Without its module's name as well
	set_list 'leaf_ta*,vfs_r*' && rmmod stackbuf_test && insmod /t/big/stackbuf_test.ko || return 1
	"$STACKBUF" info | grep 'leaf_ta.* [1-9][0-9]* functions, .*set' && set_list '' && nothing_set
}
with DYNAMIC_FTRACE "... a module goes and comes" comes
# The patch takes the function's place from the same instruction on
patched() {
	set_list 'stackbuf_test:leaf_t*' && insmod /t/big/stackbuf_patch.ko || return 1
	K=/sys/kernel/livepatch/stackbuf_patch
	while [ "$(cat $K/transition)" != 0 ]; do usleep 100000; done
	facts
	before=$(fact events_recorded)
	run path 0x5678 3 2 1 >/dev/null
	facts
	patched=$(($(fact events_recorded) - before))
	set_list stackbuf_test:leaf_tag && run path 0x5679 3 2 1 >/dev/null && echo 0 >$K/enabled || return 1
	while [ -e $K ]; do usleep 100000; done
	rmmod stackbuf_patch || return 1
	facts
	is "$patched == 1 && $(fact events_recorded) == $before + 2 && $(fact differed) == 0" || return 1
	run path 0x5678 3 2 1 >/dev/null
	facts
	set_list ''
	is "$(fact events_recorded) == $before + 4" &&
		"$STACKBUF" log --last 4 --json | grep -c '"frames":\["leaf_tag+0x[048]/' | grep -x 3
}
with LIVEPATCH "beside a live patch of the function" patched

# --------------------------------------------------------------- tracepoints ---

stage tracepoints
# The only subscriber is called directly, several are by the iterator: the same stack, either way
one_stack() {
	set_list t:stackbuf_test:stackbuf_numbered@arg2 && echo 3 >$E/run || return 1
	set_list $event@arg2,tracepoint:stackbuf_test:stackbuf_numbered && echo 3 >$E/run || return 1
	"$STACKBUF" log --last 9 --json >log
	set_list ''
	sed 's/.*"tag":"\(0x[0-9a-f]*\)".*/\1/; t; s/.*/-/' log | tr '\n' ' ' >tags
	echo "tags $(cat tags)"
	# In which order the two are called is the kernel's affair
	is "$(grep -c '"frames":\["\(__do_trace_[a-z_]*+[^"]*","\)\?number_events+' log) == 9 && $(sed 's/.*"stack":\([0-9]*\).*/\1/' log | sort -u | wc -l) == 1" &&
		is "$(tr ' ' '\n' <tags | grep -c '^0x1$') == 2 && $(tr ' ' '\n' <tags | grep -c '^0x3$') == 2 && $(tr ' ' '\n' <tags | grep -c '^-$') == 3" || { cat log; return 1; }
}
probe_is() { # STATE
	"$STACKBUF" info >info
	grep "$event .*$1" info || { cat info; return 1; }
}
# The module goes and comes while it is watched
follows() {
	set_list $event || return 1
	for _ in $(few 1 "1 2 3"); do
		facts
		before=$(fact events_recorded)
		# Other processes hit it while it goes
		(while echo 100 >$E/run; do :; done) 2>/dev/null &
		until is "$(latest events_recorded) > $before + 100" >/dev/null; do usleep 50000; done
		until rmmod stackbuf_event; do usleep 100000; done
		wait $!
		probe_is pending && mark && insmod /t/big/stackbuf_event.ko || return 1
		! needs_group || { probe_is refused && since | grep 'its group is needed, and its module loaded' &&
			set_list $event; } || return 1
		echo 7 >$E/run || return 1
		facts
		is "$(fact events_recorded) > $before + 100" || return 1
	done
	probe_is set
}
# Another module has an event of this name, in its own group.  It goes and comes while the probe waits
groups() {
	other=/sys/module/stackbuf_event2/parameters
	set_list '' && rmmod stackbuf_event && insmod /t/big/stackbuf_event2.ko && insmod /t/big/stackbuf_event.ko || return 1
	needs_group || refuses t:stackbuf_numbered 'several modules have an event of this name: t:GROUP:EVENT' || return 1
	for group in stackbuf_test stackbuf_other; do
		set_list "t:$group:stackbuf_numbered@arg2" && facts || return 1
		before=$(fact events_recorded)
		echo 3 >$E/run && echo 5 >$other/run && facts || return 1
		recorded="$recorded $(($(fact events_recorded) - before))"
	done
	# The first one is gone while its probe waits
	set_list t:stackbuf_test:stackbuf_numbered && rmmod stackbuf_event && rmmod stackbuf_event2 && insmod /t/big/stackbuf_event2.ko || return 1
	"$STACKBUF" info >info && set_list '' && insmod /t/big/stackbuf_event.ko && rmmod stackbuf_event2 || return 1
	[ "$recorded" = ' 3 5' ] && is "$(grep -c 't:stackbuf_test:stackbuf_numbered .*pending' info) == 1" || { echo "$recorded"; cat info; return 1; }
}
# A module that is refused before stackbuf hears of it: what is set meanwhile is not set in code that is freed
refused_module() {
	waits=/sys/module/stackbuf_refuse/parameters/waits
	set_list '' && rmmod stackbuf_event && insmod /t/big/stackbuf_refuse.ko name=stackbuf_event || return 1
	insmod /t/big/stackbuf_event.ko 2>/dev/null &
	until grep -q Y $waits; do usleep 50000; done
	set_list 'stackbuf_event:number_events,stackbuf_event:number_events+0,stackbuf_event:number_e*' && "$STACKBUF" info >during && echo 0 >$waits || return 1
	wait $!
	"$STACKBUF" info >after && rmmod stackbuf_refuse && insmod /t/big/stackbuf_event.ko && facts || return 1
	before=$(fact events_recorded)
	echo 5 >$E/run && "$STACKBUF" info >info && set_list stackbuf_test:context_save && facts &&
		is "$(grep -c 'stackbuf_event:.*pending' during) == 3 && $(grep -c 'stackbuf_event:.*pending' after) == 3 && $(grep -c 'stackbuf_event:.*pending' info) == 0 && $(fact events_recorded) > $before" ||
		{ cat during after info; return 1; }
}
E=/sys/module/stackbuf_event/parameters
event=t:stackbuf_numbered
! needs_group || event=t:stackbuf_test:stackbuf_numbered
! has_events || insmod /t/big/stackbuf_event.ko
when $T/events "this kernel has no events" \
	"a tracepoint of a module: called directly and by its iterator, the same stack" one_stack
when $T/events "this kernel has no events" "... which goes and comes under load" follows
recorded=
when $T/events "this kernel has no events" "... of two modules, in two groups" groups
when $T/events "this kernel has no events" "a module that is not loaded in the end: nothing is set in it" refused_module
! has_events || { set_list '' && rmmod stackbuf_event; }

# Kernels with lockdep take locks in a walk: each would come by the event again
in_walks() {
	facts
	was=$(fact lost_nested)
	before=$(fact events_recorded)
	set_list t:lock:lock_acquire && run storm 100 40 300 0 >/dev/null || return 1
	set_list ''
	facts
	echo "$(($(fact events_recorded) - before)) events, $(($(fact lost_nested) - was)) inside of walks"
	is "$(fact events_recorded) > $before + 100 && $(fact lost_nested) > $was && $(fact differed) == 0"
}
when $T/events/lock/lock_acquire "this kernel has no such event: CONFIG_LOCKDEP is not set" \
	"an event inside of a walk is counted, and no more" in_walks

# ------------------------------------------------------------------- filters ---

stage filters
set_list ''
N=$(few 1500 6000)
CPUS=$(nproc)
ALL=$((CPUS * N))
LAST=$((CPUS - 1))
facts
# filtered FILTER=VALUE...: makes N tagged saves on each CPU with these filters.  Of what it counts are set:
# recorded, out (kept out by pid, cpu or comm), left (by every)
filtered() {
	before=$(attempted) recorded=$(fact events_recorded) out=$(fact kept_out) left=$(fact not_sampled)
	for word; do echo "${word#*=}" >"$P/${word%%=*}" || return 1; done
	run tags "$N" 10 3 >/dev/null
	facts
	for word; do
		case ${word%%=*} in cpu) echo -1 ;; comm) echo ;; every) echo 1 ;; *) echo 0 ;; esac >"$P/${word%%=*}"
	done
	recorded=$(($(fact events_recorded) - recorded)) out=$(($(fact kept_out) - out)) left=$(($(fact not_sampled) - left))
	is "$(attempted) - $before == $ALL" || return 1
}
limit() { filtered limit=1000 && is "$recorded == 1000 && $(fact over_limit) == $ALL - 1000" && is "$(fact limit_left) == 0" && "$STACKBUF" info | grep 'over the limit'; }
result "limit: exactly so many on all CPUs, the rest counted" limit
again() { filtered limit=1000 && is "$recorded == 1000"; }
result "limit written again: so many again" again
every() { filtered every=7 && is "$recorded == CPUS * ((N + 6) / 7) && $left == $ALL - $recorded"; }
result "every: on each CPU the first and then one in so many" every
cpu() { filtered cpu=$LAST && is "$recorded == N && $out == $ALL - N"; }
result "cpu: events of that CPU only" cpu
# Kernel threads make the saves, one per CPU
name() { filtered comm=sbtest/$LAST && is "$recorded == N && $out == $ALL - N"; }
result "comm: events of that name only" name
near() { filtered comm=sbtest/ && is "$recorded == 0"; }
result "comm: a part of the name is another name" near
all() { filtered cpu=0 every=10 limit=100 && is "$recorded == 100 && $out == $ALL - N && $left == N - (N + 9) / 10"; }
result "cpu, every and limit together" all
of_pid() {
	work
	echo $worker >$P/pid && set_list 0x"$(awk '$3 == "vfs_read" { print $1 }' /proc/kallsyms)" || return 1
	kill -CONT $worker
	wait $worker
	set_list '' && echo 0 >$P/pid
	"$STACKBUF" log --json --last 5 | grep -o '"pid":[0-9]*,"tgid":[0-9]*' | sort -u >pids
	facts
	[ "$(cat pids)" = "\"pid\":$worker,\"tgid\":$worker" ] || { cat pids; "$STACKBUF" log --json --last 1; return 1; }
}
result "pid: events of that process only" of_pid
# A stack gets the same id with a filter and without, whether it is walked or recalled first
same() {
	facts
	differed=$(fact differed)
	for path in 0x1357 0x2468; do
		run path $path 4 5 3 >a
		echo 1000 >$P/limit
		run path $path 4 5 3 >b
		run path ${path}77 6 5 3 >c
		echo 0 >$P/limit
		run path ${path}77 6 5 3 >d
		is "$(value id a) == $(value id b) && $(value id c) == $(value id d) && $(value id a)" || return 1
	done
	facts
	is "$(fact differed) == $differed"
}
result "with a filter stacks are the same as without" same
off() {
	echo 10 >$P/limit && echo 0 >$P/enable && run path 1 3 1 1 >a && echo 1 >$P/enable && run path 1 3 1 1 >b
	echo 0 >$P/limit
	is "$(value id a) == 0 && $(value id b) > 0 && $(cat $P/enable)"
}
result "enable=0 counts for more than a filter, and is taken back" off

# ----------------------------------------------------------- what is missed ---

stage missed
# On one CPU, as the kernel counts missed hits in a plain word shared by all CPUs
missed() {
	[ "$CPUS" = 1 ] || echo 0 >/sys/devices/system/cpu/cpu1/online
	set_list "stackbuf_test:storm_save$1" || return 1
	facts
	before=$(($(attempted) + $(fact probes_missed)))
	was=$(fact probes_missed)
	run storm "$(few 250 4000)" 40 300 "$nmi" >storm
	stormed=$?
	facts
	after=$(($(attempted) + $(fact probes_missed)))
	set_list ''
	[ "$CPUS" = 1 ] || echo 1 >/sys/devices/system/cpu/cpu1/online
	[ $stormed = 0 ] || { cat storm; return 1; }
	# Each probed call makes a save of its own besides
	echo "attempted $(value attempted storm) missed $(($(fact probes_missed) - was))"
	# Whether an NMI interrupts a probe is chance, so no minimum of missed hits is required
	is "$(value attempted storm) > 0 && $after - $before == 2 * $(value attempted storm)" || return 1
	# The count of missed hits stays after a probe is removed
	was=$(fact probes_missed)
	facts
	is "$(fact probes_missed) >= $was && $(attempted) + $(fact probes_missed) == $after"
}
under=$([ "$nmi" = 1 ] && echo NMIs || echo timers)
result "under $under: attempted = recorded + lost + missed, at the beginning" missed ''
note result
result "under $under: attempted = recorded + lost + missed, further inside" missed "+$(cat /t/storm)"
note result

# What stays in the list is neither lost nor recorded twice
replaced() {
	set_list stackbuf_test:storm_save || return 1
	facts
	before=$(($(attempted) + $(fact probes_missed)))
	rm -f stop
	(
		for _ in $(few "1 2" "1 2 3"); do
			set_list 'stackbuf_test:storm_save,stackbuf_test:leaf_d*' && set_list stackbuf_test:storm_save || exit
		done
		touch stop
	) &
	sum=0 stormed=0
	while [ ! -e stop ] && kill -0 $! && [ $stormed = 0 ]; do
		run storm 100 40 300 "$nmi" >storm
		stormed=$?
		sum=$((sum + $(value attempted storm)))
	done
	wait
	facts
	after=$(($(attempted) + $(fact probes_missed)))
	set_list ''
	[ $stormed = 0 ] || { cat storm; return 1; }
	echo "attempted $sum"
	[ -e stop ] && is "$sum > 0 && $after - $before == 2 * $sum"
}
with DYNAMIC_FTRACE "lists replaced meanwhile: the same" replaced
note result
# Some interrupts come during a walk, and their stacks have its frame: few with frame pointers, as a walk is short.  They
# begin on another stack and go on with what was interrupted, or with the entry from user mode
interrupts() {
	echo 1 >$P/verify && set_list 'irq_enter_rcu,vfs_*,kmem_cache_*,d_*,dput' || return 1
	for _ in $(seq 20); do
		# shellcheck disable=SC2046 # several words
		ls -lR /sys/module/$(few "a*" "[a-d]* /sys/kernel") >/dev/null
		# It is rendered within a second
		sleep 1
		awk 'function ends() { lone += irq && frames < 3; irq = 0 }
			/^stack / { ends(); top = 1; next }
			top { irq = /^irq_enter_rcu/; frames = top = inside = 0 }
			{ frames++ }
			irq && /^sbuf_save_walked/ && !inside++ { n++ }
			END { ends(); print n + 0, lone + 0 }' $D/text >inside
		read -r inside lone <inside
		[ "$inside" = 0 ] || break
	done
	set_list ''
	echo "$inside stacks, $lone end in the interrupt's handler"
	is "$inside >= 1 && $lone == 0"
}
with DYNAMIC_FTRACE "an interrupt's entry is recorded, inside of another handler as well" interrupts
note result

stage hot functions
# With KASAN, and events of all that it calls, a minute takes hours
slow=
! grep -q '^CONFIG_KASAN=y' /t/config || slow='KASAN: it would take hours'
rounds=$(few 30 500)
[ -z "$slow" ] || rounds=30
# "make test" tries two: a lock that all contexts take, and the recorder's clock
for name in $(few "_raw_spin_lock local_clock" "_raw_spin_lock memcpy preempt_count_add local_clock
	kallsyms_lookup _printk printk schedule native_sched_clock"); do
	hot() {
		mark
		if ! set_list "$name" >said; then
			since | grep 'stackbuf: ' >said
			is "$(wc -l <said) == 1" && grep -q "stackbuf: probe: $name: " said || { cat said; return 1; }
			sed 's/.*probe: /refused: /' said
			return 0
		fi
		facts
		before=$(fact events_recorded)
		run storm "$rounds" 100 300 "$nmi" >storm
		stormed=$?
		facts
		set_list '' && [ $stormed = 0 ] || { cat storm; return 1; }
		echo "$name: $(($(fact events_recorded) - before)) recorded"
		[ ! -e /t/thorough ] || check /proc/kallsyms
	}
	result "probing $name under load: no harm, or refused by name" hot
	note result
done
result "... and text, table and ring are consistent" check /proc/kallsyms

# ------------------------------------------- lists set and removed, under load ---

everything() {
	set_list '*' && ls -lR /sys/module >/dev/null && "$STACKBUF" info >info || return 1
	facts
	set_list ''
	grep '^  \* ' info
	# 20,000 and more on Debian's kernels
	is "$(sed -n 's/^  \*.* \([0-9]*\) functions, .*/\1/p' info) * 10 > $(wc -l <$T/available_filter_functions) * 9 && $(fact differed) == 0" &&
		check /proc/kallsyms
}
# wide.sh has them in "make test"
why=$slow
grep -q '^CONFIG_DYNAMIC_FTRACE=y' /t/config || why='CONFIG_DYNAMIC_FTRACE is not set'
[ ! -e /t/thorough ] || unless "$why" "all functions at once" everything

facts
result "every recall was verified, and none was wrong" is "$(fact verified) > $(few 100 1000) && $(fact differed) == 0"
# The tests below read all events repeatedly: begin with few
unload
load big verify=1

stage loops
busy
loops() {
	facts
	before=$(fact events_recorded)
	for _ in $(seq "$(few 1 6)"); do
		set_list stackbuf_test:go,stackbuf_test:leaf_tag@arg1 && set_list "$other" &&
			set_list "stackbuf_test:go+$(cat /t/go),stackbuf_test:leaf_tag" || return 1
		refuses stackbuf_test:storm_save,stackbuf_test:nothing nothing || return 1
	done
	set_list ''
	facts
	is "$(fact events_recorded) - $before > $(few 10 200) && $(fact differed) == 0"
}
other='stackbuf_test:*,vfs_*@arg2'
has_ftrace || other=stackbuf_test:storm_save,vfs_read@arg2
while [ ! -e stop ]; do run storm "$(few 50 200)" 50 500 0 >/dev/null; sleep 0.2; done &
result "lists replaced in a loop while events come" loops
changes() {
	init=$(cat /t/init)
	for _ in $(seq "$(few 1 5)"); do
		# Once a module is loaded, its init functions have no names
		set_list stackbuf_test:go && rmmod stackbuf_test && set_list "+stackbuf_test:$init" || return 1
		"$STACKBUF" info | grep -c ' pending: its module' >pending
		is "$(cat pending) == 2" || return 1
		facts
		before=$(fact events_recorded)
		insmod /t/big/stackbuf_test.ko || return 1
		"$STACKBUF" info >info
		# The init function was freed again
		grep -q 'stackbuf_test:go .* set' info && grep -q "stackbuf_test:$init .* pending" info ||
			{ cat info; return 1; }
		run path 1 3 1 1 >/dev/null
		"$STACKBUF" log --last 50 | grep -q "^	$init+" || { echo "its init function was not seen"; return 1; }
		"$STACKBUF" log --last 50 | grep -q '^	go+' || return 1
	done
	# A list written now waits, and is set when the module is loaded
	set_list '' && rmmod stackbuf_test && set_list stackbuf_test:go,stackbuf_test:no_such &&
		insmod /t/big/stackbuf_test.ko && "$STACKBUF" info >info
	grep -q 'stackbuf_test:go .* set' info && grep -q 'no_such .* refused when its module was loaded' info || { cat info; return 1; }
	set_list ''
}
all_end
stage modules
result "a module goes and comes back: probes wait for it, init functions too" changes
stage off
# Do not use a function that was probed while its module was unloaded: kernels without 0c76ef3f26d5
# ("kprobes: Fix check for probe enabled in kill_kprobe()", 6.2, stable from 6.0 on) leave it
# registered with ftrace, and a new probe there is hit although kprobes are switched off.
switched_off() {
	echo 0 >$KPROBES/enabled
	set_list "stackbuf_test:context_save+$(cat /t/inside)" && run context >/dev/null || return 1
	facts
	before=$(fact events_recorded)
	run context >/dev/null
	facts
	context=$(($(fact events_recorded) - before))
	echo 1 >$KPROBES/enabled
	run context >/dev/null
	facts
	is "$context > 1 && $(fact events_recorded) - $before > 2 * $context" && set_list ''
}
result "kprobes switched off and on again" switched_off
# Restore the switch for the next tests, if that failed
echo 1 >$KPROBES/enabled
# Each removal waits; concurrently the kernel marks the other module's probes as gone
go_together() {
	hooked=$T/enabled_functions
	has_ftrace || hooked=$KPROBES/list
	set_list stackbuf_fit:fit_replaced,stackbuf_fit2:fit_replaced || return 1
	for _ in $(seq "$(few 3 10)"); do
		insmod /t/big/stackbuf_fit.ko && insmod /t/big/stackbuf_fit2.ko || return 1
		is "$(grep -c fit_replaced $hooked) == 2" || { cat $hooked; return 1; }
		rmmod stackbuf_fit &
		rmmod stackbuf_fit2
		wait $!
		is "$(grep -c fit_replaced $hooked) == 0" || { cat $hooked; return 1; }
	done
	set_list ''
}
result "two modules with probes are unloaded at the same time" go_together
# On arm64 a kprobe hides an instruction that tells whether the next one has its caller in a frame record
neighbours() {
	size=$(awk '{ print $1, $3 }' /proc/kallsyms | sort | awk '$2 == "regs_target" { at = $1; next } at { print at, $1; exit }' | { read -r a b; echo $((0x$b - 0x$a)); })
	list='' i=0
	while [ $i -lt "$size" ] && [ $i -lt 64 ]; do
		! set_list "stackbuf_test:regs_target+$i" >/dev/null || list=$list,stackbuf_test:regs_target+$i
		i=$((i + 4))
	done
	echo "$list"
	set_list "${list#,}" && run regs >regs && set_list '' && "$STACKBUF" log --json --function regs_target >events || { cat regs; return 1; }
	sed -n 's/.*"frames":\["\(regs_target+[^/]*\)[^"]*","\([^+]*\)+.*/\1 \2/p' events | sort | uniq -c | tee callers
	# Two functions call it
	is "$(wc -l <callers) >= 4" && ! grep -v ' step_2$\| regs_framed$' callers
}
[ "$(uname -m)" != aarch64 ] || result "probes at each instruction of a function have its caller" neighbours
facts
result "every recall was verified again, and none was wrong" is "$(fact verified) > $(few 100 1000) && $(fact differed) == 0"
# Without kallsyms: modules were unloaded, so names in the text may be in kallsyms no more
result "text, table and ring are consistent" check
rmmod stackbuf_test

stage unload
hot_unload() {
	for _ in $(seq "$(few 1 4)"); do
		sleep 0.5
		rmmod stackbuf || return 1
		nothing_set && ! grep vfs_read $T/enabled_functions || return 1
		insmod /t/big/stackbuf.ko probe="$1" || return 1
		list_is "$1" || return 1
	done
}
hot=$(those vfs_read,dput@arg1,kmem_cache_free,pipe_write,anon_pipe_write,schedule)
rmmod stackbuf
insmod /t/big/stackbuf.ko "probe=$hot"
busy
result "unloaded and loaded with probes hot on all CPUs" hot_unload "$hot"
all_end
rmmod stackbuf

failing() {
	mark
	! insmod /t/big/stackbuf.ko probe=vfs_read,no_such_function 2>error || return 1
	# Not ENOENT, which insmod would explain as an unknown symbol
	grep -i 'invalid' error || { cat error; return 1; }
	since | grep 'stackbuf: probe: no_such_function: no such function' || return 1
	! grep '^stackbuf ' /proc/modules && [ ! -d $D ] && ! grep vfs_read $T/enabled_functions
}
result "loaded with a name that does not exist: refused in one line, nothing is left" failing
[ ! -e /sys/kernel/debug/kmemleak ] || result "kmemleak finds nothing" leak

# The last test, as a lockdown cannot be undone
lockdown=/sys/kernel/security/lockdown
[ -e $lockdown ] || mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
locked() {
	insmod /t/big/stackbuf.ko probe=vfs_read && cat /proc/version >/dev/null && "$STACKBUF" log --last 1 >log && [ -s log ] &&
		echo 0 >$P/enable && exec 9<$D/info || return 1
	before=$("$STACKBUF" info | sed -n 's/^events recorded *//p')
	# For integrity alone it can be read
	echo integrity >$lockdown && "$STACKBUF" log --last 10 >log && is "$(wc -l <log) > 10" || return 1
	set_list 'vfs_read,reed_solomon:*code_rs*,reed_solomon:free_rs' && echo confidentiality >$lockdown || return 1
	# What waits for a module is new
	mark
	[ ! -e /t/reed_solomon.ko ] || { insmod /t/reed_solomon.ko && since | grep 'locked down, which forbids probes: no probe is set in reed_solomon'; } || return 1
	set_list vfs_read && refuses vfs_write 'vfs_write: the kernel is locked down, which forbids probes' &&
		refuses vfs_read,vfs_write 'vfs_write: the kernel is locked down' && set_list vfs_read || return 1
	for array in text info events stacks; do
		if cat "$D/$array" >out 2>/dev/null || [ -s out ]; then echo "$array can be read"; return 1; fi
	done
	for command in info text log count depth 'log --follow' 'snoop vfs_read' 'snoop vfs_write' 'count vfs_read' 'save x'; do
		# shellcheck disable=SC2086 # words
		one_line "$D/[a-z]*: .*locked down for confidentiality" "$STACKBUF" $command || return 1
	done
	# Recording continues: the module reports its events when it is unloaded.  This shell holds
	# a file of the module open, so another must read.
	echo 1 >$P/enable && [ "$(cat $P/probe)" = vfs_read ] && sh -c 'read -r up </proc/uptime' || return 1
	# An open file keeps the module loaded
	if rmmod stackbuf 2>/dev/null; then echo "unloaded while its memory is read"; return 1; fi
	exec 9<&-
	mark
	set_list '' && list_is '' && rmmod stackbuf &&
		since | sed -n 's/.*stackbuf: \([0-9]*\) events recorded, .*/\1/p' >recorded
	is "$(cat recorded) > $before"
}
when $lockdown "this kernel has no lockdown" \
	"locked down for confidentiality: the record is closed, no new probes, in one line; recording goes on" locked
echo "done"
