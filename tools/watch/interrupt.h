/* SPDX-License-Identifier: GPL-2.0 */
/*
 * interrupt.h - an end on request: SIGINT, SIGTERM, SIGHUP
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <poll.h>
#include <signal.h>
#include "util.h"

/* Set by the signals, and by a command that has reached its end */
extern volatile sig_atomic_t interrupted;

/*
 * Catch the signals.  From then on they set @interrupted and interrupt what waits, and also
 * what writes unless @flags has SA_RESTART.
 */
void interrupt_catch(int flags);

/* The signals end the program again */
void interrupt_release(void);

/* Wait for a signal, or for one of @file, for @ns at most; ~0ULL: without limit */
void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns);

#endif
