/* SPDX-License-Identifier: GPL-2.0-only */
/* Dynamic interrupt moderation, in the form that the kernel has. Included once. */
#ifndef VNMQ_COMPAT_DIM_H
#define VNMQ_COMPAT_DIM_H

#include <linux/dim.h>
#include <linux/rtnetlink.h>

/* 6.13: the sample by its address. */
static inline void vnmq_net_dim(struct dim *dim, const struct dim_sample *sample)
{
#ifdef VNMQ_HAVE_DIM_SAMPLE_POINTER
	net_dim(dim, sample);
#else
	net_dim(dim, *sample);
#endif
}

/* 6.11: profiles that ethtool shows and sets. Before, those of the library. */
#ifdef VNMQ_HAVE_DIM_IRQ_MODER
static inline int vnmq_dim_init(struct net_device *dev, void (*work)(struct work_struct *work))
{
	return net_dim_init_irq_moder(dev, DIM_PROFILE_RX, DIM_COALESCE_USEC | DIM_COALESCE_PKTS,
				      DIM_CQ_PERIOD_MODE_START_FROM_EQE, 0, work, NULL);
}

static inline void vnmq_dim_exit(struct net_device *dev)
{
	/* What ethtool reads and writes. */
	rtnl_lock();
	net_dim_free_irq_moder(dev);
	rtnl_unlock();
}

static inline struct dim_cq_moder vnmq_dim_moder(struct net_device *dev, struct dim *dim)
{
	return net_dim_get_rx_irq_moder(dev, dim);
}
#else
static inline int vnmq_dim_init(struct net_device *dev, void (*work)(struct work_struct *work))
{
	return 0;
}

static inline void vnmq_dim_exit(struct net_device *dev)
{
}

static inline struct dim_cq_moder vnmq_dim_moder(struct net_device *dev, struct dim *dim)
{
	return net_dim_get_rx_moderation(dim->mode, dim->profile_ix);
}
#endif

#endif /* VNMQ_COMPAT_DIM_H */
