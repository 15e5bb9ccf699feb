// SPDX-License-Identifier: GPL-2.0
/*
 * merged.c - records of many machines in one file
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "input/merged.h"

const char merged_kind[MERGED_KINDS][5] = {
	[MERGED_FRAMES] = "FRAM", [MERGED_STACKS] = "STAK", [MERGED_HOST] = "HOST",
	[MERGED_TOTALS] = "TOTL", [MERGED_TASKS] = "TASK", [MERGED_EVENTS] = "EVNT",
	[MERGED_END] = "DONE",
};

/* ---------------------------------------------------------------- pieces --- */

bool merged_number(struct merged_part *p, u64 *value)
{
	unsigned int shift;

	*value = 0;
	for (shift = 0; p->len && shift < 64; shift += 7) {
		u8 byte = *p->data++;

		p->len--;
		*value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool merged_total(const struct merged_host *h, struct merged_part *p, struct merged_total *t)
{
	u64 stack, origin;

	if (!merged_number(p, &stack) || !merged_number(p, &origin) ||
	    !merged_number(p, &t->count) || !merged_number(p, &t->in_ring) ||
	    stack >= h->stacks || origin > NAMES_NONE)
		return false;
	t->stack = stack;
	t->origin = origin;
	return true;
}

u64 merged_info_number(const struct merged_host *h, const char *key)
{
	const json_t *j = json_object_get(h->info, key);
	const char *text = json_string_value(j);

	/* Large numbers and times are strings */
	return text ? strtoull(text, NULL, 0) : (u64)json_integer_value(j);
}

const char *merged_info_text(const struct merged_host *h, const char *key)
{
	return json_string_value(json_object_get(h->info, key)) ?: "";
}

/* --------------------------------------------------------------- reading --- */

bool merged_is(const char *path)
{
	char head[sizeof(MERGED_MAGIC)] = "";
	struct stat st;
	bool is;
	int fd;

	/* Opening a FIFO would block, and a device is a dump's, if anything */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is = fd >= 0 && read_at(fd, head, sizeof(head) - 1, 0) == sizeof(head) - 1 &&
	     !strcmp(head, MERGED_MAGIC);
	if (fd >= 0)
		close(fd);
	return is;
}

/* Lines "BUILD NAME" */
static bool take_frames(struct merged *m, struct merged_part p)
{
	while (p.len) {
		const u8 *end = memchr(p.data, '\n', p.len), *blank = memchr(p.data, ' ', p.len);

		if (!end || !blank || blank >= end || m->frames == UINT32_MAX)
			return false;
		GROW(m->frame, m->frames, m->frame_room);
		m->frame[m->frames++] = (struct merged_part){ p.data, end - p.data };
		p.len -= end + 1 - p.data;
		p.data = end + 1;
	}
	return true;
}

static bool take_stacks(struct merged *m, struct merged_part p)
{
	u64 flags, nr, frame;

	while (p.len) {
		/* A frame takes a byte at least */
		if (!merged_number(&p, &flags) || !merged_number(&p, &nr) || nr > p.len ||
		    m->stacks == UINT32_MAX - 1)
			return false;
		GROW(m->stack, m->stacks, m->stack_room);
		m->stack[m->stacks++] = (struct merged_stack){ m->indices, nr, flags };
		for (; nr; nr--) {
			if (!merged_number(&p, &frame) || frame >= m->frames)
				return false;
			GROW(m->index, m->indices, m->index_room);
			m->index[m->indices++] = frame;
		}
	}
	return true;
}

static bool take_host(struct merged *m, struct merged_host *h)
{
	const struct merged_part *info = &h->part[MERGED_HOST];
	struct merged_part p = h->part[MERGED_TOTALS];
	struct merged_total t;

	h->info = json_loadb((const char *)info->data, info->len, 0, NULL);
	h->frames = m->frames;
	h->stacks = m->stacks;
	if (!h->info || !*merged_info_text(h, "host") || m->hosts == HOSTS_MAX)
		return false;
	while (p.len)
		if (!merged_total(h, &p, &t))
			return false;
	return true;
}

/* Take a block of kind @kind at @at.  Return what is wrong, or NULL */
static const char *take_block(const struct merged *m, size_t *at, enum merged_kind *kind,
			      struct merged_part *part)
{
	struct merged_block b;

	if (m->size - *at < sizeof(b))
		return "is cut: it lacks its last block";
	memcpy(&b, m->data + *at, sizeof(b));
	*at += sizeof(b);
	for (*kind = 0; *kind < MERGED_KINDS; (*kind)++)
		if (!memcmp(b.kind, merged_kind[*kind], sizeof(b.kind)))
			break;
	if (*kind == MERGED_KINDS)
		return "is damaged: a block is of no known kind";
	if (b.len > m->size - *at)
		return "is cut: it ends inside a block";
	*part = (struct merged_part){ m->data + *at, b.len };
	if (crc32_z(0, part->data, part->len) != b.crc)
		return "is damaged: the checksum of a block is wrong";
	*at += b.len;
	return NULL;
}

static const char *parse(struct merged *m)
{
	struct merged_host h = { 0 };
	enum merged_kind kind, next = 0;
	struct merged_part part;
	const char *wrong;
	size_t at = (u8 *)memchr(m->data, '\n', m->size) + 1 - m->data;
	bool good;
	u64 hosts;

	for (;;) {
		wrong = take_block(m, &at, &kind, &part);
		if (wrong)
			return wrong;
		if (kind != next && !(kind == MERGED_END && !next))
			return "is damaged: a block is missing";
		if (kind == MERGED_END)
			break;
		h.part[kind] = part;
		good = true;
		if (kind == MERGED_FRAMES)
			good = take_frames(m, part);
		else if (kind == MERGED_STACKS)
			good = take_stacks(m, part);
		if (kind == MERGED_EVENTS) {
			good = take_host(m, &h);
			GROW(m->host, m->hosts, m->host_room);
			m->host[m->hosts++] = h;
			memset(&h, 0, sizeof(h));
		}
		if (!good)
			return "is damaged: a block makes no sense";
		next = kind == MERGED_EVENTS ? 0 : kind + 1;
	}
	if (!merged_number(&part, &hosts) || hosts != m->hosts || at != m->size)
		return "is damaged: its last block does not fit the others";
	return NULL;
}

int merged_parse(struct merged *m, const char *name, const void *data, size_t size)
{
	const size_t magic = strlen(MERGED_MAGIC);
	const char *end, *wrong;
	char version[16];

	m->data = data;
	m->size = size;
	end = size > magic && !memcmp(data, MERGED_MAGIC, magic) ?
	      memchr((char *)data + magic, '\n', size - magic < 16 ? size - magic : 16) : NULL;
	if (!end)
		return failed(m, "%s: is not a merged file", name);
	snprintf(version, sizeof(version), "%.*s", (int)(end - (char *)data - magic),
		 (char *)data + magic);
	if (strtoul(version, NULL, 10) != MERGED_VERSION)
		return failed(m, "%s: version %s of merged files; this stackbuf knows version %d",
			      name, version, MERGED_VERSION);
	wrong = parse(m);
	return wrong ? failed(m, "%s: %s", name, wrong) : 0;
}

int merged_open(struct merged *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	void *data;

	memset(m, 0, sizeof(*m));
	if (fd < 0 || fstat(fd, &st)) {
		failed(m, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return failed(m, "%s: %s", path, strerror(errno));
	m->mapped = true;
	return merged_parse(m, path, data, st.st_size);
}

void merged_close(struct merged *m)
{
	size_t i;

	for (i = 0; i < m->hosts; i++)
		json_decref(m->host[i].info);
	free(m->host);
	free(m->frame);
	free(m->stack);
	free(m->index);
	if (m->mapped)
		munmap((void *)m->data, m->size);
	memset(m, 0, sizeof(*m));
}

/* --------------------------------------------------------------- a record --- */

/* Does a list as "web*,!web7" choose this name? */
static bool chosen(const char *list, const char *name)
{
	bool wants = false, found = false;
	char *copy, *word, *rest;

	if (!list)
		return true;
	copy = xstrdup(list);
	for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		bool excludes = *word == '!', fits;

		word += excludes;
		fits = !strcmp(word, name) || !fnmatch(word, name, 0);
		wants |= !excludes;
		if (fits && excludes) {
			free(copy);
			return false;
		}
		found |= fits;
	}
	free(copy);
	return found || !wants;
}

static void add_host(struct record *r, const struct merged_host *from, size_t number)
{
	u64 loaded = merged_info_number(from, "load_realtime_ns");
	u64 load = merged_info_number(from, "load_ns"), newest;
	char *name = printable(xstrdup(merged_info_text(from, "host")));
	struct host *h;

	r->host = xrealloc(r->host, r->hosts + 1, sizeof(*r->host));
	h = &r->host[r->hosts++];
	*h = (struct host){
		.name = name, .number = number,
		.release = printable(xstrdup(merged_info_text(from, "release"))),
		.version = printable(xstrdup(merged_info_text(from, "kernel_version"))),
		.instance = strtoull(merged_info_text(from, "instance"), NULL, 16),
		.boot = loaded > load ? loaded - load : 0,
	};
	newest = merged_info_number(from, "newest_ns") + h->boot;
	if (newest > r->newest)
		r->newest = newest;
	r->instance ^= h->instance;
	r->info.overwritten += merged_info_number(from, "events_overwritten");
	r->info.evicted += merged_info_number(from, "stacks_evicted");
	r->info.evicted_events += merged_info_number(from, "evicted_events");
}

/* What all hosts have in common is said of the record; @have_info: they are of one kernel */
static void common_kernel(struct record *r)
{
	u32 i;

	for (i = 1; i < r->hosts; i++)
		if (strcmp(r->host[i].release, r->host->release) ||
		    strcmp(r->host[i].version, r->host->version))
			return;
	r->have_info = *r->host->release;
	snprintf(r->info.release, sizeof(r->info.release), "%s", r->host->release);
	snprintf(r->info.kernel_version, sizeof(r->info.kernel_version), "%s", r->host->version);
}

static void name_stack(const struct merged *m, const struct merged_stack *from, struct stack *s)
{
	u32 i;

	s->named = from->nr;
	s->cut = from->flags & MERGED_CUT;
	s->gone = from->flags & MERGED_GONE;
	s->name_origin = NAMES_TEXT;
	s->name = xcalloc(from->nr + 1, sizeof(*s->name));
	for (i = 0; i < from->nr; i++) {
		const struct merged_part *f = &m->frame[m->index[from->first + i]];
		const u8 *name = (const u8 *)memchr(f->data, ' ', f->len) + 1;

		s->name[i] = printable(xasprintf("%.*s", (int)(f->data + f->len - name), name));
	}
}

static void add_totals(const struct merged *m, const struct merged_host *h, struct record *r)
{
	struct merged_part p = h->part[MERGED_TOTALS];
	u32 host = r->hosts - 1;
	struct host_total *on;
	struct merged_total t;
	struct stack *s;

	while (merged_total(h, &p, &t)) {
		s = stacks_get(&r->stacks, t.stack + 1);
		if (!s->name)
			name_stack(m, &m->stack[t.stack], s);
		if (t.origin > s->name_origin)
			s->name_origin = t.origin;
		if (!s->hosts || s->on[s->hosts - 1].host != host) {
			/* Double the room at powers of two */
			if (!(s->hosts & (s->hosts - 1)))
				s->on = xrealloc(s->on, s->hosts ? 2 * s->hosts : 1,
						 sizeof(*s->on));
			s->on[s->hosts++] = (struct host_total){ .host = host };
		}
		on = &s->on[s->hosts - 1];
		on->count += t.count;
		on->in_ring += t.in_ring;
		s->count += t.count;
		s->in_ring += t.in_ring;
	}
}

int merged_record(struct merged *m, const char *hosts, struct record *r)
{
	size_t i;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < m->hosts; i++) {
		if (!chosen(hosts, merged_info_text(&m->host[i], "host")))
			continue;
		add_host(r, &m->host[i], i);
		add_totals(m, &m->host[i], r);
	}
	if (!r->hosts && hosts)
		return failed(m, "--host %s chooses none of %zu hosts: stackbuf info lists them",
			      hosts, m->hosts);
	if (!r->hosts)
		return failed(m, "it holds no host");
	common_kernel(r);
	return 0;
}

/* ---------------------------------------------------------------- events --- */

struct task {
	u32 pid, tgid;
	char comm[STACKBUF_COMM_LEN];
};

/**
 * struct stream - the events of one host
 * @part: those that were not read yet
 * @stack: ids of the host's stacks
 * @task: the host's tasks
 * @event: the next one
 * @time: its time since boot
 * @tag: that of the last event that has one
 * @boot: as struct host has it
 * @host: which, in record.host
 */
struct stream {
	struct merged_part part;
	u32 *stack;
	size_t stacks, stack_room;
	struct task *task;
	size_t tasks, task_room;
	struct stackbuf_event event;
	u64 time, tag, boot;
	u32 host;
};

/**
 * struct merged_events - a heap of streams: that with the oldest event is the first
 * @stream: all streams
 * @heap: those that are not at their end
 * @nr: how many
 */
struct merged_events {
	struct stream *stream;
	struct stream **heap;
	size_t nr, streams;
};

static void read_tasks(struct stream *s, struct merged_part p)
{
	u64 pid, tgid, len;

	while (merged_number(&p, &pid) && merged_number(&p, &tgid) && merged_number(&p, &len) &&
	       len < STACKBUF_COMM_LEN && len <= p.len) {
		GROW(s->task, s->tasks, s->task_room);
		s->task[s->tasks] = (struct task){ .pid = pid, .tgid = tgid };
		memcpy(s->task[s->tasks++].comm, p.data, len);
		p.data += len;
		p.len -= len;
	}
}

/* Read the next event.  Return false at the end */
static bool advance(struct stream *s)
{
	struct stackbuf_event *e = &s->event;
	u64 word, ago, cpu, task;

	if (!merged_number(&s->part, &word) || !merged_number(&s->part, &ago) ||
	    !merged_number(&s->part, &cpu) || !merged_number(&s->part, &task) ||
	    word >> MERGED_STACK_SHIFT >= s->stacks || task >= s->tasks)
		return false;
	s->time += ago;
	memset(e, 0, sizeof(*e));
	e->time = s->boot + s->time;
	e->id = s->stack[word >> MERGED_STACK_SHIFT];
	e->context = word >> MERGED_CONTEXT_SHIFT & 3;
	e->tagged = word & MERGED_TAGGED;
	e->cpu = HOST_CPU(cpu) | s->host << HOST_SHIFT;
	e->pid = s->task[task].pid;
	e->tgid = s->task[task].tgid;
	memcpy(e->comm, s->task[task].comm, sizeof(e->comm));
	if (e->tagged && !merged_number(&s->part, &e->tag))
		return false;
	/* Tags are often addresses, near to each other */
	if (e->tagged)
		s->tag = e->tag ^= s->tag;
	return true;
}

static bool is_before(const struct stream *a, const struct stream *b)
{
	return a->event.time != b->event.time ? a->event.time < b->event.time : a->host < b->host;
}

/* Move the stream at @i down to its place */
static void sift(struct merged_events *all, size_t i)
{
	struct stream *s = all->heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < all->nr; i = child) {
		if (child + 1 < all->nr && is_before(all->heap[child + 1], all->heap[child]))
			child++;
		if (!is_before(all->heap[child], s))
			break;
		all->heap[i] = all->heap[child];
	}
	all->heap[i] = s;
}

struct merged_events *merged_events(const struct merged *m, const struct record *r)
{
	struct merged_events *all = xcalloc(1, sizeof(*all));
	struct merged_total t;
	size_t i;

	all->streams = r->hosts;
	all->stream = xcalloc(r->hosts, sizeof(*all->stream));
	all->heap = xcalloc(r->hosts, sizeof(*all->heap));
	for (i = 0; i < r->hosts; i++) {
		const struct merged_host *h = &m->host[r->host[i].number];
		struct merged_part totals = h->part[MERGED_TOTALS];
		struct stream *s = &all->stream[i];

		s->part = h->part[MERGED_EVENTS];
		s->boot = r->host[i].boot;
		s->host = i;
		while (merged_total(h, &totals, &t)) {
			GROW(s->stack, s->stacks, s->stack_room);
			s->stack[s->stacks++] = t.stack + 1;
		}
		read_tasks(s, h->part[MERGED_TASKS]);
		if (advance(s))
			all->heap[all->nr++] = s;
	}
	for (i = all->nr; i--; )
		sift(all, i);
	return all;
}

bool merged_next(struct merged_events *all, struct stackbuf_event *e)
{
	if (!all->nr)
		return false;
	*e = all->heap[0]->event;
	if (!advance(all->heap[0]))
		all->heap[0] = all->heap[--all->nr];
	if (all->nr)
		sift(all, 0);
	return true;
}

void merged_events_free(struct merged_events *all)
{
	size_t i;

	for (i = 0; i < all->streams; i++) {
		free(all->stream[i].stack);
		free(all->stream[i].task);
	}
	free(all->stream);
	free(all->heap);
	free(all);
}
