// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - the command line: parses and checks it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"

bool args_live(const struct args *a)
{
	const char *parameters = getenv("STACKBUF_PARAMETERS");

	return (!a->wanted.file.nr && !a->wanted.kept) || (parameters && *parameters);
}

static void take_option(struct args *a, enum option_id id, const char *value)
{
	const struct option *o = &option_table[id];
	const char *must = NULL;

	if (a->given & BIT(id) && !o->several)
		die(EXIT_USAGE, "--%s is given twice", o->name);
	a->given |= BIT(id);
	if (o->filters)
		must = filter_set(&a->wanted.filter, o->name, value);
	else if (o->set)
		must = o->set((char *)a + o->field, value);
	if (must)
		die(EXIT_USAGE, "--%s %s: must be %s", o->name, value, must);
	if (!o->format)
		return;
	if (a->output.format && a->output.format != o->format)
		die(EXIT_USAGE, "use only one of --folded, --json, --perf, --pprof and --flame");
	a->output.format = o->format;
}

/* Return true if another way to use this command takes the option */
static bool other_takes(const struct args *a, enum option_id id)
{
	unsigned int i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(command_table[i].name, command_table[a->command].name) &&
		    option_table[id].commands & BIT(i))
			return true;
	return false;
}

/* End the program unless the option fits this command and its source */
static void check_option(const struct args *a, enum option_id id)
{
	const struct command *c = &command_table[a->command];
	const struct option *o = &option_table[id];

	if (c->of_record && id == OPT_FILE)
		die(EXIT_USAGE, "--file is not for \"%s\", which sets probes: stackbuf -f %s %s --function %s",
		    c->name, a->wanted.file.word[0], c->of_record, a->word ? a->word[0] : "PATTERN");
	if (!(o->commands & BIT(a->command)) && c->lack && other_takes(a, id))
		die(EXIT_USAGE, "%s --%s: %s", c->name, o->name, c->lack);
	if (id == OPT_LAST && (a->command == LATENCY || a->command == OFFCPU))
		die(EXIT_USAGE, "--last is not for \"%s\", whose totals by stack are in no order: use --top",
		    c->name);
	if (!(o->commands & BIT(a->command)))
		die(EXIT_USAGE, "--%s is not for \"%s\" (see stackbuf %s --help)", o->name, c->name,
		    c->name);
	if (!args_live(a) && o->timed)
		die(EXIT_USAGE, "--%s: not with -f: a file is read once", o->name);
}

/* Check for options that cannot be used together */
static void check_together(const struct args *a)
{
	enum output_format format = a->output.format;
	bool is_file = format == FORMAT_PPROF || format == FORMAT_FLAME;
	unsigned int inputs = 0, i;

	for (i = 0; i < OPTIONS; i++) {
		if (!(a->given & BIT(i)))
			continue;
		if (a->given & BIT(OPT_FOLLOW) && (is_file || format == FORMAT_FOLDED) &&
		    option_table[i].format)
			die(EXIT_USAGE, "--%s adds up events, so it cannot be used with --follow",
			    option_table[i].name);
		if (i >= OPT_VMLINUX && i <= OPT_FORCE && !(a->given & BIT(OPT_LINES)) &&
		    option_table[OPT_LINES].commands & BIT(a->command))
			die(EXIT_USAGE, "--%s needs --lines", option_table[i].name);
	}
	for (i = 0; a->command == DIFF && a->word[i]; i++)
		inputs += !strcmp(a->word[i], "-");
	for (i = 0; i < a->wanted.file.nr; i++)
		inputs += !strcmp(a->wanted.file.word[i], "-");
	if (inputs > 1)
		die(EXIT_USAGE, "standard input (-) is named twice: it can be read once");
	if (a->command == DECODE && format &&
	    a->given & (BIT(OPT_VMLINUX) | BIT(OPT_MODULES) | BIT(OPT_FORCE)))
		die(EXIT_USAGE, "--folded and --flame have functions, no source lines: -k, -m and --force are for text");
	if (a->given & BIT(OPT_INTERVAL) && is_file)
		die(EXIT_USAGE, "--interval: a profile or graph is written once, at the end");
	if (a->output.prefix && format != FORMAT_FOLDED)
		die(EXIT_USAGE, "--prefix is for --folded");
	if (a->output.top && is_file)
		die(EXIT_USAGE, "--top is for text, --folded and --json: a profile or graph shows all");
	if (a->given & BIT(OPT_LOG) && format && format != FORMAT_JSON)
		die(EXIT_USAGE, "--log is for text and --json: totals have no order");
	if (a->given & BIT(OPT_LOG) && a->output.top)
		die(EXIT_USAGE, "--top is for totals: with --log, --last N keeps the newest N");
	if (a->output.percent && format && format != FORMAT_JSON)
		die(EXIT_USAGE, "--percent is for text and --json");
	if (a->output.wall && format == FORMAT_PERF)
		die(EXIT_USAGE, "--perf cannot be used with --wall: readers of its format expect seconds");
	if (a->given & BIT(OPT_LINES) && format && format != FORMAT_JSON)
		die(EXIT_USAGE, "--lines is for plain text and --json");
	if (a->given & BIT(OPT_FUNCTION) && a->given & BIT(OPT_FOLLOW))
		die(EXIT_USAGE, "--function selects recorded events; for new ones: stackbuf snoop FUNCTION");
	if (a->given & BIT(OPT_AROUND) && a->given & (BIT(OPT_SINCE) | BIT(OPT_UNTIL)))
		die(EXIT_USAGE, "--around cannot be used with --since or --until");
}

/* The reader's version, and that of the loaded module */
static void show_version(void)
{
	char module[64] = "";
	FILE *f = fopen("/sys/module/stackbuf/version", "re");

	printf("stackbuf %s, memory format %u\n", VERSION, STACKBUF_VERSION);
	if (f && fgets(module, sizeof(module), f))
		printf("module %.*s is loaded\n", (int)strcspn(module, "\n"), module);
	else
		puts("no module is loaded");
	if (f)
		fclose(f);
}

static void read_options(struct args *a, poptContext context)
{
	char *value;
	int option;

	while ((option = poptGetNextOpt(context)) > 0) {
		if (option - 1 == OPT_HELP)
			args_help(a);
		if (option - 1 == OPT_VERSION)
			show_version();
		if (option - 1 == OPT_HELP || option - 1 == OPT_VERSION) {
			end_output();
			exit(0);
		}
		value = poptGetOptArg(context);
		take_option(a, option - 1, value);
		free(value);
	}
	if (option < -1)
		die(EXIT_USAGE, "%s: %s (see stackbuf --help)",
		    poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(option));
}

/* Choose among several ways to use a command */
static void find_way(struct args *a)
{
	if (a->command == ERRORS && a->word && !a->wanted.file.nr && !a->wanted.kept)
		a->command = ERRORS_PATTERN;
	if (a->command != COUNT)
		return;
	if (a->given & BIT(OPT_LIST))
		a->command = COUNT_LIST;
	else if (a->word)
		a->command = COUNT_PATTERN;
}

static void check_words(const struct args *a)
{
	const struct command *c = &command_table[a->command];
	unsigned int n = 0;

	while (a->word && a->word[n])
		n++;
	if (n < c->min || (c->min && !*a->word[0]))
		die(EXIT_USAGE, "%s: %s", c->name, c->missing);
	if (n > c->max && a->command == LOG)
		die(EXIT_USAGE, "%s %s: takes no function; did you mean stackbuf snoop %s, or count %s?",
		    c->name, a->word[0], a->word[0], a->word[0]);
	if (n > c->max)
		die(EXIT_USAGE, "%s: one argument too many (see stackbuf %s -h)",
		    a->word[c->max], c->name);
}

/* Convert "ADDRESS+SIZE" to "ADDRESS/SIZE" for --tag */
static void take_address(struct args *a)
{
	const char *word = a->word[0];
	char *tag = xstrdup(word), *plus = strchr(tag, '+');

	if (plus)
		*plus = '/';
	if (strpbrk(word, "/,-!") || filter_set(&a->wanted.filter, "tag", tag))
		die(EXIT_USAGE, "life %s: must be an address, as 0xffff888003a1c000, or ADDRESS+SIZE",
		    word);
	free(tag);
}

/*
 * Options before the command are the same for all commands; options after it may be the command's
 * own, such as -p.
 */
void args_read(struct args *a, int argc, const char **argv)
{
	static poptContext context;	/* @a points to its memory */
	const char *word, **rest, **after;
	const struct command *c;
	enum option_id i;
	int n = 0;

	context = poptGetContext("stackbuf", argc, argv, args_options(-1),
				 POPT_CONTEXT_POSIXMEHARDER);
	read_options(a, context);
	word = poptGetArg(context);
	if (!word)
		die(EXIT_USAGE, "a command is missing (see stackbuf --help)");
	for (a->command = 0; a->command < COMMANDS; a->command++)
		if (!strcmp(word, command_table[a->command].name))
			break;
	if (a->command == COMMANDS)
		die(EXIT_USAGE, "%s: no such command (see stackbuf --help)", word);

	/* popt skips the first argument: the command is the first here */
	rest = poptGetArgs(context);
	while (rest && rest[n])
		n++;
	after = xcalloc(n + 2, sizeof(*after));
	after[0] = word;
	if (n)
		memcpy(after + 1, rest, n * sizeof(*after));
	a->context_after = poptGetContext("stackbuf", n + 1, after, args_options(a->command), 0);
	read_options(a, a->context_after);
	a->word = poptGetArgs(a->context_after);
	find_way(a);
	for (i = 0; i < OPTIONS; i++)
		if (a->given & BIT(i))
			check_option(a, i);
	check_words(a);
	if (a->command == LIFE)
		take_address(a);
	check_together(a);

	a->debug.modules = a->modules.word;
	a->debug.module_dirs = a->modules.nr;
	c = &command_table[a->command];
	a->wanted.totals = c->totals;
	a->wanted.all = a->given & BIT(OPT_FOLLOW) || c->all;
	/* The stacks that begin in a function are known only after reading everything */
	if (a->wanted.filter.has_last && !a->wanted.filter.functions && a->command != LEAKS &&
	    a->command != ERRORS)
		a->wanted.last = a->wanted.filter.last;
}
