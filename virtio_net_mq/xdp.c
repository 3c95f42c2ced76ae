// SPDX-License-Identifier: GPL-2.0-only
/*
 * XDP: programs that see a frame before there is an skb.
 *
 * Receive. A poll reads its queue's program once and runs it over each frame, which lies where
 * the device wrote it (rx_small.c, rx_mergeable.c). What the program wants sent back is collected
 * and sent by sixteens and at the end of the poll, where redirects are flushed, too. Receive
 * offloads of the device are off while there is a program: it sees frames as they were sent.
 *
 * Transmit. Frames that a program sends back and frames that others redirect here go to
 * a transmit queue of the CPU's own when the device has enough pairs, and else to one that the
 * stack uses, too. The queue's lock is taken in both cases, once for a bunch of frames:
 * completions are freed by a NAPI, which is another CPU's now and then, and `ethtool -L` may give
 * a queue to the stack at any time. Redirected frames are welcome without a program, too.
 *
 * Attach and detach. Under RTNL, and traffic goes on: offloads off, pairs for XDP, then the
 * program; the other way round, the program goes first. Buffers that the device has already
 * keep the form that they have.
 */
#include <linux/bpf_trace.h>
#include <linux/filter.h>

#include "virtio_net_mq.h"

/**
 * vnmq_xdp_init - tell the stack what XDP can do here
 * @priv: not registered yet, layout chosen
 */
void vnmq_xdp_init(struct vnmq_priv *priv)
{
#ifdef VNMQ_HAVE_XDP_FEATURES
	priv->dev->xdp_features = NETDEV_XDP_ACT_NDO_XMIT | NETDEV_XDP_ACT_NDO_XMIT_SG;
	if (priv->rx_mode != VNMQ_RX_BIG)
		priv->dev->xdp_features |= NETDEV_XDP_ACT_BASIC | NETDEV_XDP_ACT_REDIRECT;
	if (priv->rx_mode == VNMQ_RX_MERGEABLE)
		priv->dev->xdp_features |= NETDEV_XDP_ACT_RX_SG;
#endif
}

/**
 * vnmq_xdp_init_rq - what programs and their frames know of a receive queue
 * @rq: the queue; its NAPI has been added
 *
 * Return: 0 or an error.
 * Context: process.
 */
int vnmq_xdp_init_rq(struct vnmq_rq *rq)
{
	int ret = xdp_rxq_info_reg(&rq->xdp.rxq, rq->priv->dev, rq->index, rq->napi.napi_id);

	return ret ?: xdp_rxq_info_reg_mem_model(&rq->xdp.rxq, MEM_TYPE_PAGE_SHARED, NULL);
}

/**
 * vnmq_xdp_exit_rq - undo vnmq_xdp_init_rq(), as far as it came
 * @rq: the queue
 *
 * Context: process.
 */
void vnmq_xdp_exit_rq(struct vnmq_rq *rq)
{
	if (xdp_rxq_info_is_reg(&rq->xdp.rxq))
		xdp_rxq_info_unreg(&rq->xdp.rxq);
}

/**
 * vnmq_xdp_takes - may a program see this frame
 * @hdr: a copy of its header
 *
 * A program takes a frame for what is on the wire. One that was merged, or lacks its checksum, came
 * before the device's offloads went off, or from a device that does not care.
 *
 * Return: false to drop it.
 */
bool vnmq_xdp_takes(const struct virtio_net_hdr *hdr)
{
	return hdr->gso_type == VIRTIO_NET_HDR_GSO_NONE &&
	       !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
}

static struct vnmq_sq *vnmq_xdp_sq(struct vnmq_priv *priv)
{
	unsigned int cpu = smp_processor_id(), first = READ_ONCE(priv->xdp_first);

	return &priv->sq[first ? first + cpu : cpu % READ_ONCE(priv->curr_pairs)];
}

/* Send what was collected. Context: NAPI of @rq. */
static void vnmq_xdp_send(struct vnmq_rq *rq)
{
	int n = rq->xdp.nr_tx, sent, i;

	rq->xdp.nr_tx = 0;
	sent = vnmq_tx_xdp(vnmq_xdp_sq(rq->priv), rq->xdp.tx, n);
	for (i = sent; unlikely(i < n); i++)
		xdp_return_frame_rx_napi(rq->xdp.tx[i]);
	trace_xdp_bulk_tx(rq->priv->dev, sent, n - sent, 0);
}

/* The skb of a frame that goes on to the stack. Return: NULL without memory. */
static struct sk_buff *vnmq_xdp_build_skb(const struct xdp_buff *xdp, unsigned int nr_frags,
					  unsigned int frags_len)
{
	unsigned int meta = xdp->data - xdp->data_meta;
	struct skb_shared_info *shinfo;
	struct sk_buff *skb;

	skb = napi_build_skb(xdp->data_hard_start, xdp->frame_sz);
	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, xdp->data - xdp->data_hard_start);
	skb_put(skb, xdp->data_end - xdp->data);
	if (meta)
		skb_metadata_set(skb, meta);
	if (unlikely(nr_frags)) {
		/* The fragments are where the program left them, right where the skb wants them. */
		shinfo = skb_shinfo(skb);
		shinfo->nr_frags = nr_frags;
		shinfo->destructor_arg = NULL;
		skb->len += frags_len;
		skb->data_len += frags_len;
		skb->truesize += nr_frags * PAGE_SIZE;
		if (xdp->flags & XDP_FLAGS_FRAGS_PF_MEMALLOC)
			skb->pfmemalloc = true;
	}
	return skb;
}

static struct sk_buff *vnmq_xdp_pass(struct vnmq_rq *rq, struct xdp_buff *xdp)
{
	unsigned int nr_frags = 0, frags_len = 0;
	struct sk_buff *skb;

	if (unlikely(xdp_buff_has_frags(xdp))) {
		const struct skb_shared_info *shinfo = xdp_get_shared_info_from_buff(xdp);

		nr_frags = shinfo->nr_frags;
		frags_len = shinfo->xdp_frags_size;
	}
	skb = vnmq_xdp_build_skb(xdp, nr_frags, frags_len);
	if (unlikely(!skb)) {
		vnmq_rx_count_drop(rq, VNMQ_RX_SKB_ERRORS);
		xdp_return_buff(xdp);
	}
	return skb;
}

/* Return: true when the program's verdict could be followed, and @xdp is somebody else's now. */
static bool vnmq_xdp_forward(struct vnmq_rq *rq, struct bpf_prog *prog, struct xdp_buff *xdp,
			     u32 verdict)
{
	struct net_device *dev = rq->priv->dev;
	struct xdp_frame *frame;

	switch (verdict) {
	case XDP_TX:
		frame = xdp_convert_buff_to_frame(xdp);
		if (unlikely(!frame)) {
			trace_xdp_exception(dev, prog, verdict);
			return false;
		}
		rq->xdp.sent++;
		rq->xdp.tx[rq->xdp.nr_tx++] = frame;
		if (rq->xdp.nr_tx == VNMQ_XDP_BULK)
			vnmq_xdp_send(rq);
		return true;
	case XDP_REDIRECT:
		if (unlikely(xdp_do_redirect(dev, xdp, prog)))
			return false;
		rq->xdp.redirects++;
		return true;
	case XDP_DROP:
		return false;
	default:
		bpf_warn_invalid_xdp_action(dev, prog, verdict);
		fallthrough;
	case XDP_ABORTED:
		trace_xdp_exception(dev, prog, verdict);
		return false;
	}
}

/**
 * vnmq_xdp_receive - take a frame out of its buffers and let a program decide
 * @rq: the queue
 * @prog: the program
 * @buf: as in vnmq_mergeable_receive()
 * @ctx: likewise
 * @len: likewise
 * @hdr: set to a header that says nothing, since the program may have changed the frame
 *
 * Return: the frame if it goes to the stack, or NULL.
 * Context: NAPI of @rq; vnmq_xdp_poll_end() follows.
 */
struct sk_buff *vnmq_xdp_receive(struct vnmq_rq *rq, struct bpf_prog *prog, void *buf, void *ctx,
				 unsigned int len, union vnmq_hdr *hdr)
{
	struct xdp_buff xdp;
	unsigned int bytes;
	u32 verdict;
	bool taken;

	if (rq->priv->rx_mode == VNMQ_RX_SMALL)
		taken = vnmq_small_to_xdp(rq, buf, ctx, len, &xdp);
	else
		taken = vnmq_mergeable_to_xdp(rq, buf, ctx, len, &xdp, prog->aux->xdp_has_frags);
	if (unlikely(!taken))
		return NULL;

	memset(hdr, 0, sizeof(*hdr));
	bytes = xdp_get_buff_len(&xdp);
	rq->xdp.packets++;
	verdict = bpf_prog_run_xdp(prog, &xdp);
	if (verdict == XDP_PASS)
		return vnmq_xdp_pass(rq, &xdp);

	rq->xdp.gone_bytes += bytes;
	if (!vnmq_xdp_forward(rq, prog, &xdp, verdict)) {
		rq->xdp.drops++;
		xdp_return_buff(&xdp);
	}
	return NULL;
}

/**
 * vnmq_xdp_poll_end - send and count what the frames of a poll came to
 * @rq: the queue
 *
 * Context: NAPI of @rq, before it is complete.
 */
void vnmq_xdp_poll_end(struct vnmq_rq *rq)
{
	struct vnmq_xdp_rq *xdp = &rq->xdp;

	if (xdp->redirects)
		xdp_do_flush();
	if (xdp->nr_tx)
		vnmq_xdp_send(rq);
	if (!xdp->packets)
		return;

	u64_stats_update_begin(&rq->syncp);
	/* The others became skbs, and are counted as such. */
	u64_stats_add(&rq->count[VNMQ_RX_PACKETS], xdp->drops + xdp->sent + xdp->redirects);
	u64_stats_add(&rq->count[VNMQ_RX_BYTES], xdp->gone_bytes);
	u64_stats_add(&rq->count[VNMQ_RX_DROPS], xdp->drops);
	u64_stats_add(&rq->count[VNMQ_RX_XDP_DROPS], xdp->drops);
	u64_stats_add(&rq->count[VNMQ_RX_XDP_PACKETS], xdp->packets);
	u64_stats_add(&rq->count[VNMQ_RX_XDP_TX], xdp->sent);
	u64_stats_add(&rq->count[VNMQ_RX_XDP_REDIRECTS], xdp->redirects);
	u64_stats_update_end(&rq->syncp);
	xdp->gone_bytes = 0;
	xdp->drops = 0;
	xdp->packets = 0;
	xdp->sent = 0;
	xdp->redirects = 0;
}

/**
 * vnmq_xdp_xmit - send frames that were redirected here
 * @dev: the device
 * @n: how many
 * @frames: they; those that are not sent are the caller's
 * @flags: XDP_XMIT_FLUSH means nothing here, the device is always told
 *
 * Return: how many were sent, or an error.
 * Context: softirq, of any device.
 */
int vnmq_xdp_xmit(struct net_device *dev, int n, struct xdp_frame **frames, u32 flags)
{
	if (unlikely(flags & ~XDP_XMIT_FLAGS_MASK))
		return -EINVAL;
	return vnmq_tx_xdp(vnmq_xdp_sq(netdev_priv(dev)), frames, n);
}

/* The longest MTU with @prog. */
static unsigned int vnmq_xdp_max_mtu(const struct vnmq_priv *priv, const struct bpf_prog *prog)
{
	if (!prog->aux->xdp_has_frags || priv->rx_mode == VNMQ_RX_SMALL)
		return VNMQ_XDP_ROOM - ETH_HLEN;
	return (MAX_SKB_FRAGS + 1) * VNMQ_XDP_ROOM - priv->hdr_len - ETH_HLEN - VLAN_HLEN;
}

/**
 * vnmq_change_mtu - `ip link set mtu`
 * @dev: the device
 * @mtu: within its limits
 *
 * Return: 0, or -EINVAL when frames would be too long for the XDP program.
 * Context: RTNL.
 */
int vnmq_change_mtu(struct net_device *dev, int mtu)
{
	struct vnmq_priv *priv = netdev_priv(dev);

	if (priv->xdp_prog && mtu > vnmq_xdp_max_mtu(priv, priv->xdp_prog)) {
		netdev_warn(dev, "with this XDP program the MTU is at most %u\n",
			    vnmq_xdp_max_mtu(priv, priv->xdp_prog));
		return -EINVAL;
	}
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static int vnmq_xdp_check(struct vnmq_priv *priv, struct bpf_prog *prog,
			  struct netlink_ext_ack *extack)
{
	unsigned int i;

	if (priv->guest_offloads_all &&
	    !virtio_has_feature(priv->vdev, VIRTIO_NET_F_CTRL_GUEST_OFFLOADS)) {
		NL_SET_ERR_MSG_MOD(extack,
				   "the device cannot switch its receive offloads (GRO_HW, checksums) off");
		return -EOPNOTSUPP;
	}
	if (priv->rx_mode == VNMQ_RX_BIG) {
		NL_SET_ERR_MSG_MOD(extack, "XDP needs mergeable receive buffers for long frames");
		return -EOPNOTSUPP;
	}
	if (priv->dev->mtu > vnmq_xdp_max_mtu(priv, prog)) {
		if (prog->aux->xdp_has_frags)
			NL_SET_ERR_MSG_MOD(extack, "MTU too large for XDP");
		else
			NL_SET_ERR_MSG_MOD(extack, "MTU too large for XDP without frags");
		return -EINVAL;
	}
	/* So that the ring holds any frame, when the program is gone and offloads are on again. */
	for (i = 0; i < priv->max_pairs; i++) {
		if (!vnmq_rx_ring_holds(priv, virtqueue_get_vring_size(priv->rq[i].vq), true)) {
			NL_SET_ERR_MSG_MOD(extack, "the receive rings are too small for XDP");
			return -EINVAL;
		}
	}
	return 0;
}

/* The pairs in use with a program, or without. A device that refuses leaves things as they are. */
static void vnmq_xdp_set_pairs(struct vnmq_priv *priv, bool on, struct netlink_ext_ack *extack)
{
	if (vnmq_queues_set_count(priv, priv->curr_pairs, on))
		netdev_warn(priv->dev, "the device did not change the number of its queue pairs\n");
	if (!on || priv->xdp_pairs)
		return;
	NL_SET_ERR_MSG_MOD(extack,
			   "not enough queue pairs for each CPU to have one: XDP shares those of the stack");
	netdev_info(priv->dev, "XDP: %u of %u queue pairs are in use and %u CPUs want one each: sharing\n",
		    priv->curr_pairs, priv->max_pairs, nr_cpu_ids);
}

static void vnmq_xdp_publish(struct vnmq_priv *priv, struct bpf_prog *prog)
{
	unsigned int i;

	for (i = 0; i < priv->max_pairs; i++)
		rcu_assign_pointer(priv->rq[i].xdp_prog, prog);
}

/*
 * Without a program the device is as it was before. One that is going away need not hear of
 * that, and the stack no longer follows the number of receive queues: it would keep some, and wait
 * for them for ever.
 */
static void vnmq_xdp_settle(struct vnmq_priv *priv, struct netlink_ext_ack *extack)
{
	if (priv->dev->reg_state != NETREG_REGISTERED)
		return;
	vnmq_xdp_set_pairs(priv, false, extack);
	if (vnmq_features_set_xdp(priv, false))
		netdev_warn(priv->dev, "receive offloads stay off: the device refused\n");
}

/* Context: RTNL. @prog is ours when this succeeds. */
static int vnmq_xdp_set(struct vnmq_priv *priv, struct bpf_prog *prog,
			struct netlink_ext_ack *extack)
{
	struct bpf_prog *old = priv->xdp_prog;
	int ret;

	if (prog) {
		ret = vnmq_xdp_check(priv, prog, extack);
		if (ret)
			return ret;
		ret = vnmq_features_set_xdp(priv, true);
		if (ret) {
			NL_SET_ERR_MSG_MOD(extack,
					   "the device did not switch its receive offloads off");
			return ret;
		}
		if (!old)
			vnmq_xdp_set_pairs(priv, true, extack);
		vnmq_xdp_publish(priv, prog);
		priv->xdp_prog = prog;
	} else if (old) {
		vnmq_xdp_publish(priv, NULL);
		priv->xdp_prog = NULL;
		vnmq_xdp_settle(priv, extack);
	}
	/* A poll may run the old one yet: it is freed after such have ended. */
	if (old)
		bpf_prog_put(old);
	return 0;
}

/**
 * vnmq_bpf - attach, replace or detach an XDP program
 * @dev: the device
 * @bpf: the request
 *
 * Return: 0 or an error, with a message in bpf->extack, and then nothing changed.
 * Context: RTNL; traffic goes on meanwhile.
 */
int vnmq_bpf(struct net_device *dev, struct netdev_bpf *bpf)
{
	if (bpf->command != XDP_SETUP_PROG)
		return -EINVAL;
	return vnmq_xdp_set(netdev_priv(dev), bpf->prog, bpf->extack);
}
