/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kernels between the floor (6.1) and the ceiling (7.3) do differently,
 * in terms of the newest one. Included before every source file. An entry goes
 * when the floor passes the kernel that introduced it.
 */
#ifndef VHMQ_COMPAT_H
#define VHMQ_COMPAT_H

/* Before any header, and this is the first: every message names the module. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/eventfd.h>
#include <linux/if_tun.h>
#include <linux/version.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>

#if KERNEL_VERSION(6, 1, 0) > LINUX_VERSION_CODE
#error "vhost_net_mq needs Linux 6.1 or newer"
#endif

/* 6.8 */
static inline void vhmq_eventfd_signal(struct eventfd_ctx *ctx)
{
#ifdef VHMQ_HAVE_EVENTFD_SIGNAL_COUNT
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

/*
 * The head of a frame that is handed to tun or tap in a batch, 6.17: the virtio
 * header alone; before, the size of the buffer and the virtio header.
 */
#ifdef VHMQ_HAVE_TUN_XDP_HDR
#define VHMQ_FRAME_HEADER	offsetof(struct tun_xdp_hdr, gso)
static inline void vhmq_frame_set_size(void *frame, unsigned int size)
{
	((struct tun_xdp_hdr *)frame)->buflen = size;
}
#else
#define VHMQ_FRAME_HEADER	0
static inline void vhmq_frame_set_size(void *frame, unsigned int size)
{
}
#endif

/* 7.3 */
#ifndef VHMQ_HAVE_TUN_WAKE_QUEUE
static inline void tun_wake_queue(struct file *file, int consumed)
{
}
#endif

/* 6.6 */
#ifndef VIRTIO_F_IN_ORDER
#define VIRTIO_F_IN_ORDER	35
#endif

/* 6.3 */
#ifndef VIRTIO_F_RING_RESET
#define VIRTIO_F_RING_RESET	40
#endif

/* 6.17; 0x83 takes and gives a count and so many words */
#ifndef VHMQ_HAVE_VHOST_FEATURES_ARRAY
struct vhmq_features_array {
	__u64 count;
	__u64 features[];
};

#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, struct vhmq_features_array)
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, struct vhmq_features_array)
#endif

/* 6.17, and stable kernels before */
#ifndef VHMQ_HAVE_VHOST_FORK_OWNER
#define VHOST_FORK_OWNER_KTHREAD	0
#define VHOST_FORK_OWNER_TASK		1
#define VHOST_SET_FORK_FROM_OWNER	_IOW(VHOST_VIRTIO, 0x84, __u8)
#define VHOST_GET_FORK_FROM_OWNER	_IOR(VHOST_VIRTIO, 0x85, __u8)
#endif

#endif /* VHMQ_COMPAT_H */
