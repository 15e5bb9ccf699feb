/* SPDX-License-Identifier: GPL-2.0 */
/*
 * interrupt.h - an end on request: SIGINT, SIGTERM, SIGHUP
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

/* Set by the signals, and by a command that has reached its end */
extern volatile sig_atomic_t interrupted;

/*
 * Catch the signals.  From then on they set @interrupted and interrupt what waits, and also
 * what writes unless @flags has SA_RESTART.
 */
void interrupt_catch(int flags);

#endif
