/* SPDX-License-Identifier: GPL-2.0 */
/*
 * json.h - JSON: one object a line
 */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>
#include "output/output.h"

/* A number, or a string beyond 2^53, where most readers of JSON round numbers */
json_t *json_number(u64 value);

/* Nanoseconds, always as a string: they may be beyond that, and a key has one type */
json_t *json_ns(u64 ns);
json_t *json_hex(u64 value);

/* Add the machine's name and the kernel's release, as far as they are known */
void json_machine(const struct output *o, json_t *j);

/* Write the keys of a stack, for events and totals: text without braces */
void json_stack_keys(const struct output *o, const struct stack *stack, FILE *f);

/* Print an object, and free it; @keys, if not NULL, is the text of more keys */
void json_print(const struct output *o, json_t *object, const char *keys, size_t len);

#endif
