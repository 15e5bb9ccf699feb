// SPDX-License-Identifier: GPL-2.0
/*
 * interrupt.c - an end on request: SIGINT, SIGTERM, SIGHUP
 */
#include "watch/interrupt.h"

volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void interrupt_catch(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	interrupted = 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

void interrupt_release(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns)
{
	const struct timespec timeout = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
	sigset_t blocked, before;

	/* Block signals between the check of @interrupted and ppoll(), which unblocks them */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	if (!interrupted)
		ppoll(file, files, ns == ~0ULL ? NULL : &timeout, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
