// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost_net_mq: the module, its parameters and /dev/vhost-net.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
#include "vhost_mq.h"

module_param_cb(window_jiffies, &vhmq_knob_param, (void *)VHMQ_KNOB_WINDOW, 0444);
MODULE_PARM_DESC(window_jiffies,
		 "Time, in jiffies, in which a transmit queue counts as used (default 5)");

module_param_cb(threads, &vhmq_knob_param, (void *)VHMQ_KNOB_THREADS, 0444);
MODULE_PARM_DESC(threads, "Worker threads of a network interface (default 0: automatic)");

module_param_cb(cpulist, &vhmq_knob_param, (void *)VHMQ_KNOB_CPULIST, 0444);
MODULE_PARM_DESC(cpulist, "CPUs of the worker threads (default empty: as the owner)");

module_param_cb(policy, &vhmq_knob_param, (void *)VHMQ_KNOB_POLICY, 0444);
MODULE_PARM_DESC(policy, "Which thread serves a queue: recent (default), pair or single");

/* With none nothing would work. */
static int set_limit(const char *text, const struct kernel_param *param)
{
	int ret = param_set_uint_minmax(text, param, 1, U16_MAX);

	if (!ret)
		return 0;
	pr_err("%s=%s: must be 1 to %u\n", param->name, text, U16_MAX);
	return -EINVAL;
}

static const struct kernel_param_ops limit_ops = {
	.set = set_limit,
	.get = param_get_uint,
};

unsigned int vhmq_max_mem_regions = 64;
module_param_cb(max_mem_regions, &limit_ops, &vhmq_max_mem_regions, 0444);
MODULE_PARM_DESC(max_mem_regions, "Most regions in a memory table (default 64)");

unsigned int vhmq_max_iotlb_entries = 2048;
module_param_cb(max_iotlb_entries, &limit_ops, &vhmq_max_iotlb_entries, 0444);
MODULE_PARM_DESC(max_iotlb_entries, "Most translations in a device IOTLB (default 2048)");

bool vhmq_fork_from_owner_default = VHMQ_CAN_FORK_FROM_OWNER;
#if VHMQ_CAN_FORK_FROM_OWNER
module_param_named(fork_from_owner_default, vhmq_fork_from_owner_default, bool, 0444);
MODULE_PARM_DESC(fork_from_owner_default,
		 "Worker threads belong to the owner; else to the kernel (default Y)");
#endif

static struct miscdevice vhmq_misc = {
	.minor	= VHOST_NET_MINOR,
	.name	= "vhost-net",
	.fops	= &vhmq_fops,
};

DECLARE_COMPLETION(vhmq_up);
int vhmq_up_error;

static int __init vhmq_init(void)
{
	int ret = misc_register(&vhmq_misc);

	if (ret == -EBUSY || ret == -EEXIST) {
		pr_err("/dev/vhost-net belongs to vhost_net: end its users, rmmod vhost_net, then try again\n");
		return -EBUSY;
	}
	if (ret)
		return ret;

	/*
	 * The file can be opened already, and mq/, below its device, is still to
	 * come. Opening holds a lock that deregistering takes: nobody is in there
	 * when this returns.
	 */
	ret = vhmq_groups_init(&vhmq_misc);
	vhmq_up_error = ret;
	complete_all(&vhmq_up);
	if (ret)
		misc_deregister(&vhmq_misc);
	return ret;
}
module_init(vhmq_init);

static void __exit vhmq_exit(void)
{
	vhmq_groups_exit();
	misc_deregister(&vhmq_misc);
}
module_exit(vhmq_exit);

MODULE_DESCRIPTION("Host side of virtio networking with few threads for many queues");
MODULE_VERSION(VMQ_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_MISCDEV(VHOST_NET_MINOR);
MODULE_ALIAS("devname:vhost-net");
