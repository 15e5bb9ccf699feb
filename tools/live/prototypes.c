// SPDX-License-Identifier: GPL-2.0
/*
 * prototypes.c - the parameters of the running kernel's functions, if it has BTF
 *
 * libbpf finds a function's name by a search over all types.  This code looks up thousands, so it
 * sorts the functions of each BTF by name first.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "library.h"
#include "live/watch.h"

/* With a tracepoint's name after it, a "function" whose first parameter is data */
#define EVENT	"btf_trace_"

/* A function of libbpf */
#define BPF(function) LIBRARY(LIBBPF, function)

/* The kernel itself, or a module */
struct image {
	char *module;		/* "" for the kernel itself */
	struct btf *btf;	/* its types, or NULL */
	struct btf_dump *dump;	/* prints them, to prototypes.text; NULL: not needed yet */
	struct function {
		const char *name;
		u32 type;
	} *function;		/* in order of names */
	size_t nr;
};

struct prototypes {
	struct image **image;	/* the first is the kernel itself */
	size_t images;
	char **parameter;	/* of the last function looked up */
	unsigned int parameters;
	FILE *text;		/* receives the types that libbpf prints */
};

static void print(void *arg, const char *format, va_list words)
{
	const struct prototypes *p = arg;

	if (p->text)
		vfprintf(p->text, format, words);
}

/* Missing BTF data is not an error here */
static int quiet(enum libbpf_print_level level, const char *format, va_list words)
{
	(void)level;
	(void)format;
	(void)words;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct image *load(struct prototypes *p, const char *module)
{
	struct btf *base = p->images ? p->image[0]->btf : NULL;
	struct image *image = xcalloc(1, sizeof(*image));
	const size_t prefix = strlen(EVENT);
	u32 id, first;
	long failed;

	GROW(p->image, p->images);
	p->image[p->images++] = image;
	image->module = xstrdup(module);
	if (!*module)
		image->btf = BPF(btf__load_vmlinux_btf)();
	else if (base)
		image->btf = BPF(btf__load_module_btf)(module, base);
	/* libbpf 0.x returns errors as pointers */
	failed = BPF(libbpf_get_error)(image->btf);
	if (failed)
		image->btf = NULL;
	if (!image->btf)
		return image;
	first = *module ? BPF(btf__type_cnt)(base) : 1;
	for (id = first; id < BPF(btf__type_cnt)(image->btf); id++) {
		const struct btf_type *type = BPF(btf__type_by_id)(image->btf, id);

		const char *name = BPF(btf__name_by_offset)(image->btf, type->name_off);
		u32 proto = type->type;

		/* For a tracepoint BTF has a pointer to a function */
		if (btf_is_typedef(type) && !strncmp(name, EVENT, prefix)) {
			type = BPF(btf__type_by_id)(image->btf, proto);
			if (!type || !btf_is_ptr(type))
				continue;
			proto = type->type;
		} else if (!btf_is_func(type)) {
			continue;
		}
		GROW(image->function, image->nr);
		image->function[image->nr++] = (struct function){ name, proto };
	}
	sort(image->function, image->nr, sizeof(*image->function), by_name);
	return image;
}

struct prototypes *prototypes_open(void)
{
	struct prototypes *p = xcalloc(1, sizeof(*p));

	BPF(libbpf_set_print)(quiet);
	load(p, "");
	return p;
}

static void forget(struct prototypes *p)
{
	while (p->parameters)
		free(p->parameter[--p->parameters]);
	free(p->parameter);
	p->parameter = NULL;
}

void prototypes_close(struct prototypes *p)
{
	forget(p);
	/* Modules refer to the kernel's types */
	while (p->images) {
		struct image *image = p->image[--p->images];

		BPF(btf_dump__free)(image->dump);
		BPF(btf__free)(image->btf);
		free(image->function);
		free(image->module);
		free(image);
	}
	free(p->image);
	free(p);
}

static struct image *image_of(struct prototypes *p, const char *module)
{
	size_t i;

	for (i = 0; i < p->images; i++)
		if (!strcmp(p->image[i]->module, module))
			return p->image[i];
	return load(p, module);
}

/*
 * clang's BTF has the kernel's annotations, which libbpf prints as attributes: "__user" for
 * "__attribute__((btf_type_tag("user")))"
 */
static void shorten_tags(char *text)
{
	static const char begin[] = "__attribute__((btf_type_tag(\"", end[] = "\")))";
	char *tag, *after;

	while ((tag = strstr(text, begin)) && (after = strstr(tag, end))) {
		size_t len = after - (tag + strlen(begin));

		memmove(tag + 2, tag + strlen(begin), len);
		memmove(tag + 2 + len, after + strlen(end), strlen(after + strlen(end)) + 1);
	}
}

/* Declare a parameter in C: "struct file *file" */
static char *declare(struct prototypes *p, struct image *image, const struct btf_param *param)
{
	const char *name = BPF(btf__name_by_offset)(image->btf, param->name_off);
	const struct btf_dump_emit_type_decl_opts options = {
		.sz = sizeof(options), .field_name = name,
	};
	char *text = NULL;
	size_t size = 0;
	long failed;

	if (!param->type)
		return xstrdup("...");
	if (!image->dump) {
		/* Without BPF() this would be a macro of libbpf 0.x */
		image->dump = BPF(btf_dump__new)(image->btf, print, p, NULL);
		failed = BPF(libbpf_get_error)(image->dump);
		if (failed) {
			image->dump = NULL;
			return xstrdup(name);
		}
	}
	p->text = text_open(&text, &size);
	BPF(btf_dump__emit_type_decl)(image->dump, param->type, &options);
	text_close(p->text);
	p->text = NULL;
	shorten_tags(text);
	return text;
}

/* The prototype of a function of an image, or NULL */
static const struct btf_type *find(const struct image *image, const char *name)
{
	const struct function key = { .name = name }, *found;
	const struct btf_type *proto;

	if (!image->nr)
		return NULL;
	found = bsearch(&key, image->function, image->nr, sizeof(key), by_name);
	/* If several functions share the name, it is unknown which one this is */
	if (!found || (found > image->function && !by_name(found - 1, found)) ||
	    (found + 1 < image->function + image->nr && !by_name(found, found + 1)))
		return NULL;
	proto = BPF(btf__type_by_id)(image->btf, found->type);
	return proto && btf_is_func_proto(proto) ? proto : NULL;
}

/* An event's prototype, with parameter names if its iterator exists: its pointer type has none */
static const struct btf_type *find_event(const struct image *image, const char *event)
{
	char *iterator = xasprintf("__traceiter_%s", event);
	char *pointer = xasprintf(EVENT "%s", event);
	const struct btf_type *proto = find(image, iterator) ?: find(image, pointer);

	free(iterator);
	free(pointer);
	return proto;
}

/* Look for an event in the kernel itself first, then in the modules */
static const struct btf_type *find_event_anywhere(struct prototypes *p, const char *event,
						  struct image **image)
{
	DIR *dir = opendir("/sys/kernel/btf");
	const struct btf_type *proto;
	const struct dirent *file;

	*image = image_of(p, "");
	proto = find_event(*image, event);
	while (!proto && dir && (file = readdir(dir)))
		if (file->d_name[0] != '.' && strcmp(file->d_name, "vmlinux")) {
			*image = image_of(p, file->d_name);
			proto = find_event(*image, event);
		}
	if (dir)
		closedir(dir);
	return proto;
}

int prototypes_find(struct prototypes *p, const char *name, char *const **parameter)
{
	const bool event = pattern_event(name);
	const char *end = name + strcspn(name, "@%"), *colon = memrchr(name, ':', end - name);
	const char *start = colon ? colon + 1 : name;
	const struct btf_type *proto;
	char *module, *function;
	struct image *image;
	int nr = -1;

	module = xasprintf("%.*s", colon && !event ? (int)(colon - name) : 0, name);
	function = xasprintf("%.*s", (int)(end - start), start);
	if (event) {
		proto = find_event_anywhere(p, function, &image);
	} else {
		image = image_of(p, module);
		proto = find(image, function);
	}
	free(module);
	free(function);
	forget(p);
	if (proto) {
		nr = btf_vlen(proto);
		p->parameter = xcalloc(nr + 1, sizeof(*p->parameter));
		for (; p->parameters < (unsigned int)nr; p->parameters++)
			p->parameter[p->parameters] =
				declare(p, image, btf_params(proto) + p->parameters);
	}
	*parameter = p->parameter;
	/* An event's first parameter is not part of its TP_PROTO */
	if (nr > 0 && event) {
		(*parameter)++;
		nr--;
	}
	return nr;
}

/* The register of an event's argument, counted from 1; 0 if unknown */
static unsigned int number_of(struct prototypes *p, const char *event, const char *name)
{
	struct image *image;
	const struct btf_type *proto = find_event_anywhere(p, event, &image);
	unsigned int i, nr = proto ? btf_vlen(proto) : 0;

	for (i = 1; i < nr; i++) {
		const struct btf_param *param = btf_params(proto) + i;
		long size = BPF(btf__resolve_size)(image->btf, param->type);

		/* It takes several registers, or none */
		if (size < 1 || size > 8)
			break;
		if (!strcmp(BPF(btf__name_by_offset)(image->btf, param->name_off), name))
			return i;
	}
	return 0;
}

/* Return true if the module itself can parse it */
static bool is_word(const char *word)
{
	return !strcmp(word, "here") ||
	       (!strncmp(word, "arg", 3) && word[3] && !word[3 + strspn(word + 3, "0123456789")]);
}

/* Print one place, with numbers instead of argument names */
static void print_place(struct prototypes **p, FILE *out, const char *place, size_t len)
{
	char *text = xasprintf("%.*s", (int)len, place), *next = text, *word = strsep(&next, "@");
	const char *event = pattern_event(word), *colon = event ? strrchr(word, ':') : NULL;
	unsigned int number;

	fputs(word, out);
	while ((word = strsep(&next, "@"))) {
		number = 0;
		if (event && *word && !strpbrk(event, "*?[") && !is_word(word) &&
		    library_there(LIBBPF)) {
			*p = *p ?: prototypes_open();
			number = number_of(*p, colon + 1, word);
		}
		if (number)
			fprintf(out, "@arg%u", number);
		else
			fprintf(out, "@%s", word);
	}
	free(text);
}

char *prototypes_number(const char *places)
{
	struct prototypes *p = NULL;
	char *text;
	size_t len;
	FILE *out = text_open(&text, &len);

	for (; *places; places += len) {
		len = strspn(places, " ");
		fprintf(out, "%.*s", (int)len, places);
		places += len;
		len = strcspn(places, " ");
		print_place(&p, out, places, len);
	}
	if (p)
		prototypes_close(p);
	text_close(out);
	return text;
}

/* Return true if an enumeration has a negative value */
static bool is_signed(const struct btf_type *type)
{
	unsigned int i;

	for (i = 0; i < btf_vlen(type); i++)
		if (btf_enum(type)[i].val < 0)
			return true;
	return false;
}

bool prototypes_can_fail(struct prototypes *p, const char *module, const char *function)
{
	const struct image *image = image_of(p, module);
	const struct btf_type *type = find(image, function);

	if (!type)
		return true;
	do {
		type = BPF(btf__type_by_id)(image->btf, type->type);
	} while (type && (btf_is_mod(type) || btf_is_typedef(type)));
	if (!type)
		return true;
	if (btf_is_int(type))
		return type->size == 8 || btf_int_encoding(type) & BTF_INT_SIGNED;
	if (btf_is_enum(type))
		return is_signed(type);
	return btf_is_ptr(type) || btf_is_enum64(type);
}
