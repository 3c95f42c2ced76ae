// SPDX-License-Identifier: GPL-2.0-only
/*
 * Features: the device offers what it does itself (control queue), what the tap
 * does (offloads) and what vhost does (rings), less what was switched off.
 */
#include <linux/if_tun.h>
#include <string.h>

#include "loopd.h"

#ifndef TUN_F_USO4
#define TUN_F_USO4	0x20
#define TUN_F_USO6	0x40
#endif

enum {
	CSUM = 0, GUEST_CSUM = 1, CTRL_GUEST_OFFLOADS = 2, MTU = 3, MAC = 5, GUEST_TSO4 = 7,
	GUEST_TSO6 = 8, GUEST_ECN = 9, GUEST_UFO = 10, HOST_TSO4 = 11, HOST_TSO6 = 12,
	HOST_ECN = 13, HOST_UFO = 14, MRG_RXBUF = 15, STATUS = 16, CTRL_VQ = 17, CTRL_RX = 18,
	CTRL_VLAN = 19, GUEST_ANNOUNCE = 21, MQ = 22, CTRL_MAC_ADDR = 23,
	NOTIFY_ON_EMPTY = 24, ANY_LAYOUT = 27, INDIRECT_DESC = 28, EVENT_IDX = 29,
	VERSION_1 = 32, IN_ORDER = 35, RING_RESET = 40, GUEST_USO4 = 54, GUEST_USO6 = 55,
	HOST_USO = 56, SPEED_DUPLEX = 63,
};

static const struct {
	const char *name;
	uint64_t bits;
} names[] = {
	{ "csum", BIT64(CSUM) | BIT64(GUEST_CSUM) },
	{ "tso", BIT64(GUEST_TSO4) | BIT64(GUEST_TSO6) | BIT64(GUEST_ECN) |
		 BIT64(HOST_TSO4) | BIT64(HOST_TSO6) | BIT64(HOST_ECN) },
	{ "host_tso", BIT64(HOST_TSO4) | BIT64(HOST_TSO6) | BIT64(HOST_ECN) },
	{ "guest_tso", BIT64(GUEST_TSO4) | BIT64(GUEST_TSO6) | BIT64(GUEST_ECN) },
	{ "ufo", BIT64(GUEST_UFO) | BIT64(HOST_UFO) },
	{ "uso", BIT64(GUEST_USO4) | BIT64(GUEST_USO6) | BIT64(HOST_USO) },
	{ "guest_offloads", BIT64(CTRL_GUEST_OFFLOADS) },
	{ "mtu", BIT64(MTU) },
	{ "mac", BIT64(MAC) },
	{ "mrg", BIT64(MRG_RXBUF) },
	{ "status", BIT64(STATUS) },
	{ "ctrl_vq", BIT64(CTRL_VQ) | BIT64(CTRL_RX) | BIT64(CTRL_VLAN) | BIT64(GUEST_ANNOUNCE) |
		     BIT64(MQ) | BIT64(CTRL_MAC_ADDR) | BIT64(CTRL_GUEST_OFFLOADS) },
	{ "ctrl_rx", BIT64(CTRL_RX) },
	{ "ctrl_vlan", BIT64(CTRL_VLAN) },
	{ "ctrl_mac", BIT64(CTRL_MAC_ADDR) },
	{ "announce", BIT64(GUEST_ANNOUNCE) },
	{ "mq", BIT64(MQ) },
	{ "speed", BIT64(SPEED_DUPLEX) },
	{ "notify_on_empty", BIT64(NOTIFY_ON_EMPTY) },
	{ "any_layout", BIT64(ANY_LAYOUT) },
	{ "indirect", BIT64(INDIRECT_DESC) },
	{ "event_idx", BIT64(EVENT_IDX) },
	{ "version_1", BIT64(VERSION_1) },
	{ "in_order", BIT64(IN_ORDER) },
	{ "ring_reset", BIT64(RING_RESET) },
};

/* What only a vhost that has it can serve. */
#define RING_BITS (BIT64(MRG_RXBUF) | BIT64(NOTIFY_ON_EMPTY) | BIT64(INDIRECT_DESC) | \
		   BIT64(EVENT_IDX) | BIT64(VERSION_1) | BIT64(IN_ORDER))

/* What loopd and the tap do. A ring is reset by stopping it, which any vhost can. */
#define OWN_BITS (BIT64(CSUM) | BIT64(GUEST_CSUM) | BIT64(CTRL_GUEST_OFFLOADS) | BIT64(MAC) | \
		  BIT64(GUEST_TSO4) | BIT64(GUEST_TSO6) | BIT64(GUEST_ECN) | BIT64(HOST_TSO4) | \
		  BIT64(HOST_TSO6) | BIT64(HOST_ECN) | BIT64(STATUS) | BIT64(CTRL_VQ) | \
		  BIT64(CTRL_RX) | BIT64(CTRL_VLAN) | BIT64(GUEST_ANNOUNCE) | BIT64(MQ) | \
		  BIT64(CTRL_MAC_ADDR) | BIT64(ANY_LAYOUT) | BIT64(RING_RESET) | \
		  BIT64(SPEED_DUPLEX))

/* Add the features that @list names, with commas between, to @mask. */
bool feature_parse(const char *list, uint64_t mask[2])
{
	size_t i, len;

	while (*list) {
		len = strcspn(list, ",");
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == len && !strncmp(names[i].name, list, len))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			return false;
		mask[0] |= names[i].bits;
		list += len;
		if (*list == ',')
			list++;
	}
	return true;
}

void feature_offer(uint64_t vhost, unsigned int tun, uint64_t out[2])
{
	out[0] = OWN_BITS | (vhost & RING_BITS);
	if (tun & TUN_F_UFO)
		out[0] |= BIT64(GUEST_UFO) | BIT64(HOST_UFO);
	if (tun & TUN_F_USO4)
		out[0] |= BIT64(GUEST_USO4) | BIT64(GUEST_USO6) | BIT64(HOST_USO);
	if (opt.mtu)
		out[0] |= BIT64(MTU);
	if (opt.pairs == 1)
		out[0] &= ~BIT64(MQ);
	out[0] &= ~opt.features_off[0];
	out[1] = 0;
}

/* What vhost is told of the features that the driver accepted. */
uint64_t feature_for_vhost(uint64_t accepted, uint64_t vhost)
{
	return accepted & vhost & RING_BITS;
}

unsigned int feature_header_len(uint64_t accepted)
{
	return accepted & (BIT64(MRG_RXBUF) | BIT64(VERSION_1)) ? 12 : 10;
}

/* What the tap may leave to the guest. */
unsigned int feature_tun_offloads(uint64_t guest)
{
	unsigned int flags = 0;

	if (!(guest & BIT64(GUEST_CSUM)))
		return 0;
	flags |= TUN_F_CSUM;
	if (guest & BIT64(GUEST_TSO4))
		flags |= TUN_F_TSO4;
	if (guest & BIT64(GUEST_TSO6))
		flags |= TUN_F_TSO6;
	if ((guest & BIT64(GUEST_ECN)) && (flags & (TUN_F_TSO4 | TUN_F_TSO6)))
		flags |= TUN_F_TSO_ECN;
	if (guest & BIT64(GUEST_UFO))
		flags |= TUN_F_UFO;
	if ((guest & BIT64(GUEST_USO4)) && (guest & BIT64(GUEST_USO6)))
		flags |= TUN_F_USO4 | TUN_F_USO6;
	return flags;
}
