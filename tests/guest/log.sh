#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Tests the command stackbuf, live in the guest: N tagged saves on each CPU over 40
# paths, several laps of the ring.  What the command prints is compared with what
# stackbuf_save_tag() returned to the client module.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

N=$(few 10000 100000)
CPUS=$(nproc)

load big || exit 1
run tags "$N" 40 4 >tags
note tags

# The newest events of each CPU: each once, in order, up to the last, with the right stack
newest() {
	# Of each CPU, as one may have ended long before the other
	for cpu in $(seq 0 $((CPUS - 1))); do
		"$STACKBUF" log --json --cpu "$cpu" --last "$(few 3000 10000000)" || return
	done >log
	awk -v n="$N" -v cpus="$CPUS" -f /t/tags.awk tags log && rm log
}

# The total of every path, including events that were overwritten
totals() {
	"$STACKBUF" count --json >count || return
	sed -n 's/.*"count": *\([0-9]*\).*/\1/p' count | sort -n | uniq -c >totals
	awk -v each=$((N * CPUS / 40)) '
		$2 == each { paths = $1; next }
		{ others += $1 * $2 }
		END { exit !(paths == 40 && others == 1) }' totals || { cat totals; return 1; }
}

same_by_kcore() {
	echo 0 >$P/enable
	"$STACKBUF" log >by-debugfs && umount /sys/kernel/debug || return
	"$STACKBUF" log >by-kcore 2>err
	status=$?
	mount -t debugfs none /sys/kernel/debug
	cat err
	[ $status = 0 ] && cmp by-debugfs by-kcore && [ "$(wc -l <by-kcore)" -gt 10000 ] && rm by-*
}

# By VMCOREINFO; the kernel's own list has the address to which Debian's vmlinux is linked, moved
kaslr() {
	linked=$(sed -n 's/^ffffffff\([0-9a-f]*\) T _text$/\1/p' /proc/kallsyms)
	"$STACKBUF" info >info 2>&1 || return
	grep -qx "offset of KASLR  *$(printf '0x%x' $((0x$linked - 0x81000000)))  (from VMCOREINFO)" info ||
		{ echo "_text: $linked"; grep KASLR info; return 1; }
}
versions() {
	version=$(cat /sys/module/stackbuf/version) || return
	"$STACKBUF" --version | grep -qx "module $version is loaded" &&
		"$STACKBUF" info | grep -qx "module's version  *$version"
}

# all_named FILE...: log --json has events of 100 stacks that all have names
all_named() {
	for file; do
		is "$(grep -c '"symbols":"none"' "$file") == 0 && $(grep -c '"symbols":"' "$file") >= 100" ||
			{ echo "$file"; return 1; }
	done
}

# New stacks, and a client that goes
while_held() {
	run distinct 400 5 0 >distinct
	"$STACKBUF" info --json >held || return
	"$STACKBUF" log --json --last 300 >held.log && "$STACKBUF" save snap &&
		"$STACKBUF" -f snap log --json --last 300 >snap.log || return
	dump now at-once && "$STACKBUF" -f now log --json --last 300 >dump.log || return
	# None of these waits for texts, or loses one
	echo 1 >$P/verify && run path 0x77 8 0 100 >again && echo 4096 >$P/verify || return
	echo 0 >$P/enable && run distinct 50 8 0 >distinct && echo 1 >$P/enable || return
	echo vfs_open >$P/probe && cat /proc/version >version && echo >$P/probe || return
	# Its frames are rendered before its code goes
	echo "alloca 400" >/sys/module/stackbuf_fit/parameters/run && rmmod stackbuf_fit && "$STACKBUF" text >text && "$STACKBUF" info --json >gone
}
# While the worker that renders stacks does not come to it
held() {
	run distinct 100 5 0 >distinct
	insmod /t/big/stackbuf_fit.ko && run hold 1 || return
	while_held
	status=$?
	run hold 0
	[ $status = 0 ] && rest && "$STACKBUF" info --json >rest || return
	is "$(fact texts_missing held) >= 300 && $(fact differed gone) == 0 && $(fact verified gone) > 0 && $(fact texts_missing gone) >= 300 && $(fact texts_missing rest) == 0" &&
		is "$(fact texts_given_up rest) == 0 && $(grep -c '\[stackbuf_fit\]$' text) > 100" || return
	check /proc/kallsyms && all_named held.log snap.log dump.log
}
result "log: the newest events of each CPU, each once, in order, with the right stack" newest
result "count: totals are exact after several laps of the ring" totals
result "log: the same by /proc/kcore, without debugfs" same_by_kcore
why=
[ "$arch" = x86_64 ] || why='vmlinux is linked elsewhere'
[ -e /sys/kernel/vmcoreinfo ] || why='this kernel has no VMCOREINFO'
unless "$why" "info: the offset of KASLR" kaslr
result "--version and info: the version of the module" versions

# Recording is off: the numbers stay
metrics() {
	"$STACKBUF" metrics --top 100 -o live.prom && "$STACKBUF" info >info || return
	grep -qx "stackbuf_events_total $(sed -n 's/^events recorded  *//p' info)" live.prom &&
		grep -qx "stackbuf_events_recalled_total $(sed -n 's/^  of them recalled  *//p' info)" live.prom &&
		[ "$(grep -c "^stackbuf_stack_events_total{.*} $((N * CPUS / 40))\$" live.prom)" = 40 ] || { grep -v '^#' live.prom; cat info; return 1; }
}

result "metrics: the numbers recorded" metrics

# What was recorded since a snapshot, which has the machine's name: these paths and no others
what_changed() {
	hostname flight && "$STACKBUF" save before && "$STACKBUF" -f before info --json | grep -q '"host":"flight"' || return
	run tags 1000 3 4 >tags.more || return
	"$STACKBUF" diff --json before >changes || return
	# Of each CPU, 1000 saves over 3 of the paths
	sed -n 's/.*"change":"more","before":\([0-9]*\),"after":\([0-9]*\),.*/\1 \2/p' changes >changed
	awk -v cpus="$CPUS" '{ n += $2 - $1 } END { exit !(n == 1000 * cpus && NR == 3) }' changed &&
		[ "$(wc -l <changes)" = 3 ] || { cat changes; return 1; }
	"$STACKBUF" save after && "$STACKBUF" diff --json before after | cmp - changes
}

echo 1 >$P/enable
result "diff: what was recorded since a snapshot" what_changed
with KPROBES "stacks whose text waits are counted and have names; those of a client that goes do not wait" held
unload
result "not loaded: one line, and a status that is not 0" sh -c \
	"! '$STACKBUF' log >out 2>err && [ ! -s out ] && [ \"\$(wc -l <err)\" = 1 ]"
echo "done"
