#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Records frames of stackbuf.ko and of a client, mine.ko.  Writes to /out: the record as a
# snapshot and as the four arrays, the modules' build ids, and a snapshot taken after another
# build of mine.ko was loaded.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

load big || exit 1
insmod /t/ran/mine.ko || exit 1
"$STACKBUF" save /out/snapshot || exit 1
for array in text info events stacks; do cat $D/$array >/out/$array || exit 1; done
for module in stackbuf mine; do
	cat /sys/module/$module/notes/.note.gnu.build-id >/out/$module.note || exit 1
done
# Load the other build to the addresses of the first, which may take several tries
places() { cat /sys/module/mine/sections/.text /sys/module/mine/sections/.init.text; }
for _ in $(seq 40); do
	was=$(places)
	rmmod mine && insmod /t/edited/mine.ko || exit 1
	now=$(places)
	[ "$was" != "$now" ] || break
	rmmod mine && unload && load big && insmod /t/ran/mine.ko || exit 1
done
result "the client's other build is loaded to the addresses of the first" [ "$was" = "$now" ]
"$STACKBUF" save /out/again || exit 1
rmmod mine stackbuf_test stackbuf
echo "done"
