#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# features.sh SYMBOLS SOURCE COMPILER [OPTION...] - print a header with the target kernel's features
#
# Vendors backport much from later versions under an old version number, so this looks up each
# feature that differs in the kernel's headers.  SYMBOLS is its Module.symvers.  If that is missing,
# as in a build in the kernel's own tree, the exported symbols are looked up in SOURCE, the
# directory of the kernel's source.

set -u

symbols=$1 source=$2
shift 2

# Each line has NAME and a feature to look for; the reason is in the lines below, after a tab.  The
# feature is one of
#
#	export SYMBOL		the symbol is exported to modules
#	name WORD		a type, a member, an enumerator or a function has this name
#	macro WORD|WORD...	one of the macros is defined
#	header FILE		the header exists
#	text REGEX		the headers match, with one blank between words
#	argument EVENT WORD	the tracepoint has an argument of this name
#
# With "need" in place of NAME, the build stops if the feature is missing: the kernel is too old.
table() {
	cat <<'END'
need	name __state
	task_struct: 2f064a59a11f ("sched: Change task_struct::state"), 5.14
need	macro printk_cpu_lock_irqsave|printk_cpu_sync_get_irqsave
	printk.h: 766c268bc6d3 ("lib/dump_stack: move cpu lock to printk.c"), 5.14
need	macro in_hardirq
	preempt.h: 15115830c887 ("preempt: Cleanup the macro maze a bit"), 5.11
HEX_H	header linux/hex.h
	"kernel.h: split the hexadecimal related helpers to hex.h", 6.4
SAVE_TASK	export stack_trace_save_tsk
	7d672f40941a ("stacktrace: Export stack_trace_save_tsk"), 6.7
MODULE_MEMORY	name MOD_INIT_TEXT
	ac3b43283923 ("module: replace module_layout with module_memory"), 6.4
SYSCALL_TRACEPOINTS	macro DECLARE_TRACE_SYSCALL
	a363d27cdbc2 ("tracing: Allow system call tracepoints to handle page faults"), 6.13
FILTER_IPS	export ftrace_set_filter_ips
	4f554e955614 ("ftrace: Add ftrace_set_filter_ips function"), 5.18
DFL_WQ	export system_dfl_wq
	128ea9f6ccfb ("workqueue: Add system_percpu_wq and system_dfl_wq"), 6.17
HK_TYPE	name HK_TYPE_DOMAIN
	04d4e665a609 ("sched/isolation: Use single feature type while referring to housekeeping
	cpumask"), 5.18
RESERVE_MEM	export reserve_mem_find_by_name
	1e4c64b71c9b ("mm/memblock: Add "reserve_mem" to reserved named memory at boot up"),
	6.12
LARGE_TWICE	export __kmalloc_large_node_noprof
	a large kmalloc() is traced there and in __do_kmalloc_node(), 6.10
SHEAVES	name sheaf_capacity
	2d517aa09bbc ("slab: add opt-in caching layer of percpu sheaves"), 6.18
KMALLOC_NODE	argument kmalloc_node ptr
	until 11e9734bcb6a ("mm/slab_common: unify NUMA and UMA version of tracepoints"), 6.1
CACHE_ALLOC_SIZE	argument kmem_cache_alloc bytes_alloc
	until 2c1d697fb8ba ("mm/slab_common: drop kmem_alloc & avoid dereferencing fields when
	not using"), 6.1
CACHE_FREE_CACHE	argument kmem_cache_free s
	the same: such a kernel traces before it frees
TIMER_DELETE_SYNC	export timer_delete_sync
	9b13df3fb64e ("timers: Rename del_timer_sync() to timer_delete_sync()"), 6.2
HRTIMER_SETUP	export hrtimer_setup
	908a1d775422 ("hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()"), 6.13
OBJPOOL	header linux/objpool.h
	4bbd93455659 ("kprobes: kretprobe scalability improvement"), 6.7
DEPOT_INIT	export stack_depot_init
	2dba5eb1c73b ("lib/stackdepot: allow optional init and stack_table allocation by
	kvmalloc()"), 5.17
CFI_JUMP_TABLES	name cfi_check_fn
	CONFIG_CFI_CLANG, until 89245600941e ("cfi: Switch to -fsanitize=kcfi"), 6.1
FPROBE_RET_IP	text \(\*(fprobe_exit_cb|exit_handler)\)\([^)]* ret_ip, struct pt_regs
	cb16330d1274 ("fprobe: Pass return address to the handlers"), 6.6, until 762abbc0d09f
	("fprobe: Use ftrace_regs in fprobe exit handler"), 6.14
END
}

# Tracepoints whose arguments presets name, and sched_switch, whose type the tests use
events="kmalloc kmalloc_node kmem_cache_alloc kmem_cache_alloc_node kfree kmem_cache_free"
events="$events mm_page_alloc mm_page_free sched_switch sched_waking"
events="$events contention_begin contention_end"

exports() {
	if [ -e "$symbols" ]; then
		cut -f 2 "$symbols"
	else
		find "$source/kernel" "$source/mm" "$source/lib" -name '*.c' \
			-exec sed -nE 's/^EXPORT_SYMBOL(_GPL)?\(([a-z0-9_]+)\).*/\2/p' '{}' +
	fi
}

if [ ! -e "$symbols" ] && [ ! -e "$source/kernel/stacktrace.c" ]; then
	echo "stackbuf: $symbols is missing, and the kernel's source:" \
		"nothing says what modules may use" >&2
	exit 1
fi

headers() {
	for header in linux/cfi.h linux/fprobe.h linux/ftrace.h linux/hex.h linux/module.h \
		linux/objpool.h linux/sched.h linux/sched/isolation.h linux/slab.h \
		linux/tracepoint.h trace/events/kmem.h trace/events/lock.h trace/events/sched.h; do
		printf '#if __has_include(<%s>)\n#include <%s>\n#endif\n' $header $header
	done
}

{
	table
	echo
	exports
	echo
	headers | "$@" -E -dD -x c - || echo failed
} | awk -v events="$events" '
# Return 1 or 0.  After a function has returned a missing element, busybox treats it as nonzero
function has(kind, what, event, one, n) {
	if (kind == "macro")
		for (n = split(what, one, "|"); n && !(one[n] in macro); n--)
			;
	return kind == "macro" ? n > 0 : \
	       kind == "export" ? what in exported : \
	       kind == "header" ? what in header : \
	       kind == "argument" ? event in arguments && \
				    index(" " arguments[event] " ", " " what " ") > 0 : \
	       (kind, what) in found
}

# Look for features in the declarations of one or more lines
function look(text, i, list, one, n) {
	for (i in wanted)
		if (!(("name", i) in found) && index(text, i) &&
		    text ~ "[^A-Za-z0-9_]" i "[^A-Za-z0-9_]")
			found["name", i] = 1
	for (i in regex)
		if (text ~ i)
			found["text", i] = 1
	for (i in is_event) {
		if (!index(text, "trace_" i) || !match(text, "void trace_" i " ?\\([^()]*\\)"))
			continue
		list = substr(text, RSTART, RLENGTH - 1)
		sub(/.*\(/, "", list)
		types[i] = list
		# "struct task_struct *prev, unsigned int state": prev state
		gsub(/ *(,|$)/, ",", list)
		gsub(/[^,]*[ *]/, " ", list)
		gsub(/,/, "", list)
		arguments[i] = substr(list, 2)
	}
}

BEGIN {
	n = split(events, event)
	for (i = 1; i <= n; i++)
		is_event[event[i]] = 1
}

part == 0 && /^\t/ {
	why[rows] = why[rows] " " substr($0, 2)
	next
}
part == 0 && NF {
	split($0, field, "\t")
	row[++rows] = field[1]
	what[rows] = field[2]
	kind = field[2]
	sub(/ .*/, "", kind)
	if (kind == "name")
		wanted[substr(field[2], 6)] = 1
	if (kind == "text")
		regex[substr(field[2], 6)] = 1
	next
}
part == 1 && NF { exported[$1] = 1; next }
part < 2 { part++; next }
$0 == "failed" { failed = 1; exit }
/^#define/ { sub(/\(.*/, "", $2); macro[$2] = 1 }
/^# / {
	gsub(/"/, "", $3)
	sub(/^.*include\/|^\.\//, "", $3)
	header[$3] = 1
}
/^#/ { next }
{
	gsub(/[ \t]+/, " ")
	text = text $0 " "
}
/[;{}][ \t]*$/ { look(text); text = "" }

END {
	if (failed) {
		print "stackbuf: the headers of this kernel cannot be read" >"/dev/stderr"
		exit 1
	}
	print "/* Made by core/features.sh from the headers of the kernel that is built for */"
	for (i = 1; i <= rows; i++) {
		kind = rest = what[i]
		sub(/ .*/, "", kind)
		rest = substr(rest, length(kind) + 2)
		split(rest, word, " ")
		is = kind == "argument" ? has(kind, word[2], word[1]) : has(kind, rest)
		if (row[i] == "need" && !is) {
			printf "stackbuf: this kernel is too old: its headers lack %s of%s\n", \
			       rest, why[i] >"/dev/stderr"
			exit 1
		}
		if (row[i] != "need")
			printf "\n/* %s:%s */\n#define SBUF_HAS_%s %d\n", \
			       what[i], why[i], row[i], is
	}
	print "\n/* Arguments of tracepoints, in order */\n#define SBUF_EVENT_ARGUMENTS \\"
	for (i = 1; i <= n; i++)
		if (event[i] in arguments)
			printf "\t{ \"%s\", \"%s\" }, \\\n", event[i], arguments[event[i]]
	print "\n#define SBUF_SWITCH_ARGUMENTS " types["sched_switch"]
}'
