#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One workload, then every kind of dump of this machine; at last a panic, so that
# the capture kernel takes its own.  There, as /t/capture, this reads /proc/vmcore.

if [ "${0##*/}" = capture ]; then
	reader=$(cat /t/reader)
	for command in log count text; do
		"$reader" -f /proc/vmcore $command >"/out/capture.$command" 2>>/out/capture.err
	done
	exit
fi

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

result "QEMU: raw, before the module is loaded" host raw before
load big || exit 1
run tags 60000 40 4 >/out/tags
"$(cat /t/reader)" save /out/live || exit 1
cp /proc/kallsyms /out/
cat /proc/cmdline >/out/cmdline
for kind in raw elf elf-paging kdump-zlib; do
	result "QEMU: $kind" host $kind $kind
done
sync
echo "done"
# What was said shall have gone out before the machine stops
sleep 1
echo c >/proc/sysrq-trigger
