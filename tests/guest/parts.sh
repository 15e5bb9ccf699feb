#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Tests builds that leave out parts, in the guest.  /t/DIRECTORY of each has its modules and an
# sbcheck that knows which pages the build has.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

prints() {
	dmesg >log
	grep -q 'INIT stackbuf\.$' log && grep -q ' stackbuf_init+0x.*\[stackbuf\]$' log || { cat log; return 1; }
	/t/"$kind"/sbcheck printed <log
}

# The command reads the live module and a copy of the arrays
reads_back() {
	run path 0x1234 6 0xc0ffee 10 >path || return 1
	dump now && /t/"$kind"/sbcheck check now || return 1
	"$STACKBUF" log --tag 0xc0ffee >events || return 1
	[ "$(grep -c '0xc0ffee$' events)" = 10 ] || { cat events; return 1; }
	"$STACKBUF" -f now log --tag 0xc0ffee >copy 2>said && cmp events copy && [ ! -s said ] || { cat said; return 1; }
	"$STACKBUF" text >text && grep -q "^stack $(value id path) " text || { cat text; return 1; }
}

# Parts that are left out are absent, the others work
has() {
	case $kind in
	no-deepest)
		echo +vfs_read >$P/probe && "$STACKBUF" info >info && echo >$P/probe || return 1
		grep '^  vfs_read .* set$' info || { cat info; return 1; }
		;;
	*) [ ! -e $P/probe ] || return 1 ;;
	esac
	"$STACKBUF" depth >depth 2>said
	cat said
	case $kind in
	no-probes) [ ! -s said ] && grep ' go+0x' depth ;;
	*) grep -q 'DEEPEST=n' said && [ ! -s depth ] ;;
	esac
}

# The reader misses no page and names the parts that are left out
says() {
	"$STACKBUF" info >info 2>said && [ ! -s said ] && grep -qx 'missing pages  *0' info &&
		grep -qx 'damaged pages  *0' info || { cat info said; return 1; }
	"$STACKBUF" info --json >json || return 1
	grep '^probes ' info
	case $kind in
	no-deepest) grep -qx 'probes  *0' info ;;
	*) grep -qx 'probes  *none: .*with PROBES=n' info ;;
	esac
}

# The command refuses to set probes
sets_none() {
	! "$STACKBUF" snoop vfs_read >snoop 2>said && cat said && grep -q 'PROBES=n' said
}

stops() {
	echo 0 >$P/enable
	run path 0x1234 6 0xdecaf 1 >path || return 1
	echo 1 >$P/enable
	run path 0x1234 6 0xfeed 1 >path || return 1
	"$STACKBUF" log >events
	! grep '0xdecaf$' events && grep -q '0xfeed$' events
}

for kind in neither $(few '' 'no-probes no-deepest'); do
	dmesg -c >/dev/null
	load "$kind" || exit 1
	result "$kind: load prints its own stack" prints
	result "$kind: events are recorded and read back" reads_back
	result "$kind: what is left out is absent, what is not works" has
	result "$kind: the reader says what is left out" says
	[ "$kind" = no-deepest ] || result "$kind: the reader sets no probes where there are none" sets_none
	result "$kind: enable=0 stops recording" stops
	unload || exit 1
done
echo "done"
