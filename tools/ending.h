/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ending.h - signals that end the program: set a flag, or undo unfinished work first
 */
#ifndef STACKBUF_ENDING_H
#define STACKBUF_ENDING_H

#include <poll.h>
#include <signal.h>
#include "util.h"

/* Set by signals after interrupt_catch(), and by a command that is done */
extern volatile sig_atomic_t interrupted;

/*
 * From now on, signals that would end the program set @interrupted instead.  They interrupt waiting
 * system calls, and writing ones unless @flags has SA_RESTART.
 */
void interrupt_catch(int flags);

/* Let signals end the program again */
void interrupt_release(void);

/* Wait for a signal or an event on one of @file, for at most @ns; ~0ULL: without limit */
void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns);

enum ending { ENDING_FILE, ENDING_PARAMETERS, ENDINGS };

/*
 * A signal that ends the program first calls @undo, which must be safe in a signal handler; NULL:
 * none.  While ENDING_FILE has one, every signal ends the program.
 */
void ending_undo(enum ending which, void (*undo)(void));

/* Block these signals; sigprocmask() with @before unblocks them */
void ending_block(sigset_t *before);

/* For a forked process: signals end it, and nothing is undone */
void ending_forget(void);

#endif
