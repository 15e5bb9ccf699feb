// SPDX-License-Identifier: GPL-2.0
/*
 * spool.c - pushes that were not sent yet, and what was pushed before, in a folder
 *
 *   push.state          what was pushed, in text: see write_state()
 *   NUMBER.new          a push that does not count before the state has its number
 *   NUMBER.push         a push to be sent
 *   NUMBER.again        the same; it was sent, or is being sent, and no answer came
 *   NUMBER.refused      the server will not take it: kept for the administrator
 *
 * A push begins with a line of text: "stackbuf-push 1 EVENTS KEY QUERY".  The state is what
 * commits: before it is in place the push is not, and after a stop in between it is removed or
 * renamed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output/outfile.h"
#include "push/spool.h"

#define DIGITS	20
#define STATE	"push.state"

void push_free(struct push *p)
{
	free(p->key);
	free(p->query);
	free(p->body);
	memset(p, 0, sizeof(*p));
}

static char *path_of(const struct spool *s, u64 sequence, const char *kind)
{
	return xasprintf("%s/%0*llu.%s", s->dir, DIGITS, sequence, kind);
}

/* ------------------------------------------------------------------ list --- */

struct entry {
	u64 sequence;
	u64 size;
	char kind[8];
};

/* The rest of a name that outfile.c gives to what is not complete */
static bool is_unfinished(const char *rest)
{
	static const char any[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	return *rest == '.' && strlen(rest) == 7 && strspn(rest + 1, any) == 6;
}

static int by_sequence(const void *a, const void *b)
{
	return compare_u64(((const struct entry *)a)->sequence,
			   ((const struct entry *)b)->sequence);
}

/* The pushes in the folder, oldest first, to be freed; files that are left of a stop go */
static int list(struct spool *s, struct entry **entries, size_t *nr)
{
	struct entry *all = NULL, one;
	size_t room = 0;
	struct dirent *d;
	struct stat st;
	char rest[16];
	DIR *dir;

	*nr = 0;
	dir = opendir(s->dir);
	if (!dir)
		return failed(s, "--spool %s: cannot be read: %m", s->dir);
	while ((d = readdir(dir))) {
		/* The command was killed as it wrote: nothing refers to it */
		if ((!strncmp(d->d_name, STATE, strlen(STATE)) &&
		     is_unfinished(d->d_name + strlen(STATE))) ||
		    (strspn(d->d_name, "0123456789") == DIGITS &&
		     !strncmp(d->d_name + DIGITS, ".new", 4) &&
		     is_unfinished(d->d_name + DIGITS + 4))) {
			unlinkat(dirfd(dir), d->d_name, 0);
			continue;
		}
		*rest = '\0';
		if (strspn(d->d_name, "0123456789") != DIGITS ||
		    sscanf(d->d_name, "%llu.%7[a-z]%8s", &one.sequence, one.kind, rest) != 2 ||
		    (strcmp(one.kind, "new") && strcmp(one.kind, "push") &&
		     strcmp(one.kind, "again") && strcmp(one.kind, "refused")))
			continue;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		one.size = st.st_size;
		GROW(all, *nr, room);
		all[(*nr)++] = one;
	}
	closedir(dir);
	if (*nr)
		qsort(all, *nr, sizeof(*all), by_sequence);
	*entries = all;
	return 0;
}

static bool waits(const struct entry *e)
{
	return !strcmp(e->kind, "push") || !strcmp(e->kind, "again");
}

size_t spool_waiting(struct spool *s)
{
	struct entry *e;
	size_t nr, i, n = 0;

	if (list(s, &e, &nr))
		return 0;
	for (i = 0; i < nr; i++)
		n += waits(&e[i]);
	free(e);
	return n;
}

/* ----------------------------------------------------------------- state --- */

static void write_state(FILE *f, const struct push_state *state)
{
	size_t i;

	fprintf(f, "stackbuf-push-state 1\ninstance %016llx\nuntil %llu\nevicted %llu\n",
		state->instance, state->until, state->evicted);
	fprintf(f, "pending %lld\nsequence %llu\ndropped %llu %llu\n", state->pending,
		state->sequence, state->dropped, state->dropped_events);
	for (i = 0; i < state->nr; i++)
		fprintf(f, "stack %u %llu\n", state->stack[i].id, state->stack[i].events);
	fputs("end\n", f);
}

static int save_state(struct spool *s, const struct push_state *state)
{
	char *path = xasprintf("%s/" STATE, s->dir);
	struct outfile out;
	int ret;

	ret = outfile_open(&out, path, 0600);
	if (!ret) {
		write_state(out.file, state);
		ret = outfile_close(&out, ferror(out.file));
	}
	if (ret)
		failed(s, "--spool %s: cannot be written: %m", s->dir);
	free(path);
	return ret;
}

/* Parse the text of a state.  Return false if it is not whole */
static bool parse_state(FILE *f, struct push_state *state)
{
	struct pushed one;
	char end[8];
	int version;

	if (fscanf(f, "stackbuf-push-state %d\ninstance %llx\nuntil %llu\nevicted %llu\n",
		   &version, &state->instance, &state->until, &state->evicted) != 4 ||
	    version != 1 ||
	    fscanf(f, "pending %lld\nsequence %llu\ndropped %llu %llu\n", &state->pending,
		   &state->sequence, &state->dropped, &state->dropped_events) != 4)
		return false;
	while (fscanf(f, "stack %u %llu\n", &one.id, &one.events) == 2) {
		if (state->nr && one.id <= state->stack[state->nr - 1].id)
			return false;
		GROW(state->stack, state->nr, state->room);
		state->stack[state->nr++] = one;
	}
	return fscanf(f, "%7s", end) == 1 && !strcmp(end, "end");
}

static int read_state(struct spool *s, struct push_state *state)
{
	char *path = xasprintf("%s/" STATE, s->dir);
	FILE *f = fopen(path, "re");
	int ret = 0;

	memset(state, 0, sizeof(*state));
	if (!f && errno != ENOENT)
		ret = failed(s, "%s: cannot be read: %m", path);
	else if (f && !parse_state(f, state))
		ret = failed(s, "%s: is damaged: if you remove it, all events since loading are pushed again",
			     path);
	if (f)
		fclose(f);
	free(path);
	return ret;
}

/* ----------------------------------------------------------------- spool --- */

static int change_kind(struct spool *s, u64 sequence, const char *from, const char *to)
{
	char *old = path_of(s, sequence, from), *new = to ? path_of(s, sequence, to) : NULL;
	int ret = to ? rename(old, new) : unlink(old);

	if (ret)
		failed(s, "%s: cannot be %s: %m", old, to ? "renamed" : "removed");
	free(old);
	free(new);
	return ret;
}

/* Finish, or undo, what a stop has interrupted */
static int resume(struct spool *s, const struct push_state *state)
{
	struct entry *e;
	size_t nr, i;
	int ret = 0;

	if (list(s, &e, &nr))
		return -1;
	for (i = 0; i < nr && !ret; i++)
		if (!strcmp(e[i].kind, "new"))
			ret = change_kind(s, e[i].sequence, "new",
					  e[i].sequence <= state->sequence ? "push" : NULL);
	free(e);
	return ret;
}

int spool_open(struct spool *s, const char *dir, u64 limit, struct push_state *state)
{
	struct stat st;

	memset(s, 0, sizeof(*s));
	s->dir = xstrdup(dir);
	s->limit = limit;
	s->fd = -1;
	/* 0700: profiles have what the record has */
	if (mkdir(dir, 0700) && errno != EEXIST)
		return failed(s, "--spool %s: cannot be created: %m", dir);
	s->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->fd < 0)
		return failed(s, "--spool %s: cannot be opened: %m", dir);
	if (fstat(s->fd, &st) || st.st_mode & 0022)
		return failed(s, "--spool %s: other users may write there: chmod go-w %s", dir,
			      dir);
	if (faccessat(s->fd, ".", W_OK | X_OK, AT_EACCESS))
		return failed(s, "--spool %s: cannot be written: %m", dir);
	if (flock(s->fd, LOCK_EX | LOCK_NB))
		return failed(s, errno == EWOULDBLOCK ?
			      "--spool %s: another stackbuf push uses it" :
			      "--spool %s: cannot be locked: %m", dir);
	return read_state(s, state) || resume(s, state) ? -1 : 0;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->dir);
}

static int read_push(struct spool *s, const struct entry *e, struct push *p)
{
	char *path = path_of(s, e->sequence, e->kind), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0;
	int ret = -1;

	memset(p, 0, sizeof(*p));
	p->sequence = e->sequence;
	p->again = !strcmp(e->kind, "again");
	if (f && getline(&line, &room, f) > 0 &&
	    sscanf(line, "stackbuf-push 1 %llu %ms %ms", &p->events, &p->key, &p->query) == 3) {
		p->size = e->size - strlen(line);
		p->body = xcalloc(p->size + 1, 1);
		if (fread(p->body, 1, p->size, f) == p->size)
			ret = 0;
	}
	if (ret)
		failed(s, f ? "%s: is damaged: remove it" : "%s: cannot be read: %m", path);
	if (f)
		fclose(f);
	free(line);
	free(path);
	return ret;
}

int spool_first(struct spool *s, struct push *p)
{
	struct entry *e;
	size_t nr, i;
	int ret = 1;

	memset(p, 0, sizeof(*p));
	if (list(s, &e, &nr))
		return -1;
	for (i = 0; i < nr && ret > 0; i++)
		if (waits(&e[i]))
			ret = read_push(s, &e[i], p);
	free(e);
	return ret;
}

/* Drop the oldest until all fit; @keep is the newest, not yet committed */
static int drop(struct spool *s, struct push_state *state)
{
	u64 bytes = 0, dropped = 0, events = 0;
	struct entry *e;
	struct push p;
	size_t nr, i;
	int ret = 0;

	if (list(s, &e, &nr))
		return -1;
	for (i = 0; i < nr; i++)
		bytes += e[i].size;
	for (i = 0; i + 1 < nr && bytes > s->limit && !ret; i++) {
		if (!read_push(s, &e[i], &p)) {
			events += p.events;
			push_free(&p);
		}
		ret = change_kind(s, e[i].sequence, e[i].kind, NULL);
		bytes -= e[i].size;
		dropped++;
	}
	free(e);
	state->dropped += dropped;
	state->dropped_events += events;
	if (dropped)
		report("--spool %s is full: the oldest profiles are dropped: %llu, with %llu events (%llu in all)",
		       s->dir, dropped, events, state->dropped_events);
	return ret;
}

int spool_add(struct spool *s, const struct push *p, struct push_state *state)
{
	char *path = path_of(s, p->sequence, "new");
	struct outfile out;
	int ret;

	if (p->size > s->limit) {
		free(path);
		return failed(s, "--spool-size: the profile alone has %zu bytes", p->size);
	}
	ret = outfile_open(&out, path, 0600);
	if (!ret) {
		fprintf(out.file, "stackbuf-push 1 %llu %s %s\n", p->events, p->key, p->query);
		fwrite(p->body, 1, p->size, out.file);
		ret = outfile_close(&out, ferror(out.file));
	}
	if (ret)
		failed(s, "--spool %s: cannot be written: %m", s->dir);
	if (!ret && (drop(s, state) || save_state(s, state))) {
		ret = -1;
		unlink(path);
	}
	free(path);
	return ret ? ret : change_kind(s, p->sequence, "new", "push");
}

int spool_mark_again(struct spool *s, struct push *p)
{
	if (p->again)
		return 0;
	p->again = true;
	return change_kind(s, p->sequence, "push", "again");
}

int spool_unmark_again(struct spool *s, struct push *p)
{
	p->again = false;
	return change_kind(s, p->sequence, "again", "push");
}

int spool_remove(struct spool *s, const struct push *p)
{
	return change_kind(s, p->sequence, p->again ? "again" : "push", NULL);
}

int spool_put_aside(struct spool *s, const struct push *p)
{
	return change_kind(s, p->sequence, p->again ? "again" : "push", "refused");
}
