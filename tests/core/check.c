// SPDX-License-Identifier: GPL-2.0
/*
 * check.c - the second reader on arrays in memory; and what the tags of the storm's events say
 */
#define main sbcheck_main
#include "../guest/sbcheck.c"
#undef main

#include "check.h"
#include "paths.h"

/* As tests/guest/sbcheck.c reads them from kallsyms */
static void name_functions(void)
{
	static char name[PATH_FAR][8];
	int i;

	syms = grab(PATH_FAR * sizeof(*syms));
	for (i = 0; i < PATH_FAR; i++) {
		snprintf(name[i], sizeof(name[i]), "f%d", i);
		syms[i] = (struct sym) { .name = name[i], .addr = path_start(i) };
	}
	nr_syms = PATH_FAR;
	qsort(syms, nr_syms, sizeof(*syms), by_name);
}

static bool same_frames(const struct stack *s, uint32_t path)
{
	unsigned long pc[PATH_FRAMES_MAX];
	unsigned int nr = path_frames(path, pc);
	bool cut = nr > PATH_KEPT;

	if (cut)
		nr = PATH_KEPT;
	return s->nr == nr && cut == !!(s->flags & STACKBUF_STACK_CUT) &&
	       !memcmp(s->pc, pc, nr * sizeof(*pc));
}

/* What an event must be by its tag */
static void check_tag(const struct event *e)
{
	char comm[8];

	if (e->cpu != TAG_CPU(e->tag) || e->context != TAG_CONTEXT(e->tag) ||
	    e->pid != e->tgid || e->pid % 1000 / 10 != e->cpu)
		problem("tag %" PRIx64 ": cpu %u context %u pid %u/%u", e->tag, e->cpu, e->context,
			e->tgid, e->pid);
	snprintf(comm, sizeof(comm), "t%04u", e->pid);
	if (strncmp(e->comm, comm, 5))
		problem("tag %" PRIx64 ": pid %u comm %s", e->tag, e->pid, e->comm);
}

static void check_tags(const struct arrays *a, bool rest, const unsigned long long *recorded,
		       unsigned int paths)
{
	uint64_t *in_ring = grab(paths * sizeof(*in_ring)), last[16][4] = { 0 };
	struct table t;
	struct ring r;
	size_t i;

	parse_table(a, &t);
	parse_ring(a, &r, rest);
	for (i = 0; i < r.nr; i++) {
		const struct event *e = &r.event[i];
		struct stack *s = find_stack(&t, a, e->id);

		if (!e->tagged || e->writing)
			continue;
		check_tag(e);
		if (TAG_PATH(e->tag) >= paths) {
			problem("tag %" PRIx64 ": no such path", e->tag);
			continue;
		}
		in_ring[TAG_PATH(e->tag)]++;
		if (s && !same_frames(s, TAG_PATH(e->tag)))
			problem("tag %" PRIx64 " of path %u has stack %u, another one", e->tag,
				TAG_PATH(e->tag), s->id);
		/* An NMI may interrupt another between its tag and its event */
		if (e->context != STACKBUF_NMI && e->cpu < 16) {
			if (TAG_NUMBER(e->tag) <= last[e->cpu][e->context])
				problem("tag %" PRIx64 " comes after number %" PRIu64, e->tag,
					last[e->cpu][e->context]);
			last[e->cpu][e->context] = TAG_NUMBER(e->tag);
		}
	}
	if (rest) {
		uint64_t all = 0;

		for (i = 0; i < paths; i++) {
			all += recorded[i];
			if (in_ring[i] > recorded[i])
				problem("path %zu: %" PRIu64 " events in the ring of %" PRIu64, i,
					in_ring[i], (uint64_t)recorded[i]);
		}
		if (a->info->overwritten + r.nr != all)
			problem("overwritten %" PRIu64 " and %zu in the ring of %" PRIu64,
				(uint64_t)a->info->overwritten, r.nr, all);
	}
	free_table(&t);
	free(r.event);
	free(in_ring);
}

unsigned int check_arrays(const struct check_arrays *copy, bool rest,
			  const unsigned long long *recorded, unsigned int paths)
{
	struct arrays a = {
		copy->at[0], copy->at[1], copy->at[2], copy->at[3],
		copy->size[0], copy->size[1], copy->size[2], copy->size[3],
	};

	if (!nr_syms)
		name_functions();
	/* No tag and no PID of the storm is 0 */
	no_zeros = true;
	/* The host stops threads wherever they are */
	cpus_stop = true;
	check_all(&a, rest, false);
	check_tags(&a, rest, recorded, paths);
	return problems;
}

unsigned int check_live(const void *events, unsigned int pages)
{
	static struct stackbuf_events_page copy;
	unsigned int i;
	size_t n;

	no_zeros = true;
	for (i = 0; i < pages; i++) {
		const struct stackbuf_events_page *page =
			(const struct stackbuf_events_page *)events + i;
		uint64_t seq = __atomic_load_n(&page->page.seq, __ATOMIC_ACQUIRE);
		struct ring r = { 0 };

		memcpy(&copy, page, offsetof(struct stackbuf_events_page, word));
		/* In order: memcpy() may copy what follows a first word before that word */
		for (n = 0; n < STACKBUF_EVENT_WORDS; n++)
			copy.word[n] = __atomic_load_n(&page->word[n], __ATOMIC_ACQUIRE);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!seq || __atomic_load_n(&page->page.seq, __ATOMIC_RELAXED) != seq)
			continue;
		parse_events_page(&copy, &r);
		for (n = 0; n < r.nr; n++)
			if (r.event[n].tagged && !r.event[n].writing)
				check_tag(&r.event[n]);
		free(r.event);
	}
	return problems;
}
