// SPDX-License-Identifier: GPL-2.0
/*
 * ending.c - signals that end the program: set a flag, or undo unfinished work first
 *
 * All signals that can be caught are caught: with only the usual ones, any other signal would leave
 * a parameter of the module set.
 */
#include <string.h>
#include <unistd.h>
#include "ending.h"

volatile sig_atomic_t interrupted;

static void (*volatile undo[ENDINGS])(void);
static volatile sig_atomic_t noticed;
static int noticed_flags;
static volatile pid_t owner;
static struct sigaction before[NSIG];

/* Return true if the signal is for a fault of the program itself, which cannot continue */
static bool is_fault(int sig)
{
	switch (sig) {
	case SIGABRT: case SIGBUS: case SIGFPE: case SIGILL: case SIGSEGV: case SIGSYS:
	case SIGTRAP:
		return true;
	}
	return false;
}

/* A file that is too large makes write() fail: see main() */
static bool ends(int sig)
{
	switch (sig) {
	case SIGKILL: case SIGSTOP: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGCONT:
	case SIGCHLD: case SIGURG: case SIGWINCH: case SIGXFSZ:
		return false;
	}
	return true;
}

static void on_signal(int sig)
{
	unsigned int i;

	if (noticed && !undo[ENDING_FILE] && !is_fault(sig) && sig != SIGPIPE) {
		interrupted = 1;
		return;
	}
	/* Not in a child before exec() */
	for (i = 0; i < ENDINGS && getpid() == owner; i++)
		if (undo[i])
			undo[i]();
	/* Takes effect when this returns */
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch(int sig)
{
	const struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = noticed ? noticed_flags : 0
	};
	struct sigaction now;

	if (sigaction(sig, NULL, &now))
		return;
	if (now.sa_handler != on_signal)
		before[sig] = now;
	/*
	 * Ignored signals stay ignored, and a sanitizer keeps its handlers.  But a shell without
	 * job control ignores these two for programs that it starts in the background
	 */
	if (now.sa_handler == on_signal || now.sa_handler == SIG_DFL ||
	    (noticed && (sig == SIGINT || sig == SIGQUIT)))
		sigaction(sig, &action, NULL);
}

static void release(int sig)
{
	struct sigaction now;

	if (!sigaction(sig, NULL, &now) && now.sa_handler == on_signal)
		sigaction(sig, &before[sig], NULL);
}

static void update(void)
{
	bool any = noticed;
	unsigned int i;
	int sig;

	for (i = 0; i < ENDINGS; i++)
		any |= !!undo[i];
	for (sig = 1; sig < NSIG; sig++) {
		if (any && ends(sig))
			catch(sig);
		else
			release(sig);
	}
}

void interrupt_catch(int flags)
{
	interrupted = 0;
	noticed = 1;
	noticed_flags = flags;
	owner = getpid();
	update();
}

void interrupt_release(void)
{
	noticed = 0;
	update();
}

void ending_undo(enum ending which, void (*what)(void))
{
	owner = getpid();
	undo[which] = what;
	update();
}

void ending_block(sigset_t *mask)
{
	sigset_t block;
	int sig;

	sigemptyset(&block);
	for (sig = 1; sig < NSIG; sig++)
		if (ends(sig) && !is_fault(sig))
			sigaddset(&block, sig);
	sigprocmask(SIG_BLOCK, &block, mask);
}

void interrupt_wait(struct pollfd *file, unsigned int files, u64 ns)
{
	const struct timespec timeout = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
	sigset_t mask;

	/* Block signals between the check of @interrupted and ppoll(), which unblocks them */
	ending_block(&mask);
	if (!interrupted)
		ppoll(file, files, ns == ~0ULL ? NULL : &timeout, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void ending_forget(void)
{
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		if (ends(sig))
			signal(sig, SIG_DFL);
}
