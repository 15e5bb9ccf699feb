// SPDX-License-Identifier: GPL-2.0
/*
 * help.c - help on the command line, from the tables of commands and options
 */
#include <stdio.h>
#include <string.h>
#include "cmd.h"

/* The short name of an option, '\0' if it has none; @command: -1 before the command's name */
static char args_letter(enum option_id option, int command)
{
	const struct option *o = &option_table[option];

	return command >= 0 && o->own_for & BIT(command) ? o->own_letter : o->letter;
}

static struct poptOption popt_option(enum option_id i, int command)
{
	const struct option *o = &option_table[i];

	return (struct poptOption){
		.longName = o->name, .shortName = args_letter(i, command),
		.argInfo = o->value ? POPT_ARG_STRING : POPT_ARG_NONE, .val = i + 1,
		.descrip = o->text, .argDescrip = o->value,
	};
}

struct poptOption *args_options(int command)
{
	struct poptOption *list = xcalloc(OPTIONS + 1, sizeof(*list));
	unsigned int i;

	for (i = 0; i < OPTIONS; i++)
		list[i] = popt_option(i, command);
	return list;
}

/*
 * Print popt's help on options of the commands @of; @command -1: without options that only a few
 * commands have
 */
static void print_options(const char *name, const char *words, u64 of, int command)
{
	struct poptOption shown[OPTIONS + 1] = { 0 };
	unsigned int i, n = 0, own;
	const char *argv[2] = { name };
	poptContext context;

	/* A command's own options come first */
	for (own = 2; own--; )
		for (i = 0; i < OPTIONS; i++)
			if (option_table[i].own == own && option_table[i].commands & of &&
			    !(own && command < 0) && (i != OPT_VERSION || command < 0))
				shown[n++] = popt_option(i, command);
	context = poptGetContext(name, 1, argv, shown, 0);
	poptSetOtherOptionHelp(context, words);
	poptPrintHelp(context, stdout, 0);
	poptFreeContext(context);
}

static bool same_name(unsigned int i, unsigned int j)
{
	return !strcmp(command_table[i].name, command_table[j].name);
}

/* All ways to use a command */
static void help_command(enum command_id command)
{
	const struct command *c = &command_table[command], *way;
	const char *words = c->words, *example = NULL;
	char usage[64], name[32];
	unsigned int i;
	u64 of = 0;

	snprintf(usage, sizeof(usage), "[OPTION...]%s%s", words ? " " : "", words ?: "");
	for (i = 0; i < COMMANDS; i++) {
		if (!same_name(i, command))
			continue;
		way = &command_table[i];
		of |= BIT(i);
		if (way->example)
			example = way->example;
		/* One of the ways takes words, another none */
		if (way->words && !words)
			snprintf(usage, sizeof(usage), "[OPTION...] [%s]", way->words);
	}
	snprintf(name, sizeof(name), "stackbuf %s", c->name);
	print_options(name, usage, of, command);
	if (example)
		printf("\n%s\n", example);
	puts("\nSee stackbuf(8).");
}

void args_help(const struct args *a)
{
	const struct command *c;
	char use[32];

	if (a->context_after) {
		help_command(a->command);
		return;
	}
	print_options("stackbuf", "[OPTION...] COMMAND [ARGUMENT...]", ~0ULL, -1);
	puts("\nCommands:");
	for (c = command_table; c < command_table + COMMANDS; c++) {
		if (!c->text)
			continue;
		snprintf(use, sizeof(use), "%s%s%s", c->name, c->words ? " " : "", c->words ?: "");
		printf("  %-19s %s\n", use, c->text);
	}
	puts("\n"
	     "stackbuf COMMAND -h shows the options of one of them.\n"
	     "See stackbuf(8).");
}
