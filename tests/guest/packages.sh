#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs what the Debian packages installed: /t/system.tar is that system

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

N=/system
mkdir $N && tar -xf /t/system.tar -C $N && mkdir -p $N/proc && mount -o rbind /proc $N/proc &&
	mount -o rbind /sys $N/sys && mount -o rbind /dev $N/dev || exit 1

inside() { chroot $N env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# Reads all the time, for a probe of vfs_read: cat would use sendfile()
(while :; do read -r _ </proc/uptime; sleep 0.1; done) &
reader=$!

snoop() {
	inside stackbuf snoop vfs_read -n 1 >out 2>err || { cat out err; return 1; }
	cat out
	is "$(grep -c '^	vfs_read' out) == 1"
}
client() {
	insmod /t/mine.ko && rmmod mine && inside stackbuf log --tag 0xbee >out || return 1
	cat out
	grep -q 'mine_exit' out
}
# The module's own functions are in no stack, so this is made up.  --force: without its size
lines() {
	echo 'stackbuf_save_tag+0x0/0x1 [stackbuf]' | inside stackbuf decode --force >out 2>err
	cat out err
	grep -q 'core/[a-z_]*\.c:[1-9]' out
}

result "modprobe loads the module" inside modprobe stackbuf
result "stackbuf snoop vfs_read -n 1" snoop
result "a client built with stackbuf-dev records" client
result "source lines of the module DKMS built" lines
result "it is unloaded" rmmod stackbuf

# ---------------------------------------------------------------- systemd ---

cat >$N/etc/systemd/system/check.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/check
StandardOutput=file:/check.out
StandardError=file:/check.out
END
# There is no journal
mkdir -p $N/etc/systemd/system/stackbuf.service.d
printf '[Service]\nStandardError=append:/service.err\n' >$N/etc/systemd/system/stackbuf.service.d/error.conf
cat >$N/check <<'END'
#!/bin/bash
say() { echo "$* $?"; }
module() { [ -e /sys/module/stackbuf ]; }
unit() { systemctl --no-pager "$@" stackbuf; }
save() { sed -i "s,^$1=.*,$1=\"$2\"," /etc/stackbuf.conf; }
save PARAMETERS 'probe=vfs_read pid=0'
unit start; say started
module; say loaded
grep -q vfs_read /sys/module/stackbuf/parameters/probe; say parameters
sleep 2
unit stop; say stopped
! module; say unloaded
stackbuf -f /var/lib/stackbuf/last log --last 3 | grep vfs_read; say snapshot
# Another record replaces it
unit restart && unit stop && [ "$(ls /var/lib/stackbuf)" = last ]; say again
save MODULES no_such_module
save WAIT 1
! unit start; say refused
unit status | grep Process
systemctl --force exit 0
END
chmod 755 $N/check

system() {
	# A system in the system: its own processes, its own /run; and its own root, as systemd makes mount
	# namespaces for a service
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m -p -f sh -c 'mount -t proc proc $0/proc && mount -t tmpfs tmpfs $0/run && mount -t cgroup2 none $0/sys/fs/cgroup &&
		mount -o rbind $0 $0 && cd $0 && mkdir -p old && pivot_root . old && umount -l /old &&
		exec chroot . env -i container=stackbuf /lib/systemd/systemd --unit=check.service --log-target=null --show-status=no' $N \
		>systemd.log 2>&1
	echo "systemd ended with $?"
	tail -n 5 systemd.log
	cat $N/check.out $N/service.err
	grep -q 'the module no_such_module is not loaded after 1 seconds' $N/service.err || return 1
	for word in started loaded parameters stopped unloaded snapshot again refused; do
		grep -qx "$word 0" $N/check.out || { echo "not $word"; return 1; }
	done
}
result "systemd starts and stops the service, which loads, saves the record and unloads" system
kill $reader
echo "done"
