// SPDX-License-Identifier: GPL-2.0
/*
 * list.c - "count -l": the functions and events that patterns match, and their parameters
 *
 * Only reads: the module need not be loaded.
 */
#include <string.h>
#include "watch/prototypes.h"
#include "watch/watch.h"
#include "output/json.h"

static void print_text(FILE *f, const char *name, char *const *parameter, int nr)
{
	int i;

	fputs(name, f);
	if (nr >= 0)
		putc('(', f);
	for (i = 0; i < nr; i++)
		fprintf(f, "%s%s", i ? ", " : "", parameter[i]);
	if (!nr)
		fputs("void", f);
	fputs(nr >= 0 ? ")\n" : "\n", f);
}

/* @module NULL: an event */
static void print_json(const struct output *o, const char *module, const char *function,
		       char *const *parameter, int nr)
{
	json_t *one = json_object(), *list = nr < 0 ? json_null() : json_array();
	int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(list, json_string(parameter[i]));
	if (module) {
		json_object_set_new(one, "function", json_string(function));
		json_object_set_new(one, "module", json_string(module));
	} else {
		json_object_set_new(one, "event", json_string(function));
	}
	json_object_set_new(one, "parameters", list);
	json_print(o, one, NULL, 0);
}

/* t:GROUP:EVENT.  The first parameter is not one of its TP_PROTO */
static void print_event(const struct output *o, struct prototypes *prototypes, const char *name)
{
	char *type = xasprintf(PROTOTYPES_EVENT "%s", strrchr(name, ':') + 1);
	char *const *parameter = NULL;
	int nr = prototypes_find(prototypes, "", type, &parameter);

	if (nr > 0) {
		parameter++;
		nr--;
	}
	if (o->format == FORMAT_JSON)
		print_json(o, NULL, name + 2, parameter, nr);
	else
		print_text(o->file, name, parameter, nr);
	free(type);
}

void list_run(struct watch *w)
{
	const struct matches *c = &w->matches;
	struct prototypes *prototypes;
	char *const *parameter = NULL;
	size_t i;

	watch_functions(w, true);
	prototypes = prototypes_open();
	for (i = 0; i < c->nr; i++) {
		const char *function = strchr(c->name[i], ':');
		char *module;
		int nr;

		if (!strncmp(c->name[i], "t:", 2)) {
			print_event(w->o, prototypes, c->name[i]);
			continue;
		}
		module = xasprintf("%.*s", function ? (int)(function - c->name[i]) : 0,
				   c->name[i]);
		function = function ? function + 1 : c->name[i];
		nr = prototypes_find(prototypes, module, function, &parameter);
		if (w->o->format == FORMAT_JSON)
			print_json(w->o, module, function, parameter, nr);
		else
			print_text(w->o->file, c->name[i], parameter, nr);
		free(module);
	}
	prototypes_close(prototypes);
	watch_report_left_out(w);
	if (w->unlisted)
		report("the kernel's lists of what can be probed cannot be read, so not all of these can be: run it as root, with tracefs mounted");
}
