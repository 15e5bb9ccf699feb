/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - text from files, for terminals
 */
#ifndef TEXT_H
#define TEXT_H

/*
 * Replace in place what a terminal would obey and what is no UTF-8 by question marks:
 * control characters, the 8-bit ones (C1) too, in either form.  Returns @text.
 */
char *printable(char *text);

#endif
