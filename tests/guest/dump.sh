#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs a workload, then takes every kind of dump of this machine.  At the end, if a capture
# kernel is loaded, panics, so that this script runs in the capture kernel, as /t/capture, and
# reads /proc/vmcore.

if [ "${0##*/}" = capture ]; then
	reader=$(cat /t/reader)
	for command in info log count text; do
		"$reader" -f /proc/vmcore $command >"/out/capture.$command" 2>>/out/capture.err
	done
	exit
fi

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

result "QEMU: raw, before the module is loaded" host raw before
load big || exit 1
run tags 60000 40 4 >/out/tags
if [ -e /t/reader ]; then
	"$(cat /t/reader)" save /out/live || exit 1
else
	mkdir /out/live && cp $D/text $D/info $D/events $D/stacks /out/live/ || exit 1
fi
cp /proc/kallsyms /out/
cat /proc/cmdline >/out/cmdline
for kind in raw elf; do result "QEMU: $kind" host $kind $kind; done
for kind in elf-paging kdump-zlib; do
	on_x86 "QEMU does that for x86 only" "QEMU: $kind" host $kind $kind
done
sync
echo "done"
[ "$(cat /sys/kernel/kexec_crash_loaded)" = 1 ] || exit 0
# Let the output reach the host before the machine stops
sleep 1
echo c >/proc/sysrq-trigger
