// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs of the pairs: interrupt affinity hints, and which transmit queue a packet takes (XPS).
 *
 * The online CPUs, in order, are dealt out in equal runs to the pairs in use; with more pairs
 * than CPUs each CPU has several. When a CPU comes or goes everything is dealt out again.
 *
 * A connection that has received something sends on the pair that it received on, whatever the
 * CPU: the host delivers a flow to the pair that it last came from. If answers followed the CPUs
 * of a program that is moved about, the flow would change its receive queue each time, and
 * its packets overtake one another.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>

#include "virtio_net_mq.h"

static enum cpuhp_state vnmq_state_online;
static enum cpuhp_state vnmq_state_dead;

static void vnmq_affinity_apply(struct vnmq_priv *priv, unsigned int index,
				const struct cpumask *mask)
{
	virtqueue_set_affinity(priv->rq[index].vq, mask);
	virtqueue_set_affinity(priv->sq[index].vq, mask);
	/*
	 * Takes no lock that the hotplug callbacks could wait for. Without the map the hash
	 * chooses.
	 */
	__netif_set_xps_queue(priv->dev, cpumask_bits(mask), index, XPS_CPUS);
}

/* Context: as vnmq_affinity_set(). */
static void vnmq_affinity_keep_flows(struct vnmq_priv *priv)
{
	unsigned long *rxq = bitmap_zalloc(priv->dev->num_rx_queues, GFP_KERNEL);
	unsigned int pair;

	if (!rxq)
		return;
	for (pair = 0; pair < priv->curr_pairs; pair++) {
		__set_bit(pair, rxq);
		__netif_set_xps_queue(priv->dev, rxq, pair, XPS_RXQS);
		__clear_bit(pair, rxq);
	}
	bitmap_free(rxq);
}

/**
 * vnmq_affinity_set - deal the online CPUs out to the pairs in use
 * @priv: the device
 *
 * Context: cpus_read_lock, or a CPU hotplug callback.
 */
void vnmq_affinity_set(struct vnmq_priv *priv)
{
	unsigned int pairs = priv->curr_pairs, online = num_online_cpus();
	unsigned int nth = 0, pair = 0, cpu;
	cpumask_var_t mask;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL)) {
		vnmq_affinity_clear(priv);
		return;
	}

	if (online >= pairs) {
		/* The nth CPU belongs to pair nth * pairs / online. */
		for_each_online_cpu(cpu) {
			if (nth++ * pairs / online != pair) {
				vnmq_affinity_apply(priv, pair++, mask);
				cpumask_clear(mask);
			}
			cpumask_set_cpu(cpu, mask);
		}
		vnmq_affinity_apply(priv, pair, mask);
	} else {
		for_each_online_cpu(cpu) {
			cpumask_clear(mask);
			cpumask_set_cpu(cpu, mask);
			for (pair = nth++; pair < pairs; pair += online)
				vnmq_affinity_apply(priv, pair, mask);
		}
	}
	for (pair = pairs; pair < priv->max_pairs; pair++) {
		/* On one of xdp_pairs a CPU sends alone. */
		bool alone = pair - pairs < priv->xdp_pairs && cpu_online(pair - pairs);
		const struct cpumask *own = alone ? cpumask_of(pair - pairs) : NULL;

		virtqueue_set_affinity(priv->rq[pair].vq, own);
		virtqueue_set_affinity(priv->sq[pair].vq, own);
	}

	vnmq_affinity_keep_flows(priv);

	priv->affinity_set = true;
	free_cpumask_var(mask);
}

/**
 * vnmq_affinity_clear - take the hints back
 * @priv: the device; its virtqueues still exist
 *
 * Context: process; no hotplug callback runs, or it is one.
 */
void vnmq_affinity_clear(struct vnmq_priv *priv)
{
	unsigned int i;

	if (!priv->affinity_set)
		return;
	for (i = 0; i < priv->max_pairs; i++) {
		virtqueue_set_affinity(priv->rq[i].vq, NULL);
		virtqueue_set_affinity(priv->sq[i].vq, NULL);
	}
	priv->affinity_set = false;
}

static int vnmq_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	vnmq_affinity_set(hlist_entry_safe(node, struct vnmq_priv, node_online));
	return 0;
}

static int vnmq_cpu_dead(unsigned int cpu, struct hlist_node *node)
{
	vnmq_affinity_set(hlist_entry_safe(node, struct vnmq_priv, node_dead));
	return 0;
}

/**
 * vnmq_affinity_add - follow CPU hotplug
 * @priv: the device; its virtqueues exist until vnmq_affinity_remove()
 *
 * Return: 0 or an error.
 * Context: process.
 */
int vnmq_affinity_add(struct vnmq_priv *priv)
{
	int ret;

	ret = cpuhp_state_add_instance_nocalls(vnmq_state_online, &priv->node_online);
	if (ret)
		return ret;
	ret = cpuhp_state_add_instance_nocalls(vnmq_state_dead, &priv->node_dead);
	if (ret) {
		cpuhp_state_remove_instance_nocalls(vnmq_state_online, &priv->node_online);
		return ret;
	}
	priv->affinity_on = true;
	cpus_read_lock();
	vnmq_affinity_set(priv);
	cpus_read_unlock();
	return 0;
}

/**
 * vnmq_affinity_remove - no longer follow CPU hotplug
 * @priv: the device; its hints stay until vnmq_affinity_clear(). Nothing happens when it does not
 *	(a resume that failed)
 *
 * Context: process.
 */
void vnmq_affinity_remove(struct vnmq_priv *priv)
{
	if (!priv->affinity_on)
		return;
	priv->affinity_on = false;
	cpuhp_state_remove_instance_nocalls(vnmq_state_dead, &priv->node_dead);
	cpuhp_state_remove_instance_nocalls(vnmq_state_online, &priv->node_online);
}

/**
 * vnmq_affinity_init - CPU hotplug states of the module
 *
 * The states have no fixed number: another driver of virtio network devices may be loaded.
 *
 * Return: 0 or an error.
 */
int __init vnmq_affinity_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "net/virtio_mq:online",
				      vnmq_cpu_online, NULL);
	if (ret < 0)
		return ret;
	vnmq_state_online = ret;

	/* The prepare states are left when the CPU is no longer among those online. */
	ret = cpuhp_setup_state_multi(CPUHP_BP_PREPARE_DYN, "net/virtio_mq:dead",
				      NULL, vnmq_cpu_dead);
	if (ret < 0) {
		cpuhp_remove_multi_state(vnmq_state_online);
		return ret;
	}
	vnmq_state_dead = ret;
	return 0;
}

/* vnmq_affinity_exit - undo vnmq_affinity_init() */
void vnmq_affinity_exit(void)
{
	cpuhp_remove_multi_state(vnmq_state_dead);
	cpuhp_remove_multi_state(vnmq_state_online);
}
