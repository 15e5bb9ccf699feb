#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures how long stackbuf keeps interrupts off and how much stack it uses.  Prints lines
#
#	irqs NAME LONGEST WALK	instructions; WALK: of stack_trace_save() at the same depth
#	stack NAME BYTES MOST
#	recalled NAME EVENTS
#	interrupts NAME TIMES		of busy CPUs, for eviction, until then

set -u

P=/sys/module/stackbuf/parameters
dmesg -n 1

# longest NAME MODULE KIND ROUNDS
longest() {
	echo 0 >$P/irqs_off
	echo "$3 $4" >/sys/module/"$2"/parameters/run || exit 1
	echo "irqs $1 $(cat $P/irqs_off) $(cat /sys/module/"$2"/parameters/walk)"
}

fact() { "$(cat /t/reader)" info --json | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"; }
recalled() { fact events_recalled; }

# by_symbols MODULE: measurements that must not depend on the number of symbols
by_symbols() {
	insmod /t/stackbuf.ko && insmod "/t/stackbuf_$1.ko" || exit 1
	longest "$1-new" "stackbuf_$1" save 1
	# Unloading a module makes recall forget all layouts
	insmod /t/stackbuf_fit.ko && rmmod stackbuf_fit || exit 1
	longest "$1-again" "stackbuf_$1" save 1
	# Record and recall at the beginning of a function of the module
	echo many_probed >$P/probe || exit 1
	before=$(recalled)
	longest "$1-probe" "stackbuf_$1" probe 100
	echo "recalled $1-probe $(($(recalled) - before))"
	rmmod "stackbuf_$1" stackbuf
}

# taken NAME FRAMES: bytes of the stack that a save used
taken() {
	echo "stack $2" >/sys/module/stackbuf_few/parameters/run || exit 1
	echo "stack $1 $(cat /sys/module/stackbuf_few/parameters/stack) $(cat /sys/module/stackbuf_few/parameters/stack_most)"
}

if [ -e /t/instructions ]; then
	by_symbols few
	by_symbols many
fi

insmod /t/stackbuf.ko && insmod /t/stackbuf_few.ko || exit 1
taken new 20
taken again 20
taken deep 60
# A filter adds one function call
echo 1000000 >$P/limit
taken filtered 22
echo 0 >$P/limit
if [ -e /t/instructions ]; then
	# Two laps of the ring, consecutive events having different stacks
	longest page stackbuf_few save 600000
	echo "interrupts page $(fact evict_interrupts)"
	longest full stackbuf_few full 14
	echo "interrupts full $(fact evict_interrupts)"
	taken full 21
fi
rmmod stackbuf_few stackbuf

# The same module without what measures it
insmod /t/plain/stackbuf.ko && insmod /t/plain/stackbuf_test.ko || exit 1
if [ -e /t/sights ]; then
	echo sights >/sys/kernel/debug/stackbuf_test/run || exit 1
	sed 's/^/sight /' /sys/kernel/debug/stackbuf_test/run
fi
rmmod stackbuf_test stackbuf
echo "done"
