// SPDX-License-Identifier: GPL-2.0
/*
 * left.c - a note of the overridden parameters, for the next command if this one is killed
 *
 * The note is a file below /run that only root can read.  If it cannot be written, there is no
 * note.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "live/watch.h"

#define NOTE	"/run/stackbuf.borrowed"

/* This process's arguments, separated by blanks */
static void own_command(char *text, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size), i;

	for (i = 0; i < n - 1; i++)
		if (!text[i])
			text[i] = ' ';
	text[n > 0 ? n - 1 : 0] = '\0';
	make_printable(text, size);
	if (fd >= 0)
		close(fd);
}

void left_note(struct overrides *p, const char *name, const char *before, const char *set)
{
	char command[256], instance[17];
	int fd;

	if (strcmp(p->dir, PARAMETERS))
		return;
	if (!p->note) {
		own_command(command, sizeof(command));
		snprintf(instance, sizeof(instance), "%llx", p->instance);
		p->note = json_pack("{s:s,s:i,s:s,s:{}}", "instance", instance, "process",
				    (int)getpid(), "command", command, "parameters");
	}
	json_object_set_new(json_object_get(p->note, "parameters"), name,
			    json_pack("[s,s?]", before, set));
	/* SIGKILL may come at any time: the note is there, or the one before */
	fd = open(NOTE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		if (!json_dumpfd(p->note, fd, JSON_COMPACT))
			rename(NOTE ".new", NOTE);
		close(fd);
	}
}

void left_drop(void)
{
	unlink(NOTE);
}

void left_forget(const struct overrides *p)
{
	if (p->note)
		left_drop();
}

char *left_read(const char *dir, u64 instance, json_t **parameters)
{
	const char *of, *command;
	char *process = NULL;
	json_t *j;
	int pid;

	*parameters = NULL;
	if (strcmp(dir, PARAMETERS))
		return NULL;
	j = json_load_file(NOTE, 0, NULL);
	/* Reloading the module discards them */
	if (j && !json_unpack(j, "{s:s,s:i,s:s,s:O}", "instance", &of, "process", &pid, "command",
			      &command, "parameters", parameters) &&
	    strtoull(of, NULL, 16) == instance)
		process = xasprintf("process %d (%s)", pid, command);
	if (!process) {
		json_decref(*parameters);
		*parameters = NULL;
	}
	json_decref(j);
	return process;
}
