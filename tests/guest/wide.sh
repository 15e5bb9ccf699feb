#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures how late a task of the highest priority wakes while a list of probes is set, and what
# patterns take, in the guest.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

LATE=/sys/module/stackbuf_many/parameters/late_ns

# late COMMAND...: the latest wakeup in ns while the command runs, in "make test-all" three times
late() {
	echo 0 >$LATE
	for _ in $(few 1 "1 2 3"); do
		"$@" 2>/dev/null || echo "$*" >late-failed
		sleep 0.1
	done
	cat $LATE
}
nothing() { sleep 0.1; }
search() {
	# The module does not have this function, so no probe is set
	echo stackbuf_many:nothing >$P/probe
}

# Soon after boot timers have no more resolution than ticks, 4 ms
for _ in $(seq 100); do
	grep -q 'hres_active *: 0' /proc/timer_list || break
	sleep 0.1
done
insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_many.ko naps=1
waits() {
	searched=$(late search)
	echo "# instructions: $(late nothing) at rest, $searched while a name is searched"
	is "$searched > 0 && $searched < 1000000"
}
result "a module of 20,000 functions is searched: a task waits for less than a million instructions" waits
note result

# set_takes LIST: how many millions of instructions that takes, in tens: as many as ms
set_takes() {
	from=$(now)
	echo "$1" >$P/probe || return 1
	set=$(($(now) - from))
	from=$(now)
	echo >$P/probe || return 1
	echo "# $1: $set million instructions to set, $(($(now) - from)) to remove" >>notes
}
# A kprobe each took 9,300
tcp() { set_takes 'tcp_*' && is "$set < 700"; }
# ftrace searches half a million instructions for each place that it does not know
unknown() {
	set_takes 'stackbuf_many:*' && is "$set < 500" || return 1
	echo 'stackbuf_many:*' >$P/probe && "$STACKBUF" info >facts
	echo >$P/probe
	is "$(sed -n 's/^  stackbuf_many:.* functions, \([0-9]*\) left out.*/\1/p' facts) >= 20000" || { cat facts; return 1; }
}
# Within a second, even of a CPU that takes no more than one and a half in a nanosecond
everything() {
	echo 50 >$P/verify
	"$STACKBUF" count '*' >out 2>err &
	until grep -q '^Tracing [0-9][0-9]* functions' out; do sleep 0.1; done
	ls -lR /sys/module/stackbuf >/dev/null
	from=$(now)
	kill -INT $!
	wait $!
	status=$?
	took=$(($(now) - from))
	facts
	echo "# count '*': $(head -n 1 out | cut -c 1-40), ended $took million instructions after SIGINT" >>notes
	is "$status == 0 && $took < 1500 && $(sed -n 's/^Tracing \([0-9]*\) functions.*/\1/p' out) > 20000" && is "$(fact verified) > 0 && $(fact differed) == 0" && head -n 1 err | grep "^stackbuf: attaching to every function that matches \*, perhaps all" && [ -z "$(cat $P/probe)" ] || { cat err; return 1; }
}
attached() {
	rm -f late-failed
	echo "# instructions: $(late set_takes 'tcp_*') while they are attached and detached" >>notes
	[ ! -e late-failed ] && is "$(cat $LATE) > 0 && $(cat $LATE) < 100000000"
}
: >notes
with DYNAMIC_FTRACE "tcp_*: no more than 700 million instructions" tcp
with DYNAMIC_FTRACE "... a task does not wait long for these" attached
with DYNAMIC_FTRACE "a pattern of 20,000 functions that ftrace does not know" unknown
# Its task, of the highest priority, would take all of the time when all of its calls are recorded
rmmod stackbuf_many
with DYNAMIC_FTRACE "all functions: said before, and Ctrl-C ends it within a second" everything
cat notes
rmmod stackbuf
echo "done"
