// SPDX-License-Identifier: GPL-2.0
/*
 * probe_parse.c - parsing of users' input: lists of probes, pairs and triggers, and names of places
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "pair.h"
#include "probe_resolve.h"

int sbuf_refuse(const struct sbuf_probe_request *request, const char *fmt, ...)
{
	struct va_format reason = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	reason.va = &args;
	pr_err("probe: %.*s: %pV\n", (int)request->len, request->name, &reason);
	va_end(args);
	return -EINVAL;
}

/* Add a request: a copy of @like with another name */
static int add_request(struct sbuf_resolver *resolver, const char *name, unsigned int len,
		       const struct sbuf_probe_request *like)
{
	struct sbuf_probe_request *request = sbuf_resolver_end(resolver);

	*request = *like;
	request->name = name;
	request->len = len;
	if (resolver->nr == STACKBUF_PROBES_MAX) {
		sbuf_refuse(request, "no room: at most %d probes", STACKBUF_PROBES_MAX);
		return -ENOSPC;
	}
	resolver->nr++;
	return 0;
}

/* Return the next part of a list, without blanks around it, and its length; advance *@text */
static const char *next_part(const char **text, const char *end, const char *separators,
			     unsigned int *len)
{
	const char *part = *text, *next = part;

	while (next < end && !strchr(separators, *next))
		next++;
	*text = next + 1;
	while (part < next && isspace(*part))
		part++;
	while (next > part && isspace(next[-1]))
		next--;
	*len = next - part;
	return part;
}

/* Add requests, copies of @like, for the names up to @end, without the blanks around them */
static int split_list(struct sbuf_resolver *resolver, const char *text, const char *end,
		      const char *separators, const struct sbuf_probe_request *like)
{
	unsigned int len;
	int err = 0;

	while (text < end && !err) {
		const char *part = next_part(&text, end, separators, &len);

		err = len ? add_request(resolver, part, len, like) : 0;
	}
	return err;
}

#if STACKBUF_PAIR_PAGES
/* Add the places of the pair named @text.  Blanks separate the places that open, or close */
static int split_pair(struct sbuf_resolver *resolver, const char *text, unsigned int len)
{
	const char *preset = sbuf_pair_preset(text, len), *from = preset ?: text;
	const char *end = from + (preset ? strlen(preset) : len), *middle;
	/* number_pairs() sets the pair's number later, under sbuf_probe_mutex */
	struct sbuf_probe_request like = {
		.pair = 1, .role = STACKBUF_PAIR_OPENS, .pair_name = text, .pair_len = len,
		.preset = preset,
	};
	bool key = false;
	int err;

	/* A place may contain colons, but not after its key */
	for (middle = from;
	     middle < end && !(preset ? *middle == '|' : key && *middle == ':'); middle++)
		key = *middle == '@' || (key && *middle != ' ');
	if (!memchr(middle, '@', end - middle)) {
		pr_err("pair: %.*s: OPEN@KEY[@VALUE]:CLOSE@KEY, slab, page, offcpu, wakers or contention is accepted\n",
		       (int)len, text);
		return -EINVAL;
	}
	err = split_list(resolver, from, middle, " ", &like);
	like.role = STACKBUF_PAIR_CLOSES;
	return err ?: split_list(resolver, middle + 1, end, " ", &like);
}

static int split_pairs(struct sbuf_resolver *resolver, const char *text)
{
	const char *end = text + strlen(text);
	unsigned int len;
	int err = 0;

	while (text < end && !err) {
		const char *part = next_part(&text, end, ",\n", &len);

		err = len ? split_pair(resolver, part, len) : 0;
	}
	return err;
}
#else
static inline int split_pairs(struct sbuf_resolver *resolver, const char *text) { return -EINVAL; }
#endif

/* Split a list of places and the number of events to record after a hit of one */
static int split_triggers(struct sbuf_resolver *resolver, const char *text)
{
	static const struct sbuf_probe_request like = { .role = STACKBUF_TRIGGERS };
	const char *end = text + strlen(text), *count, *digit;
	u64 events = 0;

	while (end > text && isspace(end[-1]))
		end--;
	for (count = end; count > text && isdigit(count[-1]); count--)
		;
	if (count > text && count < end && count[-1] == ':') {
		for (digit = count; digit < end && events <= U32_MAX; digit++)
			events = 10 * events + *digit - '0';
		if (count == text + 1 || events > U32_MAX) {
			pr_err("trigger: %.*s: PLACE[:EVENTS] is accepted\n", (int)(end - text),
			       text);
			return -EINVAL;
		}
		end = count - 1;
	}
	resolver->events = events;
	return split_list(resolver, text, end, ",\n", &like);
}

int sbuf_resolver_split(struct sbuf_resolver *resolver, const char *text)
{
	static const struct sbuf_probe_request like = {};

	if (resolver->of == SBUF_PAIRS)
		return split_pairs(resolver, text);
	if (resolver->of == SBUF_TRIGGERS)
		return split_triggers(resolver, text);
	resolver->add = text[0] == '+';
	text += resolver->add;
	return split_list(resolver, text, text + strlen(text), ",\n", &like);
}

/* Split [PREFIX:]NAME: return the name, and set *@prefix if there is one */
static const char *split_prefix(char *text, const char **prefix)
{
	char *name = text;

	strsep(&name, ":");
	if (name)
		*prefix = text;
	return name ?: text;
}

/* Parse [GROUP:]EVENT */
static int parse_event(struct sbuf_probe_request *request, char *text)
{
	request->event = split_prefix(text, &request->group);
	if (!text[0] || !request->event[0] || strpbrk(request->event, ":+ \t\"'*?[]{}()/\\"))
		return sbuf_refuse(request, "t:[GROUP:]EVENT is accepted, with @argN");
	return 0;
}

/* Names of arguments, in the prototype's order: features.sh reads the kernel's headers */
static const struct { const char *event, *arguments; } events[] = {
	SBUF_EVENT_ARGUMENTS
};

/* Return the names of an event's arguments, or NULL if they are not known */
static const char *arguments_of(const char *event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].event, event))
			return events[i].arguments;
	return NULL;
}

/* Return the number of argN, or of a tracepoint's named argument, counted from 1; 0 if unknown */
static unsigned int parse_argument(const char *event, const char *word)
{
	const char *at = event ? arguments_of(event) ?: "" : "";
	size_t len = strlen(word);
	unsigned int n;

	if (!strncmp(word, "arg", 3) && isdigit(word[3]) && !kstrtouint(word + 3, 10, &n))
		return n;
	for (n = 1; *at; at += strcspn(at, " "), at += *at == ' ', n++)
		if (strcspn(at, " ") == len && !strncmp(at, word, len))
			return n;
	return 0;
}

static int refuse_argument(const struct sbuf_probe_request *request, const char *event,
			   const char *word, unsigned int most)
{
	const char *arguments = arguments_of(event);
	unsigned int n = parse_argument(event, word);

	if (n)
		return sbuf_refuse(request, "@%s is argument %u: @arg1 to @arg%u is accepted", word,
				   n, most);
	if (arguments)
		return sbuf_refuse(request, "@%s: the arguments of %s are %s", word, event,
				   arguments);
	return sbuf_refuse(request,
			   "@%s: this module knows no arguments of %s by name: if there is such an event, @arg1 to @arg%u is accepted",
			   word, event, most);
}

/*
 * Parse the word after a place's key.  An argument gives the value of the object that a pair opens,
 * or the number of objects in an array that it closes.  "here" counts times for the stack that
 * closes.  Only presets may use the other words: the argument must be of the type that each expects
 */
static int parse_value(struct sbuf_probe_request *request, const char *event, const char *word,
		       unsigned int most)
{
	static const struct { const char *word; u8 kind; } closes[] = {
		{ "here", SBUF_VALUE_HERE }, { "awake", SBUF_VALUE_AWAKE },
		{ "moved", SBUF_VALUE_MOVED }, { "wait", SBUF_VALUE_WAIT },
	}, kinds[] = {
		{ "", 0 }, { "cache=", SBUF_VALUE_CACHE }, { "order=", SBUF_VALUE_ORDER },
		{ "preempted=", SBUF_VALUE_PREEMPTED }, { "large=", SBUF_VALUE_LARGE },
		{ "wait=", SBUF_VALUE_WAIT },
	};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(closes) && request->role == STACKBUF_PAIR_CLOSES; i++) {
		if (strcmp(word, closes[i].word) || (i && !request->preset))
			continue;
		request->value = closes[i].kind;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(kinds) && request->pair; i++) {
		size_t len = strlen(kinds[i].word);

		if (strncmp(word, kinds[i].word, len) || (i && !request->preset))
			continue;
		n = parse_argument(event, word + len);
		if (!n || n > most)
			continue;
		request->value = n | kinds[i].kind;
		return 0;
	}
	if (request->pair && event && strcmp(word, "here"))
		return refuse_argument(request, event, word, most);
	return sbuf_refuse(request, "only the places of a pair take a second @argN, and only CLOSE takes @here");
}

/* Parse the suffix of FUNCTION%return, which comes before the tag */
static int parse_return(struct sbuf_probe_request *request, char *suffix)
{
	if (strcmp(suffix, "return"))
		return sbuf_refuse(request, "only %%return is accepted after %%");
	if (request->value & SBUF_VALUE_ARGUMENT)
		return sbuf_refuse(request, "arguments are not known where a function returns");
	if (strpbrk(request->text, "+ ") || !strncmp(request->text, "0x", 2) ||
	    strstr(request->text, ".cold"))
		return sbuf_refuse(request, "a return has no offset: [MODULE:]FUNCTION%%return is accepted, or a PATTERN");
	request->returns = true;
	return 0;
}

/* Parse "took", optionally with a time, as in "took10ms" */
static bool parse_took(struct sbuf_probe_request *request, const char *word)
{
	static const struct { const char *name; u32 ns; } units[] = {
		{ "", 0 }, { "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
	};
	unsigned int i;
	u64 n = 0;

	if (strncmp(word, "took", 4) || request->pair)
		return false;
	for (word += 4; isdigit(*word) && n < U32_MAX; word++)
		n = 10 * n + *word - '0';
	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(word, units[i].name) && !n == !i && n <= U32_MAX) {
			request->least = n * units[i].ns;
			return true;
		}
	return false;
}

/* Return the tag of a return probe that @word names, or 0 */
static u8 return_tag(struct sbuf_probe_request *request, const char *word)
{
	return !strcmp(word, "retval") ? STACKBUF_PROBE_RETVAL :
	       !strcmp(word, "error") ? STACKBUF_PROBE_ERROR :
	       !strcmp(word, "null") ? STACKBUF_PROBE_NULL :
	       !strcmp(word, "sp") ? STACKBUF_PROBE_SP :
	       parse_took(request, word) ? STACKBUF_PROBE_TOOK : 0;
}

int sbuf_resolve_parse(struct sbuf_probe_request *request)
{
	char *text = request->text, *at, *plus, *colon, *value, *suffix = text;
	const char *event = NULL;
	unsigned int n = 0, most;

	if (request->len >= sizeof(request->text))
		return sbuf_refuse(request, "longer than %zu bytes: give the address, 0x...",
				   sizeof(request->text) - 1);
	memcpy(text, request->name, request->len);
	text[request->len] = '\0';
	at = text;
	strsep(&at, "@");
	if (!strncmp(text, "t:", 2) || !strncmp(text, "tracepoint:", 11))
		event = strrchr(text, ':') + 1;
	most = event ? SBUF_TRACEPOINT_ARGUMENTS : SBUF_ARGUMENTS;
	value = at;
	if (at)
		strsep(&value, "@");
	if (value && parse_value(request, event, value, most))
		return -EINVAL;
	strsep(&suffix, "%");
	if (suffix && event)
		return sbuf_refuse(request, "a tracepoint does not return: FUNCTION%%return is accepted");
	if (suffix && parse_return(request, suffix))
		return -EINVAL;
	if (at && request->returns) {
		request->tag = return_tag(request, at);
		if (!request->tag)
			return sbuf_refuse(request,
					   "%%return with @retval, @error, @null, @took, @took10ms or @sp is accepted, not @%s",
					   at);
	} else if (at) {
		if (!event && !strcmp(at, "retaddr"))
			request->tag = STACKBUF_PROBE_RETADDR;
		else if (!event && !strcmp(at, "sp"))
			request->tag = STACKBUF_PROBE_SP;
		else
			n = parse_argument(event, at);
		if (n && n <= most)
			request->tag = n;
		if (!request->tag && event)
			return refuse_argument(request, event, at, most);
		if (!request->tag)
			return sbuf_refuse(request,
					   "@arg1 to @arg%d, @retaddr or @sp is accepted, not @%s",
					   most, at);
	}
	/* A malformed count would be taken for MODULE:FUNCTION */
	colon = event ? NULL : strchr(text, ':');
	if (request->role == STACKBUF_TRIGGERS && colon && isdigit(colon[1]))
		return sbuf_refuse(request, "PLACE[:EVENTS] is accepted");
	if (request->pair && !request->tag)
		return sbuf_refuse(request, "each place of a pair needs a key: @argN");
	request->function = "";
	if (event)
		return parse_event(request, strchr(text, ':') + 1);
	if (!strncmp(text, "0x", 2)) {
		if (!kstrtoul(text, 16, &request->addr) && request->addr)
			return 0;
		return sbuf_refuse(request, "not an address: 0x and hexadecimal digits are accepted");
	}
	plus = text;
	strsep(&plus, "+");
	if (plus && (!isdigit(plus[0]) || kstrtouint(plus, 0, &request->offset)))
		return sbuf_refuse(request, "not an offset: FUNCTION+NUMBER is accepted, up to 0xffffffff");
	/* A ".cold" part is entered by a jump from the middle of its function, not by a call */
	if (request->tag && !request->returns && (request->offset || strstr(text, ".cold")))
		return sbuf_refuse(request, "@%s is known only at the beginning of a function", at);
	request->function = split_prefix(text, &request->module);
	/* As modprobe */
	if (request->module)
		strreplace(text, '-', '_');
	request->pattern = strpbrk(request->function, "*?[");
	if (!text[0] || !request->function[0] ||
	    (request->module && strpbrk(request->module, " \t\"'*?[]{}()/\\")) ||
	    strpbrk(request->function, request->pattern ? ": \t\"'{}()/\\" : ": \t\"']{}()/\\") ||
	    (request->pattern && plus))
		return sbuf_refuse(request, "[MODULE:]FUNCTION[+OFFSET], [MODULE:]PATTERN or 0xADDRESS is accepted, each with @argN or @retaddr, functions with %%return");
	return 0;
}
