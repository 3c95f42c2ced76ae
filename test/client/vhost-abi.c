// SPDX-License-Identifier: GPL-2.0-only
/*
 * What every ioctl answers in every situation, and what it has changed, a line each: to
 * be compared between two modules.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#ifndef VHOST_GET_FEATURES_ARRAY
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, uint64_t[1])
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, uint64_t[1])
#endif
#ifndef VHOST_SET_FORK_FROM_OWNER
#define VHOST_SET_FORK_FROM_OWNER _IOW(VHOST_VIRTIO, 0x84, uint8_t)
#define VHOST_GET_FORK_FROM_OWNER _IOR(VHOST_VIRTIO, 0x85, uint8_t)
#endif

static const char *situation;

static void say(const char *what, int ret)
{
	printf("%s: %s: %s\n", situation, what, ret < 0 ? strerrorname_np(errno) : "ok");
}

static void one(struct client *client, const char *name, unsigned long cmd, const void *arg)
{
	say(name, vhost(client, cmd, arg));
}

#define ONE(client, cmd, arg) one(client, #cmd, cmd, arg)

static void say_state(struct client *client, const char *name, unsigned long cmd,
		      unsigned int index, unsigned int num)
{
	char what[100];

	snprintf(what, sizeof(what), "%s index %u num %#x", name, index, num);
	say(what, set_state(client, cmd, index, num));
}

#define STATE(client, cmd, index, num) say_state(client, #cmd, cmd, index, num)

static void say_file(struct client *client, const char *name, unsigned long cmd,
		     unsigned int index, int fd, const char *kind)
{
	char what[100];

	snprintf(what, sizeof(what), "%s index %u %s", name, index, kind);
	say(what, set_file(client, cmd, index, fd));
}

#define EVENT(client, cmd, index, fd, kind) say_file(client, #cmd, cmd, index, fd, kind)

static void value(struct client *client, const char *name, unsigned long cmd, uint64_t *array)
{
	if (vhost(client, cmd, array))
		say(name, -1);
	else
		printf("%s: %s: %#llx\n", situation, name, (unsigned long long)array[0]);
}

static void state_value(struct client *client, const char *name, unsigned long cmd,
			unsigned int index)
{
	struct vhost_vring_state state = { .index = index };
	char what[100];

	snprintf(what, sizeof(what), "%s index %u is", name, index);
	if (vhost(client, cmd, &state))
		say(what, -1);
	else
		printf("%s: %s: %u\n", situation, what, state.num);
}

static void features(struct client *client)
{
	static const uint64_t some[] = {
		0, VERSION_1, VERSION_1 | MRG_RXBUF | EVENT_IDX | INDIRECT, VNET_HDR, ON_EMPTY,
		BIT(0), BIT(VIRTIO_F_RING_PACKED), BIT(22), BIT(63), ~0ULL,
	};
	uint64_t array[4] = { 1, VERSION_1 };
	unsigned int i;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		char what[60];

		snprintf(what, sizeof(what), "VHOST_SET_FEATURES %#llx", (unsigned long long)some[i]);
		one(client, what, VHOST_SET_FEATURES, &some[i]);
	}
	ONE(client, VHOST_SET_FEATURES, NULL);
	ONE(client, VHOST_GET_FEATURES, NULL);
	ONE(client, VHOST_GET_FEATURES, array);
	ONE(client, VHOST_GET_BACKEND_FEATURES, NULL);
	ONE(client, VHOST_GET_BACKEND_FEATURES, array);
	array[0] = 0;
	ONE(client, VHOST_SET_BACKEND_FEATURES, array);
	array[0] = BIT(0);
	ONE(client, VHOST_SET_BACKEND_FEATURES, array);
	ONE(client, VHOST_SET_BACKEND_FEATURES, NULL);
}

static void features_array(struct client *client)
{
	uint64_t array[5] = { 1, VERSION_1 };
	unsigned int count;

	for (count = 0; count < 5; count++) {
		char what[60];

		array[0] = count;
		snprintf(what, sizeof(what), "VHOST_SET_FEATURES_ARRAY of %u", count);
		one(client, what, VHOST_SET_FEATURES_ARRAY, array);
		snprintf(what, sizeof(what), "VHOST_GET_FEATURES_ARRAY of %u", count);
		one(client, what, VHOST_GET_FEATURES_ARRAY, array);
		memset(array, 0, sizeof(array));
		array[1] = VERSION_1;
	}
	array[0] = 4;
	array[4] = 1;
	one(client, "VHOST_SET_FEATURES_ARRAY bit 192", VHOST_SET_FEATURES_ARRAY, array);
	ONE(client, VHOST_SET_FEATURES_ARRAY, NULL);
	ONE(client, VHOST_GET_FEATURES_ARRAY, NULL);
}

struct table {
	struct vhost_memory head;
	struct vhost_memory_region regions[65];
};

static void table(struct client *client, const char *name, const struct table *t)
{
	char what[100];

	snprintf(what, sizeof(what), "VHOST_SET_MEM_TABLE %s", name);
	one(client, what, VHOST_SET_MEM_TABLE, t);
}

static void memory(struct client *client)
{
	static struct table t;
	unsigned int i;

	for (i = 0; i < 65; i++) {
		t.regions[i].guest_phys_addr = GUEST_BASE + i * 0x100000ULL;
		t.regions[i].memory_size = 0x100000;
		t.regions[i].userspace_addr = (uintptr_t)client->mem;
	}
	t.head.nregions = 64;
	table(client, "64 regions", &t);
	t.head.nregions = 65;
	table(client, "65 regions", &t);
	t.head.nregions = 1;
	t.head.padding = 1;
	table(client, "padding", &t);
	t.head.padding = 0;
	t.regions[0].memory_size = 0;
	table(client, "empty region", &t);
	t.regions[0].memory_size = 0ULL - GUEST_BASE;
	table(client, "region to the top", &t);
	t.regions[0].memory_size = 0ULL - GUEST_BASE + 1;
	table(client, "region over the top", &t);
	t.regions[0].memory_size = 0x1000;
	t.regions[0].userspace_addr = 1ULL << 63;
	table(client, "region of the kernel", &t);
	t.head.nregions = 0;
	table(client, "no region", &t);
	ONE(client, VHOST_SET_MEM_TABLE, NULL);
	if (set_mem(client) && errno != EPERM)
		err(1, "VHOST_SET_MEM_TABLE");
}

static void ring_addresses(struct client *client)
{
	static const struct {
		const char *name;
		struct vhost_vring_addr addr;
	} some[] = {
		{ "nothing", {} },
		{ "index 2", { .index = 2 } },
		{ "unknown flag", { .flags = 2 } },
		{ "odd avail", { .avail_user_addr = 1 } },
		{ "odd used", { .used_user_addr = 2 } },
		{ "odd log", { .log_guest_addr = 2 } },
		{ "desc of the kernel", { .desc_user_addr = 1ULL << 63 } },
	};
	unsigned int i;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		char what[100];

		snprintf(what, sizeof(what), "VHOST_SET_VRING_ADDR %s", some[i].name);
		one(client, what, VHOST_SET_VRING_ADDR, &some[i].addr);
	}
	ONE(client, VHOST_SET_VRING_ADDR, NULL);
}

static void ring_states(struct client *client)
{
	static const unsigned int nums[] = {
		0, 1, 2, 3, 256, 32768, 65535, 65536, 0x80000000
	};
	unsigned int i;

	for (i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		STATE(client, VHOST_SET_VRING_NUM, TX, nums[i]);
		STATE(client, VHOST_SET_VRING_BASE, TX, nums[i]);
		STATE(client, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, TX, nums[i]);
	}
	STATE(client, VHOST_SET_VRING_BASE, TX, 77);
	state_value(client, "VHOST_GET_VRING_BASE", VHOST_GET_VRING_BASE, TX);
	STATE(client, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, TX, 5);
	state_value(client, "VHOST_GET_VRING_BUSYLOOP_TIMEOUT", VHOST_GET_VRING_BUSYLOOP_TIMEOUT, TX);
	/* Nothing for a ring that is started. */
	STATE(client, VHOST_SET_VRING_BASE, TX, 0);
	STATE(client, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, TX, 0);
	STATE(client, VHOST_SET_VRING_NUM, 2, 256);
	STATE(client, VHOST_SET_VRING_BASE, 2, 0);
	STATE(client, VHOST_GET_VRING_BASE, 0, 0);
	STATE(client, VHOST_GET_VRING_BASE, 2, 0);
	STATE(client, VHOST_GET_VRING_BUSYLOOP_TIMEOUT, 1, 0);
	STATE(client, VHOST_SET_VRING_ENDIAN, 0, 0);
	STATE(client, VHOST_GET_VRING_ENDIAN, 0, 0);
	ONE(client, VHOST_SET_VRING_NUM, NULL);
	ONE(client, VHOST_SET_VRING_BASE, NULL);
	ONE(client, VHOST_GET_VRING_BASE, NULL);
}

static void ring_events(struct client *client, int tap)
{
	int event = eventfd(0, EFD_CLOEXEC), full = eventfd(0, EFD_CLOEXEC);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	EVENT(client, VHOST_SET_VRING_KICK, 0, event, "eventfd");
	EVENT(client, VHOST_SET_VRING_KICK, 0, event, "the same eventfd");
	EVENT(client, VHOST_SET_VRING_KICK, 0, null, "/dev/null");
	EVENT(client, VHOST_SET_VRING_KICK, 0, tap, "tap");
	event_overflow(full);
	EVENT(client, VHOST_SET_VRING_KICK, 0, full, "overflowed eventfd");
	EVENT(client, VHOST_SET_VRING_KICK, 0, full, "the same overflowed eventfd");
	EVENT(client, VHOST_SET_VRING_KICK, 0, -1, "-1");
	EVENT(client, VHOST_SET_VRING_KICK, 0, -2, "-2");
	EVENT(client, VHOST_SET_VRING_KICK, 2, event, "eventfd");
	EVENT(client, VHOST_SET_VRING_CALL, 0, event, "eventfd");
	EVENT(client, VHOST_SET_VRING_CALL, 0, null, "/dev/null");
	EVENT(client, VHOST_SET_VRING_CALL, 0, -1, "-1");
	EVENT(client, VHOST_SET_VRING_CALL, 0, 999, "999");
	EVENT(client, VHOST_SET_VRING_CALL, 2, -1, "-1");
	EVENT(client, VHOST_SET_VRING_ERR, 0, event, "eventfd");
	EVENT(client, VHOST_SET_VRING_ERR, 0, null, "/dev/null");
	EVENT(client, VHOST_SET_VRING_ERR, 0, -1, "-1");
	close(event);
	close(full);
	close(null);
}

static void log_at(struct client *client, const char *what, uint64_t base)
{
	char name[100];

	snprintf(name, sizeof(name), "VHOST_SET_LOG_BASE %s", what);
	one(client, name, VHOST_SET_LOG_BASE, &base);
}

/* The last 64 KiB that a program can have; the bits of the rings are behind them. */
#define TOP_OF_MEMORY	(BIT(47) - 0x10000)

static void dirty_log(struct client *client)
{
	static const uint64_t with[] = { VERSION_1, VERSION_1 | BIT(VHOST_F_LOG_ALL) };
	struct ring *ring = &client->rings[TX];
	struct vhost_vring_addr addr = {
		.index = TX,
		.flags = BIT(VHOST_VRING_F_LOG),
		.desc_user_addr = (uintptr_t)ring->desc,
		.avail_user_addr = (uintptr_t)ring->avail,
		.used_user_addr = (uintptr_t)ring->used,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		log_at(client, "0", 0);
		one(client, i ? "VHOST_F_LOG_ALL" : "no VHOST_F_LOG_ALL", VHOST_SET_FEATURES,
		    &with[i]);
		log_at(client, "of the client", (uintptr_t)client->mem);
		log_at(client, "odd", (uintptr_t)client->mem + 3);
		log_at(client, "of the kernel", 1ULL << 63);
		log_at(client, "at the top", TOP_OF_MEMORY);
		one(client, "VHOST_F_LOG_ALL", VHOST_SET_FEATURES, &with[1]);
		set_mem(client);
		one(client, "VHOST_SET_VRING_ADDR with a log", VHOST_SET_VRING_ADDR, &addr);
		addr.log_guest_addr = 1ULL << 63;
		one(client, "VHOST_SET_VRING_ADDR with a far log", VHOST_SET_VRING_ADDR, &addr);
		addr.log_guest_addr = 0;
		addr.flags = 0;
		one(client, "VHOST_SET_VRING_ADDR without a log", VHOST_SET_VRING_ADDR, &addr);
		addr.flags = BIT(VHOST_VRING_F_LOG);
	}
	log_at(client, "0", 0);
	addr.flags = 0;
	one(client, "VHOST_SET_VRING_ADDR without a log", VHOST_SET_VRING_ADDR, &addr);
	one(client, "no VHOST_F_LOG_ALL", VHOST_SET_FEATURES, &with[0]);
}

static void others(struct client *client)
{
	uint64_t base = (uintptr_t)client->mem, wrong = 1ULL << 63;
	int event = eventfd(0, EFD_CLOEXEC), minus = -1, bad = 999;
	unsigned int index = 0, far = 7;

	ONE(client, VHOST_SET_LOG_BASE, &base);
	one(client, "VHOST_SET_LOG_BASE of the kernel", VHOST_SET_LOG_BASE, &wrong);
	ONE(client, VHOST_SET_LOG_BASE, NULL);
	ONE(client, VHOST_SET_LOG_FD, &event);
	one(client, "VHOST_SET_LOG_FD -1", VHOST_SET_LOG_FD, &minus);
	one(client, "VHOST_SET_LOG_FD 999", VHOST_SET_LOG_FD, &bad);
	ONE(client, VHOST_SET_LOG_FD, NULL);
	one(client, "unknown", _IO(VHOST_VIRTIO, 0x6f), &index);
	one(client, "unknown, index 7", _IO(VHOST_VIRTIO, 0x6f), &far);
	one(client, "unknown, no argument", _IO(VHOST_VIRTIO, 0x6f), NULL);
	one(client, "of another type", _IO('v', 1), &index);
	one(client, "of vsock", VHOST_VSOCK_SET_RUNNING, &index);
	one(client, "of scsi", VHOST_SCSI_GET_ABI_VERSION, &index);
	close(event);
}

static void backends(struct client *client, int tap)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int udp = socket(AF_INET, SOCK_DGRAM, 0), un = socket(AF_UNIX, SOCK_STREAM, 0);
	int dgram = socket(AF_PACKET, SOCK_DGRAM, 0), raw = socket(AF_PACKET, SOCK_RAW, 0);
	int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		EVENT(client, VHOST_NET_SET_BACKEND, i, null, "/dev/null");
		EVENT(client, VHOST_NET_SET_BACKEND, i, udp, "UDP socket");
		EVENT(client, VHOST_NET_SET_BACKEND, i, un, "UNIX socket");
		EVENT(client, VHOST_NET_SET_BACKEND, i, dgram, "packet socket");
		EVENT(client, VHOST_NET_SET_BACKEND, i, raw, "raw packet socket");
		EVENT(client, VHOST_NET_SET_BACKEND, i, tun, "tun without device");
		EVENT(client, VHOST_NET_SET_BACKEND, i, client->fd, "itself");
		EVENT(client, VHOST_NET_SET_BACKEND, i, 999, "999");
		EVENT(client, VHOST_NET_SET_BACKEND, i, -2, "-2");
		EVENT(client, VHOST_NET_SET_BACKEND, i, tap, "tap");
		EVENT(client, VHOST_NET_SET_BACKEND, i, tap, "the same tap");
	}
	ONE(client, VHOST_NET_SET_BACKEND, NULL);
	close(null);
	close(udp);
	close(un);
	close(dgram);
	close(raw);
	close(tun);
}

/* The features, once: nothing changes them. */
static uint64_t offered;

static void each_feature(struct client *client)
{
	unsigned int i;

	if (vhost(client, VHOST_GET_FEATURES, &offered))
		err(1, "VHOST_GET_FEATURES");
	for (i = 0; i < 64; i++)
		printf("%s: VHOST_GET_FEATURES bit %u is: %u\n", situation, i,
		       (unsigned int)(offered >> i & 1));
}

/* What can be asked for. */
static void values(struct client *client)
{
	uint64_t array[3] = {};
	unsigned int i;

	if (vhost(client, VHOST_GET_FEATURES, array))
		err(1, "VHOST_GET_FEATURES");
	printf("%s: VHOST_GET_FEATURES is as before: %s\n", situation,
	       !offered || offered == array[0] ? "yes" : "no");
	offered = array[0];
	array[0] = 0;
	value(client, "VHOST_GET_BACKEND_FEATURES is", VHOST_GET_BACKEND_FEATURES, array);
	for (i = 0; i < RINGS; i++) {
		state_value(client, "VHOST_GET_VRING_BASE", VHOST_GET_VRING_BASE, i);
		state_value(client, "VHOST_GET_VRING_BUSYLOOP_TIMEOUT",
			    VHOST_GET_VRING_BUSYLOOP_TIMEOUT, i);
	}
}

static void fork_from_owner(struct client *client)
{
	static const uint8_t some[] = { 0, 1, 2, 255 };
	unsigned int i;

	for (i = 0; i < sizeof(some); i++) {
		uint64_t array[1] = {};
		char what[60];

		snprintf(what, sizeof(what), "VHOST_SET_FORK_FROM_OWNER %u", some[i]);
		one(client, what, VHOST_SET_FORK_FROM_OWNER, &some[i]);
		value(client, "VHOST_GET_FORK_FROM_OWNER is", VHOST_GET_FORK_FROM_OWNER, array);
	}
	one(client, "VHOST_SET_FORK_FROM_OWNER 1", VHOST_SET_FORK_FROM_OWNER, &some[1]);
	ONE(client, VHOST_SET_FORK_FROM_OWNER, NULL);
	ONE(client, VHOST_GET_FORK_FROM_OWNER, NULL);
}

/* Of the device IOTLB, which is not there. */
static void messages(struct client *client)
{
	struct vhost_msg_v2 msg = { .type = VHOST_IOTLB_MSG_V2 };
	char byte = 0;

	say("write of a byte", write(client->fd, &byte, 1));
	say("write of no message", write(client->fd, &msg, sizeof(msg)));
	msg.iotlb.type = VHOST_IOTLB_UPDATE;
	say("write of an update of nothing", write(client->fd, &msg, sizeof(msg)));
	msg.iotlb.size = 4096;
	msg.iotlb.uaddr = (uintptr_t)client->mem;
	msg.iotlb.perm = VHOST_ACCESS_RW;
	say("write of an update", write(client->fd, &msg, sizeof(msg)));
	msg.iotlb.type = VHOST_IOTLB_INVALIDATE;
	say("write of an invalidation", write(client->fd, &msg, sizeof(msg)));
	say("read of a byte", read(client->fd, &byte, 1));
	say("read of a message", read(client->fd, &msg, sizeof(msg)));
}

static void everything(struct client *client, int tap)
{
	values(client);
	fork_from_owner(client);
	messages(client);
	features(client);
	features_array(client);
	memory(client);
	ring_states(client);
	ring_addresses(client);
	ring_events(client, tap);
	dirty_log(client);
	others(client);
	backends(client, tap);
	values(client);
}

static void in_child(struct client *client, int tap)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		everything(client, tap);
		ONE(client, VHOST_SET_OWNER, NULL);
		ONE(client, VHOST_RESET_OWNER, NULL);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		err(1, "fork");
}

/* Who got the file from the one that opened it takes it over, and ends. */
static void owned_by_child(struct client *client, int tap)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		ONE(client, VHOST_SET_OWNER, NULL);
		everything(client, tap);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		err(1, "fork");
}

int main(void)
{
	struct client *client = client_open(16 << 20);
	int tap;

	fcntl(client->fd, F_SETFL, O_NONBLOCK);

	enter_netns();
	tap = tap_open("tap0", 12, 0);

	situation = "no owner";
	each_feature(client);
	everything(client, tap);
	ONE(client, VHOST_RESET_OWNER, NULL);

	situation = "owner";
	ONE(client, VHOST_SET_OWNER, NULL);
	ONE(client, VHOST_SET_OWNER, NULL);
	everything(client, tap);

	situation = "child of the owner";
	in_child(client, tap);

	situation = "ready";
	client_setup_rings(client, 256);
	event_overflow(client->rings[RX].kick);
	backends(client, tap);

	situation = "running";
	everything(client, tap);
	situation = "child while running";
	in_child(client, tap);

	situation = "stopped";
	EVENT(client, VHOST_NET_SET_BACKEND, 0, -1, "-1");
	EVENT(client, VHOST_NET_SET_BACKEND, 1, -1, "-1");
	everything(client, tap);

	situation = "after reset while running";
	ONE(client, VHOST_RESET_OWNER, NULL);
	everything(client, tap);
	situation = "child after reset";
	in_child(client, tap);
	situation = "owner again";
	ONE(client, VHOST_SET_OWNER, NULL);
	values(client);

	situation = "after reset";
	ONE(client, VHOST_RESET_OWNER, NULL);
	ONE(client, VHOST_RESET_OWNER, NULL);

	situation = "owned by a child";
	owned_by_child(client, tap);
	situation = "the owner has ended";
	everything(client, tap);
	ONE(client, VHOST_SET_OWNER, NULL);
	ONE(client, VHOST_RESET_OWNER, NULL);
	client_close(client);
	return 0;
}
