#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Logs and folded stacks in the forms that people have: tests/field/logs has them decoded, each
# after a line "=== NAME"; without the source lines they are the input.  Where lines "--> " follow,
# those are its folded stacks instead.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

field=$top/tests/field

kernel() {
	gcc -g -c -o "$dir/kernel.o" "$field/kernel.S" && gcc -g -c -DSECOND -o "$dir/second.o" "$field/kernel.S" &&
		ld -Ttext=0xffffffff81000000 -e 0xffffffff81000000 -o "$dir/vmlinux" "$dir/kernel.o" "$dir/second.o" &&
		mkdir "$dir/modules" && gcc -g -c -o "$dir/modules/foo-bar.ko" "$field/module.S"
}

# decoded FILE [OPTION...]: with lines as those of tests/field have them
decoded() {
	"$sane" decode -k "$dir/vmlinux" -m "$dir/modules" "$@" 2>"$dir/err" | sed 's#([^ (]*/\([a-z]*\.S\):#(\1:#g'
	return "${PIPESTATUS[0]}"
}

# One of the logs; STATUS and words on standard error are for those that are not decoded as a whole
log() {
	local status=0 said='not known to be the build that ran' got
	if grep -q '^--> ' "$2"; then
		grep -v '^--> ' "$2" | "$sane" decode --folded 2>&1 | sort | sed 's/^/--> /' >"$dir/out"
		diff <(grep '^--> ' "$2" | sort) "$dir/out"
		return
	fi
	case $1 in
	'a hung task names its kernel' | 'lockdep names its kernel' | 'flags of RHEL stand before'*)
		status=1 said='frames stay as they are: .*vmlinux is of kernel 6.12.0-field, not of 6.1.0-other' ;;
	'sources that differ in a number'*)
		said='^stackbuf: 4 frames are taken for return addresses: the text does not tell whether the entries before them are of the same traces$' ;;
	'frames that a mail program cut')
		said='^stackbuf: 4 frames are cut and stay as they are: other frames have their size$' ;;
	'no size: only where one function has the name')
		said="twice+0xc lacks the function's size, and 2 functions have this name" ;;
	esac
	sed 's/ ([a-z]*\.S:[0-9?]*)//g' "$2" >"$dir/in" && ! cmp -s "$dir/in" "$2" || [ "$status" = 1 ] || return
	decoded "$dir/in" >"$dir/out"
	got=$?
	diff "$2" "$dir/out" && [ "$got" = "$status" ] && grep -q "$said" "$dir/err" && return
	echo "status $got"
	cat "$dir/err"
	return 1
}

# A compressed module that libdw cannot read: what it is
packed() {
	command -v zstd >/dev/null || { echo 'zstd is not installed'; return 1; }
	mkdir "$dir/packed" && zstd -q "$dir/modules/foo-bar.ko" -o "$dir/packed/foo-bar.ko.zst" &&
		echo ' foo_work+0x9/0x1e [foo_bar]' >"$dir/in" || return
	"$sane" decode -k "$dir/vmlinux" -m "$dir/packed" "$dir/in" >"$dir/out" 2>"$dir/err"
	# A libdw that knows zstd reads it
	grep -q 'module\.S:7' "$dir/out" || grep -q 'foo-bar.ko.zst is compressed by zstd, .*: unpack it by unzstd$' "$dir/err" ||
		{ cat "$dir/out" "$dir/err"; return 1; }
}

# What is no text
no_text() {
	printf ' ksys_read+0x6f/0xf0\n' | gzip >"$dir/log.gz" && printf ' ksys_read\n' | iconv -t UTF-16 >"$dir/log.16" || return
	refused 1 'log.gz: is compressed by gzip: unpack it first' decode "$dir/log.gz" && refused 1 'is UTF-16 text' decode "$dir/log.16" &&
		refused 1 'standard input: is compressed by gzip' decode --folded <"$dir/log.gz"
}

# Traces of a log as folded stacks: what was interrupted is in them, guesses are not
folded() {
	cat >"$dir/log" <<-'END' || return
		[   10.1][   T12] RIP: 0010:vfs_read+0x15d/0x370
		[   10.1][   T12] Code: 48 89 e5 <0f> 0b
		[   10.2][    C0] Call Trace:
		[   10.2][    C0]  <IRQ>
		[   10.1][   T12] RSP: 0018:ffffc900 EFLAGS: 00010246
		[   10.1][   T12] Call Trace:
		[   10.1][   T12]  <TASK>
		[   10.2][    C0]  common_interrupt+0x80/0xa0
		[   10.1][   T12]  ? kthread+0xf0/0x100
		[   10.1][   T12]  ksys_read+0x6f/0xf0
		[   10.2][    C0]  </IRQ>
		[   10.2][    C0]  asm_common_interrupt+0x26/0x40
		[   10.2][    C0] RIP: 0010:vfs_read+0xa9/0x370
		[   10.2][    C0] Code: 48 89 e5 <0f> 0b
		[   10.2][    C0] RSP: 0018:ffffc900 EFLAGS: 00010246
		[   10.2][    C0]  ext4_read+0x6f/0xf0 [ext4]
		[   10.1][   T12]  do_syscall_64+0x87/0x180
		[   10.1][   T12]  </TASK>
		[   10.1][   T12] ---[ end trace 0000000000000000 ]---
		[   10.3] pc : vfs_read+0x15d/0x370
		[   10.3] lr : ksys_read+0x6f/0xf0
		[   10.3] sp : ffff800012345678
		[   10.3] Call trace:
		[   10.3]  vfs_read+0x15d/0x370 (P)
		[   10.3]  ksys_read+0x6f/0xf0
		[   10.3]  do_syscall_64+0x87/0x180
		[   10.4] Call trace:
		[   10.4]  do_syscall_64+0x87/0x180
	END
	"$sane" decode --folded "$dir/log" >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	sort "$dir/out" | diff - <(sort <<-'END'
		do_syscall_64 1
		ext4_read_[ext4];vfs_read;asm_common_interrupt;common_interrupt 1
		do_syscall_64;ksys_read;vfs_read 2
	END
	) || return
	"$sane" decode --flame "$dir/graph.svg" "$dir/log" && grep -q '<title>do_syscall_64 (3 events' "$dir/graph.svg" || return
	refused 2 'have functions, no source lines' decode --folded --force "$dir/log" &&
		refused 1 'cannot be read' decode --folded "$dir" &&
		echo 'no trace' | "$sane" decode --folded 2>&1 | grep -qx 'stackbuf: the text holds no trace of frames as .*'
}

# Samples of programs, whose names hold anything: each is one stack
perf() {
	sed 's/^|//' >"$dir/log" <<-'END' || return
		|containerd  812 [003]  1234.567890:     250000 cpu-clock:
		|	ffffffff8114abcd futex_wait+0x15d ([kernel.kallsyms])
		|	ffffffffc012ab34 ext4_file_read+0x5 ([ext4])
		|	ffffffff81c0008b entry_SYSCALL_64_after_hwframe+0x76 ([kernel.kallsyms])
		|	          46c5a3 runtime.futex+0x23 (/usr/bin/containerd)
		|	          401126 runtime.(*mheap).alloc.func1+0x30 (/usr/bin/containerd)
		|
		|a  812 [003]  1234.667890:     250000 cpu-clock:
		|	ffffffff8114abcd vfs_read ([kernel.kallsyms])
		|	ffffffffc012ab34 [unknown] ([unknown])
		|	    7f12344011a6 ns::K::run(int, char const*)+0x5 (/bin/a (deleted))
		|	    7f12344011a7 std::function<void (int)>::operator()(int) const+0x5 (/bin/a)
		|	    7f1234567812 [unknown] (/usr/lib/libfoo.so.1)
		|	          43e1f0 main;x+0x5 (/bin/a)
		|	          43e1f0 main;x+0x5 (/bin/a)
		|
		|containerd  812 [003]  1234.767890:     250000 cpu-clock:
		|	          46c5a3 runtime.futex+0x23 (/usr/bin/containerd)
		|
		|             cc1  2101 [000]  5021.111111:     250000 cpu-clock:pppH:  ffffffff8114abcd clear_page_erms+0xa ([kernel.kallsyms])
		|             cc1  2101 [000]  5021.222222:     250000 cpu-clock:pppH:  ffffffff8114abcd clear_page_erms+0xa ([kernel.kallsyms])
		|
	END
	"$sane" decode --folded "$dir/log" >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	sort "$dir/out" | diff - <(sort <<-'END'
		runtime.(*mheap).alloc.func1;runtime.futex;entry_SYSCALL_64_after_hwframe;ext4_file_read_[ext4];futex_wait 1
		main_x;main_x;[libfoo.so.1];std::function<void (int)>::operator()(int) const;ns::K::run(int, char const*);[unknown];vfs_read 1
		runtime.futex 1
		clear_page_erms 2
	END
	)
}

# Each line of a trace has its own time, in the forms of many logs: %s is a second
times() {
	local form second frame i
	while read -r form; do
		i=8
		for frame in asm_exc_page_fault+0x26/0x30 vfs_read+0x15d/0x370 ksys_read+0x6f/0xf0; do
			printf -v second %02d $((i++))
			printf '%s  %s\n' "${form//%s/$second}" "$frame"
		done >"$dir/log"
		[ "$("$sane" decode --folded "$dir/log" 2>&1)" = 'ksys_read;vfs_read;asm_exc_page_fault 1' ] ||
			{ "$sane" decode --folded "$dir/log"; cat "$dir/log"; return 1; }
	done <<-'END'
		2026-01-02T10:11:%s.000107+00:00 deb kernel: [   12.3]
		2026-01-02T10:11:%s.107Z deb kernel:
		<4>1 2026-01-02T10:11:%sZ host kernel - - -
		2026-01-02T10:11:%s.000000107Z stdout F
		2026-01-02T10:11:%s,107+0000 host kernel:
		2026-01-02T10:11:%s-07:00 host kernel:
		20260102T1011%sZ
		2026-01-02 10:11:%s.107 UTC
		01-02 10:11:%s.107  0  0 W kernel  :
		Jan  2 10:11:%s host kernel:
		[02/Jan/2026:10:11:%s +0000]
		10:11:%sAM
		@4000000065940000000000%s
		[   %s.000107] [T123]
		6,107,64100%s,-;
		+10%sms
	END
}

# Events of kprobes, as ftrace prints them, are places and no trace
events() {
	printf ' cat-123 [000] ..... 100.%s: p_vfs_read_0: (vfs_read+0x0/0x370)\n' 1 2 3 >"$dir/log"
	decoded "$dir/log" | sed 's/.*: (//' | sort | uniq -c >"$dir/out"
	grep -qx ' *3 vfs_read+0x0/0x370 (kernel.S:[0-9]*))' "$dir/out" && "$sane" decode --folded "$dir/log" 2>&1 | grep -q 'holds no trace'
}

# The kernel that a log names is that of the lines after it, though all are in one line of the file
in_one_line() {
	local filler
	printf -v filler '%05000d' 0
	printf '"  ksys_read+0x6f/0xf0\\n %s\\n Linux version 5.10.0-1-amd64 (x)\\n  vfs_read+0x15d/0x370\\n"\n' "$filler" >"$dir/log"
	decoded "$dir/log" >"$dir/out"
	[ $? = 1 ] && grep -q 'not of 5\.10\.0-1-amd64' "$dir/err" || { cat "$dir/out" "$dir/err"; return 1; }
}

# The line that names the kernel is cut, as in a terminal or in pstore
cut_banner() {
	printf '[    0.0] Linux version 6.12.0-field (field@fie\n  ksys_read+0x6f/0xf0\n' >"$dir/log"
	decoded "$dir/log" >"$dir/out" && grep -q 'ksys_read+0x6f/0xf0 (kernel\.S' "$dir/out" &&
		grep -q 'not known to be the build that ran' "$dir/err" || { cat "$dir/out" "$dir/err"; return 1; }
	sed -i 's/field@fie/field@other/' "$dir/log"
	decoded "$dir/log" >"$dir/out"
	[ $? = 1 ] && grep -q 'another build of this kernel' "$dir/err" || { cat "$dir/out" "$dir/err"; return 1; }
}

# 40,000 frames within other text, in one line
long_line() {
	printf 'vfs_read+0x15d/0x370 foo %.0s' {1..40000} >"$dir/log" && limited 10 "$sane" decode --folded "$dir/log" >"$dir/out" 2>&1 &&
		grep '^stackbuf: 39999 frames are left out' "$dir/out"
}

# With split DWARF the inlined functions are in another file
split() {
	local how size
	cat >"$dir/m.c" <<-'END' || return
		extern int f(int);
		static inline __attribute__((always_inline)) int inner(int i) { return f(i) + 1; }
		static inline __attribute__((always_inline)) int middle(int i) { return inner(i) + f(i + 2); }
		int work(int i) { return middle(i) + 3; }
	END
	for how in whole split; do
		mkdir "$dir/$how" && (cd "$dir/$how" && cp ../m.c . && case $how in split) set -- -gsplit-dwarf ;; esac && gcc -O2 -g "$@" -c -o bar.ko m.c) || return
		size=$(nm -S "$dir/$how/bar.ko" | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) T work$/\1/p')
		for ((i = 0; i < 16#$size; i++)); do printf ' work+0x%x/0x%x [bar]\n' "$i" "$((16#$size))"; done >"$dir/in"
		"$sane" decode -k "$dir/vmlinux" -m "$dir/$how" "$dir/in" 2>"$dir/err" | sed 's#([^()]*/m\.c:#(m.c:#g' >"$dir/$how.out"
	done
	grep -q ' inner (m.c:2) (inlined by) middle (m.c:3) (inlined by) work (m.c:4)' "$dir/whole.out" && diff "$dir/whole.out" "$dir/split.out" && ! grep dwo "$dir/err" || return
	rm "$dir/split/"*.dwo && "$sane" decode -k "$dir/vmlinux" -m "$dir/split" "$dir/in" 2>&1 >/dev/null |
		grep -c 'split/bar.ko: .dwo files .* are missing' | grep -x 1
}

# A module whose build id is not known, of another build: all but its last function end where another begins
sizes() {
	local size
	printf 'int first(int x);\nint first(int x)\n{\n\treturn x + 1;\n}\nint last(int x);\nint last(int x)\n{\n\treturn x + 2;\n}\n' >"$dir/two.c"
	mkdir -p "$dir/two" && gcc -g -O2 -fno-toplevel-reorder -c -o "$dir/two/two.ko" "$dir/two.c" || return
	size=$(nm -S "$dir/two/two.ko" | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) T first$/\1/p')
	printf ' %s+0x1/0x%x [two]\n' last 4096 first 4096 first $((16#$size + 1)) >"$dir/in"
	"$sane" decode -k "$dir/vmlinux" -m "$dir/two" "$dir/in" >"$dir/out" 2>"$dir/err"
	cat "$dir/out" "$dir/err"
	[ "$(grep -c 'two.c' "$dir/out")" = 1 ] && grep 'last+0x1/0x1000 \[two\] .*two.c:9' "$dir/out"
}

all_tests() {
	local name
	result 'something that stands for a kernel' kernel
	mkdir "$dir/logs" && awk -v dir="$dir/logs/" '
		/^=== / { file = dir substr($0, 5); print substr($0, 5); next }
		{ print >file }' "$field/logs" >"$dir/names" || echo 'not ok the logs are split'
	while IFS= read -r name; do
		result "$name" log "$name" "$dir/logs/$name"
	done <"$dir/names"
	result 'a module compressed by zstd is named as such' packed
	result 'text that is compressed, or UTF-16, is refused' no_text
	result 'each line has its own time, in many forms' times
	result 'events of kprobes are no trace' events
	result "the log's kernel, in a file of one line" in_one_line
	result 'the line that names the kernel is cut' cut_banner
	result 'many frames in one line take no time' long_line
	result 'inlined functions with split DWARF' split
	result 'sizes that another build of a module has are refused' sizes
	result "a log's traces as folded stacks and as a flame graph" folded
	result "... perf script's samples, with frames of programs" perf
}

with_tools all_tests all
