/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stackbuf_event_trace.h - the event of stackbuf_event
 */
#undef TRACE_SYSTEM
#ifdef STACKBUF_EVENT_OTHER
#define TRACE_SYSTEM stackbuf_other
#else
#define TRACE_SYSTEM stackbuf_test
#endif

#if !defined(STACKBUF_EVENT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define STACKBUF_EVENT_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(stackbuf_numbered,
	    TP_PROTO(const void *nothing, unsigned long number),
	    TP_ARGS(nothing, number),
	    TP_STRUCT__entry(__field(unsigned long, number)),
	    TP_fast_assign(__entry->number = number;),
	    TP_printk("number=%lu", __entry->number)
);

#endif /* STACKBUF_EVENT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE stackbuf_event_trace
#include <trace/define_trace.h>
