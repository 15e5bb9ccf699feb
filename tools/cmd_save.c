// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_save.c - "save": a snapshot of the record, now or after a trigger stops recording
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "cmd.h"
#include "ending.h"
#include "input/exclude.h"
#include "output/files.h"
#include "live/watch.h"

#define TRIGGER	"/sys/module/stackbuf/parameters/trigger"

/* Read what stopped recording, STACKBUF_FROZEN_..., from the first page of stackbuf_info; or 0 */
static u32 stopped_by(void)
{
	struct stackbuf_info *info = xcalloc(1, sizeof(*info));
	FILE *f = fopen(DEBUGFS "/info", "re");
	u32 stopped = 0;

	if (!f || fread(info, STACKBUF_PAGE_SIZE, 1, f) != 1)
		die(1, "%s: cannot be read: %m (was the module removed, or debugfs unmounted?)",
		    DEBUGFS "/info");
	stopped = info->state & STACKBUF_FROZEN;
	fclose(f);
	free(info);
	return stopped;
}

static bool is_set(void)
{
	FILE *f = fopen(TRIGGER, "re");
	int c = f ? getc(f) : EOF;

	if (!f)
		die(1, "%s: %m", TRIGGER);
	fclose(f);
	return c != '\n' && c != EOF;
}

static void wait_for_trigger(void)
{
	u32 stopped = 0;

	if (!is_set())
		die(1, "no trigger is set: write PLACE[:EVENTS] to %s", TRIGGER);
	interrupt_catch(0);
	while (!interrupted && !(stopped = stopped_by())) {
		if (!is_set())
			die(1, "the trigger was removed before a hit: nothing is saved");
		interrupt_wait(NULL, 0, NSEC_PER_SEC / 5);
	}
	if (interrupted)
		die(1, "no trigger was hit: nothing is saved");
	if (!(stopped & STACKBUF_FROZEN_TRIGGER))
		report("an oops stopped recording before the trigger did");
	interrupt_release();
}

void cmd_save(struct args *a)
{
	struct session s = { 0 };
	int status;

	if (a->on_trigger && !args_live(a))
		die(EXIT_USAGE, "--on-trigger waits for the running kernel: without -f");
	if (a->on_trigger)
		wait_for_trigger();
	cmd_begin(&s, a, false);
	session_report_missing(&s);
	snapshot_write(a->word[0], &s.set, &s.record, &s.symbols);
	cmd_end(&s, a);
	if (!a->on_trigger || !*a->on_trigger)
		return;
	/* main() ignores it, which the command would inherit */
	signal(SIGXFSZ, SIG_DFL);
	status = system(a->on_trigger);
	if (status)
		die(1, "--on-trigger: %s: exit status %d", a->on_trigger,
		    WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}
