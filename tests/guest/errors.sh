#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For tests/errors.t: errors of the kernel's own functions, of which the sources say where they come from.

# shellcheck source=lib.sh
. /t/lib.sh

C=/sys/kernel/config/nullb/nullb0

for module in configfs null_blk loop; do
	[ ! -e /t/$module.ko ] || case $module in
	null_blk) insmod /t/null_blk.ko nr_devices=0 ;;
	*) insmod /t/$module.ko ;;
	esac
done

# The journal of this ext4 has no magic number
mount_fails() {
	insmod /t/big/stackbuf.ko probe='ext4_*super*%return@error,*journal*%return@error' && mkdir -p /mnt || return 1
	! mount -t ext4 -o loop /t/spoilt /mnt 2>said && grep 'Invalid argument' said && "$STACKBUF" errors -e EINVAL >found || return 1
	cat found
	# 5.17 has ext4_load_and_init_journal(), and in 6.12 the compiler inlines journal_get_superblock()
	grep -xE '1 -EINVAL from (journal_get_superblock|journal_init_common)' found && is "$(grep -c '^[0-9]' found) == 1" &&
		grep -E '^	\[-EINVAL] (jbd2_journal_wipe|jbd2_journal_init_inode|jbd2_journal_load)\+' found &&
		grep -E '^	\[-EINVAL] ext4_fill_super\+' found && grep -E '^	          get_tree_bdev' found && rmmod stackbuf
}

# Without fprobe each of some 600 functions takes a kretprobe
readme() {
	insmod /t/big/stackbuf.ko probe='ext4_*%return@error' && "$STACKBUF" info | grep 'ext4_' && rmmod stackbuf
}

# The same as it happens, with its callers by tail calls
as_it_happens() {
	insmod /t/big/stackbuf.ko || return 1
	(until [ -n "$(cat $P/probe)" ]; do usleep 50000; done; usleep 500000; mount -t ext4 -o loop /t/spoilt /mnt; killall -INT stackbuf) 2>said &
	"$STACKBUF" errors -e EINVAL '*journal*' 'ext4_*super*' ext4_get_tree 'get_tree_bdev*' vfs_get_tree >found 2>err && wait && cat found err || return 1
	is "$(grep -c '^[0-9]' found) == 1" && grep -E '^	\[-EINVAL] vfs_get_tree\+' found && rmmod stackbuf
}

# A disk with bad blocks (one range: 6.1 has a mistake where there are two): read beside good ones, in two ways, for as long as an hour has reads
bad_blocks() {
	mount -t configfs none /sys/kernel/config 2>/dev/null
	mkdir $C && echo 1 >$C/memory_backed && echo 64 >$C/size && echo 1 >$C/power && echo +1024-1535 >$C/badblocks || return 1
	disk=/dev/nullb0
	insmod /t/big/stackbuf.ko probe='*direct_IO*%return@error,blkdev_*%return@error,filemap_*%return@error,t:block:block_rq_issue' || return 1
	for _ in $(seq "$(few 40 400)"); do
		dd if="$disk" of=/dev/null bs=4k count=8 iflag=direct && ! dd if="$disk" of=/dev/null bs=4k skip=128 count=1 iflag=direct &&
			! dd if="$disk" of=/dev/null bs=4k skip=140 count=1 || return 1
	done 2>said
	"$STACKBUF" errors -e EIO >found && cat found && grep -q 'EIO' found || return 1
	seq "$(few 40 400)" | tail -n 1 >/out/reads
	sync
}

result "mount fails and says nothing: which function, in a journal without its magic number" mount_fails
result "... as it happens: one path, through functions that end by calling the next" as_it_happens
result "README's example can be set" readme
result "a disk with bad blocks" bad_blocks
echo "done"
[ "$(cat /sys/kernel/kexec_crash_loaded)" = 1 ] || exit 0
# Let the output reach the host before the machine stops
sleep 1
echo c >/proc/sysrq-trigger
