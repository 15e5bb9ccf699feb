// SPDX-License-Identifier: GPL-2.0
/*
 * marker.c - the kind of a frame's address, from the text before it
 */
#include <ctype.h>
#include <string.h>
#include "symbol/decode.h"

/* Beginning of the trace printed after this place; "IP:" precedes its report's "RIP:" */
enum after { CALLER, ITSELF, NOTHING, NO_TRACE };

/* A register or a place; a colon or bracket follows, unless the words end in "at" */
struct place {
	const char *text;
	enum frame_kind kind;
	enum after after;
};

static const struct place place[] = {
	/* x86 */
	{ "RIP", FRAME_EXACT, CALLER }, { "EIP", FRAME_EXACT, CALLER },
	{ "rIP", FRAME_EXACT, CALLER }, { "IP", FRAME_EXACT, NO_TRACE },
	{ "EIP is at", FRAME_EXACT, CALLER },
	/* unwind_backtrace() of arm, walk_stackframe() of riscv, unwind_start() of others */
	{ "pc", FRAME_EXACT, ITSELF }, { "PC is at", FRAME_EXACT, ITSELF },
	{ "epc", FRAME_EXACT, ITSELF }, { "ERA", FRAME_EXACT, ITSELF },
	{ "Krnl PSW", FRAME_EXACT, ITSELF },
	{ "NIP", FRAME_EXACT, CALLER }, { "TPC", FRAME_EXACT, CALLER },
	{ "idling at", FRAME_EXACT, NOTHING }, { "interrupt", FRAME_EXACT, CALLER },
	{ "lr", FRAME_RETURN, NO_TRACE }, { "LR", FRAME_RETURN, NO_TRACE },
	{ "LR is at", FRAME_RETURN, NO_TRACE }, { "ra", FRAME_RETURN, NO_TRACE },
	{ "RA", FRAME_RETURN, NO_TRACE }, { "RPC", FRAME_RETURN, NO_TRACE },
	/* For a held lock: _RET_IP_ or _THIS_IP_ */
	{ "at", FRAME_OPEN, NO_TRACE },
};

/* Return true if only a selector, addresses, "at" and brackets precede the frame */
static bool is_address(const char *text, size_t len)
{
	size_t n;

	while (len) {
		n = text_escape(text, len);
		if (!n && !isxdigit((unsigned char)*text) && !strchr(" \t:x[<(>)],t", *text))
			return false;
		text += n ?: 1;
		len -= n ?: 1;
	}
	return true;
}

/* Return true if these words are at @at as whole words, with only an address after them */
static bool leads(const struct place *p, const char *begin, const char *at, const char *end)
{
	const char *rest = at + strlen(p->text);
	size_t n;

	/* The last letter of a colour's escape is not part of a word */
	if (at > begin && isalnum((unsigned char)at[-1]) && at[-1] != 'm')
		return false;
	n = strlen(p->text);
	if (n > 3 && !memcmp(rest - 3, " at", 3))
		return is_address(rest, end - rest);
	while (rest < end && (*rest == ' ' || *rest == '\t'))
		rest++;
	return rest < end && (*rest == ':' || *rest == '[') && is_address(rest, end - rest);
}

static struct marker find_register(const char *before, size_t len)
{
	const char *at, *next, *end = before + len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(place); i++) {
		for (at = NULL, next = before;
		     (next = memmem(next, end - next, place[i].text, strlen(place[i].text)));
		     next++)
			at = next;
		if (at && leads(&place[i], before, at, end))
			return (struct marker){ .at = at, .kind = place[i].kind,
						.registers = place[i].after != NO_TRACE,
						.begins = place[i].after == ITSELF,
						.whole = place[i].after == NOTHING };
	}
	return (struct marker){ .at = NULL };
}

struct marker marker_find(const char *before, size_t len, const char *after, size_t after_len)
{
	/*
	 * "WARNING: CPU: 0 PID: 1 at fs/x.c:12 " and since 6.18 "WARNING: fs/x.c:12 at ": the place
	 * of the warning.  Warnings in other words may name other places
	 */
	static const char warning[] =
		"WARNING:(.* at ([^ ]+:[0-9]+) | ([^ ]+:[0-9]+) at )$";
	static const char fault[] = "KFENCE: .* (read|write) in $";
	struct marker m = find_register(before, len);
	regmatch_t part[REGEX_PARTS], *line;

	if (m.at)
		return m;
	if (text_holds(before, len, "WARNING: ") && text_matches(before, len, warning, part)) {
		line = &part[part[2].rm_so < 0 ? 3 : 2];
		m.at = before + part[0].rm_so;
		m.place = before + line->rm_so;
		m.place_len = line->rm_eo - line->rm_so;
		/* Up to 4.11, "f+0x12/0x34()": the return address of warn_slowpath_common() */
		m.kind = after_len >= 2 && !memcmp(after, "()", 2) ? FRAME_RETURN : FRAME_EXACT;
	} else if (text_matches(before, len, fault, NULL)) {
		m.at = before;
		m.kind = FRAME_EXACT;
		m.begins = true;
	}
	return m;
}
