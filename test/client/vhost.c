// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of /dev/vhost-net: see vhost.h.
 */
#include "vhost.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	verr(1, format, args);
}

static void clear_ring(struct ring *ring)
{
	ring->kick = -1;
	ring->call = -1;
	ring->err = -1;
}

struct client *client_open(size_t size)
{
	struct client *client = calloc(1, sizeof(*client));
	unsigned int i;

	if (!client)
		die("memory");
	client->fd = open("/dev/vhost-net", O_RDWR | O_CLOEXEC);
	if (client->fd < 0)
		die("/dev/vhost-net");
	client->size = size;
	client->mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (client->mem == MAP_FAILED)
		die("mmap");
	for (i = 0; i < RINGS; i++) {
		client->rings[i].client = client;
		client->rings[i].index = i;
		clear_ring(&client->rings[i]);
	}
	return client;
}

void client_close(struct client *client)
{
	unsigned int i;

	close(client->fd);
	for (i = 0; i < RINGS; i++) {
		struct ring *ring = &client->rings[i];

		if (ring->kick >= 0)
			close(ring->kick);
		if (ring->call >= 0)
			close(ring->call);
		if (ring->err >= 0)
			close(ring->err);
	}
	munmap(client->mem, client->size);
	free(client);
}

void *client_alloc(struct client *client, size_t size, size_t align)
{
	size_t at = (client->allocated + align - 1) / align * align;

	if (at + size > client->size)
		errx(1, "out of guest memory");
	client->allocated = at + size;
	return client->mem + at;
}

uint64_t guest_address(const struct client *client, const void *addr)
{
	return GUEST_BASE + ((const uint8_t *)addr - client->mem);
}

int vhost(struct client *client, unsigned long cmd, const void *arg)
{
	return ioctl(client->fd, cmd, arg);
}

int set_mem(struct client *client)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region region;
	} table = {
		.head.nregions = 1,
		.region = {
			.guest_phys_addr = GUEST_BASE,
			.memory_size = client->size,
			.userspace_addr = (uintptr_t)client->mem,
		},
	};

	return vhost(client, VHOST_SET_MEM_TABLE, &table);
}

int set_features(struct client *client, uint64_t features)
{
	client->features = features;
	client->hlen = features & (MRG_RXBUF | VERSION_1) ? 12 : 10;
	return vhost(client, VHOST_SET_FEATURES, &features);
}

int set_state(struct client *client, unsigned long cmd, unsigned int ring, unsigned int num)
{
	struct vhost_vring_state state = { .index = ring, .num = num };

	return vhost(client, cmd, &state);
}

int set_file(struct client *client, unsigned long cmd, unsigned int ring, int fd)
{
	struct vhost_vring_file file = { .index = ring, .fd = fd };

	return vhost(client, cmd, &file);
}

int set_addr(struct ring *ring)
{
	struct vhost_vring_addr addr = {
		.index = ring->index,
		.desc_user_addr = (uintptr_t)ring->desc,
		.avail_user_addr = (uintptr_t)ring->avail,
		.used_user_addr = (uintptr_t)ring->used,
	};

	return vhost(ring->client, VHOST_SET_VRING_ADDR, &addr);
}

int get_base(struct client *client, unsigned int ring)
{
	struct vhost_vring_state state = { .index = ring };

	if (vhost(client, VHOST_GET_VRING_BASE, &state))
		return -1;
	return state.num;
}

int set_backend(struct client *client, unsigned int ring, int fd)
{
	return set_file(client, VHOST_NET_SET_BACKEND, ring, fd);
}

static int new_event(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		die("eventfd");
	return fd;
}

int set_ring(struct ring *ring)
{
	struct client *client = ring->client;

	return set_state(client, VHOST_SET_VRING_NUM, ring->index, ring->num) ||
	       set_state(client, VHOST_SET_VRING_BASE, ring->index, ring->next_avail) ||
	       set_addr(ring) ||
	       set_file(client, VHOST_SET_VRING_KICK, ring->index, ring->kick) ||
	       set_file(client, VHOST_SET_VRING_CALL, ring->index, ring->call) ||
	       set_file(client, VHOST_SET_VRING_ERR, ring->index, ring->err);
}

static void setup_ring(struct ring *ring, unsigned int num)
{
	struct client *client = ring->client;
	unsigned int i;

	ring->num = num;
	/* Pages that only one side writes. */
	ring->desc = client_alloc(client, num * sizeof(*ring->desc), 4096);
	ring->avail = client_alloc(client, 6 + num * 2, 4096);
	ring->used = client_alloc(client, 6 + num * sizeof(struct vring_used_elem), 4096);
	for (i = 0; i < num; i++)
		ring->desc[i].next = i + 1;
	ring->free = 0;
	ring->nfree = num;
	ring->kick = new_event();
	ring->call = new_event();
	ring->err = new_event();

	if (set_ring(ring))
		die("ring %u", ring->index);
}

void client_setup_rings(struct client *client, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++)
		setup_ring(&client->rings[i], num);
}

struct client *client_setup(unsigned int num, uint64_t features)
{
	struct client *client = client_open(64 << 20);

	if (vhost(client, VHOST_SET_OWNER, NULL))
		die("VHOST_SET_OWNER");
	if (set_features(client, features))
		die("VHOST_SET_FEATURES");
	if (set_mem(client))
		die("VHOST_SET_MEM_TABLE");
	client_setup_rings(client, num);
	return client;
}

void client_start(struct client *client, int tap)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++) {
		if (set_backend(client, i, tap))
			die("VHOST_NET_SET_BACKEND %u", i);
	}
}

void client_stop(struct client *client)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++) {
		if (set_backend(client, i, -1))
			die("VHOST_NET_SET_BACKEND %u -1", i);
	}
}

static void fill_desc(const struct client *client, struct vring_desc *desc,
		      const struct buf *buf)
{
	desc->addr = guest_address(client, buf->addr);
	desc->len = buf->len;
	desc->flags = buf->write ? VRING_DESC_F_WRITE : 0;
}

static void offer(struct ring *ring, uint16_t head)
{
	ring->avail->ring[ring->next_avail++ & (ring->num - 1)] = head;
}

int ring_add(struct ring *ring, const struct buf *bufs, unsigned int count)
{
	uint16_t head = ring->free, at = head, last = head;
	unsigned int i;

	if (count > ring->nfree || !count)
		return -1;
	for (i = 0; i < count; i++) {
		fill_desc(ring->client, &ring->desc[at], &bufs[i]);
		ring->desc[at].flags |= VRING_DESC_F_NEXT;
		last = at;
		at = ring->desc[at].next;
	}
	ring->desc[last].flags &= ~VRING_DESC_F_NEXT;
	ring->free = at;
	ring->nfree -= count;
	offer(ring, head);
	return head;
}

int ring_add_indirect(struct ring *ring, struct vring_desc *table, const struct buf *bufs,
		      unsigned int count)
{
	uint16_t head = ring->free;
	struct buf all = { .addr = table, .len = count * sizeof(*table) };
	unsigned int i;

	if (!ring->nfree || !count)
		return -1;
	for (i = 0; i < count; i++) {
		fill_desc(ring->client, &table[i], &bufs[i]);
		table[i].flags |= VRING_DESC_F_NEXT;
		table[i].next = i + 1;
	}
	table[count - 1].flags &= ~VRING_DESC_F_NEXT;
	fill_desc(ring->client, &ring->desc[head], &all);
	ring->desc[head].flags = VRING_DESC_F_INDIRECT;
	ring->free = ring->desc[head].next;
	ring->nfree--;
	offer(ring, head);
	return head;
}

void ring_publish(struct ring *ring)
{
	__atomic_store_n(&ring->avail->idx, ring->next_avail, __ATOMIC_RELEASE);
}

static bool must_kick(const struct ring *ring, uint16_t old, uint16_t new)
{
	const uint16_t *event = (const uint16_t *)&ring->used->ring[ring->num];

	if (ring->client->features & EVENT_IDX)
		return vring_need_event(__atomic_load_n(event, __ATOMIC_RELAXED), new, old);
	return !(__atomic_load_n(&ring->used->flags, __ATOMIC_RELAXED) & VRING_USED_F_NO_NOTIFY);
}

void ring_kick(struct ring *ring)
{
	uint16_t old = ring->avail->idx;
	uint64_t one = 1;

	ring_publish(ring);
	mb();
	if (!must_kick(ring, old, ring->next_avail))
		return;
	ring->kicks++;
	if (write(ring->kick, &one, sizeof(one)) != sizeof(one))
		die("kick");
}

static void free_chain(struct ring *ring, uint16_t head)
{
	uint16_t last = head;
	unsigned int count = 1;

	while (ring->desc[last].flags & VRING_DESC_F_NEXT) {
		last = ring->desc[last].next;
		count++;
	}
	ring->desc[last].next = ring->free;
	ring->free = head;
	ring->nfree += count;
}

int ring_take(struct ring *ring, uint32_t *len)
{
	const struct vring_used_elem *elem;

	if (__atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE) == ring->next_used)
		return -1;
	elem = &ring->used->ring[ring->next_used++ & (ring->num - 1)];
	if (len)
		*len = elem->len;
	if (elem->id >= ring->num)
		errx(1, "used head %u of a ring of %u", elem->id, ring->num);
	free_chain(ring, elem->id);
	return elem->id;
}

bool wait_event(int fd, int ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t count;

	if (poll(&poller, 1, ms) <= 0)
		return false;
	return read(fd, &count, sizeof(count)) == sizeof(count);
}

/* Programs can write all but the last one; that one is the end of an asynchronous read. */
void event_overflow(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint64_t most = ~0ULL - 1;
	struct iocb one = {
		.aio_fildes = null, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)&most,
		.aio_nbytes = 1, .aio_flags = IOCB_FLAG_RESFD, .aio_resfd = fd,
	}, *all = &one;
	struct io_event done;
	aio_context_t context = 0;

	if (write(fd, &most, sizeof(most)) != sizeof(most) ||
	    syscall(SYS_io_setup, 1, &context) || syscall(SYS_io_submit, context, 1, &all) != 1 ||
	    syscall(SYS_io_getevents, context, 1, 1, &done, NULL) != 1)
		err(1, "an eventfd to overflow");
	syscall(SYS_io_destroy, context);
	close(null);
}

bool ring_arm(struct ring *ring)
{
	uint16_t *event = (uint16_t *)&ring->avail->ring[ring->num];

	*event = ring->next_used;
	ring->avail->flags = 0;
	mb();
	return __atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE) == ring->next_used;
}

bool ring_wait(struct ring *ring, int ms)
{
	for (;;) {
		if (!ring_arm(ring))
			return true;
		if (!wait_event(ring->call, ms))
			return __atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE) !=
			       ring->next_used;
	}
}
