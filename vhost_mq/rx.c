// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive: from the backend to the guest's ring.
 *
 * Packets are taken from the ring of tun or tap up to VHMQ_BATCH at once and
 * kept with the queue until the guest has room for them; a raw socket keeps them
 * itself. With mergeable buffers a packet gets as many chains as it needs.
 *
 * While a run is on, and while the guest has no buffers, the wake-ups of the
 * socket are not wanted. A run that finds the socket empty wants them again and then
 * looks once more.
 */
#include <linux/if_vlan.h>
#include <linux/prefetch.h>

#include "trace.h"
#include "vhost_mq.h"

/* Of struct virtio_net_hdr_mrg_rxbuf. */
#define NUM_BUFFERS_OFFSET	sizeof(struct virtio_net_hdr)

struct rx {
	struct vhmq_queue *queue;
	struct vhmq_scratch *scratch;
	struct socket *sock;
	struct msghdr msg;
	bool mergeable;
	bool num_buffers;		/* the header has the field */
	bool busy;			/* poll before the socket's wake-ups are wanted */
	bool idle;			/* that is to follow */
	unsigned int done;		/* to be returned, in scratch->used */
	unsigned int turns;		/* of the run, for a packet or none */
	size_t weight;			/* bytes delivered, with headers; descriptors read */
	unsigned int packets;		/* delivered */
	size_t bytes;			/* of those, without headers */
};

/* Takes packets from the ring of tun or tap. Return: are there any? */
static bool refill(struct rx *rx)
{
	struct vhmq_queue *queue = rx->queue;
	struct ptr_ring *ring = queue->rx_ring;
	int count;

	spin_lock(&ring->consumer_lock);
	count = __ptr_ring_consume_batched(ring, queue->rx_batch, VHMQ_BATCH);
	if (count)
		tun_wake_queue(rx->sock->file, count);
	spin_unlock(&ring->consumer_lock);

	queue->rx_head = 0;
	queue->rx_tail = count;
	if (count)
		vhmq_count(&queue->stats, batches);
	/* Busy: spare the sender the calls until we wait for it. */
	if (count == VHMQ_BATCH)
		vhmq_poll_park(&queue->sock_poll);
	return count;
}

static int packet_len(void *packet)
{
	if (tun_is_xdp_frame(packet))
		return tun_ptr_to_xdp(packet)->len;
	return __skb_array_len_with_tag(packet);
}

/* The length of the next packet of a socket without such a ring. */
static int socket_len(struct sock *sk)
{
	struct sk_buff *skb;
	unsigned long flags;
	int len = -1;

	spin_lock_irqsave(&sk->sk_receive_queue.lock, flags);
	skb = skb_peek(&sk->sk_receive_queue);
	if (skb)
		len = skb->len + (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0);
	spin_unlock_irqrestore(&sk->sk_receive_queue.lock, flags);
	return len;
}

/* The length of the next packet, a VLAN tag included; -1: there is none. */
static int peek(struct rx *rx)
{
	struct vhmq_queue *queue = rx->queue;

	if (unlikely(!queue->rx_ring))
		return socket_len(rx->sock->sk);
	if (queue->rx_head == queue->rx_tail && !refill(rx))
		return -1;
	if (queue->rx_head + 1 < queue->rx_tail)
		prefetch(queue->rx_batch[queue->rx_head + 1]);
	return packet_len(queue->rx_batch[queue->rx_head]);
}

/**
 * vhmq_rx_pending() - has the backend received something?
 * @queue: receive queue with a backend, all that was taken from it is delivered
 *
 * Context: worker thread, queue->mutex.
 */
bool vhmq_rx_pending(struct vhmq_queue *queue)
{
	if (unlikely(!queue->rx_ring))
		return !skb_queue_empty_lockless(&queue->sock->sk->sk_receive_queue);
	return !ptr_ring_empty(queue->rx_ring);
}

static void flush(struct rx *rx)
{
	vhmq_queue_complete(rx->queue, rx->scratch, rx->done);
	rx->done = 0;
}

/* No packet. Return: true when one has come meanwhile. */
static bool wait_for_socket(struct rx *rx)
{
	struct vhmq_queue *queue = rx->queue;

	flush(rx);
	if (rx->busy) {
		rx->idle = true;
		return false;
	}
	vhmq_poll_unpark(&queue->sock_poll);
	WRITE_ONCE(queue->sock_wanted, true);

	/*
	 * The wish before the last look. Pairs with the full barrier of the
	 * sender between adding a packet and waking (skwq_has_sleeper()).
	 */
	smp_mb();
	if (likely(!vhmq_rx_pending(queue)))
		return false;
	WRITE_ONCE(queue->sock_wanted, false);
	return true;
}

/* The guest has not enough buffers. Return: true when it has added some. */
static bool wait_for_guest(struct rx *rx)
{
	struct vhmq_ring *ring = &rx->queue->ring;

	flush(rx);
	if (vhmq_ring_enable_kick(ring)) {
		vhmq_ring_disable_kick(ring);
		vhmq_count(&rx->queue->stats, repolls);
		return true;
	}
	vhmq_poll_park(&rx->queue->sock_poll);
	return false;
}

/*
 * Pops chains for @len bytes behind those in scratch->used.
 *
 * Return: how many chains, 0 when the guest has not enough, -EMSGSIZE when it can
 * never have enough, or another error and the ring has failed. Nothing stays
 * popped unless it is enough.
 */
static int pop_chains(struct rx *rx, size_t len, unsigned int *segments)
{
	struct vhmq_ring *ring = &rx->queue->ring;
	struct vhmq_scratch *scratch = rx->scratch;
	struct vhmq_used_elem *used = &scratch->used[rx->done];
	unsigned int limit = rx->mergeable ? UIO_MAXIOV : 1;
	unsigned int count = 0, at = 0;
	int ret;

	while (len) {
		struct vhmq_chain chain;
		size_t part;

		if (unlikely(count == limit)) {
			ret = -EMSGSIZE;
			goto err_unpop;
		}
		ret = vhmq_ring_pop(ring, scratch->iov + at, ARRAY_SIZE(scratch->iov) - at,
				    &chain);
		if (ret <= 0) {
			if (!ret && unlikely(count == ring->num))
				ret = -EMSGSIZE;
			goto err_unpop;
		}
		if (unlikely(chain.out || !chain.in)) {
			vhmq_ring_fail(ring, "Unexpected descriptor format for RX: out %u, in %u",
				       chain.out, chain.in);
			count++;
			ret = -EINVAL;
			goto err_unpop;
		}
		rx->weight += chain.cost;
		part = min(len, chain.in_len);
		used[count].id = vhmq_cpu_to_32(ring, chain.head);
		used[count].len = vhmq_cpu_to_32(ring, part);
		len -= part;
		at += chain.in;
		count++;
	}
	/* One batch: the packet fills all chains but the last. */
	if (unlikely(ring->in_order)) {
		used[0] = used[count - 1];
		scratch->sizes[rx->done] = count;
	}
	*segments = at;
	return count;

err_unpop:
	vhmq_ring_unpop(ring, count);
	return ret;
}

/* The packet is too large for what the guest gives. */
static void drop_packet(struct rx *rx)
{
	struct vhmq_queue *queue = rx->queue;

	if (likely(queue->rx_ring)) {
		tun_ptr_free(queue->rx_batch[queue->rx_head++]);
	} else {
		iov_iter_init(&rx->msg.msg_iter, ITER_DEST, rx->scratch->iov, 0, 0);
		rx->sock->ops->recvmsg(rx->sock, &rx->msg, 0, MSG_DONTWAIT | MSG_TRUNC);
	}
	vhmq_count(&queue->stats, drop_length);
}

/* Writes into the header of the packet that begins at scratch->iov. */
static bool write_header(struct rx *rx, unsigned int segments, unsigned int offset,
			 const void *from, size_t len)
{
	struct iovec *iov = rx->scratch->iov;
	struct iov_iter iter;

	if (likely(iov->iov_len >= offset + len))
		return !copy_to_user(iov->iov_base + offset, from, len);

	iov_iter_init(&iter, ITER_DEST, iov, segments, offset + len);
	iov_iter_advance(&iter, offset);
	return copy_to_iter(from, len, &iter) == len;
}

static bool write_num_buffers(struct rx *rx, unsigned int segments, unsigned int count)
{
	struct iovec *iov = rx->scratch->iov;
	__virtio16 word = vhmq_cpu_to_16(&rx->queue->ring, count);
	unsigned long base = (unsigned long)iov->iov_base + NUM_BUFFERS_OFFSET;

	if (likely(iov->iov_len >= NUM_BUFFERS_OFFSET + sizeof(word) &&
		   IS_ALIGNED(base, sizeof(word))))
		return !put_user(word, (__virtio16 __user *)base);
	return write_header(rx, segments, NUM_BUFFERS_OFFSET, &word, sizeof(word));
}

/* The packet of @len bytes at scratch->iov is written, all of it: for the dirty log. */
static int log_packet(struct rx *rx, size_t len)
{
	struct vhmq_ring *ring = &rx->queue->ring;
	const struct iovec *iov;
	size_t part;
	int ret = 0;

	ring->logged = true;
	for (iov = rx->scratch->iov; len && !ret; iov++) {
		part = min(len, iov->iov_len);
		ret = vhmq_log_mark_written(ring->log_base, ring->physical, iov->iov_base, part);
		len -= part;
	}
	return ret;
}

/*
 * Receives a packet into @count chains. Return: 0 when they hold it, -EIO when
 * the packet is lost and they are as before, or an error and the ring has failed.
 */
static int receive(struct rx *rx, size_t len, unsigned int segments, unsigned int count)
{
	static const struct virtio_net_hdr no_header;
	struct vhmq_queue *queue = rx->queue;
	size_t total = queue->vhost_hlen + len;
	int ret;

	iov_iter_init(&rx->msg.msg_iter, ITER_DEST, rx->scratch->iov, segments, total);
	if (unlikely(queue->vhost_hlen))
		iov_iter_advance(&rx->msg.msg_iter, queue->vhost_hlen);
	if (likely(queue->rx_ring))
		rx->msg.msg_control = queue->rx_batch[queue->rx_head++];

	ret = rx->sock->ops->recvmsg(rx->sock, &rx->msg, len, MSG_DONTWAIT | MSG_TRUNC);
	if (unlikely(ret != len)) {
		vhmq_count(&queue->stats, drop_backend);
		return -EIO;
	}
	if (unlikely(queue->vhost_hlen &&
		     !write_header(rx, segments, 0, &no_header, sizeof(no_header)))) {
		vhmq_ring_fail(&queue->ring, "Unable to write vnet_hdr");
		return -EFAULT;
	}
	if (likely(rx->num_buffers) && unlikely(!write_num_buffers(rx, segments, count))) {
		vhmq_ring_fail(&queue->ring, "Failed num_buffers write");
		return -EFAULT;
	}
	if (unlikely(queue->acked_features & BIT_ULL(VHOST_F_LOG_ALL)) &&
	    log_packet(rx, total)) {
		vhmq_ring_fail(&queue->ring, "Failed to write the dirty log");
		return -EFAULT;
	}
	return 0;
}

/* Delivers the next packet, of @len bytes. Return: true when the run goes on. */
static bool deliver(struct rx *rx, unsigned int len)
{
	struct vhmq_queue *queue = rx->queue;
	unsigned int segments;
	int count, ret;

	len += queue->sock_hlen;
	count = len ? pop_chains(rx, len + queue->vhost_hlen, &segments) : -EMSGSIZE;
	if (!count)
		return wait_for_guest(rx);
	if (unlikely(count < 0 && count != -EMSGSIZE))
		return false;

	if (unlikely(count < 0)) {
		drop_packet(rx);
		return true;
	}
	ret = receive(rx, len, segments, count);
	if (unlikely(ret)) {
		vhmq_ring_unpop(&queue->ring, count);
		return ret != -EFAULT;
	}
	rx->packets++;
	rx->weight += len + queue->vhost_hlen;
	rx->bytes += len - queue->sock_hlen;
	rx->done += count;
	if (rx->done > VHMQ_BATCH)
		flush(rx);
	return true;
}

static void run(struct rx *rx)
{
	struct vhmq_queue *queue = rx->queue;
	bool more = true;

	/*
	 * Turns are counted, not packets: a guest that never adds enough for one
	 * is not waited for, however fast it adds.
	 */
	while (more && rx->turns++ < VHMQ_WEIGHT_PACKETS && rx->weight < VHMQ_WEIGHT_BYTES) {
		int len = peek(rx);

		more = len < 0 ? wait_for_socket(rx) : deliver(rx, len);
	}

	flush(rx);
	vhmq_count_add(&queue->stats, packets, rx->packets);
	vhmq_count_add(&queue->stats, bytes, rx->bytes);
	trace_vhmq_batch(queue, rx->packets, rx->bytes);
	if (more) {
		vhmq_count(&queue->stats, weight_exceeded);
		vhmq_queue_ask(queue);
	}
}

/**
 * vhmq_rx_run() - deliver what the backend has received
 * @queue: receive queue
 * @scratch: memory of the worker
 * @may_poll: want no wake-ups of the socket at the end, when the owner wants busy polling
 *
 * Return: true when there is no more and the socket does not wake: the caller polls.
 * Context: run, in a worker thread with the owner's mm. Takes queue->mutex.
 */
bool vhmq_rx_run(struct vhmq_queue *queue, struct vhmq_scratch *scratch, bool may_poll)
{
	struct rx rx = {
		.queue = queue,
		.scratch = scratch,
		.msg.msg_flags = MSG_DONTWAIT,
	};

	mutex_lock(&queue->mutex);
	rx.sock = queue->sock;
	if (rx.sock && vhmq_ring_ready(&queue->ring)) {
		rx.mergeable = queue->acked_features & BIT_ULL(VIRTIO_NET_F_MRG_RXBUF);
		rx.num_buffers = rx.mergeable ||
				 queue->acked_features & BIT_ULL(VIRTIO_F_VERSION_1);
		rx.busy = may_poll && queue->busyloop_timeout;
		WRITE_ONCE(queue->sock_wanted, false);
		vhmq_ring_disable_kick(&queue->ring);
		run(&rx);
		vhmq_queue_tell_log(queue);
	}
	mutex_unlock(&queue->mutex);
	return rx.idle;
}

/**
 * vhmq_rx_stop() - give back the packets that were taken and not delivered
 * @queue: receive queue whose backend goes
 *
 * Context: ioctl or release, queue->mutex.
 */
void vhmq_rx_stop(struct vhmq_queue *queue)
{
	if (queue->rx_ring && queue->rx_head != queue->rx_tail)
		ptr_ring_unconsume(queue->rx_ring, queue->rx_batch + queue->rx_head,
				   queue->rx_tail - queue->rx_head, tun_ptr_free);
	queue->rx_head = 0;
	queue->rx_tail = 0;
}
