#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Records a workload with probes, for the tests of source lines, profiles and flame
# graphs.  Writes the four arrays, kallsyms and the kernel log to /out.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

load big || exit 1
insmod /t/stackbuf_probe.ko functions=vfs_read,dput,__schedule,handle_mm_fault,kmem_cache_free || exit 1
cat /proc/kallsyms >/out/kallsyms
for _ in 1 2 3; do
	find /proc /sys -maxdepth 3 >/dev/null 2>&1
	tar cf - /t/lib.sh /bin 2>/dev/null | gzip >/tmp/archive
	find /dev | sort >/dev/null &
	wait
done
# Make sure that the record has frames of a module
run path 1 6 1 50 >/dev/null || exit 1
rmmod stackbuf_probe
for array in text info events stacks; do
	cat /sys/kernel/debug/stackbuf/$array >/out/$array || exit 1
done
rmmod stackbuf_test stackbuf
dmesg >/out/dmesg
echo "done"
