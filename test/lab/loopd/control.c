// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control queue and the configuration bytes: virtio 1.2, 5.1.4 and 5.1.6.5.
 * Filters are acknowledged and not applied, as with any vhost backend that leaves
 * them to the guest.
 */
#include <endian.h>
#include <errno.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <string.h>
#include <sys/ioctl.h>

#include "loopd.h"

#define F_EVENT_IDX	BIT64(VIRTIO_RING_F_EVENT_IDX)

static struct {
	bool running;
	bool event_idx;
	unsigned int index;
	unsigned int num;
	uint16_t next;		/* entry of the avail ring that comes next */
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
} cq;

static struct virtio_net_config config;

static uint16_t *used_event(void)
{
	return &cq.avail->ring[cq.num];
}

static uint16_t *avail_event(void)
{
	return (uint16_t *)&cq.used->ring[cq.num];
}

void config_init(struct vloop_create *create)
{
	memcpy(config.mac, opt.mac, sizeof(config.mac));
	config.status = htole16(VIRTIO_NET_S_LINK_UP);
	config.max_virtqueue_pairs = htole16(opt.pairs);
	config.mtu = htole16(opt.mtu);
	config.speed = htole32(10000);
	config.duplex = 1;
	create->config_len = sizeof(config);
	memcpy(create->config, &config, sizeof(config));
}

static void config_update(bool notify)
{
	struct vloop_config arg = { .len = sizeof(config), .notify = notify };

	memcpy(arg.bytes, &config, sizeof(config));
	if (ioctl(loop_fd, VLOOP_SET_CONFIG, &arg))
		note("VLOOP_SET_CONFIG: %s", strerror(errno));
}

/* Called when the driver says DRIVER_OK; queue @index is the control queue. */
void control_start(unsigned int index, uint64_t features)
{
	struct vloop_vring ring = { .index = index };

	if (!(features & BIT64(VIRTIO_NET_F_CTRL_VQ)))
		return;
	if (ioctl(loop_fd, VLOOP_GET_VRING, &ring))
		fail("control queue %u: %s", index, strerror(errno));
	cq.desc = memory_at(ring.desc, ring.num * sizeof(*cq.desc));
	cq.avail = memory_at(ring.avail, sizeof(*cq.avail) + (ring.num + 1) * sizeof(uint16_t));
	cq.used = memory_at(ring.used, sizeof(*cq.used) + ring.num * sizeof(cq.used->ring[0]) +
				       sizeof(uint16_t));
	if (!cq.desc || !cq.avail || !cq.used)
		fail("control queue %u is not in memory", index);
	cq.index = index;
	cq.num = ring.num;
	cq.next = 0;
	cq.event_idx = features & F_EVENT_IDX;
	cq.running = true;
	control_serve();
}

void control_stop(void)
{
	cq.running = false;
}

static uint8_t command_mq(uint8_t cmd, const uint8_t *data, size_t len)
{
	uint16_t pairs;

	if (cmd != VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET || len < sizeof(pairs))
		return VIRTIO_NET_ERR;
	memcpy(&pairs, data, sizeof(pairs));
	pairs = le16toh(pairs);
	if (pairs < 1 || pairs > opt.pairs)
		return VIRTIO_NET_ERR;
	note("control: %u queue pairs", pairs);
	backend_set_pairs(pairs);
	return VIRTIO_NET_OK;
}

static uint8_t command_mac(uint8_t cmd, const uint8_t *data, size_t len)
{
	switch (cmd) {
	case VIRTIO_NET_CTRL_MAC_TABLE_SET:
		note("control: filter table of %zu bytes", len);
		return VIRTIO_NET_OK;
	case VIRTIO_NET_CTRL_MAC_ADDR_SET:
		if (len < sizeof(config.mac))
			return VIRTIO_NET_ERR;
		memcpy(config.mac, data, sizeof(config.mac));
		config_update(false);
		note("control: address %02x:%02x:%02x:%02x:%02x:%02x", data[0], data[1],
		     data[2], data[3], data[4], data[5]);
		return VIRTIO_NET_OK;
	}
	return VIRTIO_NET_ERR;
}

static uint8_t command(uint8_t class, uint8_t cmd, const uint8_t *data, size_t len)
{
	uint64_t offloads;
	uint16_t vid;

	switch (class) {
	case VIRTIO_NET_CTRL_RX:
		if (cmd > VIRTIO_NET_CTRL_RX_NOBCAST || len < 1)
			return VIRTIO_NET_ERR;
		note("control: receive mode %u %s", cmd, data[0] ? "on" : "off");
		return VIRTIO_NET_OK;
	case VIRTIO_NET_CTRL_MAC:
		return command_mac(cmd, data, len);
	case VIRTIO_NET_CTRL_VLAN:
		if (cmd > VIRTIO_NET_CTRL_VLAN_DEL || len < sizeof(vid))
			return VIRTIO_NET_ERR;
		memcpy(&vid, data, sizeof(vid));
		note("control: %s VLAN %u", cmd ? "remove" : "add", le16toh(vid));
		return VIRTIO_NET_OK;
	case VIRTIO_NET_CTRL_ANNOUNCE:
		if (cmd != VIRTIO_NET_CTRL_ANNOUNCE_ACK)
			return VIRTIO_NET_ERR;
		config.status &= htole16(~VIRTIO_NET_S_ANNOUNCE);
		config_update(false);
		note("control: announced");
		return VIRTIO_NET_OK;
	case VIRTIO_NET_CTRL_MQ:
		return command_mq(cmd, data, len);
	case VIRTIO_NET_CTRL_GUEST_OFFLOADS:
		if (cmd != VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET || len < sizeof(offloads))
			return VIRTIO_NET_ERR;
		memcpy(&offloads, data, sizeof(offloads));
		note("control: guest offloads 0x%llx", (unsigned long long)le64toh(offloads));
		backend_set_offloads(le64toh(offloads));
		return VIRTIO_NET_OK;
	}
	return VIRTIO_NET_ERR;
}

/* Serve the command in the chain at @head; returns what was written to it. */
static uint32_t serve_chain(uint16_t head)
{
	static uint8_t buf[65536];
	const struct vring_desc *table = cq.desc;
	unsigned int entries = cq.num, left;
	uint8_t *status = NULL;
	struct vring_desc d;
	size_t len = 0;
	void *at;

	if (head >= entries)
		fail("control queue: descriptor %u of %u", head, entries);
	d = table[head];
	if (le16toh(d.flags) & VRING_DESC_F_INDIRECT) {
		entries = le32toh(d.len) / sizeof(d);
		table = memory_at(le64toh(d.addr), le32toh(d.len));
		if (!table || !entries)
			fail("control queue: an indirect table that is none");
		d = table[0];
	}
	for (left = entries; left; left--) {
		at = memory_at(le64toh(d.addr), le32toh(d.len));
		if (!at)
			fail("control queue: a buffer that is not in memory");
		if (le16toh(d.flags) & VRING_DESC_F_WRITE) {
			status = at;
		} else if (le32toh(d.len) <= sizeof(buf) - len) {
			memcpy(buf + len, at, le32toh(d.len));
			len += le32toh(d.len);
		}
		if (!(le16toh(d.flags) & VRING_DESC_F_NEXT))
			break;
		if (le16toh(d.next) >= entries)
			fail("control queue: descriptor %u of %u", le16toh(d.next), entries);
		d = table[le16toh(d.next)];
	}
	if (!status)
		return 0;
	*status = len >= 2 ? command(buf[0], buf[1], buf + 2, len - 2) : VIRTIO_NET_ERR;
	if (*status != VIRTIO_NET_OK)
		note("control: refused class %u command %u of %zu bytes", buf[0], buf[1], len);
	return 1;
}

/* The used entry is visible; does the driver want an interrupt? */
static bool wants_interrupt(uint16_t old, uint16_t new)
{
	/* pairs with the driver's barrier between its used_event and its look at used->idx */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (cq.event_idx)
		return vring_need_event(le16toh(__atomic_load_n(used_event(), __ATOMIC_RELAXED)),
					new, old);
	return !(le16toh(__atomic_load_n(&cq.avail->flags, __ATOMIC_RELAXED)) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}

void control_serve(void)
{
	uint16_t head, old;
	uint32_t len;

	if (!cq.running)
		return;
	for (;;) {
		/* pairs with the driver's barrier before it moves avail->idx */
		if (le16toh(__atomic_load_n(&cq.avail->idx, __ATOMIC_ACQUIRE)) == cq.next) {
			if (!cq.event_idx)
				break;
			*avail_event() = htole16(cq.next);
			/* pairs with the driver's barrier between avail->idx and avail_event */
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (le16toh(__atomic_load_n(&cq.avail->idx, __ATOMIC_ACQUIRE)) == cq.next)
				break;
		}
		head = le16toh(cq.avail->ring[cq.next % cq.num]);
		cq.next++;
		len = serve_chain(head);

		old = le16toh(cq.used->idx);
		cq.used->ring[old % cq.num].id = htole32(head);
		cq.used->ring[old % cq.num].len = htole32(len);
		/* the entry before the index that shows it */
		__atomic_store_n(&cq.used->idx, htole16(old + 1), __ATOMIC_RELEASE);
		if (wants_interrupt(old, old + 1) && ioctl(loop_fd, VLOOP_INTERRUPT, &cq.index))
			note("VLOOP_INTERRUPT: %s", strerror(errno));
	}
}
