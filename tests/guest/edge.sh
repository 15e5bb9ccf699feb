#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Tests limits of the parameters, and probes, locks and files that are switched off, locked
# down or in use, in the guest.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# ------------------------------------------------------------------- loading ---

percpu() { sed -n 's/^Percpu: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
fail() { ! insmod /t/big/stackbuf.ko probe=dput,no_such_function 2>err; }
# The first takes what the kernel keeps for the next.  A load has 30 kB for two CPUs
unwound() {
	fail || return
	before=$(percpu)
	for _ in $(seq "$loads"); do fail || return; done
	if grep '^stackbuf ' /proc/modules; then return 1; fi
	after=$(percpu)
	echo "percpu $before, then $after kB"
	is "$after - $before < 20 * $loads"
}
loads=$(few 3 50)
result "a load that fails halfway leaves nothing behind, $loads times" unwound

# Says what modprobe does of a key that the kernel lacks
unknown_key() {
	mkdir -p bin "/lib/modules/$(uname -r)" && cat >bin/modprobe <<-'END' && chmod +x bin/modprobe || return 1
		#!/bin/sh
		[ "$1" = -q ] || echo "modprobe: ERROR: could not insert 'stackbuf': Key was rejected by service" >&2
		exit 1
	END
	PATH=$W/bin:$PATH one_line 'signed with a key that it knows: mokutil' "$STACKBUF" snoop -n 1 vfs_read
}
result "modprobe finds that the kernel lacks the module's key: what to do" unknown_key

load big

# ---------------------------------------------------------------- parameters ---

# Lists of probes in modules that are not loaded, around the greatest length that is read back: a trigger's count has
# room behind it
lengths() {
	list=
	for i in $(seq 25); do list=$list${list:+,}m:$(printf '%0157d' "$i"); done
	mark
	wrong=
	for length in $(seq 4078 4096); do
		last=m:$(printf "%0$((length - 4002))d" 26)
		for more in '' ,m:more; do
			set_list "$list" && set_list "+$last$more" || return 1
			all=$list,$last$more
			if [ ${#all} -le 4083 ]; then
				echo "$all"
			elif [ "$length" -le 4083 ]; then
				echo "$list,$last,..."
			else
				echo "$list,..."
			fi >want
			cat $P/probe >got
			cmp got want || wrong="$wrong $length$more"
		done
	done
	set_list '' || return 1
	if since | grep 'BUG\|Redzone'; then return 1; fi
	[ -z "$wrong" ] || { echo "wrong:$wrong"; return 1; }
}
result "parameter probe is read at every length around a page, and nothing behind it is written" lengths
result "parameter probe is for root only" is "$(stat -c %a $P/probe) == 600"

# bytes FUNCTION: its size, of a function of the kernel
bytes() {
	awk -v name="$1" '
		at && $1 != at { print at, $1; exit }
		$3 == name && NF == 3 { at = $1 }' sorted | { read -r a b; echo $((0x$b - 0x$a)); }
}
# The kernel's own are in order
grep -v '\[' /proc/kallsyms >sorted
size=$(printf '0x%x' "$(bytes vfs_open)")
result "refused: the end of a function ($size)" refuses "vfs_open+$size" "the function has $size bytes"
result "refused: what comes after it" refuses vfs_open+0xffffffff "the function has $size bytes"
result "refused: an offset after the end of a module's function" \
	refuses stackbuf_test:context_save+0x100000 "the function has 0x[0-9a-f]* bytes"
# Of several names of one address, all but the first are found by the kernel only
other_name() {
	head -n 20000 sorted | awk '$2 ~ /[tT]/ && $1 == at { print $3 } { at = $2 ~ /[tT]/ ? $1 : "" }' >names
	while read -r name; do
		echo "$name" 2>/dev/null >$P/probe || continue
		set_list ''
		echo "# by the name $name"
		refuses "$name+$(bytes "$name")" "$name.*: the function has 0x[0-9a-f]* bytes"
		return
	done <names
	echo "# no such function"
	return 1
}
result "refused: the end of a function that has several names" other_name
note result

# ---------------------------------------------------------- locks in use ---

# Writes other parameters while a long list is being set and another process reads the list
long_list() {
	grep '^ext4_[a-z_]* *$' /sys/kernel/tracing/available_filter_functions |
		awk 'NR == FNR { want[$1]; next } $3 in want { print "0x" $1 }' - /proc/kallsyms |
		head -n "$1" | tr '\n' ',' >list
	is "$(tr ',' '\n' <list | wc -l) >= $1" || return 1
	# The host may let one of them run too early or too late for that.  If they waited for each
	# other, no turn would do
	for _ in $(seq 20); do
		rm -f ended
		(cat list >$P/probe; cut -d' ' -f1 /proc/uptime >ended) &
		writer=$!
		sleep 0.3
		cat $P/probe >got &
		reader=$!
		sleep 0.1
		cut -d' ' -f1 /proc/uptime >began
		echo 0 >$P/enable && echo 1 >$P/enable && echo 0 >$P/pid || return 1
		cut -d' ' -f1 /proc/uptime >written
		meanwhile=1
		[ ! -e ended ] || meanwhile=0
		wait $writer $reader
		is "$(tr ',' '\n' <$P/probe | wc -l) == $1" || return 1
		echo "# parameters written from $(cat began) to $(cat written), the list set at $(cat ended)"
		if [ $meanwhile = 1 ] && cmp got $P/probe; then set_list ''; return; fi
		set_list '' || return 1
	done
	echo "they waited for the list"
	return 1
}
result "while a list is set: other parameters are written at once" long_list 100
note result

# The lock's owner waits for the CPU that prints: if that waited for the lock, the guest would hang
kept() {
	mark
	run kept >kept && note kept
	# 0.1 s, on a host that is slow and busy as well; in the fault print-waits a hundred times that
	is "$(value kept_us kept) < 8000000" && since | grep 'Stack trace(' && since | grep ' cmd_kept+' ||
		{ cat kept; since; return 1; }
}
result "printk's lock kept by a CPU that waits for us: printed without it" kept
note result

# -------------------------------------------------------------- switched off ---

# says_off WORDS PROBE: info, snoop and count report that the probe is not hit, with these words
says_off() {
	words=$1 probe=$2
	set_list "$probe" || return 1
	"$STACKBUF" info >info && "$STACKBUF" info --json >json || return 1
	grep "^probes are not hit .*$words" info && grep "\"probes_off\":\"[^\"]*$words" json || { cat info json; return 1; }
	for command in 'snoop --duration 1' 'count --duration 1'; do
		# shellcheck disable=SC2086 # words
		"$STACKBUF" $command "$probe" >out 2>err
		is "$(grep -c "^stackbuf: .*$words" err) == 1" || { echo "$command:"; cat out err; return 1; }
	done
}
says_nothing() {
	"$STACKBUF" info >info && "$STACKBUF" snoop --duration 1 stackbuf_test:leaf_tag >out 2>err || return 1
	if grep 'not hit' info err; then return 1; fi
}
kprobes_off() {
	echo 0 >$KPROBES/enabled || return 1
	says_off 'kprobes are switched off' "stackbuf_test:context_save+$(cat /t/inside)"
	status=$?
	# On returns there are kretprobes, or fprobes, which that does not switch off
	set_list 'stackbuf_test:context_sav*%return' || status=1
	if grep ' r  context_save+' $KPROBES/list; then
		says_off 'kprobes are switched off' 'stackbuf_test:context_sav*%return' && says_off 'kprobes are switched off' stackbuf_test:context_save%return &&
			"$STACKBUF" latency -L 1ms -D 1 --json stackbuf_test:context_save >out 2>err && grep 'not exact: .*kprobes are switched off' err || { cat out err; status=1; }
	else
		says_nothing || status=1
	fi
	# Kernels that check indirect calls, before 6.5, have them for tracepoints
	set_list t:sched:sched_switch || status=1
	if grep ' k  trace_event_raw_event_sched_switch' $KPROBES/list; then
		says_off 'kprobes are switched off' t:sched:sched_switch || status=1
	else
		says_nothing || status=1
	fi
	echo 1 >$KPROBES/enabled
	[ $status = 0 ] && says_nothing
}
result "kprobes are switched off: info, snoop and count say so" kprobes_off
ftrace=/proc/sys/kernel/ftrace_enabled
ftrace_off() {
	set_list stackbuf_test:go || return 1
	# Not while probes are set, which would no longer be hit
	! echo 0 2>error >$ftrace && grep busy error && set_list '' && echo 0 >$ftrace || return 1
	mark
	! set_list stackbuf_test:go >/dev/null
	status=$?
	since | grep 'ftrace is switched off: sysctl kernel.ftrace_enabled=1' || status=1
	for command in 'snoop --duration 1' 'count --duration 1'; do
		# shellcheck disable=SC2086 # words
		"$STACKBUF" $command stackbuf_test:leaf_tag >out 2>err && status=1
		is "$(wc -l <err) == 1" && grep '^stackbuf: .*ftrace is switched off' err || { cat err; status=1; }
	done
	# A kprobe is hit although ftrace is off
	set_list "stackbuf_test:context_save+$(cat /t/inside)" && "$STACKBUF" info >info || return 1
	! grep 'not hit' info || status=1
	echo 1 >$ftrace
	set_list stackbuf_test:go || return 1
	[ $status = 0 ] && says_nothing
}
with DYNAMIC_FTRACE "ftrace is switched off: said so, and not while functions are traced" ftrace_off
# The module came while ftrace was off
tries_again() {
	go_is() { "$STACKBUF" info --json | grep "\"name\":\"stackbuf_test:go\",\"state\":\"$1" || { "$STACKBUF" info; return 1; }; }
	# In the first entry, so that it is found before the one that is tried again
	set_list '' && set_list stackbuf_test:go && rmmod stackbuf_test && echo 0 >$ftrace && insmod /t/big/stackbuf_test.ko && go_is refused
	status=$?
	echo 1 >$ftrace
	[ $status = 0 ] && set_list stackbuf_test:go,stackbuf_test:go && [ "$(cat $P/probe)" = stackbuf_test:go ] && go_is set
}
with DYNAMIC_FTRACE "a refused probe is tried again when its name is written again" tries_again
set_list ''
unload
echo "done"
