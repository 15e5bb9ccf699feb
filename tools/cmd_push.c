// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_push.c - "push": what was recorded since the last push, to a Pyroscope server
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cmd.h"
#include "live/interrupt.h"
#include "output/pprof.h"
#include "push/http.h"

#define PUSH_NAME	"stackbuf"
#define PUSH_SPOOL	(64ULL << 20)
#define PUSH_TIMEOUT	(30 * NSEC_PER_SEC)

/**
 * struct pusher - the command
 * @args: its options
 * @name: the application's name
 * @server: where to send
 * @spool: the folder, if @spooled
 * @spooled: there is one
 * @state: what was pushed
 * @failed: not all that was to be pushed last was taken
 */
struct pusher {
	struct args *args;
	const char *name;
	struct server server;
	struct spool spool;
	bool spooled;
	struct push_state state;
	bool failed;
};

static u64 now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* ------------------------------------------------------------ what to send --- */

/* ns since 1970, on the clock of events */
static u64 to_events(const struct stackbuf_info *info, u64 realtime)
{
	return realtime - info->load_realtime_ns + info->load_ns;
}

/* The time up to which the record reaches, ns since 1970 */
static u64 reaches(const struct session *s)
{
	const struct record *r = &s->record;
	u64 last = r->info.load_ns;

	if (s->source.live)
		return now(CLOCK_REALTIME);
	if (r->events && r->event[r->events - 1].time > last)
		last = r->event[r->events - 1].time;
	if (r->info.stop_ns > last)
		last = r->info.stop_ns;
	return last - r->info.load_ns + r->info.load_realtime_ns;
}

/* Read the profile that was written into a file without a name */
static void read_profile(struct push *p, FILE *f)
{
	struct stat st;

	if (fstat(fileno(f), &st))
		die(1, "cannot read the profile: %m");
	p->size = st.st_size;
	p->body = xcalloc(p->size + 1, 1);
	if (read_at(fileno(f), p->body, p->size, 0) != (ssize_t)p->size)
		die(1, "cannot read the profile: %m");
}

static void make_push(struct pusher *w, struct session *s, const struct delta *d, struct push *p)
{
	const struct stackbuf_info *info = &s->record.info;
	struct output o = { .record = &s->record, .symbols = &s->symbols,
			    .format = FORMAT_PPROF };
	bool same = w->state.instance == s->record.instance;
	u64 from = same ? w->state.until : info->load_realtime_ns, until = d->next.until;
	int fd = memfd_create("profile", MFD_CLOEXEC);

	o.file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!o.file)
		die(1, "cannot make a profile: %m");
	if (pprof_write_sent(&o, d->total, d->nr, to_events(info, from),
			     to_events(info, until)))
		die(1, "cannot make a profile: %m");
	memset(p, 0, sizeof(*p));
	read_profile(p, o.file);
	fclose(o.file);
	p->sequence = d->next.sequence;
	p->events = d->events;
	p->key = xasprintf("%016llx-%llu-%llu", s->record.instance, from, until);
	/* Seconds, and never none */
	p->query = server_query(w->name, from / NSEC_PER_SEC, until / NSEC_PER_SEC + 1);
}

/* ---------------------------------------------------------------- sending --- */

/*
 * Send what waits, oldest first, up to the first that the server does not take.  Return false if
 * there is one.
 */
static bool flush(struct pusher *w)
{
	enum sent sent = SENT;
	struct push p;
	bool again;
	size_t n;
	int ret;

	while (sent != SENT_NOT && sent != SENT_UNKNOWN) {
		ret = spool_first(&w->spool, &p);
		if (ret > 0)
			return true;
		if (ret < 0)
			die(1, "%s", w->spool.error);
		if (p.again)
			report("%s: a push that was not answered is sent again: the server may have it twice (%llu events)",
			       w->server.url, p.events);
		again = p.again;
		if (spool_mark_again(&w->spool, &p))
			die(1, "%s", w->spool.error);
		sent = server_push(&w->server, &p);
		if (sent == SENT)
			ret = spool_remove(&w->spool, &p);
		else if (sent == SENT_REFUSED)
			ret = spool_put_aside(&w->spool, &p);
		else if (sent == SENT_NOT && !again)
			ret = spool_unmark_again(&w->spool, &p);
		if (sent == SENT_REFUSED)
			report("%s: the profile is put aside, in %s", w->server.error,
			       w->spool.dir);
		push_free(&p);
		if (ret)
			die(1, "%s", w->spool.error);
		w->failed |= sent != SENT;
	}
	n = spool_waiting(&w->spool);
	report("%s: %zu profile%s kept in %s%s", w->server.error, n, n == 1 ? " is" : "s are",
	       w->spool.dir, sent == SENT_UNKNOWN ? "; the oldest may have arrived" : "");
	return false;
}

/* Without a spool, what the server does not take is in the next push */
static void send_now(struct pusher *w, const struct push *p, struct delta *d)
{
	enum sent sent = server_push(&w->server, p);

	w->failed = sent != SENT;
	if (w->failed) {
		report("%s: %llu events are not pushed%s", w->server.error, p->events,
		       sent == SENT_UNKNOWN ? ", or may have arrived without an answer" : "");
		return;
	}
	free(w->state.stack);
	w->state = d->next;
	d->next.stack = NULL;
}

static void store(struct pusher *w, const struct push *p, struct delta *d)
{
	if (spool_add(&w->spool, p, &d->next))
		die(1, "%s", w->spool.error);
	free(w->state.stack);
	w->state = d->next;
	d->next.stack = NULL;
}

/* Read the record, and push what is new */
static void push_once(struct pusher *w)
{
	struct session *s = xcalloc(1, sizeof(*s));
	struct delta d;
	struct push p;
	u64 evicted, until;

	session_open(s, w->args);
	/* Before the stacks: one that is evicted in between is counted later, not twice */
	if (s->source.ops->read)
		session_load_info(s);
	evicted = s->record.info.evicted_events;
	session_load(s, w->args);
	session_load_steady(s, w->args);
	session_need_info(s);
	if (!s->source.live)
		session_report_missing(s);
	if (!s->source.ops->read)
		evicted = s->record.info.evicted_events;
	symbols_init(&s->symbols, &s->record, s->source.kallsyms);
	if (w->state.instance && w->state.instance != s->record.instance)
		report("the module was loaded again since the last push: what it recorded in between is not known");
	until = reaches(s);
	if (w->state.instance == s->record.instance && until < w->state.until)
		until = w->state.until;
	delta_make(&d, &w->state, &s->record, evicted, until);
	if (d.evicted)
		report("%llu events of stacks that were evicted since are pushed as one stack",
		       d.evicted);
	if (d.events) {
		make_push(w, s, &d, &p);
		if (w->spooled)
			store(w, &p, &d);
		else
			send_now(w, &p, &d);
		push_free(&p);
	} else if (!w->args->interval) {
		report("%s: nothing was recorded since the last push", s->source.name);
	}
	delta_free(&d);
	session_close(s);
	free(s);
}

static void push_all(struct pusher *w)
{
	bool taken;

	w->failed = false;
	/* First what waits: the module may be gone */
	taken = !w->spooled || flush(w);
	push_once(w);
	if (w->spooled && taken)
		flush(w);
}

/* -------------------------------------------------------------------- time --- */

/* Signals arrive while it waits, and at no other time: a push is not cut */
static void wait_until(u64 time, const sigset_t *mask)
{
	struct timespec t;
	u64 left;

	while (!interrupted && now(CLOCK_MONOTONIC) < time) {
		left = time - now(CLOCK_MONOTONIC);
		if ((s64)left <= 0)
			break;
		t.tv_sec = left / NSEC_PER_SEC;
		t.tv_nsec = left % NSEC_PER_SEC;
		ppoll(NULL, 0, &t, mask);
	}
}

static void push_repeatedly(struct pusher *w)
{
	const struct args *a = w->args;
	u64 next = now(CLOCK_MONOTONIC), n;
	sigset_t block, mask;
	bool last;

	interrupt_catch(SA_RESTART);
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &mask);
	for (n = 1; ; n++) {
		last = interrupted || n == a->number;
		push_all(w);
		if (last)
			break;
		next += a->interval;
		if (next < now(CLOCK_MONOTONIC))
			next = now(CLOCK_MONOTONIC);
		wait_until(next, &mask);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void cmd_push(struct args *a)
{
	struct pusher w = { .args = a, .name = a->name ?: PUSH_NAME,
			    .server = { .ca = a->ca, .timeout = a->timeout ?: PUSH_TIMEOUT } };

	if (!*w.name)
		die(EXIT_USAGE, "--name: must not be empty");
	/* libcurl leaves that to the program: a write to a server that is gone must fail */
	signal(SIGPIPE, SIG_IGN);
	if (server_init(&w.server, a->url, a->token_file))
		die(EXIT_USAGE, "%s", w.server.error);
	w.spooled = a->spool;
	if (w.spooled && spool_open(&w.spool, a->spool, a->spool_size ?: PUSH_SPOOL, &w.state))
		die(1, "%s", w.spool.error);
	if (a->interval)
		push_repeatedly(&w);
	else
		push_all(&w);
	if (w.spooled)
		spool_close(&w.spool);
	free(w.state.stack);
	server_free(&w.server);
	if (w.failed)
		exit(1);
}
