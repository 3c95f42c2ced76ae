/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kernels of the supported range do not all have, under names of our own.
 * Each entry says which kernel brought the newer form; it goes when the floor
 * passes that kernel. VNMQ_HAVE_* come from compat/probes.
 */
#ifndef VNMQ_COMPAT_H
#define VNMQ_COMPAT_H

/* Before any header that prints. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/netdevice.h>
#include <linux/version.h>
#include <linux/skbuff.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/slab.h>
#include <linux/u64_stats_sync.h>
#include <uapi/linux/virtio_net.h>

/* 6.6 moved struct netdev_rx_queue there from linux/netdevice.h. */
#ifdef VNMQ_HAVE_NETDEV_RX_QUEUE_H
#include <net/netdev_rx_queue.h>
#endif

#if KERNEL_VERSION(6, 1, 0) > LINUX_VERSION_CODE
#error "virtio_net_mq needs Linux 6.1 or newer"
#endif

/* 5.17 to 6.3 dropped the _irq form, whose work the plain one does since. */
#ifdef VNMQ_HAVE_FETCH_BEGIN_IRQ
#define vnmq_stats_begin	u64_stats_fetch_begin_irq
#define vnmq_stats_retry	u64_stats_fetch_retry_irq
#else
#define vnmq_stats_begin	u64_stats_fetch_begin
#define vnmq_stats_retry	u64_stats_fetch_retry
#endif

/* 6.2 (USO) and 6.4 (exact header length) */
#define VNMQ_F_GUEST_USO4	54
#define VNMQ_F_GUEST_USO6	55
#define VNMQ_F_HOST_USO		56
#define VNMQ_F_GUEST_HDRLEN	59
/* 6.6 (coalescing of single queues) */
#define VNMQ_F_VQ_NOTF_COAL	52
#define VNMQ_GSO_UDP_L4		5	/* virtio_net_hdr.gso_type: UDP segments, USO */

/* 6.15: what the fragments of an XDP frame take in memory is kept beside their length. */
static inline void vnmq_xdp_add_truesize(struct skb_shared_info *shinfo, unsigned int n)
{
#ifdef VNMQ_HAVE_XDP_FRAGS_TRUESIZE
	shinfo->xdp_frags_truesize = (shinfo->nr_frags ? shinfo->xdp_frags_truesize : 0) + n;
#endif
}

/* One virtqueue to find: the transport's name for it and who answers its interrupt. */
struct vnmq_vq_info {
	const char *name;
	void (*callback)(struct virtqueue *vq);
	bool ctx;	/* buffers are added with a context */
};

/* 6.11: find_vqs() takes one array of structures and no longer four of members. */
static inline int vnmq_find_vqs(struct virtio_device *vdev, unsigned int n,
				struct virtqueue **vqs,
				const struct vnmq_vq_info *want)
{
#ifdef VNMQ_HAVE_VIRTQUEUE_INFO
	struct virtqueue_info *info;
	unsigned int i;
	int ret;

	info = kcalloc(n, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		info[i].name = want[i].name;
		info[i].callback = want[i].callback;
		info[i].ctx = want[i].ctx;
	}
	ret = virtio_find_vqs(vdev, n, vqs, info, NULL);
	kfree(info);
	return ret;
#else
	vq_callback_t **callbacks = kcalloc(n, sizeof(*callbacks), GFP_KERNEL);
	const char **names = kcalloc(n, sizeof(*names), GFP_KERNEL);
	bool *ctx = kcalloc(n, sizeof(*ctx), GFP_KERNEL);
	int ret = -ENOMEM;
	unsigned int i;

	if (callbacks && names && ctx) {
		for (i = 0; i < n; i++) {
			names[i] = want[i].name;
			callbacks[i] = want[i].callback;
			ctx[i] = want[i].ctx;
		}
		ret = virtio_find_vqs_ctx(vdev, n, vqs, callbacks, names, ctx, NULL);
	}
	kfree(ctx);
	kfree(names);
	kfree(callbacks);
	return ret;
#endif
}

/* 6.8: netlink tells which NAPI serves a queue. NULL: none. Context: RTNL. */
static inline void vnmq_queue_set_napi(struct net_device *dev, unsigned int index,
				       struct napi_struct *rx, struct napi_struct *tx)
{
#ifdef VNMQ_HAVE_QUEUE_SET_NAPI
	netif_queue_set_napi(dev, index, NETDEV_QUEUE_TYPE_RX, rx);
	netif_queue_set_napi(dev, index, NETDEV_QUEUE_TYPE_TX, tx);
#endif
}

/* 6.13: what a user set of a NAPI stays while the device is closed. */
static inline void vnmq_napi_add(struct net_device *dev, struct napi_struct *napi,
				 int (*poll)(struct napi_struct *napi, int budget), int weight,
				 unsigned int index)
{
#ifdef VNMQ_HAVE_NAPI_ADD_CONFIG
	netif_napi_add_config(dev, napi, poll, index);
	napi->weight = weight;
#else
	netif_napi_add_weight(dev, napi, poll, weight);
#endif
}

/* 6.13 and stable: a callback after all buffers of the old ring were given back. */
static inline int vnmq_virtqueue_resize(struct virtqueue *vq, u32 num,
					void (*recycle)(struct virtqueue *vq, void *buf))
{
#ifdef VNMQ_HAVE_RESIZE_RECYCLE_DONE
	return virtqueue_resize(vq, num, recycle, NULL);
#else
	return virtqueue_resize(vq, num, recycle);
#endif
}

#endif /* VNMQ_COMPAT_H */
