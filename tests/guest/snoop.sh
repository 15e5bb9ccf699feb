#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests stackbuf snoop and stackbuf count PATTERN, live in the guest: what they print, that
# they leave no probe or parameter set, and their totals against ftrace's and known ones.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

# --------------------------------------------------------------------- tools ---

# start OUT WORD...: starts a command in the background and waits until it has set its probes.
# It then prints its first line; only plain text has one, so else watch the probes.
start() {
	out=$1
	shift
	probe=$(cat $P/probe)
	rm -f "$out"
	"$STACKBUF" "$@" >"$out" 2>"$out.err" &
	job=$!
	while :; do
		[ ! -s "$out" ] || return 0
		case $* in
		*--f* | *--json* | *--perf* | *--pprof*) [ "$(cat $P/probe)" = "$probe" ] || { sleep 0.3; return 0; } ;;
		esac
		kill -0 $job 2>/dev/null || { cat "$out.err"; return 1; }
		usleep 50000
	done
}

# finish SIGNAL: ends the command; its exit status is left in status
finish() {
	kill "-$1" "$job"
	wait "$job"
	status=$?
}

# writes N: writes N bytes one by one, as dd, a command name that no other task has
writes() { dd if=/dev/zero of=/dev/null bs=1 count="$1" status=none; }

# All parameters that snoop and count set and restore
parameters() {
	for parameter in probe pid cpu comm limit every cgroup; do
		echo "$parameter=$(cat $P/$parameter)"
	done
}

# refused STATUS PATTERN WORD...: prints one matching line on standard error and no output, exits
# with that status, and leaves all parameters as before
refused() {
	wanted=$1
	say=$2
	shift 2
	[ ! -d $P ] || parameters >before
	"$STACKBUF" "$@" >out 2>err
	status=$?
	[ $status = "$wanted" ] || { echo "status $status: $*"; cat err; return 1; }
	[ ! -s out ] || { echo "it printed"; cat out; return 1; }
	[ "$(wc -l <err)" = 1 ] && grep -q "^stackbuf: .*$say" err || { echo "$*:"; cat err; return 1; }
	[ ! -d $P ] || { parameters >after; cmp before after; }
}

# Convert standard input to lines TOTAL INNERMOST;...;OUTERMOST, one per stack
stacks() {
	awk '/^  [^ ]/ { s = s (s == "" ? "" : ";") $NF; next }
		/^    [0-9]+$/ { print $1, s; s = "" }
		/^$/ { s = "" }' "$@" | sort
}

# ------------------------------------------------------------------- loading ---

nobody() { /usr/bin/setpriv --reuid 65534 --clear-groups "$@"; }

loads_by_itself() {
	refused 1 'not loaded, and was found neither by modprobe nor' snoop vfs_read || return
	mkdir -p /tmp/build/tools "/tmp/build/$(uname -r)"
	cp "$STACKBUF" /tmp/build/tools/stackbuf
	nobody /tmp/build/tools/stackbuf snoop -n 1 vfs_read 2>err && return 1
	grep -q 'run it as root' err || { cat err; return 1; }
	cp /t/big/stackbuf.ko "/tmp/build/$(uname -r)/"
	# Make events for snoop to show
	(while [ ! -e loaded ]; do writes 1; usleep 50000; done) &
	/tmp/build/tools/stackbuf snoop -n 1 -D 60 vfs_write >out 2>err
	status=$?
	touch loaded
	[ $status = 0 ] && grep -q 'loaded the module (.*stackbuf.ko); it stays until rmmod' err &&
		grep -q '^	vfs_write$' out && [ -d $P ] || { cat err out; return 1; }
}

not_root() {
	nobody "$STACKBUF" snoop vfs_read >out 2>err && return 1
	[ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q 'run it as root' err || { cat err; return 1; }
}

older_build() {
	mkdir -p old && echo 1 >old/enable
	STACKBUF_PARAMETERS=$W/old "$STACKBUF" snoop vfs_read 2>err && return 1
	grep -q 'no such parameter.*rmmod' err || { cat err; return 1; }
}

# --------------------------------------------------------------------- snoop ---

# Time from the start of the command to its first event, compared with that of reading the
# list of symbols once, as both take longer in a busy emulator
first_event() {
	(while [ ! -e seen ]; do cat /proc/uptime; usleep 10000; done) >/dev/null &
	for _ in 1 2 3; do
		from=$(now)
		"$STACKBUF" snoop -n 1 -D 3000 vfs_open >out || return
		echo $(($(now) - from))
	done >ms.all
	[ "$(wc -l <ms.all)" = 3 ] || return
	sort -n ms.all | head -n 1 >ms
	for _ in 1 2 3; do
		from=$(now)
		cat /proc/kallsyms >/dev/null
		echo $(($(now) - from))
	done | sort -n | head -n 1 >symbols
	touch seen
	echo "# from the command's start to its end after one event: $(cat ms) ms; reading kallsyms: $(cat symbols) ms" >>notes
	grep -q '^	vfs_open$' out && is "$(few 1 "$(cat ms) < 6 * $slow * $(cat symbols)")"
}

snoop_block() {
	start snoop snoop --comm dd vfs_write || return
	writes 3
	sleep 0.3
	finish INT
	[ $status = 0 ] && [ ! -s snoop.err ] || { cat snoop.err; return 1; }
	head -n 1 snoop | grep -qx 'TIME(s)            STACK' || return
	# Each event: TIME FUNCTION, a tab and a function for each frame, an empty line
	awk 'NR == 1 { next }
		/^[0-9]+\.[0-9]+ +vfs_write$/ { if (open) exit 1; open = 1; n++; frames = 0; next }
		/^\t[a-z_0-9A-Z.]+$/ { if (!open) exit 1; frames++; if (frames == 1 && $1 != "vfs_write") exit 1; next }
		/^$/ { if (!open || frames < 3) exit 1; open = 0; next }
		{ print; exit 1 }
		END { if (open || n < 3) exit 1 }' snoop || { cat snoop; return 1; }
}

snoop_options() {
	start snoop snoop -s -v -n 2 -D 60 --comm dd vfs_write vfs_read || return
	writes 5
	wait $job || { cat snoop.err; return 1; }
	head -n 1 snoop | grep -q '^TIME(s)  *COMM  *PID  *CPU STACK$' || return
	[ "$(grep -c '^[0-9.]*  *dd  *[0-9]*  *[01]  *vfs_\(read\|write\)$' snoop)" = 2 ] &&
		grep -q '^	vfs_\(read\|write\)+0x[0-9a-f]*$' snoop &&
		grep -q '^	ksys_\(read\|write\)+0x[0-9a-f]*$' snoop || { cat snoop; return 1; }
}

snoop_tag() {
	start snoop snoop -n 1 -D 60 --comm dd vfs_write@arg3 || return
	writes 5
	wait $job || return
	# The third argument of vfs_write() is the number of bytes
	grep -q '^[0-9.]*  *vfs_write tag=0x1$' snoop || { cat snoop; return 1; }
	address=0x$(awk '$3 == "vfs_write" { print $1 }' /proc/kallsyms)
	start snoop snoop -n 1 -D 60 --comm dd "$address" || return
	writes 5
	wait $job || return
	grep -q '^	vfs_write$' snoop || { cat snoop; return 1; }
}

# Events of a module of the tests, whose second argument is their number
tracepoints() {
	insmod /t/big/stackbuf_event.ko || return
	"$STACKBUF" count -l 't:stackbuf_test:*' >list && grep '^t:stackbuf_test:stackbuf_numbered' list || return
	names=$(ls /sys/kernel/btf/vmlinux 2>/dev/null)
	"$STACKBUF" count -l t:kmem:kfree >list && grep -E "^t:kmem:kfree${names:+\\((long unsigned int|unsigned long) call_site, const void \\*ptr\\)}\$" list || { cat list; return 1; }
	start out snoop -n 3 -D 60 t:stackbuf_test:stackbuf_numbered@arg2 || return
	echo 5 >/sys/module/stackbuf_event/parameters/run
	wait "$job"
	sed 's/ __do_trace_stackbuf_numbered tag/ number_events tag/' out | grep -o 'number_events tag=.*' | tr '\n' ' ' | grep -x 'number_events tag=0x1 number_events tag=0x2 number_events tag=0x3 ' || { cat out; return 1; }
	start out count 't:stackbuf_*:*' vfs_unlink && grep '^Tracing [0-9]* functions and tracepoints for ' out || return
	echo 500 >/sys/module/stackbuf_event/parameters/run
	finish INT
	is "$status == 0" && stacks out >sums && cat sums && is "$(awk '/;number_events;|number_events/ { n += $1 } END { print n }' sums) == 500" || { cat out out.err; return 1; }
	refused 1 'no event with a tracepoint matches' count 't:nosuch*' &&
		refused 1 'no such event' snoop t:nosuch && refused 1 'no such event' count t:sched:stackbuf_numbered || return
	rmmod stackbuf_event
	if [ -e /sys/kernel/btf/vmlinux ]; then
		# Of the event, not among the names that the module has
		refused 1 'timer_start@nosuch: @nosuch: this module knows no arguments of timer_start by name' snoop t:timer:timer_start@nosuch &&
			refused 1 'timer_start@: ' snoop t:timer:timer_start@ || return
		# The first is a pointer, the second a time in jiffies
		"$STACKBUF" count -l t:timer:timer_start >list && name=$(sed 's/^[^,]*, [^,]* \**\([a-z_]*\)[,)].*/\1/' list) && cat list &&
			"$STACKBUF" snoop -n 1 -D 60 t:timer:timer_start@timer | grep 'tag=0xff[0-9a-f]\{14\}$' &&
			"$STACKBUF" snoop -n 1 -D 60 "t:timer:timer_start@$name" | grep 'tag=0x[0-9a-f]\{4,9\}$' &&
			refused 1 't:kmem:kfree@arg3: it has 2 arguments: stackbuf count -l t:kmem:kfree shows them' count t:kmem:kfree@arg3 &&
			refused 1 'vfs_read@arg5: it has 4 arguments' snoop vfs_read@arg5 || return
	fi
	# Events of a module that was built with the kernel
	[ -e /t/vsock.ko ] && [ -e /sys/kernel/btf/vmlinux ] || return 0
	insmod /t/vsock.ko && insmod /t/vmw_vsock_virtio_transport_common.ko && [ -e /sys/kernel/btf/vmw_vsock_virtio_transport_common ] || return
	"$STACKBUF" count -l t:vsock:virtio_transport_recv_pkt >list && grep '^t:vsock:virtio_transport_recv_pkt(__u32 src_cid, __u32 src_port,' list || { cat list; return 1; }
	refused 1 't:vsock:virtio_transport_recv_pkt@arg19: it has [0-9]* arguments' count t:vsock:virtio_transport_recv_pkt@arg19
	status=$?
	rmmod vmw_vsock_virtio_transport_common vsock
	return $status
}

snoop_process() {
	# snoop ends with the process that it watches
	(while [ ! -e go ]; do usleep 10000; done; exec dd if=/dev/zero of=/dev/null bs=1 count=3 status=none) &
	child=$!
	start snoop snoop -v -D 100000 -p $child vfs_write || return
	writes 10
	touch go
	wait $job || { cat snoop.err; return 1; }
	awk -v pid=$child '/^[0-9]/ && $3 != pid { exit 1 } /^[0-9]/ && $2 == "dd" { n++ } END { exit n < 3 }' snoop ||
		{ cat snoop; return 1; }
	[ "$(cat $P/pid)" = 0 ] || return
	refused 1 "there is no process $child" snoop -p $child vfs_write || return
	refused 1 "there is no CPU 7: this machine has $cpus" snoop -c 7 vfs_write
}

snoop_cpu() {
	start snoop snoop -v -c $((cpus - 1)) vfs_write || return
	taskset 1 dd if=/dev/zero of=/dev/null bs=1 count=5 2>/dev/null
	[ "$cpus" = 1 ] || taskset 2 dd if=/dev/zero of=/dev/null bs=1 count=5 2>/dev/null
	sleep 0.3
	finish INT
	[ "$(cat $P/cpu)" = -1 ] &&
		awk -v cpu=$((cpus - 1)) '/^[0-9]/ && $4 != cpu { exit 1 } /^[0-9]/ { n++ } END { exit n < 5 }' snoop || { cat snoop; return 1; }
}

by_cgroup() {
	G=/sys/fs/cgroup
	[ -e $G/cgroup.procs ] || mount -t cgroup2 none $G || return
	mkdir -p $G/a/b $G/ab || return
	for cgroup in a /a $G/a; do
		start count count --cgroup "$cgroup" --comm dd vfs_write || return
		for in in a/b:30 ab:50 a:7; do
			# shellcheck disable=SC2016 # expanded by that shell
			sh -c 'echo $$ >"$1/cgroup.procs" && exec dd if=/dev/zero of=/dev/null bs=1 count="$2" status=none' - "$G/${in%:*}" "${in#*:}"
		done
		writes 70
		finish INT
		is "$(stacks count | awk '{ n += $1 } END { print n }') == 37 && $(cat $P/cgroup) == 0" || { cat count count.err; return 1; }
	done
	stat -c %i $G/a >$P/cgroup
	"$STACKBUF" info | grep "^only cgroup of inode  *$(stat -c %i $G/a)\$" || return
	echo 0 >$P/cgroup
	if echo x 2>/dev/null >$P/cgroup; then return 1; fi
	refused 1 'nosuch: no cgroup: give its directory' snoop --cgroup nosuch vfs_write
}

never_called() {
	"$STACKBUF" snoop -D 0.2 kernel_restart >out 2>err && [ "$(wc -l <out)" = 1 ] && [ ! -s err ] || return
	"$STACKBUF" count --folded -D 0.2 kernel_restart >out 2>err && [ ! -s out ] && grep -q '^stackbuf: no event: ' err
}

no_debugfs() {
	umount /sys/kernel/debug
	start snoop snoop -n 1 -D 60 --comm dd vfs_write
	writes 5
	wait $job
	status=$?
	mount -t debugfs none /sys/kernel/debug
	[ $status = 0 ] && grep -q '^	ksys_write$' snoop
}

# --------------------------------------------------------- nothing left behind ---

restored() {
	echo kernel_restart,vfs_fsync_range+0 >$P/probe || return
	echo 5 >$P/every
	echo 77 >$P/pid
	echo abc >$P/comm
	parameters >before
	# Pairs SIGNAL:COMMAND,OPTION
	for pair in INT:snoop TERM:count HUP:count,-P INT:count,--folded QUIT:snoop USR1:count ALRM:snoop 34:count; do
		signal=${pair%:*}
		command=$(echo "${pair#*:}" | tr , ' ')
		# shellcheck disable=SC2086 # two words
		start s $command vfs_write || return
		parameters >during
		finish "$signal"
		parameters >after
		[ $status = 0 ] || { echo "$command: status $status after $signal"; return 1; }
		grep -q 'probe=kernel_restart,vfs_fsync_range+0,vfs_write' during &&
			grep -qx 'every=1' during && grep -qx 'pid=0' during && grep -qx 'comm=' during ||
			{ cat during; return 1; }
		cmp before after || { echo "$command, $signal:"; cat after; return 1; }
	done
	# A fault of the command's own
	for signal in SEGV ABRT; do
		start s snoop --comm xyz vfs_write || return
		parameters >during
		finish "$signal" 2>/dev/null
		parameters >after
		is "$status == 128 + $(kill -l $signal)" && grep -qx comm=xyz during && cmp before after || { cat after; return 1; }
	done
	# The reader of the pipe ends first
	(while [ ! -e gone ]; do writes 1; usleep 20000; done) &
	"$STACKBUF" snoop -D 60 vfs_write 2>err | head -n 1 >out
	touch gone
	parameters >after
	cmp before after && [ ! -s err ] || { cat err; return 1; }
	# The same while much is printed: it ends by SIGPIPE, in silence
	(while [ ! -e enough ]; do writes 100000; done) &
	{ "$STACKBUF" snoop -D 60 vfs_write 2>err; echo $? >code; } | head -n 1 >out
	touch enough
	wait
	parameters >after
	cmp before after && [ ! -s err ] && [ "$(cat code)" = 141 ] || { cat err code; return 1; }
	# Refused half-way: the second function does not exist
	refused 1 'probe: no_such_function: no such function' snoop vfs_read no_such_function
	refused=$?
	echo >$P/probe; echo 1 >$P/every; echo 0 >$P/pid; echo >$P/comm
	return $refused
}

# until_probe TEXT: until the command in the background has set a probe that has it
until_probe() { until grep -q "$1" $P/probe || ! kill -0 $! 2>/dev/null; do usleep 50000; done; }
killed_leaks() {
	"$STACKBUF" leaks vfs_open@arg1 fput@arg1 >out 2>err &
	until grep -q vfs_open $P/pair || ! kill -0 $! 2>/dev/null; do usleep 50000; done
	kill -KILL $!
	! wait $! 2>/dev/null
}

# What a killed command has left is named by info, and by the next command, which restores it if it still is so
left_behind() {
	mkdir -p /run
	parameters >before
	start s snoop --comm xyz vfs_write && kill -KILL "$job" || return
	wait "$job" 2>/dev/null
	left="comm, probe: set by process $job ([^ ]*stackbuf snoop --comm xyz vfs_write), which was killed"
	"$STACKBUF" info >out && grep "^left behind  *$left$" out && "$STACKBUF" info --json | grep -q '"left":"comm, probe: ' || return
	"$STACKBUF" log --comm nobody 2>err
	grep 'no event[^:]*: the module records only events with comm=xyz; ' err || { cat err; return 1; }
	"$STACKBUF" count -D 0.1 vfs_fsync >out 2>err
	grep "^stackbuf: $left; restored$" err && parameters >after && cmp before after || { cat err after; return 1; }
	# Changed by hand since
	start s snoop --comm xyz vfs_write && kill -KILL "$job" || return
	wait "$job" 2>/dev/null
	echo hand >$P/comm
	"$STACKBUF" count -D 0.1 vfs_fsync >out 2>err
	grep "^stackbuf: probe: set by" err && [ "$(cat $P/comm)" = hand ] && echo >$P/comm && parameters >after && cmp before after || { cat err after; return 1; }
	# A pair that it has left has older objects
	killed_leaks
	"$STACKBUF" leaks vfs_open@arg1 fput@arg1 -D 0.1 >out 2>err
	grep '^stackbuf: pair: set by process' err && [ -z "$(cat $P/pair)" ] || { cat err; return 1; }
	# One that was set before it is shown
	echo slab >$P/pair && killed_leaks && "$STACKBUF" leaks -D 0.1 2>err >out && grep '^stackbuf: pair: set by process' err &&
		grep 'set already: objects opened before are included' err && [ "$(cat $P/pair)" = slab ] || { cat err; return 1; }
	# Its probes are gone before the next one looks for others
	"$STACKBUF" latency -L 1us vfs_read >out 2>err &
	until_probe took1us
	kill -KILL $!
	wait $! 2>/dev/null
	"$STACKBUF" latency -L 2us vfs_read >out 2>err &
	until_probe took2us
	dd if=/dev/zero of=/dev/null bs=256k count=2 2>/dev/null
	kill -INT $!
	wait $! && grep '^stackbuf: probe: set by .*; restored$' err && ! grep 'left out' err &&
		grep ': [1-9][0-9]* closed, ' out || { cat err out; return 1; }
	# It runs: nothing is left
	echo >$P/pair && start s snoop --comm xyz vfs_write && ! "$STACKBUF" info | grep 'left behind' && finish INT
}

two_at_once() {
	start first snoop vfs_fsync || return
	refused 1 "another snoop, count or command about pairs is running, process $job" count vfs_fsync
	refused=$?
	finish INT
	return $refused
}

refusals() {
	refused 1 'no such function; if it is inlined, probe a caller' snoop no_such_function &&
		refused 1 'no_such_\*: no function matches; if it is inlined, probe a caller' count 'no_such_*' &&
		# Before 5.18 the kernel does not look for a function there, and says that it is no code
		refused 1 'probe: 0x1000: \(no such function\|the kernel allows no probe there\)' snoop 0x1000 &&
		refused 1 'functions match; the module takes [0-9]* probes' count -r '.*' &&
		refused 2 'takes names and patterns of functions alone' count -l vfs_read+4 &&
		refused 2 'shows the running kernel' count -l -D 1 vfs_read &&
		refused 1 'no_such_function: no function matches' count -l no_such_function &&
		refused 1 'no such function\|no probe there' snoop irqentry_enter || return
	# A limit that is reached keeps these events
	echo vfs_write >$P/probe && echo 1 >$P/limit && writes 2 || return
	refused 1 'limit=1 is reached' snoop -D 1 vfs_read || return
	echo >$P/probe
	echo 5 >$P/limit
	"$STACKBUF" count -D 0.1 vfs_read >out 2>err || return
	grep -qx "stackbuf: limit=5: its count begins again when this ends" err && [ "$(cat $P/limit)" = 5 ] || { cat err; return 1; }
	echo 0 >$P/limit
	# The disk is full when the last event ends it
	while [ ! -e wrote ]; do writes 5; sleep 0.1; done &
	"$STACKBUF" snoop -D 20 -n 5 --json vfs_write >/dev/full 2>err
	status=$?
	touch wrote && wait $!
	is "$status == 1" && grep -q '^stackbuf: cannot write: No space left on device$' err && [ -z "$(cat $P/probe)" ] || { cat err; return 1; }
	# Each call of vfs_write is two events; one of the same probe is one
	echo vfs_write@arg1,vfs_read >$P/probe && "$STACKBUF" count -D 0.1 vfs_write vfs_read 2>err >out && echo >$P/probe || return
	grep 'the probe vfs_write@arg1 records calls of vfs_write,.* parameter probe$' err && is "$(grep -c 'records calls' err) == 1" || { cat err; return 1; }
	# So it is with patterns, and with the opening side of a pair; not with the same probe by another name
	echo 'vfs_wri*@arg1,vfs_r*' >$P/probe && "$STACKBUF" count -D 0.1 vfs_write vfs_read 2>err >out && echo >$P/probe || return
	grep 'the probe vfs_wri\*@arg1 records calls of vfs_write,' err && is "$(grep -c 'records calls' err) == 1" || { cat err; return 1; }
	echo 'vfs_read@sp:vfs_read%return@sp' >$P/pair && "$STACKBUF" count -D 0.1 'vfs_r*' 2>err >out && echo >$P/pair || return
	grep 'the probe vfs_read@sp records calls of vfs_r\*,.* parameter pair$' err && is "$(grep -c 'records calls' err) == 1" || { cat err; return 1; }
	# Nor are the stack pointers that it records as tags times of calls
	echo 'vfs_read@sp:vfs_read%return@sp' >$P/pair || return
	"$STACKBUF" latency -L 100s vfs_read 2>err >out &
	until_probe took100s
	dd if=/dev/zero of=/dev/null bs=1 count=5 2>/dev/null
	kill -INT $!
	wait $! && echo >$P/pair || return
	grep ' left out: .*another probe\|are left out: other probes' err && grep ' or longer: 0 closed,' out || { cat err out; return 1; }
	# A file that may not grow
	while [ ! -e grown ]; do writes 5; sleep 0.1; done &
	(ulimit -f 16 && "$STACKBUF" snoop -D 6000 vfs_write >large 2>err)
	status=$?
	touch grown && wait $!
	is "$status == 1" && grep -q '^stackbuf: cannot write: File too large$' err && [ -z "$(cat $P/probe)" ] || { cat err; return 1; }
	# A probe of the old list that the module refuses by now
	echo stackbuf_fit:nosuch,vfs_open >$P/probe && insmod /t/big/stackbuf_fit.ko && "$STACKBUF" info | grep 'nosuch.*refused' || return
	start count count vfs_write && writes 5 || return
	finish INT
	[ $status = 0 ] && rmmod stackbuf_fit || { cat count.err; return 1; }
	grep '^stackbuf: of the probes that were set before the module refuses 1 now: .*nosuch' count.err && grep '^  *vfs_write' count && [ "$(cat $P/probe)" = vfs_open ] && echo >$P/probe || { cat err out; return 1; }
	"$STACKBUF" latency -D 0.1 ' vfs_read@sp' 'vfs_read%return@sp ' >out 2>err && grep 'vfs_read@sp:vfs_read%return@sp: [0-9]* closed' out || { cat err out; return 1; }
	echo 0 >$P/enable
	refused 1 'recording is off' snoop vfs_read
	refused=$?
	echo 1 >$P/enable
	return $refused
}

# --------------------------------------------------------------------- count ---

# Counts the same calls with bpftrace and count, and compares stacks and totals, with the offsets
# of all frames but the first, whose offset differs between the tools.  probe.sh has ftrace's hist
# triggers.
# by_bpftrace FILE FUNCTION: from that on, which a tracepoint's iterator may come before
by_bpftrace() {
	awk -v name="$2" '/^@\[/ { s = ""; on = 1; next }
		/^\]: / { sum[s] += $2; on = 0 }
		on && s == "" && index($1, name "+") != 1 { next }
		on { plus = index($1, "+"); s = s (s == "" ? name : sprintf(";%s0x%x", substr($1, 1, plus), substr($1, plus + 1))) }
		END { for (s in sum) print sum[s], s }' "$1" | sort
}

# alike FUNCTION PROBE: counts PROBE, as bpftrace names it, which is in FUNCTION, by both
alike() {
	cat >workload <<'END'
find /proc/1 /sys/module /t -maxdepth 2 >/dev/null 2>&1
find /sys/kernel -maxdepth 1 -exec true ';' >/dev/null 2>&1
END
	what=$(echo "$2" | sed 's/^kprobe://; s/^tracepoint/t/')
	start count count -s --comm find "$what" || return
	# bpftrace's probe is set while the command runs
	/usr/bin/bpftrace -e "$2 /comm == \"find\"/ { @[kstack(64)] = count(); }" \
		-c "/bin/busybox sh $W/workload" >bpftrace 2>&1 || touch bpftrace-failed
	finish INT
	[ $status = 0 ] && [ ! -e bpftrace-failed ] || { cat bpftrace; return 1; }
	by_bpftrace bpftrace "$1" >by-bpftrace
	stacks count | awk -v name="$1" '
		{ sub(/^__do_trace_[^;]*;/, "", $2); i = index($2, ";"); sum[name (i ? substr($2, i) : "")] += $1 }
		END { for (s in sum) print sum[s], s }' | sort >by-count
	compare
}

compare() {
	echo "# $(awk '{ n += $1 } END { print n, "calls on", NR, "stacks" }' by-bpftrace), by bpftrace and by count" >>notes
	[ "$(wc -l <by-count)" -ge 2 ] || { cat by-count by-bpftrace; return 1; }
	# bpftrace identifies stacks by a hash alone: if two collide, it drops the second's frames.
	# The kernel does not call its program for an interrupt of that program.
	awk '$2 ~ /;(bpf_prog_|__bpf_trace_|bpf_trace_run|trace_call_bpf)/ { next }
		NR == FNR { n[$2] = $1; next }
		$2 == "" { lost += $1; next }
		n[$2] != $1 { print "by bpftrace alone:", $0; bad = 1 }
		{ delete n[$2] }
		END { for (s in n) { lost -= n[s]; print "by count alone:", n[s], s }
			exit bad || lost }' by-count by-bpftrace && return
	head -n 40 by-bpftrace by-count
	return 1
}

# Calls on each CPU
calls=$(few 6000 20000)

# Known totals, on all CPUs, over many laps of the ring: each stack's total is the number of
# calls.  Saves that the function itself makes are not included.
wrapped() {
	unload
	load small || return
	start count count stackbuf_test:leaf_tag || return
	run tags "$calls" 40 4 >made || return
	finish INT
	[ $status = 0 ] && [ ! -s count.err ] || { cat count.err; return 1; }
	stacks count | awk -v all=$((calls * cpus / 40)) '$1 != all { bad = 1 } { n++ } END { exit bad || n != 40 }' || { stacks count | cut -c 1-80; return 1; }
	overwritten=$("$STACKBUF" info | awk '/^events overwritten/ { print $NF }')
	is "$overwritten > $calls * $cpus"
}

# By process: overwritten events are reported, and counted under an unknown process
by_process() {
	start count count -P stackbuf_test:leaf_tag || return
	run tags "$calls" 40 4 >made || return
	finish INT
	[ $status = 0 ] || return
	awk -v all=$((calls * cpus)) '/^    [0-9]+$/ { n += $1 } /\[[0-9]+\]$/ { named++ }
		END { print n; exit n != all || !named }' count || return
	if grep -q 'unknown process' count; then
		grep -q 'events were overwritten before they were read' count.err
	else
		[ ! -s count.err ]
	fi
}

# More stacks than the table has room for: totals of evicted stacks are reported
evicted() {
	start count count stackbuf_test:regs_target || return
	run calls 4000 4 >/dev/null || return
	# Later calls are recorded again, when eviction has made room
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rest
		run calls 20 4 >/dev/null || return
	done
	finish INT
	[ $status = 0 ] || return
	stacks count | awk '{ n += $1 } END { print n + 0 }' >shown
	awk '/^stackbuf: up to [0-9]* events are in no total: their stacks were evicted/ { n += $4 } END { print n + 0 }' count.err >unshown
	awk '/^stackbuf: [0-9]* events were not recorded: / { n += $2 } END { print n + 0 }' count.err >refused
	echo "# of 4200 calls $(cat shown) have a stack that is there still, $(cat unshown) had one, $(cat refused) were refused" >>notes
	# On a busy host eviction may be as late as the last calls
	is "$(cat unshown) > 0" && is "$(cat shown) + $(cat unshown) + $(cat refused) == 4200" || { cat count.err; return 1; }
}

# At a moderate pace every event is counted under its process
processes() {
	start count count -P --comm dd vfs_write || return
	writes 50
	writes 70
	sleep 0.3
	finish INT
	[ ! -s count.err ] || { cat count.err; return 1; }
	[ "$(grep -c '^    dd \[[0-9]*\]$' count)" -ge 2 ] && grep -qx '    50' count && grep -qx '    70' count ||
		{ cat count; return 1; }
	start count count -P --folded --comm dd vfs_write || return
	writes 20
	writes 30
	sleep 0.3
	finish INT
	grep -qx 'dd-[0-9]*;.*;vfs_write 20' count && grep -qx 'dd-[0-9]*;.*;vfs_write 30' count || { cat count; return 1; }
}

count_shape() {
	start count count -s -v --comm dd vfs_write || return
	writes 20
	finish INT
	head -n 1 count | grep -qx 'Tracing 1 functions for "vfs_write"... Hit Ctrl-C to end.' &&
		[ "$(sed -n 2p count)" = '' ] && [ "$(tail -n 1 count)" = Detaching... ] &&
		grep -q '^  ffff[0-9a-f]\{12\} vfs_write+0x[04]$' count &&
		grep -q '^  ffff[0-9a-f]\{12\} ksys_write+0x[0-9a-f]*$' count && grep -qx '    20' count ||
		{ cat count; return 1; }
}

json_lines() {
	start count count --json --percent --comm dd vfs_write || return
	writes 20
	finish INT
	is "$(wc -l <count) == 1" && grep -q '^{"count":20,"percent":100.0,.*"stack":[0-9]*,.*"frames":\["vfs_write+' count ||
		{ cat count count.err; return 1; }
	# Not vfs_write: its later events must have no tags
	start snooped snoop --json -n 3 --comm dd ksys_write@arg1 || return
	writes 20
	wait $job || return
	is "$(wc -l <snooped) == 3" &&
		is "$(grep -c '^{"time_ns":"[0-9]*",.*"comm":"dd",.*"tag":"0x1",.*"frames":\["ksys_write+' snooped) == 3" ||
		{ cat snooped snooped.err; return 1; }
}

# A graph that cannot be written is an error, and all is restored
no_graph() {
	start flame count --flame /proc/graph.svg --comm dd vfs_write || return
	finish INT
	[ $status = 1 ] && is "$(wc -l <flame.err) >= 1" && grep -q 'graph.svg: cannot be written' flame.err &&
		[ "$(cat $P/probe)" = "$probe" ] && [ -z "$(cat $P/comm)" ]
}

# The host has made /t/vmlinux, which has no function of the kernel, so that it is small
source_lines() {
	refused 1 'no vmlinux' snoop --lines vfs_read || return
	start count count --lines -k /t/vmlinux --force -m /t/big stackbuf_test:leaf_tag || return
	run tags 100 4 4 >/dev/null || return
	finish INT
	grep -q '^  leaf_tag .*/test_[a-z]*\.c:[0-9]*)$' count || { cat count count.err; return 1; }
}

# waiting: a dd that begins when the file go appears; its process is left in child
waiting() {
	(while [ ! -e go ]; do usleep 10000; done; exec dd if=/dev/zero of=/dev/null bs=1 count=25 status=none) &
	child=$!
}

# Lists, ranges and patterns, which the kernel does not filter by
lists() {
	rm -f go
	waiting; one=$child
	waiting; two=$child
	waiting; other=$child
	start snooped snoop -v --pid $one,$two vfs_write || return
	touch go
	wait $one $two $other
	sleep 0.3
	finish INT
	rm -f go
	[ "$(awk '/^[0-9]/ { n[$3] += $2 == "dd" } END { for (p in n) print p, n[p] }' snooped | sort)" = "$(printf '%s 25\n' $one $two | sort)" ] ||
		{ cat snooped; return 1; }
	waiting; one=$child
	waiting; two=$child
	waiting; other=$child
	start count count --pid $one --pid $two --comm 'd?' --cpu 0-1 vfs_write || return
	touch go
	wait $one $two $other
	sleep 0.3
	finish INT
	rm -f go
	is "$(stacks count | awk '{ n += $1 } END { print n + 0 }') == 50" && ! grep -q '\[' count || { cat count count.err; return 1; }
	# Not vfs_write: its later events must have no tags
	start count count -P --comm dd --comm nobody --tag 1 ksys_write@arg3 || return
	writes 20
	dd if=/dev/zero of=/dev/null bs=2 count=20 2>/dev/null
	sleep 0.3
	finish INT
	grep -qx '    20' count && is "$(stacks count | awk '{ n += $1 } END { print n + 0 }') <= 20" || { cat count count.err; return 1; }
	refused 1 "none of these exists: this machine has $cpus" snoop -c 7-9 vfs_write || return
	from=$(now)
	"$STACKBUF" count -D 1500ms --comm nobody vfs_write >/dev/null && is "$(now) - $from >= 1500"
}

# says PATTERN WORD...: succeeds, with one line on standard error, which matches
says() {
	say=$1
	shift
	"$STACKBUF" "$@" >out 2>err || { echo "failed: $*"; cat err; return 1; }
	[ "$(wc -l <err)" = 1 ] && grep -q "^stackbuf: $say\$" err || { echo "$*:"; cat err; return 1; }
}

nothing_found() {
	# Without ftrace the command finds what patterns match, now
	waits='nosuchmod:f\* is pending: it waits for a module nosuchmod, which is not loaded'
	has_ftrace || waits='nosuchmod:f\*: no function matches: no module nosuchmod is loaded'
	parameters >before
	says '\(left out: probe: \|\)nosuch_\*: no function matches; if it is inlined, probe a caller' count -D 0.1 'vfs_f*' 'nosuch_*' &&
		says "$waits" snoop -D 0.1 vfs_fsync 'nosuchmod:f*' &&
		says 'left out: probe: no_such_function: no such function; if it is inlined, probe a caller' count -D 0.1 'vfs_f*' no_such_function &&
		refused 1 'no such function; .*count -l lists functions' snoop vfs_raed &&
		says 'nosuchmod:f is pending: it waits for a module nosuchmod, which is not loaded' count -D 0.1 vfs_fsync nosuchmod:f || return
	"$STACKBUF" snoop -D 0.1 nosuchmod:f >out 2>err
	[ $? = 1 ] && grep -q 'nosuchmod:f is pending: it waits for a module nosuchmod, which is not loaded' err &&
		grep -q '^stackbuf: no probe was set: the module for nosuchmod:f was not loaded$' err || { cat err; return 1; }
	parameters >after
	cmp before after || return
	# Where none of several matches, each has its line
	"$STACKBUF" count 'nosuch_*' 'nosuch2_*' >out 2>err
	[ $? = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 3 ] && grep -q '^stackbuf: \(left out: probe: \|\)nosuch_\*: ' err &&
		grep -q '^stackbuf: \(left out: probe: \|\)nosuch2_\*: ' err && tail -n 1 err | grep -q 'none of the patterns' || { cat err; return 1; }
}

count_intervals() {
	start count count -T -i 1 --comm dd vfs_write || return
	wrote=0
	until is "$(grep -c '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9]$' count) >= 3" >/dev/null || ! kill -0 "$job" 2>/dev/null; do
		writes 25
		wrote=$((wrote + 25))
		sleep 0.6
	done
	finish INT
	awk -v wrote=$wrote '/^    [0-9]+$/ { n += $1; m++ } END { exit n != wrote || m < 2 }' count || { cat count; return 1; }
	# With -D the command ends by itself
	from=$(now)
	"$STACKBUF" count -D 1 --comm nobody vfs_write >last && is "$(now) - $from >= 1000" &&
		[ "$(tail -n 1 last)" = Detaching... ]
}

count_patterns() {
	start count count --comm dd 'vfs_rea[a-d]' 'vfs_writ?' || return
	writes 10
	finish INT
	grep -q '^Tracing 2 functions for "vfs_rea\[a-d\]" "vfs_writ?"' count &&
		grep -qx '  vfs_write' count && grep -qx '  vfs_read' count || { cat count; return 1; }
	start count count --comm dd -r 'vfs_(read|write)' || return
	writes 10
	finish INT
	grep -q '^Tracing 2 functions' count && grep -qx '  vfs_write' count && grep -qx '  vfs_read' count ||
		{ cat count; return 1; }
	start count count 'stackbuf_test:leaf_t[aw]*' || return
	finish INT
	grep -q '^Tracing [23] functions' count
}

# What "count" would probe, with the parameters that BTF has: of the kernel, and of its own modules
count_list() {
	"$STACKBUF" count -l 'vfs_*' >list 2>err && "$STACKBUF" count -l --json vfs_read >json || { cat err; return 1; }
	if [ -e /sys/kernel/btf/vmlinux ]; then
		# Only clang tells __user
		grep -qx 'vfs_read(struct file \*file, char \(__user \|\)\*buf, size_t count, loff_t \*pos)' list &&
			grep -qx '{"function":"vfs_read","module":"","parameters":\["struct file \*file","char \(__user \|\)\*buf","size_t count","loff_t \*pos"\]}' json
	else
		grep -qx vfs_read list && grep -qxF '{"function":"vfs_read","module":"","parameters":null}' json
	fi || { cat list json; return 1; }
	if [ -e /sys/kernel/btf/qemu_fw_cfg ]; then
		"$STACKBUF" count -l 'qemu_fw_cfg:fw_cfg_*' >module &&
			grep -qx 'qemu_fw_cfg:fw_cfg_sysfs_remove(struct platform_device \*pdev)' module || { cat module; return 1; }
	fi
	# Modules that are built elsewhere have none
	"$STACKBUF" count -l stackbuf_test:leaf_tag >module && grep -q '^stackbuf_test:leaf_tag' module || { cat module; return 1; }
	start count count 'vfs_*' || return
	finish INT
	# The list is without names that several functions have, and without what kprobes cannot be on
	sed -n 's/^Tracing \([0-9]*\) functions.*/\1/p' count >traced
	is "$(wc -l <list) <= $(cat traced) && $(wc -l <list) > 20"
}

# The recorder walks new stacks in its handler.  Of arm64's unwinder nothing can be probed
missed_hits() {
	start count count stackbuf_test:leaf_tag unwind_next_frame || return
	run tags 200 40 4 >/dev/null && run calls 300 4 >/dev/null || return
	finish INT
	[ "$(wc -l <count.err)" = 1 ] && grep -q '^stackbuf: [0-9]* calls were missed: a function that a save itself calls' count.err ||
		{ cat count.err; return 1; }
	"$STACKBUF" info | grep -A 1 '^hits that probes missed *[1-9]' | grep -q '^  reason  *a function that a save itself calls'
}

# With as many calls as two CPUs can make, the system stays usable, and SIGINT ends the command
hot() {
	(while [ ! -e cool ]; do dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null; done) &
	(while [ ! -e cool ]; do dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null; done) &
	for command in snoop "count -P"; do
		# shellcheck disable=SC2086 # two words
		start hot $command vfs_write || { touch cool; return 1; }
		sleep "$(few 0.5 2)"
		from=$(now)
		finish INT
		echo "# under load $command ended $(($(now) - from)) ms after SIGINT" >>notes
		[ $status = 0 ] || { touch cool; return 1; }
	done
	touch cool
	wait
}

# ------------------------------------------------------------- its own reading ---

# A command that reads the arrays is not recorded: by a filter that admits nothing else.  Before it runs, the loader
# reads each library, a dozen with some hosts; its own reads are hundreds.
own_events() {
	insmod /t/big/stackbuf.ko probe=vfs_read comm="$(basename "$STACKBUF" | cut -c 1-15)" || return
	is "$(latest events_recorded) <= 50" || return
	set -- 'log --flame graph' 'save snapshot' '-f snapshot log' 'count -P -D 1 vfs_read' 'snoop -D 1 vfs_read' 'log --follow'
	few '' yes | grep -q . && set -- "$@" info log text count depth 'count --json' metrics 'diff snapshot' 'count -D 1 vfs_open'
	for command; do
		before=$(latest events_recorded)
		case $command in
		*follow) limit='timeout -s INT 2' ;;
		*) limit='' ;;
		esac
		# shellcheck disable=SC2086 # words
		$limit "$STACKBUF" $command >out 2>err || [ -n "$limit" ] || { echo "$command"; cat err; rmmod stackbuf; return 1; }
		# The next count is a command, too
		is "$(latest events_recorded) - $before <= 100" || { echo "$command"; cat err; rmmod stackbuf; return 1; }
	done
	# What it was is counted
	"$STACKBUF" info --json | grep -q '"kept_out":[0-9][0-9][0-9]' || return
	# Copies of the arrays, by whatever program
	echo cat >$P/comm && before=$(latest events_recorded) && cat $D/events $D/stacks $D/text >copy && is "$(latest events_recorded) - $before <= 10" || return
	# The command is in no total, and no process is unknown
	echo '' >$P/comm && echo >$P/probe || return
	start first count -P vfs_write && writes 500 && finish INT && cat first
	[ "$(grep -c '^    dd \[' first)" = 1 ] && ! grep 'unknown\|\[stackbuf\]' first && rmmod stackbuf
}

cpus=$(nproc)
# KCSAN instruments modules only, which slows eviction but not the calls that fill the table
slow=1
! kcsan || slow=3
: >notes
result "what commands read is not recorded" own_events
[ ! -d $P ] || rmmod stackbuf
[ ! -d $P ] || rmmod stackbuf
result "no module: refused; loaded from where it was built; said" loads_by_itself
result "no rights: one line" not_root
result "a module without these parameters: refused" older_build
insmod /t/big/stackbuf_test.ko
result "snoop: the first event comes soon" first_event
result "snoop: a block for each call, as stacksnoop prints it" snoop_block
result "snoop -s -v -n, two functions" snoop_options
result "snoop: an argument as the tag; a bare address" snoop_tag
when $T/events "this kernel has no events" "snoop, count, count -l: tracepoints, by name and by pattern" tracepoints
result "snoop -p: of one process, and it ends with it; no such process or CPU: refused" snoop_process
result "snoop -c: of one CPU" snoop_cpu
with CGROUPS "count --cgroup: what is in it and below" by_cgroup
result "snoop: a function that is never called" never_called
result "snoop without debugfs" no_debugfs
result "what was set is set again after each signal, a closed pipe, an error half-way" restored
result "what a killed command has left is named, and restored by the next one" left_behind
result "two at once: the second is refused, and says who is the first" two_at_once
result "what makes no sense is refused, in one line" refusals
if [ -x /usr/bin/bpftrace ]; then
	with BPF_EVENTS "count: stacks and totals are those of bpftrace" alike dput kprobe:dput
	with DEBUG_INFO_BTF \
		"count of a tracepoint: stacks and totals are those of bpftrace" alike kfree tracepoint:kmem:kfree
else
	echo "ok count: stacks and totals are those of bpftrace # SKIP it is not installed"
fi
result "count: as stackcount prints it; -s -v" count_shape
result "count -P: totals by process" processes
result "count --json, snoop --json: objects only" json_lines
result "count --flame: a graph that cannot be written; all is restored" no_graph
when /t/debug_info "CONFIG_DEBUG_INFO is not set: modules for this kernel have no source lines" \
	"count: --lines" source_lines
result "snoop and count: lists of processes and CPUs, patterns of commands, tags, units of time" lists
result "what matches nothing, and what waits for a module, is named" nothing_found
result "count -i -D -T: each event in one interval" count_intervals
result "count: globs, -r, functions of a module" count_patterns
result "count -l: the functions that it would probe, with their parameters" count_list
on_x86 "no function of its unwinder can be probed" "calls that were missed are explained" missed_hits
result "a function called all the time: an interrupt is answered" hot
result "count: totals are exact though the ring turned many times" wrapped
result "count -P: what the ring could not hold is told, and in the totals" by_process
result "count: stacks that had to make room: totals and what is in none are all calls" evicted
cat notes
unload
echo "done"
