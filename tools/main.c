// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - stackbuf: read the flight recorder of kernel call stacks
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cmd.h"
#include "output/files.h"
#include "live/watch.h"

void cmd_begin(struct session *s, struct args *a, bool live)
{
	const struct command *c = &command_table[a->command];
	struct output *o = &a->output;

	session_open(s, &a->wanted);
	if (live)
		session_load_info(s);
	else
		session_load(s);
	if (o->wall && !s->record.have_info)
		die(1, "%s: --wall needs the page of stackbuf_info, which is missing",
		    s->source.name);
	session_add_names(s);
	if (a->given & (BIT(OPT_LINES) | BIT(OPT_VMLINUX)) || c->origin == ORIGIN_ALWAYS ||
	    (c->origin == ORIGIN_IN_JSON && o->format == FORMAT_JSON))
		session_add_origin(s);
	if (c->offset)
		session_add_kernel_offset(s, &a->debug);
	if (o->wall || filter_needs_wall(&a->wanted.filter))
		session_report_wall(s);
	o->record = &s->record;
	o->search = &s->search;
	o->symbols = &s->symbols;
	s->record.probes_off = session_probes_off(s);
	if (a->given & BIT(OPT_LINES))
		o->srcline = session_open_srcline(s, &a->debug, live);
}

void cmd_end(struct session *s, struct args *a)
{
	struct output *o = &a->output;

	free(o->left);
	if (o->srcline) {
		srcline_report_missing(o->srcline);
		srcline_close(o->srcline);
	}
	session_close(s);
}

bool cmd_profile(const struct output *o, const struct args *a, const struct stackbuf_event *event,
		 size_t nr)
{
	struct profile p = { 0 };

	if (o->format != FORMAT_PPROF && o->format != FORMAT_FLAME)
		return false;
	profile_events(&p, o, &a->wanted.filter, event, nr);
	/* As in its folded stacks */
	if (a->command == COUNT)
		p.commands = false;
	profile_write(o, &p, a->flame);
	return true;
}

void cmd_begin_live(struct session *s, struct args *a, struct overrides *p)
{
	override_load_module(p);
	cmd_begin(s, a, true);
	session_need_info(s);
	if (override_restore_left(p->dir, s->record.info.page.instance)) {
		record_free(&s->record);
		session_load_info(s);
	}
}

int main(int argc, const char **argv)
{
	static struct args args;
	const struct command *command;
	struct session session = { 0 };

	/* Let RLIMIT_FSIZE make write() fail, as a full disk does */
	signal(SIGXFSZ, SIG_IGN);
	args.output.file = stdout;
	args_read(&args, argc, argv);
	if (args.output.format == FORMAT_PPROF && isatty(STDOUT_FILENO))
		die(EXIT_USAGE, "--pprof writes no text: send it to a file");
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	command = &command_table[args.command];
	if (command->run) {
		command->run(&args);
	} else {
		cmd_begin(&session, &args, false);
		command->show(&session, &args.output, &args);
		cmd_end(&session, &args);
	}
	end_output();
	return 0;
}
