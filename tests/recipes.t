#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The recipes of docs/recipes.md: their commands are taken from the page, run here and in virtual
# machines, and must print what the load makes certain.  What the page shows is compared as well,
# without its numbers.

# Backquotes are Markdown's, variables those of commands in the page.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

page=docs/recipes.md
home=$work/home
transcripts=$work/said
export LC_ALL=C TZ=UTC PATH=$tools:$PATH

case ${1-} in
-h)
	echo "Usage: ${0##*/} [-u]"
	echo "Run the recipes of $page, and compare what they print."
	echo "  -u    write what they print on 6.1 into the page instead"
	exit 0
	;;
'') ;;
-u) SERIES=6.1 ;;
*) echo "${0##*/}: try -h" >&2; exit 2 ;;
esac

# commands RECIPE PROMPT: its commands for this prompt
commands() {
	part "$page" "$1" | awk -v prompt="$2 " '
		index($0, prompt) == 1 { print substr($0, length(prompt) + 1) }'
}

# block LANGUAGE: the first block of the page in this language
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$top/$page" | sed '/^```/d'; }

# The page's directories, on this machine
placed() {
	sed "s@/path/to/stackbuf/build/RELEASE@$work/build/$series-big@g; s@/path/to/stackbuf@$top@g
		s@/path/to/mine@$work/mine@g; s@/lib/modules/RELEASE/build@$kernel/build@g"
}

# play RECIPE: runs its commands for this machine in $home, by a user whose home that is; the
# transcript goes to $transcripts
play() {
	(
		cd "$home" || exit
		export HOME=$home UNIT
		UNIT=$(few y n)
		unset STACKBUF_CACHE XDG_CACHE_HOME
		while IFS= read -r line <&3; do
			printf '$ %s\n' "$line"
			eval "$(placed <<<"$line")" 3<&-
		done 3< <(commands "$1" '$')
	) >"$transcripts/$1" 2>&1
}

# answers RECIPE N: what its command number N printed
answers() { awk -v n="$2" '/^[$#] / { command++; next } command == n' "$transcripts/$1"; }

# shown RECIPE: its transcript as the page shows it: what is long, or has been shown before, is cut,
# and directories of this machine are left out.  So are what gdb says of the CPUs and of source files that are
# not there, and that memory holds earlier loads of the module, as not every run leaves them there.
shown() {
	local most=10
	case $1 in
	qemu | tools | within) most=5 ;;
	esac
	sed -E '
		/^\[New LWP|^\[Current thread|^#0 |^[0-9]+	|^warning: [0-9]+	|^stackbuf: this is instance/d
		/^[$#] /!{
			s@\.\./linux-headers-[^ /]*/@<dir>/@
			s@([( "[])/[^] :)"]*/([^] :)"]*)@\1<dir>/\2@g
			s/[ \r]+$//
		}' "$transcripts/$1" | awk -v most="$most" '
		/^[$#] / { lines = 0 }
		++lines == most + 1 { print "..." }
		lines <= most'
}

shape() { sed -E 's/0x[0-9a-f]+/X/g; s/[0-9]+/N/g; s/ +/ /g'; }

same_shape() { # RECIPE
	part "$page" "$1" | sed '/^```/d' | shape >"$work/shape.page"
	shown "$1" | shape >"$work/shape.run"
	diff "$work/shape.page" "$work/shape.run" || { echo "tests/recipes.t -u writes it again"; return 1; }
}

# --- what each recipe must find

calls=(vfs_mkdir vfs_symlink vfs_rename vfs_unlink vfs_rmdir)

# last_five RECIPE: the last five calls before the panic, in order, each with its source line
last_five() {
	answers "$1" 1 | tee "$work/answer" |
		grep -oE '^	vfs_[a-z]+\+0x[04]/0x[0-9a-f]+ \(fs/namei\.c:[0-9]+\)' >"$work/got"
	printf '%s\n' "${calls[@]}" | diff - <(tr -d '\t' <"$work/got" | cut -d+ -f1) || { cat "$work/answer"; return 1; }
}

# calls_in LOG: panic_dump prints each stack once, after its first event
calls_in() {
	grep -oE 'vfs_[a-z]+\+0x[04]/0x[0-9a-f]+ \(fs/namei\.c:[0-9]+\)' "$1" | cut -d+ -f1 | sort >"$work/got"
	printf '%s\n' "${calls[@]}" | sort | diff - "$work/got" &&
		grep -q 'stackbuf: the last 5 events:' "$1" || { cat "$1"; return 1; }
}

on_console() {
	answers console 1 >"$work/answer"
	calls_in "$work/answer"
}

who_writes() {
	cat "$transcripts/callers"
	answers callers 1 | awk -v RS= '/vfs_write/ && /ksys_write/ && / 1000$/ { n++ } END { exit n != 1 }' &&
		answers callers 2 | grep -qE ';ksys_write;vfs_write 1000$' &&
		grep -q '<title>vfs_write (1000 events' "$work/out/callers.svg"
}

# Which function it is depends on the kernel
where_from() {
	cat "$transcripts/error"
	answers error 2 | grep -q 'Invalid argument' && answers error 3 | grep -qE '^1 -EINVAL from journal_(get_superblock|init_common)$' &&
		answers error 3 | grep -qE '^	\[-EINVAL] ext4_fill_super\+'
}

# dd reads the file and meets its end
life_of_file() {
	cat "$transcripts/life"
	answers life 4 | sed -E 's/[0-9]+\.[0-9]{9} s/N s/' | diff - <(printf '%s\n' '1. do_dentry_open' '2. vfs_read, N s later, another task' \
		'3. vfs_read, N s later, the same task' '4. __fput, N s later, another task')
}

own_module() {
	cat "$transcripts/mine"
	# As README.md says of the other call
	answers mine 1 | grep -q 'ERROR: modpost: "stackbuf_save_tag" .*mine\.ko\] undefined!' &&
		grep -qF '"stackbuf_save" [...] undefined!' "$top/README.md" &&
		! answers mine 2 | grep -E 'ERROR|WARNING|rror:' &&
		answers mine 4 | grep -q 'mine: Unknown symbol stackbuf_save_tag (err -2)$' &&
		answers mine 8 | grep -q ' 0x5dc$' && answers mine 8 | grep -qE '^	set_length\+0x[0-9a-f/x]+ \[mine\]$'
}

own_kernel_runs() {
	cat "$transcripts/own"
	answers own 6 | grep -q ' 0x5dc$' && answers own 6 | grep -qE '^	set_length\+0x[0-9a-f/x]+ \[mine\]$'
}

rmdir_by() { # RECIPE N
	answers "$1" "$2" | tee "$work/answer" | grep -q '^	vfs_rmdir+0x[04]/' || { cat "$work/answer"; return 1; }
}

# --- the machines

# Not by kbuild, but laid out as it does: a Debian kernel.  Without BTF, as its tools are not there.
lay_out_kernel() {
	local from=$kernel/build to=$home/linux/build file
	mkdir -p "$to/arch/x86/boot" "$to/include/config" || return
	for file in "$from"/* "$from/.kernelvariables" "$from"/arch/x86/* "$from"/include/*; do
		[ -e "$to/${file#"$from"/}" ] || ln -s "$file" "$to/${file#"$from"/}" || return
	done
	cp -r "$from"/include/config/* "$to/include/config/" && sed -i '/_BTF/d' "$to/include/config/auto.conf" &&
		cp "$from/.config" "$to/" && ln -s "$kernel/vmlinux" "$to/" && ln -s "$kernel/vmlinuz" "$to/arch/x86/boot/bzImage" &&
		touch "$to/modules.order" && rm "$to/Makefile" && cat >"$to/Makefile" <<-END
			ifeq (\$(MAKECMDGOALS),modules_install)
			modules_install: ; mkdir -p \$(INSTALL_MOD_PATH)/lib/modules && \\
			cp -r $kernel/modules \$(INSTALL_MOD_PATH)/lib/modules/$(cat "$kernel/release")
			else
			include $(sed -n "s@.*/\(linux-headers-[^/]*-common/Makefile\)\$@$kernel/usr/src/\1@p" "$from/Makefile")
			endif
		END
}

# Type the recipe's commands into QEMU's monitor, once the kernel has stopped
type_into_monitor() {
	# Ended with its machine, by who calls
	until grep -qs 'end Kernel panic' "$(cat "$work/machine" 2>/dev/null)/console.log"; do sleep 1; done
	{ commands monitor '(qemu)' | sed "s@ panic@ $home/panic@"; echo quit; } | python3 -c '
import socket, sys
monitor = socket.socket(socket.AF_UNIX)
monitor.connect(sys.argv[1])
def prompt():
    said = b""
    while not said.endswith(b"(qemu) "):
        more = monitor.recv(4096)
        if not more:
            return
        said += more
prompt()
for line in sys.stdin:
    monitor.sendall(line.encode())
    prompt()' "$work/monitor"
}

without_kdump() {
	local typist
	mkdir -p "$work/emulator" "$work/plain/doc" && rm -f "$work/machine" "$work/monitor" &&
		cat >"$work/emulator/qemu-system-x86_64" <<-END && chmod +x "$work/emulator/qemu-system-x86_64" || return
			#!/bin/sh
			pwd >"$work/machine"
			exec $(command -v qemu-system-x86_64) "\$@" -monitor unix:$work/monitor,server=on,wait=off
		END
	{
		echo '#!/bin/sh'
		echo 'cd /root && cp /t/stackbuf.ko . || exit'
		commands panic '#'
	} >"$work/plain/run" && cp "$work/vm/big/stackbuf.ko" "$work/plain/" || return
	type_into_monitor &
	typist=$!
	PATH=$work/emulator:$PATH "$top/scripts/machine/stackbuf-vm" -k "$series" -m 256 -e -a panic=0 -o "$work/plain.out" "$work/plain" &&
		wait "$typist" && [ -s "$home/panic.elf" ] && [ -s "$home/panic-paging.elf" ] && return
	kill "$typist" 2>/dev/null
	return 1
}

with_kdump() {
	VMCORE='' "$top/scripts/machine/stackbuf-vm" -k "$series" -K -e -x "$reader" -a crash_kexec_post_notifiers -o "$work/out" \
		"$work/vm" >"$work/guest.log" 2>"$work/vm.err"
	status=$?
	grep -v '^done$' "$work/guest.log"
	result "the machine panics, and kdump saves its memory" eval 'cat "$work/vm.err"; [ "$status" = 0 ]'
}

# The page's panic without kdump, in a machine that is reset and has ramoops before and after
with_pstore() {
	mkdir -p "$work/pstore/doc" "$work/pstore/big" &&
		cp "$here/guest/recipes.sh" "$work/pstore/run" &&
		cp "$here/guest/lib.sh" "$work/vm/reader" "$work/pstore/" &&
		cp "$work/vm/big/stackbuf.ko" "$work/pstore/big/" || return
	kernel_modules "$series" "$work/pstore" ramoops reed_solomon || return
	commands before '#' >"$work/pstore/doc/before"
	commands after '#' >"$work/pstore/doc/after"
	"$top/scripts/machine/stackbuf-vm" -k "$series" -r -a "$(part "$page" reserve | sed '/^```/d')" -x "$reader" \
		-o "$work/pstore.out" "$work/pstore" && cp "$work/pstore.out"/{before,after} "$transcripts/"
}

# dumped LOG: what panic_dump printed, without the heads of the lines
dumped() {
	tr -d '\r' <"$1" | sed -nE 's/^(<[0-9]+>)?\[ *[0-9.]+\] (stackbuf: )/\2/p' |
		sed -n '/^stackbuf: the last 5 events:$/,$p'
}

# The file that pstore has says what the console said before the reset, and is decoded as that is
kept_by_pstore() {
	local kept=$work/pstore.out/dmesg-ramoops-0
	dumped "$work/pstore.out/console.log" >"$work/console"
	dumped "$kept" >"$work/kept"
	[ "$(wc -l <"$work/kept")" -gt 20 ] && diff "$work/console" "$work/kept" || { cat "$work/kept"; return 1; }
	stackbuf decode -k "$kernel/vmlinux" "$kept" >"$work/answer" 2>"$work/decoded"
	calls_in "$work/answer" || { cat "$work/decoded"; return 1; }
}

# libvirt's command, where it is: no machine here runs under libvirt
by_virsh() {
	virsh help "$(commands virsh '#' | cut -d ' ' -f 2)" |
		grep -F -e "$(commands virsh '#' | grep -o -e '--[a-z-]*')"
}

by_tools() {
	local have
	play tools
	play within
	have=$(crash --version 2>/dev/null | sed -n 's/^crash \([0-9.]*\).*/\1/p')
	if [ -z "$have" ]; then
		echo "ok crash: the last event # SKIP crash is not installed"
	elif [ "$series" = 6.1 ] || printf '%s\n' 8.0.6 "$have" | sort -CV; then
		result "crash: the last event" rmdir_by tools 1
	else
		result "crash $have is too old for $series: one line" grep -q 'crash .* is too old for kernel' "$transcripts/tools"
	fi
	with drgn "drgn: the last event, of kdump's vmcore" rmdir_by within 1
	with drgn "drgn: ... of QEMU's ELF dump" rmdir_by within 2
	with gdb "gdb: the last event" rmdir_by within 4
}

recipes() {
	local recipe
	series=$1
	kernel_of "$series" || return
	rm -rf "$home" "$transcripts" "$work/mine" "$work/plain" "$work/plain.out" \
		"$work/pstore" "$work/pstore.out"
	mkdir -p "$home/try" "$transcripts" "$work/mine" "$work/vm/doc"
	guest "$series" recipes && build "$series" big && build_reader "$series" || echo "not ok everything is built"
	# As the directory of the source, with what the commands read
	cp -r "$top/scripts" "$home/" && ln -s "$top"/{Makefile,Kbuild,core,stackbuf.c,stackbuf.h,stackbuf_format.h} \
		"$kernel/vmlinux" "$work/vm/big/stackbuf.ko" "$home/"
	kernel_modules "$series" "$work/vm" loop && spoilt_image "$work/vm/disk.img" || echo "not ok a spoilt image is made"
	block c >"$work/mine/mine.c"
	block make | placed >"$work/mine/Kbuild"
	block sh >"$home/try/run"
	for recipe in freed life callers error mine panic; do
		commands "$recipe" '#' >"$work/vm/doc/$recipe"
	done
	grep -oE '^\|.*@arg.*' "$top/$page" | grep -oE '`[a-z_]+@arg[0-9]`' | tr -d '`' | sort -u |
		grep -vxFf <(head -n 1 "$work/vm/doc/freed" | sed 's/.*probe=//' | tr , '\n') | paste -sd, >"$work/vm/doc/others"

	play mine
	cp "$work/mine/mine.ko" "$work/vm/" || echo "not ok mine.ko is built"
	with_kdump
	for recipe in freed life callers error panic; do cp "$work/out/$recipe" "$transcripts/"; done
	cat "$work/out/mine" >>"$transcripts/mine"
	ln -s "$work/out/vmcore" "$work/out/console.log" "$home/"
	result "the life of an object: opened, read by another task, closed" life_of_file
	result "the callers of a hot function, and how often" who_writes
	result "the function that returned the error first" where_from
	result "a module of one's own: built, refused without stackbuf, recorded" own_module
	play kdump
	result "the last five events, from kdump's vmcore" last_five kdump
	play console
	result "... from the console" on_console
	result "a machine without kdump panics, is reset, and starts again" with_pstore
	result "... its pstore has the last five events, whole, and they are decoded" kept_by_pstore
	result "QEMU's monitor dumps the machine that panicked" without_kdump
	play qemu
	result "... from QEMU's dump" last_five qemu
	with virsh "virsh has the recipe's options" by_virsh
	by_tools
	if [ "$2" = 1 ]; then
		result "a kernel of one's own is laid out" lay_out_kernel
		play own
		result "a kernel and a module of one's own run" own_kernel_runs
		[ -n "$update" ] || for recipe in freed life callers error mine panic kdump qemu console before after tools within own; do
			result "$page, $recipe: what the commands print" same_shape "$recipe"
		done
	fi
	ended
}

update=${1-}
on_each_kernel recipes recipes 6.1
status=$?
if [ -n "$update" ]; then
	[ $status = 0 ] || { echo "${0##*/}: a recipe failed; $page is unchanged" >&2; exit 1; }
	for recipe in freed life callers error mine panic kdump qemu console before after tools within own; do
		{ echo '```'; shown "$recipe"; echo '```'; } >"$work/fenced"
		into_page "$page" "$recipe" "$work/fenced" || exit 1
	done
fi
exit $status
