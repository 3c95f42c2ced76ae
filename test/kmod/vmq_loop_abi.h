/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the test module vmq_loop and the program that plays the device tell each
 * other over /dev/vmq_loop. An open file is one virtio device.
 *
 * The program reads struct vloop_event and answers each of them with a struct
 * vloop_ack by write(). The driver waits for the answer to every event but
 * VLOOP_EV_REGISTERED, VLOOP_EV_GONE and VLOOP_EV_KICK; a kick has to be answered all
 * the same, after the queue has been served: a queue that is not answered
 * within the time limit breaks the device.
 *
 * mmap() gives the machine's memory; the offset is the physical address, which
 * is also what stands in the rings.
 */
#ifndef VMQ_LOOP_ABI_H
#define VMQ_LOOP_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VLOOP_PATH		"/dev/vmq_loop"
#define VLOOP_MAX_QUEUES	1025
#define VLOOP_MAX_CONFIG	128

enum vloop_event_type {
	VLOOP_EV_REGISTERED = 1,	/* value: number of the device, or -errno */
	VLOOP_EV_RESET,			/* stop all rings before answering */
	VLOOP_EV_STATUS,		/* value: the new status byte */
	VLOOP_EV_FIND_VQS,		/* value: number of queues made */
	VLOOP_EV_DEL_VQS,
	VLOOP_EV_QUEUE_RESET,		/* index; stop the ring before answering */
	VLOOP_EV_QUEUE_ENABLE,		/* index; the ring is at a new place */
	VLOOP_EV_KICK,			/* index; of a queue without a kick eventfd */
	VLOOP_EV_GONE,			/* unregistered: nothing follows */
};

struct vloop_event {
	__u64 id;
	__u32 type;
	__u32 index;
	__s64 value;
	__u64 features[2];		/* what the driver accepted, so far */
};

struct vloop_ack {
	__u64 id;
	__s32 ret;			/* 0 or -errno, given to the driver where it can be */
	__u32 reserved;
};

struct vloop_create {
	__u32 device_id;		/* VIRTIO_ID_NET */
	__u32 queues;
	__u32 ring_size;
	__u32 limit_ms;			/* 0: 10 seconds */
	__u64 features[2];
	__u32 config_len;
	__u32 reserved;
	__u8 config[VLOOP_MAX_CONFIG];
};

struct vloop_fd {
	__u32 index;
	__s32 fd;			/* -1: none */
};

struct vloop_vring {
	__u32 index;
	__u32 num;
	__u64 desc;			/* physical addresses */
	__u64 avail;
	__u64 used;
};

struct vloop_config {
	__u32 offset;
	__u32 len;
	__u32 notify;			/* raise the configuration interrupt */
	__u32 reserved;
	__u8 bytes[VLOOP_MAX_CONFIG];
};

#define VLOOP_IOC		0xb7
#define VLOOP_CREATE		_IOW(VLOOP_IOC, 0, struct vloop_create)
#define VLOOP_DESTROY		_IO(VLOOP_IOC, 1)
#define VLOOP_GET_VRING		_IOWR(VLOOP_IOC, 2, struct vloop_vring)
#define VLOOP_SET_KICK		_IOW(VLOOP_IOC, 3, struct vloop_fd)
#define VLOOP_SET_CALL		_IOW(VLOOP_IOC, 4, struct vloop_fd)
#define VLOOP_INTERRUPT		_IOW(VLOOP_IOC, 5, __u32)
#define VLOOP_SET_CONFIG	_IOW(VLOOP_IOC, 6, struct vloop_config)
#define VLOOP_GET_TOP		_IOR(VLOOP_IOC, 7, __u64)
#define VLOOP_BREAK		_IO(VLOOP_IOC, 8)
/* Suspend and resume of the device. */
#define VLOOP_FREEZE		_IO(VLOOP_IOC, 9)
#define VLOOP_RESTORE		_IO(VLOOP_IOC, 10)

#endif /* VMQ_LOOP_ABI_H */
