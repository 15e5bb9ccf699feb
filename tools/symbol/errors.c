// SPDX-License-Identifier: GPL-2.0
/*
 * errors.c - finds the function that first returned an error, and the callers that passed it on
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record/filter.h"
#include "symbol/errors.h"

/* ---------------------------------------------------------- numbers and names --- */

/*
 * Codes only used in the kernel (include/linux/errno.h), and its names for numbers with two names
 */
static const struct {
	unsigned int error;
	const char *name;
	bool usual;
} kernel_error[] = {
	{ 512, "ERESTARTSYS", true }, { 513, "ERESTARTNOINTR", true },
	{ 514, "ERESTARTNOHAND", true }, { 515, "ENOIOCTLCMD", true },
	{ 516, "ERESTART_RESTARTBLOCK", true }, { 517, "EPROBE_DEFER", true },
	{ 518, "EOPENSTALE", false }, { 519, "ENOPARAM", true }, { 521, "EBADHANDLE", false },
	{ 522, "ENOTSYNC", false }, { 523, "EBADCOOKIE", false }, { 524, "ENOTSUPP", false },
	{ 525, "ETOOSMALL", false }, { 526, "ESERVERFAULT", false }, { 527, "EBADTYPE", false },
	{ 528, "EJUKEBOX", false }, { 529, "EIOCBQUEUED", true }, { 530, "ERECALLCONFLICT", false },
	{ 531, "ENOGRACE", false },
	{ EAGAIN, "EAGAIN", true }, { EAGAIN, "EWOULDBLOCK", true },
	{ EINPROGRESS, "EINPROGRESS", true }, { EUCLEAN, "EFSCORRUPTED", false },
	{ EBADMSG, "EFSBADCRC", false }, { EOPNOTSUPP, "ENOTSUP", false },
	{ EDEADLK, "EDEADLOCK", false },
};

/* Without the "-"; NULL: unknown */
static const char *name_of(unsigned int error)
{
	const char *name = strerrorname_np(error);
	size_t i;

	for (i = 0; !name && i < ARRAY_SIZE(kernel_error); i++)
		if (kernel_error[i].error == error)
			name = kernel_error[i].name;
	return name;
}

const char *error_name(unsigned int error)
{
	static char *text[ERROR_MAX + 1];
	const char *name = name_of(error);

	if (!error || error > ERROR_MAX)
		return "NULL";
	if (!text[error])
		text[error] = name ? xasprintf("-%s", name) : xasprintf("-%u", error);
	return text[error];
}

bool error_is_usual(unsigned int error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel_error); i++)
		if (kernel_error[i].error == error)
			return kernel_error[i].usual;
	return false;
}

static bool parse_error(const char *text, size_t len, unsigned int *error)
{
	char word[32];
	const char *end, *name;
	unsigned int i;
	u64 number;

	if (len && *text == '-') {
		text++;
		len--;
	}
	if (!len || len >= sizeof(word))
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	if (value_number(word, &end, ERROR_MAX, &number)) {
		*error = number;
		return !*end && number;
	}
	for (i = 0; i < ARRAY_SIZE(kernel_error); i++)
		if (!strcmp(word, kernel_error[i].name)) {
			*error = kernel_error[i].error;
			return true;
		}
	if (!strcmp(word, "NULL")) {
		*error = 0;
		return true;
	}
	for (i = 1; i <= ERROR_MAX; i++) {
		name = name_of(i);
		if (name && !strcmp(word, name)) {
			*error = i;
			return true;
		}
	}
	return false;
}

const char *error_set_add(void *set, const char *list)
{
	struct error_set *s = set;
	unsigned int error;
	size_t len;

	s->some = true;
	if (!strcmp(list, "all")) {
		memset(s->has, 1, sizeof(s->has));
		return NULL;
	}
	do {
		len = strcspn(list, ",");
		if (!parse_error(list, len, &error))
			return "errors by name or number, as EINVAL,ENOMEM, or all";
		s->has[error] = 1;
		list += len;
	} while (*list++);
	return NULL;
}

/* ----------------------------------------------------------------- stacks --- */

#define RETURN_NULL	"%return@null"

/* Kind of an event, by its stack */
enum kind {
	KIND_GONE,	/* its frames are unknown so far */
	KIND_OTHER,	/* no return that a probe records for an error */
	KIND_UNSET,	/* no probe is set there now: it may have been removed */
	KIND_UNNAMED,	/* the function has no name here, and may have such a probe */
	KIND_CANNOT_FAIL,
	KIND_ERROR,
	KIND_NULL,	/* an error, including NULL */
};

struct error_stack {
	u8 kind;
	bool unsure;	/* an event may also be of a call */
};

void errors_add_probe(struct patterns *p, const struct stackbuf_probe *probe)
{
	bool by_address = !strncmp(probe->name, "0x", 2);
	size_t len = strcspn(probe->name, "%@+");
	const char *colon = memchr(probe->name, ':', len);
	size_t module = colon ? colon - probe->name : 0;
	struct pattern *one;

	GROW(p->pattern, p->nr);
	one = &p->pattern[p->nr++];
	*one = (struct pattern){
		.kind = strpbrk(probe->name, "*?[") ? PATTERN_GLOB : PATTERN_NAME,
		.module = colon ? xasprintf("%.*s", (int)module, probe->name) : NULL,
		.function = xasprintf("%.*s", (int)(len - module - !!colon),
				      probe->name + module + !!colon),
		.addr = by_address ? probe->addr : 0,
		.tag = probe->tag == STACKBUF_PROBE_NULL ? RETURN_NULL : "",
	};
}

void errors_probes(struct errors *e, const struct record *r, bool wanted)
{
	struct stackbuf_probe probe;
	unsigned int i;

	for (i = 0; probe_next(r, &i, &probe); ) {
		if (probe.role == STACKBUF_PAIR_CLOSES || !probe.tag ||
		    probe.way == STACKBUF_PROBE_BY_TRACEPOINT)
			continue;
		if (probe.way != STACKBUF_PROBE_BY_RETURN)
			errors_add_probe(&e->others, &probe);
		else if (wanted && !probe.pair && (probe.tag == STACKBUF_PROBE_ERROR ||
				    probe.tag == STACKBUF_PROBE_NULL))
			errors_add_probe(&e->returns, &probe);
		else
			errors_add_probe(&e->also, &probe);
	}
}

/* Highest offset of a probe on a function: after endbr64, or bti and ftrace's instructions */
#define ENTRY_MAX	8

/*
 * Return true if the stack begins with a probe at a function's entry: the event is about a whole
 * call
 */
static bool is_of_call(const struct stack *s)
{
	return s->origin == STACKBUF_AT_PROBE && s->named && s->frame[0].name_len &&
	       s->frame[0].offset <= ENTRY_MAX;
}

/* Return true if probes record errors of the function.  *@null: NULL counts as an error */
static bool has_probe(const struct patterns *p, const struct frame *function, bool *null)
{
	bool any = false;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		const struct patterns one = { .pattern = &p->pattern[i], .nr = 1 };

		if (!patterns_match_frame(&one, function))
			continue;
		any = true;
		*null |= !strcmp(one.pattern->tag, RETURN_NULL);
	}
	return any;
}

static void learn(struct errors *e, const struct stack *s, struct error_stack *known)
{
	const struct frame *f = s->frame;
	bool null = false;

	known->kind = KIND_OTHER;
	if (s->origin == STACKBUF_AT_PROBE && !(s->named && f->name_len)) {
		known->kind = has_probe(&e->returns, f, &null) ? KIND_ERROR : KIND_UNNAMED;
		return;
	}
	if (!is_of_call(s))
		return;
	known->unsure = patterns_match_frame(&e->others, f);
	if (!has_probe(&e->returns, f, &null))
		known->kind = known->unsure || has_probe(&e->also, f, &null) ?
			      KIND_OTHER : KIND_UNSET;
	else if (e->can_fail && !e->can_fail(e->arg, f))
		known->kind = KIND_CANNOT_FAIL;
	else
		known->kind = null ? KIND_NULL : KIND_ERROR;
}

/* Get the data of a stack.  Copy stacks of errors, as the record may forget its own */
static const struct error_stack *known_of(struct errors *e, struct stack **stack)
{
	struct stack *entry = stacks_get(&e->stacks, (*stack)->id);
	struct error_stack *known;

	symbols_name(e->symbols, *stack);
	if (entry->place == e->known_nr) {
		GROW(e->known, e->known_nr);
		e->known[e->known_nr++] = (struct error_stack){ .kind = KIND_GONE };
	}
	known = &e->known[entry->place];
	if (known->kind == KIND_GONE && (*stack)->nr)
		learn(e, *stack, known);
	if (known->kind == KIND_ERROR || known->kind == KIND_NULL)
		*stack = stack_keep(&e->stacks, *stack);
	return known;
}

/* ----------------------------------------------------------------- paths --- */

/* A task, or an interrupt context of a CPU, with the errors that its callers may still return */
struct error_task {
	u64 key;
	struct error_path *open;	/* one per error, the oldest first */
	size_t nr;
};

static int task_order(const void *a, const void *b)
{
	const struct error_task *x = a, *y = b;

	return compare_u64(x->key, y->key);
}

/* Idle tasks all have PID 0, and an interrupt is not part of its task */
static struct error_task *task_of(struct errors *e, const struct stackbuf_event *event)
{
	struct error_task key = { .key = event->pid }, *copy, **found;

	if (event->context || !event->pid)
		key.key = 1ULL << 63 | (u64)event->context << 32 | event->cpu;
	if (e->last && e->last->key == key.key)
		return e->last;
	found = tfind(&key, &e->tasks, task_order);
	if (found) {
		e->last = *found;
		return *found;
	}
	copy = xcalloc(1, sizeof(*copy));
	*copy = key;
	if (!tsearch(copy, &e->tasks, task_order))
		die(1, "out of memory");
	e->last = copy;
	return copy;
}

/* Length of a function's name without the suffix of its unlikely part */
static size_t whole_name(const struct frame *f)
{
	const char *cold = memmem(f->name, f->name_len, ".cold", 5);

	return cold ? (size_t)(cold - f->name) : f->name_len;
}

static bool same_function(const struct frame *a, const struct frame *b)
{
	size_t x, y;

	if (!a->name_len || !b->name_len)
		return false;
	if (a->addr - a->offset == b->addr - b->offset)
		return true;
	x = whole_name(a);
	y = whole_name(b);
	/* Different functions may have the same name */
	return (x < a->name_len || y < b->name_len) && x == y && !memcmp(a->name, b->name, x) &&
	       a->module_len == b->module_len && !memcmp(a->module, b->module, a->module_len);
}

/* Return true if @s, whose function returns, is the stack of the caller at frame @k of the path */
static bool is_caller(const struct error_path *p, const struct stack *s, unsigned int k)
{
	const struct stack *deep = p->stack;
	unsigned int i;

	if (s->nr < deep->nr - k || !same_function(&deep->frame[k], &s->frame[0]))
		return false;
	for (i = 1; k + i < deep->nr; i++)
		if (deep->addr[k + i] != s->addr[i])
			return false;
	return true;
}

/* A task does not return more errors at once: drop the oldest as handled */
#define OPEN_MAX	32

/* A caller returns an error within this time, ns; later errors are of another call */
#define PASSED_WITHIN	NSEC_PER_SEC

/*
 * Return true if the function returned at the same time as the last one of the path: it tail-called
 * that one and has no frame, or it is the same function, recorded by another probe.
 */
static bool returns_with(const struct error_path *p, const struct stackbuf_event *event,
			 const struct stack *s)
{
	const struct stack *deep = p->stack;
	unsigned int i;

	if (event->time != p->last || (!deep->cut && s->nr != deep->nr - p->at))
		return false;
	for (i = 1; p->at + i < deep->nr && i < s->nr; i++)
		if (deep->addr[p->at + i] != s->addr[i])
			return false;
	return true;
}

/* Return true if the event with this stack passes on the error of the path */
static bool passes_on(struct error_path *p, const struct stackbuf_event *event,
		      const struct stack *s)
{
	unsigned int k = p->from, end = p->stack->nr;

	if (returns_with(p, event, s))
		return true;
	if (event->time - p->last > PASSED_WITHIN)
		return false;
	if (!p->stack->cut) {
		/* Both have the same outermost frame: only one position fits */
		if (s->nr + k > end)
			return false;
		k = end - s->nr;
		end = k + 1;
	} else {
		/* The shorter of two cut traces reaches further out; they must overlap */
		end--;
	}
	for (; k < end; k++) {
		if (!is_caller(p, s, k))
			continue;
		p->returned[k / 64] |= 1ULL << (k % 64);
		p->at = k;
		p->from = k + 1;
		p->last = event->time;
		return true;
	}
	return false;
}

/*
 * The task was at @s, so functions that it has left cannot return the error any more.  A caller is
 * left if the stack has another call in its place.  Return true if any caller remains.
 */
static bool stays_open(struct error_path *p, const struct stack *s)
{
	const struct stack *deep = p->stack;
	unsigned int i = deep->nr, j = s->nr;

	if (deep->cut || s->cut || !j)
		return false;
	while (i && j && deep->addr[i - 1] == s->addr[j - 1]) {
		i--;
		j--;
	}
	/* Frame i - 1 is the outermost that differs: within the same call, or another one? */
	if (i && (!j || (j == 1 && is_of_call(s)) ||
		  !same_function(&deep->frame[i - 1], &s->frame[j - 1])))
		i++;
	if (i && p->from < i - 1)
		p->from = i - 1;
	return p->from < deep->nr;
}

static void begin(struct error_task *t, const struct stackbuf_event *event, struct stack *s,
		  unsigned int error)
{
	/* Most tasks have one or two errors, and there may be many tasks */
	t->open = xrealloc(t->open, t->nr + 1, sizeof(*t->open));
	t->open[t->nr++] = (struct error_path){
		.stack = s, .error = error, .returned = { 1 }, .from = 1, .event = *event,
		.last = event->time, .count = 1,
	};
}

/* Return true if the PID was reused for another task, or the task runs another program */
static bool is_other_task(const struct error_path *p, const struct stackbuf_event *event)
{
	return p->event.tgid != event->tgid ||
	       memcmp(p->event.comm, event->comm, STACKBUF_COMM_LEN);
}

/* Return true if the event is a returned error */
static bool is_error(struct errors *e, const struct stackbuf_event *event,
		     const struct error_stack *known)
{
	bool error = event->tagged && -event->tag - 1 < ERROR_MAX;

	switch (known->kind) {
	case KIND_NULL:
		error |= event->tagged && !event->tag;
		break;
	case KIND_ERROR:
		break;
	case KIND_CANNOT_FAIL:
		e->cannot_fail += error;
		return false;
	case KIND_UNSET:
		e->unset += error;
		return false;
	case KIND_UNNAMED:
		e->unnamed += error;
		return false;
	default:
		return false;
	}
	e->unsure += error && known->unsure;
	return error;
}

void errors_event(struct errors *e, const struct stackbuf_event *event, struct stack *stack)
{
	struct error_task *t = task_of(e, event);
	const struct error_stack *known = known_of(e, &stack);
	unsigned int number = -event->tag;
	bool error, stays, passed = false;
	size_t i, n = 0;

	e->gone += known->kind == KIND_GONE;
	error = is_error(e, event, known);
	for (i = 0; i < t->nr; i++) {
		struct error_path *p = &t->open[i];

		/* A path that begins ends the previous one: later events could be of either */
		if (error && p->error == number) {
			passed = !is_other_task(p, event) && passes_on(p, event, stack);
			stays = passed;
		} else {
			stays = !is_other_task(p, event) && stays_open(p, stack);
		}
		if (stays)
			t->open[n++] = *p;
		else
			e->done(e->arg, p);
	}
	t->nr = n;
	if (!error || passed)
		return;
	if (n == OPEN_MAX) {
		e->done(e->arg, &t->open[0]);
		memmove(t->open, t->open + 1, --t->nr * sizeof(*t->open));
	}
	begin(t, event, stack, number);
}

static void end_task(const void *node, VISIT visit, void *arg)
{
	struct error_task *t = *(struct error_task *const *)node;
	struct errors *e = arg;
	size_t i;

	if (visit != postorder && visit != leaf)
		return;
	for (i = 0; i < t->nr; i++)
		e->done(e->arg, &t->open[i]);
	t->nr = 0;
	free(t->open);
	t->open = NULL;
}

void errors_end(struct errors *e)
{
	twalk_r(e->tasks, end_task, e);
	tdestroy(e->tasks, free);
	e->tasks = NULL;
	e->last = NULL;
}

void errors_free(struct errors *e)
{
	patterns_free(&e->returns);
	patterns_free(&e->also);
	patterns_free(&e->others);
	stacks_empty(&e->stacks);
	free(e->known);
}

static int path_order(const void *a, const void *b)
{
	const struct error_path *x = a, *y = b;

	unsigned int i;
	int c;

	c = compare_u64(x->error, y->error) ?: compare_u64(x->returned[0], y->returned[0]) ?:
		compare_u64(x->returned[1], y->returned[1]) ?:
		(x->stack == y->stack ? 0 : stack_order(x->stack, y->stack));
	/* One may be of code that was loaded at these addresses before */
	for (i = 0; !c && x->stack != y->stack && i < x->stack->nr; i++)
		c = strcmp(x->stack->frame[i].text, y->stack->frame[i].text);
	return c;
}

size_t error_paths_merge(struct error_path *path, size_t nr)
{
	size_t i, n = 0;

	sort(path, nr, sizeof(*path), path_order);
	for (i = 0; i < nr; i++) {
		if (!n || path_order(&path[n - 1], &path[i])) {
			path[n++] = path[i];
			continue;
		}
		path[n - 1].count += path[i].count;
		if (path[i].event.time < path[n - 1].event.time)
			path[n - 1].event = path[i].event;
		if (path[i].last > path[n - 1].last)
			path[n - 1].last = path[i].last;
	}
	return n;
}
