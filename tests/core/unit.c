// SPDX-License-Identifier: GPL-2.0
/*
 * unit.c - parts of core/ that a running kernel rarely reaches; and saves that are stopped, or
 * interrupted by an NMI, at each of their instructions
 *
 * Nothing here depends on how fast the host is: clocks count how often they are read, workers run
 * where a test waits for them, and each test begins with the same random numbers, of $SEED.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <shim.h>

/* Their static functions are tested, too */
#include "core/table.c"
#include "core/probe_parse.c"

#include "core/save.h"
#include "core/worker.h"
#include "check.h"
#include "paths.h"

static unsigned int failures;
static u64 seed = 88172645463325252ULL, random_state;

static u64 next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Each test has the same random numbers, whether others run before it or not */
static void result(bool (*test)(void), const char *text)
{
	bool is;

	random_state = seed;
	is = test();
	printf("%s %s\n", is ? "ok" : "not ok", text);
	if (!is)
		printf("# SEED=%llu; its random numbers had come to %llu\n", seed, random_state);
	failures += !is;
}

#define EXPECT(condition) do {						\
	if (!(condition)) {						\
		printf("# line %d: %s\n", __LINE__, #condition);	\
		return false;						\
	}								\
} while (0)

/* -------------------------------------------------------------------- table --- */

static unsigned int naive_run(u64 used, unsigned int n)
{
	unsigned int start, i;

	for (start = 1; start + n <= 64; start++) {
		for (i = start; i < start + n && !(used >> i & 1); i++)
			;
		if (i == start + n)
			return start;
	}
	return 0;
}

static bool finds_runs(void)
{
	unsigned int i, n;

	EXPECT(find_run(~0ULL, 1) == 0);
	EXPECT(find_run(1, 63) == 1);
	EXPECT(find_run(3, 63) == 0);
	EXPECT(find_run(~(1ULL << 63), 1) == 63);
	EXPECT(find_run(~(1ULL << 63), 2) == 0);
	for (i = 0; i < 200000; i++) {
		u64 used = next_random() | 1;

		/* Few bits, and many, in half of the cases each */
		used = i & 1 ? used | next_random() : (used & next_random()) | 1;
		n = 1 + next_random() % (i & 2 ? 63 : 13);
		if (i & 4)
			used = (used & next_random() & next_random()) | 1;
		EXPECT(find_run(used, n) == naive_run(used, n));
	}
	return true;
}

static bool allocates(void)
{
	static struct { u32 granule; unsigned int n; } has[SBUF_GRANULES];
	unsigned int nr = 0, used = 0, i, k, turn, failed = 0;
	bool taken[SBUF_GRANULES] = {};

	for (turn = 0; turn < 200000; turn++) {
		if (next_random() % 16 < (turn % 4096 < 2048 ? 10 : 6)) {
			unsigned int n = 1 + next_random() % 13;
			bool searches = atomic_read(&sbuf_table_misses) < (int)SBUF_STACK_PAGES;
			u32 granule = alloc_granules(n);

			if (!granule) {
				/* Until granules are freed it does not search again */
				failed++;
				for (i = 0; searches && i < SBUF_STACK_PAGES; i++)
					EXPECT(!naive_run(stackbuf_stacks[i].used, n));
				continue;
			}
			EXPECT(searches);
			EXPECT(granule % 64 && granule % 64 + n <= 64);
			EXPECT(granule + n <= SBUF_GRANULES);
			for (i = granule; i < granule + n; i++) {
				EXPECT(!taken[i]);
				taken[i] = true;
			}
			has[nr].granule = granule;
			has[nr++].n = n;
			used += n;
		} else if (nr) {
			k = next_random() % nr;
			sbuf_table_free(has[k].granule, has[k].n);
			for (i = has[k].granule; i < has[k].granule + has[k].n; i++)
				taken[i] = false;
			used -= has[k].n;
			has[k] = has[--nr];
		}
		EXPECT(atomic_read(&sbuf_table_used) == (int)used);
	}
	while (nr--)
		sbuf_table_free(has[nr].granule, has[nr].n);
	for (i = 0; i < SBUF_STACK_PAGES; i++)
		EXPECT(stackbuf_stacks[i].used == 1);
	EXPECT(failed > 100 && !atomic_read(&sbuf_table_used));
	return true;
}

static bool encodes(void)
{
	const unsigned long base = (unsigned long)stack_trace_save;
	const unsigned long edge[] = {
		base, base + 0x7fffffff, base + 0x80000000, base - 0x7fffffff, base - 0x80000000,
		base - 0x80000001, 0, ~0UL, 1UL << 63, base ^ 1UL << 32,
	};
	unsigned long pc[PATH_KEPT], again[PATH_KEPT];
	struct sbuf_trace trace;
	unsigned int i, k, nr;

	for (i = 0; i < 20000; i++) {
		nr = i < 64 ? i + 1 : 1 + next_random() % PATH_KEPT;
		for (k = 0; k < nr; k++)
			pc[k] = i & 1 ? edge[next_random() % ARRAY_SIZE(edge)] :
				base + (s32)next_random();
		sbuf_trace_encode(&trace, pc, nr, i & 2);
		EXPECT(trace.nr == nr && trace.words >= nr && trace.words <= 3 * nr);
		EXPECT(trace.cut == !!(i & 2));
		EXPECT(trace.hash == stackbuf_hash(trace.frames, trace.words, i & 2));
		EXPECT(sbuf_trace_decode(again, trace.frames, trace.words) == nr);
		EXPECT(!memcmp(pc, again, nr * sizeof(*pc)));
	}
	/* The lowest distance marks the long form */
	sbuf_trace_encode(&trace, &edge[4], 1, false);
	EXPECT(trace.words == 3 && trace.frames[0] == STACKBUF_FRAME_FAR);
	return true;
}

static bool decodes_anything(void)
{
	unsigned long pc[PATH_KEPT];
	unsigned int i, k;

	for (i = 0; i < 20000; i++) {
		unsigned int words = next_random() % 193, nr;
		u32 *frames = malloc(words * sizeof(*frames) + 1);

		for (k = 0; k < words; k++)
			frames[k] = next_random() % 4 ? next_random() : STACKBUF_FRAME_FAR;
		nr = sbuf_trace_decode(pc, frames, words);
		EXPECT(nr <= PATH_KEPT && nr <= words);
		free(frames);
	}
	return true;
}

/* ------------------------------------------------------------------- probes --- */

static struct sbuf_resolver *new_resolver(void)
{
	struct sbuf_resolver *resolver;

	return kvzalloc(struct_size(resolver, request, SBUF_REQUESTS_MAX), GFP_KERNEL);
}

/* What a parameter is written, how many requests that are, or an error, and the last one's role */
static bool splits_lists(void)
{
	static const struct {
		enum sbuf_probe_list of;
		const char *text;
		int nr;
		const char *name[3];
		u32 events;
		u8 role;
	} list[] = {
		{ SBUF_PROBES, "", 0 }, { SBUF_PROBES, ",", 0 }, { SBUF_PROBES, " , \n,,", 0 },
		{ SBUF_PROBES, "a\n", 1, { "a" } }, { SBUF_PROBES, "a,", 1, { "a" } },
		{ SBUF_PROBES, "\ta ", 1, { "a" } }, { SBUF_PROBES, "a b", 1, { "a b" } },
		{ SBUF_PROBES, " a , b ", 2, { "a", "b" } },
		{ SBUF_PROBES, "a, ,b", 2, { "a", "b" } },
		{ SBUF_PROBES, "a\nb,,c\n", 3, { "a", "b", "c" } },
		{ SBUF_TRIGGERS, "a, b:30 \n", 2, {}, 30, STACKBUF_TRIGGERS },
		{ SBUF_TRIGGERS, "m:f1:4294967295", 1, {}, U32_MAX, STACKBUF_TRIGGERS },
		{ SBUF_TRIGGERS, "f:00", 1, {}, 0, STACKBUF_TRIGGERS },
		{ SBUF_TRIGGERS, "f1", 1, {}, 0, STACKBUF_TRIGGERS },
		{ SBUF_TRIGGERS, "a\n b:7\n", 2, { "a", "b" }, 7, STACKBUF_TRIGGERS },
		{ SBUF_TRIGGERS, "", 0 },
		{ SBUF_TRIGGERS, ":3", -EINVAL }, { SBUF_TRIGGERS, "f:4294967296", -EINVAL },
		{ SBUF_TRIGGERS, "f:99999999999999999999999", -EINVAL },
		{ SBUF_PAIRS, "a@arg1 m:b@arg2:c@arg1,,d@arg1:e@arg1\n", 5, {}, 0,
		  STACKBUF_PAIR_CLOSES },
		{ SBUF_PAIRS, "m:a@arg1 m:b@arg2:m:c@arg1 m:d@arg1", 4,
		  { "m:a@arg1", "m:b@arg2", "m:c@arg1" }, 0, STACKBUF_PAIR_CLOSES },
		{ SBUF_PAIRS, "a@arg1:b@arg1\nc@arg1:d@arg1\n", 4,
		  { "a@arg1", "b@arg1", "c@arg1" }, 0, STACKBUF_PAIR_CLOSES },
		{ SBUF_PAIRS, "a@arg1:b@arg1 ,\tc@arg1:d@arg1 \n", 4, {}, 0, STACKBUF_PAIR_CLOSES },
		{ SBUF_PAIRS, "a@arg1", -EINVAL }, { SBUF_PAIRS, "a@arg1 m:b:c", -EINVAL },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		struct sbuf_resolver *resolver = new_resolver();
		const struct sbuf_probe_request *request = resolver->request;
		int nr;

		resolver->of = list[i].of;
		nr = sbuf_resolver_split(resolver, list[i].text) ?: resolver->nr;
		EXPECT(nr == list[i].nr);
		if (nr > 0)
			EXPECT(resolver->events == list[i].events &&
			       request[nr - 1].role == list[i].role);
		/* A pair's name has no blanks around it */
		for (k = 0; nr > 0 && list[i].of == SBUF_PAIRS && k < nr; k++)
			EXPECT(!isspace(*request[k].pair_name) &&
			       !isspace(request[k].pair_name[request[k].pair_len - 1]));
		for (k = 0; k < 3 && list[i].name[k]; k++)
			EXPECT(request[k].len == strlen(list[i].name[k]) &&
			       !memcmp(request[k].name, list[i].name[k], request[k].len));
		kvfree(resolver);
	}
	return true;
}

static bool splits_many(void)
{
	char many[2 * (STACKBUF_PROBES_MAX + 1) + 1];
	struct sbuf_resolver *resolver;
	int i;

	for (i = 0; i <= STACKBUF_PROBES_MAX; i++)
		memcpy(many + 2 * i, "f,", 2);
	many[2 * i] = '\0';
	resolver = new_resolver();
	EXPECT(sbuf_resolver_split(resolver, many) == -ENOSPC);
	kvfree(resolver);
	many[2 * i - 2] = '\0';
	resolver = new_resolver();
	EXPECT(!sbuf_resolver_split(resolver, many) && resolver->nr == STACKBUF_PROBES_MAX);
	kvfree(resolver);
	return true;
}

static bool parses_probes(void)
{
	/* A probe; and its function, module, event, group, offset, tag, address, is a pattern */
	static const char *const good[][2] = {
		{ "vfs_read", "vfs_read - - - 0 0 0 0" },
		{ "vfs_read+0x10", "vfs_read - - - 16 0 0 0" },
		{ "f+4294967295", "f - - - 4294967295 0 0 0" },
		{ "ext4:ext4_read", "ext4_read ext4 - - 0 0 0 0" },
		{ "m:f+7", "f m - - 7 0 0 0" },
		{ "nf-t:f", "f nf_t - - 0 0 0 0" },
		{ "f@arg1", "f - - - 0 1 0 0" },
		{ "m:f@arg6", "f m - - 0 6 0 0" },
		{ "f@retaddr", "f - - - 0 255 0 0" },
		{ "f.cold", "f.cold - - - 0 0 0 0" },
		{ "f.constprop.0@arg2", "f.constprop.0 - - - 0 2 0 0" },
		{ "0xffffffff81000000", " - - - 0 0 ffffffff81000000 0" },
		{ "0x1@arg3", " - - - 0 3 1 0" },
		{ "t:kfree", " - kfree - 0 0 0 0" },
		{ "t:kmem:kfree@arg2", " - kfree kmem 0 2 0 0" },
		{ "t:kmem:kmalloc@bytes_alloc", " - kmalloc kmem 0 4 0 0" },
		{ "t:kfree@ptr", " - kfree - 0 2 0 0" },
		{ "tracepoint:a-b:e", " - e a-b 0 0 0 0" },
		{ "f*", "f* - - - 0 0 0 1" },
		{ "*@arg2", "* - - - 0 2 0 1" },
		{ "m:f[0-9]?", "f[0-9]? m - - 0 0 0 1" },
		{ "f%return", "f - - - 0 0 0 0 return" },
		{ "m:f%return@retval", "f m - - 0 254 0 0 return" },
		{ "f*%return@error", "f* - - - 0 253 0 1 return" },
		{ "f%return@null", "f - - - 0 252 0 0 return" },
	};
	static const char *const bad[] = {
		"t:", "t:g:", "t::e", "t:a:b:c", "t:e+1", "t:e*", "t:e@retaddr", "t:e@arg6",
		"t:kmalloc@bytes", "t:kmalloc@bytes_alloc_", "t:kmalloc@node", "t:e@ptr", "kmalloc@ptr",
		"f@", "f@ret", "f@arg", "f@arg0", "f@arg7", "f@arg1x", "f@arg-1", "f@x",
		"f@retaddr@arg1", "f+1@arg1", "f.cold@arg1", "f.cold@retaddr", "0x", "0x0", "0xg",
		"0x1ffffffffffffffff", "0x10+1", ":f", "m:", ":", "m:n:f", "f g", "f*+0", "m*:f",
		"f]", "f*(", "f()", "a/b", "a\\b", "\"f\"", "'f'", "{f}", "f\tg", "f+", "f+x", "f+-1",
		"f+4294967296", "f++4", "m:f+0x100000000", "f+1+1", "+1", "@arg1",
		"f%", "f%ret", "f%return@", "f%return@arg1", "f%return@retaddr", "f%return%return",
		"f+4%return", "0x10%return", "t:e%return", "f.cold%return", "%return", "f@retval",
		"f@error", "f%return@retval@arg1",
	};
	char longest[STACKBUF_PROBE_NAME + 1], text[99] = "";
	struct sbuf_probe_request request;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		request = (struct sbuf_probe_request) {
			.name = good[i][0], .len = strlen(good[i][0]) };
		if (!sbuf_resolve_parse(&request))
			snprintf(text, sizeof(text), "%s %s %s %s %u %u %lx %u%s", request.function,
				 request.module ?: "-", request.event ?: "-", request.group ?: "-",
				 request.offset, request.tag, request.addr, request.pattern,
				 request.returns ? " return" : "");
		if (strcmp(text, good[i][1])) {
			printf("# %s: %s\n", good[i][0], text);
			return false;
		}
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		request = (struct sbuf_probe_request) { .name = bad[i], .len = strlen(bad[i]) };
		if (sbuf_resolve_parse(&request) != -EINVAL) {
			printf("# %s is accepted\n", bad[i]);
			return false;
		}
	}
	memset(longest, 'f', sizeof(longest));
	request = (struct sbuf_probe_request) { .name = longest, .len = STACKBUF_PROBE_NAME - 1 };
	EXPECT(!sbuf_resolve_parse(&request));
	EXPECT(strlen(request.function) == STACKBUF_PROBE_NAME - 1);
	request = (struct sbuf_probe_request) { .name = longest, .len = STACKBUF_PROBE_NAME };
	EXPECT(sbuf_resolve_parse(&request) == -EINVAL);
	return true;
}

/* ------------------------------------------------- stop at every instruction --- */

/*
 * The processor's trap flag: SIGTRAP after each instruction.  An instruction of a library counts as
 * one of the call.
 */
static void (*step_do)(void);
static unsigned long steps;
static bool step_on;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	if (!step_on) {
		at->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
		return;
	}
	at->uc_mcontext.gregs[REG_EFL] |= 0x100;
	steps++;
	step_do();
}

static noinline void step_begin(void (*what)(void))
{
	step_do = what;
	steps = 0;
	step_on = true;
	asm volatile("int3" ::: "memory");
}

static struct task_struct task = { .pid = 1000, .tgid = 1000, .comm = "t1000" };
static u64 number;
static u32 path_of_nmi = 1;

static struct check_arrays now, before;
static unsigned long long *recorded;
#define PATHS 4096

static u32 save_path(u32 path, unsigned int level)
{
	unsigned int context = min(level, (unsigned int)STACKBUF_NMI);
	unsigned long pc[PATH_FRAMES_MAX];
	struct pt_regs regs = {};
	u32 id;

	path_build(pc, path_frames(path, pc), (char *)task.stack + THREAD_SIZE - level * 4096, 0,
		   &regs);
	id = stackbuf_save_regs(&regs, TAG(path, 0, context, ++number));
	if (id)
		recorded[path]++;
	/* Workers do not run beside what is stepped */
	if (!level && !step_on)
		shim_settle();
	return id;
}

static unsigned int nmi_saves, nmi_recorded;

static void save_in_nmi(void)
{
	nmi_saves++;
	nmi_recorded += !!save_path(path_of_nmi, 3);
}

static unsigned int check_all(void)
{
	check_copy(&before, &now);
	return check_arrays(&before, false, NULL, PATHS);
}

static unsigned int step_problems;

/* If something has changed since the last instruction, memory must be whole */
static void check_step(void)
{
	int i = 1;

	/* Not its figures */
	while (i < 4 && !memcmp(before.at[i], now.at[i], now.size[i]))
		i++;
	if (i == 4)
		return;
	step_problems = check_all();
	if (step_problems)
		step_on = false;
}

/* As check_step(); and a panic there, in a process of its own, leaves every stack with its text */
static void check_panic(void)
{
	pid_t child;
	int status;

	check_step();
	if (step_problems || steps % 61)
		return;
	child = fork();
	if (!child) {
		step_on = false;
		sbuf_text_flush_panic();
		_exit(check_arrays(&now, false, NULL, PATHS) || sbuf_table_next_pending(0));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		printf("# a panic at instruction %lu: status %d\n", steps, status);
		step_problems++;
		step_on = false;
	}
}

/* Stopped at every instruction of saves of known and of new stacks, through laps of the ring */
static bool whole_at_every_instruction(void)
{
	unsigned long all = 0;
	unsigned int turn;

	/* Nothing is rendered but by this function */
	WRITE_ONCE(sbuf_worker[SBUF_WORKER_TEXT].pending, 1);
	/* Through a lap of the text log: from then on blanks follow the text, not NULs */
	for (turn = 0; turn < 100; turn++)
		save_path(300 + turn, 0);
	sbuf_text_flush(NULL);
	for (turn = 0; turn < 20 && !step_problems; turn++) {
		u32 path = turn % 4 ? 5 : 100 + turn;
		unsigned int more;

		/* To different places in pages, and to the end of one */
		for (more = turn * 9 % 97; more; more--)
			save_path(more % 8 ? 5 : more % 3, 0);
		step_begin(check_step);
		save_path(path, 0);
		step_on = false;
		all += steps;
		if (step_problems)
			break;
		step_begin(check_panic);
		sbuf_text_flush(NULL);
		step_on = false;
		all += steps;
	}
	WRITE_ONCE(sbuf_worker[SBUF_WORKER_TEXT].pending, 0);
	printf("# %lu instructions\n", all);
	return !step_problems && all > 10000;
}

static unsigned long nmi_at;

static void nmi_step(void)
{
	if (steps < nmi_at)
		return;
	step_on = false;
	shim_run_nmi();
}

/* An NMI at a sixth of the instructions of a save of a known stack, and at some of other saves */
static bool nmi_at_instructions(void)
{
	unsigned long pc[PATH_FRAMES_MAX], all = 0, instructions = 0;
	unsigned int kind;

	for (kind = 0; kind < 3; kind++) {
		unsigned int path = kind ? 200 : 5;

		for (nmi_at = 1; ; nmi_at += 1 + next_random() % (kind ? 1500 : 11)) {
			u32 id;

			/* A new one, of few frames: its text takes long */
			while (kind == 2 && path_frames(++path, pc) > 8)
				;
			step_begin(nmi_step);
			id = save_path(path, 0);
			instructions += steps;
			if (step_on) {
				step_on = false;
				break;
			}
			all++;
			if (!id)
				return false;
			/* The arrays are large to check */
			if ((kind || nmi_at % 4 == 0) && check_all())
				return false;
			sbuf_recall_invalidate();
			if (!kind) {
				/* Learn it again */
				save_path(path, 0);
				save_path(path, 0);
			}
		}
	}
	printf("# %lu NMIs in %lu instructions, %u saves in them, %u recorded\n", all,
	       instructions, nmi_saves, nmi_recorded);
	/* Ten words at the end of each page are for NMIs, so one NMI inside a save finds room */
	return nmi_saves == nmi_recorded && nmi_saves >= all && all > 50;
}

/* A page is closed early where eviction or another CPU wants it */
static bool nmi_while_a_page_is_closed(void)
{
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	unsigned long flags, all = 0;

	/* From here on it is recalled, and needs no walk before it is appended */
	for (nmi_at = 0; nmi_at < 4; nmi_at++)
		shim_run_nmi();
	for (nmi_at = 1; ; nmi_at++) {
		unsigned int saves = nmi_saves;

		EXPECT(save_path(5, 0));
		raw_local_irq_save(flags);
		step_begin(nmi_step);
		sbuf_ring_close_page_early(cpu, true);
		if (step_on) {
			step_on = false;
			raw_local_irq_restore(flags);
			break;
		}
		raw_local_irq_restore(flags);
		EXPECT(nmi_saves == saves + 1);
		all++;
	}
	printf("# %lu NMIs\n", all);
	return all > 5 && !check_arrays(&now, false, NULL, PATHS);
}

/* -------------------------------------------------------------------- clock --- */

/* True time in ns, and what makes two clocks of it */
static struct {
	u64 ns, back, cycle_ps;
	unsigned int reads;
	bool busy;
} fake;

static u64 fake_clock(bool cycles)
{
	u64 ps = fake.cycle_ps ?: 1, now;

	/* To read takes a while; now and then there is an SMI before */
	fake.busy = true;
	now = fake.ns += next_random() % 64 ? next_random() % 32 : 50000;
	fake.reads += !cycles;
	fake.busy = false;
	return cycles ? 1000000 + now * 1000 / ps : now * 1000 / ps * ps / 1000 - fake.back;
}

/* Is a time wrong that was read between @low, true time, and now? */
static bool is_wrong(u64 time, u64 low)
{
	return time + 300 + fake.cycle_ps / 1000 < low || time > fake.ns - fake.back + 300;
}

/* Read it often, and long after the time before.  Return how often it was wrong */
static unsigned int use_clock(struct sbuf_cpu *cpu, u64 cycle_ps, unsigned int *reads)
{
	unsigned int i, wrong = 0;
	u64 before = 0;

	fake.cycle_ps = cycle_ps;
	fake.reads = 0;
	for (i = 0; i < 20000; i++) {
		u64 now, low, pause = next_random() % 1000 ? next_random() % 4000 : 20000000000ULL;

		fake.ns += next_random() % (pause + 1);
		low = fake.ns - fake.back;
		now = sbuf_event_now(cpu);
		wrong += now < before || is_wrong(now, low);
		before = now;
	}
	*reads = fake.reads;
	/* As if it had been measured badly: it must not go back after what was said last */
	before = cpu->clock.ns + NSEC_PER_MSEC;
	cpu->clock.span -= cpu->clock.span >> 14;
	fake.ns = (cpu->clock.cycles + cpu->clock.span - 1000000) * cycle_ps / 1000 + 1;
	return wrong + (cpu->clock.span && sbuf_event_now(cpu) < before);
}

static bool tells_the_time(void)
{
	/* Of a TSC, an arm64 server's counter, a phone's */
	static const u64 cycle_ps[] = { 312, 1000, 52083 };
	static struct sbuf_cpu cpu;
	unsigned int i, reads, wrong, turn;

	fake.ns = 3000000;
	shim_clock = fake_clock;
	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < ARRAY_SIZE(cycle_ps); i++) {
			wrong = use_clock(&cpu, cycle_ps[i], &reads);
			printf("# cycles of %llu ps: read %u times, %u wrong\n", cycle_ps[i],
			       reads, wrong);
			/* It takes 2 to 4 ms to measure cycles anew */
			EXPECT(!wrong && reads < 15000 &&
			       cpu.clock.span * cycle_ps[i] < 1010000000);
			/* It is set back, as in another boot: once */
			if (turn)
				fake.back += fake.ns / 2;
		}
	shim_clock = NULL;
	return true;
}

static u64 still_clock(bool cycles)
{
	return 5000000;
}

/* Until the next tick, as with an unstable TSC: times differ only where they must */
static bool tells_returns_apart(void)
{
	static struct sbuf_cpu cpu;
	u64 first;

	shim_clock = still_clock;
	first = sbuf_ring_now(&cpu, SBUF_ANY_TIME);
	cpu.time = first;
	EXPECT(sbuf_ring_now(&cpu, SBUF_ANY_TIME) == first);
	EXPECT(sbuf_ring_now(&cpu, SBUF_AT_ONCE) == first);
	cpu.time = sbuf_ring_now(&cpu, SBUF_LATER);
	EXPECT(cpu.time == first + 1);
	/* The clock is behind the last event now */
	EXPECT(sbuf_ring_now(&cpu, SBUF_ANY_TIME) == first + 1);
	EXPECT(sbuf_ring_now(&cpu, SBUF_AT_ONCE) == first + 1);
	EXPECT(sbuf_ring_now(&cpu, SBUF_LATER) == first + 2);
	/* But it may have been set back */
	cpu.time = first + NSEC_PER_SEC;
	EXPECT(sbuf_ring_now(&cpu, SBUF_LATER) == first);
	shim_clock = NULL;
	return true;
}

static struct sbuf_cpu timed;
static unsigned int nmi_reads, nmi_wrong;

/* At each instruction sooner or later: each takes time, and much of it makes a reading useless */
static void clock_step(void)
{
	u64 low = fake.ns - fake.back;

	if (fake.busy || next_random() % 64)
		return;
	nmi_reads++;
	shim_preempt_count |= NMI_MASK;
	nmi_wrong += is_wrong(sbuf_event_now(&timed), low);
	shim_preempt_count &= ~NMI_MASK;
}

/* It is read for the first time, while cycles stand for it, after that, and when it was set back */
static bool tells_nmis_the_time(void)
{
	unsigned int i, wrong = 0, steady = 0;
	u64 low, now;

	fake.ns = 3000000;
	fake.back = 0;
	fake.cycle_ps = 312;
	shim_clock = fake_clock;
	for (i = 0; i < 1000; i++) {
		fake.ns += next_random() % (i % 4 ? 2 * NSEC_PER_MSEC : 1000);
		/* Seen once cycles no longer stand for it */
		if (i % 100 == 99) {
			fake.ns += 2 * NSEC_PER_MSEC;
			fake.back += fake.ns / 2;
		}
		low = fake.ns - fake.back;
		step_begin(clock_step);
		now = sbuf_event_now(&timed);
		step_on = false;
		wrong += is_wrong(now, low);
		steady += timed.clock.span > 0;
	}
	shim_clock = NULL;
	printf("# %u NMIs, %u wrong; cycles stood for the clock after %u of 1000 events, %u wrong\n",
	       nmi_reads, nmi_wrong, steady, wrong);
	EXPECT(!wrong && !nmi_wrong && nmi_reads > 1000 && steady > 300);
	return true;
}

/* --------------------------------------------------------------- torn pages --- */

static struct stackbuf_events_page *torn_page, torn_was;
static u64 torn_seq;
static bool torn;
static unsigned long torn_old, torn_zero, torn_new;

static void torn_step(void)
{
	const struct stackbuf_events_page *page = torn_page;

	if (page->page.seq == torn_was.page.seq) {
		torn_old++;
		/* A reader may still take the old page for valid: nothing of it has changed */
		torn |= memcmp(&page->word, &torn_was.word, sizeof(page->word)) ||
			page->first != torn_was.first || page->time != torn_was.time ||
			page->cpu != torn_was.cpu || torn_seq;
	} else if (!page->page.seq) {
		torn_zero++;
		torn |= torn_new;
	} else if (!torn_new++) {
		/* A reader may take the new page for valid: it is empty, and nothing is to come */
		torn |= page->page.seq <= torn_was.page.seq || page->word[0] ||
			page->time == torn_was.time || page->owner != 1;
	}
}

static bool tears_no_page(void)
{
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	unsigned int turn;

	for (turn = 0; turn < 5; turn++) {
		u64 overwritten;

		/* The next save takes the page after the head: all but this CPU's are closed */
		do {
			save_path(5, 0);
			torn_page = &stackbuf_events[(atomic64_read(&sbuf_ring_head) + 1) %
						     SBUF_EVENT_PAGES];
		} while (cpu->pos < STACKBUF_EVENT_WORDS - 14 || torn_page == cpu->page ||
			 !torn_page->page.seq);
		torn_was = *torn_page;
		torn_old = 0;
		torn_zero = 0;
		torn_new = 0;
		overwritten = stackbuf_info.overwritten;
		step_begin(torn_step);
		save_path(5, 0);
		step_on = false;
		EXPECT(!torn && torn_old && torn_zero && torn_new);
		EXPECT(stackbuf_info.overwritten > overwritten);
	}
	return true;
}

/* As if a hypervisor had stopped a CPU for some turns of the ring after it drew a number */
static bool overwrites_no_newer_page(void)
{
	struct stackbuf_events_page was[SBUF_EVENT_PAGES];
	unsigned int turn, i;

	for (turn = 0; turn < 500; turn++) {
		memcpy(was, stackbuf_events, sizeof(was));
		if (turn % 100 == 50)
			atomic64_add(-3 * (s64)SBUF_EVENT_PAGES, &sbuf_ring_head);
		save_path(5, 0);
		for (i = 0; i < SBUF_EVENT_PAGES; i++)
			EXPECT(stackbuf_events[i].page.seq >= was[i].page.seq);
	}
	return true;
}

/* A frame that looks like the start of a huge stack must not count as room to be freed */
static bool evicts_beside_a_lookalike(void)
{
	u64 evicted = stackbuf_info.evicted;
	struct stackbuf_stack *stack, *like, was;
	unsigned int path = 2000, kept, tries;
	u32 id;

	do {
		id = save_path(++path, 0);
		stack = sbuf_table_stack(id);
	} while (!id || stack->words < 16);
	kept = path;
	like = stack + 2;
	EXPECT((void *)like == sbuf_table_at(sbuf_id_granule(id) + 1));
	was = *like;
	*like = (struct stackbuf_stack) {
		.id = sbuf_id_granule(id) + 1, .nr = 1, .words = 0xffff,
	};
	for (tries = 0; tries < 10000 && stackbuf_info.evicted < evicted + 20; tries++) {
		/* New ones, and it, which stays in use */
		save_path(++path % PATHS, 0);
		save_path(kept, 0);
	}
	*like = was;
	printf("# %llu stacks evicted for %u events\n", stackbuf_info.evicted - evicted, tries);
	return tries < 10000;
}

/* Record others until the stack that has @id was evicted */
static bool evict(u32 id)
{
	unsigned int tries, path = 0;

	for (tries = 0; tries < 20000 && sbuf_table_stack(id)->id == id; tries++)
		save_path(++path % PATHS, 0);
	return tries < 20000;
}

/*
 * A stack that outlives a lap of ids is learnt again with its id, which its place may get once more
 * when it was evicted: no layout may hold the id then
 */
static bool forgets_ids_of_the_last_lap(void)
{
	const u64 lap = 1ULL << (32 - SBUF_ID_BITS);
	unsigned long epoch;
	u32 id, path = 4050;

	sbuf_table_generation = 3 * lap - 1;
	do
		id = save_path(path++, 0);
	while (!id);
	/* As if the next lap had begun since */
	sbuf_table_generation = 3 * lap;
	epoch = sbuf_recall_epoch;
	EXPECT(evict(id) && sbuf_recall_epoch != epoch);
	do
		id = save_path(path++, 0);
	while (!id);
	epoch = sbuf_recall_epoch;
	EXPECT(evict(id) && sbuf_recall_epoch == epoch);
	return true;
}

/* Of three events after a trigger's hit, and of a limit, those that are lost do not count */
static bool counts_down_by_what_is_recorded(void)
{
	const unsigned int lost = SBUF_NESTING, nest = this_cpu_ptr(sbuf_cpu)->nest;
	unsigned int i;

	sbuf_filter.limit = 100;
	sbuf_filter_apply_limit();
	sbuf_filter_arm(3);
	sbuf_filter_trigger(1);
	for (i = 0; i < 3; i++) {
		EXPECT(sbuf_recording());
		/* Of a new stack, which must be walked */
		this_cpu_ptr(sbuf_cpu)->nest = lost;
		EXPECT(!save_path(3900 + i, 0) && !save_path(3910 + i, 0));
		this_cpu_ptr(sbuf_cpu)->nest = nest;
		/* The table may be full */
		while (sbuf_recording() && !save_path(5, 0))
			;
	}
	EXPECT(!sbuf_recording() && !save_path(5, 0) && stackbuf_info.filter.left == 97);
	/* sbuf_filter_arm_again() would wait for this CPU */
	sbuf_state_change(STACKBUF_FROZEN_TRIGGER, false);
	sbuf_filter_arm(0);
	sbuf_filter.limit = 0;
	sbuf_filter_apply_limit();
	/* Where stores are not ordered, the next limit may be seen with this number */
	EXPECT(stackbuf_info.filter.left == U32_MAX);
	return sbuf_recording();
}

static bool expired;

static void *expire(void *unused)
{
	sbuf_evict_expire(PATH_TEXT, PATH_BASE - PATH_TEXT, false);
	smp_store_release(&expired, true);
	return NULL;
}

static pthread_t expirer;

/* The task leaves the code, which is then freed, before its stack is in the table */
static void expire_after_walk(void)
{
	u32 before = READ_ONCE(shim_synchronized);

	pthread_create(&expirer, NULL, expire, NULL);
	while (!smp_load_acquire(&expired) && READ_ONCE(shim_synchronized) == before)
		sched_yield();
}

static bool expires_walked_tasks(void)
{
	struct task_struct sleeper = { .pid = 1, .tgid = 1, .comm = "sleeper", .path = 4001 };
	u32 id, again;

	/* The table may be full for a while */
	do {
		expired = false;
		shim_walked = expire_after_walk;
		EXPECT(!stackbuf_save_task(&sleeper, 0, &id));
		shim_walked = NULL;
		pthread_join(expirer, NULL);
	} while (!id);
	EXPECT(sbuf_table_stack(id)->flags & STACKBUF_STACK_STALE);
	do
		EXPECT(!stackbuf_save_task(&sleeper, 0, &again) && again != id);
	while (!again);
	return true;
}

/* A stack of a module's parameters, recorded while it goes, whose text was not rendered yet */
static bool expires_when_the_next_comes(void)
{
	u64 given_up = stackbuf_info.text_given_up;
	const struct stackbuf_stack *stack;
	u32 id, path = 4002;

	do
		id = save_path(path++, 1);
	while (!id || sbuf_table_next_pending(sbuf_id_granule(id)) != sbuf_id_granule(id));
	stack = sbuf_table_stack(id);
	sbuf_evict_expire(PATH_TEXT, PATH_BASE - PATH_TEXT, true);
	EXPECT(stack->flags & STACKBUF_STACK_STALE && stackbuf_info.text_given_up > given_up);
	shim_settle();
	EXPECT(!(stack->flags & STACKBUF_STACK_TEXT));
	EXPECT(save_path(path - 1, 0) != id);
	return true;
}

/* The deepest stack from the innermost address of a path */
static struct stackbuf_depth *depth_of(unsigned int path)
{
	unsigned long pc[PATH_FRAMES_MAX];
	unsigned int i;

	path_frames(path, pc);

	for (i = 0; i < STACKBUF_DEPTHS_MAX; i++) {
		struct stackbuf_depth *depth = &stackbuf_info.depth[i / STACKBUF_PAGE_DEPTHS]
							.depth[i % STACKBUF_PAGE_DEPTHS];

		if (depth->origin && depth->origin == pc[0])
			return depth;
	}
	return NULL;
}

/* What a module has left there is marked, and forgotten when another one takes its place */
static bool expires_deepest(void)
{
	struct stackbuf_depth *depth;
	u32 bytes;

	EXPECT(save_path(5, 0) && (depth = depth_of(5)) && depth->bytes && !depth->stale);
	bytes = depth->bytes;
	sbuf_evict_expire(depth->origin + 0x1000, 0x100, false);
	EXPECT(!depth->stale);
	sbuf_evict_expire(depth->origin - 0x10, 0x100, false);
	EXPECT(depth->stale && depth->bytes == bytes);
	EXPECT(save_path(5, 0) && depth->stale && depth->bytes == bytes);
	sbuf_evict_expire(depth->origin - 0x10, 0x100, true);
	EXPECT(!depth->bytes);
	EXPECT(save_path(5, 0) && !depth->stale && depth->bytes == bytes);
	return true;
}

/*
 * A return that ends at once with the last event has its time, even if its page was taken long
 * after that; the clock counts how often it is asked
 */
static u64 late_ns;
static unsigned int late_reads;

static u64 late_clock(bool cycles)
{
	return ++late_reads < 1000 ? late_ns : 0;
}

static bool at_once_in_a_new_page(void)
{
	struct sbuf_cpu *cpu = this_cpu_ptr(sbuf_cpu);
	const struct sbuf_save save = { .from = SBUF_FRAME, .at_once = SBUF_AT_ONCE };
	struct sbuf_event event = { .save = &save, .id = save_path(5, 0) };
	u64 seq;

	while (cpu->pos < STACKBUF_EVENT_WORDS - 14)
		save_path(5, 0);
	seq = cpu->page->page.seq;
	event.time = cpu->time;
	late_ns = cpu->time + NSEC_PER_SEC;
	late_reads = 0;
	cpu->clock.span = 0;
	shim_clock = late_clock;
	EXPECT(sbuf_ring_append(cpu, &event));
	shim_clock = NULL;
	cpu->clock.span = 0;
	printf("# read %u times\n", late_reads);
	EXPECT(late_reads < 100 && cpu->page->page.seq > seq && cpu->time == late_ns);
	return true;
}

/* Record stack @n, of 8 granules: 7 stacks fit in a page.  Return its id, or 0 */
static u32 save_large(unsigned int n)
{
	static struct sbuf_trace trace;
	const struct sbuf_save save = { .from = SBUF_FRAME };
	struct sbuf_event event = { .save = &save };
	struct stackbuf_stack *stack;
	unsigned long pc[34];
	unsigned int i;
	bool is_new;

	for (i = 0; i < ARRAY_SIZE(pc); i++)
		pc[i] = 0x700000000000UL + 64 * n + i;
	sbuf_trace_encode(&trace, pc, ARRAY_SIZE(pc), false);
	if (sbuf_table_granules(trace.words) != 8)
		return 0;
	stack = sbuf_table_get(&trace, &is_new);
	if (!stack) {
		/* As append_walk() does */
		sbuf_ring_close_page_early(this_cpu_ptr(sbuf_cpu), false);
		return 0;
	}
	event.id = stack->id;
	if (!sbuf_ring_append(this_cpu_ptr(sbuf_cpu), &event))
		return 0;
	if (is_new)
		sbuf_table_note_first(stack, &event);
	return event.id;
}

/* They fill the table to 7/8 and no further, and the ring has events of all of them */
static bool evicts_large_stacks(void)
{
	unsigned int n = 0, turn, tries, i;

	for (turn = 0; turn < 30; turn++) {
		while (save_large(n))
			n++;
		for (tries = 0; tries < 5 && !save_large(n); tries++) {
			for (i = 0; i < SBUF_STACK_PAGES; i++)
				save_large(n);
			sbuf_evict_stacks(NULL);
		}
		EXPECT(tries < 5);
	}
	printf("# %u stacks\n", n);
	return n >= 60;
}

/* A call through NULL: its address is no line that was seen before */
static bool renders_null(void)
{
	const unsigned long pc[] = { 0, path_address(5), path_address(PATH_ENTRY) };
	const struct sbuf_save save = { .from = SBUF_FRAME };
	struct sbuf_event event = { .save = &save, .time = 1000000 };
	struct stackbuf_stack *stack;
	static struct sbuf_trace trace;
	char head[32], *at;
	bool is_new;

	WRITE_ONCE(sbuf_worker[SBUF_WORKER_TEXT].pending, 1);
	sbuf_trace_encode(&trace, pc, ARRAY_SIZE(pc), false);
	stack = sbuf_table_get(&trace, &is_new);
	EXPECT(stack && is_new);
	sbuf_table_note_first(stack, &event);
	sbuf_text_flush(NULL);
	WRITE_ONCE(sbuf_worker[SBUF_WORKER_TEXT].pending, 0);
	snprintf(head, sizeof(head), "stack %u [", stack->id);
	at = memmem(stackbuf, SBUF_TEXT_PAGES * STACKBUF_PAGE_SIZE, head, strlen(head));
	EXPECT(at && (at = strchr(at, '\n')) && !strncmp(at, "\n0x0\nf5+", 8));
	return true;
}

/* A pair's objects that were closed after @ns or longer */
static unsigned int nr_closed(unsigned int pair, u64 ns)
{
	const struct stackbuf_pair_stack *stack;
	unsigned int i, k, n, nr = 0;

	for (i = 1; i < STACKBUF_PAIR_PAGES; i++)
		for (k = 0; k < STACKBUF_PAGE_PAIR_STACKS; k++) {
			stack = &stackbuf_info.pair[i].stacks.stack[k];
			if (stackbuf_info.pair[i].page.kind == STACKBUF_PAIR_STACKS &&
			    stack->stack >> 32 == pair && stack->longest >= ns)
				for (n = 0; n < STACKBUF_PAIR_TIMES; n++)
					nr += stack->closed[n];
		}
	return nr;
}

/*
 * In a semaphore's slow path the waiter waits for the spinlock in it, which has the same address:
 * __down_common(), and __rt_mutex_slowlock() with its flag
 */
static bool waits_inside_of_waits(void)
{
	const struct stackbuf_probe begin = {
		.pair = 2, .role = STACKBUF_PAIR_OPENS, .value = SBUF_VALUE_WAIT,
	}, end = {
		.pair = 2, .role = STACKBUF_PAIR_CLOSES, .value = SBUF_VALUE_WAIT,
	};
	const struct stackbuf_pair *pair = &stackbuf_info.pair[0].pairs.pair[1];
	const unsigned long spins = 0x01, mutex = 0x20, key = 0x4000;
	u32 sleeper = save_path(3, 0), spinner;

	sbuf_pair_open(&begin, key, 0, sleeper);
	shim_clock_skew += 20 * NSEC_PER_MSEC;
	spinner = save_path(4, 0);
	EXPECT(sleeper && spinner && sleeper != spinner);
	sbuf_pair_open(&begin, key, spins, spinner);
	sbuf_pair_close(&end, key, 0, 0);
	EXPECT(nr_closed(2, 0) == 1 && !nr_closed(2, 20 * NSEC_PER_MSEC));
	sbuf_pair_close(&end, key, 0, 0);
	EXPECT(nr_closed(2, 0) == 2 && nr_closed(2, 20 * NSEC_PER_MSEC) == 1);
	/* A mutex begins again, by spinning, too */
	sbuf_pair_open(&begin, key, mutex, sleeper);
	sbuf_pair_open(&begin, key, mutex | spins, spinner);
	sbuf_pair_close(&end, key, 0, 0);
	EXPECT(nr_closed(2, 0) == 3);
	/* Nothing is left */
	sbuf_pair_close(&end, key, 0, 0);
	EXPECT(nr_closed(2, 0) == 3 && pair->unmatched == 1 && !pair->reopened && !pair->refused);
	/* A filter excludes the inner one, whose end is not told from the outer one's */
	sbuf_pair_open(&begin, key, spins, SBUF_NOT_ADMITTED);
	EXPECT(!pair->refused);
	sbuf_pair_open(&begin, key, 0, sleeper);
	sbuf_pair_open(&begin, key, spins, SBUF_NOT_ADMITTED);
	EXPECT(pair->refused == 1);
	sbuf_pair_close(&end, key, 0, 0);
	/* cpu= excludes a waiter that may go on waiting where it does not */
	stackbuf_info.filter.cpu = shim_cpu + 2;
	sbuf_pair_open(&begin, key, mutex, SBUF_NOT_ADMITTED);
	EXPECT(pair->refused == 2);
	/* Another filter excludes it anywhere */
	stackbuf_info.filter.cpu = shim_cpu + 1;
	sbuf_pair_open(&begin, key, mutex, SBUF_NOT_ADMITTED);
	stackbuf_info.filter.cpu = 0;
	EXPECT(pair->refused == 2);
	return true;
}

static sem_t done;

static void *run(void *unused)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	shim_cpu_starts(0, &task);
	shim_holds = true;
	sigaction(SIGTRAP, &act, NULL);
	number = 1;
	shim_run_nmi();
	save_path(5, 0);
	save_path(5, 0);
	result(tells_nmis_the_time, "NMIs inside a reading of the clock: both are right");
	result(renders_null, "a call through NULL is rendered");
	result(waits_inside_of_waits, "a wait for the spinlock in a semaphore, inside of a wait for it");
	nmi_saves = 0;
	nmi_recorded = 0;
	result(whole_at_every_instruction, "stopped at every instruction, memory is whole");
	result(nmi_at_instructions, "an NMI inside a save is recorded, and spoils nothing");
	result(nmi_while_a_page_is_closed, "an NMI at every instruction of closing a page");
	result(tears_no_page,
	       "a page that is rebuilt is no valid copy at any instruction of that");
	result(overwrites_no_newer_page, "a claim that comes late overwrites no newer page");
	result(at_once_in_a_new_page, "a return at once, in a page that is taken much later");
	result(evicts_large_stacks, "large stacks that fill the table to seven eighths are evicted");
	result(expires_walked_tasks, "a task is walked, leaves code that is freed: its stack expires");
	result(expires_when_the_next_comes,
	       "what was recorded of a module after it went expires without text when the next comes");
	result(expires_deepest, "the deepest stacks from code that has gone are marked, and forgotten");
	result(evicts_beside_a_lookalike,
	       "a frame that looks like a huge stack keeps nothing from being evicted");
	result(counts_down_by_what_is_recorded,
	       "a trigger's countdown and a limit count what is recorded");
	result(forgets_ids_of_the_last_lap, "ids wrap: recall forgets those that may be used again");
	shim_settle();
	shim_holds = false;
	sem_post(&done);
	shim_cpu_ends();
	return NULL;
}

/* With an argument: without what stops at instructions, as sanitizers make many of one */
int main(int argc, char **argv)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("SEED"))
		seed = strtoull(getenv("SEED"), NULL, 10) ?: seed;
	printf("# SEED=%llu\n", seed);
	shim_counts = true;
	recorded = calloc(PATHS, sizeof(*recorded));
	sem_init(&done, 0, 0);
	shim_init(1);
	shim_silent = true;
	result(finds_runs, "free runs of granules are the lowest ones, 200,000 bitmaps");
	result(allocates, "granules are allocated once, and a full table recovers");
	result(encodes, "frames near and far are decoded as they were encoded");
	result(decodes_anything, "any words are decoded without harm");
	result(splits_lists, "lists of probes, triggers and pairs are split");
	result(splits_many, "one probe too many is refused");
	result(parses_probes, "probes are parsed, and nonsense is refused");
	result(tells_returns_apart, "a clock that stands still: what returned later has a later time");
	result(tells_the_time, "cycles stand for the clock where they are steady");
	if (argc > 1) {
		puts("done");
		return failures != 0;
	}

	now = CHECK_ARRAYS;
	check_copy(&before, &now);
	task.stack = aligned_alloc(THREAD_SIZE, THREAD_SIZE);
	memset(task.stack, 0, THREAD_SIZE);
	task.group_leader = &task;
	shim_nmi = save_in_nmi;
	pthread_create(&thread, NULL, run, NULL);
	sem_wait(&done);
	shim_finish();
	pthread_join(thread, NULL);
	puts("done");
	return failures != 0;
}
