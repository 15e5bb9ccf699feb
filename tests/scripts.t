#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# scripts.t: stackbuf-crash and stackbuf-decode, on real dumps, on a live
# kernel in the virtual machine, and on bad input; stackbuf-vm and stackbuf-kernel

# Conditions are quoted for eval, which expands variables when it runs.
# shellcheck disable=SC2016

set -u
shopt -s extglob

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

crash=$top/scripts/stackbuf-crash
decode=$top/scripts/stackbuf-decode
vm=$top/scripts/machine/stackbuf-vm
w=$work

diag() { sed 's/^/# /' "$@"; }

# bail TEXT: without this the other results make no sense
bail() {
	echo "not ok $*"
	exit 1
}

# run COMMAND...: its output goes to $w/out and $w/err, its status to $rc.
run() {
	"$@" >"$w/out" 2>"$w/err" </dev/null
	rc=$?
}

# refuses TEXT STATUS PATTERN COMMAND...: this exit status, nothing on standard
# output, and one line on standard error, which matches.
refuses() {
	local text=$1 status=$2 pattern=$3
	shift 3
	run "$@"
	result "$text" refused "$status" "$pattern"
}

refused() {
	printf 'status %s, expected %s\n' "$rc" "$1"
	echo "standard output: $(wc -c <"$w/out") bytes; standard error:"
	cat "$w/err"
	[ "$rc" -eq "$1" ] && [ ! -s "$w/out" ] && [ "$(wc -l <"$w/err")" -eq 1 ] &&
		grep -qE -- "^stackbuf-(crash|decode): .*$2" "$w/err"
}

# The last run printed the text that the guest read from the module itself.
printed() {
	echo "status $rc"
	cat "$w/err"
	[ "$rc" -eq 0 ] || return
	# The text log without its pages' heads and what fills them
	tr -d '\0' <"$1" | grep -av '^stackbuf text v' | grep -av '^ *$' >"$w/expected"
	grep -q '^stackbuf_init+0x.*\[stackbuf\]$' "$w/expected" && cmp "$w/expected" "$w/out"
}

all_tests() {

trap 'kill "${live_pid:-}" 2>/dev/null; wait' EXIT
trap 'exit 130' INT TERM HUP

# --- the kernels, the modules, the dumps ------------------------------------

# The release's own, which its crash opens, and another one
one=$("$top/scripts/machine/stackbuf-kernel" -o) another=6.12
[ "$one" != 6.12 ] || another=6.1
kernel=$("$top/scripts/machine/stackbuf-kernel" "$one") && other=$("$top/scripts/machine/stackbuf-kernel" "$another") ||
	bail "no kernels"
build "$one" one && mkdir "$w/one" && cp "$w/vm/one/stackbuf.ko" "$w/one/" ||
	bail "stackbuf.ko does not build"

# crash spends half its time on tables of lines, which stackbuf-crash does not need
light=$w/vmlinux
if thorough; then
	ln -s "$kernel/vmlinux" "$light"
else
	objcopy --remove-section .debug_line "$kernel/vmlinux" "$light" || bail "no vmlinux without lines"
fi

# Live: all files in their usual places, with a terminal; without one as well in "make test-all"
mkdir "$w/live"
build_reader "$one" || bail "the command does not build"
cp "$w/one/stackbuf.ko" "$crash" "$w/vm/reader" "$w/live/"
ln -s "$light" "$w/live/vmlinux"
cat >"$w/live/run" <<'END'
#!/bin/sh
insmod /t/stackbuf.ko || exit 1
cat /sys/kernel/debug/stackbuf/text >/out/text
ln -s "$(cat /t/reader)" /usr/bin/stackbuf
cp /t/stackbuf-crash /tmp
/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups bash /tmp/stackbuf-crash -k /t/vmlinux >/out/nobody.out 2>/out/nobody.err
echo $? >/out/nobody.rc
mkdir /tmp/without
for file in /bin/* /usr/bin/*; do
	[ "${file##*/}" = strings ] || ln -sf "$file" /tmp/without/
done
PATH=/tmp/without bash /t/stackbuf-crash -k /t/vmlinux >/out/strings.out 2>/out/strings.err
echo $? >/out/strings.rc
mkdir -p /usr/lib/debug/boot
ln -s /t/vmlinux "/usr/lib/debug/boot/vmlinux-$(uname -r)"
# Run both concurrently, as each takes a minute.  true, not ":": a failed redirection of a
# special built-in ends the shell.
[ ! -e /t/thorough ] || setsid sh -c 'true </dev/tty && exit
bash /t/stackbuf-crash >/out/detached.out 2>/out/detached.err
echo $? >/out/detached.rc' &
mkdir -p "/tmp/a b"
true </dev/tty && TMPDIR="/tmp/a b" bash /t/stackbuf-crash >/out/terminal.out 2>/out/terminal.err
echo $? >/out/terminal.rc
wait
END
! thorough || : >"$w/live/thorough"
# crash goes through all that five levels of page tables could map
"$vm" -k "$one" -m 4096 -a no5lvl -o "$w/out-live" -x crash -x bash -x readelf -x strings -x setpriv -x "$reader" "$w/live" >"$w/live.log" 2>&1 &
live_pid=$!

# QEMU's dumps: without and with the module.
cat >"$w/one/run" <<'END'
#!/bin/sh
host elf empty.elf || exit 1
insmod /t/stackbuf.ko || exit 1
cat /sys/kernel/debug/stackbuf/text >/out/text
host elf dump.elf && host kdump-zlib dump.zlib || exit 1
dmesg >/out/dmesg
END
"$vm" -k "$one" -m 256 -a no5lvl -o "$w/d" "$w/one" >"$w/vm.log" 2>&1 || { diag "$w/vm.log"; bail "no dumps"; }

# --- stackbuf-crash on dumps ------------------------------------------------

run "$crash" -k "$kernel/vmlinux" "$w/d/dump.elf"
result "ELF dump of QEMU" printed "$w/d/text"
cp "$w/out" "$w/text"

mkdir "$w/a b" "$w/a b/t m p"
ln -s "$kernel/vmlinux" "$w/a b/vm linux"
ln "$w/d/dump.zlib" "$w/a b/the dump"
cd "$w/a b" || exit 1
# crash would read these files from the current directory.
echo exit >.crashrc
echo quit >.gdbinit
run env HOME="$w/a b" TMPDIR="$w/a b/t m p" "$crash" -k "vm linux" "the dump"
result "kdump-zlib dump of QEMU, no file of the module, blanks in every path, relative ones, .crashrc and .gdbinit" printed "$w/d/text"
result "no temporary files are left" rmdir "$w/a b/t m p"
cd "$w" || exit 1

# A good dump of a release that is not installed.
head -c 1M "$w/d/dump.elf" | LC_ALL=C sed 's/OSRELEASE=[0-9]/OSRELEASE=X/; s/BUILD-ID=..../BUILD-ID=0000/' |
	LC_ALL=C sed 's/OSRELEASE=X/OSRELEASE=9/' >"$w/unknown"
refuses "no vmlinux for this release: the places are named" 1 '/usr/lib/debug/boot/vmlinux-9' "$crash" "$w/unknown"
refuses "vmlinux of another build" 1 'does not match' "$crash" -k "$other/vmlinux" "$w/d/dump.elf"
refuses "vmlinuz instead of vmlinux" 1 'no vmlinux with debug' "$crash" -k "$kernel/vmlinuz" "$w/d/dump.elf"
refuses "vmlinux that is not there" 1 'No such file' "$crash" -k "$w/none" "$w/d/dump.elf"
refuses "module not loaded" 1 'not loaded' "$crash" -k "$light" "$w/d/empty.elf"
cp /etc/services "$w/plain" 2>/dev/null || cp "$top/stackbuf.c" "$w/plain"
refuses "text file instead of a dump" 1 'cannot open' "$crash" -k "$light" "$w/plain"
refuses "text file, nothing else given" 1 'not a dump' "$crash" "$w/plain"
: >"$w/nothing"
refuses "empty file" 1 'cannot open' "$crash" -k "$light" "$w/nothing"
refuses "directory" 1 'directory' "$crash" -k "$light" "$w/d"
refuses "no such dump" 1 'No such file' "$crash" -k "$light" "$w/none"
size=$(stat -c %s "$w/d/dump.elf")
head -c $((size / 2)) "$w/d/dump.elf" >"$w/half"
refuses "ELF dump cut in half" 1 'truncated' "$crash" -k "$light" "$w/half"
mv "$w/d/empty.elf" "$w/half"
truncate -s $((size - 5000)) "$w/half"
refuses "ELF dump that lacks its last page" 1 'truncated' "$crash" -k "$light" "$w/half"
head -c $(($(stat -c %s "$w/d/dump.zlib") / 2)) "$w/d/dump.zlib" >"$w/half"
refuses "kdump-zlib dump cut in half" 1 'truncated' "$crash" -k "$light" "$w/half"
rm "$w/half"
cp "$w/plain" "$w/secret"
chmod 000 "$w/secret"
cp "$crash" "$w/sc"
chmod 755 "$w" "$w/sc"
mv "$w/sc" "$w/stackbuf-crash"
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
refuses "unreadable dump" 1 'Permission denied' "${as[@]}" env PATH="$tools:$PATH" "$w/stackbuf-crash" "$w/secret"
refuses "option without its argument" 2 '-k needs' "$crash" -k

# --- stackbuf-crash with a fake crash ---------------------------------------

mkdir "$w/fake"
cat >"$w/fake/crash" <<'END'
#!/usr/bin/env bash
[ "$1" != --version ] || { echo "crash $FAKE_VERSION"; exit; }
[ -z "${FAKE_SIGNAL:-}" ] || kill -"$FAKE_SIGNAL" $$
exit 1
END
chmod +x "$w/fake/crash"
fake() { env PATH="$w/fake:$PATH" "$@"; }
LC_ALL=C sed "s/OSRELEASE=9/OSRELEASE=7/" "$w/unknown" | LC_ALL=C sed 's/BUILD-ID/BUILD-XX/' >"$w/7"
refuses "crash too old for the kernel: the right one is named" 1 'crash 8.0.5 is too old for kernel 7[^ ]*: install crash 8.0.6' \
	fake FAKE_VERSION=8.0.5 "$crash" -k "$kernel/vmlinux" "$w/7"
refuses "crash new enough, yet it fails" 1 'cannot open' \
	fake FAKE_VERSION=9.0.0 "$crash" -k "$kernel/vmlinux" "$w/7"
refuses "crash is killed by a signal" 1 'cannot open' \
	fake FAKE_VERSION=9.0.0 FAKE_SIGNAL=SEGV "$crash" -k "$kernel/vmlinux" "$w/7"

# --- stackbuf-decode --------------------------------------------------------

# lines_of FRAME MODULE (- for the kernel): its lines, by addr2line; a module's function here is in
# .init.text, whose lines the command finds: those of the call
lines_of() {
	local name=${1%%+*} offset=${1#*+} file=$kernel/vmlinux address section option=() before=0
	[ "$2" = - ] || file=$w/one/stackbuf.ko before=1
	read -r address section < <(objdump -t "$file" | awk -v name="$name" '$NF == name { print $1, $(NF - 2); exit }')
	[ "$2" = - ] || option=(-j "$section")
	addr2line -i -e "$file" "${option[@]}" "$(printf '%x' $((16#$address + ${offset%%/*} - before)))" | tr '\n' ' '
}

# Compare the lines of every frame of $w/text with those in $w/out.
decoded() {
	local line got name module full bad=0 some=0
	echo "status $rc"
	cat "$w/err"
	[ "$rc" -eq 0 ] && [ "$(wc -l <"$w/text")" -eq "$(wc -l <"$w/out")" ] || return
	while IFS= read -r line <&3 && IFS= read -r got <&4; do
		case $line in
		*+0x*/0x*) ;;
		*) [ "$line" = "$got" ] || { echo "changed: $got"; bad=1; }; continue ;;
		esac
		some=$((some + 1))
		name=${line%%+*} module=-
		[[ $line != *\[stackbuf\] ]] || module=stackbuf
		full=$(lines_of "${line%% *}" "$module")
		# The kernel's script cuts the build directory off.
		full=${full//debian\/build\/build_*([^\/])\//} full=${full% }
		[ "$module" = - ] || full="$full) $module"
		[ "$got" = "$name ($full" ] || [ "$got" = "$name ($full)" ] || {
			echo "got:      $got"
			echo "expected: $name ($full"
			bad=1
		}
	done 3<"$w/text" 4<"$w/out"
	[ "$bad" -eq 0 ] && [ "$some" -ge 5 ] &&
		grep -qE '^stackbuf_init \([^ ]*/stackbuf\.c:[0-9]+\) stackbuf$' "$w/out" &&
		grep -qE '^do_one_initcall \(init/main\.c:[0-9]+\)$' "$w/out"
}

run "$decode" -k "$kernel/vmlinux" -m "$w/one" "$w/text"
result "every frame has the lines that addr2line gives" decoded
cp "$w/out" "$w/decoded"
# The kernel's script takes seconds for each frame: one of the module, one of the kernel
grep -m 2 -e '^stackbuf_init+' -e '^do_one_initcall+' "$w/text" >"$w/short"
grep -m 2 -e '^stackbuf_init ' -e '^do_one_initcall ' "$w/decoded" >"$w/short.decoded"
ln -s "$kernel/decode_stacktrace.sh" "$w/a b/the script"
mkdir "$w/a b/mod ules" "$w/a b/tmp"
ln "$w/one/stackbuf.ko" "$w/a b/mod ules/"
result "the same from standard input, with blanks in every path" eval 'TMPDIR="$w/a b/tmp" DECODE_STACKTRACE="$w/a b/the script" \
	"$decode" -k "$w/a b/vm linux" -m "$w/a b/mod ules" <"$w/short" >"$w/out" && cmp "$w/short.decoded" "$w/out"'

# Text that is no frame stays as it is, byte for byte, also around frames.
frame=$(grep -m 1 '^do_one_initcall' "$w/text")
want=$(grep -m 1 '^do_one_initcall' "$w/decoded")
surround() {
	printf '  indented\t\ttext  \n[    1.000000] CPU: 0 PID: 1 Comm: x 0123456789abcdef\nCode: 48 89 <c3> 00\n\n'
	printf '[   12.345678]  %s (P)\r\n\t? %s\n0x41+0x1/zero \303\n%s; %s\n' "$1" "$1" "$1" "$1"
}
surround "$frame" >"$w/in"
surround "$want" >"$w/expected"
run "$decode" -k "$kernel/vmlinux" "$w/in"
result "all but the frames stays as it is" cmp "$w/expected" "$w/out"
run "$decode" -k "$kernel/vmlinux" "$w/plain"
result "text without frames passes through" eval 'cmp "$w/plain" "$w/out" && [ "$rc" -eq 0 ] && [ ! -s "$w/err" ]'
run "$decode" -k "$kernel/vmlinux" -m "$w/d" "$w/short"
result "notes: a module's file is missing" eval '[ "$rc" -eq 0 ] && grep -q "no stackbuf.ko" "$w/err" && grep -q "^stackbuf_init+0x" "$w/out"'
grep -v '\[stackbuf\]' "$w/text" >"$w/in"
refuses "vmlinux of another kernel" 1 'nothing is decoded: .*of another build' "$decode" -k "$other/vmlinux" "$w/in"
echo 'no_such_function_anywhere+0x1/0x2' >"$w/in"
refuses "no frame can be decoded" 1 'nothing is decoded' "$decode" -k "$kernel/vmlinux" "$w/in"
run "$decode" -k "$w/none" -m "$w/none" -s "$w/none" "$w/text"
result "every missing piece is named" eval '[ "$rc" -eq 1 ] && [ ! -s "$w/out" ] && [ "$(wc -l <"$w/err")" -eq 3 ]'
printf '#!/bin/sh\necho broken >&2\nexit 7\n' >"$w/broken"
refuses "decode_stacktrace.sh fails" 1 'failed: broken' "$decode" -k "$kernel/vmlinux" -m "$w/one" -s "$w/broken" "$w/text"
refuses "no such text" 1 'cannot be read' "$decode" -k "$kernel/vmlinux" "$w/none"

# --- the live session ---------------------------------------------------------

wait "$live_pid" || { diag "$w/live.log"; bail "no live session"; }
# take NAME: the guest's output and status of a command, as run leaves them
take() {
	mv "$w/out-live/$1.out" "$w/out" && mv "$w/out-live/$1.err" "$w/err" && rc=$(cat "$w/out-live/$1.rc")
}
if thorough; then
	take detached
	result "live, vmlinux found by itself, without a terminal" printed "$w/out-live/text"
fi
take terminal
result "live, everything found by itself, with a terminal" printed "$w/out-live/text"
take nobody
result "live without the rights" refused 1 '/proc/kcore: .*run it as root'
take strings
result "live without strings" refused 1 'strings is missing'

# stackbuf-vm: complaints that the kernel logs while its console is quiet
complains() {
	mkdir -p "$w/quiet" && cat >"$w/quiet/run" <<-'END' || return
		#!/bin/sh
		dmesg -n 1
		echo '<3>BUG: sleeping function called' >/dev/kmsg
	END
	run "$vm" -k "$one" "$w/quiet"
	cat "$w/err"
	[ "$rc" -eq 126 ] && grep -q 'the kernel complained' "$w/err"
}
result "the virtual machine fails for complaints that are only in the kernel's log" complains

# A kernel that ends at one of its own breakpoints while it boots, but not at the second try.  The guest's
# last message arrives in two pieces, as on a busy machine
boots_again() {
	mkdir "$w/again" "$w/emulator" && cat >"$w/again/run" <<-'END' || return
		#!/bin/sh
		printf exi >/dev/ttyS3
		sleep 1.5
		printf 't 9\n' >/dev/ttyS3
	END
	cat >"$w/emulator/qemu-system-x86_64" <<-END || return
		#!/bin/sh
		if [ ! -e "$w/emulator/once" ]; then
			touch "$w/emulator/once"
			echo 'Oops: int3: 0000 [#1] PREEMPT SMP' >console.log
			exit 0
		fi
		case " \$* " in *" tcg,thread=single "*) ;; *) exit 1 ;; esac
		exec $(command -v qemu-system-x86_64) "\$@"
	END
	chmod +x "$w/emulator/qemu-system-x86_64"
	PATH=$w/emulator:$PATH run "$vm" -k "$one" "$w/again"
	cat "$w/err"
	[ "$rc" -eq 9 ] && [ "$(cat "$w/err")" = "stackbuf-vm: the emulator failed while the kernel booted: once more, with all CPUs in one thread" ]
}
result "the virtual machine starts again where the emulator failed at boot, and puts together what the guest says in pieces" boots_again

# stackbuf-kernel and its callers report what is missing before they begin
mkdir "$w/without" "$w/full" "$w/little" "$w/apt"
for dir in /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
	ln -s "$dir"/* "$w/without/" 2>/dev/null
done
rm -f "$w/without/flex"
printf '#!/bin/sh\necho Filesystem\necho "none 100 90 10 90%% $3"\n' >"$w/full/df"
# Imitate a machine where flex is not installed and cannot be downloaded
printf '#!/bin/sh\n/usr/bin/dpkg-query "$@" | grep -v -w flex\n' >"$w/little/dpkg-query"
printf '#!/bin/sh\necho "E: Failed to fetch flex" >&2\nexit 100\n' >"$w/little/apt-get"
chmod +x "$w/full/df" "$w/little/"*
cat >"$w/apt/apt.conf" <<-'END'
	Dir::Etc::Parts "/nonexistent";
	Dir::Etc::Main "/nonexistent";
	Acquire::Retries "0";
	Acquire::http::Proxy "http://127.0.0.1:9";
	Acquire::https::Proxy "http://127.0.0.1:9";
END

# stops PATTERN COMMAND...: fails with a matching last line on standard error, and leaves no file
stops() {
	local pattern=$1
	shift
	rm -rf "$w/cache"
	run env STACKBUF_CACHE="$w/cache" "$@"
	echo "status $rc, left: $(find "$w/cache" -type f ! -name 'lock*' 2>/dev/null)"
	cat "$w/err"
	[ "$rc" -ne 0 ] && [ ! -s "$w/out" ] && tail -n 1 "$w/err" | grep -qE -- "$pattern" &&
		[ -z "$(find "$w/cache" ! -type d ! -name 'lock*' 2>/dev/null)" ]
}
# stops_or_skip TEXT ...: as stops; skipped if apt has no lists, as the command then ends earlier
stops_or_skip() {
	local why=''
	[ -n "$(apt-cache pkgnames "linux-source-$one")" ] || why='apt has no package lists here'
	unless "$why" "$1" stops "${@:2}"
}
stops_or_skip "a kernel to build without flex" \
	'^stackbuf-kernel: flex is missing: install the package flex$' \
	PATH="$w/without" "$top/scripts/machine/stackbuf-kernel" "$one-debug"
stops_or_skip "a kernel without space for it" \
	'^stackbuf-kernel: .* has 10 MiB free, 4000 MiB are needed$' \
	PATH="$w/full:$PATH" "$top/scripts/machine/stackbuf-kernel" "$one"
stops_or_skip "a kernel whose download is refused" \
	'^stackbuf-kernel: download failed: .*127\.0\.0\.1' \
	APT_CONFIG="$w/apt/apt.conf" "$top/scripts/machine/stackbuf-kernel" "$one"
unless "$([ "$one" = 6.1 ] || echo "this release has to fetch lists for 6.1, which is not let here")" \
	"longer tests, a package missing that cannot be installed" \
	stops '^stackbuf-setup: (cannot install ([^ ]* )*flex|missing ([^ ]* )*flex.*: run as root)' \
	PATH="$w/little:$PATH" "$top/tests/suite" debug

echo "done"
}

all_tests | ktap
