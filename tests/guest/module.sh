#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094,SC2218 # files are named after the commands they come from
#
# Tests stackbuf.ko in the guest.  /t/big has the usual sizes, /t/small 64 KiB for each array.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# How many times slower than a usual kernel this one is, about
slow=$(cat /t/slow)

# ------------------------------------------------------- load, and at rest ---

stage load
mark
load big
since >log
# Both names are the function's: clang's symbols have the alias first
init='\(stackbuf_init\|init_module\)'
first() { grep -v 'stackbuf_test' log | sed 's/^\[ *[0-9.]*\] //' | grep -A 100 'INIT stackbuf'; }
load_lines() {
	first | sed -n 1p | grep -qx 'INIT stackbuf.' &&
		first | sed -n 2p | grep -qx 'Stack trace([1-9][0-9]*):' &&
		first | sed -n 3p | grep -qx " $init+0x[0-9a-f]*/0x[0-9a-f]* \[stackbuf\]" &&
		first | grep -qx " $entry+0x[0-9a-f]*/0x[0-9a-f]*" || { cat log; return 1; }
	/t/sbcheck printed <log >printed || { cat printed; return 1; }
	[ "$(value traces printed)" = 1 ]
}
result "load prints INIT, then its own stack line by line, and BYTES fits" load_lines
load_record() {
	check /proc/kallsyms || return 1
	is "$(value stacks check) == 1 && $(value records check) == 1" || return 1
	sed -n 3p now/text | tr -d '\0' | grep "^$init+0x.*\[stackbuf\]\$"
}
result "load records its own stack, as text as well" load_record

only_root() { is "$(find $D -type f -perm 400 | wc -l) == 4 && $(find $D -type f | wc -l) == 4"; }
result "the arrays are readable by root alone" only_root

refused() {
	rmmod stackbuf 2>err && return 1
	grep -q '^stackbuf ' /proc/modules && grep '^stackbuf .* stackbuf_test' /proc/modules
}
result "unload is refused while a client is loaded" refused

# ------------------------------------------------------ paths and depths ---

stage paths
run path 0x1234 6 0x11 1 >a
run path 0x1234 6 0x22 1 >b
once() {
	id=$(value id a)
	is "$id > 0 && $id == $(value id b)" || return 1
	dump now || return 1
	n=$(tr -s '\0' '\n' <now/text | grep -c "^stack $id ")
	is "$n == 1" || return 1
	/t/sbcheck stacks now | grep "^stack $id total 2 "
}
result "the same path twice: one record, one id, a total of 2" once

{ run depth 1 30; run depth 112 138; } >depth
depths() {
	is "$(grep -c ' good$' depth) == 57" || { grep BAD depth; return 1; }
	# The depths must include the limit and its neighbours
	grep -q ' frames 126 of 126 cut 0 ' depth && grep -q ' frames 127 of 127 cut 0 ' depth &&
		grep -q ' frames 127 of 128 cut 1 ' depth && grep -q ' frames 127 of 1[34][0-9] cut 1 ' depth
}
result "depths to 138: frames as the kernel unwinds them, cut at 127 and marked" depths
result "defect 1: a stack of 80 frames leaves memory behind the arrays untouched" guards
cuts() {
	check || return 1
	is "$(value cut check) == $(grep -c ' cut 1 ' depth)"
}
result "every cut is counted" cuts
cut_text() {
	id=$(awk '/ cut 1 / { print $4; exit }' depth)
	record "$id" >lines
	# All, or as many as there is room for in a page
	n=$(grep -c '^[a-z_].*+0x' lines)
	is "$n > 64 && $n <= 127" && tail -n 1 lines | grep "^($((127 - n)) more frames do not fit; cut)\|^(cut at 127 frames)"
}
result "a cut trace has a line that says so in the text log" cut_text
seventeen() {
	id=$(awk '/ frames 17 of 17 / { print $4; exit }' depth)
	record "$id" | grep -c '+0x' | grep -x 17
}
result "defect 6: a trace of 17 frames is whole" seventeen
run distinct 1000 5 0 >distinct
distinct() {
	grep -x 'distinct 1000 none 0 differ 0 wrong 0 gone 0 same 0' distinct || { cat distinct; return 1; }
}
result "1,000 paths have 1,000 ids, the same ones again, each with its own frames" distinct

# ------------------------------------------------------------ long names ---

run long 1 >long
run long 50 >long50
long_name() {
	dump now
	id=$(value id long)
	record "$id" >record
	# Offset, size and module add more than 22 bytes to the name
	awk -v name="$(cat /t/long)" '/^long_a_name/ { if (name >= 105 && length($0) > name + 22 && $0 ~ /an\+0x[0-9a-f]+\/0x[0-9a-f]+ \[stackbuf_test\]$/) n++ }
		END { exit n != 2 }' record || { cat record; return 1; }
}
result "defect 2: a symbol's name of the greatest length is shown whole" long_name
too_long() {
	check || return 1
	id=$(value id long50)
	record "$id" >record
	tail -n 1 record | grep '^(.* do not fit)$' || { tail -n 2 record; return 1; }
	is "$(wc -c <record) < 4096 && $(grep -c '^long_a_name' record) >= 7"
}
result "defect 3: a record too long for a page is cut at a line and says so" too_long

# -------------------------------------------------------------- contexts ---

stage contexts
run context >context
dump now
/t/sbcheck events now | grep ' tag c0ffee$' >events
for where in task preempt_disable raw_spinlock timer tasklet hrtimer irq_work nmi; do
	context() {
		line=$(grep "^context $where " context) || { cat context; return 1; }
		echo "$line" | grep ' right 1 ' || { echo "$line"; return 1; }
		# The n-th event is that of the n-th context
		no=$(grep -n "^context $where " context | cut -d: -f1)
		id=$(echo "$line" | cut -d' ' -f4)
		case $where in
		timer | tasklet) want=softirq ;;
		hrtimer | irq_work) want=hardirq ;;
		nmi) want=nmi ;;
		*) want=task ;;
		esac
		sort -n -k 2 events | sed -n "${no}p" | grep " $want .* id $id tag" ||
			{ echo "want $want: $line"; cat events; return 1; }
	}
	why=
	[ "$where$nmi" != nmi0 ] || why="the kernel lets no module send NMIs on $arch"
	unless "$why" "a save from $where is recorded, and its context with it" context
done
nmi_print() {
	before=$(value print check)
	mark
	run nmiprint >/dev/null || return 1
	check || return 1
	is "$(value print check) == $before + 2" || return 1
	if since | grep 'Stack trace\|stackbuf:'; then return 1; fi
}
on_x86 "no NMIs to be had" "prints in an NMI return at once and are counted" nmi_print
nest() {
	check || return 1
	nested=$(value nested check)
	run nest "$1" >nest || { cat nest; return 1; }
	cat nest
	check || return 1
	is "$(grep -c ' id [1-9]' nest) == $2 && $(value nested check) == $nested + $1 - $2"
}
if [ "$arch" = x86_64 ]; then
	with DYNAMIC_FTRACE "four saves inside each other are all recorded" nest 4 4
	with DYNAMIC_FTRACE "five inside each other: four are recorded, one is counted as nested" nest 5 4
else
	why="ftrace lets a callback be called within itself only once"
	echo "ok four saves inside each other are all recorded # SKIP $why"
	echo "ok five inside each other: four are recorded, one is counted as nested # SKIP $why"
fi
regs() {
	run "$1" >regs
	cat regs
	grep -q '^ok' regs && ! grep '^not ok' regs
}
if [ -e /t/records ]; then
	echo "ok save_regs records from the probed instruction on # SKIP the unwinder leaves out callers around push %rbp"
else
	with KPROBES "save_regs records from the probed instruction on, the caller next, at every instruction" regs regs
fi
with KPROBES "a stack that registers kept out of recall is recalled without them" regs later
with KRETPROBES "a return address that a kretprobe replaced is not recalled" regs replaced

# ---------------------------------------------- stack(9) and the kernel log ---

stage trace
mark
run trace >trace
since >log
cat trace
sed 's/^\[ *[0-9.]*\] //' log >lines
between() { awk -v a="stackbuf_test: $1 begin" -v b="stackbuf_test: $1 end" '$0 == b { on = 0 } on { print } $0 == a { on = 1 }' lines; }
trace_print() {
	between trace_print >got
	n=$(awk '/^# LONG/ { print $(NF - 1) }' trace)
	is "$(wc -l <got) == $n && $(grep -c '^ [a-zA-Z_0-9.]*+0x[0-9a-f]*/0x' got) == $n" ||
		{ cat got; return 1; }
	sed -n 1p got | grep '^ leaf_trace+0x'
}
result "trace_print: a line a frame" trace_print
trace_short() {
	between trace_print_short >got
	is "$(grep -o '+0x[0-9a-f]*/0x' got | wc -l) == 127 && $(wc -l <got) > 1" ||
		{ cat got; return 1; }
	awk 'length($0) > 1000 { exit 1 }' got
}
result "trace_print_short: 127 frames on lines of less than 1,000 bytes" trace_short

mark
run print 0x42 138 1 >/dev/null
print_deep() {
	since >log
	/t/sbcheck printed <log >printed || { cat printed; return 1; }
	grep -x 'traces 1 deepest 127 cut 1' printed || { cat printed; return 1; }
}
result "defect 5: a print of 127 frames is whole, a log record a frame, cut marked" print_deep
mark
run printid "$(value id a)"
print_id() {
	since >log
	/t/sbcheck printed <log >printed || { cat printed; return 1; }
	grep '^traces 1 ' printed || { cat printed; return 1; }
	# Each line is printed as in the text log
	record "$(value id a)" | sed 1d >want
	sed -n 's/^\[ *[0-9.]*\]  //p' log | cmp - want || { cat log want; return 1; }
}
result "print_id prints what the text log has" print_id
unknown_id() {
	for id in 0 64 4294967295 305419896 $(($(value id a) + 16777216)); do
		mark
		run printid "$id"
		since >log
		is "$(wc -l <log) == 1" && grep -q "$id.*not in the table" log || { cat log; return 1; }
	done
}
result "print_id of an unknown id is one line that says so" unknown_id

# ----------------------------------------------------------------- storms ---

# storm ARGUMENT...: runs a storm with a reader of the text; figures go to storm and watch
storm() {
	rm -f stop
	check >/dev/null
	total=$(value total check)
	lost=$(value refused check)
	/t/sbcheck watch "$D/text" stop >watch 2>&1 &
	run storm "$@" >storm
	touch stop
	wait $!
	watched=$?
	note storm watch
}

# judge TEXT: the results of the last storm
judge() {
	result "$1: recorded + refused = attempted, and stackbuf's own figures agree" accounted
	result "$1: no id is wrong or gone too early" ids_right
	result "$1: every text that was read meanwhile is whole records" watch_right
}
ids_right() {
	is "$(value wrong storm) == 0" || return 1
	# With a small ring a stack may be evicted before the test looks up its id
	[ "$ring" = small ] || is "$(value gone storm) == 0"
}
watch_right() {
	[ $watched = 0 ] || return 1
	is "$(value rounds watch) * $slow > 3 && $(value records watch) * $slow > $(few 300 1000)"
}

ring=big least=1000
stage storm
# Debug kernels have longer stacks: save no more of them than the text log has room for
storm "$(few 1000 3000)" $((slow == 1 ? 600 : 450)) 0 0
judge "defect 4, storm on all CPUs"
first_lap() {
	is "$(value dropped watch) == 0 && $(value text_overwritten check) == 0 &&
		$(value refused storm) == 0"
}
result "storm: nothing refused; in the first lap no page changes its name while it is read" first_lap
no_gap() {
	is "$(value text_missing check) == 0 && $(value stacks check) == $(value records check)"
}
result "storm: every stack has its text" no_gap

stage interrupts
storm "$(few 1500 4000)" 400 700 "$nmi"
judge "storm under timers and NMIs"
from_all() {
	is "$(value softirq storm) * $slow > $(few 10 100) && $(value hardirq storm) * $slow > $(few 20 1000) &&
		$(value nmi storm) * $slow >= $(few 20 1000) * $nmi"
}
result "storm under timers and NMIs: saves came from all of them" from_all
result "memory behind the arrays is still untouched" guards

# ------------------------------------------------------------- the end ---

stage unload
check
total=$(value total check)
over=$(value overwritten check)
mark
unload
since | sed 's/^\[ *[0-9.]*\] //' >lines
since >log
unload_lines() {
	sed -n 1p lines | grep -x 'Stack trace([1-9][0-9]*):' &&
		sed -n 2p lines | grep -x ' \(stackbuf_exit\|cleanup_module\)+0x.* \[stackbuf\]' &&
		tail -n 1 lines | grep -x 'EXIT stackbuf.' || { cat lines; return 1; }
	/t/sbcheck printed <log || return 1
	grep "^stackbuf: $total events recorded, $over overwritten; lost: .*" lines || { cat lines; return 1; }
}
result "unload prints its own stack, what was recorded and lost, and EXIT" unload_lines

# ------------------------------------------------- rings that are too small ---

stage tags
load small
run tags 30000 40 4 >tags
result "table and ring are consistent after several laps" check /proc/kallsyms

stage wrap
old=$(run path 0x5555 6 0 1 | sed 's/id //')
rm -f stop
/t/sbcheck watch "$D/text" stop >watch 2>&1 &
# How many texts are given up depends on the host
for _ in $(seq 200); do
	run distinct 1500 5 20 >distinct
	check && is "$(value wrong distinct) == 0 && $(value text_overwritten check) <= 250" >busy || break
done
touch stop
wait $!
watched=$?
wrap() {
	[ $watched = 0 ] || { cat watch; return 1; }
	# The text must be right as printf "%s" shows it, too
	check || return 1
	is "$(value text_overwritten check) > 250 && $(value records watch) > 0 &&
		$(value textpages check) == 16"
}
result "text of several laps: every record ever read is whole" wrap
newest() {
	id=$(run path 0x77777777 9 0 1 | sed 's/id //')
	dump now
	# The last record of the page with the highest number
	tr -s '\0' '\n' <now/text | awk '/^stackbuf text/ { seq = $7 }
		/^stack / && seq >= max { max = seq; last = $2 } END { print last }' | grep -x "$id"
}
result "text of several laps: the newest record is there" newest
evicted() {
	is "$(value evicted check) > 200 && $(value wrong distinct) == 0 && $(value gone distinct) == 0" || { cat distinct check; return 1; }
}
result "a table that fills up makes room, and no id is ever wrong" evicted
gone() {
	mark
	run printid "$old"
	since >log
	is "$old > 0" && grep -q "$old.*not in the table" log || { echo "id $old"; cat log; return 1; }
}
result "print_id of a stack that made room says so" gone

stage "small storm"
ring=small
storm "$(few 1500 4000)" 100 700 "$nmi"
judge "storm in small arrays under timers and NMIs"
result "memory behind the small arrays is untouched" guards

# A print waits for one of another CPU, in this build longer than a host stops a CPU: module.t
print_both() {
	mark
	run print 0x42 12 60 1 >/dev/null
	since >log
	/t/sbcheck printed <log >printed && grep "^traces $((60 * $(nproc))) " printed || { cat printed; return 1; }
}
result "prints of two CPUs and dump_stack() do not mix" print_both
unload

# walked: how many of 1,000 saves of a known stack walk
walked() {
	run path 0x77 8 0 8 >again && check || return 1
	before=$(value again check)
	run path 0x77 8 0 1000 >again && check || return 1
	echo $(($(value again check) - before))
}
used_again() {
	now=$(walked)
	mark
	run printid "$(value id again)"
	since >log
	# The stack is recalled as usual
	is "$now <= $usual + 20" &&
		grep -q "stack $(value id again) is not printed: an older stack may have had this id" log ||
		{ echo "usual $usual now $now"; cat again log; return 1; }
}
# Only make test-all has this build
if [ -d /t/again ]; then
	stage again
	load big
	usual=$(walked)
	unload
	load again
	result "a stack whose id another one had is recalled, and print_id refuses it" used_again
	unload
fi

stage request
load small
# The probe saves stacks while the recorder requests its worker, because half of the memory for
# layouts is full; these stacks need the same memory
probed_request() {
	echo queue_work_on >$P/probe && run distinct 1500 5 0 >distinct &&
		echo >$P/probe && is "$(value wrong distinct) == 0"
}
with KPROBES "a probe on what the recorder calls to start a worker" probed_request
unload

# ------------------------------------------------------------ load, unload ---

loads=$(few 4 50)
stage "$loads loads"
cycles() {
	for i in $(seq "$loads"); do
		load small && run path "$i" 4 0 1 | grep -q 'id [1-9]' && unload || return 1
	done
}
result "loads and unloads, $loads times" cycles

for parameter in enable=maybe enable=2 enable=0x1 enable= panic_dump=-1 panic_dump=99999999999 panic_dump=1001 panic_dump=ten; do
	bad() {
		mark
		if insmod /t/big/stackbuf.ko "$parameter" 2>err; then
			rmmod stackbuf
			return 1
		fi
		if grep '^stackbuf ' /proc/modules; then return 1; fi
		since | grep "stackbuf: ${parameter%%=*}: .*accepted" || { since; cat err; return 1; }
	}
	result "$parameter is refused with a message, the module is not loaded" bad
done

off() {
	load big enable=0 || return 1
	check || return 1
	is "$(value total check) == 0" || return 1
	run path 1 3 0 5 | grep -x 'id 0' || return 1
	check || return 1
	is "$(value off check) == 5 && $(value total check) == 0" || return 1
	echo 1 >$P/enable
	run path 1 3 0 5 | grep -x 'id [1-9][0-9]*' || return 1
	echo 0 >$P/enable
	run path 1 3 0 2 | grep -x 'id 0' || return 1
	check || return 1
	is "$(value off check) == 7 && $(value total check) == 5" || return 1
	for value in 2 maybe 10 yes ''; do
		if echo "$value" >$P/enable; then return 1; fi
	done 2>/dev/null
	unload
}
result "enable=0 records nothing and counts; it is switched at run time; nonsense is refused" off

[ ! -e /sys/kernel/debug/kmemleak ] || result "kmemleak finds nothing" leak

stage end
echo "done"
