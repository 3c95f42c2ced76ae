// SPDX-License-Identifier: GPL-2.0-only
/*
 * The knobs of a group as text: one parser and one printer for module
 * parameters and sysfs. What is printed can be parsed; a value outside the limits
 * is -ERANGE, anything else that is not understood -EINVAL; nothing is rounded.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "vhost_mq.h"

static const char * const policies[] = {
	[VHMQ_POLICY_RECENT] = "recent",
	[VHMQ_POLICY_PAIR] = "pair",
	[VHMQ_POLICY_SINGLE] = "single",
};

static const char * const placements[] = {
	[VHMQ_PLACE_SPREAD] = "spread",
	[VHMQ_PLACE_SHARED] = "shared",
};

/* Protects vhmq_defaults. */
DEFINE_MUTEX(vhmq_defaults_lock);

struct vhmq_knobs vhmq_defaults = {
	.window = 5,
	.threads = 0,
	.policy = VHMQ_POLICY_RECENT,
	.placement = VHMQ_PLACE_SPREAD,
};

static int parse_number(const char *text, unsigned int max, unsigned int *value)
{
	long long number;
	int ret = kstrtoll(text, 10, &number);

	if (ret)
		return ret;
	if (number < 0 || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

static int parse_list(char *list, struct cpumask *cpus)
{
	int ret;

	if (strchr(list, '\n'))
		return -EINVAL;
	ret = cpulist_parse(list, cpus);
	if (ret == -EOVERFLOW)
		return -ERANGE;
	if (ret)
		return ret;
	if (cpumask_empty(cpus) && *list)
		return -EINVAL;
	return cpumask_subset(cpus, cpu_possible_mask) ? 0 : -ERANGE;
}

/**
 * vhmq_cpulist_parse - read a list of CPUs
 * @text: as in "0-3,8"; nothing for the empty list; a newline may follow
 * @cpus: the result; undefined on error
 *
 * Return: 0, -EINVAL, -ERANGE for CPUs that the machine cannot have, -ENOMEM.
 * Context: process.
 */
int vhmq_cpulist_parse(const char *text, struct cpumask *cpus)
{
	size_t len = strlen(text);
	char *list;
	int ret;

	if (len && text[len - 1] == '\n')
		len--;
	list = kstrndup(text, len, GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	ret = parse_list(list, cpus);
	kfree(list);
	return ret;
}

static int parse_cpus(const char *text, struct cpumask *result)
{
	cpumask_var_t cpus;
	int ret;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	ret = vhmq_cpulist_parse(text, cpus);
	if (!ret)
		cpumask_copy(result, cpus);
	free_cpumask_var(cpus);
	return ret;
}

/**
 * vhmq_knob_parse - read the value of a knob
 * @knob: which one
 * @text: its value; a newline may follow
 * @knobs: where the value goes; unchanged on error
 *
 * Return: 0, -EINVAL, -ERANGE or -ENOMEM.
 * Context: process.
 */
int vhmq_knob_parse(enum vhmq_knob knob, const char *text,
		    struct vhmq_knobs *knobs)
{
	int ret = -EINVAL;

	switch (knob) {
	case VHMQ_KNOB_WINDOW:
		return parse_number(text, VHMQ_WINDOW_MAX, &knobs->window);
	case VHMQ_KNOB_THREADS:
		return parse_number(text, VHMQ_MAX_WORKERS, &knobs->threads);
	case VHMQ_KNOB_CPULIST:
		return parse_cpus(text, &knobs->cpus);
	case VHMQ_KNOB_POLICY:
		ret = sysfs_match_string(policies, text);
		if (ret >= 0)
			knobs->policy = ret;
		break;
	case VHMQ_KNOB_PLACEMENT:
		ret = sysfs_match_string(placements, text);
		if (ret >= 0)
			knobs->placement = ret;
		break;
	}
	return ret < 0 ? ret : 0;
}

/**
 * vhmq_knob_print - write the value of a knob, and a newline
 * @knob: which one
 * @knobs: where it is
 * @page: a page
 *
 * Return: number of characters.
 * Context: any.
 */
int vhmq_knob_print(enum vhmq_knob knob, const struct vhmq_knobs *knobs,
		    char *page)
{
	switch (knob) {
	case VHMQ_KNOB_WINDOW:
		return sysfs_emit(page, "%u\n", knobs->window);
	case VHMQ_KNOB_THREADS:
		return sysfs_emit(page, "%u\n", knobs->threads);
	case VHMQ_KNOB_CPULIST:
		return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(&knobs->cpus));
	case VHMQ_KNOB_POLICY:
		return sysfs_emit(page, "%s\n", policies[knobs->policy]);
	case VHMQ_KNOB_PLACEMENT:
		return sysfs_emit(page, "%s\n", placements[knobs->placement]);
	}
	return 0;
}

/* ------------------------------------------------------------------------
 * Module parameters: defaults. A bad one fails the load with -EINVAL.
 */

/* What a value has to be, for who gave another. */
static const char * const wants[] = {
	[VHMQ_KNOB_WINDOW] = "0 to " __stringify(VHMQ_WINDOW_MAX),
	[VHMQ_KNOB_THREADS] = "0 (automatic) to " __stringify(VHMQ_MAX_WORKERS),
	[VHMQ_KNOB_CPULIST] = "a list, as in 0-3,8, of CPUs that this machine can have",
	[VHMQ_KNOB_POLICY] = "recent, pair or single",
};

static int param_set(const char *text, const struct kernel_param *param)
{
	enum vhmq_knob knob = (unsigned long)param->arg;
	int ret = -EINVAL;

	if (text) {
		mutex_lock(&vhmq_defaults_lock);
		ret = vhmq_knob_parse(knob, text, &vhmq_defaults);
		mutex_unlock(&vhmq_defaults_lock);
	}
	if (!ret)
		return 0;
	pr_err("%s=%s: must be %s\n", param->name, text ?: "", wants[knob]);
	return ret == -ERANGE ? -EINVAL : ret;
}

static int param_get(char *page, const struct kernel_param *param)
{
	enum vhmq_knob knob = (unsigned long)param->arg;
	int ret;

	mutex_lock(&vhmq_defaults_lock);
	ret = vhmq_knob_print(knob, &vhmq_defaults, page);
	mutex_unlock(&vhmq_defaults_lock);
	return ret;
}

const struct kernel_param_ops vhmq_knob_param = {
	.set = param_set,
	.get = param_get,
};
