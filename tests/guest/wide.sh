#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures how late a task of the highest priority wakes while a list of probes is set, in the
# guest.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

P=/sys/module/stackbuf/parameters
LATE=/sys/module/stackbuf_wide/parameters/late_ns

# late COMMAND...: the latest wakeup in ns while the command runs three times
late() {
	echo 0 >$LATE
	for _ in 1 2 3; do
		"$@" 2>/dev/null
		sleep 0.1
	done
	cat $LATE
}
kallsyms() {
	cat /proc/kallsyms >/dev/null
}
nothing() {
	sleep 0.1
}
search() {
	# The module does not have this function, so no probe is set
	echo stackbuf_wide:nothing >$P/probe
}

insmod /t/big/stackbuf.ko && insmod /t/big/stackbuf_wide.ko
waits() {
	echo "# instructions: $(late nothing) at rest, $(late kallsyms) while kallsyms is read, $(late search) while a name is searched"
	is "$(late search) < 1000000"
}
result "a module of 20,000 functions is searched: a task waits for less than a million instructions" waits
note result
rmmod stackbuf_wide && rmmod stackbuf
echo "done"
