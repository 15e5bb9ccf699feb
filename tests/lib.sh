# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# lib.sh - shared by tests and benchmarks

set -u

# Results do not depend on what a user has set.  SERIES, STACKBUF_CACHE and the like are for the tests
umask 022
export LC_ALL=C.UTF-8 LANG=C.UTF-8 no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost PYTHONNOUSERSITE=1
unset CDPATH LANGUAGE BASH_ENV POSIXLY_CORRECT DEBUGINFOD_URLS GREP_OPTIONS TAR_OPTIONS XZ_OPT GZIP \
	GNUMAKEFLAGS MAKEFILES ARCH CROSS_COMPILE CC CFLAGS CPPFLAGS LDFLAGS KCFLAGS KBUILD_OUTPUT KBUILD_EXTMOD \
	GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE PYTHONPATH PYTHONWARNINGS PYTHONSTARTUP MANOPT MANROFFOPT MANPAGER \
	XDG_CONFIG_HOME PREFIX DESTDIR KDIR BUILD UNIT
# An emulated machine is the same everywhere
export STACKBUF_KVM=n

here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
top=${here%/*}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackbuf-test.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
# Of programs that a test runs: not the user's
export CURL_HOME=$work XDG_CONFIG_HOME=$work/config
# Whoever owns the tree
export GIT_CONFIG_GLOBAL=$work/gitconfig
printf '[safe]\n\tdirectory = *\n' >"$GIT_CONFIG_GLOBAL" || exit 1
# Builds that several tests of a run share
builds=${STACKBUF_TEST_BUILDS:-$work/builds}
# Where "make demo" and users build the command
tools=$top/build/tools
mkdir -p "$builds" "$top/build" || exit 1

# thorough: true in "make test-all", which runs all of each test on both kernels; "make test" runs
# each thing once, briefly, on one of them
thorough() { [ -n "${STACKBUF_TEST_ALL:-}" ]; }

# few FEW MANY: prints FEW in "make test", MANY in "make test-all"
few() { if thorough; then printf '%s\n' "$2"; else printf '%s\n' "$1"; fi; }

# kernel_of SERIES: sets kernel (its directory), words (for make) and cross (the prefix of
# binutils and gcc)
kernel_of() {
	local word
	kernel=$("$top/scripts/machine/stackbuf-kernel" "$1") || return
	words=() cross=''
	[ ! -e "$kernel/make" ] || read -ra words <"$kernel/make"
	for word in "${words[@]}"; do
		[[ $word != CROSS_COMPILE=* ]] || cross=${word#*=}
	done
}

# used: sets processor to the seconds that the processes which this shell has waited for have used
used() {
	local user system
	# A file of each shell: several may run
	builtin times >"$work/times.$BASHPID"
	{ read -r user && read -r user system; } <"$work/times.$BASHPID"
	user=${user%[.,]*} system=${system%[.,]*}
	processor=$((${user%m*} * 60 + 10#${user#*m} + ${system%m*} * 60 + 10#${system#*m}))
}

# begins: sets began, for took; a variable of the caller, as what it calls may begin something, too
begins() {
	local processor
	used
	began=$SECONDS:$processor
}

# took WHAT: a note on where the time since began went, if it was some
took() {
	local processor seconds=$((SECONDS - ${began%:*}))
	used
	[ "$seconds" -lt 2 ] || echo "# $seconds s, $((processor - ${began#*:})) of CPU time: $1"
}

# once NAME COMMAND...: runs the command unless it has succeeded for this NAME; its output goes
# to $work/make.log
once() {
	local name=$1 lock status=0 began
	shift
	begins

	exec {lock}>"$builds/$name.lock" && flock "$lock" || return
	if [ ! -e "$builds/$name.done" ]; then
		"$@" >"$work/make.log" 2>&1 && touch "$builds/$name.done" || status=1
	fi
	exec {lock}>&-
	took "build $name"
	[ $status = 0 ] || sed 's/^/# /' "$work/make.log"
	return $status
}

# build SERIES NAME [VARIABLE=VALUE...]: puts stackbuf.ko of that build and the modules of the tests
# into $work/vm/NAME.  The modules of the tests do not depend on these variables, nor on a tree of
# the test's own, so they come from one build, which has debug information; with TESTS=1, for builds
# that change the exported types, from this one.  Files compile alone, as users do, in "make test-all"
# only (demo.t always builds so): in one unit takes a third of the time.  The kernel takes exported
# symbols of the one for others than those of the other.  Other builds have no debug information.
build() {
	local series=$1 name=$2 kernel words cross usual key tests debug=()
	shift 2
	kernel_of "$series" || return
	# If the kernel has no debug information, kbuild gives modules none
	grep -q '^CONFIG_DEBUG_INFO=y' "$kernel/build/.config" || debug=(KCFLAGS=-g)
	usual=$series-modules
	once "$usual" make -s -C "$top" module BUILD="$builds/$usual" KDIR="$kernel/build" TESTS=1 \
		UNIT="$(few y n)" "${words[@]}" "${debug[@]}" || return
	key=$usual tests=$usual
	if [ -n "${tree:-}" ] || [ $# -gt 0 ]; then
		# A tree of the test's own may change from one build to the next
		key=$(printf '%s\n' "$series" "${tree:+$tree $name}" "$@" | sha256sum | cut -c 1-16)
		once "$key" make -s -C "${tree:-$top}" module BUILD="$builds/$key" KDIR="$kernel/build" \
			UNIT="$(few y n)" CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= "${words[@]}" "$@" || return
		[[ " $* " != *" TESTS=1 "* ]] || tests=$key
	fi
	mkdir -p "$work/vm/$name" "$work/build" && ln -sfn "$builds/$key" "$work/build/$series-$name" &&
		cp "$builds/$key/stackbuf.ko" "$builds/$tests"/tests/*.ko "$work/vm/$name/"
}

# copy_of_tree DIRECTORY: puts there what git tracks or, of an unpacked archive, all but build/
copy_of_tree() {
	mkdir -p "$1" && if [ -e "$top/.git" ]; then
		(cd "$top" && git ls-files -z)
	else
		(cd "$top" && find . -path ./build -prune -o ! -type d -printf '%P\0')
	fi | tar -c -C "$top" --null -T - | tar -x -C "$1"
}

# build_tools TARGET...: builds programs for this machine into $tools, by tools/Makefile; no once,
# as make itself knows what is up to date
build_tools() {
	local lock status=0 began
	begins
	exec {lock}>"$tools.lock" && flock "$lock" || return
	make -s -j2 -C "$top/tools" O="$tools" CFLAGS="-O2 -g1" "$@" >"$work/make.log" 2>&1 || status=1
	exec {lock}>&-
	took 'build of the command and its tests'
	[ $status = 0 ] || sed 's/^/# /' "$work/make.log"
	return $status
}

# build_reader SERIES: the command stackbuf for the guest; sets reader to its path, which
# /t/reader holds in the guest
build_reader() {
	local kernel words cross sysroot
	kernel_of "$1" || return
	reader=$tools/stackbuf
	if [ -n "$cross" ]; then
		reader=$builds/${cross}tools/stackbuf
		sysroot=$("$top/scripts/machine/stackbuf-kernel" -s arm64) || return
		once "${cross}tools" make -s -C "$top/tools" O="$builds/${cross}tools" \
			CC="${cross}gcc-12 --sysroot=$sysroot" all || return
	else
		build_tools all || return
	fi
	echo "$reader" >"$work/vm/reader"
}

# build_sbcheck SERIES: for the host as $work/sbcheck, for the guest into $work/vm
build_sbcheck() {
	local kernel words cross
	kernel_of "$1" || return
	gcc -static -O2 -Wall -o "$work/sbcheck" "$here/guest/sbcheck.c" || return
	if [ -n "$cross" ]; then
		"${cross}gcc-12" -static -O2 -Wall -o "$work/vm/sbcheck" "$here/guest/sbcheck.c"
	else
		cp "$work/sbcheck" "$work/vm/sbcheck"
	fi
}

# guest SERIES NAME: puts what runs in the guest into $work/vm, tests/guest/NAME.sh with its library
# and the kernel's configuration; sets what kernel_of does
guest() {
	kernel_of "$1" && cp "$kernel/build/.config" "$work/vm/config" &&
		cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/$2.sh" "$work/vm/run"
}

# kernel_modules SERIES DIR NAME...: modules of the kernel, for the guest, into DIR; not those that are built in
kernel_modules() {
	local kernel words cross name file
	kernel_of "$1" || return
	for name in "${@:3}"; do
		file=$(find "$kernel/modules/" -name "$name.ko*")
		case $file in
		'') ;;
		*.xz) xz -dc "$file" >"$2/$name.ko" ;;
		*) cp "$file" "$2/$name.ko" ;;
		esac || return
	done
}

# spoilt_image FILE: an ext4 whose journal begins with zeros
spoilt_image() {
	local block
	truncate -s 8M "$1" && mke2fs -q -t ext4 -b 1024 "$1" && block=$(debugfs -R 'blocks <8>' "$1" 2>/dev/null | cut -d ' ' -f 1) &&
		dd if=/dev/zero of="$1" bs=1 seek=$((block * 1024)) count=4 conv=notrunc status=none
}

# build_load SERIES: the load for the guest, into $work/vm
build_load() {
	local kernel words cross
	kernel_of "$1" || return
	"${cross}gcc${cross:+-12}" -static -O2 -Wall -o "$work/vm/load" "$here/guest/load.c"
}

# slowness: sets slow_by to how many of this CPU's seconds do what one did where the limits were
# measured, by a loop that took half a second there; at least 1
slowness() {
	local before i TIMEFORMAT=%U
	[ -z "${slow_by:-}" ] || return
	before=$({ time for ((i = 0; i < 200000; i++)); do :; done; } 2>&1)
	slow_by=$((10#${before/[.,]/} / 500 + 1))
}

# limited SECONDS COMMAND...: runs it, and ends it if it has used so much CPU time, or of a slow one
# more: it would not end.  tests/run ends what uses none
limited() {
	slowness
	(ulimit -t $(($1 * slow_by)) && shift && exec "$@")
}

# noise BYTES: the same at each call
noise() { python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(int(sys.argv[1])))' "$1"; }

# result TEXT COMMAND...
result() {
	local text=$1 said began
	shift
	begins
	if said=$("$@" 2>&1); then
		echo "ok $text"
	else
		echo "not ok $text"
		printf '%s\n' "$said" | head -n 20 | sed 's/^/# /'
	fi
	took 'the result above'
}

# unless WHY TEXT COMMAND...: a result, skipped if there is a WHY
unless() {
	if [ -z "$1" ]; then result "${@:2}"; else echo "ok $2 # SKIP $1"; fi
}

# with TOOL TEXT COMMAND...: a result, skipped where the tool is not installed
with() { unless "$(command -v "$1" >/dev/null || echo "$1 is not installed")" "${@:2}"; }

# as_root TEXT COMMAND...: a result, skipped for other users
as_root() { unless "$([ "$(id -u)" = 0 ] || echo 'only root can try it')" "$@"; }

# ktap: numbers lines "ok TEXT" and "not ok TEXT" of standard input and adds a plan.
# If the last line is not "done", results are missing, which is a failure, too.
ktap() {
	local line number=0 lines=() finished='' failed=0
	while IFS= read -r line; do
		case $line in
		"ok "*) lines+=("ok $((++number)) ${line#ok }") ;;
		"not ok "*) lines+=("not ok $((++number)) ${line#not ok }") failed=1 ;;
		"done") finished=1 ;;
		*) lines+=("# ${line#\# }") ;;
		esac
	done
	if [ -z "$finished" ]; then
		lines+=("not ok $((++number)) it ran to its end")
		failed=1
	fi
	printf '%s\n' "KTAP version 1" "1..$number" "${lines[@]}"
	return "$failed"
}

# boot SERIES OPTION...: runs $work/vm in a machine and prints its output and how it ended.
# APPEND in the environment is added to the kernel's command line.  In "make test" the kernel is booted
# without KASLR, which saves a second, unless KASLR=1.
boot() {
	local series=$1 status began
	shift
	begins

	! thorough || : >"$work/vm/thorough"
	# The guest may stop after the result that a deliberate fault must make fail
	[ -z "${FAILS:-}" ] || echo "$FAILS" >"$work/vm/fails"
	thorough || [ -n "${KASLR:-}" ] || set -- -d "$@"
	"$top/scripts/machine/stackbuf-vm" -k "$series" -o "$work/out" -a "${APPEND:-}" "$@" "$work/vm" \
		>"$work/guest.log" 2>"$work/vm.err"
	status=$?
	took "machine with $series"
	grep -v '^done$' "$work/guest.log"
	[ $status = 0 ] || sed 's/^/# /' "$work/vm.err"
	result "the machine ends well, without complaints in its log" [ $status = 0 ]
}

# Print "done" for ktap if the guest's script ran to its end
ended() { ! grep -qx 'done' "$work/guest.log" || echo "done"; }

# kernels SERIES...: sets chosen to those that the test runs on: SERIES of the environment, both
# in "make test-all", else the given ones
kernels() {
	if thorough; then set -- 6.1 6.12; fi
	read -ra chosen <<<"${SERIES:-$*}"
}

# on_each_kernel WHAT FUNCTION SERIES: prints results of "FUNCTION SERIES NUMBER" for each kernel;
# in "make test" that is SERIES
on_each_kernel() {
	local what=$1 each=$2 series number=0 status=0 chosen
	kernels "${@:3}"
	echo "KTAP version 1"
	echo "1..${#chosen[@]}"
	for series in "${chosen[@]}"; do
		number=$((number + 1))
		rm -rf "$work/vm" "$work/out"
		mkdir -p "$work/vm" "$work/out"
		"$each" "$series" "$number" | ktap | sed 's/^/    /'
		if [ "${PIPESTATUS[1]}" = 0 ]; then
			echo "ok $number $what on $series"
		else
			echo "not ok $number $what on $series"
			status=1
		fi
	done
	return $status
}

# in_guest WHAT NAME SERIES OPTION...: a test that is tests/guest/NAME.sh, with the command and the module "big"
# (built with the words of sizes), in a machine with these options.  If there is a function prepare, it is called
# with the series: it may put more into $work/vm and add to options
in_guest() {
	local what=$1 name=$2 on=$3 options=("${@:4}")
	on_each_kernel "$what" guest_test "$on"
}

guest_test() {
	local kernel words cross reader=''
	guest "$1" "$name" && build_reader "$1" && build "$1" big "${sizes[@]}" &&
		{ ! declare -F prepare >"$work/function" || prepare "$1"; } || echo "not ok everything is built"
	boot "$1" "${options[@]}" -x "$reader"
	ended
}

# instructions MODULE: a line FUNCTION OFFSET MNEMONIC for each of its instructions
instructions() {
	"${cross:-}objdump" -d -j .text --no-show-raw-insn "$1" | awk '
		/^[0-9a-f]+ <.*>:$/ { start = $1; name = substr($2, 2, length($2) - 3) }
		/^ +[0-9a-f]+:/ { sub(":", "", $1); print name, start, $1, $2 }' |
		while read -r name start at what; do printf '%s %x %s\n' "$name" $((0x$at - 0x$start)) "$what"; done
}

# inside MODULE FUNCTION: the offset of an instruction after ftrace's.  On x86 a jump can replace it: the kernel moves no
# call (of KCSAN, say) or jump that is within the five bytes
inside() {
	instructions "$1" | while read -r name at what; do
		[ "$name" != "$2" ] || echo "$((0x$at)) $what"
	done | awk '
		{ at[NR] = $1; stays[NR] = $2 ~ /^(call|j|ret)/ }
		END {
			for (i = 4; i <= NR; i++) {
				for (k = i; k <= NR && at[k] < at[i] + 5 && !stays[k]; k++)
					;
				if (k > NR || at[k] >= at[i] + 5) { printf "0x%x\n", at[i]; exit }
			}
		}'
}

# some N EVERY: of the lines of instructions one of EVERY, as stepping is slow: others for each N;
# all of them with STEP=all.  First instructions show whether a save reaches the function: one of
# three of these in "make test", as most are not reached, else all
some() {
	awk -v n="$1" -v every="$2" -v all="${STEP:-}" -v firsts="$(few 3 1)" '
		$2 == 0 && ++nr % firsts == n % firsts || NR % every == n % every || all == "all"'
}

# part PAGE MARK: prints the lines between <!-- MARK --> and <!-- /MARK --> of this page
part() { sed -n "/^<!-- $2 -->\$/,/^<!-- \/$2 -->\$/p" "$top/$1" | sed '1d; $d'; }

# into_page PAGE MARK FILE: replaces the lines between these marks of the page by the file
into_page() {
	awk -v mark="$2" -v file="$3" '
		$0 == "<!-- /" mark " -->" { skip = 0; ends = 1 }
		!skip
		$0 == "<!-- " mark " -->" { while ((getline line < file) > 0) print line; skip = 1 }
		END { exit skip || !ends }' "$top/$1" >"$work/page" &&
		cat "$work/page" >"$top/$1" && return
	echo "${0##*/}: $1 has no marks <!-- $2 --> and <!-- /$2 -->" >&2
	return 1
}

# The version of stackbuf that was measured, and the date
measured() {
	local version
	version=$(git -C "$top" describe --always --exclude '*' 2>/dev/null || echo 'an unknown version')
	git -C "$top" diff --quiet HEAD -- . ':!docs' ':!README.md' 2>/dev/null || version+=-dirty
	printf '\nMeasured on %s, stackbuf at %s.\n' "$(date -u +%F)" "$version"
}

# bench_options TEXT ARGUMENT...: the options of a benchmark: -w sets write, and -h prints TEXT.  What
# is left of the arguments begins after OPTIND
bench_options() {
	local text=$1 opt
	shift
	write=
	while getopts :wh opt; do
		case $opt in
		w) write=1 ;;
		h)
			printf '%s\n' "Usage: ${0##*/} [OPTION]..." "$text" \
				'  -w    put it into docs/performance.md, between its marks <!-- bench-... --> there' \
				'  -h    this text'
			exit 0
			;;
		*) echo "${0##*/}: -$OPTARG: no such option; try ${0##*/} -h" >&2; exit 2 ;;
		esac
	done
}

# heading ROW: the first row of a table, and the line below it
heading() {
	echo "$1" && sed -E 's/[^|]+/ --- /g' <<<"$1"
}

# bench_table MARK: prints the table on standard input and what was measured when; with -w it goes into
# docs/performance.md
bench_table() {
	{ cat && measured; } >"$work/table"
	cat "$work/table"
	[ -z "$write" ] || into_page docs/performance.md "$1" "$work/table"
}

# The costs in README.md, taken from docs/performance.md: demo.t compares them
costs_for_readme() {
	part docs/performance.md bench-costs | awk -F '|' '
		function row(text) { printf "| %s |%s|%s|%s|\n", text, $3, $4, $5; n++ }
		BEGIN {
			print "| instructions for an event of a known stack, on 6.1 | 9 frames | 19 frames | 40 frames |"
			print "| --- | --- | --- | --- |"
		}
		/^\| \*\*`stackbuf_save\(\)`/ { row("**`stackbuf_save()`**: recorded, with its stack, time and task") }
		/^\| `stack_trace_save\(\)`/ { row("`stack_trace_save()`: the walk of the stack alone, nothing kept") }
		/^\| \*\*`probe=`/ { row("**`probe=`**: the same record by a probe, the probed call included") }
		/^\| bpftrace/ { row("bpftrace `kprobe:f { @[kstack] = count(); }`, the probed call included") }
		END { exit n != 4 }'
}

# measured_build SERIES NAME: as build, but stackbuf.ko has the parameter irqs_off
measured_build() {
	rm -rf "$work/measured"
	mkdir -p "$work/measured" &&
		cp -r "$top"/{Makefile,Kbuild,stackbuf.c,stackbuf.h,stackbuf_format.h,core,tests} "$work/measured/" &&
		sed -i '1i #define IRQS_OFF_HERE' "$work/measured/stackbuf.c" &&
		sed -i '/^#endif .* STACKBUF_TYPES_H/i #include "../tests/stackbuf_irqs.h"' \
			"$work/measured/core/types.h" || return
	tree=$work/measured build "$@"
}

# in_browser URL: the document after its script has run; what the script complains about goes to
# $work/chromium
in_browser() {
	local user
	user=$(mktemp -d -p "$work")
	limited 900 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync --window-size=1280,900 \
		--enable-logging=stderr --user-data-dir="$user" --virtual-time-budget=2000 --dump-dom "$1" 2>"$work/chromium"
	rm -rf "$user"
}
