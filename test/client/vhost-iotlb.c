// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device behind an IOMMU of its guest: frames go both ways while another thread answers
 * what the device asks for, a page at a time, and takes pages back. What it has not
 * given cannot be touched. In the owner's memory the pages are in another order than
 * in the guest's, so that rings of several pages are in pieces.
 *
 * usage: vhost-iotlb FRAMES [SEED]
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#define SIZE		(1ULL << 20)
#define PAGES		(SIZE / PAGE)
#define PLATFORM	BIT(VIRTIO_F_ACCESS_PLATFORM)
#define FEATURES	(VERSION_1 | MRG_RXBUF | EVENT_IDX | PLATFORM)

static struct client *client;
static int tap, sock, version;
static uint8_t *owners;			/* the guest's pages as the owner has them, the last first */
static uint8_t *in, *out;
static unsigned int seed;
static uint32_t number;
static atomic_ulong asked, taken;

/* ------------------------------------------------------------------------
 * Messages
 */

struct message {
	uint32_t type;
	uint32_t zero;
	struct vhost_iotlb_msg iotlb;
	uint8_t rest[64 - sizeof(struct vhost_iotlb_msg)];
};

static ssize_t tell_raw(int type, uint64_t iova, uint64_t size, void *at, int perm)
{
	struct message message = {
		.type = version,
		.iotlb = {
			.type = type,
			.iova = iova,
			.size = size,
			.uaddr = (uintptr_t)at,
			.perm = perm,
		},
	};

	return write(client->fd, &message, sizeof(message));
}

static void tell(int type, uint64_t iova, uint64_t size, void *at, int perm)
{
	if (tell_raw(type, iova, size, at, perm) != sizeof(struct message))
		err(1, "message %d for %#llx", type, (unsigned long long)iova);
}

/* Reads a miss; false with errno. */
static bool hear(struct vhost_iotlb_msg *msg)
{
	static const struct message zero;
	struct message message;
	ssize_t len;

	memset(&message, 0xff, sizeof(message));
	len = read(client->fd, &message, sizeof(message));
	if (len < 0)
		return false;
	if (len != sizeof(message) || (int)message.type != version || message.zero ||
	    message.iotlb.type != VHOST_IOTLB_MISS ||
	    message.iotlb.uaddr || message.iotlb.size ||
	    memcmp(message.rest, zero.rest, sizeof(zero.rest)) ||
	    (message.iotlb.perm != VHOST_ACCESS_RO && message.iotlb.perm != VHOST_ACCESS_WO))
		errx(1, "a message of %zd bytes that is no miss", len);
	*msg = message.iotlb;
	return true;
}

static uint8_t *owners_page(size_t page)
{
	return owners + (PAGES - 1 - page) * PAGE;
}

/* A page is given or taken, not both at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give(size_t page, int perm)
{
	pthread_mutex_lock(&lock);
	if (mprotect(owners_page(page), PAGE, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
	tell(VHOST_IOTLB_UPDATE, GUEST_BASE + page * PAGE, PAGE, owners_page(page), perm);
	pthread_mutex_unlock(&lock);
}

static void take_back(size_t page)
{
	pthread_mutex_lock(&lock);
	tell(VHOST_IOTLB_INVALIDATE, GUEST_BASE + page * PAGE, PAGE, NULL, 0);
	if (mprotect(owners_page(page), PAGE, PROT_NONE))
		err(1, "mprotect");
	taken++;
	pthread_mutex_unlock(&lock);
}

static void answer(const struct vhost_iotlb_msg *msg)
{
	if (msg->iova < GUEST_BASE || msg->iova >= GUEST_BASE + SIZE)
		errx(1, "asked for %#llx", (unsigned long long)msg->iova);
	asked++;
	give((msg->iova - GUEST_BASE) / PAGE, VHOST_ACCESS_RW);
}

/* Until the device has no IOTLB any more. */
static void *answer_blocking(void *arg)
{
	struct vhost_iotlb_msg msg;

	(void)arg;
	while (hear(&msg))
		answer(&msg);
	if (errno != EBADFD)
		err(1, "read");
	return NULL;
}

static atomic_bool enough;

static void *answer_polling(void *arg)
{
	struct pollfd file = { .fd = client->fd, .events = POLLIN };
	struct vhost_iotlb_msg msg;

	(void)arg;
	while (!enough) {
		if (poll(&file, 1, 10) < 1)
			continue;
		if (!(file.revents & POLLIN))
			errx(1, "poll says %#x", file.revents);
		if (!hear(&msg))
			err(1, "read");
		answer(&msg);
	}
	return NULL;
}

/* ------------------------------------------------------------------------
 * The device
 */

static void set_guest_addr(struct ring *ring)
{
	struct vhost_vring_addr addr = {
		.index = ring->index,
		.desc_user_addr = guest_address(client, ring->desc),
		.avail_user_addr = guest_address(client, ring->avail),
		.used_user_addr = guest_address(client, ring->used),
	};

	if (vhost(client, VHOST_SET_VRING_ADDR, &addr))
		err(1, "VHOST_SET_VRING_ADDR");
}

/* A start needs the first words of the used rings. */
static void start(void)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++)
		give(((uint8_t *)client->rings[i].used - client->mem) / PAGE, VHOST_ACCESS_RW);
	client_start(client, tap);
}

static void open_device(unsigned int num, int v)
{
	uint64_t backend = v == VHOST_IOTLB_MSG_V2 ? BIT(VHOST_BACKEND_F_IOTLB_MSG_V2) : 0;
	size_t page;
	unsigned int i;

	version = v;
	client = client_open(SIZE);
	owners = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (owners == MAP_FAILED)
		err(1, "memory");
	for (page = 0; page < PAGES; page++) {
		/* A second mapping of the same page. */
		if (mremap(client->mem + page * PAGE, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   owners_page(page)) == MAP_FAILED)
			err(1, "mremap");
	}
	if (mprotect(owners, SIZE, PROT_NONE))
		err(1, "mprotect");
	if (vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, FEATURES) ||
	    vhost(client, VHOST_SET_BACKEND_FEATURES, &backend) || set_mem(client))
		err(1, "set-up");
	client_setup_rings(client, num);
	for (i = 0; i < RINGS; i++)
		set_guest_addr(&client->rings[i]);
	in = client_alloc(client, 2 * PAGE, PAGE);
	out = client_alloc(client, 2 * PAGE, PAGE);
}

static void close_device(void)
{
	client_close(client);
	munmap(owners, SIZE);
}

static void transmit(void)
{
	struct ring *tx = &client->rings[TX];
	size_t size = 18 + number % 1482, len;
	/* Mostly over the border of pages. */
	uint8_t *at = out + PAGE - client->hlen - number % 1600;
	struct buf buf = { at, client->hlen + size, false };

	memset(at, 0, client->hlen);
	make_frame(at + client->hlen, size, number);
	if (ring_add(tx, &buf, 1) < 0)
		errx(1, "the transmit ring is full");
	ring_kick(tx);
	if (receive_frame(sock, 5000, &len) != (long)number || len != size)
		errx(1, "frame %u did not arrive", number);
	if (!ring_wait(tx, 5000) || ring_take(tx, NULL) < 0)
		errx(1, "frame %u: its buffer is not returned", number);
	number++;
}

static void receive(void)
{
	struct ring *rx = &client->rings[RX];
	size_t size = 18 + number % 1482;
	uint8_t *at = in + number % 4000;
	struct buf buf = { at, client->hlen + size, true };
	uint32_t len;

	if (ring_add(rx, &buf, 1) < 0)
		errx(1, "the receive ring is full");
	ring_kick(rx);
	if (!send_frame(sock, size, number))
		err(1, "send");
	if (!ring_wait(rx, 5000) || ring_take(rx, &len) < 0)
		errx(1, "frame %u was not received", number);
	if (len != size + client->hlen || frame_number(at + client->hlen) != number)
		errx(1, "frame %u: %u bytes of %u", number, len,
		     frame_number(at + client->hlen));
	number++;
}

static void traffic(unsigned int frames)
{
	while (frames--) {
		take_back(rand_r(&seed) % (client->allocated / PAGE));
		transmit();
		take_back(rand_r(&seed) % (client->allocated / PAGE));
		receive();
	}
}

static bool failed(const struct ring *ring, int ms)
{
	return wait_event(ring->err, ms);
}

static void work(unsigned int num, int v, unsigned int frames, bool polling)
{
	pthread_t thread;

	open_device(num, v);
	if (polling)
		fcntl(client->fd, F_SETFL, O_NONBLOCK);
	start();
	enough = false;
	if (pthread_create(&thread, NULL, polling ? answer_polling : answer_blocking, NULL))
		errx(1, "thread");
	asked = taken = 0;
	traffic(frames);
	client_stop(client);
	if (failed(&client->rings[RX], 0) || failed(&client->rings[TX], 0))
		errx(1, "a ring has failed");
	enough = true;
	if (!polling && vhost(client, VHOST_RESET_OWNER, NULL))
		err(1, "VHOST_RESET_OWNER");
	pthread_join(thread, NULL);
	printf("rings of %u: %u frames, %lu answers, %lu pages taken back\n", num, 2 * frames,
	       asked, taken);
	close_device();
}

/* ------------------------------------------------------------------------
 * Single steps
 */

static void expect(const char *what, bool is, int error)
{
	if (is || errno != error)
		errx(1, "%s: %s, not %s", what, is ? "taken" : strerrorname_np(errno),
		     strerrorname_np(error));
}

static void kick_one(void)
{
	struct ring *tx = &client->rings[TX];
	struct buf buf = { out, client->hlen + 60, false };

	memset(out, 0, client->hlen);
	make_frame(out + client->hlen, 60, number);
	if (ring_add(tx, &buf, 1) < 0)
		errx(1, "the transmit ring is full");
	ring_kick(tx);
}

/* The next thing that is asked for, by whichever queue. */
static size_t next_miss(void)
{
	struct pollfd file = { .fd = client->fd, .events = POLLIN };
	struct vhost_iotlb_msg msg;

	if (poll(&file, 1, 5000) != 1)
		errx(1, "nothing is asked for");
	if (!hear(&msg))
		err(1, "read");
	return (msg.iova - GUEST_BASE) / PAGE;
}

static void steps(void)
{
	struct vhost_iotlb_msg msg;
	uint64_t none = FEATURES & ~PLATFORM;
	size_t page;
	unsigned int i;
	char byte;

	open_device(64, VHOST_IOTLB_MSG_V2);
	fcntl(client->fd, F_SETFL, O_NONBLOCK);

	/* A start without the used ring fails, and says what is missing. */
	expect("a start without used ring", !set_backend(client, TX, tap), EFAULT);
	page = ((uint8_t *)client->rings[TX].used - client->mem) / PAGE;
	if (next_miss() != page)
		errx(1, "asked for another page than the used ring's");

	expect("an update of nothing", tell_raw(VHOST_IOTLB_UPDATE, 0, 0, NULL, 3) > 0, EINVAL);
	expect("an update of all", tell_raw(VHOST_IOTLB_UPDATE, 0, -1, NULL, 3) > 0, EFAULT);
	expect("an update over the top",
	       tell_raw(VHOST_IOTLB_UPDATE, -4096, 8192, owners, 3) > 0, EFAULT);
	expect("an update to the kernel",
	       tell_raw(VHOST_IOTLB_UPDATE, 0, 4096, (void *)-8192, 3) > 0, EFAULT);
	expect("an unknown message", tell_raw(77, 0, 4096, owners, 3) > 0, EFAULT);
	expect("a short message", write(client->fd, &byte, 1) > 0, EINVAL);
	if (read(client->fd, &byte, 1))
		errx(1, "a byte is read");

	/* What was missed before a stop is not asked for after it. */
	start();
	kick_one();
	next_miss();
	kick_one();
	client_stop(client);
	expect("a miss of a queue that is stopped", hear(&msg), EAGAIN);

	/* However often it is kicked, it asks once until it is answered. */
	start();
	while ((page = next_miss()) != (size_t)(out - client->mem) / PAGE)
		give(page, VHOST_ACCESS_RW);
	for (i = 0; i < 20; i++)
		kick_one();
	expect("a miss that was told", hear(&msg), EAGAIN);

	/* An answer that does not allow what is wanted fails the ring. */
	give(page, VHOST_ACCESS_WO);
	if (!wait_event(client->rings[TX].err, 5000))
		errx(1, "memory that may not be read is read");
	give(page, VHOST_ACCESS_RW);
	client_stop(client);

	/* Without an IOTLB there is nothing to be read or written. */
	if (vhost(client, VHOST_SET_FEATURES, &none))
		err(1, "VHOST_SET_FEATURES");
	fcntl(client->fd, F_SETFL, 0);
	expect("reading without IOTLB", hear(&msg), EBADFD);
	expect("an update without IOTLB",
	       tell_raw(VHOST_IOTLB_UPDATE, GUEST_BASE, 4096, owners, 3) > 0, EFAULT);
	close_device();

	/* Closed while the answer is waited for. */
	open_device(64, VHOST_IOTLB_MSG_V2);
	start();
	kick_one();
	next_miss();
	close_device();
}

/* No memory table, and then no IOTLB either: nothing that the guest says is an address. */
static void no_memory(void)
{
	uint64_t none = FEATURES & ~PLATFORM;

	client = client_open(SIZE);
	if (vhost(client, VHOST_SET_OWNER, NULL) || set_features(client, FEATURES))
		err(1, "set-up");
	client_setup_rings(client, 64);
	out = client_alloc(client, PAGE, PAGE);
	version = VHOST_IOTLB_MSG;
	/* The rings are where the owner has them, so that they are found later as well. */
	tell(VHOST_IOTLB_UPDATE, (uintptr_t)client->mem, SIZE, client->mem, VHOST_ACCESS_RW);
	client_start(client, tap);
	if (vhost(client, VHOST_SET_FEATURES, &none))
		err(1, "VHOST_SET_FEATURES");
	kick_one();
	if (!failed(&client->rings[TX], 5000))
		errx(1, "there is no memory, and a frame is sent");
	client_close(client);
}

int main(int argc, char **argv)
{
	unsigned int frames = argc > 1 ? atoi(argv[1]) : 2000;

	seed = argc > 2 ? atoi(argv[2]) : 1;
	enter_netns();
	tap = tap_open("tap0", 12, 0);
	sock = packet_socket("tap0");
	steps();
	no_memory();
	work(64, VHOST_IOTLB_MSG, frames, false);
	work(64, VHOST_IOTLB_MSG_V2, frames, true);
	/* More than a page each. */
	work(2048, VHOST_IOTLB_MSG_V2, frames, false);
	work(2048, VHOST_IOTLB_MSG, frames, true);
	return 0;
}
