// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-fuzz SEED SECONDS [MS]: programs, of MS milliseconds each, that do anything with
 * /dev/vhost-net, in any order, several threads on the same files, while guests scribble on
 * their rings, taps come and go, and somebody writes to sysfs. Half of them are killed.
 * All must end, and a plain client works afterwards; the kernel's log tells the rest.
 *
 * Half of the steps follow what real clients do (owner, features, memory, rings, backend), so
 * that the others meet devices that run. The same seed makes the same programs, but
 * not the same interleaving.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

#ifndef VHOST_SET_FORK_FROM_OWNER
#define VHOST_SET_FORK_FROM_OWNER _IOW(VHOST_VIRTIO, 0x84, uint8_t)
#define VHOST_GET_FORK_FROM_OWNER _IOR(VHOST_VIRTIO, 0x85, uint8_t)
#endif
#ifndef VHOST_GET_FEATURES_ARRAY
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, uint64_t[1])
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, uint64_t[1])
#endif

#define FILES		3
#define TAPS		4
#define EVENTS		6
#define THREADS		4
#define SIZE		(1u << 20)	/* of a guest */
#define RING		0x4000u		/* room for each ring */
#define NUM		64
#define GRACE_MS	60000		/* for its end */

/* Of a program: written by all of its threads. */
static int files[FILES], taps[TAPS], events[EVENTS], sock, passing;
static uint8_t *mem;			/* guests' memory as the owner has it; some of it is not there */
static uint8_t *guest;			/* and as the guests have it */
static volatile int over;
static unsigned int round_ms = 400;
static char mq_dir[100];

static __thread unsigned int seed;
static __thread uint8_t *page;		/* for arguments; the next one is not there */

static struct {				/* of all programs */
	unsigned long steps, started, ended;
} *counts;

static unsigned int any(unsigned int n)
{
	return rand_r(&seed) % n;
}

static uint64_t any_u64(void)
{
	static const uint64_t some[] = {
		0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 47, 1ULL << 63,
		~0ULL, ~0ULL - 4095,
	};

	if (any(2))
		return some[any(sizeof(some) / sizeof(some[0]))];
	return (uint64_t)rand_r(&seed) << any(48);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------
 * What there is
 */

/* What others are using: its number is never that of something else. */
static void replace(int *place, int fd)
{
	if (fd < 0)
		return;
	if (*place <= 0) {
		*place = fd;
		return;
	}
	dup3(fd, *place, O_CLOEXEC);
	close(fd);
}

/* As tap_open(), but it may fail. */
static int try_tap(unsigned int i)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int size = any(4) ? 12 : 10, sndbuf = any(4) ? INT_MAX : 20000;
	struct ifreq ifr = {
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE,
	};
	int link = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "fuzz%u", i / 3);
	if (fd >= 0 && !ioctl(fd, TUNSETIFF, &ifr)) {
		ioctl(fd, TUNSETVNETHDRSZ, &size);
		ioctl(fd, TUNSETSNDBUF, &sndbuf);
		ifr.ifr_flags = IFF_UP;
		ioctl(link, SIOCSIFFLAGS, &ifr);
	}
	close(link);
	return fd;
}

static int any_fd(void)
{
	switch (any(8)) {
	case 0:
		return files[any(FILES)];
	case 1:
		return sock;
	case 2:
		return -(int)any(3);
	case 3:
		return any(64);
	case 4:
		return 999;
	case 5:
		return events[any(EVENTS)];
	default:
		return taps[any(TAPS)];
	}
}

static uint64_t ring_part(unsigned int ring, unsigned int part)
{
	return (uintptr_t)mem + ring % 2 * RING + part * 0x1000;
}

static uint64_t any_addr(void)
{
	return any(8) ? (uintptr_t)mem + any(SIZE + 0x1000) : any_u64();
}

/* ------------------------------------------------------------------------
 * Arguments: room for the largest, and where it is not all there
 */

union argument {
	uint8_t byte;
	int fd;
	uint64_t words[8];
	struct vhost_vring_state state;
	struct vhost_vring_file file;
	struct vhost_vring_addr addr;
	struct {
		struct vhost_memory head;
		struct vhost_memory_region regions[70];
	} mem;
};

static const unsigned long commands[] = {
	VHOST_GET_FEATURES, VHOST_SET_FEATURES, VHOST_SET_OWNER, VHOST_RESET_OWNER,
	VHOST_SET_MEM_TABLE, VHOST_SET_LOG_BASE, VHOST_SET_LOG_FD, VHOST_SET_VRING_NUM,
	VHOST_SET_VRING_ADDR, VHOST_SET_VRING_BASE, VHOST_GET_VRING_BASE, VHOST_SET_VRING_ENDIAN,
	VHOST_GET_VRING_ENDIAN, VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
	VHOST_SET_VRING_BUSYLOOP_TIMEOUT, VHOST_GET_VRING_BUSYLOOP_TIMEOUT,
	VHOST_SET_BACKEND_FEATURES, VHOST_GET_BACKEND_FEATURES, VHOST_NET_SET_BACKEND,
	VHOST_SET_FORK_FROM_OWNER, VHOST_GET_FORK_FROM_OWNER, VHOST_GET_FEATURES_ARRAY,
	VHOST_SET_FEATURES_ARRAY,
	/* Of other devices, and of this one where it has threads by hand. */
	_IOR(VHOST_VIRTIO, 0x08, uint64_t), _IOW(VHOST_VIRTIO, 0x09, uint64_t),
	_IOW(VHOST_VIRTIO, 0x15, uint64_t), _IOWR(VHOST_VIRTIO, 0x16, uint64_t),
	_IOW(VHOST_VIRTIO, 0x60, uint64_t), _IOW(VHOST_VIRTIO, 0x72, uint64_t),
};

static void fill_mem(union argument *arg)
{
	unsigned int i;

	arg->mem.head.nregions = any(4) ? 1 + any(4) : any(70);
	arg->mem.head.padding = !any(20);
	for (i = 0; i < 70; i++) {
		struct vhost_memory_region *region = &arg->mem.regions[i];

		*region = (struct vhost_memory_region){
			.guest_phys_addr = any(8) ? GUEST_BASE + i * 0x40000 : any_u64(),
			.memory_size = any(8) ? 0x40000 : any_u64(),
			.userspace_addr = any(8) ? (uintptr_t)mem + i % 4 * 0x40000 : any_addr(),
		};
	}
}

static void fill_addr(union argument *arg, unsigned int ring)
{
	arg->addr = (struct vhost_vring_addr){
		.index = ring,
		.flags = any(4) ? 0 : any(3),
		.desc_user_addr = any(16) ? ring_part(ring, 0) : any_addr(),
		.avail_user_addr = any(16) ? ring_part(ring, 1) : any_addr(),
		.used_user_addr = any(16) ? ring_part(ring, 2) : any_addr(),
		.log_guest_addr = any(4) ? 0 : any_u64(),
	};
}

static uint64_t any_features(void)
{
	static const uint64_t bits[] = {
		VERSION_1, MRG_RXBUF, EVENT_IDX, INDIRECT, ON_EMPTY, VNET_HDR,
		BIT(VHOST_F_LOG_ALL), BIT(VIRTIO_F_ACCESS_PLATFORM),
	};
	uint64_t features = 0;
	unsigned int i;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		features |= any(i < 4 ? 2 : 6) ? 0 : bits[i];
	return any(16) ? features : any_u64();
}

static void fill(union argument *arg, unsigned long cmd)
{
	unsigned int ring = any(16) ? any(2) : any(5);

	memset(arg, 0, sizeof(*arg));
	switch (cmd) {
	case VHOST_SET_MEM_TABLE:
		fill_mem(arg);
		break;
	case VHOST_SET_VRING_ADDR:
		fill_addr(arg, ring);
		break;
	case VHOST_SET_FEATURES:
		arg->words[0] = any_features();
		break;
	case VHOST_SET_FEATURES_ARRAY:
	case VHOST_GET_FEATURES_ARRAY:
		arg->words[0] = any(8) ? any(8) : any_u64();
		arg->words[1] = any_features();
		break;
	case VHOST_SET_BACKEND_FEATURES:
		arg->words[0] = any(4) ? any(4) : any_u64();
		break;
	case VHOST_SET_LOG_BASE:
		arg->words[0] = any(2) ? (uintptr_t)mem + SIZE / 2 : any_addr();
		break;
	case VHOST_SET_LOG_FD:
		arg->fd = any_fd();
		break;
	case VHOST_SET_VRING_KICK:
	case VHOST_SET_VRING_CALL:
	case VHOST_SET_VRING_ERR:
		arg->file.index = ring;
		arg->file.fd = any(4) ? events[any(EVENTS)] : any_fd();
		break;
	case VHOST_NET_SET_BACKEND:
		arg->file.index = ring;
		arg->file.fd = any(4) ? taps[any(TAPS)] : any_fd();
		break;
	case VHOST_SET_FORK_FROM_OWNER:
		arg->byte = any(4);
		break;
	default:
		arg->state.index = ring;
		arg->state.num = any(4) ? any(300) : any_u64();
		break;
	}
}

/* Most are there; some end in a page that is not, or are nowhere. */
static void *place(const union argument *arg)
{
	size_t size = any(8) ? sizeof(*arg) : any(sizeof(*arg));

	switch (any(24)) {
	case 0:
		return NULL;
	case 1:
		return (void *)any_u64();
	default:
		return memcpy(page + 4096 - size, arg, size);
	}
}

static void any_ioctl(int fd)
{
	unsigned long cmd = commands[any(sizeof(commands) / sizeof(commands[0]))];
	union argument arg;

	fill(&arg, cmd);
	if (!any(32))
		cmd = any(2) ? _IOC(any(4), VHOST_VIRTIO, any(256), any(100)) : any_u64();
	ioctl(fd, cmd, place(&arg));
}

/* ------------------------------------------------------------------------
 * Messages of the device IOTLB
 */

struct message {
	uint32_t type, zero;
	struct vhost_iotlb_msg iotlb;
	uint8_t rest[64 - sizeof(struct vhost_iotlb_msg)];
};

/* All of the guest's memory is where the owner has it. */
static void good_message(int fd)
{
	struct message msg = {
		.type = VHOST_IOTLB_MSG,
		.iotlb = {
			.iova = (uintptr_t)mem, .size = SIZE, .uaddr = (uintptr_t)mem,
			.perm = VHOST_ACCESS_RW, .type = VHOST_IOTLB_UPDATE,
		},
	};

	if (write(fd, &msg, sizeof(msg)) < 0)
		errno = 0;
}

static void any_message(int fd)
{
	struct message msg = {
		.type = any(8) ? 1 + any(2) : any(5),
		.iotlb = {
			.iova = any(2) ? (uintptr_t)mem : any(2) ? GUEST_BASE : any_u64(),
			.size = any(2) ? SIZE : any(4) ? any(SIZE) : any_u64(),
			.uaddr = any(2) ? (uintptr_t)mem : any_addr(),
			.perm = any(4) ? 3 : any(5),
			.type = any(4) ? VHOST_IOTLB_UPDATE : any(6),
		},
	};
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	/* Sizes that are refused, too; what cannot be read and written is no matter. */
	if (write(fd, &msg, any(8) ? sizeof(msg) : any(sizeof(msg))) < 0)
		errno = 0;
	poll(&poller, 1, 0);
	if (read(fd, &msg, any(8) ? sizeof(msg) : any(sizeof(msg))) < 0)
		errno = 0;
}

/* ------------------------------------------------------------------------
 * As clients do
 */

static void one(int fd, unsigned long cmd)
{
	union argument arg;

	fill(&arg, cmd);
	ioctl(fd, cmd, &arg);
}

static void good_mem(int fd)
{
	union argument arg = {
		.mem = {
			{ .nregions = 1 },
			{ { GUEST_BASE, SIZE, (uintptr_t)mem, 0 } },
		},
	};

	ioctl(fd, VHOST_SET_MEM_TABLE, &arg);
}

static void good_ring(int fd, unsigned int ring)
{
	union argument arg;

	arg.state = (struct vhost_vring_state){ ring, NUM };
	ioctl(fd, VHOST_SET_VRING_NUM, &arg);
	arg.state.num = ((struct vring_used *)(guest + ring * RING + 0x2000))->idx;
	ioctl(fd, VHOST_SET_VRING_BASE, &arg);
	arg.addr = (struct vhost_vring_addr){
		.index = ring,
		.desc_user_addr = ring_part(ring, 0),
		.avail_user_addr = ring_part(ring, 1),
		.used_user_addr = ring_part(ring, 2),
	};
	ioctl(fd, VHOST_SET_VRING_ADDR, &arg);
	arg.file = (struct vhost_vring_file){ ring, events[ring] };
	ioctl(fd, VHOST_SET_VRING_KICK, &arg);
	if (any(4)) {
		arg.file.fd = events[2 + ring];
		ioctl(fd, VHOST_SET_VRING_CALL, &arg);
		arg.file.fd = events[4 + ring];
		ioctl(fd, VHOST_SET_VRING_ERR, &arg);
	}
}

/* Owner or features first; all rings or one; then the backend. */
static void start(int fd)
{
	union argument arg = { .words = { VERSION_1 | MRG_RXBUF | (any(2) ? EVENT_IDX : 0) } };
	unsigned int rings = 1 + any(3), ring;
	bool late = any(2), iommu = !any(6);
	int tap = taps[any(TAPS)];

	if (iommu)
		arg.words[0] |= BIT(VIRTIO_F_ACCESS_PLATFORM);

	if (late)
		ioctl(fd, VHOST_SET_FEATURES, &arg);
	if (!any(4))
		one(fd, VHOST_SET_FORK_FROM_OWNER);
	ioctl(fd, VHOST_SET_OWNER, NULL);
	if (!late)
		ioctl(fd, VHOST_SET_FEATURES, &arg);
	if (iommu)
		good_message(fd);
	if (!iommu || any(2))
		good_mem(fd);
	for (ring = 0; ring < RINGS; ring++) {
		if (rings >> ring & 1)
			good_ring(fd, ring);
	}
	for (ring = 0; ring < RINGS; ring++) {
		arg.file = (struct vhost_vring_file){ ring, tap };
		if (rings >> ring & 1 && !ioctl(fd, VHOST_NET_SET_BACKEND, &arg))
			__atomic_add_fetch(&counts->started, 1, __ATOMIC_RELAXED);
	}
}

static void stop(int fd)
{
	union argument arg;
	unsigned int ring;

	for (ring = 0; ring < RINGS; ring++) {
		arg.file = (struct vhost_vring_file){ ring, -1 };
		ioctl(fd, VHOST_NET_SET_BACKEND, &arg);
		arg.state = (struct vhost_vring_state){ ring, 0 };
		ioctl(fd, VHOST_GET_VRING_BASE, &arg);
	}
	if (!any(4))
		ioctl(fd, VHOST_RESET_OWNER, NULL);
}

/* ------------------------------------------------------------------------
 * Guests
 */

static void scribble(void)
{
	struct vring_desc *desc = (void *)(guest + any(2) * RING);
	struct vring_desc *table = (void *)(guest + 0x10000);
	unsigned int count = any(16), at;

	while (count--) {
		at = any(NUM);
		*(any(4) ? &desc[at] : &table[at]) = (struct vring_desc){
			.addr = any(16) ? GUEST_BASE + 0x10000 + any(SIZE - 0x10000) : any_u64(),
			.len = any(8) ? any(1600) : any_u64(),
			.flags = any(8) ? any(2) * VRING_DESC_F_WRITE : any(8),
			.next = any(8) ? (at + 1) % NUM : any_u64(),
		};
	}
}

static void offer(unsigned int ring)
{
	struct vring_avail *avail = (void *)(guest + ring * RING + 0x1000);
	struct vring_used *used = (void *)(guest + ring * RING + 0x2000);
	unsigned int room = NUM - (uint16_t)(avail->idx - used->idx), count, i;
	uint64_t one = 1;

	/* More than there is room for is what breaks it most often. */
	count = any(64) && room <= NUM ? any(room + 1) : any(2 * NUM);

	for (i = 0; i < count; i++)
		avail->ring[(avail->idx + i) % NUM] = any(64) ? any(NUM) : any_u64();
	avail->idx += any(64) ? count : any_u64();
	avail->flags = any(2);
	if (write(events[ring], &one, sizeof(one)) < 0)
		errno = 0;
}

/* ------------------------------------------------------------------------
 * Besides
 */

static void any_sysfs(void)
{
	static const char *const names[] = {
		"threads", "cpulist", "policy", "placement", "window_jiffies", "worker0/cpulist",
		"worker1/cpulist", "nothing",
	};
	static const char *const values[] = {
		"0", "1", "2", "5", "256", "257", "-1", "", "0-1", "spread", "shared", "recent", "pair",
		"single", "0-", "\n",
	};
	const char *value = values[any(sizeof(values) / sizeof(values[0]))];
	char path[400], text[256];
	glob_t found;
	int fd;

	if (glob(mq_dir, 0, NULL, &found))
		return;
	snprintf(path, sizeof(path), "%s/%s", found.gl_pathv[any(found.gl_pathc)],
		 names[any(sizeof(names) / sizeof(names[0]))]);
	globfree(&found);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0 || pread(fd, text, sizeof(text), 0) < 0)
		errno = 0;
	close(fd);
}

static void any_tap(void)
{
	unsigned int i = any(TAPS);
	uint8_t frame[2000] = { 2 };

	switch (any(6)) {
	case 0:
		replace(&taps[i], try_tap(i));
		break;
	case 1:
		tap_attach(taps[i], any(2));
		break;
	case 2:
		run_command(any(2) ? "ip link del fuzz1 2>/dev/null" :
			    "ip link set fuzz0 down 2>/dev/null; ip link set fuzz0 up 2>/dev/null");
		break;
	default:
		if (send(sock, frame, 14 + any(1500), MSG_DONTWAIT) < 0)
			errno = 0;
		break;
	}
}

/* To the process beside, which does with it what it likes. */
static void pass(int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	if (sendmsg(passing, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		errno = 0;
}

static int take(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd = -1;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) < 1)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* Ends when nobody passes anything any more. */
static void receiver(int from)
{
	int fd;

	while ((fd = take(from)) >= 0) {
		unsigned int count = any(20);

		if (any(2))
			start(fd);
		while (count--)
			any_ioctl(fd);
		close(fd);
	}
	_exit(0);
}

static void in_child(int fd)
{
	unsigned int count = any(10);
	pid_t pid = fork();

	if (!pid) {
		while (count--)
			any_ioctl(fd);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void reopen(unsigned int i)
{
	replace(&files[i], open("/dev/vhost-net", O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

static void any_memory(void)
{
	uint8_t *at = mem + any(SIZE / 4096) * 4096;

	mprotect(at, 4096, any(2) ? PROT_READ | PROT_WRITE : PROT_READ);
	if (!any(4))
		madvise(at, 4096, MADV_DONTNEED);
}

static void step(void)
{
	int fd = files[any(FILES)];

	switch (any(40)) {
	case 0 ... 3:
		start(fd);
		break;
	case 4 ... 5:
		stop(fd);
		break;
	case 6 ... 17:
		any_ioctl(fd);
		break;
	case 18 ... 19:
		scribble();
		break;
	case 20 ... 27:
		offer(any(2));
		break;
	case 28 ... 30:
		any_message(fd);
		break;
	case 31 ... 32:
		any_sysfs();
		break;
	case 33 ... 34:
		any_tap();
		break;
	case 35:
		any_memory();
		break;
	case 36:
		good_mem(fd);
		break;
	case 37:
		reopen(any(FILES));
		break;
	case 38:
		if (!any(4))
			in_child(fd);
		break;
	default:
		pass(fd);
		break;
	}
}

/* ------------------------------------------------------------------------
 * Programs
 */

static uint8_t *two_pages(void)
{
	uint8_t *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + 4096, 4096, PROT_NONE))
		err(1, "memory");
	return at;
}

static void *steps(void *arg)
{
	seed = (uintptr_t)arg;
	page = two_pages();
	while (!over) {
		step();
		__atomic_add_fetch(&counts->steps, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Twice the same; what the owner has is never written by the program itself. */
static void map_guest(void)
{
	guest = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guest == MAP_FAILED)
		err(1, "memory");
	mem = mremap(guest, 0, SIZE, MREMAP_MAYMOVE);
	if (mem == MAP_FAILED)
		err(1, "memory");
}

static void program(unsigned int number)
{
	uint64_t end;
	pthread_t threads[THREADS];
	int pair[2];
	unsigned int i;
	pid_t pid;

	seed = number;
	snprintf(mq_dir, sizeof(mq_dir), "/sys/class/misc/vhost-net/mq/%d-*", getpid());
	page = two_pages();
	map_guest();
	for (i = 0; i < EVENTS; i++)
		events[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (i = 0; i < TAPS; i++)
		replace(&taps[i], try_tap(i));
	sock = packet_socket("fuzz0");
	for (i = 0; i < FILES; i++)
		reopen(i);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		err(1, "socketpair");
	pid = fork();
	if (!pid) {
		close(pair[0]);
		receiver(pair[1]);
	}
	close(pair[1]);
	passing = pair[0];
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, steps, (void *)(uintptr_t)(number * 31 + i)))
			errx(1, "thread");
	}
	end = now_ms() + round_ms;
	while (now_ms() < end)
		poll(NULL, 0, end - now_ms());
	over = 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	shutdown(passing, SHUT_RDWR);
	waitpid(pid, NULL, 0);
	/* Files, taps and memory go as the process does. */
	_exit(0);
}

/* Return: false when it does not end. */
static bool ends(pid_t pid)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), status;
	struct pollfd poller = { .fd = pidfd, .events = POLLIN };
	bool ret = poll(&poller, 1, round_ms + GRACE_MS) == 1;

	close(pidfd);
	if (ret)
		waitpid(pid, &status, 0);
	if (ret && status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		errx(1, "program %d has failed, %#x", pid, status);
	counts->ended += ret && !status;
	return ret;
}

static void run(unsigned int number)
{
	bool murder = number & 1;
	pid_t pid = fork();

	if (!pid) {
		/* All that it has started goes with it. */
		setpgid(0, 0);
		program(number);
	}
	setpgid(pid, pid);
	if (murder) {
		poll(NULL, 0, round_ms * 3 / 4);
		kill(-pid, SIGKILL);
	}
	if (!ends(pid)) {
		/* Where it is. */
		run_command("cd /proc; for task in [0-9]*/task/*; do "
			    "echo $task $(cat $task/comm $task/stack); done | grep vhost");
		errx(1, "program %u does not end", number);
	}
	kill(-pid, SIGKILL);
}

int main(int argc, char **argv)
{
	unsigned int number = argc > 1 ? atoi(argv[1]) : 1, first = number;
	uint64_t end = now_ms() + (argc > 2 ? atoi(argv[2]) : 10) * 1000ULL;
	struct port port;

	if (argc > 3)
		round_ms = atoi(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		err(1, "memory");
	enter_netns();
	for (; now_ms() < end; number++) {
		printf("seed %u\n", number);
		run(number);
	}
	printf("%u programs, %lu ended by themselves, %lu steps, %lu rings started\n", number - first,
	       counts->ended, counts->steps, counts->started);
	if (counts->started < number - first)
		errx(1, "too few to tell anything");
	port_open(&port, "tap0", 256, VERSION_1 | MRG_RXBUF | EVENT_IDX, 0);
	port_check(&port, "afterwards");
	port_close(&port);
	return 0;
}
