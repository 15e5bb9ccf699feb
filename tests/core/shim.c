// SPDX-License-Identifier: GPL-2.0
/*
 * shim.c - CPUs, interrupts, workers and an unwinder for the files of core/
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <shim.h>

#include "core/filter.h"
#include "core/modules.h"
#include "core/recall_cache.h"
#include "core/ring.h"
#include "core/table.h"
#include "core/worker.h"
#include "paths.h"

unsigned int nr_cpu_ids;
__thread unsigned int shim_cpu;
__thread volatile int shim_irq_off, shim_irq_pending;
__thread unsigned int shim_preempt_count;
__thread volatile int shim_grace_waits;
__thread struct task_struct *current;
__thread u64 shim_clock_skew;
u32 shim_online;
u32 shim_rcu_idle[SHIM_CPUS];
int oops_in_progress;
const char hex_asc[] = "0123456789abcdef";
struct module shim_module = { .name = "stackbuf", .version = "shim" };
struct shim_uts init_uts_ns = { { "shim", "shim" } };

static void shim_nothing(void) { }
static bool shim_no_irq(void) { return false; }
void (*shim_hook)(void) = shim_nothing;
bool (*shim_irq)(void) = shim_no_irq;
void (*shim_softirq)(void) = shim_nothing;
void (*shim_nmi)(void) = shim_nothing;
void (*shim_walked)(void);

/* DEFINE_PER_CPU() takes the section's beginning: this is where the other instances lie */
static char shim_percpu_room[(SHIM_CPUS + 1) * SHIM_PERCPU]
	__attribute__((__section__("shim_percpu"), __aligned__(64)));

static_assert(sizeof(struct sbuf_cpu) + 1024 <= SHIM_PERCPU);

bool shim_silent;
int system_state = !SYSTEM_BOOTING;
static bool shim_finished;

#ifdef __SANITIZE_THREAD__
#define SHIM_LOSES_SIGNALS	1
#else
#define SHIM_LOSES_SIGNALS	0
#endif

static void shim_die(const char *what)
{
	perror(what);
	_exit(2);
}

/* ------------------------------------------------------------------ threads --- */

/* What shim_stop() stops */
static struct { pthread_t thread; bool is; } shim_thread[SHIM_CPUS + SBUF_WORKERS + 1];
static pthread_mutex_t shim_threads = PTHREAD_MUTEX_INITIALIZER;
static unsigned int shim_nr_threads;
static u32 shim_stops, shim_stopped;

static void shim_join_threads(void)
{
	pthread_mutex_lock(&shim_threads);
	shim_thread[shim_nr_threads].thread = pthread_self();
	shim_thread[shim_nr_threads++].is = true;
	pthread_mutex_unlock(&shim_threads);
}

static void shim_leave_threads(void)
{
	unsigned int i;

	pthread_mutex_lock(&shim_threads);
	for (i = 0; i < shim_nr_threads; i++)
		if (shim_thread[i].is && pthread_equal(shim_thread[i].thread, pthread_self()))
			shim_thread[i].is = false;
	pthread_mutex_unlock(&shim_threads);
}

static void shim_on_stop(int signal)
{
	u32 stops = READ_ONCE(shim_stops);
	int err = errno;

	__atomic_add_fetch(&shim_stopped, 1, __ATOMIC_SEQ_CST);
	while (stops & 1 && READ_ONCE(shim_stops) == stops)
		syscall(SYS_futex, &shim_stops, FUTEX_WAIT, stops, NULL, NULL, 0);
	__atomic_sub_fetch(&shim_stopped, 1, __ATOMIC_SEQ_CST);
	errno = err;
}

void shim_stop(void)
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&shim_threads);
	WRITE_ONCE(shim_stops, shim_stops + 1);
	for (i = 0; i < shim_nr_threads; i++)
		if (shim_thread[i].is && ++n)
			pthread_kill(shim_thread[i].thread, SIGRTMIN);
	while (READ_ONCE(shim_stopped) != n)
		sched_yield();
}

void shim_go_on(void)
{
	WRITE_ONCE(shim_stops, shim_stops + 1);
	syscall(SYS_futex, &shim_stops, FUTEX_WAKE, SHIM_CPUS + SBUF_WORKERS + 1, NULL, NULL, 0);
	while (READ_ONCE(shim_stopped))
		sched_yield();
	pthread_mutex_unlock(&shim_threads);
}

/* --------------------------------------------------------------- interrupts --- */

static struct shim_ipi {
	void (*function)(void *);
	void *arg;
	u32 requested, done;
	pthread_t thread;
} shim_ipi[SHIM_CPUS];

static void shim_do_nothing(void *unused)
{
}

static void shim_take_ipi(void)
{
	struct shim_ipi *ipi = &shim_ipi[shim_cpu];
	u32 requested = smp_load_acquire(&ipi->requested);

	if (requested == READ_ONCE(ipi->done))
		return;
	/* No grace period ends where preemption is off */
	if (ipi->function == shim_do_nothing && preempt_count() & PREEMPT_MASK) {
		shim_grace_waits = 1;
		return;
	}
	ipi->function(ipi->arg);
	smp_store_release(&ipi->done, requested);
}

void shim_end_grace(void)
{
	shim_grace_waits = 0;
	/* Interrupts that are off keep it waiting as well */
	if (shim_irq_off)
		shim_irq_pending = 1;
	else
		shim_take_ipi();
}

void shim_take_irq(void)
{
	u32 rcu_idle = xchg(&shim_rcu_idle[shim_cpu], 0);

	do {
		bool raised;

		shim_irq_off = 1;
		shim_irq_pending = 0;
		barrier();
		shim_preempt_count += HARDIRQ_OFFSET;
		shim_take_ipi();
		raised = shim_irq();
		shim_preempt_count -= HARDIRQ_OFFSET;
		if (raised && !in_serving_softirq()) {
			shim_preempt_count += SOFTIRQ_OFFSET;
			raw_local_irq_restore(0);
			shim_softirq();
			shim_irq_off = 1;
			barrier();
			shim_preempt_count -= SOFTIRQ_OFFSET;
		}
		barrier();
		shim_irq_off = 0;
		barrier();
	} while (shim_irq_pending);
	xchg(&shim_rcu_idle[shim_cpu], rcu_idle);
}

static void shim_on_irq(int signal)
{
	int err = errno;

	if (shim_irq_off)
		shim_irq_pending = 1;
	else
		shim_take_irq();
	errno = err;
}

void shim_run_nmi(void)
{
	int off = shim_irq_off;
	u32 rcu_idle;

	/* Two, as an exception may interrupt an NMI */
	if ((shim_preempt_count & NMI_MASK) >= 2 * NMI_OFFSET)
		return;
	shim_irq_off = 1;
	shim_preempt_count += NMI_OFFSET;
	rcu_idle = xchg(&shim_rcu_idle[shim_cpu], 0);
	shim_nmi();
	xchg(&shim_rcu_idle[shim_cpu], rcu_idle);
	shim_preempt_count -= NMI_OFFSET;
	raw_local_irq_restore(off);
}

static void shim_on_nmi(int signal)
{
	int err = errno;

	shim_run_nmi();
	errno = err;
}

static pthread_rwlock_t shim_cpus_lock = PTHREAD_RWLOCK_INITIALIZER;

void cpus_read_lock(void)
{
	pthread_rwlock_rdlock(&shim_cpus_lock);
}

void cpus_read_unlock(void)
{
	pthread_rwlock_unlock(&shim_cpus_lock);
}

/* Called by workers, which are no CPUs */
static void shim_interrupt_cpus(void (*function)(void *), void *arg, bool watched)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned int cpu;

	pthread_mutex_lock(&lock);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct shim_ipi *ipi = &shim_ipi[cpu];

		if (!cpu_online(cpu) || (watched && READ_ONCE(shim_rcu_idle[cpu])))
			continue;
		ipi->function = function;
		ipi->arg = arg;
		smp_store_release(&ipi->requested, ipi->requested + 1);
		pthread_kill(ipi->thread, SIGUSR1);
	}
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		unsigned int turns = 0;

		while (cpu_online(cpu) && !(watched && READ_ONCE(shim_rcu_idle[cpu])) &&
		       smp_load_acquire(&shim_ipi[cpu].done) != shim_ipi[cpu].requested) {
			sched_yield();
			/* ThreadSanitizer delivers signals itself, late, and now and then not */
			if (SHIM_LOSES_SIGNALS && !(++turns % 1000))
				pthread_kill(shim_ipi[cpu].thread, SIGUSR1);
		}
	}
	pthread_mutex_unlock(&lock);
}

void on_each_cpu(void (*function)(void *), void *arg, int wait)
{
	shim_interrupt_cpus(function, arg, false);
}

void shim_cpu_starts(unsigned int cpu, struct task_struct *task)
{
	shim_cpu = cpu;
	current = task;
	shim_ipi[cpu].thread = pthread_self();
	shim_join_threads();
	__atomic_or_fetch(&shim_online, 1U << cpu, __ATOMIC_SEQ_CST);
}

void shim_cpu_goes_offline(const bool *until)
{
	/* The writer waits for those that send IPIs, so interrupts are on */
	while (pthread_rwlock_trywrlock(&shim_cpus_lock))
		usleep(100);
	__atomic_and_fetch(&shim_online, ~(1U << shim_cpu), __ATOMIC_SEQ_CST);
	pthread_rwlock_unlock(&shim_cpus_lock);
	while (!READ_ONCE(*until))
		usleep(100);
	while (pthread_rwlock_trywrlock(&shim_cpus_lock))
		usleep(100);
	__atomic_or_fetch(&shim_online, 1U << shim_cpu, __ATOMIC_SEQ_CST);
	pthread_rwlock_unlock(&shim_cpus_lock);
}

void shim_cpu_ends(void)
{
	while (!READ_ONCE(shim_finished))
		usleep(100);
	shim_leave_threads();
}

/* ----------------------------------------------------------------- deferred --- */

u32 shim_synchronized;

void synchronize_rcu(void)
{
	__atomic_add_fetch(&shim_synchronized, 1, __ATOMIC_SEQ_CST);
	shim_interrupt_cpus(shim_do_nothing, NULL, true);
}

__thread bool shim_holds;
/* Workers that were woken and have not finished */
static u32 shim_busy;
static sem_t *shim_held[2 + SBUF_WORKERS];
static u32 shim_nr_held;

static void shim_wake(sem_t *wake)
{
	__atomic_add_fetch(&shim_busy, 1, __ATOMIC_SEQ_CST);
	if (shim_holds)
		shim_held[__atomic_fetch_add(&shim_nr_held, 1, __ATOMIC_SEQ_CST)] = wake;
	else
		sem_post(wake);
}

static void shim_slept(void)
{
	__atomic_sub_fetch(&shim_busy, 1, __ATOMIC_SEQ_CST);
}

void shim_settle(void)
{
	u32 i, nr = xchg(&shim_nr_held, 0);

	for (i = 0; i < nr; i++)
		sem_post(shim_held[i]);
	while (__atomic_load_n(&shim_busy, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void shim_wait(sem_t *wake)
{
	while (sem_wait(wake))
		;
}

static void *shim_worker(void *arg)
{
	struct work_struct *work = arg;

	shim_join_threads();
	for (;;) {
		shim_wait(&work->wake);
		WRITE_ONCE(work->running, 1);
		xchg(&work->pending, 0);
		work->func(work);
		WRITE_ONCE(work->running, 0);
		WRITE_ONCE(work->runs, work->runs + 1);
		shim_slept();
	}
	return NULL;
}

static void start_worker(struct work_struct *work)
{
	pthread_t thread;

	if (sem_init(&work->wake, 0, 0) || pthread_create(&thread, NULL, shim_worker, work))
		shim_die("worker");
	pthread_detach(thread);
}

void queue_work(void *queue, struct work_struct *work)
{
	if (!xchg(&work->pending, 1))
		shim_wake(&work->wake);
}

static struct irq_work *shim_irq_work[2];
static sem_t shim_irq_work_wake;
static int shim_irq_work_runs;

bool irq_work_queue(struct irq_work *work)
{
	unsigned int i = 0;

	if (xchg(&work->pending, 1))
		return false;
	while (cmpxchg(&shim_irq_work[i], NULL, work) && READ_ONCE(shim_irq_work[i]) != work)
		i++;
	shim_wake(&shim_irq_work_wake);
	return true;
}

static void *shim_run_irq_works(void *arg)
{
	shim_join_threads();
	for (;;) {
		unsigned int i;

		shim_wait(&shim_irq_work_wake);
		WRITE_ONCE(shim_irq_work_runs, 1);
		for (i = 0; i < ARRAY_SIZE(shim_irq_work); i++) {
			struct irq_work *work = READ_ONCE(shim_irq_work[i]);

			if (work && xchg(&work->pending, 0))
				work->func(work);
		}
		WRITE_ONCE(shim_irq_work_runs, 0);
		shim_slept();
	}
	return NULL;
}

void irq_work_sync(struct irq_work *work)
{
	while (READ_ONCE(work->pending) || READ_ONCE(shim_irq_work_runs))
		usleep(100);
}

void cancel_work_sync(struct work_struct *work)
{
	while (READ_ONCE(work->pending) || READ_ONCE(work->running))
		usleep(100);
}

void shim_finish(void)
{
	/* This waits and does not cancel: what is requested runs */
	sbuf_worker_exit();
	sbuf_worker_exit();
	WRITE_ONCE(shim_finished, true);
}

/* --------------------------------------------------------------------- time --- */

bool shim_counts;

u64 shim_monotonic(void)
{
	static u64 count;
	struct timespec now;

	if (shim_counts)
		return __atomic_add_fetch(&count, SHIM_JIFFY_NS / 200, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (u64)NSEC_PER_SEC + now.tv_nsec;
}

u64 (*shim_clock)(bool cycles);

u64 local_clock(void)
{
	u64 now = shim_clock ? shim_clock(false) : shim_monotonic() + shim_clock_skew;

	shim_hook();
	return now;
}

/* 3 GHz */
u64 get_cycles(void)
{
	return shim_clock ? shim_clock(true) : (shim_monotonic() + shim_clock_skew) * 3;
}

u64 ktime_get_mono_fast_ns(void)
{
	return local_clock();
}

u64 ktime_get_real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * (u64)NSEC_PER_SEC + now.tv_nsec;
}

/* ------------------------------------------------------------------ strings --- */

void shim_printk(const char *fmt, ...)
{
	va_list args;

	if (shim_silent)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
}

int scnprintf(char *to, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(to, size, fmt, args);
	va_end(args);
	return len < (int)size ? len : (int)size - 1;
}

static char *shim_put(char *to, unsigned long n, unsigned int base)
{
	char digits[20];
	int len = 0;

	do
		digits[len++] = hex_asc[n % base];
	while (n /= base);
	while (len)
		*to++ = digits[--len];
	return to;
}

int sprint_symbol(char *name, unsigned long address)
{
	char *to = name;

	if (current)
		shim_hook();
	if (address < PATH_TEXT ||
	    address >= PATH_TEXT + PATH_FUNCTIONS * PATH_FUNCTION_SIZE) {
		*to++ = '0';
		*to++ = 'x';
		to = shim_put(to, address, 16);
	} else {
		*to++ = 'f';
		to = shim_put(to, path_function(address), 10);
		to = stpcpy(to, "+0x");
		to = shim_put(to, address % PATH_FUNCTION_SIZE, 16);
		to = stpcpy(to, "/0x40");
	}
	*to = '\0';
	return to - name;
}

/* ---------------------------------------------------------------- unwinding --- */

void sbuf_freeze(u32 why)
{
	sbuf_state_change(why, true);
}

void sbuf_modules_build_id(const struct module *module, u8 *id)
{
}

const struct module *sbuf_modules_next(const struct module *module)
{
	const struct list_head *next;

	if (!module)
		return THIS_MODULE;
	next = module->list.next;
	return next == &THIS_MODULE->list ? NULL : list_entry(next, struct module, list);
}

bool sbuf_modules_is_one(const struct module *module)
{
	return true;
}

unsigned long sbuf_code_pages[] = {
	[0 ... BITS_TO_LONGS(MODULES_LEN >> PAGE_SHIFT) - 1] = ~0UL
};

void path_build(const unsigned long *pc, unsigned int nr, char *end, u32 random,
		struct pt_regs *regs)
{
	struct pt_regs *user = (struct pt_regs *)end - 1;
	unsigned long sp = (unsigned long)user, bp = 0x1234;
	int i;

	user->bp = 0x7ffe00001000;
	user->cs = 0x33;
	user->ip = 0x400000;
	for (i = (int)nr - 2; i >= 0; i--) {
		unsigned int function = path_function(pc[i]), locals = function / 3 % 3;
		unsigned long *at = (unsigned long *)sp;

		*--at = pc[i + 1];
		if (function % 3)
			*--at = bp;
		/* Some of the frames that have a frame pointer call alloca() */
		if (function % 9 == 2)
			locals = random >> i % 24 & 3;
		sp = (unsigned long)(at - locals);
		if (function % 3 == 1)
			bp = function / 9 % 2 ? sp : function * 0x1111UL;
		else if (function % 3 == 2)
			bp = (unsigned long)at;
	}
	regs->ip = pc[0];
	regs->sp = sp;
	regs->bp = bp;
	regs->cs = __KERNEL_CS;
	regs->flags = X86_EFLAGS_IF;
	regs->r10 = 0;
	regs->r13 = 0;
}

/* A step as ORC entries describe it; path_build() in storm.c lays frames out like that */
bool unwind_next_frame(struct unwind_state *state)
{
	unsigned int function = path_function(state->ip);
	unsigned long cfa;

	shim_hook();
	if (function == PATH_ENTRY) {
		/* Registers of user mode */
		state->regs = (struct pt_regs *)state->sp;
		state->full_regs = true;
		state->ip = state->regs->ip;
		state->bp = state->regs->bp;
		state->sp = state->regs->sp;
		return true;
	}
	switch (function % 3) {
	case 0:		/* bp is kept */
		cfa = state->sp + 8 * (1 + function / 3 % 3);
		break;
	case 1:		/* bp is saved, and used as any register */
		cfa = state->sp + 8 * (2 + function / 3 % 3);
		break;
	default:	/* bp is the frame pointer; the frame's size varies */
		cfa = state->bp + 16;
	}
	state->ip = sbuf_kstack_load(cfa - 8);
	if (function % 3)
		state->bp = sbuf_kstack_load(cfa - 16);
	state->sp = cfa;
	state->regs = NULL;
	return true;
}

void unwind_start(struct unwind_state *state, struct task_struct *task, struct pt_regs *regs,
		  unsigned long *first_frame)
{
	*state = (struct unwind_state) { .ip = regs->ip, .sp = regs->sp, .bp = regs->bp };
	unwind_next_frame(state);
}

unsigned int stack_trace_save_tsk(struct task_struct *task, unsigned long *pc, unsigned int size,
				  unsigned int skip)
{
	unsigned long frames[PATH_FRAMES_MAX];
	unsigned int nr = path_frames(task->path, frames);

	nr = min(nr, size);
	memcpy(pc, frames, nr * sizeof(*pc));
	if (shim_walked)
		shim_walked();
	return nr;
}

/* ------------------------------------------------------------------- set up --- */

void shim_init(unsigned int cpus)
{
	struct sigaction act = { .sa_flags = SA_RESTART | SA_NODEFER };
	pthread_t thread;
	int cpu, i;

	nr_cpu_ids = cpus;
	act.sa_handler = shim_on_irq;
	sigaction(SIGUSR1, &act, NULL);
	act.sa_handler = shim_on_nmi;
	sigaction(SIGUSR2, &act, NULL);
	act.sa_handler = shim_on_stop;
	/* What stops must not be interrupted: it would not be stopped */
	sigfillset(&act.sa_mask);
	sigaction(SIGRTMIN, &act, NULL);

	if (sem_init(&shim_irq_work_wake, 0, 0) ||
	    pthread_create(&thread, NULL, shim_run_irq_works, NULL))
		shim_die("irq_work");
	pthread_detach(thread);

	/* As stackbuf_init() does it */
	sbuf_cpu = (struct sbuf_cpu *)shim_percpu_room;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(sbuf_cpu, cpu)->verify_in = sbuf_verify;
	for (i = 0; i < SBUF_WORKERS; i++)
		if (sbuf_worker[i].func)
			start_worker(&sbuf_worker[i]);
	sbuf_memory_init();
	sbuf_filter_apply_limit();
	sbuf_state_change(STACKBUF_ENABLED, true);
}
