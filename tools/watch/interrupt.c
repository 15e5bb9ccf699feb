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
