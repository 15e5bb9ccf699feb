// SPDX-License-Identifier: GPL-2.0
/*
 * stackbuf_event2 - a module that has stackbuf_event's event in another group, as i915 and xe do
 */
#define STACKBUF_EVENT_OTHER
#include "stackbuf_event.c"
