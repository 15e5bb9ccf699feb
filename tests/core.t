#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The files of core/ that have no hardware in them, compiled into programs (tests/core/): parts of
# them alone, and storms of saves on several threads with a tiny ring and a tiny table, plain and with
# sanitizers: a minute of storms in all, in "make test" seconds, or CORE_MINUTES=N.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

if [ "$(uname -m)" != x86_64 ]; then
	echo "KTAP version 1"
	echo "1..0 # SKIP the programs are for x86-64"
	exit 0
fi

# ThreadSanitizer of gcc 12 ends at once where the kernel loads programs at very random addresses
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()
export TSAN_OPTIONS="suppressions=$here/core/tsan.supp exitcode=66"
export UBSAN_OPTIONS=print_stacktrace=1

# sizes EVENTS STACKS TEXT: in KiB
sizes() {
	echo "-DSTACKBUF_EVENTS_KB=$1 -DSTACKBUF_STACKS_KB=$2 -DSTACKBUF_TEXT_KB=$3 -DSTACKBUF_PAIRS_KB=24"
}

# core NAME SIZES [SANITIZE [PROGRAM]]: builds both programs, or one, into $builds/core-NAME
core() {
	once "core-$1" make -s -C "$here/core" O="$builds/core-$1" SIZES="$2" SANITIZE="${3:-}" "${4:+$builds/core-$1/}${4:-all}"
}

# Each of six storms has a sixth of the time
seconds=$(((${CORE_MINUTES:-1} * 60 + 5) / 6))
thorough || [ -n "${CORE_MINUTES:-}" ] || seconds=1

# storm TEXT NAME N [CPUS [PATHS [quiet]]]: a result, and how fast it was
storm() {
	local text=$1 program=$builds/core-$2/storm status
	shift 2
	# For the most a storm has a thread for each CPU, four workers and one that conducts
	limited $((10 * seconds + 600)) "${fixed[@]}" "$program" "$seconds" "$@" >"$work/storm" 2>&1
	status=$?
	result "$text" storm_is_good "$status"
	awk '/^attempted/ && $8 > 0 {
		printf "# %.1f million saves, %.1f million a second, %.1f million recorded\n", $2 / 1e6, $2 / $8 / 1e3, $4 / 1e6
	}' "$work/storm" | tee -a "$work/storms"
}

storm_is_good() { # STATUS
	[ "$1" = 0 ] && grep -q '^attempted' "$work/storm" && return
	echo "status $1"
	grep -E -A 12 '^SEED|problem|ERROR|WARNING|runtime error' "$work/storm" || tail -n 5 "$work/storm"
	return 1
}

all() {
	local parts status
	result 'everything is built' core tiny "$(sizes 8 16 8)"
	result 'the same with more room, where ids wrap' core wrap \
		"$(sizes 64 64 8) -DSBUF_FIRST_GENERATION='((1ULL<<22)-100)'" '' storm
	result 'the same with AddressSanitizer and UBSan' core address "$(sizes 8 16 8)" \
		'-fsanitize=address,undefined -fno-sanitize-recover=undefined'

	# Each prints its results
	for parts in tiny address; do
		limited 600 "$builds/core-$parts/unit" ${parts#tiny} >"$work/unit" 2>&1
		status=$?
		grep -v '^done$' "$work/unit" | sed "s/^\(not \)\?ok /&$parts: /"
		result "$parts: all parts ran to their end" [ "$status $(tail -n 1 "$work/unit")" = '0 done' ]
	done

	[ "$seconds" -lt 8 ] || storm 'fewer pages than CPUs: every CPU records' tiny 1000000 3 128 quiet
	storm 'a tiny ring and a tiny table' tiny 2
	storm 'ids that wrap' wrap 2
	storm 'few new stacks: saves are recalled' wrap 4096 2
	storm 'with AddressSanitizer and UBSan' address 2
	# It holds signals back, now and then for ever: about one run in three does not end
	if [ -n "${CORE_MINUTES:-}" ]; then
		result 'all is built with ThreadSanitizer' core thread "$(sizes 64 64 8)" -fsanitize=thread
		storm 'with ThreadSanitizer' thread 2
	else
		echo "ok a storm with ThreadSanitizer # SKIP it loses signals, and then does not end: CORE_MINUTES=1"
	fi
	awk '{ n += $2 } END { printf "# %.0f million saves in all\n", n }' "$work/storms"
	echo "done"
}

all | ktap
