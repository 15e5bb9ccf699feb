// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - stackbuf: read the flight recorder of kernel call stacks
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cmd.h"

static void set_format(struct output *o, const struct args *a)
{
	if (a->given & BIT(OPT_FOLDED))
		o->format = FORMAT_FOLDED;
	if (a->given & BIT(OPT_JSON))
		o->format = FORMAT_JSON;
	if (a->given & BIT(OPT_PERF))
		o->format = FORMAT_PERF;
	if (a->given & BIT(OPT_PPROF))
		o->format = FORMAT_PPROF;
	if (a->given & BIT(OPT_FLAME))
		o->format = FORMAT_FLAME;
	if (o->format == FORMAT_PPROF && isatty(STDOUT_FILENO))
		die(EXIT_USAGE, "--pprof writes no text: send it to a file");
	o->wall = a->given & BIT(OPT_WALL);
	o->percent = a->given & BIT(OPT_PERCENT);
	o->top = a->top;
	o->prefix = a->prefix;
}

/* Read the record and give it to the command */
static void run(struct args *a, struct output *o)
{
	static void (*const command[COMMANDS])(struct session *s, struct output *o,
					       struct args *a) = {
		[INFO] = cmd_info, [TEXT] = cmd_text, [LOG] = cmd_log, [COUNT] = cmd_count,
		[REPORT] = cmd_report, [LIFE] = cmd_life, [DEPTH] = cmd_depth, [SAVE] = cmd_save,
		[METRICS] = cmd_metrics,
	};
	const u64 keeps_ids = BIT(SAVE) | BIT(REPORT);
	const u64 of_events = BIT(LOG) | BIT(LIFE) | BIT(COUNT) | BIT(SNOOP);
	struct session s = { 0 };
	struct watch watch = { 0 };

	if (args_watch(a))
		cmd_watch_prepare(&watch, a);
	session_open(&s, a);
	if (watch.live)
		session_load_info(&s);
	else
		session_load(&s, a);
	if (o->wall && !s.record.have_info)
		die(1, "%s: --wall needs the page of stackbuf_info, which is missing",
		    s.source.name);
	symbols_init(&s.symbols, &s.record, s.source.kallsyms);
	if (a->given & (BIT(OPT_LINES) | BIT(OPT_VMLINUX)) || BIT(a->command) & keeps_ids ||
	    (a->given & BIT(OPT_JSON) && BIT(a->command) & of_events))
		session_add_origin(&s);
	if (a->command == INFO || BIT(a->command) & keeps_ids)
		session_add_kernel_offset(&s, a);
	o->record = &s.record;
	o->symbols = &s.symbols;
	o->probed = session_probed(&s, &o->nr_probed);
	if (s.source.live)
		o->probes_off = probes_off(o->probed, o->nr_probed);
	if (a->given & BIT(OPT_LINES))
		o->srcline = session_open_srcline(&s, a);
	if (args_watch(a))
		cmd_watch(&s, o, &watch);
	else
		command[a->command](&s, o, a);
	if (o->srcline) {
		srcline_report_missing(o->srcline);
		srcline_close(o->srcline);
	}
	free(o->probed);
	session_close(&s);
}

int main(int argc, const char **argv)
{
	struct args args = { 0 };
	struct output output = { .file = stdout };

	args_read(&args, argc, argv);
	set_format(&output, &args);
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (args.command == DECODE)
		cmd_decode(&args);
	else if (args.command == DIFF)
		cmd_diff(&args, &output);
	else if (args.given & BIT(OPT_LIST))
		cmd_list(&args, &output);
	else
		run(&args, &output);
	if (fflush(stdout) || ferror(stdout))
		die(1, "cannot write: %m");
	args_free(&args);
	return 0;
}
