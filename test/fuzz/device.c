// SPDX-License-Identifier: GPL-2.0-only
/* The device at work, as tx.c and rx.c use a ring, and what must hold after each step. */
#include "actors.h"

struct guest guests[VHMQ_NR_QUEUES];

struct guest *guest_of(const struct vhmq_queue *queue)
{
	return &guests[queue - dev.queues];
}

void vhmq_queue_ask(struct vhmq_queue *queue)
{
	queue->asked++;
}

void vhmq_ring_fail(struct vhmq_ring *ring, const char *format, ...)
{
	struct vhmq_queue *queue = container_of(ring, struct vhmq_queue, ring);
	va_list args;

	if (ring->broken)
		return;
	ring->broken = true;
	queue->failures++;
	va_start(args, format);
	vsnprintf(queue->reason, sizeof(queue->reason), format, args);
	va_end(args);
	must(strlen(queue->reason) > 10);
}

/* ------------------------------------------------------------------------
 * The device
 */

static bool is_running(struct vhmq_queue *queue)
{
	bool ret;

	if (!queue->sock)
		return false;
	begin(queue);
	ret = vhmq_ring_ready(&queue->ring);
	end();
	must(ret == !queue->ring.broken || queue->miss.state != VHMQ_MISS_NONE);
	return ret;
}

/* After each call into the ring. */
static void check_ring(struct vhmq_queue *queue, bool was_broken)
{
	struct vhmq_ring *ring = &queue->ring;
	struct guest *guest = guest_of(queue);

	must((u16)(ring->next_avail - ring->next_used - guest->ahead) == guest->nr);
	must(ring->heads_nr <= VHMQ_RING_BATCH);
	must(!was_broken || ring->broken);
	must(queue->failures == guest->told + (ring->broken && !was_broken));
	guest->told = queue->failures;
	must(!queue->mutex.held && !dev.mutex.held && !dev.miss_lock.held);
}

static void check_chain(struct vhmq_queue *queue, const struct iovec *iov,
			const struct vhmq_chain *chain)
{
	const struct vhmq_mem *mem = queue->ring.mem;
	size_t len[2] = {};
	unsigned int i, k;

	must(chain->head < queue->ring.num);
	must(chain->out + chain->in <= UIO_MAXIOV);
	for (i = 0; i < chain->out + chain->in; i++) {
		bool write = i >= chain->out, found = false;
		u64 at = (uintptr_t)iov[i].iov_base;

		must(iov[i].iov_len);
		len[write] += iov[i].iov_len;
		for (k = 0; k < mem->nr && !found; k++) {
			const struct vhmq_region *region = &mem->regions[k];
			u64 span = region->last - region->start;

			found = region->perm & (write ? VHOST_ACCESS_WO : VHOST_ACCESS_RO) &&
				at >= region->addr && at - region->addr <= span &&
				iov[i].iov_len - 1 <= span - (at - region->addr);
		}
		must(found);
	}
	must(len[0] == chain->out_len && len[1] == chain->in_len);
}

/* The backend reads what goes out and writes what comes in. */
static void transfer(struct vhmq_queue *queue, const struct iovec *iov,
		     const struct vhmq_chain *chain)
{
	static u8 packet[2048];
	size_t left = sizeof(packet);
	unsigned int i;

	begin(queue);
	for (i = 0; i < chain->out + chain->in && left; i++) {
		size_t part = min(left, iov[i].iov_len);

		left -= part;
		if (i < chain->out ? copy_from_user(packet, iov[i].iov_base, part) :
				     copy_to_user(iov[i].iov_base, packet, part))
			break;
	}
	end();
}

static bool pop(struct vhmq_queue *queue)
{
	struct vhmq_ring *ring = &queue->ring;
	struct guest *guest = guest_of(queue);
	static struct model_chain model;
	static struct iovec iov[UIO_MAXIOV];
	unsigned long misses = queue->stats.iotlb_misses;
	bool still = !armed(), was_broken = ring->broken;
	struct vhmq_chain chain;
	unsigned int before;
	int ret;

	if (guest->nr == ARRAY_SIZE(guest->held))
		return false;
	before = queue->miss.state;
	model_pop(ring, &model);
	begin(queue);
	ret = vhmq_ring_pop(ring, iov, ARRAY_SIZE(iov), &chain);
	still &= end();

	if (still && model.ret != (ret < 0 && ret != -EAGAIN && ret != -EIO ? -EINVAL : ret))
		wrong("popped: %d (%s), the model says %d", ret, queue->reason, model.ret);
	must(!was_broken || (ret == -EIO && !accesses));
	must(was_broken || ret != -EIO);
	must(ret > 0 || !ret || ret == -EAGAIN || ring->broken);
	must(ret != -EAGAIN || (ring->iotlb && queue->miss.state != VHMQ_MISS_NONE &&
				(before != VHMQ_MISS_NONE || queue->stats.iotlb_misses != misses)));
	if (ret > 0) {
		if (still) {
			must(chain.head == model.head && chain.cost == model.cost);
			must(chain.out == model.out && chain.in == model.in);
			must(chain.out_len == model.out_len && chain.in_len == model.in_len);
			must(!memcmp(iov, model.iov, (chain.out + chain.in) * sizeof(*iov)));
		}
		check_chain(queue, iov, &chain);
		guest->held[guest->nr].id = vhmq_cpu_to_32(ring, chain.head);
		guest->held[guest->nr++].len = vhmq_cpu_to_32(ring, chain.in_len);
	}
	check_ring(queue, was_broken);
	if (ret > 0)
		transfer(queue, iov, &chain);
	return ret > 0;
}

static void unpop(struct vhmq_queue *queue, unsigned int count)
{
	struct guest *guest = guest_of(queue);

	count = min(count, guest->nr);
	vhmq_ring_unpop(&queue->ring, count);
	guest->nr -= count;
	check_ring(queue, queue->ring.broken);
}

/* What push() leaves, when the used ring is in one piece. */
static void model_push(const struct vhmq_ring *ring, const struct vhmq_used_elem *elems,
		       unsigned int count, u8 *memory)
{
	struct vring_used *used = (void *)(memory + ((u8 *)ring->used - arena));
	__virtio16 idx = vhmq_cpu_to_16(ring, ring->next_used + count);
	unsigned int i;

	for (i = 0; i < count; i++)
		memcpy(&used->ring[(u16)(ring->next_used + i) % ring->num], &elems[i],
		       sizeof(*elems));
	memcpy(&used->idx, &idx, sizeof(idx));
}

static void check_log(const struct vhmq_ring *ring)
{
	static u8 expected[DIRTY];

	memset(expected, 0, sizeof(expected));
	if (ring->log_used)
		expect_log(ring, expected);
	must(!memcmp(dirty, expected, DIRTY));
}

static void push(struct vhmq_queue *queue, unsigned int count)
{
	static u8 model[ARENA];
	struct vhmq_ring *ring = &queue->ring;
	struct guest *guest = guest_of(queue);
	bool still = !armed(), was_broken = ring->broken;
	bool whole = !ring->scattered && in_arena(ring->used, vhmq_ring_used_size(ring->num, false));
	int ret;

	count = min(count, guest->nr);
	if (!count)
		return;
	if (still && whole) {
		memcpy(model, arena, ARENA);
		model_push(ring, guest->held, count, model);
	}
	memset(dirty, 0, DIRTY);
	begin(queue);
	ret = vhmq_ring_push(ring, guest->held, count);
	still &= end();
	if (still && whole && !ret)
		must(!memcmp(model, arena, ARENA));
	if (still && !ret)
		check_log(ring);
	must(!ret || ring->broken);

	/* Before its index was moved, it is as if they had not been returned. */
	if ((u16)(ring->next_avail - ring->next_used - guest->ahead) != guest->nr) {
		guest->nr -= count;
		memmove(guest->held, guest->held + count, guest->nr * sizeof(*guest->held));
	} else {
		must(ret);
	}
	check_ring(queue, was_broken);
}

static void kicks(struct vhmq_queue *queue, bool enable)
{
	struct vhmq_ring *ring = &queue->ring;
	bool was_broken = ring->broken, more = false;

	memset(dirty, 0, DIRTY);
	begin(queue);
	if (enable)
		more = vhmq_ring_enable_kick(ring);
	else
		vhmq_ring_disable_kick(ring);
	end();
	must(!was_broken || (!accesses && !more));
	must(!more || !ring->kick_off);
	check_ring(queue, was_broken);
}

static void call(struct vhmq_queue *queue)
{
	bool was_broken = queue->ring.broken;

	begin(queue);
	vhmq_ring_should_call(&queue->ring);
	end();
	must(accesses <= 2);
	check_ring(queue, was_broken);
}

static void look(struct vhmq_queue *queue)
{
	bool was_broken = queue->ring.broken;

	begin(queue);
	if (vhmq_ring_empty(&queue->ring))
		must(was_broken || queue->ring.broken ||
		     queue->ring.avail_idx == queue->ring.next_avail);
	end();
	must(!was_broken || !accesses);
	check_ring(queue, was_broken);
}

/* As tx.c and rx.c do. */
static void run(struct vhmq_queue *queue)
{
	unsigned int i;

	kicks(queue, false);
	for (i = 0; i < 64 && pop(queue); i++)
		;
	push(queue, guest_of(queue)->nr);
	call(queue);
	kicks(queue, true);
}

/* The end of a run: nothing stays popped. */
void settle(struct vhmq_queue *queue)
{
	if (queue->sock)
		push(queue, 256);
	unpop(queue, 256);
}

void device_does(struct vhmq_queue *queue, u8 what)
{
	if (!is_running(queue)) {
		guest_of(queue)->told = queue->failures;
		return;
	}
	switch (what % 8) {
	case 0:
		pop(queue);
		break;
	case 1:
		unpop(queue, u8_in());
		break;
	case 2:
		push(queue, u8_in());
		break;
	case 3:
		call(queue);
		break;
	case 4:
		kicks(queue, u8_in() & 1);
		break;
	case 5:
		look(queue);
		break;
	default:
		run(queue);
		break;
	}
}
