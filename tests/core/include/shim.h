/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shim.h - as much of the kernel as the files of core/ need in a program
 *
 * Every header linux/NAME.h and asm/NAME.h that core/ includes leads here; the Makefile makes them.
 *
 * A thread is a CPU.  SIGUSR1 is its interrupt, which raw_local_irq_save() holds back: a flag of
 * the thread, as lazy masking does it, and no system call.  SIGUSR2 is its NMI, which is never held
 * back.  Both come between any two instructions.  Workers and irq_works have threads of their own.
 *
 * For ThreadSanitizer READ_ONCE() acquires and WRITE_ONCE() releases, as it knows neither fences
 * nor dependencies.  So it finds plain accesses that race, and no missing barrier.
 */
#ifndef SHIM_H
#define SHIM_H

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/types.h>

#ifndef __x86_64__
#error "x86-64 only"
#endif

/* ---------------------------------------------------------- the kernel's C --- */

#define CONFIG_X86_64		1
#define CONFIG_SMP		1
#define CONFIG_KALLSYMS		1
#define CONFIG_UNWINDER_ORC	1
#define KBUILD_MODNAME		"stackbuf"

#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef __u64 u64;
typedef int32_t s32;
typedef __s64 s64;
typedef unsigned int gfp_t;

#define S32_MAX			INT32_MAX
#define S32_MIN			INT32_MIN
#define U8_MAX			UINT8_MAX
#define U16_MAX			((u16)~0U)
#define U32_MAX			UINT32_MAX
#define LONG_MIN		(-__LONG_MAX__ - 1)

#define __percpu
#define __init
#define __initdata
#define __read_mostly
#define noinline		__attribute__((__noinline__))
#ifndef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#endif
#define __aligned(n)		__attribute__((__aligned__(n)))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		asm volatile("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(v)	asm volatile("" : "+r" (v))
#undef static_assert
#define static_assert		_Static_assert
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(1, "")
#define NOKPROBE_SYMBOL(name)	_Static_assert(1, "")

#define SHIM_COMMA_1		0,
#define SHIM_SECOND(a, b, ...)	b
#define SHIM_IS_1(comma)	SHIM_SECOND(comma 1, 0, 0)
#define SHIM_IS(value)		SHIM_IS_1(SHIM_COMMA_##value)
#define IS_ENABLED(option)	SHIM_IS(option)

#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define min(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(h, l)	((~0ULL << (l)) & (~0ULL >> (63 - (h))))
#define ilog2(n)		(63 - __builtin_clzll(n))
#define fls64(n)		((n) ? ilog2(n) + 1 : 0)
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0)
#define roundup_pow_of_two(n)	(1UL << order_base_2(n))
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((u64)(n) >> 32))
#define do_div(n, by)		({ u32 rest_ = (n) % (by); (n) /= (by); rest_; })
#define __ffs64(n)		((unsigned int)__builtin_ctzll(n))
#define ror64(word, n)		((word) >> (n) | (word) << (64 - (n)))
#define hweight64(n)		((unsigned int)__builtin_popcountll(n))
#define struct_size(p, member, n)	(sizeof(*(p)) + (n) * sizeof((p)->member[0]))
#define GOLDEN_RATIO_64		0x61C8864680B583EBULL
#define hash_long(n, bits)	((n) * GOLDEN_RATIO_64 >> (64 - (bits)))

/* -------------------------------------------------------------- memory order --- */

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define data_race(expr) ({						\
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);			\
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);			\
	__auto_type value_ = (expr);					\
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);			\
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);			\
	value_;								\
})
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELEASE)
/* As KCSAN has it by default: aligned words are written at once */
static inline void shim_clear(void *to, size_t size)
{
	u64 *word = to;

	for (; size >= 8; size -= 8)
		__atomic_store_n(word++, 0, __ATOMIC_RELAXED);
}
#define memset64(p, value, n)	shim_clear(p, 8 * (n))
#else
#define data_race(expr)		(expr)
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value)	((void)(*(volatile typeof(x) *)&(x) = (value)))
#define memset64(p, value, n)	memset(p, value, 8 * (n))
#endif

#define READ_ONCE_NOCHECK(x)	READ_ONCE(x)
#define smp_mb()		asm volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc")
#define smp_rmb()		barrier()
#define smp_wmb()		barrier()
#define smp_mb__before_atomic()	barrier()
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#define kcsan_release()		do { } while (0)

#define cmpxchg(p, old, new) ({						\
	typeof(*(p)) was_ = (old);					\
	__atomic_compare_exchange_n(p, &was_, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	was_;								\
})
#define cmpxchg64(p, old, new)	cmpxchg(p, old, new)
#define cmpxchg64_relaxed(p, old, new)	cmpxchg(p, old, new)
#define try_cmpxchg(p, old, new) \
	__atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define xchg(p, new)		__atomic_exchange_n(p, new, __ATOMIC_SEQ_CST)

/* Atomic on this CPU only */
#ifdef __SANITIZE_THREAD__
#define cmpxchg64_local(p, old, new) ({					\
	u64 was_ = (old);						\
	__atomic_compare_exchange_n(p, &was_, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
	was_;								\
})
#define shim_add_return(p, n)	__atomic_add_fetch(p, n, __ATOMIC_RELAXED)
#else
#define cmpxchg64_local(p, old, new) ({					\
	u64 was_ = (old);						\
	asm volatile("cmpxchgq %2, %1"					\
		     : "+a" (was_), "+m" (*(p)) : "r" ((u64)(new)) : "memory", "cc"); \
	was_;								\
})
#define shim_add_return(p, n) ({					\
	typeof(*(p)) by_ = (n), add_ = by_;				\
	asm volatile("xadd %0, %1" : "+r" (by_), "+m" (*(p)) : : "memory", "cc"); \
	by_ + add_;							\
})
#endif

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

#define ATOMIC_INIT(n)		{ n }
#define atomic_read(v)		__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_read_acquire(v)	__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_set(v, n)	__atomic_store_n(&(v)->counter, n, __ATOMIC_RELAXED)
#define atomic_set_release(v, n)	__atomic_store_n(&(v)->counter, n, __ATOMIC_RELEASE)
#define atomic_add(n, v)	((void)__atomic_add_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_sub(n, v)	((void)__atomic_sub_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_inc(v)		atomic_add(1, v)
#define atomic_dec(v)		atomic_sub(1, v)
#define atomic_or(n, v)		((void)__atomic_or_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_and(n, v)	((void)__atomic_and_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST))
#define atomic_andnot(n, v)	atomic_and(~(n), v)
#define atomic_xchg(v, n)	xchg(&(v)->counter, n)
#define atomic_cmpxchg(v, old, new)	cmpxchg(&(v)->counter, old, new)
#define atomic_try_cmpxchg(v, old, new)	try_cmpxchg(&(v)->counter, old, new)
#define atomic64_read(v)	((s64)atomic_read(v))
#define atomic64_set(v, n)	atomic_set(v, n)
#define atomic64_add(n, v)	atomic_add(n, v)
#define atomic64_and(n, v)	atomic_and(n, v)
#define atomic64_or(n, v)	atomic_or(n, v)
#define atomic64_read_acquire(v)	atomic_read_acquire(v)
#define atomic64_andnot(n, v)	atomic_andnot(n, v)
#define atomic64_inc(v)		atomic_add(1, v)
#define atomic64_dec_return(v)	__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic64_inc_return(v)	__atomic_add_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic_add_unless(v, n, unless) ({						\
	typeof((v)->counter) was_ = (v)->counter, old_;					\
	do {										\
		old_ = was_;								\
		was_ = old_ == (unless) ? old_ : cmpxchg(&(v)->counter, old_, old_ + (n));	\
	} while (was_ != old_);								\
	old_ != (unless);								\
})
#define atomic64_add_unless(v, n, unless)	atomic_add_unless(v, n, unless)
#define atomic64_dec_and_test(v)		(atomic64_dec_return(v) == 0)

static inline s64 atomic64_dec_if_positive(atomic64_t *v)
{
	s64 was = atomic64_read(v), old;

	do {
		old = was;
		if (old <= 0)
			return old - 1;
		was = cmpxchg(&v->counter, old, old - 1);
	} while (was != old);
	return old - 1;
}

/* --------------------------------------------------------------------- CPUs --- */

#define SHIM_CPUS		8
#define SHIM_PERCPU		32768	/* from one CPU's variables to the next one's */

extern unsigned int nr_cpu_ids;
extern __thread unsigned int shim_cpu;
extern __thread volatile int shim_irq_off, shim_irq_pending;
extern __thread unsigned int shim_preempt_count;
extern u32 shim_online;

/* A grace period waits for this CPU to allow preemption */
extern __thread volatile int shim_grace_waits;
void shim_end_grace(void);

/* As in the kernel: the address of a variable is that of CPU 0's instance */
#define DEFINE_PER_CPU(type, name)	type name __attribute__((__section__("shim_percpu")))
#define per_cpu_ptr(p, cpu) ({						\
	char *address_ = (char *)(p);					\
	asm("" : "+r" (address_));					\
	(typeof(p))(address_ + (size_t)(cpu) * SHIM_PERCPU);		\
})
#define this_cpu_ptr(p)		per_cpu_ptr(p, shim_cpu)
#define this_cpu_read(v)	READ_ONCE(*this_cpu_ptr(&(v)))
#define this_cpu_write(v, n)	WRITE_ONCE(*this_cpu_ptr(&(v)), n)
#define this_cpu_inc_return(v)	shim_add_return(this_cpu_ptr(&(v)), 1)
#define this_cpu_inc(v)		((void)this_cpu_inc_return(v))
#define this_cpu_dec(v)		((void)shim_add_return(this_cpu_ptr(&(v)), -1))
#define smp_processor_id()	shim_cpu
#define raw_smp_processor_id()	shim_cpu
#define num_possible_cpus()	nr_cpu_ids
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < (int)nr_cpu_ids; (cpu)++)
#define cpu_online(cpu)		(READ_ONCE(shim_online) >> (cpu) & 1)

void cpus_read_lock(void);
void cpus_read_unlock(void);
void on_each_cpu(void (*function)(void *), void *arg, int wait);

#define PREEMPT_MASK		0xff
#define SOFTIRQ_OFFSET		0x100
#define SOFTIRQ_MASK		0xff00
#define HARDIRQ_OFFSET		0x10000
#define HARDIRQ_MASK		0xf0000
#define NMI_OFFSET		0x100000
#define NMI_MASK		0xf00000
#define preempt_count()		shim_preempt_count
#define in_nmi()		(preempt_count() & NMI_MASK)
#define in_hardirq()		(preempt_count() & HARDIRQ_MASK)
#define in_serving_softirq()	(preempt_count() & SOFTIRQ_OFFSET)
#define preempt_disable()	do { shim_preempt_count++; barrier(); } while (0)
#define preempt_enable()	do {						\
	barrier();								\
	shim_preempt_count--;							\
	if (shim_grace_waits && !(shim_preempt_count & PREEMPT_MASK))		\
		shim_end_grace();						\
} while (0)
#define preempt_disable_notrace()	preempt_disable()
#define preempt_enable_notrace()	preempt_enable()

void shim_take_irq(void);
#define raw_local_irq_save(flags) do {					\
	(flags) = shim_irq_off;						\
	shim_irq_off = 1;						\
	barrier();							\
} while (0)
#define raw_local_irq_restore(flags) do {				\
	barrier();							\
	if (!(flags)) {							\
		shim_irq_off = 0;					\
		if (unlikely(shim_irq_pending))				\
			shim_take_irq();				\
	}								\
} while (0)
#define local_irq_save(flags)	raw_local_irq_save(flags)
#define local_irq_restore(flags)	raw_local_irq_restore(flags)

struct mutex { pthread_mutex_t lock; };
#define DEFINE_MUTEX(name)	struct mutex name = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_lock(m)		pthread_mutex_lock(&(m)->lock)
#define mutex_unlock(m)		pthread_mutex_unlock(&(m)->lock)
#define lockdep_assert_held(m)	((void)(m))
#define cond_resched()		do { } while (0)

/* ----------------------------------------------------------------- deferred --- */

struct work_struct {
	void (*func)(struct work_struct *work);
	int pending, running;
	u32 runs;
	sem_t wake;
};

#define __WORK_INITIALIZER(work, function)	{ .func = function }
#define work_pending(work)	READ_ONCE((work)->pending)
#define system_unbound_wq	NULL
void queue_work(void *queue, struct work_struct *work);
void cancel_work_sync(struct work_struct *work);

struct irq_work {
	void (*func)(struct irq_work *work);
	int pending;
};

#define IRQ_WORK_INIT_HARD(function)	{ .func = function }
#define IRQ_WORK_LAZY		0
#define IRQ_WORK_HARD_IRQ	1
#define __IRQ_WORK_INIT(function, flags)	{ .func = function }
bool irq_work_queue(struct irq_work *work);
void irq_work_sync(struct irq_work *work);

struct debugfs_blob_wrapper {
	void *data;
	unsigned long size;
};

/* --------------------------------------------------------------------- time --- */

#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_USEC		1000L
#define HZ			100
/* Time flies, so that what waits for some jiffies is frequent */
#define SHIM_JIFFY_NS		20000
extern __thread u64 shim_clock_skew;
/* If set, time is a counter of how often it was read, without a call of the host */
extern bool shim_counts;
/* In place of both clocks, if set; shim_counts does not matter to them then */
extern u64 (*shim_clock)(bool cycles);
u64 local_clock(void);
u64 get_cycles(void);
#define check_tsc_unstable()	0
u64 ktime_get_real_ns(void);
u64 ktime_get_mono_fast_ns(void);
#define INITIAL_JIFFIES		0
#define jiffies			((unsigned long)(shim_monotonic() / SHIM_JIFFY_NS))
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define schedule_timeout_uninterruptible(n)	usleep((n) * SHIM_JIFFY_NS / 1000)
u64 shim_monotonic(void);
#define udelay(us)		do { } while (0)

/* ------------------------------------------------------------------- strings --- */

#define KSYM_SYMBOL_LEN		552
#define TASK_COMM_LEN		16
#define KERN_INFO		""
#define KERN_CONT		""
#define LOGLEVEL_SCHED		0
#define GFP_KERNEL		0
extern int oops_in_progress;
#define pr_err(...)		shim_printk(__VA_ARGS__)
#define printk_cpu_sync_get_irqsave
#define __printk_cpu_sync_try_get()	true
#define __printk_cpu_sync_put()	do { } while (0)
#define vprintk_emit(facility, level, dev, fmt, args)	((void)(fmt), (void)(args))
extern bool shim_silent;	/* no kernel log */
void shim_printk(const char *fmt, ...);
int sprint_symbol(char *name, unsigned long address);
int scnprintf(char *to, size_t size, const char *fmt, ...) __printf(3, 4);
#define kfree(p)		free(p)
#define kmalloc(size, gfp)	malloc(size)
#define kzalloc(size, gfp)	calloc(1, size)
#define kvzalloc(size, gfp)	calloc(1, size)
#define kvfree(p)		free(p)
static inline void strreplace(char *text, char old, char new)
{
	for (; (text = strchr(text, old)); )
		*text = new;
}

#define strscpy(to, from, size)	((void)snprintf(to, size, "%s", from))
extern const char hex_asc[];
static inline int hex_to_bin(unsigned char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static inline int shim_kstrtoull(const char *text, unsigned int base, u64 most, u64 *value)
{
	char *end;

	if (!isalnum((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, base);
	return *end || end == text ? -EINVAL : errno || *value > most ? -ERANGE : 0;
}

#define SHIM_KSTRTO(name, type, most)							\
	static inline int name(const char *text, unsigned int base, type *value)	\
	{										\
		u64 wide;								\
		int err = shim_kstrtoull(text, base, most, &wide);			\
											\
		if (!err)								\
			*value = wide;							\
		return err;								\
	}
SHIM_KSTRTO(kstrtouint, unsigned int, U32_MAX)
SHIM_KSTRTO(kstrtoul, unsigned long, ~0ULL)

#define DECLARE_BITMAP(name, bits)	unsigned long name[DIV_ROUND_UP(bits, 64)]
#define bitmap_zero(map, bits)	memset(map, 0, DIV_ROUND_UP(bits, 64) * 8)
#define test_bit(n, map)	(READ_ONCE((map)[(n) / 64]) >> (n) % 64 & 1)
#define set_bit(n, map)		\
	((void)__atomic_fetch_or(&(map)[(n) / 64], BIT((n) % 64), __ATOMIC_RELAXED))
#define __set_bit(n, map)	((void)((map)[(n) / 64] |= BIT((n) % 64)))
#define for_each_set_bit(n, map, bits)	\
	for ((n) = 0; (n) < (bits); (n)++)	\
		if (test_bit(n, map))

struct list_head { struct list_head *next, *prev; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };
#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define list_entry(p, type, member)	container_of(p, type, member)
#define INIT_HLIST_NODE(node)	((node)->pprev = NULL)
#define hlist_for_each_entry(pos, head, member)				\
	for (struct hlist_node *at_ = (head)->first;			\
	     at_ && ((pos) = container_of(at_, typeof(*(pos)), member), 1); at_ = at_->next)
static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

/* ---------------------------------------------------------- tasks and modules --- */

#define THREAD_SIZE		16384UL
#define __KERNEL_CS		0x10
#define X86_EFLAGS_IF		0x200
#define __START_KERNEL_map	0xffffffff80000000UL
#define MODULES_VADDR		0xffffffffa0000000UL
#define MODULES_LEN		(MODULES_END - MODULES_VADDR)
#define MODULES_END		0xffffffffff000000UL
#define PAGE_SHIFT		12
#define BITS_TO_LONGS(n)	(((n) + 63) / 64)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};

struct task_struct {
	s32 pid __aligned(8);
	s32 tgid;
	char comm[TASK_COMM_LEN] __aligned(8);
	void *stack;
	struct task_struct *group_leader;
	unsigned long nvcsw, nivcsw;
	int on_cpu;
	unsigned int __state;
	int pi_lock;
	u32 path;	/* of a task that sleeps: what stack_trace_save_tsk() finds */
};

extern __thread struct task_struct *current;
#define WARN_ON_ONCE(condition)	({ bool wrong = (condition); if (wrong) abort(); wrong; })
#define get_task_struct(task)	(task)
#define put_task_struct(task)	((void)(task))
#define task_stack_page(task)	((task)->stack)
#define task_pt_regs(task)	((struct pt_regs *)((char *)(task)->stack + THREAD_SIZE) - 1)
#define user_mode(regs)		(!!((regs)->cs & 3))
#define instruction_pointer(regs)	((regs)->ip)
#define instruction_pointer_set(regs, address)	((regs)->ip = (address))
#define kernel_stack_pointer(regs)	((regs)->sp)
#define regs_get_kernel_stack_nth(regs, n)	(((unsigned long *)(regs)->sp)[n])

/* Frames are kept as distances from it, so it lies where the kernel's would: PATH_BASE */
#define stack_trace_save ((unsigned int (*)(unsigned long *, unsigned int, unsigned int))	\
			  0xffffffff81100000UL)
/* Called where another task was walked, if it is set */
extern void (*shim_walked)(void);
unsigned int stack_trace_save_tsk(struct task_struct *task, unsigned long *pc, unsigned int size,
				  unsigned int skip);

enum stack_type { STACK_TYPE_TASK, STACK_TYPE_IRQ, STACK_TYPE_EXCEPTION };
#define ESTACK_NMI		1
#define EXCEPTION_STKSZ		4096UL
struct stack_info { enum stack_type type; unsigned long *begin; };
struct unwind_state {
	struct stack_info stack_info;
	unsigned long sp, bp, ip;
	struct pt_regs *regs;
	bool full_regs, error;
};

void unwind_start(struct unwind_state *state, struct task_struct *task, struct pt_regs *regs,
		  unsigned long *first_frame);
bool unwind_next_frame(struct unwind_state *state);
/* Lay out these frames below @end, and set @regs, as unwind_next_frame() takes them apart */
void path_build(const unsigned long *pc, unsigned int nr, char *end, u32 random,
		struct pt_regs *regs);
#define unwind_done(state)	(!(state)->ip)
#define unwind_error(state)	((state)->error)
#define unwind_get_return_address(state)	((state)->ip)
#define unwind_get_entry_regs(state, partial)	((state)->regs)

enum module_state { MODULE_STATE_LIVE, MODULE_STATE_COMING, MODULE_STATE_GOING };
enum { MOD_TEXT, MOD_RODATA, MOD_INIT_TEXT, MOD_TYPES };
struct module {
	enum module_state state;
	struct list_head list;
	const char *name, *version, *srcversion;
	struct { void *base; unsigned int size; } mem[MOD_TYPES];
};

extern struct module shim_module;
#define MODULE			1
#define SYSTEM_BOOTING		0
extern int system_state;
#define THIS_MODULE		(&shim_module)
#define rcu_access_pointer(p)	READ_ONCE(p)
/* While it is set, RCU does not watch that CPU; interrupts and NMIs clear it while they run */
extern u32 shim_rcu_idle[SHIM_CPUS];
#define rcu_is_watching()	(!READ_ONCE(shim_rcu_idle[shim_cpu]))
#define is_idle_task(task)	((task)->pid == 0)
/* Waits until each CPU that is watched has had interrupts on */
void synchronize_rcu(void);
/* Grace periods that were begun */
extern u32 shim_synchronized;
#define synchronize_rcu_expedited()	synchronize_rcu()
#define housekeeping_enabled(type)	((void)(type), false)
#define tick_nohz_full_cpu(cpu)		((void)(cpu), false)
enum { HK_TYPE_DOMAIN, HK_TYPE_RCU };
#define rcu_dereference_sched(p)	READ_ONCE(p)
struct kprobe { u64 nmissed; };
#define get_kernel_nofault(to, from)	((to) = *(from), 0)
#define TASK_DEAD	0x80
#define TASK_WAKING	0x200
#define raw_spin_is_locked(lock)	READ_ONCE(*(lock))
#define KMALLOC_MAX_CACHE_SIZE	(2 * PAGE_SIZE)
#define PAGE_SIZE	4096
#define BITS_PER_LONG	64

/* A page's struct stands at its number, as with a virtual memory map */
struct page { unsigned long words[8]; };
#define page_to_pfn(page)	((unsigned long)(page) / sizeof(struct page))
#define pfn_to_page(pfn)	((struct page *)((pfn) * sizeof(struct page)))
#define kmem_cache_size(cache)	((unsigned int)(uintptr_t)(cache))
struct kernel_param_ops { int unused; };
struct va_format { const char *fmt; va_list *va; };
extern struct shim_uts { struct { char release[65], version[65]; } name; } init_uts_ns;

/* ------------------------------------------------------- what tests add to it --- */

/* Called at once where the kernel's own functions run that a save calls; may interrupt it */
extern void (*shim_hook)(void);
/* An interrupt, with interrupts off; true if it raises a softirq, which has them on */
extern bool (*shim_irq)(void);
extern void (*shim_softirq)(void);
/* An NMI; may be nested */
extern void (*shim_nmi)(void);

void shim_init(unsigned int cpus);
/* Begin and end to be a CPU */
void shim_cpu_starts(unsigned int cpu, struct task_struct *task);
/* With interrupts on, until shim_finish() was called and no worker is left to run */
void shim_cpu_ends(void);
/* Wait until no worker runs or is requested; then CPUs may end */
void shim_finish(void);
/* Take the CPU offline until @until is set; called by its own thread */
void shim_cpu_goes_offline(const bool *until);
void shim_run_nmi(void);
/* Workers that this thread wakes begin in shim_settle(), which waits until all workers sleep */
extern __thread bool shim_holds;
void shim_settle(void);
/* Stop all threads of CPUs and workers where they are, and let them go on */
void shim_stop(void);
void shim_go_on(void);

#endif /* SHIM_H */
