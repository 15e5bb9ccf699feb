// SPDX-License-Identifier: GPL-2.0
/*
 * json.c - JSON: one object per line
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "output/output.h"

json_t *json_number(u64 value)
{
	return value <= 1ULL << 53 ? json_integer(value) : json_sprintf("%llu", value);
}

json_t *json_ns(u64 ns)
{
	return json_sprintf("%llu", ns);
}

json_t *json_hex(u64 value)
{
	return json_sprintf("0x%llx", value);
}

void json_machine(const struct output *o, json_t *j)
{
	if (o->symbols->host)
		json_object_set_new(j, "host", json_string(o->symbols->host));
	if (o->record->have_info)
		json_object_set_new(j, "release", json_string(o->record->info.release));
}

/* The build ids of the frames' code, if known: with them functions and offsets are unique */
static json_t *stack_build_ids(const struct output *o, const struct stack *stack)
{
	json_t *ids = json_object();
	char module[64], own[BUILD_ID_DIGITS + 1];
	const char *id;
	unsigned int i;

	for (i = 0; i < stack->named; i++) {
		const struct frame *f = &stack->frame[i];

		if (!f->size)
			continue;
		snprintf(module, sizeof(module), "%.*s", (int)f->module_len, f->module);
		snprintf(own, sizeof(own), "%.*s", (int)f->build_id_len, f->build_id);
		id = *own ? own : build_ids_find(&o->symbols->ids, module, stack->first);
		if (id && *id)
			json_object_set_new(ids, *module ? module : "vmlinux", json_string(id));
	}
	return ids;
}

void json_stack_keys(const struct output *o, const struct stack *stack, FILE *f)
{
	json_t *j = json_object(), *frames = json_array(), *addresses = json_array();
	json_t *lines = o->srcline ? json_array() : NULL;
	unsigned int i;

	for (i = 0; i < stack->named; i++)
		json_array_append_new(frames, json_string(stack->frame[i].text));
	for (i = 0; lines && i < stack->named; i++)
		json_array_append_new(lines, json_string(output_line(o, stack, i) +
							 !!*output_line(o, stack, i)));
	for (i = 0; i < stack->nr; i++)
		json_array_append_new(addresses, json_hex(stack->addr[i]));
	json_object_set_new(j, "stack", json_integer(stack->id));
	json_object_set_new(j, "symbols",
			    json_string(stack->gone ? "none" : name_origins[stack->name_origin]));
	json_object_set_new(j, "gone", json_boolean(stack->gone));
	json_object_set_new(j, "cut", json_boolean(stack->cut));
	json_object_set_new(j, "build_ids", stack_build_ids(o, stack));
	json_object_set_new(j, "frames", frames);
	json_object_set_new(j, "addresses", addresses);
	if (lines)
		json_object_set_new(j, "lines", lines);
	json_dumpf(j, f, JSON_COMPACT | JSON_EMBED);
	json_decref(j);
}

void json_print(const struct output *o, json_t *object, const char *keys, size_t len)
{
	putc('{', o->file);
	json_dumpf(object, o->file, JSON_COMPACT | JSON_EMBED | JSON_REAL_PRECISION(6));
	if (keys) {
		putc(',', o->file);
		fwrite(keys, 1, len, o->file);
	}
	fputs("}\n", o->file);
	json_decref(object);
}
