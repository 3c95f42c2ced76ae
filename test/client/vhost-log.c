// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log, as live migration uses it: while frames go both ways, another
 * thread copies the guest's memory by what the log says; when the device has
 * stopped, the copy holds all that the device wrote, and the log has no page that
 * it did not write.
 *
 * The guest has its memory at two addresses, and the log begins at an odd one.
 *
 * usage: vhost-log [MIGRATIONS [SEED]]
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define PAGE		4096ULL
#define ALIAS		(GUEST_BASE + (1ULL << 30))
#define SLOTS		64
#define SLOT		16384
#define LOG_ALL		BIT(VHOST_F_LOG_ALL)
#define SYNCS		5

static struct client *client;
static int tap, sock, log_event;
static unsigned int seed;
static uint32_t number;

/* Buffers to receive into, and one to send. */
static uint8_t *slots, *out;
static uint8_t *slot_at[SLOTS];
static uint32_t slot_len[SLOTS];

static uint8_t *bitmap;
static size_t bitmap_size;
/* What the log said of a page: by either address. */
static uint8_t *copy, *said[2];
static atomic_bool ready, stopped;

static unsigned int any(unsigned int from, unsigned int to)
{
	return from + rand_r(&seed) % (to - from + 1);
}

static void two_addresses(void)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region regions[2];
	} table = { .head.nregions = 2 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		table.regions[i].guest_phys_addr = i ? ALIAS : GUEST_BASE;
		table.regions[i].memory_size = client->size;
		table.regions[i].userspace_addr = (uintptr_t)client->mem;
	}
	if (vhost(client, VHOST_SET_MEM_TABLE, &table))
		err(1, "VHOST_SET_MEM_TABLE");
}

/* ------------------------------------------------------------------------
 * Traffic
 */

/* Fills a slot with what no frame has, and offers a part of it. */
static void offer(unsigned int i)
{
	struct buf in;

	slot_len[i] = any(1500, 9000);
	slot_at[i] = slots + i * SLOT + any(0, SLOT - slot_len[i]);
	in = (struct buf){ slot_at[i], slot_len[i], true };
	memset(slots + i * SLOT, 0xee, SLOT);
	if (ring_add(&client->rings[RX], &in, 1) < 0)
		errx(1, "the receive ring is full");
}

static void receive(void)
{
	struct ring *rx = &client->rings[RX];
	uint32_t len = any(60, 60000), want = len + client->hlen, got = 0, part;
	static unsigned int next;

	if (!send_frame(sock, len, number++))
		err(1, "send");
	while (got < want) {
		if (!ring_wait(rx, 5000))
			errx(1, "%u bytes of %u received", got, want);
		ring_take(rx, &part);
		got += part;
		offer(next++ % SLOTS);
	}
	ring_kick(rx);
}

static void transmit(void)
{
	struct ring *tx = &client->rings[TX];
	struct buf bufs = { out, client->hlen + 100, false };

	make_frame(out + client->hlen, 100, number);
	if (ring_add(tx, &bufs, 1) < 0)
		errx(1, "the transmit ring is full");
	ring_kick(tx);
	if (receive_frame(sock, 5000, NULL) != (long)number++ || !ring_wait(tx, 5000))
		errx(1, "what was sent did not arrive");
	ring_take(tx, NULL);
}

/* ------------------------------------------------------------------------
 * Migration
 */

static void log_rings(bool on)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++) {
		struct ring *ring = &client->rings[i];
		struct vhost_vring_addr addr = {
			.index = i,
			.flags = on ? BIT(VHOST_VRING_F_LOG) : 0,
			.desc_user_addr = (uintptr_t)ring->desc,
			.avail_user_addr = (uintptr_t)ring->avail,
			.used_user_addr = (uintptr_t)ring->used,
			.log_guest_addr = guest_address(client, ring->used),
		};

		if (vhost(client, VHOST_SET_VRING_ADDR, &addr))
			err(1, "VHOST_SET_VRING_ADDR");
	}
}

static void log_features(bool on)
{
	uint64_t features = (client->features & ~LOG_ALL) | (on ? LOG_ALL : 0);

	if (vhost(client, VHOST_SET_FEATURES, &features))
		err(1, "VHOST_SET_FEATURES");
}

/* Copies what is marked, and remembers by which address. */
static void sync_log(void)
{
	size_t page, pages = client->size / PAGE;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		uint64_t first = (i ? ALIAS : GUEST_BASE) / PAGE;

		for (page = 0; page < pages; page++) {
			uint8_t *byte = &bitmap[(first + page) / 8], bit = 1 << (first + page) % 8;

			if (!(__atomic_load_n(byte, __ATOMIC_RELAXED) & bit))
				continue;
			__atomic_fetch_and(byte, ~bit, __ATOMIC_SEQ_CST);
			said[i][page] = 1;
			memcpy(copy + page * PAGE, client->mem + page * PAGE, PAGE);
		}
	}
}

static void *migrate(void *arg)
{
	unsigned int i;

	(void)arg;
	memset(said[0], 0, client->size / PAGE);
	memset(said[1], 0, client->size / PAGE);
	log_features(true);
	log_rings(true);
	memcpy(copy, client->mem, client->size);
	for (i = 0; i < SYNCS; i++) {
		if (!wait_event(log_event, 5000))
			errx(1, "the log's eventfd is not written");
		sync_log();
	}
	ready = true;
	while (!stopped)
		usleep(100);
	sync_log();
	return NULL;
}

static bool within(const void *at, const void *start, size_t size)
{
	return (const uint8_t *)at + PAGE > (const uint8_t *)start &&
	       (const uint8_t *)at < (const uint8_t *)start + size;
}

/* May the device write to the page, and may the log say so, by its second address? */
static bool is_used_ring(const void *at)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++) {
		const struct ring *ring = &client->rings[i];

		if (within(at, ring->used, 6 + ring->num * sizeof(struct vring_used_elem)))
			return true;
	}
	return false;
}

/* Only what frames have written: the client fills slots too. */
static bool same_page(const uint8_t *one, const uint8_t *other, bool ring)
{
	unsigned int i;

	for (i = 0; i < PAGE; i++)
		if (one[i] != other[i] && (ring || one[i] != 0xee))
			return false;
	return true;
}

static void check_copy(void)
{
	size_t page, pages = client->size / PAGE, marked = 0;

	for (page = 0; page < pages; page++) {
		const uint8_t *at = client->mem + page * PAGE;
		bool ring = is_used_ring(at), slot = within(at, slots, SLOTS * SLOT);

		if ((ring || slot) && !same_page(at, copy + page * PAGE, ring))
			errx(1, "page %zu, of %s, was written and not logged", page,
			     ring ? "a used ring" : "a buffer");
		if (said[0][page] && !ring && !slot)
			errx(1, "page %zu was logged and not written", page);
		if (said[1][page] && !slot)
			errx(1, "page %zu was logged at its second address", page);
		if (slot && said[0][page] != said[1][page])
			errx(1, "page %zu was logged at one address of two", page);
		marked += said[0][page];
	}
	printf("%zu pages logged\n", marked);
}

static void one_migration(void)
{
	pthread_t thread;

	ready = stopped = false;
	if (pthread_create(&thread, NULL, migrate, NULL))
		errx(1, "thread");
	while (!ready) {
		receive();
		transmit();
	}
	receive();
	client_stop(client);
	stopped = true;
	pthread_join(thread, NULL);
	check_copy();

	/* It was cancelled: nothing is logged any more. */
	log_rings(false);
	log_features(false);
	memset(bitmap + GUEST_BASE / PAGE / 8, 0, client->size / PAGE / 8);
	client_start(client, tap);
	receive();
	transmit();
	memset(said[0], 0, client->size / PAGE);
	sync_log();
	if (memchr(said[0], 1, client->size / PAGE))
		errx(1, "logged without being asked for");
}

/* A log that cannot be written stops the ring; given another, it goes on. */
static void lost_log(void)
{
	struct ring *rx = &client->rings[RX];

	log_features(true);
	if (mprotect(bitmap - 3, bitmap_size, PROT_READ))
		err(1, "mprotect");
	if (!send_frame(sock, 1000, number++))
		err(1, "send");
	if (!wait_event(rx->err, 5000))
		errx(1, "the log cannot be written, and nobody is told");
	transmit();
	if (mprotect(bitmap - 3, bitmap_size, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
	two_addresses();
	receive();
	log_features(false);
}

static void many_events(void)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 1000; i++) {
		fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd < 0 || vhost(client, VHOST_SET_LOG_FD, &fd))
			err(1, "VHOST_SET_LOG_FD");
		close(fd);
	}
}

static void *memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(1, "memory");
	return at;
}

int main(int argc, char **argv)
{
	unsigned int migrations = argc > 1 ? atoi(argv[1]) : 5, i;
	uint64_t base;

	seed = argc > 2 ? atoi(argv[2]) : 1;
	enter_netns();
	client = client_open(4 << 20);
	if (vhost(client, VHOST_SET_OWNER, NULL))
		err(1, "VHOST_SET_OWNER");
	if (set_features(client, VERSION_1 | MRG_RXBUF | EVENT_IDX))
		err(1, "VHOST_SET_FEATURES");
	two_addresses();
	client_setup_rings(client, 1024);
	tap = tap_open("tap0", client->hlen, 0);
	if (run_command("ip link set tap0 mtu 65000"))
		errx(1, "mtu");
	sock = packet_socket("tap0");

	copy = memory(client->size);
	said[0] = memory(client->size / PAGE);
	said[1] = memory(client->size / PAGE);
	bitmap_size = (ALIAS + client->size) / PAGE / 8 + PAGE;
	bitmap = (uint8_t *)memory(bitmap_size) + 3;
	base = (uintptr_t)bitmap;
	log_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (vhost(client, VHOST_SET_LOG_BASE, &base) || vhost(client, VHOST_SET_LOG_FD, &log_event))
		err(1, "log");

	slots = client_alloc(client, SLOTS * SLOT, PAGE);
	out = client_alloc(client, PAGE, PAGE);
	for (i = 0; i < SLOTS; i++)
		offer(i);
	ring_publish(&client->rings[RX]);
	client_start(client, tap);
	for (i = 0; i < migrations; i++)
		one_migration();
	many_events();
	lost_log();
	client_stop(client);
	client_close(client);
	return 0;
}
