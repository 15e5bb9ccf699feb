// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_merge.c - "merge": records of many machines into one file
 *
 * Each record is read by a process of its own, which hands over what it found as a merged file of
 * one host: a record that ends the reader, by damage or by its size, is left out, and memory is
 * bounded by the largest records.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cmd.h"
#include "output/info.h"
#include "output/merge.h"
#include "output/outfile.h"

/**
 * struct job - a record
 * @file: its file
 * @host: the machine's name as it was given, or NULL
 * @child: the process that reads it, 0: none does
 * @from: what it sends
 * @said: its standard error
 */
struct job {
	const char *file;
	char *host;
	pid_t child;
	int from, said;
};

/* ---------------------------------------------------------------- a record --- */

/* Its name as it was given, else as the snapshot has it, else the file's */
static char *host_name(const struct job *job, const struct session *s)
{
	const char *end = job->file + strlen(job->file), *start;

	if (job->host)
		return xstrdup(job->host);
	if (s->symbols.host)
		return xstrdup(s->symbols.host);
	while (end > job->file + 1 && end[-1] == '/')
		end--;
	for (start = end; start > job->file && start[-1] != '/'; start--)
		;
	return printable(xasprintf("%.*s", (int)(end - start), start));
}

/* What "info --json" says of the record, with the name of its host */
static json_t *record_info(const struct job *job, const struct session *s, struct output *o)
{
	char *text = NULL, *host = host_name(job, s);
	size_t len = 0;
	json_t *info;

	if (s->record.have_info) {
		o->format = FORMAT_JSON;
		o->file = open_memstream(&text, &len);
		if (!o->file)
			die(1, "out of memory");
		output_info(o, s->source.name, &s->set, s->instance, s->instances);
		fclose(o->file);
		info = json_loads(text, 0, NULL);
		free(text);
	} else {
		info = json_pack("{s:s,s:o}", "source", job->file, "instance",
				 json_sprintf("%016llx", s->record.instance));
	}
	if (!info || json_object_set_new(info, "host", json_string(host)))
		die(1, "%s: its name, or that of its host, is not UTF-8", job->file);
	free(host);
	return info;
}

/* In the child: read the record, and write it to @to */
static void send_record(const struct job *job, const struct args *a, int to)
{
	char *name = (char *)job->file;
	struct args one = { .command = MERGE, .given = a->given, .source = &name, .sources = 1 };
	struct output o = { 0 };
	struct session s = { 0 };
	json_t *info;
	FILE *f;

	session_open(&s, &one);
	session_load(&s, &one);
	if (s.source.promised > s.set.nr)
		die(1, "%s: is damaged: %llu of its %llu pages are not stackbuf's", job->file,
		    s.source.promised - s.set.nr, s.source.promised);
	if (s.record.damaged)
		die(1, "%s: is damaged: %u of its pages of events make no sense", job->file,
		    s.record.damaged);
	session_report_missing(&s);
	if (!s.record.have_info)
		report("no time of day is known: its events come first, by their time since boot");
	symbols_init(&s.symbols, &s.record, s.source.kallsyms);
	session_add_build_ids(&s);
	o.record = &s.record;
	o.symbols = &s.symbols;
	info = record_info(job, &s, &o);
	f = fdopen(to, "w");
	if (!f)
		die(1, "%s: %m", job->file);
	merge_record(f, &o, info);
	if (fclose(f))
		die(1, "%s: cannot be handed over: %m", job->file);
	/* The parent's files are open here, too: leave their buffers alone */
	_exit(0);
}

static void start(struct job *job, const struct args *a, FILE *out)
{
	int fd[2];

	/* What is in the buffer would be written twice */
	fflush(out);
	job->said = memfd_create("stackbuf", MFD_CLOEXEC);
	if (job->said < 0 || pipe2(fd, O_CLOEXEC))
		die(1, "%s: cannot be read: %m", job->file);
	job->child = fork();
	if (job->child < 0)
		die(1, "%s: cannot be read: %m", job->file);
	if (!job->child) {
		outfile_forked();
		close(fd[0]);
		dup2(job->said, STDERR_FILENO);
		send_record(job, a, fd[1]);
	}
	close(fd[1]);
	job->from = fd[0];
}

/* ------------------------------------------------------------- all records --- */

/* All that the child sends, to be freed */
static char *receive(struct job *job, size_t *len)
{
	size_t room = 1 << 20;
	char *data = xrealloc(NULL, room, 1);
	ssize_t n;

	*len = 0;
	do {
		if (*len == room) {
			room *= 2;
			data = xrealloc(data, room, 1);
		}
		n = read(job->from, data + *len, room - *len);
		if (n > 0)
			*len += n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(job->from);
	return data;
}

/* Print what the child said, each line with the record's name; @left_out: the last one is why */
static void pass_on(struct job *job, bool left_out)
{
	FILE *f = fdopen(job->said, "r");
	char *line = NULL, *last = NULL;
	size_t room = 0;
	ssize_t len;

	if (f)
		rewind(f);
	while (f && (len = getline(&line, &room, f)) > 0) {
		const char *text = line;

		line[len - (line[len - 1] == '\n')] = '\0';
		if (!strncmp(text, "stackbuf: ", 10))
			text += 10;
		if (last)
			report("%s", last);
		free(last);
		/* Many messages begin with the name */
		if (!strncmp(text, job->file, strlen(job->file)))
			last = xstrdup(text);
		else
			last = xasprintf("%s: %s", job->file, text);
	}
	if (left_out)
		report("%s: left out", last ?: job->file);
	else if (last)
		report("%s", last);
	free(last);
	free(line);
	if (f)
		fclose(f);
	else
		close(job->said);
}

/* Take what the child made of the record.  Return how many hosts were left out */
static unsigned int finish(struct job *job, struct merge *w)
{
	struct merged m = { 0 };
	unsigned int left_out = 1;
	bool bad;
	int status;
	size_t len;
	char *data = receive(job, &len);

	while (waitpid(job->child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		report("%s: signal %d ended its reader", job->file, WTERMSIG(status));
	bad = status || merged_parse(&m, job->file, data, len);
	pass_on(job, bad);
	if (!bad)
		left_out = merge_add(w, &m);
	merged_close(&m);
	free(data);
	return left_out;
}

/* A file that was merged before: no process is needed */
static unsigned int add_merged(const struct job *job, struct merge *w)
{
	struct merged m = { 0 };
	unsigned int left_out = 1;

	if (merged_open(&m, job->file))
		report("%s: left out", m.error);
	else if (job->host)
		report("%s: is a merged file, whose hosts have names: left out", job->file);
	else
		left_out = merge_add(w, &m);
	merged_close(&m);
	return left_out;
}

/* RECORDs, and those that --host names as NAME=FILE or NAME:FILE; a file may be in both */
static struct job *all_jobs(const struct args *a, size_t *nr)
{
	struct job *job = NULL;
	size_t room = 0, i, n;

	*nr = 0;
	for (i = 0; a->word && a->word[i]; i++) {
		GROW(job, *nr, room);
		job[(*nr)++] = (struct job){ .file = a->word[i] };
	}
	for (i = 0; i < a->hosts; i++) {
		const char *name = a->host[i], *sign = strchr(name, '=') ?: strchr(name, ':');

		if (!sign || sign == name || !sign[1])
			die(EXIT_USAGE, "--host %s: must be the host of a file, as NAME=FILE",
			    name);
		for (n = 0; n < *nr; n++)
			if (!strcmp(job[n].file, sign + 1))
				break;
		if (n < *nr && job[n].host)
			die(EXIT_USAGE, "--host %s: the file has a name already", name);
		if (n == *nr) {
			GROW(job, *nr, room);
			job[(*nr)++] = (struct job){ .file = sign + 1 };
		}
		job[n].host = printable(xasprintf("%.*s", (int)(sign - name), name));
	}
	if (!*nr)
		die(EXIT_USAGE, "merge: a RECORD is missing (see stackbuf merge -h)");
	return job;
}

void cmd_merge(const struct args *a)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	/* One more than can run: its result waits in a pipe while another one is taken */
	size_t most = processors > 0 ? processors + 1 : 2, nr, i, next = 0;
	struct job *job = all_jobs(a, &nr);
	struct merge w = { 0 };
	struct outfile out;
	u64 left_out = 0;
	bool full;

	if (outfile_open(&out, a->output, 0600))
		die(1, "%s: cannot be written: %m", a->output);
	if (isatty(fileno(out.file))) {
		outfile_close(&out, -1);
		die(1, "%s: is a terminal, and a merged file is not text", a->output);
	}
	w.file = out.file;
	merge_begin(&w);
	for (i = 0; i < nr && !ferror(out.file); i++) {
		for (; next < nr && next < i + most; next++)
			if (!merged_is(job[next].file))
				start(&job[next], a, out.file);
		left_out += job[i].child ? finish(&job[i], &w) : add_merged(&job[i], &w);
	}
	for (; i < next; i++)
		if (job[i].child)
			kill(job[i].child, SIGTERM);
	full = ferror(out.file);
	if (!w.hosts && !full) {
		outfile_close(&out, -1);
		die(1, "%s: not written: no record could be read", a->output);
	}
	merge_end(&w);
	full |= ferror(out.file);
	/* Why a block could not be written shows when the rest is */
	errno = EIO;
	if (full)
		fflush(out.file);
	if (outfile_close(&out, full ? -1 : 0))
		die(1, "%s: cannot be written: %m", a->output);
	if (left_out)
		die(1, "%llu of %llu records are left out of %s", left_out,
		    left_out + w.hosts, a->output);
	for (i = 0; i < nr; i++)
		free(job[i].host);
	free(job);
}
