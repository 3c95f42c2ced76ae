// SPDX-License-Identifier: GPL-2.0-only
/* The owner: what it sets by ioctl, as far as the module lets it, and the IOTLB's messages. */
#include <linux/err.h>

#include "actors.h"

static struct file file = { .private_data = &dev };

static u64 arena_in(void)
{
	u16 at = u16_in();

	/* Most are in the arena. */
	return at < 0xff00 ? (uintptr_t)arena + at % ARENA : u64_in();
}

/* The log is in memory that no guest has. */
static u64 not_the_log(u64 at, u64 len)
{
	u64 first = (uintptr_t)dirty;

	return at < first + DIRTY && (at >= first || len > first - at) ? 0 : at;
}

/* As vring.c does. */
static bool may_start(struct vhmq_queue *queue)
{
	const struct vhmq_ring *ring = &queue->ring;

	if (!ring->iotlb && (!vhmq_mem_access_ok(queue->mem) ||
			     !access_ok(ring->desc, ring->num * sizeof(struct vring_desc)) ||
			     !access_ok(ring->avail, vhmq_ring_avail_size(ring->num, ring->event_idx)) ||
			     !access_ok(ring->used, vhmq_ring_used_size(ring->num, ring->event_idx))))
		return false;
	if (!ring->log_used)
		return true;
	return ring->iotlb ? vhmq_log_mem_ok(ring->log_base, queue->mem) :
	       vhmq_log_range_ok(ring->log_base, ring->log_addr, ring->log_addr +
				 vhmq_ring_used_size(ring->num, ring->event_idx) - 1);
}

static void stop(struct vhmq_queue *queue)
{
	settle(queue);
	queue->sock = false;
	vhmq_miss_forget(queue);
}

static void start(struct vhmq_queue *queue)
{
	struct vhmq_ring *ring = &queue->ring;
	struct guest *guest = guest_of(queue);
	int ret;

	stop(queue);
	if (!may_start(queue))
		return;
	begin(queue);
	ret = vhmq_ring_start(ring);
	end();
	must(queue->failures == guest->told);
	queue->sock = !ret;
	guest->ahead = ring->next_avail - ring->next_used;
	guest->offered = ring->next_avail;
}

static void set_ring(struct vhmq_queue *queue)
{
	struct vhmq_ring *ring = &queue->ring;
	u8 how = u8_in();

	stop(queue);
	ring->num = 1u << how % 8;
	ring->event_idx = how & 0x10;
	ring->notify_on_empty = how & 0x20;
	ring->little_endian = !(how & 0x40);
	ring->next_avail = how & 0x80 ? 0xfff8 : 0;
	guest_of(queue)->ahead = ring->next_avail - ring->next_used;
	ring->desc_addr = ring->iotlb ? guest_in() : arena_in();
	ring->avail_addr = (ring->iotlb ? guest_in() : arena_in()) & ~1ull;
	ring->used_addr = (ring->iotlb ? guest_in() : arena_in()) & ~3ull;
	vhmq_ring_place(ring);
	vhmq_ring_mend(ring);
	guest_of(queue)->told = queue->failures;
	start(queue);
}

static void set_log(struct vhmq_queue *queue)
{
	struct vhmq_ring *ring = &queue->ring;
	u8 how = u8_in();

	stop(queue);
	ring->log_used = how & 1;
	ring->log_base = how & 2 ? (u8 *)(uintptr_t)u64_in() : dirty + (how >> 4);
	ring->log_addr = (how & 4 ? u64_in() : u16_in() * 256ull) & ~3ull;
	start(queue);
}

static u64 len_in(void)
{
	u16 len = u16_in();

	return len < 0xff00 ? len & 0x3fff : u64_in();
}

static void set_mem(struct vhmq_queue *queue)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region regions[32];
	} table = {};
	struct vhmq_mem *mem;
	unsigned int i;
	u8 nr = u8_in();

	table.head.nregions = nr % 32;
	table.head.padding = nr >= 0xf8;
	for (i = 0; i < table.head.nregions; i++) {
		table.regions[i].guest_phys_addr = guest_in();
		table.regions[i].memory_size = len_in();
		table.regions[i].userspace_addr =
			not_the_log(arena_in(), table.regions[i].memory_size);
	}
	unit_user_fault = NULL;
	mem = vhmq_mem_create(&table.head);
	if (IS_ERR(mem)) {
		must(PTR_ERR(mem) != -E2BIG || table.head.nregions > vhmq_max_mem_regions);
		return;
	}
	must(mem->nr == table.head.nregions && !table.head.padding);
	for (i = 0; i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];

		must(region->start <= region->last);
		must(vhmq_mem_find(mem, region->start) == model_find(mem, region->start));
		must(vhmq_mem_find(mem, region->last) == model_find(mem, region->last));
		must(vhmq_mem_find(mem, region->last + 1) == model_find(mem, region->last + 1));
	}
	settle(queue);
	if (queue->sock && !queue->ring.iotlb && !vhmq_mem_access_ok(mem)) {
		vhmq_mem_put(mem);
		return;
	}
	vhmq_mem_put(queue->mem);
	queue->mem = mem;
	queue->ring.physical = mem;
	if (!queue->ring.iotlb)
		queue->ring.mem = mem;
	vhmq_ring_mend(&queue->ring);
	if (queue->sock && !may_start(queue))
		stop(queue);
}

/* A part of the guest's memory, as a run marks it when frames are logged. */
static void mark(void)
{
	u64 addr = u64_in() % (DIRTY * 8ull * VHMQ_LOG_PAGE);
	u64 len = u64_in() % (DIRTY * 8ull * VHMQ_LOG_PAGE - addr) + 1;
	u64 first = addr / VHMQ_LOG_PAGE, last = (addr + len - 1) / VHMQ_LOG_PAGE, page;

	memset(dirty, 0, DIRTY);
	begin(NULL);
	must(!vhmq_log_mark(dirty, addr, len));
	end();
	for (page = 0; page < DIRTY * 8; page++)
		must((dirty[page / 8] >> page % 8 & 1) == (page >= first && page <= last));
}

/* VIRTIO_F_ACCESS_PLATFORM on or off. */
static void set_platform(bool on)
{
	struct vhmq_iotlb *iotlb = on ? vhmq_iotlb_alloc() : NULL;
	unsigned int i;

	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		struct vhmq_queue *queue = &dev.queues[i];

		stop(queue);
		queue->ring.iotlb = on;
		queue->ring.mem = on ? iotlb->mem : queue->mem ?: &vhmq_mem_none;
		vhmq_ring_place(&queue->ring);
	}
	vhmq_iotlb_free(dev.iotlb);
	dev.iotlb = iotlb;
}

/* ------------------------------------------------------------------------
 * Messages
 */

static bool overlaps(const struct vhmq_region *region, u64 first, u64 last)
{
	return region->start <= last && region->last >= first;
}

/* What was known and is not meant is known still, but for one that gave way. */
static void check_kept(const struct vhmq_mem *old, u64 first, u64 last)
{
	const struct vhmq_mem *mem = dev.iotlb->mem;
	unsigned int i, gone = 0, kept = 0;

	for (i = 0; i < old->nr; i++) {
		const struct vhmq_region *region = &old->regions[i], *now;

		if (overlaps(region, first, last))
			continue;
		now = model_find(mem, region->start);
		if (now && now->start == region->start && now->last == region->last &&
		    now->addr == region->addr && now->perm == region->perm)
			kept++;
		else
			gone++;
	}
	must(gone <= (kept + gone == vhmq_max_iotlb_entries));
}

static void check_iotlb(void)
{
	const struct vhmq_mem *mem = dev.iotlb->mem;
	unsigned int i;

	must(mem->nr <= vhmq_max_iotlb_entries && mem->nr <= dev.iotlb->size);
	for (i = 0; i < mem->nr; i++) {
		const struct vhmq_region *region = &mem->regions[i];

		must(region->start <= region->last && region->reach == region->last);
		must(!i || region[-1].last < region->start);
	}
}

static void send(struct vhost_msg_v2 *message, size_t size)
{
	static struct {
		struct vhmq_mem mem;
		struct vhmq_region regions[128];
	} old;
	struct kiocb iocb = { .ki_filp = &file };
	struct iov_iter from = { (u8 *)message, size };
	const struct vhost_iotlb_msg *msg = &message->iotlb;
	u64 last = msg->iova + msg->size - 1;
	bool waits[VHMQ_NR_QUEUES];
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		struct vhmq_queue *queue = &dev.queues[i];

		settle(queue);
		queue->asked = 0;
		waits[i] = queue->sock && queue->miss.state != VHMQ_MISS_NONE &&
			   queue->miss.addr >= msg->iova && queue->miss.addr <= last;
	}
	old.mem.nr = 0;
	if (dev.iotlb)
		memcpy(&old, dev.iotlb->mem,
		       sizeof(old.mem) + dev.iotlb->mem->nr * sizeof(struct vhmq_region));
	ret = vhmq_iotlb_write(&iocb, &from);
	must(!dev.mutex.held && !dev.queues[0].mutex.held && !dev.queues[1].mutex.held);
	must(ret == (ssize_t)min(size, sizeof(*message)) || ret == -EINVAL || ret == -EFAULT);
	must(ret <= 0 || dev.iotlb);
	if (!dev.iotlb)
		return;
	check_iotlb();
	if (ret < 0) {
		must(!memcmp(&old, dev.iotlb->mem, sizeof(old.mem) +
			     old.mem.nr * sizeof(struct vhmq_region)));
		return;
	}

	check_kept(&old.mem, msg->iova, last);
	if (msg->type == VHOST_IOTLB_UPDATE) {
		const struct vhmq_region *region = vhmq_mem_find(dev.iotlb->mem, msg->iova);

		must(region && region->start == msg->iova && region->last == last);
		must(region->addr == msg->uaddr && region->perm == msg->perm);
	} else {
		for (i = 0; i < dev.iotlb->mem->nr; i++)
			must(!overlaps(&dev.iotlb->mem->regions[i], msg->iova, last));
	}
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		struct vhmq_queue *queue = &dev.queues[i];
		bool answered = waits[i] && msg->type == VHOST_IOTLB_UPDATE;

		must(queue->asked == answered);
		must(!answered || queue->miss.state == VHMQ_MISS_NONE);
		must(queue->ring.mem == dev.iotlb->mem);
	}
}

static void update(u64 iova, u64 size, u64 at, u8 perm)
{
	struct vhost_msg_v2 message = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = iova, .size = size, .uaddr = at, .perm = perm,
			.type = VHOST_IOTLB_UPDATE,
		},
	};

	send(&message, sizeof(message));
}

static void any_message(void)
{
	struct vhost_msg_v2 message = {};
	u8 how = u8_in();

	message.type = how & 0x80 ? u8_in() : how & 1 ? VHOST_IOTLB_MSG : VHOST_IOTLB_MSG_V2;
	message.iotlb.type = how & 0x40 ? u8_in() : how & 2 ? VHOST_IOTLB_INVALIDATE :
			     VHOST_IOTLB_UPDATE;
	message.iotlb.perm = how & 0x20 ? u8_in() : VHOST_ACCESS_RW;
	message.iotlb.iova = guest_in();
	message.iotlb.size = len_in();
	message.iotlb.uaddr = not_the_log(arena_in(), message.iotlb.size);
	send(&message, how & 0x10 ? u8_in() % (sizeof(message) + 1) : sizeof(message));
}

/* A part of the guest's memory, in pieces that lie in another order in the owner's. */
static void scatter(void)
{
	u64 iova = guest_in() & ~3ull;
	u16 at = u16_in() % ARENA;
	unsigned int piece = u8_in() + 1, count = u8_in() % 100 + 1, i;

	for (i = 0; i < count; i++)
		update(iova + i * piece, piece, (uintptr_t)arena + (at + (count - i) * 2 * piece) % ARENA,
		       VHOST_ACCESS_RW);
}

/* What the owner is asked for, it answers with memory that is its own. */
static void answer(void)
{
	struct vhost_msg_v2 message;
	struct vhost_msg_v2 before = { .type = 0x5a };
	struct kiocb iocb = { .ki_filp = &file, .ki_flags = IOCB_NOWAIT };
	struct vhmq_queue *queue = NULL;
	u16 at = u16_in();
	size_t room = at & 1 ? sizeof(message) : u8_in() % 128;
	struct iov_iter to = { (u8 *)&message, room };
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < VHMQ_NR_QUEUES && !queue; i++) {
		if (dev.queues[i].miss.state == VHMQ_MISS_NEW)
			queue = &dev.queues[i];
	}
	message = before;
	to.count = min(room, sizeof(message));
	must(!vhmq_iotlb_poll(&file, NULL) == !queue);
	ret = vhmq_iotlb_read(&iocb, &to);
	must(!dev.miss_lock.held);
	if (room < sizeof(message)) {
		must(!ret);
		return;
	}
	if (!queue) {
		must(ret == -EAGAIN);
		return;
	}
	must(ret == sizeof(message) && message.iotlb.type == VHOST_IOTLB_MISS);
	must(message.type == (dev.backend_features ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG));
	must(queue->miss.state == VHMQ_MISS_TOLD);
	must(message.iotlb.iova == queue->miss.addr && message.iotlb.perm == queue->miss.perm);
	if (dev.iotlb)
		update(message.iotlb.iova & ~0xfffull, 0x1000, (uintptr_t)arena +
		       (at & ~0xfffu) % ARENA, VHOST_ACCESS_RW);
}

void owner_does(struct vhmq_queue *queue, u8 what)
{
	switch (what % 8) {
	case 0:
		set_ring(queue);
		break;
	case 1:
		set_log(queue);
		if (what & 8)
			mark();
		break;
	case 2:
		set_mem(queue);
		break;
	case 3:
		set_platform(u8_in() & 1);
		break;
	case 4:
		any_message();
		break;
	case 5:
		scatter();
		break;
	case 6:
		answer();
		break;
	default:
		start(queue);
		break;
	}
}

/* Both queues, with rings of 8, as a virtual machine has them. */
static void usual_start(bool platform, unsigned int piece)
{
	static const struct {
		struct vhost_memory head;
		struct vhost_memory_region regions[2];
	} table = {
		{ .nregions = 2 },
		{ { 0x10000, 0x2000 }, { 0x12000, 0x2000 } },
	};
	struct vhmq_mem *mem;
	unsigned int i, at;

	set_platform(platform);
	if (platform)
		update(0x10000, 0x4000, (uintptr_t)arena, VHOST_ACCESS_RW);
	if (platform && piece) {
		/* The rings are in pieces, in another order. */
		vhmq_max_iotlb_entries = 100;
		update(0x10200, 0x3e00, (uintptr_t)arena + 0x200, VHOST_ACCESS_RW);
		for (at = 0; at < 0x200; at += piece)
			update(0x10000 + at, min(piece, 0x200 - at),
			       (uintptr_t)arena + 0x4000 - 2 * at, VHOST_ACCESS_RW);
	}
	unit_user_fault = NULL;
	mem = vhmq_mem_create(&table.head);
	must(!IS_ERR(mem));
	mem->regions[0].addr = (uintptr_t)arena;
	mem->regions[1].addr = (uintptr_t)arena + 0x4000;
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		struct vhmq_queue *queue = &dev.queues[i];
		struct vhmq_ring *ring = &queue->ring;

		queue->mem = vhmq_mem_get(mem);
		ring->physical = mem;
		if (!platform)
			ring->mem = mem;
		ring->num = 8;
		ring->little_endian = true;
		ring->desc_addr = (platform ? 0x10000 : (uintptr_t)arena) + 0x100 * i;
		ring->avail_addr = ring->desc_addr + 0x80;
		ring->used_addr = ring->desc_addr + 0xa0;
		vhmq_ring_place(ring);
		start(queue);
		must(queue->sock);
	}
	vhmq_mem_put(mem);
}

void open_device(void)
{
	unsigned int i;
	u8 how = u8_in();

	memset(&dev, 0, sizeof(dev));
	memset(guests, 0, sizeof(guests));
	memset(arena, 0, sizeof(arena));
	memset(dirty, 0, sizeof(dirty));
	disarm();
	vhmq_max_iotlb_entries = (unsigned int[]){ 1, 4, 40, 100 }[how & 3];
	dev.backend_features = how & 32 ? 1ull << VHOST_BACKEND_F_IOTLB_MSG_V2 : 0;
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		dev.queues[i].dev = &dev;
		vhmq_ring_reset(&dev.queues[i].ring);
	}
	if (how & 8)
		usual_start(how & 16, (unsigned int[]){ 0, 20, 34, 16 }[how >> 6]);
}

void close_device(void)
{
	unsigned int i;

	disarm();
	for (i = 0; i < VHMQ_NR_QUEUES; i++) {
		stop(&dev.queues[i]);
		vhmq_mem_put(dev.queues[i].mem);
	}
	vhmq_iotlb_free(dev.iotlb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
