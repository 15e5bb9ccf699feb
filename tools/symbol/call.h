/* SPDX-License-Identifier: GPL-2.0 */
/*
 * call.h - is there a call right before an address?
 */
#ifndef CALL_H
#define CALL_H

#include "symbol/elf_file.h"

/*
 * Is the instruction before @addr a call, so that @addr may be a return address?  True, too,
 * where the code cannot be read or its architecture is not known.
 */
bool call_before(struct elf_file *e, u64 addr);

#endif
