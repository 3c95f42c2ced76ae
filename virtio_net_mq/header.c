// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct virtio_net_hdr to and from an skb (virtio 1.2, 5.1.6.2 and 5.1.6.4).
 *
 * The kernel's inline helpers know what their kernel knew: ours treats every kernel
 * alike, UDP segmentation included.
 */
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/flow_dissector.h>

#include "virtio_net_mq.h"

/* The least segment size that the stack is asked to handle. */
#define VNMQ_MIN_SEGMENT	8

struct vnmq_gso {
	unsigned int type;	/* SKB_GSO_* */
	unsigned int thlen;	/* least transport header */
	unsigned int nhlen;	/* least network header */
	u8 proto;
	u16 check;		/* offset of the checksum in the transport header */
};

static int vnmq_gso_of(u8 gso_type, struct vnmq_gso *gso)
{
	bool ecn = gso_type & VIRTIO_NET_HDR_GSO_ECN;

	gso->nhlen = sizeof(struct iphdr);
	switch (gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV6:
		gso->nhlen = sizeof(struct ipv6hdr);
		fallthrough;
	case VIRTIO_NET_HDR_GSO_TCPV4:
		gso->type = gso->nhlen == sizeof(struct iphdr) ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
		if (ecn)
			gso->type |= SKB_GSO_TCP_ECN;
		gso->thlen = sizeof(struct tcphdr);
		gso->proto = IPPROTO_TCP;
		gso->check = offsetof(struct tcphdr, check);
		return 0;
	case VIRTIO_NET_HDR_GSO_UDP:
	case VNMQ_GSO_UDP_L4:
		if (ecn)
			return -EINVAL;
		gso->type = gso_type == VNMQ_GSO_UDP_L4 ? SKB_GSO_UDP_L4 : SKB_GSO_UDP;
		gso->thlen = sizeof(struct udphdr);
		gso->proto = IPPROTO_UDP;
		gso->check = offsetof(struct udphdr, check);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * A frame to segment whose checksum is there already (a host that forwards what it has merged sends
 * such) does not say where its headers end. Return: offset of the transport header, or negative.
 */
static int vnmq_gso_find_transport(const struct vnmq_priv *priv, struct sk_buff *skb,
				   const struct vnmq_gso *gso)
{
	/* Which programs dissect flows there; the skb has no device yet. */
	struct net *net = dev_net(priv->dev);
	struct flow_keys_basic keys;
	__be16 proto;

	if (!pskb_may_pull(skb, ETH_HLEN))
		return -EINVAL;
	proto = ((struct ethhdr *)skb->data)->h_proto;
	if (!skb_flow_dissect_flow_keys_basic(net, skb, &keys, skb->data, proto, ETH_HLEN,
					      skb_headlen(skb), FLOW_DISSECTOR_F_STOP_AT_ENCAP))
		return -EINVAL;
	if (keys.basic.ip_proto != gso->proto)
		return -EINVAL;
	if (gso->type & SKB_GSO_TCPV4 && keys.basic.n_proto != htons(ETH_P_IP))
		return -EINVAL;
	if (gso->type & SKB_GSO_TCPV6 && keys.basic.n_proto != htons(ETH_P_IPV6))
		return -EINVAL;
	return keys.control.thoff;
}

static int vnmq_gso_to_skb(struct sk_buff *skb, const struct vnmq_gso *gso, u16 size,
			   unsigned int thoff)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	unsigned int headers = thoff + gso->thlen;

	if (gso->type == SKB_GSO_UDP) {
		/* Fragments of a datagram: the UDP header may count as data. */
		headers = thoff;
	} else if (gso->type == SKB_GSO_UDP_L4) {
		if (skb->ip_summed != CHECKSUM_PARTIAL ||
		    skb->len - headers > (u32)size * UDP_MAX_SEGMENTS)
			return -EINVAL;
	} else {
		size = max_t(u16, size, VNMQ_MIN_SEGMENT);
	}
	/* That size has a meaning of its own in the stack. */
	if (size == GSO_BY_FRAGS)
		return -EINVAL;

	/* One segment needs no segmentation. */
	if (skb->len - headers > size) {
		shinfo->gso_size = size;
		/* The stack checks the headers and counts the segments. */
		shinfo->gso_type = gso->type | SKB_GSO_DODGY;
		shinfo->gso_segs = 0;
	}
	return 0;
}

/**
 * vnmq_hdr_to_skb - apply a received header to its frame
 * @priv: the device
 * @hdr: a copy that the device cannot reach
 * @skb: the whole frame, data at the Ethernet header
 *
 * Return: 0, or -EINVAL when the header does not fit the frame; drop it then.
 * Context: NAPI.
 */
int vnmq_hdr_to_skb(const struct vnmq_priv *priv, const struct virtio_net_hdr *hdr,
		    struct sk_buff *skb)
{
	bool has_gso = hdr->gso_type != VIRTIO_NET_HDR_GSO_NONE;
	struct vnmq_gso gso = {};
	u16 gso_size = 0;
	int thoff;

	if (hdr->flags & VIRTIO_NET_HDR_F_DATA_VALID)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (likely(!has_gso && !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)))
		return 0;

	if (has_gso) {
		gso_size = __virtio16_to_cpu(priv->le, hdr->gso_size);
		if (vnmq_gso_of(hdr->gso_type, &gso) || !gso_size)
			return -EINVAL;
	}

	skb_reset_mac_header(skb);
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		u32 start = __virtio16_to_cpu(priv->le, hdr->csum_start);
		u32 offset = __virtio16_to_cpu(priv->le, hdr->csum_offset);
		u32 needed = start + max_t(u32, gso.thlen, offset + sizeof(__sum16));

		if (start < ETH_HLEN || !pskb_may_pull(skb, needed))
			return -EINVAL;
		if (has_gso && (offset != gso.check || start < ETH_HLEN + gso.nhlen))
			return -EINVAL;
		if (!skb_partial_csum_set(skb, start, offset))
			return -EINVAL;
		thoff = start;
	} else {
		thoff = vnmq_gso_find_transport(priv, skb, &gso);
		if (thoff < 0 || !pskb_may_pull(skb, thoff + gso.thlen))
			return -EINVAL;
		skb_set_transport_header(skb, thoff);
	}

	return has_gso ? vnmq_gso_to_skb(skb, &gso, gso_size, thoff) : 0;
}

/**
 * vnmq_hdr_pull_len - how much of a frame belongs in the linear part of its skb
 * @priv: the device
 * @hdr: as in vnmq_hdr_to_skb()
 *
 * vnmq_hdr_to_skb() wants the headers of a frame with offloads linear; GRO would rather have
 * nothing but the Ethernet header there.
 *
 * Return: bytes, at most VNMQ_COPY_LEN.
 */
unsigned int vnmq_hdr_pull_len(const struct vnmq_priv *priv, const struct virtio_net_hdr *hdr)
{
	unsigned int start;

	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return ETH_HLEN;
	start = __virtio16_to_cpu(priv->le, hdr->csum_start);
	return clamp_t(unsigned int, start + sizeof(struct tcphdr), ETH_HLEN, VNMQ_COPY_LEN);
}

static unsigned int vnmq_headers_len(const struct sk_buff *skb, bool udp)
{
	return skb_transport_offset(skb) + (udp ? sizeof(struct udphdr) : tcp_hdrlen(skb));
}

/**
 * vnmq_hdr_from_skb - describe a frame to the device
 * @priv: the device
 * @skb: to be sent
 * @hdr: filled in completely
 *
 * Return: 0, or -EINVAL for an offload that the header has no name for.
 * Context: tx queue lock.
 */
int vnmq_hdr_from_skb(const struct vnmq_priv *priv, const struct sk_buff *skb,
		      struct virtio_net_hdr *hdr)
{
	memset(hdr, 0, priv->hdr_len);	/* VIRTIO_NET_HDR_GSO_NONE is 0 */

	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		hdr->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		hdr->csum_start = __cpu_to_virtio16(priv->le, skb_checksum_start_offset(skb));
		hdr->csum_offset = __cpu_to_virtio16(priv->le, skb->csum_offset);
	}

	if (skb_is_gso(skb)) {
		const struct skb_shared_info *shinfo = skb_shinfo(skb);
		unsigned int headers;

		if (shinfo->gso_type & SKB_GSO_TCPV4)
			hdr->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		else if (shinfo->gso_type & SKB_GSO_TCPV6)
			hdr->gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
		else if (shinfo->gso_type & SKB_GSO_UDP_L4)
			hdr->gso_type = VNMQ_GSO_UDP_L4;
		else if (shinfo->gso_type & SKB_GSO_UDP)
			hdr->gso_type = VIRTIO_NET_HDR_GSO_UDP;
		else
			return -EINVAL;
		headers = vnmq_headers_len(skb, shinfo->gso_type & (SKB_GSO_UDP_L4 | SKB_GSO_UDP));
		if (shinfo->gso_type & SKB_GSO_TCP_ECN)
			hdr->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
		hdr->gso_size = __cpu_to_virtio16(priv->le, shinfo->gso_size);
		hdr->hdr_len = __cpu_to_virtio16(priv->le, headers);
	}
	return 0;
}
