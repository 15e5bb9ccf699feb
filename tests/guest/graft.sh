#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/long/graft.t: a kernel with stackbuf in its own source, /t/what: y, built in, with calls
# in do_sys_openat2(), kstrdup() and memblock_add(), and probes from the command line, which ends by
# a panic; kept, the same with memory that outlives a reset; m, a module.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

fact() { stackbuf info | sed -n "s/^ *$1  *\([0-9]*\).*/\1/p"; }

# The first event is of start_kernel(), before initcalls, and memblock_add() came too early
from_the_first() {
	stackbuf log --folded --comm 'swapper*' >all
	head -n 3 all
	stackbuf log --json | head -n 1 >first && cat first
	grep -q 'start_kernel' first && ! grep -q 'do_one_initcall\|kernel_init' first && is "$(fact 'recording was off') > 0" &&
		is "$(fact 'recording was off') < 100" && grep -q 'start_kernel;.*kstrdup [0-9]*$' all && ! grep -q 'memblock_add' all
}
# opens N: how many events of do_sys_openat2() a process has that opens N files besides its own
opens() {
	sh -c 'echo $$ >pid; for i in $(seq '"$1"'); do exec 3</proc/version; done'
	stackbuf log --folded --pid "$(cat pid)" | awk '/do_sys_openat2 [0-9]*$/ { n += $NF } END { print n + 0 }'
}
each_open() { is "$(opens 30) - $(opens 10) == 20"; }
right() {
	is "$(fact 'recalled wrongly') == 0" && is "$(fact 'recalled and verified') > 100" && is "$(fact 'damaged pages') == 0" &&
		is "$(fact 'nested too deep') == 0" && is "$(fact 'no frame found') == 0"
}
probes_of_boot() {
	[ "$(cat $P/probe)" = vfs_read,t:kmem:kfree ] || { cat $P/probe; return 1; }
	stackbuf info >facts
	is "$(fact 'probes') == 2" || { cat facts; return 1; }
	# kfree() was hit before the first process
	stackbuf log --folded --comm 'swapper*' >out
	grep -q 'kfree' out || { head out; return 1; }
}
# Has files read that qemu_fw_cfg has, and prints how many events the probe in it has
firmware_reads() {
	cat /sys/firmware/qemu_fw_cfg/by_key/*/raw >/dev/null 2>&1
	stackbuf log --folded | awk -v leaf="$function" '$0 ~ ";" leaf "[^;]*$" { n += $NF } END { print n + 0 }'
}
# Our own code is not probed, a module's is, whenever it comes
probes() {
	for own in stackbuf_save sbuf_table_get; do
		if echo $own >$P/probe 2>/dev/null; then echo "accepted: $own"; return 1; fi
	done
	rmmod qemu_fw_cfg 2>/dev/null
	insmod /t/qemu_fw_cfg.ko || return
	function=$(sed -n 's/.* [tT] \(fw_cfg_[a-z_]*read[a-z_]*\)\t\[qemu_fw_cfg\]$/\1/p' /proc/kallsyms | head -n 1)
	# Set before it is loaded, and while it is
	rmmod qemu_fw_cfg && echo "qemu_fw_cfg:$function" >$P/probe && insmod /t/qemu_fw_cfg.ko && firmware_reads >before || return
	echo >$P/probe && echo "qemu_fw_cfg:$function" >$P/probe && firmware_reads >after && rmmod qemu_fw_cfg && echo >$P/probe || return
	is "$(cat before) > 0" && is "$(cat after) > $(cat before)"
}
pairs() {
	echo slab >$P/pair && sleep 1 && stackbuf leaks >out && echo >$P/pair && grep -q '^slab: [1-9].* open' out || { head out; return 1; }
}
stays() { ! rmmod stackbuf 2>/dev/null && echo 0 >$P/enable && [ "$(cat $P/enable)" = 0 ] && echo 1 >$P/enable && [ "$(cat $P/enable)" = 1 ]; }

if [ "$(cat /t/what)" = m ]; then
	insmod /t/stackbuf.ko probe=vfs_read verify=1 || exit 1
	head -c 1 /proc/version >/dev/null
	stackbuf log --folded >out
	result "it records" grep -q 'vfs_read' out
	result "the kernel's own calls do nothing" [ "$(grep -c 'do_sys_openat2 [0-9]*$' out)" = 0 ]
	rmmod stackbuf
	echo "done"
	exit
fi
# What the boot before has left, from its first event to its last
kept() {
	stackbuf --kept log --json >events || return 1
	head -n 1 events
	tail -n 1 events
	head -n 1 events | grep 'start_kernel' | grep -v 'do_one_initcall' && tail -n 1 events | grep 'do_sys_openat2' &&
		stackbuf --kept info >facts && stackbuf info | grep 'recording was off' && ! grep -q 'missing pages  *[1-9]' facts
}
if [ "$(cat /t/what)" = kept ]; then
	if [ -e /out/again ]; then
		result "what the boot before has kept" kept
		echo "done"
		exit
	fi
	: >/out/again
	sync
	for _ in 1 2 3; do : </proc/version; done
	host reset
	sleep 100
fi
result "it records from start_kernel() on" from_the_first
result "each open is an event" each_open
result "probes of the command line" probes_of_boot
result "its own code is refused, a module's is probed" probes
result "pairs" pairs
result "it stays, and is switched off and on" stays
result "nothing was recalled wrongly" right
dmesg >log
result "what is said" [ "$(grep -c 'INIT stackbuf' log)" = 1 ]
sh -c 'exec 3</proc/version'
echo "done"
sync
dmesg -n 7
echo c >/proc/sysrq-trigger
