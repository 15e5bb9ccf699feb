// SPDX-License-Identifier: GPL-2.0
/*
 * log_kernel.c - identify the kernel of a log
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "symbol/symbols.h"
#include "symbol/decode.h"

/* A kernel's release, as "uname -r" prints it */
#define RELEASE	"([0-9]+\\.[0-9][^[:space:];]*)"

/*
 * Text that may precede a line of the kernel itself.  "init: " and "init[1]: " are from a process
 * that writes to the log; "kernel: " and "kernel[0]: " are not, nor is "kernel - - - " of RFC 5424
 */
static const char own[] =
	"(^|- - -|kernel\\[[0-9]+]:|kernel:|[^][:alnum:]]:|[^[:alpha:][:space:]:-]|"
	"[0-9][[:alpha:]])[[:space:]]*$";

static void announce(struct srcline *l, const char *line, const regmatch_t *release,
		     const char *banner, const char *id)
{
	char *name = xasprintf("%.*s", (int)(release->rm_eo - release->rm_so),
			       line + release->rm_so);

	srcline_set_kernel(l, name, banner, id);
	free(name);
}

/* "Comm: cat Not tainted 6.1.0 #1", "Tainted: P 6.1.0 #1" of a hung task; RHEL has '-', too */
static const char after_tainted[] = "(Not tainted|Tainted: )[A-Z -]*" RELEASE " #";
/* "6.1.0 #1 Not tainted", of lockdep and RCU */
static const char before_tainted[] =
	"(^|[[:space:];])" RELEASE " #[0-9]+[[:space:]]+(Not t|T)ainted";

void learn_kernel(struct srcline *l, const char *line, size_t len)
{
	regmatch_t part[REGEX_PARTS], id[REGEX_PARTS];
	char build_id[BUILD_ID_DIGITS + 1] = "", *banner;

	len = text_trim(line, len);
	if (text_holds(line, len, "Linux version ") &&
	    text_matches(line, len, "Linux version " RELEASE "(.*)", part)) {
		if (!text_matches(line, part[0].rm_so, own, NULL))
			return;
		/* Some logs cut the line after the release */
		banner = xasprintf("%.*s", (int)(len - part[0].rm_so), line + part[0].rm_so);
		announce(l, line, &part[1], part[2].rm_eo > part[2].rm_so ? banner : NULL, NULL);
		free(banner);
		return;
	}
	if (!text_holds(line, len, "ainted") ||
	    !(text_matches(line, len, after_tainted, part) ||
	      (text_matches(line, len, before_tainted, part) &&
	       text_matches(line, part[2].rm_so, own, NULL))))
		return;
	/* With CONFIG_STACKTRACE_BUILD_ID */
	if (text_matches(line, len, " ([0-9a-f]{32,})$", id) &&
	    id[1].rm_eo - id[1].rm_so <= BUILD_ID_DIGITS)
		memcpy(build_id, line + id[1].rm_so, id[1].rm_eo - id[1].rm_so);
	announce(l, line, &part[2], NULL, *build_id ? build_id : NULL);
}
