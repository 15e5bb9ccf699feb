/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ending.h - signals that end the program: noticed, or what is half done is undone before
 */
#ifndef STACKBUF_ENDING_H
#define STACKBUF_ENDING_H

#include <poll.h>
#include <signal.h>
#include "util.h"

/* Set by signals after interrupt_catch(), and by a command that has reached its end */
extern volatile sig_atomic_t interrupted;

/*
 * From here on signals that would end the program set @interrupted instead, and interrupt what
 * waits, and also what writes unless @flags has SA_RESTART.
 */
void interrupt_catch(int flags);

/* They end the program again */
void interrupt_release(void);

/* Wait for a signal, or for one of @file, for @ns at most; ~0ULL: without limit */
void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns);

enum ending { ENDING_FILE, ENDING_PARAMETERS, ENDINGS };

/*
 * A signal that ends the program calls @undo before, NULL: nothing.  It may do what is safe in a
 * signal handler.  While there is one for ENDING_FILE no signal is just noticed.
 */
void ending_undo(enum ending which, void (*undo)(void));

/* Block these signals; sigprocmask() with @before lets them come */
void ending_block(sigset_t *before);

/* For a process that was forked: they end it, and nothing is undone */
void ending_forget(void);

#endif
