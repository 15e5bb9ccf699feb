/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http.h - sends a profile to Pyroscope's endpoint /ingest
 */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include "push/spool.h"

/**
 * enum sent - what became of a push
 * @SENT: the server has taken it
 * @SENT_REFUSED: the server will never take it
 * @SENT_NOT: it did not arrive, or the server answered that it has not taken it
 * @SENT_UNKNOWN: all of it was sent, and no answer came
 */
enum sent { SENT, SENT_REFUSED, SENT_NOT, SENT_UNKNOWN };

/**
 * struct server - where to send
 * @url: with /ingest, without a query
 * @token: a secret, or NULL
 * @ca: file of certificates, or NULL: the system's
 * @timeout: ns for a push
 * @error: one line that says what went wrong
 */
struct server {
	char *url;
	char *token;
	const char *ca;
	u64 timeout;
	char error[512];
};

/*
 * Check the URL and read the token: from @token_file, or with NULL from the environment.  Return 0,
 * or -1 with s->error set.  Nothing is sent.
 */
int server_init(struct server *s, const char *url, const char *token_file);
void server_free(struct server *s);

/* "name=...&from=...&until=...&format=pprof", to be freed; seconds since 1970 */
char *server_query(const char *name, u64 from, u64 until);

/* Send a push.  Unless it returns SENT, s->error is set */
enum sent server_push(struct server *s, const struct push *p);

#endif
