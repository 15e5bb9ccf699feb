// SPDX-License-Identifier: GPL-2.0
/*
 * list.c - "count -l": the functions and events that patterns match, and their parameters
 *
 * It only reads: the module need not be loaded.
 */
#include <string.h>
#include "live/watch.h"

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

static void print_json(const struct output *o, const char *name, char *const *parameter, int nr)
{
	json_t *one = json_object(), *list = nr < 0 ? json_null() : json_array();
	const char *event = pattern_event(name), *colon = strchr(name, ':');
	int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(list, json_string(parameter[i]));
	if (event) {
		json_object_set_new(one, "event", json_string(event));
	} else {
		json_object_set_new(one, "function", json_string(colon ? colon + 1 : name));
		json_object_set_new(one, "module", json_stringn(name, colon ? colon - name : 0));
	}
	json_object_set_new(one, "parameters", list);
	json_print(o, one, NULL, 0);
}

void list_run(struct watch *w)
{
	const struct matches *c = &w->matches;
	struct prototypes *prototypes;
	char *const *parameter;
	size_t i;
	int nr;

	watch_functions(w, true);
	prototypes = prototypes_open();
	for (i = 0; i < c->nr; i++) {
		nr = prototypes_find(prototypes, c->name[i], &parameter);
		if (w->o->format == FORMAT_JSON)
			print_json(w->o, c->name[i], parameter, nr);
		else
			print_text(w->o->file, c->name[i], parameter, nr);
	}
	prototypes_close(prototypes);
	watch_report_left_out(w);
	if (w->unlisted)
		report("the kernel's lists of functions to probe cannot be read, so some of these cannot be probed: run it as root, with tracefs mounted");
}
