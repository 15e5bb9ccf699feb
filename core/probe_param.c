// SPDX-License-Identifier: GPL-2.0
/*
 * probe_param.c - parameters probe, pair and trigger
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "filter.h"
#include "kprobe.h"
#include "probe_list.h"

struct sbuf_probe_param sbuf_probe_param, sbuf_pair_param = { .list = SBUF_PAIRS },
			sbuf_trigger_param = { .list = SBUF_TRIGGERS };

/*
 * The parameters' files can be written before init and after exit.  A list that is written before
 * init is only noted; while init sets the noted lists, writes are refused.
 */
static enum { PARAM_EARLY, PARAM_OPENING, PARAM_OPEN, PARAM_CLOSED } param_state;

/* Built in, @text is in the kernel's command line, which stays: memory cannot be allocated yet */
static void free_early(char *text)
{
	if (!SBUF_BUILT_IN)
		kfree(text);
}

static int note_early(struct sbuf_probe_param *list, const char *value)
{
	/* Init has not reached sbuf_probe_init() */
	if (SBUF_BUILT_IN && slab_is_available())
		return -ENODEV;
	free_early(list->insmod);
	list->insmod = SBUF_BUILT_IN ? (char *)value : kstrdup(value, GFP_KERNEL);
	return list->insmod ? 0 : -ENOMEM;
}

/* Free the result of parse_list(), under the same conditions */
static void free_list(struct sbuf_resolver *resolver)
{
	struct sbuf_probe_request *request;

	if (IS_ERR_OR_NULL(resolver))
		return;
	for (request = resolver->request; request < sbuf_resolver_end(resolver); request++)
		sbuf_tracepoint_put(request->event_file);
	kvfree(resolver);
}

/* Parse a list for sbuf_probe_write(), as far as no lock of ours is needed.  May be an ERR_PTR() */
static struct sbuf_resolver *parse_list(const char *text, enum sbuf_probe_list of)
{
	struct sbuf_probe_request *request;
	struct sbuf_resolver *resolver;
	int err;

	resolver = kvzalloc(struct_size(resolver, request, SBUF_REQUESTS_MAX), GFP_KERNEL);
	if (!resolver)
		return ERR_PTR(-ENOMEM);
	resolver->of = of;
	err = sbuf_resolver_split(resolver, text);
	for (request = resolver->request; !err && request < sbuf_resolver_end(resolver);
	     request++) {
		err = sbuf_resolve_parse(request);
		if (!err && request->group)
			request->event_err = sbuf_tracepoint_find(request->group, request->event,
								  &request->event_file);
	}
	if (!err)
		return resolver;
	free_list(resolver);
	return ERR_PTR(err);
}

/*
 * The kernel calls the functions of a parameter under one lock for all parameters of a module.
 * Setting a list takes seconds, and "enable" must not wait for it.  So these functions release that
 * lock, which protects nothing here, while they run.  Callers can still rely on the following:
 *
 * - The module and the written text stay.  The caller either is loading the module, or has the
 *   parameter's file open, for which unloading the module waits.
 * - param_attr_store(), param_attr_show() and parse_one() (kernel/params.c) use nothing that
 *   the lock covers after the call; they only release it.
 * - sbuf_probe_mutex serialises calls for the lists; calls for other parameters use nothing that it
 *   covers.
 *
 * Never acquire the kernel's lock inside sbuf_probe_mutex.
 */
static int set_probe_param(const char *value, const struct kernel_param *param)
{
	struct sbuf_probe_param *list = param->arg;
	struct sbuf_resolver *resolver = NULL;
	int err = -ENODEV;

	if (!value)
		value = "";
	kernel_param_unlock(THIS_MODULE);
	/* Not under sbuf_probe_mutex: event_mutex, which this takes, may nest outside it */
	if (READ_ONCE(param_state) == PARAM_OPEN)
		resolver = parse_list(value, list->list);
	mutex_lock(&sbuf_probe_mutex);
	if (param_state == PARAM_EARLY)
		err = note_early(list, value);
	else if (param_state == PARAM_OPEN && resolver)
		err = sbuf_probe_write(resolver);
	else if (param_state != PARAM_CLOSED)
		err = -EBUSY;
	if (err == -EBUSY && !resolver)
		pr_err("the lists given at load are still being set: write this list again\n");
	mutex_unlock(&sbuf_probe_mutex);
	free_list(resolver);
	kernel_param_lock(THIS_MODULE);
	return err;
}

/* The digits that a trigger's list ends with, and a colon */
#define COUNT_MAX	11

/*
 * Append a name and leave room for a trigger's count, or ",..." instead of names that do not fit,
 * a newline and the NUL
 */
static int emit_name(char *buffer, int *len, const char *name)
{
	if (*len + strlen(name) + COUNT_MAX + 3 > PAGE_SIZE) {
		*len += sysfs_emit_at(buffer, *len, ",...");
		return -ENOSPC;
	}
	*len += sysfs_emit_at(buffer, *len, "%s%s", *len ? "," : "", name);
	return 0;
}

static int get_probe_param(char *buffer, const struct kernel_param *param)
{
	const struct sbuf_probe_param *list = param->arg;
	struct stackbuf_probe *probe;
	int len = 0, err = 0;
	unsigned int i;

	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&sbuf_probe_mutex);
	sbuf_probe_update_missed();
	for (i = 0; STACKBUF_PAIR_PAGES && i < STACKBUF_PAIRS_MAX && !err; i++) {
		const char *name = stackbuf_info.pair[0].pairs.pair[i].name;

		if (list->list == SBUF_PAIRS && name[0])
			err = emit_name(buffer, &len, name);
	}
	for (probe = sbuf_probe_next(NULL); probe; probe = sbuf_probe_next(probe))
		if (list->list != SBUF_PAIRS && probe->lists && !err &&
		    sbuf_probe_param_of(probe) == list->list)
			err = emit_name(buffer, &len, probe->name);
	if (list->list == SBUF_TRIGGERS && len && !err && sbuf_filter_trigger_events())
		len += sysfs_emit_at(buffer, len, ":%u", sbuf_filter_trigger_events());
	mutex_unlock(&sbuf_probe_mutex);
	kernel_param_lock(THIS_MODULE);
	return len + sysfs_emit_at(buffer, len, "\n");
}

static void free_probe_param(void *arg)
{
	free_early(((struct sbuf_probe_param *)arg)->insmod);
}

const struct kernel_param_ops sbuf_probe_ops = {
	.set = set_probe_param,
	.get = get_probe_param,
	.free = free_probe_param,
};

void sbuf_probe_exit(void)
{
	mutex_lock(&sbuf_probe_mutex);
	sbuf_probe_remove_all();
	WRITE_ONCE(param_state, PARAM_CLOSED);
	mutex_unlock(&sbuf_probe_mutex);
	/* A task that waits forever is better than a machine that runs freed code */
	while (sbuf_probes_stuck)
		msleep(MSEC_PER_SEC);
}

/* Set a list that was given to insmod.  In a built-in module an error does not fail init */
static int __init set_early(struct sbuf_probe_param *list)
{
	struct sbuf_resolver *resolver;
	int err;

	if (!list->insmod)
		return 0;
	resolver = parse_list(list->insmod, list->list);
	mutex_lock(&sbuf_probe_mutex);
	err = sbuf_probe_write(resolver);
	mutex_unlock(&sbuf_probe_mutex);
	free_list(resolver);
	free_early(list->insmod);
	list->insmod = NULL;
	if (err && SBUF_BUILT_IN)
		pr_err("no entry of this list is set: write it again to the parameter's file\n");
	return SBUF_BUILT_IN ? 0 : err;
}

int __init sbuf_probe_init(void)
{
	int err;

	sbuf_kprobe_init();
	mutex_lock(&sbuf_probe_mutex);
	WRITE_ONCE(param_state, PARAM_OPENING);
	mutex_unlock(&sbuf_probe_mutex);
	err = set_early(&sbuf_probe_param) ?: set_early(&sbuf_pair_param) ?:
	      set_early(&sbuf_trigger_param);
	if (err) {
		sbuf_probe_exit();
		return err;
	}
	mutex_lock(&sbuf_probe_mutex);
	WRITE_ONCE(param_state, PARAM_OPEN);
	mutex_unlock(&sbuf_probe_mutex);
	return 0;
}
