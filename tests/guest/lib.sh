# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# lib.sh - shared by the scripts in the guest: results, and the modules under test
#
# Results are printed as "ok TEXT" and "not ok TEXT", and the last line must be
# "done".  The host numbers the results, see ktap() in tests/lib.sh.

set -u

D=/sys/kernel/debug/stackbuf
P=/sys/module/stackbuf/parameters
RUN=/sys/kernel/debug/stackbuf_test/run
T=/sys/kernel/tracing
[ -d $T/events ] || T=/sys/kernel/debug/tracing
# shellcheck disable=SC2034 # for those that include this
KPROBES=/sys/kernel/debug/kprobes
# Not every test brings the command
STACKBUF=$(cat /t/reader 2>/dev/null)
W=/tmp/work
mkdir -p $W && cd $W || exit 1
# Keep the log off the slow serial line: tests read it by dmesg
dmesg -n 1

# few FEW MANY: prints FEW in "make test", MANY in "make test-all"
few() { if [ -e /t/thorough ]; then echo "$2"; else echo "$1"; fi; }

stage() { echo "# $(cut -d. -f1 /proc/uptime) s: $*"; }

note() { sed 's/^/# /' "$@" | cut -c 1-400; }

# now: ms since boot
now() { awk '{ print int(1000 * $1 + 0.5) }' /proc/uptime; }

# spent: a note on the processor time of all CPUs since the last one, if it was some
noted=0
spent() {
	read -r _ user nice system _ _ irq softirq _ </proc/stat
	spent=$(((user + nice + system + irq + softirq) / 100 - noted))
	[ $spent -lt 2 ] || echo "# $spent s of processors until here"
	noted=$((noted + spent))
}

# result TEXT COMMAND...: ok if the command succeeds
result() {
	text=$1
	shift
	if "$@" >result 2>&1; then
		echo "ok $text"
	else
		echo "not ok $text"
		note result
		# The test for a deliberate fault failed as it should: skip the rest
		if [ -e /t/fails ] && echo "$text" | grep -qE "$(cat /t/fails)"; then exit 0; fi
	fi
	spent
}

# Where the kernel has kmemleak, check that nothing leaked
leak() {
	# The first scan may report memory that was freed recently
	for _ in 1 2; do
		echo scan >/sys/kernel/debug/kmemleak || return 1
		sleep 5
	done
	if grep -A 20 'unreferenced object' /sys/kernel/debug/kmemleak; then return 1; fi
}

# Differences between machines.  nmi: 1 where a module can send NMIs.  arguments: how many arguments
# of a function are in registers.  unseen: how many callers the kernel's own tracers leave out after
# a probe at a function's beginning, where arm64 has the return address in a register only.
arch=$(uname -m)
# shellcheck disable=SC2034 # for those that include this
case $arch in
x86_64) entry=entry_SYSCALL_64_after_hwframe nmi=1 arguments=6 unseen=0 ;;
aarch64) entry=el0t_64_sync nmi=0 arguments=8 unseen=1 ;;
esac

# unless WHY TEXT COMMAND...: a result, skipped if there is a WHY
unless() {
	why=$1
	shift
	if [ -z "$why" ]; then result "$@"; else echo "ok $1 # SKIP $why"; fi
}

# on_x86 WHY TEXT COMMAND...: a result, skipped elsewhere because WHY
on_x86() {
	[ "$arch" != x86_64 ] || { shift && set -- '' "$@"; }
	unless "$@"
}

# when FILE WHY TEXT COMMAND...: a result, skipped where the file is missing because WHY
when() {
	file=$1
	shift
	[ ! -e "$file" ] || { shift && set -- '' "$@"; }
	unless "$@"
}

# Does ftrace know functions, and patterns of them?
has_ftrace() { [ -e $T/enabled_functions ]; }

# Can there be probes on tracepoints?
has_events() { [ -d $T/events ]; }

# Kernels that check indirect calls find an event's function by its group before 6.5 and without ftrace
needs_group() {
	grep -q '^CONFIG_CFI' /t/config || return
	! grep -q '^CONFIG_DYNAMIC_FTRACE_WITH_[AR][RE]GS=y' /t/config || uname -r | awk -F. '{ exit $1 > 6 || ($1 == 6 && $2 >= 5) }'
}

# with OPTION TEXT COMMAND...: a result, skipped where the kernel's configuration lacks the option
with() {
	why="CONFIG_$1 is not set"
	! grep -q "^CONFIG_$1=[ym]" /t/config || why=
	shift
	unless "$why" "$@"
}

# Whether KCSAN instruments all functions of modules, and of modules only
kcsan() { grep -qw __tsan_func_entry /proc/kallsyms; }
# slowed: a sanitizer makes times of calls several times as long
slowed() { kcsan || grep -q '^CONFIG_KASAN=y' /t/config; }

# those FUNCTION[@ARGUMENT],...: keeps those whose name this kernel has exactly once
those() {
	echo "$1" | tr ',' '\n' >wanted
	awk 'NR == FNR { if (NF < 4 && $2 ~ /[tTwW]/) n[$3]++; next }
		n[substr($1, 1, match($1 "@", /@/) - 1)] == 1 { printf "%s%s", comma, $1; comma = "," }' \
		/proc/kallsyms wanted
}

# with_hist TEXT COMMAND...: a result, skipped where ftrace cannot count by stack
with_hist() {
	why='this kernel has no hist triggers'
	! grep -q 'hist:keys=' $T/README 2>/dev/null || why=
	unless "$why" "$@"
}

# is EXPRESSION: true if it is not 0, by the arithmetic of the shell
is() {
	# In a shell of its own, which an error of syntax ends where a figure is missing
	([ $(($1)) -ne 0 ]) || { echo "false: $1"; return 1; }
}

# mark, later since: the lines of the log after the last mark
mark() { echo "mark" >/dev/kmsg; }

since() {
	dmesg | awk '/\] mark$/ { n = 0; next } { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

load() {
	kind=$1
	shift
	insmod "/t/$kind/stackbuf.ko" "$@" && insmod "/t/$kind/stackbuf_test.ko"
}

unload() { rmmod stackbuf_test && rmmod stackbuf; }

# run COMMAND NUMBER...: a command of stackbuf_test, its output on standard output
run() {
	echo "$*" >$RUN || { echo "command failed: $*"; return 1; }
	cat $RUN
}

# guards: memory behind each of the arrays is untouched
guards() {
	run guards >behind
	is "$(grep -c '^ok' behind) == 4" || { cat behind; return 1; }
}

# value WORD FILE: the word after WORD
value() {
	awk -v word="$1" '{ for (i = 1; i < NF; i++) if ($i == word) { print $(i + 1); exit } }' "$2"
}

# facts: keeps what "info --json" prints in info.json, for fact
facts() { "$STACKBUF" info --json >info.json; }

# fact KEY [FILE]: a number or a word of the last facts, or of FILE
fact() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p" "${2:-info.json}"; }

# latest KEY: the fact as it is now, or what no figure is
latest() { facts && fact "$1" || echo 'no fact'; }

# Suspend to memory, and resume
to_memory() {
	host wakeup && echo mem >/sys/power/state || return 1
	dmesg | grep 'PM: suspend exit'
}
has_to_memory() { grep -qw mem /sys/power/state && grep -qs '\[deep\]' /sys/power/mem_sleep; }

# set_list LIST: sets the list of probes
set_list() { echo "$1" >$P/probe 2>error || { cat error; dmesg | tail -n 1; return 1; }; }

# refused PARAMETER PATTERN VALUE: it is refused in one line of the log, and the old value stays
refused() {
	old=$(cat "$P/$1")
	mark
	if echo "$3" 2>/dev/null >"$P/$1"; then echo "$3 was accepted"; return 1; fi
	since | grep 'stackbuf: ' >said
	is "$(wc -l <said) == 1" && grep "stackbuf: .*$2" said && [ "$(cat "$P/$1")" = "$old" ] ||
		{ cat said "$P/$1"; return 1; }
}

# refuses LIST WORDS: as a list of probes LIST is refused, by a line that has WORDS
refuses() { refused probe "probe: .*$2" "$1"; }

# one_line WORDS COMMAND...: fails and prints one line on standard error, with WORDS
one_line() {
	words=$1
	shift
	if "$@" >out 2>err; then echo "$* succeeded"; return 1; fi
	is "$(wc -l <err) == 1" && grep "$words" err && [ ! -s out ] || { cat err out; return 1; }
}

# rest: waits until stackbuf's workers have done what was asked of them, texts to render among it
rest() {
	for sbcheck in /t/sbcheck "/t/${kind:-}/sbcheck"; do
		[ ! -x "$sbcheck" ] || { "$sbcheck" rest $D; return; }
	done
}

# dump DIRECTORY [NOW]: copies the arrays while nothing is recorded; with NOW, workers may be at work
dump() {
	[ -n "${2:-}" ] || rest
	rm -rf "$1"
	mkdir -p "$1"
	for array in info events stacks text; do cat $D/$array >"$1/$array" || return 1; done
}

# check [KALLSYMS]: copies the arrays to now and compares them; figures go to the file check
check() {
	# shellcheck disable=SC2094 # the file has the name of the command
	dump now && /t/sbcheck check now "$@" >check 2>&1 && return
	cat check
	return 1
}

# accounted: each attempted save of the storm in the file storm, the first one since the load, was
# recorded or refused, no id is wrong, and stackbuf's own figures agree; of a later storm less what
# total and lost had before
accounted() {
	sleep 1
	check /proc/kallsyms || { cat check; return 1; }
	is "$(value attempted storm) > ${least:-100} && $(value wrong storm) == 0" || return 1
	is "$(value attempted storm) == $(value recorded storm) + $(value refused storm)" || return 1
	is "$(value total check) - ${total:-1} == $(value recorded storm)" || return 1
	is "$(value refused check) - ${lost:-0} == $(value refused storm)"
}

# record ID: prints its record from now/text
record() {
	tr -s '\0' '\n' <now/text |
		awk -v id="$1" '/^stack / { on = $2 == id } /^stackbuf text/ || /^ *$/ { on = 0 } on'
}
