// SPDX-License-Identifier: GPL-2.0
/*
 * pair.c - pairs of probes: a table of outstanding objects, and times by opening stack
 *
 * Each key has two buckets of eight places, selected by two hashes.  A key goes to the first if
 * half of that is free, else to the one with more room, so three quarters of the table are used
 * before a key finds no place.  A bit per bucket records that some of its keys may be in their
 * second bucket; until it is set, lookups do not go there.  Objects never move.  Storing its key
 * claims a place, and storing the number of its stack makes it valid; to free it, the number is
 * cleared before the key.  Both changes are atomic, so any context may interrupt any other, and a
 * copy of the memory at any instant shows only whole objects.
 *
 * An object refers to an entry for its stack.  The stack stays in the table as long as the pair is
 * set, as eviction marks the stacks of these entries like those of the ring.  Handlers run with
 * preemption disabled, so sbuf_synchronize_saves() waits for them; where RCU does not watch, a save
 * opens nothing.  So if a save found a stack before it was unlinked, the second marking of the
 * eviction finds the stack's entry (E2, E4).
 *
 * Counts are exact, except for refused opens and reopened keys, which are counted, and for hits
 * that ftrace drops inside another tracer's handler.
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
/* Most keys that one hit may close */
#define KEYS_MAX	4096

static_assert(STACKBUF_PAIR_PAGES >= 6 && STACKBUF_PAIRS_KB <= 262144, "PAIRS_KB: 24 to 262144");

static inline struct stackbuf_pair *pair_at(unsigned int number)
{
	return &stackbuf_info.pair[0].pairs.pair[number - 1];
}

/*
 * A page is as large as sixteen buckets or stack entries, and its header takes the first.  The
 * numbers of buckets count the headers, too
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

/* Map the upper half of a hash to a number below @n */
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

/* Indexed by bucket number: some key has gone to its second bucket, which had more room */
static DECLARE_BITMAP(spilled, NUMBERS);

/* Return the hash that selects a key's buckets.  stack_key() shifts the pair in the same way */
static __always_inline u64 hash_of(unsigned int pair, unsigned long key)
{
	return (key ^ (u64)pair << 32) * GOLDEN_RATIO_64;
}

static __always_inline u32 second_bucket_of(u64 hash)
{
	return bucket_of(hash * GOLDEN_RATIO_64);
}

/* The first word of the entry for a stack of a pair */
static __always_inline u64 stack_key(unsigned int pair, u32 id)
{
	return id | (u64)pair << 32;
}

/* The place of that entry, unless another one is there */
static __always_inline u32 stack_place(u64 want)
{
	return one_of(STACKS, want * GOLDEN_RATIO_64);
}

/* Return the number, from 1, of a stack's entry, adding it if needed; 0 if there is no room */
static u32 find_stack(unsigned int pair, u32 id)
{
	u64 want = stack_key(pair, id);
	u32 i, at = stack_place(want);

	for (i = 0; i < 64; i++, at = at + 1 < STACKS ? at + 1 : 0) {
		u64 *stack = &stack_at(at)->stack;
		/* E4: before the handler ends */
		u64 has = READ_ONCE(*stack) ?: cmpxchg64(stack, 0, want) ?: want;

		if (has == want)
			return at + 1;
	}
	return 0;
}

/* Return the first of @n places of a bucket that has this key (0: that is free), or @n if none */
static __always_inline unsigned int find_key(const struct stackbuf_pair_bucket *bucket,
					     unsigned int n, unsigned long key)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < n; i++)
		/* cmpxchg() decides.  READ_ONCE() would cost an instruction */
		if (data_race(bucket->key[i]) == key)
			break;
	return i;
}

/* take() an object whose word was @word, with the number @stack in it */
static __always_inline bool take_word(struct stackbuf_pair_bucket *bucket, unsigned int i,
				      unsigned int pair, unsigned long key, u64 word, u32 stack,
				      struct stackbuf_pair_object *object)
{
	struct stackbuf_pair_object *at = &bucket->object[i];

	object->stack = stack;
	object->time = READ_ONCE(at->time);
	object->value = READ_ONCE(at->value);
	/*
	 * Fail if the place was reused, for another key or even for the same stack.  A key is set
	 * before K1 and cleared after the exchange, so it does not change while the word does not.
	 * Relaxed: the release (K2) orders the reads above.
	 */
	if (READ_ONCE(bucket->key[i]) != key ||
	    READ_ONCE(stack_at(stack - 1)->stack) >> 32 != pair ||
	    cmpxchg64_relaxed(sbuf_pair_word(at), word, ((word >> 32) + 1) << 32) != word)
		return false;
	/* K2: the number is cleared, and the object was read, before the place is claimed again */
	smp_store_release(&bucket->key[i], 0);
	return true;
}

/* take() an object that is in doubt; fails if @word has no number of a stack */
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

/* Take the object at a place with its key, if it is the pair's; of concurrent calls one succeeds */
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

/* Take an object with this key from place @i of its first bucket on, or from its second bucket */
static noinline bool take_any(u64 hash, unsigned int i, unsigned int pair, unsigned long key,
			      struct stackbuf_pair_object *object)
{
	const u32 number = bucket_of(hash);

	return take_from(bucket_at(number), i, pair, key, object) || (test_bit(number, spilled) &&
		take_from(bucket_at(second_bucket_of(hash)), 0, pair, key, object));
}

/* Claim a place for a key in either of its buckets, see the top of the file.  NULL: no room */
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
			/* Before the key is stored.  A lookup's address depends on the key */
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

/* Bits of the orders of pages that were opened */
static unsigned long block_orders;

static bool is_wait(const struct stackbuf_probe *probe)
{
	return (probe->value & SBUF_VALUE_WAIT) == SBUF_VALUE_WAIT;
}

static noinline u64 value_of(const struct stackbuf_probe *probe, unsigned long value)
{
	if (probe->value & SBUF_VALUE_CACHE)
		return kmem_cache_size((struct kmem_cache *)value);
	if (probe->value & SBUF_VALUE_ORDER)
		return (u64)PAGE_SIZE << (value & 31);
	return probe->value & SBUF_VALUE_PREEMPTED ? 0 : value;
}

/* Add the time that an object was open, until @now, to its stack */
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

/*
 * The current task is being switched out.  Return true if nothing will end its wait: an idle task
 * waits for nothing; a dead one is never switched in again, but a new task may reuse its
 * task_struct; a runnable one gets no wakeup.
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

/* Fill a claimed place, which is valid from K1 on */
static __always_inline void fill(struct stackbuf_pair_object *object, u64 time, u64 value,
				 u32 stack)
{
	u64 *word = sbuf_pair_word(object);

	/* A CPU that tries to take the place's previous object may still read them: K1 */
	WRITE_ONCE(object->time, time);
	WRITE_ONCE(object->value, value);
	/* K1.  K2: the word has no number of a stack yet */
	smp_store_release(word, READ_ONCE(*word) | stack);
}

/* Open an object in any case.  Return false if it was not opened */
static noinline bool open_any(const struct stackbuf_probe *probe, unsigned long key, u64 value,
			      s64 id)
{
	const u64 hash = hash_of(probe->pair, key);
	struct stackbuf_pair_object *object, was;
	u32 stack;

	/* sbuf_pair_resume() counts all that is missed until then as one */
	if (id <= 0 && !sbuf_recording())
		return false;
	/* Even if it is not opened now: the next close is not for the object that had the key */
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

/* Open an object in the usual case, without a call.  Otherwise do nothing and return false */
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
	/* Otherwise each iteration of the loop computes the addresses that depend on it */
	OPTIMIZER_HIDE_VAR(i);
	if (unlikely(i == STACKBUF_PAIR_BUCKET / 2 || cmpxchg64(&bucket->key[i], 0, key)))
		return false;
	/* The time of the event, or of a later one if an interrupt came in between */
	fill(&bucket->object[i], READ_ONCE(cpu->time), value, stack + 1);
	return true;
}

/*
 * Return true if the wakeup of the current task, which is being switched out, may have begun: then
 * the wakeup found nothing to close.  The waker holds the task's pi_lock from before sched_waking
 * until it has set TASK_WAKING, and that state stays until the task is off its CPU:
 * try_to_wake_up(), from 5.15 to 6.18.
 */
static __always_inline bool is_being_woken(void)
{
	/* K5: after the object is stored.  A waker that did not find it took the lock before */
	smp_mb();
	if (raw_spin_is_locked(&current->pi_lock))
		return true;
	smp_rmb();	/* K5: the state is set before the lock is released */
	return READ_ONCE(current->__state) == TASK_WAKING;
}

/*
 * With @doubt, mark the object that the current task has just opened as in doubt: its wakeup may
 * have preceded the open.  But the holder of the lock may not have reached sched_waking yet, or may
 * not be a waker at all.  The switch in decides, as a task is not woken twice in between: it calls
 * this without @doubt, to remove an object that is still in doubt.  Return false if there is no
 * such object.
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

/* Return true if an object is outstanding, with its time and value in *@copy */
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
			smp_rmb();	/* K1: read before checking that the place was not reused */
			if (READ_ONCE(bucket->key[i]) == key && (u32)word - 1 < STACKS &&
			    READ_ONCE(stack_at(word - 1)->stack) >> 32 == pair &&
			    READ_ONCE(*sbuf_pair_word(at)) == word)
				return true;
		}
	return false;
}

/*
 * The key of a wait: several tasks may wait for one lock, and one task for several, such as an
 * interrupt's, or the one that guards the waiters of a mutex
 */
static unsigned long wait_of(unsigned long lock)
{
	return lock ^ (unsigned long)current * GOLDEN_RATIO_64;
}

/* LCB_F_SPIN and LCB_F_MUTEX in include/trace/events/lock.h, from 5.19 on */
#define WAIT_SPINS	0x01
#define WAIT_IN_MUTEX	0x20

/* When recording last resumed: the close of an object opened before may have been missed */
static u64 resumed;

/* Return true if the task waits by this key, as far as recorded */
static bool is_waiting(const struct stackbuf_probe *probe, unsigned long key)
{
	struct stackbuf_pair_object wait;

	return is_open(probe->pair, key, &wait) && wait.time >= READ_ONCE(resumed);
}

/*
 * A semaphore and an rt_mutex begin with the spinlock that guards their waiters, so both have one
 * address.  A waiter that wakes may have to wait for it, too, before its wait ends.
 */
static unsigned long guard_of(unsigned long wait)
{
	return wait ^ 1;
}

static noinline void open_wait(const struct stackbuf_probe *probe, unsigned long key,
			       unsigned long flags, s64 id)
{
	u32 cpu = READ_ONCE(stackbuf_info.filter.cpu);

	/* Where cpu= does not exclude it, the same wait may begin again, and seem to have begun */
	if (id == SBUF_NOT_ADMITTED && flags & WAIT_IN_MUTEX && cpu &&
	    cpu != raw_smp_processor_id() + 1)
		sbuf_pair_lost(probe, 1);
	if (flags & (WAIT_SPINS | WAIT_IN_MUTEX) && is_waiting(probe, key)) {
		/* A wait for a mutex begins again as the waiter sleeps or spins, but ends once */
		if (flags & WAIT_IN_MUTEX)
			return;
		key = guard_of(key);
		/* Its end will seem to be that of the outer wait */
		if (id == SBUF_NOT_ADMITTED)
			sbuf_pair_lost(probe, 1);
	}
	if (!open_usual(probe, key, 0, id))
		open_any(probe, key, 0, id);
}

NOKPROBE_SYMBOL(open_wait);

static noinline void open_valued(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long argument, s64 id)
{
	u64 value;

	if (is_wait(probe)) {
		open_wait(probe, wait_of(key), argument, id);
		return;
	}
	value = value_of(probe, argument);
	if (probe->value & SBUF_VALUE_ORDER && !(READ_ONCE(block_orders) & BIT(argument & 31)))
		set_bit(argument & 31, &block_orders);
	if (!open_usual(probe, key, value, id) && !open_any(probe, key, value, id))
		return;
	if (probe->value & SBUF_VALUE_PREEMPTED && unlikely(is_being_woken())) {
		/* Before a close can find the object in doubt */
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

/* Add the time to the closing stack; if that is unknown, to the opening one, and count that */
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
 * Count a block whose pages are freed one by one, so that some may stay allocated, or a page whose
 * contents are moved to another
 */
static noinline void count_part(const struct stackbuf_probe *probe)
{
	atomic_add_unless((atomic_t *)&pair_at(probe->pair)->parts, 1, -1);
}

/*
 * @value: with SBUF_VALUE_ORDER, the size that is closed, which should be the size that was opened;
 * else 0.  Return false if nothing was open
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
		/* An event that is left out has no stack, so its time is not counted */
		if (id == SBUF_NOT_SAMPLED)
			sbuf_pair_lost(probe, 1);
		if (id == SBUF_NOT_SAMPLED || id == SBUF_NOT_ADMITTED)
			return true;
		use_closer(&object, probe, id);
	}
	if (unlikely(value) && value != object.value)
		count_part(probe);
	add_time(&object, now);
	return true;
}

/* Close the objects of an array.  @nr is some argument, and need not be a number of keys */
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

/* Return true if @page is in an open block, after its first page.  Blocks are size-aligned */
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

/* Close a block of pages of this order */
static noinline void close_block(const struct stackbuf_probe *probe, unsigned long key,
				 unsigned long order, u64 now)
{
	if (!close_one(probe, key, value_of(probe, order), now, 0) && key &&
	    is_in_block(probe->pair, (struct page *)key))
		count_part(probe);
}

NOKPROBE_SYMBOL(close_block);

/* The wait of the guard ends first, as it began last */
static noinline void close_wait(const struct stackbuf_probe *probe, unsigned long key, u64 now,
				s64 id)
{
	close_one(probe, is_waiting(probe, guard_of(key)) ? guard_of(key) : key, 0, now, id);
}

NOKPROBE_SYMBOL(close_wait);

void sbuf_pair_settle(const struct stackbuf_probe *probe, unsigned long key)
{
	if (sbuf_recording() && change_doubt(probe, key, false))
		sbuf_add(&pair_at(probe->pair)->early, 1);
}

NOKPROBE_SYMBOL(sbuf_pair_settle);

void sbuf_pair_close_known(const struct stackbuf_probe *probe, unsigned long key,
			   unsigned long value, s64 id)
{
	u64 now = sbuf_pair_now();

	/* Whatever stops recording, enable=0 included, stops pairs */
	if (unlikely(!sbuf_recording()))
		return;
	if (likely(!(probe->value & (SBUF_VALUE_ARGUMENT | SBUF_VALUE_MOVED))))
		close_one(probe, key, 0, now, id);
	else if (is_wait(probe))
		close_wait(probe, wait_of(key), now, id);
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
		/* A pair has a name before its list is live, and a number of probes only later */
		if (READ_ONCE(pair_at(i)->name[0]))
			sbuf_add(&pair_at(i)->refused, 1);
}

/* ------------------------------------------------------------------- pairs --- */

/*
 * Compaction moves pages to free pages that it took without an event.  It does not matter which
 * argument is named.
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

/* Kernels where allocations with a node have tracepoints of their own */
#if SBUF_HAS_KMALLOC_NODE
#define NODE_OPENS	" t:kmem:kmalloc_node@ptr@bytes_alloc"				\
			" t:kmem:kmem_cache_alloc_node@ptr" CACHE_ALLOC_SIZE
#else
#define NODE_OPENS
#endif

/* A large object that the kernel traces twice was not opened again */
#if SBUF_HAS_LARGE_TWICE
#define KMALLOC_SIZE	"@large=bytes_alloc"
#else
#define KMALLOC_SIZE	"@bytes_alloc"
#endif

#define SLAB_OPENS	"t:kmem:kmalloc@ptr" KMALLOC_SIZE				\
			" t:kmem:kmem_cache_alloc@ptr" CACHE_ALLOC_SIZE NODE_OPENS

/*
 * 5.15 traces kmem_cache_free() after the object was freed, when it may already be allocated again;
 * kernels whose tracepoint has the cache do not.  kvfree_call_rcu() may keep objects in sheaves,
 * which are freed or reused without an event; on kernels without sheaves, kmem_cache_free_bulk() or
 * kfree() closes them.
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

/* Arguments of tracepoints are named, as their positions differ between kernels */
static const struct {
	const char *name, *places;
} presets[] = {
	/* Bulk frees, including those of kfree_rcu(), have no event */
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
			/* K3: a copy tells it from the place's next object, as in take_word() */
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
