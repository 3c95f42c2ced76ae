// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmit: from the guest's ring to the backend.
 *
 * Packets that fit into a page are copied to frames and handed over up to
 * VHMQ_BATCH at once, as the XDP buffers that tun and tap take; larger ones, and
 * all when the socket's send buffer is limited, are handed over one by one
 * from the guest's memory. Whatever has been copied is handed over before the guest
 * is asked to kick again and before a run ends, whichever way it ends.
 */
#include <linux/slab.h>

#include "trace.h"
#include "vhost_mq.h"

#define FRAME_PAGE_ORDER	get_order(32768)
#define FRAME_BIAS		U16_MAX
#define FRAME_TAIL		SKB_DATA_ALIGN(sizeof(struct skb_shared_info))

/*
 * Longer than any packet there is. Backends take the length for an int, and one
 * for which they find no memory would be tried again and again.
 */
#define PACKET_MAX		VHMQ_WEIGHT_BYTES

struct tx {
	struct vhmq_queue *queue;
	struct vhmq_scratch *scratch;
	struct socket *sock;
	struct msghdr msg;
	bool batching;
	bool busy;			/* poll before the guest is asked to kick */
	bool idle;			/* that is to follow */
	unsigned int frames;		/* copied, in scratch->xdp */
	unsigned int done;		/* to be returned, in scratch->used */
	unsigned int taken;		/* from the guest, sent or not */
	size_t weight;			/* bytes of those, with headers; descriptors read */
	unsigned int packets;		/* sent */
	size_t bytes;			/* of those, without headers */
};

/**
 * vhmq_scratch_alloc() - memory for the runs of a worker
 *
 * Return: scratch memory, or NULL.
 */
struct vhmq_scratch *vhmq_scratch_alloc(void)
{
	return kvzalloc(sizeof(struct vhmq_scratch), GFP_KERNEL);
}

static void drop_frame_page(struct vhmq_scratch *scratch)
{
	if (scratch->frag.page)
		__page_frag_cache_drain(scratch->frag.page, scratch->frag_bias);
	scratch->frag.page = NULL;
}

/**
 * vhmq_scratch_free() - free what vhmq_scratch_alloc() returned
 * @scratch: scratch memory, or NULL
 */
void vhmq_scratch_free(struct vhmq_scratch *scratch)
{
	if (!scratch)
		return;
	drop_frame_page(scratch);
	kvfree(scratch);
}

static bool new_frame_page(struct vhmq_scratch *scratch)
{
	struct page_frag *frag = &scratch->frag;

	/* No direct reclaim for many pages: one will do. */
	frag->size = PAGE_SIZE << FRAME_PAGE_ORDER;
	frag->page = alloc_pages((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP |
				 __GFP_NOWARN | __GFP_NORETRY, FRAME_PAGE_ORDER);
	if (!frag->page) {
		frag->size = PAGE_SIZE;
		frag->page = alloc_page(GFP_KERNEL | __GFP_NOWARN);
	}
	if (!frag->page)
		return false;

	/* References for all frames at once, so that a frame costs none. */
	page_ref_add(frag->page, FRAME_BIAS - 1);
	scratch->frag_bias = FRAME_BIAS;
	frag->offset = 0;
	return true;
}

/* Memory for a frame, up to a page; taken when frag->offset is moved past it. */
static void *frame_memory(struct vhmq_scratch *scratch, unsigned int size)
{
	struct page_frag *frag = &scratch->frag;

	if (unlikely(!frag->page || frag->offset + size > frag->size)) {
		/* Every frame of it gone already: begin again. */
		if (frag->page && page_ref_count(frag->page) == scratch->frag_bias &&
		    scratch->frag_bias > FRAME_BIAS / 2) {
			frag->offset = 0;
		} else {
			drop_frame_page(scratch);
			if (!new_frame_page(scratch))
				return NULL;
		}
	}
	return page_address(frag->page) + frag->offset;
}

/*
 * A header that asks for a checksum has to cover it. Some guests leave hdr_len
 * shorter; then it is mended, as for packets that are sent one by one.
 */
static int mend_header(const struct vhmq_ring *ring, struct virtio_net_hdr *hdr, size_t len)
{
	unsigned int end;

	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return 0;
	end = vhmq_16_to_cpu(ring, hdr->csum_start) +
	      vhmq_16_to_cpu(ring, hdr->csum_offset) + 2;
	if (end <= vhmq_16_to_cpu(ring, hdr->hdr_len))
		return 0;
	if (end > len)
		return -EINVAL;
	hdr->hdr_len = vhmq_cpu_to_16(ring, end);
	return 0;
}

/*
 * Copies the packet that is in tx->msg.msg_iter to a frame of the batch.
 *
 *	frame:	header | room ... | header as copied | packet | ... | shared info
 *		^ VHMQ_FRAME_HEADER                  ^ pad
 *
 * Return: 0, -ENOSPC when it does not go into a batch and nothing was copied,
 * -ENOMEM, -EINVAL for a bad header, -EFAULT.
 */
static int add_frame(struct tx *tx, size_t len)
{
	struct vhmq_queue *queue = tx->queue;
	struct vhmq_scratch *scratch = tx->scratch;
	unsigned int hlen = queue->sock_hlen;
	unsigned int room = sock_flag(tx->sock->sk, SOCK_XDP) ? XDP_PACKET_HEADROOM : 0;
	unsigned int pad = SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + room + hlen);
	struct xdp_buff *xdp = &scratch->xdp[tx->frames];
	size_t size;
	void *frame;

	if (unlikely(len < hlen))
		return -EINVAL;
	/* Refused by the backend, which did not free such a frame of a batch once. */
	if (unlikely(len - hlen < ETH_HLEN))
		return -ENOSPC;
	size = SKB_DATA_ALIGN(pad + len - hlen) + FRAME_TAIL;
	if (unlikely(size > PAGE_SIZE))
		return -ENOSPC;
	frame = frame_memory(scratch, size);
	if (unlikely(!frame))
		return -ENOMEM;

	if (unlikely(_copy_from_iter(frame + pad - hlen, len, &tx->msg.msg_iter) != len))
		return -EFAULT;
	if (likely(hlen)) {
		memcpy(frame + VHMQ_FRAME_HEADER, frame + pad - hlen, hlen);
		if (unlikely(mend_header(&queue->ring, frame + VHMQ_FRAME_HEADER, len - hlen)))
			return -EINVAL;
	} else {
		memset(frame, 0, pad);
	}
	vhmq_frame_set_size(frame, size);
	xdp_init_buff(xdp, size, NULL);
	xdp_prepare_buff(xdp, frame, pad, len - hlen, true);

	scratch->frag.offset += size;
	scratch->frag_bias--;
	tx->frames++;
	return 0;
}

static void send_frames(struct tx *tx)
{
	struct xdp_buff *xdp = tx->scratch->xdp;
	struct tun_msg_ctl ctl = {
		.type = TUN_MSG_PTR,
		.num = tx->frames,
		.ptr = xdp,
	};
	unsigned int i;

	tx->msg.msg_control = &ctl;
	tx->msg.msg_controllen = sizeof(ctl);
	if (unlikely(tx->sock->ops->sendmsg(tx->sock, &tx->msg, 0) < 0)) {
		/* Refused as a whole: the device is gone, or this queue of it. */
		for (i = 0; i < tx->frames; i++) {
			tx->bytes -= xdp[i].data_end - xdp[i].data;
			put_page(virt_to_head_page(xdp[i].data));
		}
		vhmq_count_add(&tx->queue->stats, drop_backend, tx->frames);
		tx->packets -= tx->frames;
	}
	tx->msg.msg_control = NULL;
	tx->msg.msg_controllen = 0;
	tx->frames = 0;
	vhmq_count(&tx->queue->stats, batches);
}

/* All of it is one batch: nothing was to be written to any of the chains. */
static void make_batch(struct tx *tx)
{
	struct vhmq_scratch *scratch = tx->scratch;

	scratch->used[0] = scratch->used[tx->done - 1];
	scratch->sizes[0] = tx->done;
}

/* Hands over what was copied, and returns what was handed over. */
static void flush(struct tx *tx)
{
	if (tx->frames)
		send_frames(tx);
	if (unlikely(tx->queue->ring.in_order) && tx->done)
		make_batch(tx);
	vhmq_queue_complete(tx->queue, tx->scratch, tx->done);
	tx->done = 0;
}

/* Hands over the packet in tx->msg.msg_iter by itself. */
static int send_one(struct tx *tx, size_t len)
{
	int ret;

	if (!tx->batching && tx->weight + len < VHMQ_WEIGHT_BYTES &&
	    !vhmq_ring_empty(&tx->queue->ring))
		tx->msg.msg_flags |= MSG_MORE;
	else
		tx->msg.msg_flags &= ~MSG_MORE;

	ret = tx->sock->ops->sendmsg(tx->sock, &tx->msg, len);
	return ret < 0 ? ret : 0;
}

static bool is_passing(int error)
{
	return error == -EAGAIN || error == -ENOMEM || error == -ENOBUFS;
}

/*
 * Sends the chain. Return: 0 when it is to be returned to the guest, sent or
 * dropped, or an error that will pass, and it is to be sent again.
 */
static int send_chain(struct tx *tx, const struct vhmq_chain *chain)
{
	struct vhmq_queue *queue = tx->queue;
	size_t len = chain->out_len - queue->vhost_hlen;
	int ret = -ENOSPC;

	if (unlikely(len > PACKET_MAX)) {
		vhmq_count(&queue->stats, drop_length);
		tx->weight += PACKET_MAX;
		return 0;
	}
	iov_iter_init(&tx->msg.msg_iter, ITER_SOURCE, tx->scratch->iov, chain->out,
		      chain->out_len);
	if (unlikely(queue->vhost_hlen))
		iov_iter_advance(&tx->msg.msg_iter, queue->vhost_hlen);

	if (tx->batching) {
		ret = add_frame(tx, len);
		if (ret == -ENOSPC && tx->frames)
			flush(tx);
	}
	if (ret == -ENOSPC)
		ret = send_one(tx, len);
	if (unlikely(is_passing(ret)))
		return ret;

	if (likely(!ret)) {
		tx->packets++;
		tx->bytes += len - queue->sock_hlen;
	} else if (ret == -EINVAL) {
		vhmq_count(&queue->stats, drop_header);
	} else {
		vhmq_count(&queue->stats, drop_backend);
	}
	tx->weight += len;
	return 0;
}

/* Is it what a transmit queue can send? Otherwise the ring fails. */
static bool check_chain(struct vhmq_queue *queue, const struct vhmq_chain *chain)
{
	if (unlikely(chain->in)) {
		vhmq_ring_fail(&queue->ring, "Unexpected descriptor format for TX: out %u, in %u",
			       chain->out, chain->in);
		return false;
	}
	if (unlikely(chain->out_len <= queue->vhost_hlen)) {
		vhmq_ring_fail(&queue->ring, "Unexpected header len for TX: %zu expected %u",
			       chain->out_len, queue->vhost_hlen);
		return false;
	}
	return true;
}

/* The ring is empty. Return: true when the guest has added to it meanwhile. */
static bool wait_for_guest(struct tx *tx)
{
	struct vhmq_ring *ring = &tx->queue->ring;

	if (tx->done) {
		flush(tx);
		if (!vhmq_ring_empty(ring))
			return true;
	}
	if (tx->busy) {
		tx->idle = true;
		return false;
	}
	if (likely(!vhmq_ring_enable_kick(ring)))
		return false;
	vhmq_ring_disable_kick(ring);
	vhmq_count(&tx->queue->stats, repolls);
	return true;
}

static void run(struct tx *tx)
{
	struct vhmq_queue *queue = tx->queue;
	struct vhmq_scratch *scratch = tx->scratch;
	struct vhmq_ring *ring = &queue->ring;
	int stalled = 0;

	do {
		struct vhmq_chain chain;
		int ret;

		if (tx->done == VHMQ_BATCH)
			flush(tx);
		ret = vhmq_ring_pop(ring, scratch->iov, ARRAY_SIZE(scratch->iov), &chain);
		if (unlikely(ret < 0))
			break;
		if (!ret) {
			if (wait_for_guest(tx))
				continue;
			break;
		}
		if (unlikely(!check_chain(queue, &chain))) {
			vhmq_ring_unpop(ring, 1);
			break;
		}
		tx->weight += chain.cost;
		stalled = send_chain(tx, &chain);
		if (unlikely(stalled)) {
			vhmq_ring_unpop(ring, 1);
			break;
		}
		scratch->used[tx->done].id = vhmq_cpu_to_32(ring, chain.head);
		scratch->used[tx->done].len = 0;
		tx->done++;
		tx->taken++;
	} while (tx->taken < VHMQ_WEIGHT_PACKETS && tx->weight < VHMQ_WEIGHT_BYTES);

	flush(tx);
	vhmq_count_add(&queue->stats, packets, tx->packets);
	vhmq_count_add(&queue->stats, bytes, tx->bytes);
	trace_vhmq_batch(queue, tx->packets, tx->bytes);
	if (unlikely(stalled)) {
		/*
		 * Until the socket can be written; asks at once if it can. A tap in
		 * error has no device or no queue any more, which the next run gets
		 * to know; a packet socket is so while it has timestamps to be read.
		 */
		vhmq_count(&queue->stats, stalls);
		WRITE_ONCE(queue->sock_wanted, true);
		if (vhmq_poll_await(&queue->sock_poll, tx->sock->file) && queue->rx_ring)
			vhmq_queue_ask(queue);
	} else if (tx->taken >= VHMQ_WEIGHT_PACKETS || tx->weight >= VHMQ_WEIGHT_BYTES) {
		vhmq_count(&queue->stats, weight_exceeded);
		vhmq_queue_ask(queue);
	}
}

/**
 * vhmq_tx_pending() - has the guest made something available?
 * @queue: transmit queue whose ring is ready
 *
 * Context: worker thread, queue->mutex.
 */
bool vhmq_tx_pending(struct vhmq_queue *queue)
{
	return !vhmq_ring_empty(&queue->ring);
}

/**
 * vhmq_tx_run() - send what the guest has made available
 * @queue: transmit queue
 * @scratch: memory of the worker
 * @may_poll: leave kicks off at the end, when the owner wants busy polling
 *
 * Return: true when there is no more and the guest does not kick: the caller polls.
 * Context: run, in a worker thread with the owner's mm. Takes queue->mutex.
 */
bool vhmq_tx_run(struct vhmq_queue *queue, struct vhmq_scratch *scratch, bool may_poll)
{
	struct tx tx = {
		.queue = queue,
		.scratch = scratch,
		.msg.msg_flags = MSG_DONTWAIT,
	};

	mutex_lock(&queue->mutex);
	tx.sock = queue->sock;
	if (tx.sock && vhmq_ring_ready(&queue->ring)) {
		/* Batches are for tun and tap, when nobody limits what is under way. */
		tx.batching = queue->rx_ring &&
			      READ_ONCE(tx.sock->sk->sk_sndbuf) == INT_MAX;
		tx.busy = may_poll && queue->busyloop_timeout;
		vhmq_ring_disable_kick(&queue->ring);
		vhmq_poll_stop(&queue->sock_poll);
		run(&tx);
		vhmq_queue_tell_log(queue);
	}
	mutex_unlock(&queue->mutex);
	return tx.idle;
}
