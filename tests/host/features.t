#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# core/features.sh: kernels whose headers have a feature, or not, at whatever version

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

# kernel: what a kernel of 5.15 has, in as few lines as it takes
kernel() {
	rm -rf "$work/kernel"
	mkdir -p "$work/kernel/linux/sched" "$work/kernel/trace/events"
	cd "$work/kernel" || return
	echo 'struct task_struct { unsigned int __state; };' >linux/sched.h
	printf '#define %s\n' 'in_hardirq() 0' 'printk_cpu_lock_irqsave(flags)' >linux/module.h
	echo 'enum hk_flags { HK_FLAG_TIMER = 1, HK_FLAG_DOMAIN = 32 };' >linux/sched/isolation.h
	event kmalloc 'unsigned long call_site, const void *ptr, size_t bytes_req, size_t bytes_alloc, gfp_t gfp_flags'
	event sched_switch 'bool preempt, struct task_struct *prev, struct task_struct *next' sched
	exports register_kprobe stack_trace_save
}

exports() { printf '0x00000001\t%s\tvmlinux\tEXPORT_SYMBOL_GPL\t\n' "$@" >>symvers; }

# event NAME ARGUMENTS [FILE]: a tracepoint, as the preprocessor leaves it
event() {
	printf 'static inline __attribute__((unused)) void trace_%s(%s)\n{ if (0) do { } while (0); }\n' "$1" "$2" >>"trace/events/${3:-kmem}.h"
}

# shellcheck disable=SC2086 # $shell is several words
ask() { ${shell:-sh} "$top/core/features.sh" "${symbols:-symvers}" "${source:-none}" "${compiler:-gcc}" -nostdinc -I. >out 2>err; }

# says LINE...: the header compiles, and has these lines
says() {
	local line
	ask && [ ! -s err ] || { cat err; return 1; }
	gcc -fsyntax-only -Werror -x c - <out || return
	for line; do
		grep -qxF -- "$line" out || { echo "no line: $line"; cat out; return 1; }
	done
}

# is VALUE: all features are 1, or 0
is() {
	says && [ "$(grep -c '^#define SBUF_HAS_' out)" -ge 17 ] && ! grep "^#define SBUF_HAS_.* $((1 - $1))\$" out
}

old() { kernel && is 0; }

# As vendors do it: later features, and nothing else
new() {
	kernel && touch linux/hex.h linux/objpool.h && echo 'enum hk_type { HK_TYPE_TIMER, HK_TYPE_DOMAIN };' >linux/sched/isolation.h &&
		exports stack_trace_save_tsk ftrace_set_filter_ips system_dfl_wq reserve_mem_find_by_name timer_delete_sync \
			hrtimer_setup stack_depot_init __kmalloc_large_node_noprof &&
		echo 'enum mod_mem_type { MOD_TEXT, MOD_INIT_TEXT };' >>linux/module.h &&
		echo '#define DECLARE_TRACE_SYSCALL(name, proto, args) name' >linux/tracepoint.h &&
		echo 'typedef void (*cfi_check_fn)(uint64_t id, void *ptr, void *diag);' >linux/cfi.h &&
		echo 'struct kmem_cache_args { unsigned int sheaf_capacity; };' >linux/slab.h &&
		event kmalloc_node 'const void *ptr, int node' && event kmem_cache_alloc 'const void *ptr, size_t bytes_alloc' &&
		event kmem_cache_free 'const void *ptr, const struct kmem_cache *s' &&
		printf '%s\n' 'typedef void (*fprobe_exit_cb)(struct fprobe *fp, unsigned long entry_ip,' \
			'		unsigned long ret_ip, struct pt_regs *regs, void *data);' >linux/fprobe.h
}

carried() { new && is 1; }

# Other programs than this system's answer the same
others() {
	new && ask && cp out by_sh || return
	# shellcheck disable=SC2016 # for the other shell
	mkdir -p "$work/bin" && printf '#!/bin/sh\nexec busybox awk "$@"\n' >"$work/bin/awk" && chmod 755 "$work/bin/awk" || return
	local shell="env PATH=$work/bin:$PATH busybox sh"
	is 1 && diff out by_sh && kernel && is 0 && echo 'struct task_struct { long state; };' >linux/sched.h && refuses 'lack __state'
}

by_clang() { new && compiler=clang is 1; }

# Those of 6.6 have no name for the type, those of 6.14 take other registers
fprobes() {
	kernel && printf '%s\n' 'struct fprobe { void (*exit_handler)(struct fprobe *fp, unsigned long entry_ip,' \
		'		unsigned long ret_ip, struct pt_regs *regs, void *data); };' >linux/fprobe.h &&
		says '#define SBUF_HAS_FPROBE_RET_IP 1' &&
		printf '%s\n' 'typedef void (*fprobe_exit_cb)(struct fprobe *fp, unsigned long entry_ip,' \
			'		unsigned long ret_ip, struct ftrace_regs *regs, void *data);' >linux/fprobe.h &&
		says '#define SBUF_HAS_FPROBE_RET_IP 0'
}

# A longer name, one in a comment or in a macro, and one that is not exported are none
near() {
	kernel && printf '%s\n' 'enum hk_type { HK_TYPE_DOMAIN_BOOT };' '/* HK_TYPE_DOMAIN */' '#define TYPE HK_TYPE_DOMAIN' \
		>linux/sched/isolation.h && printf '0x3\tmy_stack_trace_save_tsk\tvmlinux\tEXPORT_SYMBOL\t\n' >>symvers &&
		says '#define SBUF_HAS_HK_TYPE 0' '#define SBUF_HAS_SAVE_TASK 0'
}

orders() {
	kernel && says $'\t{ "kmalloc", "call_site ptr bytes_req bytes_alloc gfp_flags" }, \\' \
		'#define SBUF_SWITCH_ARGUMENTS bool preempt, struct task_struct *prev, struct task_struct *next' &&
		rm trace/events/* &&
		event kmalloc 'const void *ptr, unsigned long call_site, struct kmem_cache *s, gfp_t gfp_flags , size_t bytes_alloc' &&
		event kmem_cache_alloc 'void *ptr, size_t bytes_alloc' && event kmalloc_node 'void *ptr,int node' &&
		event sched_switch 'bool preempt, unsigned int prev_state, struct task_struct *prev, struct task_struct *next' sched &&
		says $'\t{ "kmalloc", "ptr call_site s gfp_flags bytes_alloc" }, \\' $'\t{ "kmalloc_node", "ptr node" }, \\' \
			'#define SBUF_HAS_CACHE_ALLOC_SIZE 1' '#define SBUF_HAS_KMALLOC_NODE 1' \
			'#define SBUF_SWITCH_ARGUMENTS bool preempt, unsigned int prev_state, struct task_struct *prev, struct task_struct *next'
}

# Without a list of what modules may use the source says it
in_tree() {
	kernel && mkdir kernel mm lib && echo 'EXPORT_SYMBOL_GPL(stack_trace_save_tsk);' >kernel/stacktrace.c &&
		symbols=none source=$PWD says '#define SBUF_HAS_SAVE_TASK 1' '#define SBUF_HAS_FILTER_IPS 0' &&
		rm -r kernel && symbols=none source=$PWD refuses '^stackbuf: none is missing, and the kernel.s source: nothing says what modules may use$'
}

# One line that says what is missing
refuses() {
	! ask && [ "$(wc -l <err)" = 1 ] && grep -E "$1" err
}

too_old() {
	kernel && echo 'struct task_struct { long state; };' >linux/sched.h &&
		refuses '^stackbuf: this kernel is too old: its headers lack __state of task_struct: .*, 5\.14$' &&
		kernel && sed -i /in_hardirq/d linux/module.h && refuses 'lack in_hardirq of .*, 5\.11$' && kernel &&
		sed -i s/printk_cpu_lock_irqsave/printk_cpu_sync_get_irqsave/ linux/module.h && says && sed -i /printk_cpu/d linux/module.h &&
		refuses 'lack printk_cpu_lock_irqsave.printk_cpu_sync_get_irqsave of .*, 5\.14$'
}

unreadable() {
	kernel && echo '#error not configured' >linux/slab.h && ! ask && tail -n 1 err | grep -x 'stackbuf: the headers of this kernel cannot be read'
}

{
	result "a kernel with none of the later features" old
	result "... with all of them, at the same version" carried
	with busybox "... asked by other shells and awks" others
	with clang "... asked by clang" by_clang
	result "... fprobes before and after" fprobes
	result "... what only looks like a feature" near
	result "arguments of tracepoints are where the prototype has them" orders
	result "what modules may use is in the source, too" in_tree
	result "a kernel that is too old: one line says what it lacks" too_old
	result "headers that cannot be read" unreadable
	echo "done"
} | ktap
