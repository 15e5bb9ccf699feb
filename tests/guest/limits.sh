#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Tests stackbuf.ko on machines that are small or large, or where calls fail.  The file
# /t/kind selects the kind of machine.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

kind=$(cat /t/kind)

nobody() { su -s /bin/sh nobody -c "$1"; }

# work SECONDS: a shell workload on all CPUs
work() {
	end=$(($(date +%s) + $1))
	for _ in $(seq "$(nproc)"); do
		while [ "$(date +%s)" -lt $end ]; do
			find /sys/kernel /proc/self >/dev/null 2>&1
			true | cat >/dev/null
		done &
	done
	wait
}

# sound EVENTS: probes recorded at least that many, arrays are consistent, verify found nothing
sound() {
	echo 0 >$P/enable
	check || return 1
	is "$(latest differed) == 0 && $(latest events_recorded) > $1" || return 1
	echo 1 >$P/enable
}

# ----------------------------------------------------------------- usual ---

only_root() {
	[ "$(nobody 'id -u')" -gt 0 ] || return 1
	for file in $D $D/text $D/info $D/events $D/stacks /proc/kcore; do
		if nobody "cat $file" >out 2>err || [ -s out ]; then echo "$file"; return 1; fi
	done
	# Parameters show no addresses except those that root wrote; only root can write them
	for file in "$P"/*; do
		if nobody "echo 0 >$file" 2>err; then echo "$file"; return 1; fi
	done
	if nobody "$STACKBUF info" >out 2>err || [ -s out ]; then cat out; return 1; fi
	is "$(wc -l <err) == 1" && grep 'run it as root' err
}
addresses() {
	nobody 'cat /proc/modules /sys/module/stackbuf/parameters/* /sys/module/stackbuf/sections/.text' >out 2>/dev/null
	[ -s out ] && ! grep -i '0xffff\|ffffffff[0-9a-f]\{8\}' out
}

# Lets each of up to 300 allocations during loading fail in turn: the module must be refused,
# or loaded and complete
failing() {
	for kind in failslab fail_page_alloc; do
		echo 0 >/sys/kernel/debug/$kind/verbose && echo N >/sys/kernel/debug/$kind/ignore-gfp-wait || return 1
	done
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
	/t/failing 1000000 /t/big/stackbuf.ko probe=dput,vfs_read >said && rmmod stackbuf || return 1
	all=$((1000000 - $(value left said)))
	step=$(((all + 299) / 300)) nth=1 refused=0 came=0
	while [ $nth -le $all ]; do
		/t/failing $nth /t/big/stackbuf.ko probe=dput,vfs_read >said 2>err
		case $? in
		0)
			came=$((came + 1))
			[ "$(cat $P/probe)" = dput,vfs_read ] && rmmod stackbuf || return 1
			;;
		1)
			refused=$((refused + 1))
			if grep '^stackbuf ' /proc/modules; then return 1; fi
			;;
		*) cat err; return 1 ;;
		esac
		# Loading made fewer allocations this time
		[ "$(value left said)" = 0 ] || break
		nth=$((nth + step))
	done
	echo "# of $all allocations each $step. failed once: $refused loads were refused, $came were whole"
	is "$refused > 20 && $came > 0" || return 1
	load big && run path 1 3 0 5 | grep -x 'id [1-9][0-9]*' && unload
}

# each_fails PARAMETER OLD NEW: each of up to 40 allocations for setting it fails in turn; it is set,
# or refused and what was set goes on
each_fails() {
	list=$P/$1
	echo "$2" >"$list" || return 1
	/t/failing 1000000 -w "$list" "$3" >said || return 1
	[ "$(cat "$list")" = "$3" ] && echo "$2" >"$list" || return 1
	all=$((1000000 - $(value left said)))
	step=$(((all + 39) / 40)) nth=1 refused=0 came=0
	while [ $nth -le $all ]; do
		/t/failing $nth -w "$list" "$3" >said 2>err
		case $? in
		0) came=$((came + 1)) want=$3 ;;
		1) refused=$((refused + 1)) want=$2 ;;
		*) cat err; return 1 ;;
		esac
		[ "$(cat "$list")" = "$want" ] || { echo "$1: $(cat "$list") instead of $want"; return 1; }
		echo "$2" >"$list" || return 1
		# Fewer allocations this time
		[ "$(value left said)" = 0 ] || break
		nth=$((nth + step))
	done
	echo "# $1: of $all allocations each $step. failed once: refused $refused times, set $came times"
	is "$refused + $came > 3"
}
# What was set stays, or its place is taken, as a whole; meanwhile and afterwards it is hit
lists_fail() {
	insmod /t/big/stackbuf.ko probe=dput,t:sched:sched_switch pair=page trigger=panic && insmod /t/big/stackbuf_leak.ko || return 1
	each_fails probe dput,t:sched:sched_switch 'vfs_read,ext4_*,t:kmem:kfree' && each_fails pair page slab,offcpu,wakers &&
		each_fails trigger panic do_exit:3 && echo 1 >$P/enable || return 1
	work 1
	sound 100 || return 1
	# Keys, as objects that leak would be what kmemleak finds
	echo stackbuf_leak:leak_hold@arg1:stackbuf_leak:leak_release@arg1 >$P/pair &&
		echo "keep 37" >/sys/module/stackbuf_leak/parameters/run && "$STACKBUF" leaks | grep ': 37 open' &&
		echo "drop 37" >/sys/module/stackbuf_leak/parameters/run && "$STACKBUF" leaks | grep ': 0 open' && rmmod stackbuf_leak stackbuf
}

# With probes by ftrace, kprobe and tracepoint, pairs and a trigger, beside the function graph tracer
hotplug() {
	insmod /t/big/stackbuf.ko verify=1 probe=dput,vfs_*,t:kmem:kmem_cache_free pair=slab,wakers trigger=panic && insmod /t/big/stackbuf_leak.ko || return 1
	! grep -q function_graph $T/available_tracers || { echo vfs_read >$T/set_graph_function && echo function_graph >$T/current_tracer; } || return 1
	work 20 &
	times=0
	while kill -0 $! 2>/dev/null && [ $times -lt 12 ]; do
		echo 0 >/sys/devices/system/cpu/cpu1/online || return 1
		sleep 0.5
		echo 1 >/sys/devices/system/cpu/cpu1/online || return 1
		echo "run $((times % 3)) 300 37" >/sys/module/stackbuf_leak/parameters/run
		times=$((times + 1))
	done
	wait
	echo nop >$T/current_tracer
	"$STACKBUF" leaks slab --json >json
	is "$(grep leak_path_b json | sed 's/.*"open":"*\([0-9]*\).*/\1/' | paste -sd + -) + 0 == 37 * $times && $times > 2" && ! grep 'leak_path_[ac]' json || { cut -c 1-300 json; return 1; }
	sound 10000 || return 1
	cat check
	rmmod stackbuf_leak stackbuf
}

# Suspends to idle and resumes, by the kernel's pm_test: it resumes after five seconds, also
# on a machine whose clock cannot wake it
idle() {
	insmod /t/big/stackbuf.ko verify=1 probe=dput || return 1
	work 1
	before=$(latest events_recorded)
	# Lockdep of 6.12 treats frozen queues as held locks, and complains about NVMe
	level=platform
	! grep -q 'q_usage_counter(io)' /proc/lockdep || level=freezer
	echo "# suspended to idle up to the level $level of pm_test"
	echo $level >/sys/power/pm_test && echo freeze >/sys/power/state || return 1
	dmesg | grep 'PM: suspend exit' || return 1
	work 1
	is "$(latest events_recorded) > $before" && sound 100 && rmmod stackbuf
}

clock() {
	insmod /t/big/stackbuf.ko verify=1 probe=dput || return 1
	now=$(date +%s)
	for jump in 100000000 -200000000 0 1000 -1000; do
		date -s "@$((now + jump))" >/dev/null
		find /sys/kernel >/dev/null 2>&1
	done
	date -s "@$now" >/dev/null
	sound 1000 || return 1
	is "$(value backwards check) == 0" || { cat check; return 1; }
	"$STACKBUF" log --last 1000 >log || return 1
	rmmod stackbuf
}

# ------------------------------------------------------------------------

storm() {
	run storm "$@" >storm
	note storm
	accounted
}

# run_turns N: N rounds in which each CPU records in turn
run_turns() {
	run turns "$1" >turns
	cat turns
	is "$(value never turns) == 0"
}

case $kind in
usual)
	echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
	chmod 755 / /t /tmp
	chmod 777 /tmp
	insmod /t/big/stackbuf.ko
	result "nobody but root reads anything, or writes a parameter" only_root
	result "no kernel address where anybody can read" addresses
	rmmod stackbuf
	result "a CPU goes and comes back while all record, every recall verified" hotplug
	echo "ok suspended to idle and back # SKIP this kernel has no /sys/power/pm_test: see the debug kernels"
	result "the wall clock jumps: events stay in order" clock
	;;
failing)
	result "suspended to idle and back" idle
	grep '^# suspended ' result
	result "allocations fail one by one: the load is refused, or whole" failing
	grep '^# of ' result
	result "... for lists of probes and pairs: what was set stays, or its place is taken" lists_fail
	grep '^# [a-z]*: of ' result
	result "kmemleak finds nothing afterwards" leak
	;;
one | eight)
	result "there are as many CPUs as asked for" is "$(nproc) == $([ "$kind" = one ] && echo 1 || echo 8)"
	load big
	result "a storm on all CPUs under timers and NMIs: everything accounted for" storm 4000 400 700 1
	unload
	;;
many)
	result "there are 128 CPUs" is "$(nproc) == 128"
	load many
	result "64 pages of events for 128 CPUs: each of them records" run_turns 2
	result "the record is whole" check
	result "unloads" unload
	;;
possible)
	text="600 possible CPUs, the usual sizes: a storm, everything accounted for"
	if ! grep -qx 0-599 /sys/devices/system/cpu/possible; then
		# Since 6.9
		echo "ok $text # SKIP this kernel counts as possible only what the machine has places for"
		echo "done"
		exit 0
	fi
	load big
	result "$text" storm 4000 400 700 1
	result "each CPU that is there records" run_turns 5
	result "unloads" unload
	;;
nodebugfs)
	nothing() { ! grep ' debugfs ' /proc/mounts && ! mount -t debugfs none /sys/kernel/debug; }
	result "there is no debugfs" nothing
	insmod /t/big/stackbuf.ko verify=1 probe=dput
	work 1
	by_kcore() { "$STACKBUF" log --last 100 >log && is "$(grep -c '+0x' log) > 200"; }
	result "the reader reads the record by /proc/kcore" by_kcore
	result "unloads" rmmod stackbuf
	;;
key)
	# The firmware has written to all ports
	echo
	result "the kernel has the key of the firmware's list" grep stackbuf-test /proc/keys
	said='^[a-z-]*: .*the kernel loads only modules signed with a key that it knows: mokutil --import /var/lib/dkms/mok.pub, reboot, and confirm the key (stackbuf(4), SIGNED MODULES)$'
	# refuses COMMAND...: one line of standard error says what to do
	refuses() {
		if "$@" 2>err; then return 1; fi
		cat err
		is "$(wc -l <err) == 1 && $(grep -c "$said" err) == 1" && ! grep '^stackbuf ' /proc/modules
	}
	place=/lib/modules/$(uname -r)/updates
	mkdir -p "$place" beside
	cp "$STACKBUF" beside/stackbuf
	cp /t/big/stackbuf.ko beside/
	result "module.sig_enforce=1: stackbuf snoop, an unsigned module beside it: refused, and how to enrol a key" \
		refuses beside/stackbuf snoop vfs_read -n 1
	cp /t/big/stackbuf.ko "$place/" && /usr/sbin/depmod 2>/dev/null
	result "an unsigned module for modprobe: likewise" refuses "$STACKBUF" snoop vfs_read -n 1
	result "an unsigned module for the service: likewise" refuses bash /t/stackbuf-service start
	# A key that the kernel lacks
	head -c -40 /t/signed/stackbuf.ko >"$place/stackbuf.ko" && tail -c 40 /t/signed/stackbuf.ko >last
	dd if=/dev/zero of="$place/stackbuf.ko" bs=1 count=16 conv=notrunc seek=$(($(stat -c %s "$place/stackbuf.ko") - 64)) 2>/dev/null
	cat last >>"$place/stackbuf.ko"
	result "a module whose signature is wrong: likewise" refuses "$STACKBUF" snoop vfs_read -n 1
	cp /t/signed/stackbuf.ko "$place/"
	snoop() {
		# cat would use sendfile()
		(while [ ! -e end ]; do read -r _ </proc/uptime; sleep 0.1; done) &
		"$STACKBUF" snoop vfs_read -n 1 || return 1
		touch end
		wait
		rmmod stackbuf
	}
	result "one signed with that key is loaded" snoop
	;;
huge)
	load huge
	full() {
		run tags 3000000 40 4 >tags
		check || return 1
		cat check
		is "$(value overwritten check) == 0 && $(value total check) == 3000000 * $(nproc) + 1"
	}
	result "256 MiB of events: millions, none overwritten" full
	unload
	;;
clients)
	# Verify one of 64 recalls only: an emulator is too slow to walk them all
	insmod /t/big/stackbuf.ko verify=64
	sixty_four() {
		for n in $(seq 10 73); do
			insmod "/t/big/client$n.ko" functions=dput || return 1
		done
		is "$(lsmod | grep -c '^stackbuf_pro') == 64" || return 1
		work 3
		sum=0
		for n in $(seq 10 73); do
			rmmod "stackbuf_pro$n" || return 1
			sum=$((sum + $(dmesg | sed -n "s/.*stackbuf_pro$n: attempted \([0-9]*\) .*/\1/p")))
		done
		is "$sum > 10000 && $sum == $(latest events_recorded) + $(latest events_refused) - 1" || return 1
		sound 10000
	}
	result "64 clients: what all attempted is recorded or counted" sixty_four
	rmmod stackbuf
	;;
esac
echo "done"
