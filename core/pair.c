// SPDX-License-Identifier: GPL-2.0
/*
 * pair.c - pairs of probes: a table of outstanding objects, and times by opening stack
 *
 * Each key has two buckets of eight places, by two hashes.  It goes to the first if half of that
 * is free, else to the one with more room: so three quarters of the table are taken before a key
 * finds no place.  A bit says that keys of a bucket may be in their second one; until it is set,
 * lookups do not go there.  No place is ever moved.  A place is claimed by its key and is valid
 * from the number of its stack on; the number is taken back before the key.  Both changes are
 * atomic, so any context may interrupt any other, and a copy of the memory at any instant shows
 * whole objects only.
 *
 * An object has an entry for its stack, which is in the table as long as the pair is set: eviction
 * marks the stacks of these entries as it does those of the ring.  A handler runs with preemption
 * disabled, and where RCU does not watch, a save opens nothing: sbuf_synchronize_saves() waits for
 * the others, and the second marking of an eviction finds the entry of a stack that the save has
 * found before (E2, E4).
 *
 * Exact but for what is counted: opens that were refused, keys that were open already; and for hits
 * that ftrace drops, those inside of another tracer's handler.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "clock.h"
#include "pair.h"
#include "probe.h"
#include "table.h"

#if STACKBUF_PAIR_PAGES

#define STACK_PAGES	STACKBUF_PAIR_STACK_PAGES(STACKBUF_PAIR_PAGES)
#define OPEN_PAGES	(STACKBUF_PAIR_PAGES - 1 - STACK_PAGES)
#define STACKS		(STACK_PAGES * STACKBUF_PAGE_PAIR_STACKS)
/* That are closed at once */
#define KEYS_MAX	4096

static_assert(STACKBUF_PAIR_PAGES >= 6 && STACKBUF_PAIRS_KB <= 262144, "PAIRS_KB: 24 to 262144");

static inline struct stackbuf_pair *pair_at(unsigned int number)
{
	return &stackbuf_info.pair[0].pairs.pair[number - 1];
}

/*
 * A page is as large as sixteen buckets or entries of stacks, the first of which its header takes:
 * so is a number
 */
#define NUMBERS		(STACKBUF_PAIR_PAGES * 16)

static inline struct stackbuf_pair_stack *stack_at(u32 i)
{
	BUILD_BUG_ON(sizeof(struct stackbuf_pair_stacks_page) !=
		     16 * sizeof(struct stackbuf_pair_stack) || STACKBUF_PAGE_PAIR_STACKS != 15);
	return (struct stackbuf_pair_stack *)&stackbuf_info.pair[1] + i +
	       i / STACKBUF_PAGE_PAIR_STACKS + 1;
}

static inline struct stackbuf_pair_bucket *bucket_at(u32 number)
{
	BUILD_BUG_ON(sizeof(struct stackbuf_pair_open_page) !=
		     16 * sizeof(struct stackbuf_pair_bucket));
	return (struct stackbuf_pair_bucket *)&stackbuf_info.pair[0] + number;
}

/* By the upper half of a hash: one of @n */
static __always_inline u32 one_of(u32 n, u64 hash)
{
	return (hash >> 32) * n >> 32;
}

static __always_inline u32 bucket_of(u64 hash)
{
	u32 i = one_of(OPEN_PAGES * STACKBUF_PAGE_PAIR_BUCKETS, hash);

	BUILD_BUG_ON(STACKBUF_PAGE_PAIR_BUCKETS != 15);
	return (1 + STACK_PAGES) * 16 + i + i / STACKBUF_PAGE_PAIR_BUCKETS + 1;
}

#define IN_DOUBT	STACKBUF_PAIR_IN_DOUBT

atomic_t sbuf_pairs_in_doubt;

/* By the number of a bucket: some key has gone to its second, as this was full */
static DECLARE_BITMAP(spilled, NUMBERS);

/* Where a key is or may go.  The pair is shifted as in stack_key(): once for both */
static __always_inline u64 hash_of(unsigned int pair, unsigned long key)
{
	return (key ^ (u64)pair << 32) * GOLDEN_RATIO_64;
}

static __always_inline u32 second_bucket_of(u64 hash)
{
	return bucket_of(hash * GOLDEN_RATIO_64);
}

/* What an entry has that is for a stack of a pair */
static __always_inline u64 stack_key(unsigned int pair, u32 id)
{
	return id | (u64)pair << 32;
}

/* Where it is if no other is there */
static __always_inline u32 stack_place(u64 want)
{
	return one_of(STACKS, want * GOLDEN_RATIO_64);
}

/* The entry of a stack, counted from 1 and added if it has none; 0 if there is no room */
static u32 find_stack(unsigned int pair, u32 id)
{
	u64 want = stack_key(pair, id);
	u32 i, at = stack_place(want);

	for (i = 0; i < 64; i++, at = at + 1 < STACKS ? at + 1 : 0) {
		u64 *stack = &stack_at(at)->stack, has = READ_ONCE(*stack);

		/* E4: before the handler ends */
		if (!has)
			has = cmpxchg64(stack, 0, want) ?: want;
		if (has == want)
			return at + 1;
	}
	return 0;
}

/* The first of the first @n places of a bucket with this key, 0: that is free; or @n */
static __always_inline unsigned int find_key(const struct stackbuf_pair_bucket *bucket,
					     unsigned int n, unsigned long key)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < n; i++)
		/* cmpxchg() decides.  Without READ_ONCE() it is one instruction less */
		if (data_race(bucket->key[i]) == key)
			break;
	return i;
}

/* Take the object at a place, whose word was @word; the rest as take() */
static __always_inline bool take_word(struct stackbuf_pair_bucket *bucket, unsigned int i,
				      unsigned int pair, unsigned long key, u64 word, u32 stack,
				      struct stackbuf_pair_object *object)
{
	struct stackbuf_pair_object *at = &bucket->object[i];

	object->stack = stack;
	object->time = READ_ONCE(at->time);
	object->value = READ_ONCE(at->value);
	/*
	 * Unless the place was used again, for another key or even for the same stack.  Its key is
	 * set before K1 and cleared after the exchange: while the word stays, so does the key.
	 * Relaxed: the release (K2) orders the reads above.
	 */
	if (READ_ONCE(bucket->key[i]) != key ||
	    READ_ONCE(stack_at(stack - 1)->stack) >> 32 != pair ||
	    cmpxchg64_relaxed(sbuf_pair_word(at), word, ((word >> 32) + 1) << 32) != word)
		return false;
	/* K2: a place that is claimed again has no number of a stack, and what was read is older */
	smp_store_release(&bucket->key[i], 0);
	return true;
}

/* The same where @word has no number of a stack, or one that is in doubt */
static noinline bool take_in_doubt(struct stackbuf_pair_bucket *bucket, unsigned int i,
				   unsigned int pair, unsigned long key, u64 word,
				   struct stackbuf_pair_object *object)
{
	u32 stack = (u32)word ^ IN_DOUBT;

	if (stack - 1 >= STACKS || !take_word(bucket, i, pair, key, word, stack, object))
		return false;
	atomic_dec(&sbuf_pairs_in_doubt);
	return true;
}

/* Take the object at a place with its key, if it is the pair's; of two at once one does */
static __always_inline bool take(struct stackbuf_pair_bucket *bucket, unsigned int i,
				 unsigned int pair, unsigned long key,
				 struct stackbuf_pair_object *object)
{
	/* K1: before the rest of the object is read */
	u64 word = smp_load_acquire(sbuf_pair_word(&bucket->object[i]));

	if (unlikely((u32)word - 1 >= STACKS))
		return take_in_doubt(bucket, i, pair, key, word, object);
	return take_word(bucket, i, pair, key, word, word, object);
}

/* Take an object with this key from place @i on; another pair may have the same key */
static bool take_from(struct stackbuf_pair_bucket *bucket, unsigned int i, unsigned int pair,
		      unsigned long key, struct stackbuf_pair_object *object)
{
	for (; i < STACKBUF_PAIR_BUCKET; i++)
		if (READ_ONCE(bucket->key[i]) == key && take(bucket, i, pair, key, object))
			return true;
	return false;
}

/* The same from there on in both of its buckets */
static noinline bool take_any(u64 hash, unsigned int i, unsigned int pair, unsigned long key,
			      struct stackbuf_pair_object *object)
{
	const u32 number = bucket_of(hash);

	return take_from(bucket_at(number), i, pair, key, object) || (test_bit(number, spilled) &&
		take_from(bucket_at(second_bucket_of(hash)), 0, pair, key, object));
}

/* Claim a place for a key where the top of the file says.  NULL if there is none */
static noinline struct stackbuf_pair_object *claim_any(u64 hash, unsigned long key)
{
	const u32 number = bucket_of(hash);
	struct stackbuf_pair_bucket *bucket, *first = bucket_at(number);
	struct stackbuf_pair_bucket *second = bucket_at(second_bucket_of(hash));
	unsigned int tries, i, other;

	for (tries = 0; tries < 2 * STACKBUF_PAIR_BUCKET; tries++) {
		bucket = first;
		i = find_key(first, STACKBUF_PAIR_BUCKET, 0);
		other = find_key(second, STACKBUF_PAIR_BUCKET, 0);
		if (i >= STACKBUF_PAIR_BUCKET / 2 && other < i) {
			bucket = second;
			i = other;
			/* Before the key is stored: the address of a lookup depends on the key */
			if (!test_bit(number, spilled))
				set_bit(number, spilled);
		}
		if (i == STACKBUF_PAIR_BUCKET)
			break;
		if (!cmpxchg64(&bucket->key[i], 0, key))
			return &bucket->object[i];
	}
	return NULL;
}

/* Orders of pages that were opened */
static unsigned long block_orders;

static bool is_wait(const struct stackbuf_probe *probe)
{
	return (probe->value & SBUF_VALUE_WAIT) == SBUF_VALUE_WAIT;
}

static noinline u64 value_of(const struct stackbuf_probe *probe, unsigned long value)
{
	if (is_wait(probe))
		return 0;
	if (probe->value & SBUF_VALUE_CACHE)
		return kmem_cache_size((struct kmem_cache *)value);
	if (probe->value & SBUF_VALUE_ORDER)
		return (u64)PAGE_SIZE << (value & 31);
	return probe->value & SBUF_VALUE_PREEMPTED ? 0 : value;
}

/* Add what was open until @now to its stack */
static __always_inline void add_time(const struct stackbuf_pair_object *object, u64 now)
{
	struct stackbuf_pair_stack *stack = stack_at(object->stack - 1);
	/* Clocks of two CPUs may differ a little */
	u64 took = now > object->time ? now - object->time : 0, longest;
	unsigned int bits = took >> (STACKBUF_PAIR_TIME_BITS + 1) ?
			    ilog2(took) - STACKBUF_PAIR_TIME_BITS : 0;

	sbuf_add(&stack->closed[min_t(unsigned int, bits, STACKBUF_PAIR_TIMES - 1)], 1);
	sbuf_add(&stack->sum, took);
	do {
		longest = READ_ONCE(stack->longest);
	} while (took > longest && cmpxchg64(&stack->longest, longest, took) != longest);
}

/* What has stopped the recorder stops this, and enable=0 does: see sbuf_pair_resume() */
static inline bool is_stopped(void)
{
	return READ_ONCE(stackbuf_info.stop_ns) || READ_ONCE(stackbuf_info.state) & STACKBUF_FROZEN;
}

/*
 * The current task is switched out.  An idle task waits for nothing.  A dead one is never switched
 * in again, but a new task may reuse its task_struct.  A runnable one gets no wakeup.
 */
static bool never_waits(const struct stackbuf_probe *probe, unsigned long value)
{
	unsigned int state = READ_ONCE(current->__state);

	return is_idle_task(current) || state & TASK_DEAD ||
	       (probe->value & SBUF_VALUE_PREEMPTED && (value & 1 || !state));
}

noinline void sbuf_pair_lost(const struct stackbuf_probe *probe, u64 hits)
{
	if (probe->pair && hits)
		sbuf_add(&pair_at(probe->pair)->refused, hits);
}

NOKPROBE_SYMBOL(sbuf_pair_lost);

/* Fill a place that is claimed: from K1 on it is valid */
static __always_inline void fill(struct stackbuf_pair_object *object, u64 time, u64 value,
				 u32 stack)
{
	u64 *word = sbuf_pair_word(object);

	/* A CPU that is about to take the object before this one may still read them: K1 */
	WRITE_ONCE(object->time, time);
	WRITE_ONCE(object->value, value);
	/* K1.  K2: it has no number of a stack yet */
	smp_store_release(word, READ_ONCE(*word) | stack);
}

/* Open in all cases.  Return false if it is not open */
static noinline bool open_any(const struct stackbuf_probe *probe, unsigned long key, u64 value,
			      s64 id)
{
	const u64 hash = hash_of(probe->pair, key);
	struct stackbuf_pair_object *object, was;
	u32 stack;

	if (id <= 0 && is_stopped())
		return false;
	/* Also if it is not opened now: what had the key before is not what will be closed */
	if (take_any(hash, 0, probe->pair, key, &was) &&
	    !(probe->value & SBUF_VALUE_LARGE && value > KMALLOC_MAX_CACHE_SIZE &&
	      value == was.value))
		sbuf_add(&pair_at(probe->pair)->reopened, 1);
	if (id == SBUF_NOT_ADMITTED)
		return false;
	stack = id > 0 ? find_stack(probe->pair, id) : 0;
	object = stack ? claim_any(hash, key) : NULL;
	if (object)
		fill(object, sbuf_pair_now(), value, stack);
	else
		sbuf_pair_lost(probe, 1);
	return object;
}

NOKPROBE_SYMBOL(open_any);

/* Open in the usual case, without a call.  Return false if it is not, and nothing was done */
static __always_inline bool open_usual(const struct stackbuf_probe *probe, unsigned long key,
				       u64 value, s64 id)
{
	const struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	const u64 hash = hash_of(probe->pair, key), want = stack_key(probe->pair, id);
	const u32 number = bucket_of(hash), stack = stack_place(want);
	struct stackbuf_pair_bucket *bucket = bucket_at(number);
	unsigned int i;

	/* An event that interrupts an append, as one in an NMI may, does not set the CPU's time */
	if (unlikely(id <= 0 || data_race(cpu->appending)))
		return false;
	if (unlikely(find_key(bucket, STACKBUF_PAIR_BUCKET, key) < STACKBUF_PAIR_BUCKET ||
		     test_bit(number, spilled) || READ_ONCE(stack_at(stack)->stack) != want))
		return false;
	i = find_key(bucket, STACKBUF_PAIR_BUCKET / 2, 0);
	/* Or each turn of the loop computes the addresses that follow from it */
	OPTIMIZER_HIDE_VAR(i);
	if (unlikely(i == STACKBUF_PAIR_BUCKET / 2 || cmpxchg64(&bucket->key[i], 0, key)))
		return false;
	/* The event's, or that of a later one if an interrupt came in between */
	fill(&bucket->object[i], READ_ONCE(cpu->time), value, stack + 1);
	return true;
}

/*
 * Is the current task, which is being switched out, being woken already?  Then its wakeup had
 * nothing to close.  The waker holds the task's pi_lock from before sched_waking until it has set
 * TASK_WAKING, and the state stays so until the task is off its CPU: try_to_wake_up(), from 5.15 to
 * 6.18.
 */
static __always_inline bool is_being_woken(void)
{
	/* K5: after the object.  A waker that has not found it has taken the lock before */
	smp_mb();
	if (raw_spin_is_locked(&current->pi_lock))
		return true;
	smp_rmb();	/* K5: the state is set before the lock is released */
	return READ_ONCE(current->__state) == TASK_WAKING;
}

/*
 * With @doubt, put the object that the current task has just opened in doubt: its wakeup may have
 * come before.  The holder of the lock may also be on its way to sched_waking, or not be a waker at
 * all.  The switch in decides, as a task is not woken twice in between: then, without @doubt, an
 * object that still is in doubt is taken away.  Return false if there is no such object.
 */
static noinline bool change_doubt(const struct stackbuf_probe *probe, unsigned long key, bool doubt)
{
	const u64 hash = hash_of(probe->pair, key);
	struct stackbuf_pair_bucket *bucket = bucket_at(bucket_of(hash));
	struct stackbuf_pair_object object;
	unsigned int n, i;
	u64 *at, word;
	u32 stack;

	for (n = 0; n < 2; n++, bucket = bucket_at(second_bucket_of(hash)))
		for (i = 0; i < STACKBUF_PAIR_BUCKET; i++) {
			at = sbuf_pair_word(&bucket->object[i]);
			/* K1: while the word stays, so does the key */
			word = smp_load_acquire(at);
			stack = word;
			if (READ_ONCE(bucket->key[i]) != key)
				continue;
			if (!doubt && stack & IN_DOUBT &&
			    take_in_doubt(bucket, i, probe->pair, key, word, &object))
				return true;
			if (doubt && stack - 1 < STACKS &&
			    READ_ONCE(stack_at(stack - 1)->stack) >> 32 == probe->pair &&
			    cmpxchg64(at, word, word | IN_DOUBT) == word)
				return true;
		}
	return false;
}

NOKPROBE_SYMBOL(change_doubt);

/* Is an object outstanding?  Of *@copy time and value are its own */
static bool is_open(unsigned int pair, unsigned long key, struct stackbuf_pair_object *copy)
{
	const u64 hash = hash_of(pair, key);
	struct stackbuf_pair_bucket *bucket = bucket_at(bucket_of(hash));
	unsigned int n, i;

	for (n = 0; n < 2; n++, bucket = bucket_at(second_bucket_of(hash)))
		for (i = 0; i < STACKBUF_PAIR_BUCKET; i++) {
			struct stackbuf_pair_object *at = &bucket->object[i];
			/* K1 */
			u64 word = smp_load_acquire(sbuf_pair_word(at));

			copy->time = READ_ONCE(at->time);
			copy->value = READ_ONCE(at->value);
			smp_rmb();	/* K1: the place is not used again before it was read */
			if (READ_ONCE(bucket->key[i]) == key && (u32)word - 1 < STACKS &&
			    READ_ONCE(stack_at(word - 1)->stack) >> 32 == pair &&
			    READ_ONCE(*sbuf_pair_word(at)) == word)
				return true;
		}
	return false;
}

/*
 * Several tasks wait for one lock, and one task for several: an interrupt's, or the one that guards
 * the waiters of a mutex
 */
static unsigned long wait_of(unsigned long lock)
{
	return lock ^ (unsigned long)current * GOLDEN_RATIO_64;
}

/* LCB_F_MUTEX in include/trace/events/lock.h, which 5.19 has first */
#define WAIT_IN_MUTEX	0x20

/* When recording went on: the end of what is open from before may not have been seen */
static u64 resumed;

/* A wait for a mutex begins anew each time that the waiter sleeps or spins, and ends once */
static bool goes_on_waiting(const struct stackbuf_probe *probe, unsigned long key,
			    unsigned long flags)
{
	struct stackbuf_pair_object wait;

	return flags & WAIT_IN_MUTEX && is_open(probe->pair, key, &wait) &&
	       wait.time >= READ_ONCE(resumed);
}

static noinline void open_valued(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long argument, s64 id)
{
	u64 value = value_of(probe, argument);

	if (is_wait(probe)) {
		key = wait_of(key);
		if (!goes_on_waiting(probe, key, argument) && !open_usual(probe, key, value, id))
			open_any(probe, key, value, id);
		return;
	}
	if (probe->value & SBUF_VALUE_ORDER && !(READ_ONCE(block_orders) & BIT(argument & 31)))
		set_bit(argument & 31, &block_orders);
	if (!open_usual(probe, key, value, id) && !open_any(probe, key, value, id))
		return;
	if (probe->value & SBUF_VALUE_PREEMPTED && unlikely(is_being_woken())) {
		/* Before a close finds it */
		atomic_inc(&sbuf_pairs_in_doubt);
		if (!change_doubt(probe, key, true))
			atomic_dec(&sbuf_pairs_in_doubt);
	}
}

NOKPROBE_SYMBOL(open_valued);

void sbuf_pair_open(const struct stackbuf_probe *probe, unsigned long key, unsigned long value,
		    s64 id)
{
	if (!key || (unlikely(key == (unsigned long)current) && never_waits(probe, value)))
		return;
	if (unlikely(probe->value & ~(SBUF_VALUE_ARGUMENT | SBUF_VALUE_LARGE)))
		open_valued(probe, key, value, id);
	else if (unlikely(!open_usual(probe, key, value, id)))
		open_any(probe, key, value, id);
}

NOKPROBE_SYMBOL(sbuf_pair_open);

/* The time is that of the stack that closes: if it is not known, of the one that opened, counted */
static noinline void use_closer(struct stackbuf_pair_object *object,
				const struct stackbuf_probe *probe, s64 id)
{
	u32 stack = id > 0 ? find_stack(probe->pair, id) : 0;

	if (stack)
		object->stack = stack;
	else
		sbuf_pair_lost(probe, 1);
}

/*
 * Pages that were allocated together may be freed one by one, so that some of them stay, and what
 * is in a page may be moved to another
 */
static noinline void count_part(const struct stackbuf_probe *probe)
{
	atomic_add_unless((atomic_t *)&pair_at(probe->pair)->parts, 1, -1);
}

/*
 * @value: of a close with SBUF_VALUE_ORDER, which has to be what was opened; else 0.  Return false
 * if nothing was open
 */
static __always_inline bool close_one(const struct stackbuf_probe *probe, unsigned long key,
				      u64 value, u64 now, s64 id)
{
	const u64 hash = hash_of(probe->pair, key);
	struct stackbuf_pair_bucket *bucket = bucket_at(bucket_of(hash));
	struct stackbuf_pair_object object;
	unsigned int i;

	if (!key)
		return false;
	i = find_key(bucket, STACKBUF_PAIR_BUCKET, key);
	if (unlikely(i == STACKBUF_PAIR_BUCKET || !take(bucket, i, probe->pair, key, &object)) &&
	    !take_any(hash, i, probe->pair, key, &object)) {
		sbuf_add(&pair_at(probe->pair)->unmatched, 1);
		return false;
	}
	if (unlikely(probe->value & SBUF_VALUE_HERE)) {
		/* What a filter leaves out has no stack, and no time */
		if (id == SBUF_NOT_ADMITTED)
			return true;
		use_closer(&object, probe, id);
	}
	if (unlikely(value) && value != object.value)
		count_part(probe);
	add_time(&object, now);
	return true;
}

/* Those of an array.  The argument may be no number of keys at all */
static noinline void close_all(const struct stackbuf_probe *probe, const unsigned long *keys,
			       unsigned long nr, u64 now)
{
	unsigned long i, key;

	if (nr > KEYS_MAX) {
		sbuf_pair_lost(probe, 1);
		return;
	}
	for (i = 0; i < nr; i++)
		if (!get_kernel_nofault(key, (unsigned long *)keys + i))
			close_one(probe, key, 0, now, 0);
}

NOKPROBE_SYMBOL(close_all);

/* Is @page in a block that is open, and not its first?  Such blocks are aligned to their size */
static bool is_in_block(unsigned int pair, const struct page *page)
{
	const unsigned long pfn = page_to_pfn(page), orders = READ_ONCE(block_orders);
	unsigned int order;

	for_each_set_bit(order, &orders, BITS_PER_LONG) {
		unsigned long before = pfn & (BIT(order) - 1);
		struct stackbuf_pair_object block;

		if (before && is_open(pair, (unsigned long)pfn_to_page(pfn - before), &block) &&
		    block.value > (u64)before << PAGE_SHIFT)
			return true;
	}
	return false;
}

/* Of pages of this order */
static noinline void close_block(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long order, u64 now)
{
	if (!close_one(probe, key, value_of(probe, order), now, 0) && key &&
	    is_in_block(probe->pair, (struct page *)key))
		count_part(probe);
}

NOKPROBE_SYMBOL(close_block);

void sbuf_pair_settle(const struct stackbuf_probe *probe, unsigned long key)
{
	if (!is_stopped() && change_doubt(probe, key, false))
		sbuf_add(&pair_at(probe->pair)->early, 1);
}

NOKPROBE_SYMBOL(sbuf_pair_settle);

void sbuf_pair_close_known(const struct stackbuf_probe *probe, unsigned long key,
			   unsigned long value, s64 id)
{
	u64 now = sbuf_pair_now();

	if (unlikely(is_stopped()))
		return;
	if (likely(!(probe->value & (SBUF_VALUE_ARGUMENT | SBUF_VALUE_MOVED))))
		close_one(probe, key, 0, now, id);
	else if (is_wait(probe))
		close_one(probe, wait_of(key), 0, now, id);
	else if (probe->value & SBUF_VALUE_MOVED)
		count_part(probe);
	else if (probe->value & SBUF_VALUE_ORDER)
		close_block(probe, key, value, now);
	else
		close_all(probe, (const unsigned long *)key, value, now);
}

NOKPROBE_SYMBOL(sbuf_pair_close_known);

void sbuf_pair_mark(unsigned long *granules)
{
	u32 i;

	/* E4: after the handlers that add entries */
	for (i = 0; i < STACKS; i++) {
		u32 granule = sbuf_id_granule(READ_ONCE(stack_at(i)->stack));

		if (granule && granule < SBUF_GRANULES)
			__set_bit(granule, granules);
	}
}

void sbuf_pair_resume(void)
{
	unsigned int i;

	WRITE_ONCE(resumed, sbuf_now());
	for (i = 1; i <= STACKBUF_PAIRS_MAX; i++)
		if (READ_ONCE(pair_at(i)->probes))
			sbuf_add(&pair_at(i)->refused, 1);
}

/* ------------------------------------------------------------------- pairs --- */

/*
 * Compaction moves to free pages that it has taken for itself, without an event.  Which argument is
 * named does not matter.
 */
#ifdef CONFIG_COMPACTION
#define PAGE_MOVES	" t:compaction:mm_compaction_migratepages@arg1@moved"
#else
#define PAGE_MOVES
#endif

#define WAKER_CLOSES	"t:sched:sched_switch@next@awake t:sched:sched_waking@p@here"

/* The size of an object, or the cache that knows it */
#if SBUF_HAS_CACHE_ALLOC_SIZE
#define CACHE_ALLOC_SIZE	"@bytes_alloc"
#else
#define CACHE_ALLOC_SIZE	"@cache=s"
#endif

/* With a node of their own, or without one in all cases */
#if SBUF_HAS_KMALLOC_NODE
#define NODE_OPENS	" t:kmem:kmalloc_node@ptr@bytes_alloc"				\
			" t:kmem:kmem_cache_alloc_node@ptr" CACHE_ALLOC_SIZE
#else
#define NODE_OPENS
#endif

/* A large object that is traced twice is not one that was opened again */
#if SBUF_HAS_LARGE_TWICE
#define KMALLOC_SIZE	"@large=bytes_alloc"
#else
#define KMALLOC_SIZE	"@bytes_alloc"
#endif

#define SLAB_OPENS	"t:kmem:kmalloc@ptr" KMALLOC_SIZE				\
			" t:kmem:kmem_cache_alloc@ptr" CACHE_ALLOC_SIZE NODE_OPENS

/*
 * 5.15 traces kmem_cache_free() when the object is free already and may be another's; a kernel
 * whose tracepoint has the cache does not.  kvfree_call_rcu() may keep objects in sheaves, which
 * are freed or used again without an event; before there are any, kmem_cache_free_bulk() closes
 * them, or kfree().
 */
#if SBUF_HAS_CACHE_FREE_CACHE
#define CACHE_FREE	"t:kmem:kmem_cache_free@ptr "
#else
#define CACHE_FREE	"kmem_cache_free@arg2 "
#endif
#if SBUF_HAS_SHEAVES
#define RCU_FREE	"kvfree_call_rcu@arg2 "
#else
#define RCU_FREE
#endif

/* Arguments of tracepoints by their names: where they stand differs between kernels */
static const struct {
	const char *name, *places;
} presets[] = {
	/* Bulk frees, those of kfree_rcu() among them, come by no event */
	{ "slab", SLAB_OPENS "|" CACHE_FREE RCU_FREE
		  "t:kmem:kfree@ptr kmem_cache_free_bulk@arg3@arg2" },
	{ "page", "t:kmem:mm_page_alloc@page@order=order|t:kmem:mm_page_free@page@order=order"
		  PAGE_MOVES },
	{ "offcpu", "t:sched:sched_switch@prev|t:sched:sched_switch@next" },
	{ "wakers", "t:sched:sched_switch@prev@preempted=preempt|" WAKER_CLOSES },
	{ "contention", "t:lock:contention_begin@lock@wait=flags|t:lock:contention_end@lock@wait" },
};

const char *sbuf_pair_preset(const char *name, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(presets); i++)
		if (strlen(presets[i].name) == len && !memcmp(presets[i].name, name, len))
			return presets[i].places;
	return NULL;
}

unsigned int sbuf_pair_get(const char *name, unsigned int len)
{
	unsigned int i, free = 0;

	lockdep_assert_held(&sbuf_probe_mutex);
	for (i = STACKBUF_PAIRS_MAX; i > 0; i--) {
		if (!pair_at(i)->name[0])
			free = i;
		else if (strlen(pair_at(i)->name) == len && !memcmp(pair_at(i)->name, name, len))
			return i;
	}
	if (!free || len >= sizeof(pair_at(free)->name))
		return 0;
	memcpy(pair_at(free)->name, name, len);
	pair_at(free)->time = sbuf_now();
	return free;
}

void sbuf_pair_set(unsigned int number, unsigned int probes)
{
	struct stackbuf_pair *pair = pair_at(number);
	unsigned int i, n;

	lockdep_assert_held(&sbuf_probe_mutex);
	WRITE_ONCE(pair->probes, probes);
	sbuf_page_bump_seq(&stackbuf_info.pair[0].page);
	if (probes)
		return;
	for (i = (1 + STACK_PAGES) * 16; i < NUMBERS; i++) {
		/* The first of a page is its header */
		for (n = 0; n < STACKBUF_PAIR_BUCKET && i % 16; n++) {
			struct stackbuf_pair_object *object = &bucket_at(i)->object[n];
			u64 word = READ_ONCE(*sbuf_pair_word(object));
			u32 stack = (u32)word & ~IN_DOUBT;

			if (!stack || READ_ONCE(stack_at(stack - 1)->stack) >> 32 != number)
				continue;
			if ((u32)word & IN_DOUBT)
				atomic_dec(&sbuf_pairs_in_doubt);
			/* K3: a copy tells it from what its place has next, as take_word() */
			WRITE_ONCE(*sbuf_pair_word(object), ((word >> 32) + 1) << 32);
			/* K2 */
			smp_store_release(&bucket_at(i)->key[n], 0);
		}
		cond_resched();
	}
	for (i = 0; i < STACKS; i++) {
		struct stackbuf_pair_stack *at = stack_at(i);

		if (READ_ONCE(at->stack) >> 32 != number)
			continue;
		memset((char *)at + sizeof(at->stack), 0, sizeof(*at) - sizeof(at->stack));
		/* K4: another pair may claim it from here on */
		smp_store_release(&at->stack, 0);
	}
	memset(pair, 0, sizeof(*pair));
	for (i = 1; i <= STACKBUF_PAIRS_MAX && !pair_at(i)->probes; i++)
		;
	if (i > STACKBUF_PAIRS_MAX)
		bitmap_zero(spilled, NUMBERS);
}

#endif
