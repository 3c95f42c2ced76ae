/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A client of /dev/vhost-net with rings in its own memory: what a virtual machine
 * manager and its guest do, without a virtual machine.
 *
 * Everything that a test does not want to look at ends the program when it
 * fails; everything else returns -1 and leaves errno.
 */
#ifndef VHOST_CLIENT_H
#define VHOST_CLIENT_H

#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RX, TX, RINGS };

#define BIT(n)		(1ULL << (n))
#define VERSION_1	BIT(VIRTIO_F_VERSION_1)
#define EVENT_IDX	BIT(VIRTIO_RING_F_EVENT_IDX)
#define INDIRECT	BIT(VIRTIO_RING_F_INDIRECT_DESC)
#define MRG_RXBUF	BIT(VIRTIO_NET_F_MRG_RXBUF)
#define ON_EMPTY	BIT(VIRTIO_F_NOTIFY_ON_EMPTY)
#define VNET_HDR	BIT(VHOST_NET_F_VIRTIO_NET_HDR)

/* The guest's addresses begin here, so that none is good by chance. */
#define GUEST_BASE	0x100000000ULL

struct buf {
	void *addr;		/* in the client's memory */
	uint32_t len;
	bool write;		/* for the device to write */
};

struct ring {
	struct client *client;
	unsigned int index, num;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t next_avail;	/* entries added, the index may lag */
	uint16_t next_used;	/* entries taken */
	uint16_t free;		/* chain of free descriptors */
	unsigned int nfree;
	int kick, call, err;	/* eventfds, -1: none */
	unsigned long kicks;
};

struct client {
	int fd;
	uint8_t *mem;
	size_t size, allocated;
	uint64_t features;
	unsigned int hlen;	/* of the virtio header */
	struct ring rings[RINGS];
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Opened, with memory; nothing set. */
struct client *client_open(size_t size);
void client_close(struct client *client);
void *client_alloc(struct client *client, size_t size, size_t align);
uint64_t guest_address(const struct client *client, const void *addr);

int vhost(struct client *client, unsigned long cmd, const void *arg);
int set_mem(struct client *client);
int set_features(struct client *client, uint64_t features);
int set_state(struct client *client, unsigned long cmd, unsigned int ring, unsigned int num);
int set_file(struct client *client, unsigned long cmd, unsigned int ring, int fd);
int set_addr(struct ring *ring);
int set_ring(struct ring *ring);	/* all but the backend */
int get_base(struct client *client, unsigned int ring);
int set_backend(struct client *client, unsigned int ring, int fd);

/* All of it: owner, features, memory, both rings with eventfds. */
struct client *client_setup(unsigned int num, uint64_t features);
/* The rings of an open client that is owned. */
void client_setup_rings(struct client *client, unsigned int num);
void client_start(struct client *client, int tap);
void client_stop(struct client *client);

/* The guest's driver. Returns the head, or -1 when there is no room. */
int ring_add(struct ring *ring, const struct buf *bufs, unsigned int count);
int ring_add_indirect(struct ring *ring, struct vring_desc *table, const struct buf *bufs,
		      unsigned int count);
/* Makes what was added available. ring_publish() does not kick. */
void ring_publish(struct ring *ring);
void ring_kick(struct ring *ring);
/* Returns the head of the next used chain, or -1; frees its descriptors. */
int ring_take(struct ring *ring, uint32_t *len);
/* Waits for an eventfd; false when it takes longer than @ms. */
bool wait_event(int fd, int ms);
/* Brings an eventfd into the error state that only the kernel can bring it to. */
void event_overflow(int fd);
/* Asks for an interrupt with the next used chain; false when one is there already. */
bool ring_arm(struct ring *ring);
/* Waits until a used chain is there, by interrupt; false after @ms. */
bool ring_wait(struct ring *ring, int ms);

#endif /* VHOST_CLIENT_H */
