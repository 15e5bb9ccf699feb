// SPDX-License-Identifier: GPL-2.0
/*
 * http.c - sends a profile to Pyroscope's endpoint /ingest
 *
 * With format=pprof in the query, its server takes the body as it is for the profile; a body of
 * several parts (multipart/form-data) is what it expects without.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "push/http.h"

#define CONNECT_MS	10000
#define TOKEN_ENV	"STACKBUF_TOKEN"

/* --------------------------------------------------------------- the URL --- */

static char *url_part(CURLU *url, CURLUPart part)
{
	char *text = NULL, *copy;

	if (curl_url_get(url, part, &text, 0))
		return NULL;
	copy = xstrdup(text);
	curl_free(text);
	return copy;
}

static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = url_part(url, part);
	bool has = text;

	free(text);
	return has;
}

/* Is it this machine? */
static bool is_here(const char *host)
{
	return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "[::1]");
}

/* Add /ingest to the path, if it is not there */
static char *add_path(CURLU *url)
{
	char *path = url_part(url, CURLUPART_PATH), *whole, *text;
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		len--;
	if (len >= 7 && !strncmp(path + len - 7, "/ingest", 7))
		len -= 7;
	whole = xasprintf("%.*s/ingest", (int)len, path);
	if (curl_url_set(url, CURLUPART_PATH, whole, 0))
		die(1, "out of memory");
	text = url_part(url, CURLUPART_URL);
	free(whole);
	free(path);
	return text;
}

/*
 * No message has the URL before it is known to hold no password.  Arguments are seen by every user
 * of the machine.
 */
static int check_url(struct server *s, CURLU *url, const char *text)
{
	char *scheme, *host;
	bool plain;

	if (curl_url_set(url, CURLUPART_URL, text, 0) || !strstr(text, "://"))
		return failed(s, "push: the URL must begin with http:// or https://, as http://localhost:4040");
	scheme = url_part(url, CURLUPART_SCHEME);
	plain = !strcmp(scheme, "http");
	if (!plain && strcmp(scheme, "https")) {
		free(scheme);
		return failed(s, "push: the URL must begin with http:// or https://, as http://localhost:4040");
	}
	free(scheme);
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return failed(s, "push: no user or password in the URL, which other users see: use --token-file");
	if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
		return failed(s, "push %s: the URL ends with a path: /ingest and its query are added",
			      text);
	host = url_part(url, CURLUPART_HOST);
	if (s->token && plain && !is_here(host)) {
		free(host);
		return failed(s, "push %s: a token is sent by https:// only, or to this machine",
			      text);
	}
	free(host);
	s->url = add_path(url);
	return 0;
}

/* A header must be one line */
static int check_token(struct server *s, const char *from)
{
	const char *p;

	s->token[strcspn(s->token, "\r\n")] = '\0';
	for (p = s->token; *p; p++)
		if (*p <= ' ' || *p > '~')
			return failed(s, "%s: holds no token: a line of printable ASCII without blanks",
				      from);
	if (!*s->token)
		return failed(s, "%s: holds no token: it is empty", from);
	return 0;
}

static int read_token(struct server *s, const char *file)
{
	const char *text = getenv(TOKEN_ENV);
	size_t room = 0;
	FILE *f;

	if (!file && (!text || !*text))
		return 0;
	if (!file) {
		s->token = xstrdup(text);
		return check_token(s, TOKEN_ENV);
	}
	f = fopen(file, "re");
	if (!f)
		return failed(s, "--token-file %s: cannot be read: %m", file);
	if (getline(&s->token, &room, f) < 0) {
		free(s->token);
		s->token = xstrdup("");
	}
	fclose(f);
	return check_token(s, file);
}

int server_init(struct server *s, const char *text, const char *token_file)
{
	FILE *f = s->ca ? fopen(s->ca, "re") : NULL;
	CURLU *url;
	int ret;

	if (s->ca && !f)
		return failed(s, "--ca %s: cannot be read: %m", s->ca);
	if (f)
		fclose(f);
	if (read_token(s, token_file))
		return -1;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return failed(s, "libcurl does not start");
	url = curl_url();
	if (!url)
		die(1, "out of memory");
	ret = check_url(s, url, text);
	curl_url_cleanup(url);
	return ret;
}

void server_free(struct server *s)
{
	if (s->token)
		explicit_bzero(s->token, strlen(s->token));
	free(s->token);
	free(s->url);
	curl_global_cleanup();
}

char *server_query(const char *name, u64 from, u64 until)
{
	char *escaped = curl_easy_escape(NULL, name, 0), *query;

	if (!escaped)
		die(1, "out of memory");
	query = xasprintf("name=%s&from=%llu&until=%llu&format=pprof", escaped, from, until);
	curl_free(escaped);
	return query;
}

/* -------------------------------------------------------------- the push --- */

/* The beginning of the server's answer, for messages */
struct answer {
	char text[200];
	size_t len;
};

static size_t take_answer(char *data, size_t size, size_t nr, void *arg)
{
	struct answer *a = arg;
	size_t n = size * nr, room = sizeof(a->text) - 1 - a->len;

	memcpy(a->text + a->len, data, n < room ? n : room);
	a->len += n < room ? n : room;
	return n;
}

static struct curl_slist *header(struct curl_slist *list, char *text)
{
	struct curl_slist *longer = curl_slist_append(list, text);

	if (!longer)
		die(1, "out of memory");
	explicit_bzero(text, strlen(text));
	free(text);
	return longer;
}

static struct curl_slist *headers(const struct server *s, const struct push *p)
{
	struct curl_slist *list = NULL;

	list = header(list, xstrdup("Content-Type: application/octet-stream"));
	list = header(list, xstrdup("Expect:"));
	list = header(list, xasprintf("Idempotency-Key: %s", p->key));
	if (s->token)
		list = header(list, xasprintf("Authorization: Bearer %s", s->token));
	return list;
}

/* 0: every option is set */
static int set_options(CURL *curl, const struct server *s, const struct push *p, const char *url,
		       struct answer *answer, char *error)
{
	long ms = s->timeout / 1000000 ? s->timeout / 1000000 : 1;
	int bad = 0;

	bad |= curl_easy_setopt(curl, CURLOPT_URL, url);
	bad |= curl_easy_setopt(curl, CURLOPT_POST, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)p->body);
	bad |= curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->size);
	bad |= curl_easy_setopt(curl, CURLOPT_USERAGENT, "stackbuf/" VERSION);
	bad |= curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : CONNECT_MS);
	bad |= curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ms);
	bad |= curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	if (s->ca)
		bad |= curl_easy_setopt(curl, CURLOPT_CAINFO, s->ca);
	/* Else it would reach the proxy in clear */
	if (s->token && !strncmp(s->url, "http:", 5))
		bad |= curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	bad |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	bad |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	bad |= curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
	return bad;
}

/* What the server answered, where it may help; an answer that quotes the token is not shown */
static void report_status(struct server *s, long status, struct answer *answer)
{
	answer->text[answer->len] = '\0';
	answer->text[strcspn(answer->text, "\r\n")] = '\0';
	if (s->token && strstr(answer->text, s->token))
		*answer->text = '\0';
	failed(s, "%s: answered %ld%s%s%s", s->url, status,
	       status / 100 == 3 ? ", a redirect, which is not followed" : "",
	       *answer->text ? ": " : "", answer->text);
}

/* Those that say that the profile itself is bad or too large.  All else may change */
static bool never(long status)
{
	return status == 400 || status == 413 || status == 415;
}

static enum sent judge(struct server *s, CURL *curl, CURLcode code, const struct push *p,
		       struct answer *answer, const char *error)
{
	curl_off_t uploaded = 0;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &uploaded);
	/* Its text may be cut: the status is the answer */
	if (status >= 200 && status < 300)
		return SENT;
	if (status >= 200) {
		report_status(s, status, answer);
		return never(status) ? SENT_REFUSED : SENT_NOT;
	}
	failed(s, "%s: %s", s->url, *error ? error : curl_easy_strerror(code));
	return uploaded >= (curl_off_t)p->size ? SENT_UNKNOWN : SENT_NOT;
}

enum sent server_push(struct server *s, const struct push *p)
{
	char *url = xasprintf("%s?%s", s->url, p->query), error[CURL_ERROR_SIZE] = "";
	struct curl_slist *list = headers(s, p);
	struct answer answer = { .len = 0 };
	CURL *curl = curl_easy_init();
	enum sent sent;

	if (!curl || curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list) ||
	    set_options(curl, s, p, url, &answer, error)) {
		failed(s, "libcurl does not know an option that is needed, or has no memory");
		sent = SENT_NOT;
	} else {
		sent = judge(s, curl, curl_easy_perform(curl), p, &answer, error);
	}
	curl_easy_cleanup(curl);
	curl_slist_free_all(list);
	free(url);
	return sent;
}
