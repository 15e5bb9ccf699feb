#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the commands of docs/recipes.md that are root's.  /t/doc/RECIPE holds those of a recipe, a
# line each; the transcript goes to /out/RECIPE.  The host compares what they print.  With the recipe
# "before" only that one is run, and, after its panic and a reset, "after".

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

mkdir -p /root/recipes && cd /root/recipes || exit 1
ln -sf /t/big/*.ko /t/*.ko . && ln -sf "$STACKBUF" /bin/stackbuf || exit 1
PROBE=$P/probe

# 1,000 single bytes, once a probe is set; then the command ends
write_bytes() {
	until grep -q . $PROBE; do usleep 50000; done
	dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
	killall -INT stackbuf
}

# play RECIPE: its commands, as a transcript
play() {
	while IFS= read -r line <&3; do
		case $line in
		OBJECT=*) line="OBJECT=$(freed kfree_rcu 1) SIZE=$(freed kfree_rcu 2)" ;;
		*'count -D'*) write_bytes & ;;
		esac
		echo "# $line"
		# It ends when all is written, however long that takes
		case $line in *'count -D 5'*) line="${line%%-D 5*}-D 6000${line#*-D 5}" ;; esac
		# What is not on the disk by then is lost
		case $line in *sysrq*) sync && sleep 1 ;; esac
		eval "$line" 3<&-
	done >"/out/$1" 2>&1 3<"/t/doc/$1"
}

# The guest's modules are files, without what tells modprobe where they are
modprobe() {
	name=$1
	shift
	[ "$name" != ramoops ] || insmod reed_solomon.ko
	insmod "$name.ko" "$@"
}

if [ -e /t/doc/before ]; then
	if [ ! -e /out/before ]; then
		# The host reads the log of the panic from the console
		dmesg -n 7
		play before
		echo "no panic" && exit 1
	fi
	play after
	cp /sys/fs/pstore/* /out/
	exit
fi

# freed WAY N: word N of "ADDRESS SIZE", of the object that the module freed in this way last
freed() {
	dmesg | sed -n "s/.*stackbuf_free: $1: object at \(0x[0-9a-f]*\), \([0-9]*\) bytes/\1 \2/p" |
		tail -n 1 | cut -d ' ' -f "$2"
}

# events WAY: by the recipe's own command, those whose tags lie in the object.  All, not the last
# one: what was freed at once may have been reused since.
events() {
	# shellcheck disable=SC2034 # for the command
	OBJECT=$(freed "$1" 1) SIZE=$(freed "$1" 2)
	[ -n "$OBJECT" ] || { echo "no object"; return 1; }
	eval "$(tail -n 1 /t/doc/freed | sed 's/ --last 1$//')" >events
	cat events
}

# found WAY [FRAME]: of the functions that free, this one is found, or none
found() {
	events "$1" && grep -o '^	free_by_[a-z_]*' events | tr -d '\t' >frames
	echo "$2" | grep . | cmp - frames
}

play freed
for way in kfree kfree_sensitive kmem_cache_free kfree_rcu vfree kvfree free_pages; do
	result "freed by $way(): found, with its caller" found "$way" "free_by_$way"
done
result "freed by call_rcu(): found, with the callback" found call_rcu free_by_callback
result "freed by kmem_cache_free_bulk(): not found, as the page says" found kmem_cache_free_bulk ""
# The probes of the table that are not in the command.  Loaded anew, as this time objects may have
# the addresses of the first.
rmmod stackbuf_free
rmmod stackbuf
result "the table's other probes can be set" insmod stackbuf.ko probe="$(cat /t/doc/others)"
insmod stackbuf_free.ko
result "freed by kfree_rcu_mightsleep(): found, with its caller" found kfree_rcu_mightsleep free_by_kfree_rcu_mightsleep
result "freed by call_rcu(): found, with its caller" found call_rcu free_by_call_rcu
rmmod stackbuf_free
rmmod stackbuf

play life
rmmod stackbuf

insmod stackbuf.ko
play callers
cp callers.svg /out/
rmmod stackbuf

insmod /t/loop.ko 2>/dev/null
cp /t/disk.img . && mkdir -p /mnt
play error
rmmod stackbuf

play mine
rmmod mine
rmmod stackbuf

echo "done"
# The host reads the log of the panic from the console
dmesg -n 7
play panic
