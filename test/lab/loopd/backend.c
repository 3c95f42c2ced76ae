// SPDX-License-Identifier: GPL-2.0-only
/*
 * What carries the packets: a file of /dev/vhost-net and a queue of the tap for each
 * pair. The order of the ioctls is QEMU's.
 *
 * The event thread says what is wanted, the worker thread brings it about: a pair
 * that starts has its tap queue attached, then its rings' backends set; one that ends the
 * reverse. A device reset or a ring's reset has to be done when it is answered,
 * so the event thread stops rings itself; stopping takes no RTNL.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/vhost.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "loopd.h"

#ifndef TUN_F_USO4
#define TUN_F_USO4	0x20
#define TUN_F_USO6	0x40
#endif

struct ring {
	int kick;
	int call;
	bool reset;		/* the driver resets it: not to run */
	bool running;		/* it has a backend */
	unsigned int base;	/* where it was stopped */
};

struct pair {
	int vhost;
	int tap;
	bool attached;		/* the tap queue takes part */
	bool ready;		/* features and memory are set, for this round of negotiation */
	struct ring rings[2];	/* receive, transmit: vhost's indices, too */
};

static struct pair *pairs;

/*
 * wanted_lock: what follows. run_lock: the running, ready and base fields of pairs,
 * taken first. The worker holds run_lock for one ring at a time.
 */
static pthread_mutex_t wanted_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t run_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted_changed = PTHREAD_COND_INITIALIZER;
static struct {
	bool changed;
	bool end;
	bool started;
	uint64_t features;
	uint64_t offloads;
	unsigned int pairs;
} wanted;

static pthread_t worker;
static unsigned int running_pairs;	/* as the worker left it */
static unsigned int tun_features;

static uint64_t vhost_features(int fd)
{
	uint64_t features;

	if (ioctl(fd, VHOST_GET_FEATURES, &features))
		fail("VHOST_GET_FEATURES: %s", strerror(errno));
	return features;
}

static void open_vhost(struct pair *pair)
{
	uint64_t features;

	pair->vhost = open(opt.vhost, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (pair->vhost < 0)
		fail("%s: %s", opt.vhost, strerror(errno));
	if (ioctl(pair->vhost, VHOST_SET_OWNER))
		fail("VHOST_SET_OWNER: %s", strerror(errno));
	if (!ioctl(pair->vhost, VHOST_GET_BACKEND_FEATURES, &features)) {
		features &= BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2);
		if (ioctl(pair->vhost, VHOST_SET_BACKEND_FEATURES, &features))
			fail("VHOST_SET_BACKEND_FEATURES: %s", strerror(errno));
	}
}

static void open_tap(struct pair *pair, bool multi)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int sndbuf = 0x7fffffff;

	strncpy(ifr.ifr_name, opt.tap, sizeof(ifr.ifr_name) - 1);
	if (multi)
		ifr.ifr_flags |= IFF_MULTI_QUEUE;
	pair->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (pair->tap < 0)
		fail("/dev/net/tun: %s", strerror(errno));
	if (ioctl(pair->tap, TUNSETIFF, &ifr))
		fail("TUNSETIFF %s: %s", opt.tap, strerror(errno));
	if (ioctl(pair->tap, TUNSETSNDBUF, &sndbuf))
		fail("TUNSETSNDBUF: %s", strerror(errno));
	pair->attached = true;
}

static void attach_tap(struct pair *pair, bool attach)
{
	struct ifreq ifr = { .ifr_flags = attach ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE };

	if (pair->attached == attach)
		return;
	if (ioctl(pair->tap, TUNSETQUEUE, &ifr))
		note("cannot %s a queue of %s: %s", attach ? "attach" : "detach", opt.tap,
		     strerror(errno));
	else
		pair->attached = attach;
}

/* The tap is made in its own network namespace: a file of tun belongs to its opener's. */
static int enter_netns(const char *path)
{
	int old = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (old < 0 || fd < 0 || setns(fd, CLONE_NEWNET))
		fail("network namespace %s: %s", path, strerror(errno));
	close(fd);
	return old;
}

uint64_t backend_vhost_features(void)
{
	return vhost_features(pairs[0].vhost);
}

unsigned int backend_tun_features(void)
{
	return tun_features;
}

static unsigned int probe_tun(int fd)
{
	unsigned int all = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;

	if (!ioctl(fd, TUNSETOFFLOAD, all | TUN_F_UFO))
		all |= TUN_F_UFO;
	if (!ioctl(fd, TUNSETOFFLOAD, all | TUN_F_USO4 | TUN_F_USO6))
		all |= TUN_F_USO4 | TUN_F_USO6;
	ioctl(fd, TUNSETOFFLOAD, 0);
	return all;
}

static void run_ioctl(int fd, unsigned long cmd, void *arg, const char *name)
{
	if (ioctl(fd, cmd, arg))
		fail("%s: %s", name, strerror(errno));
}

#define RUN(fd, cmd, arg) run_ioctl(fd, cmd, arg, #cmd)

static void prepare_pair(struct pair *pair, uint64_t accepted)
{
	uint64_t features = feature_for_vhost(accepted, vhost_features(pair->vhost));

	if (pair->ready)
		return;
	RUN(pair->vhost, VHOST_SET_FEATURES, &features);
	RUN(pair->vhost, VHOST_SET_MEM_TABLE, memory_table());
	pair->ready = true;
}

/* run_lock is held. */
static void start_ring(struct pair *pair, unsigned int i)
{
	struct ring *ring = &pair->rings[i];
	struct vloop_vring at = { .index = (pair - pairs) * 2 + i };
	struct vhost_vring_state num, base = { .index = i, .num = ring->base };
	struct vhost_vring_addr addr = { .index = i };
	struct vhost_vring_file kick = { .index = i, .fd = ring->kick };
	struct vhost_vring_file call = { .index = i, .fd = ring->call };
	struct vhost_vring_file backend = { .index = i, .fd = pair->tap };

	if (ioctl(loop_fd, VLOOP_GET_VRING, &at)) {
		note("ring %u: %s", at.index, strerror(errno));
		return;
	}
	num.index = i;
	num.num = at.num;
	addr.desc_user_addr = (uintptr_t)memory_at(at.desc, at.num * 16);
	addr.avail_user_addr = (uintptr_t)memory_at(at.avail, at.num * 2 + 6);
	addr.used_user_addr = (uintptr_t)memory_at(at.used, at.num * 8 + 6);
	addr.log_guest_addr = at.used;

	RUN(pair->vhost, VHOST_SET_VRING_NUM, &num);
	RUN(pair->vhost, VHOST_SET_VRING_BASE, &base);
	RUN(pair->vhost, VHOST_SET_VRING_ADDR, &addr);
	RUN(pair->vhost, VHOST_SET_VRING_KICK, &kick);
	RUN(pair->vhost, VHOST_SET_VRING_CALL, &call);
	RUN(pair->vhost, VHOST_NET_SET_BACKEND, &backend);
	ring->running = true;
}

/* run_lock is held. */
static void stop_ring(struct pair *pair, unsigned int i)
{
	struct vhost_vring_file backend = { .index = i, .fd = -1 };
	struct vhost_vring_state base = { .index = i };

	if (!pair->rings[i].running)
		return;
	RUN(pair->vhost, VHOST_NET_SET_BACKEND, &backend);
	RUN(pair->vhost, VHOST_GET_VRING_BASE, &base);
	pair->rings[i].base = base.num;
	pair->rings[i].running = false;
}

static bool ring_is_wanted(unsigned int p, unsigned int i)
{
	bool ret;

	pthread_mutex_lock(&wanted_lock);
	ret = wanted.started && p < wanted.pairs && !pairs[p].rings[i].reset;
	pthread_mutex_unlock(&wanted_lock);
	return ret;
}

static void adjust_ring(unsigned int p, unsigned int i, uint64_t features)
{
	struct pair *pair = &pairs[p];

	pthread_mutex_lock(&run_lock);
	if (!ring_is_wanted(p, i)) {
		stop_ring(pair, i);
	} else if (!pair->rings[i].running) {
		prepare_pair(pair, features);
		start_ring(pair, i);
	}
	pthread_mutex_unlock(&run_lock);
}

static void count_running(void)
{
	unsigned int p, count = 0;

	pthread_mutex_lock(&run_lock);
	for (p = 0; p < opt.pairs; p++)
		count += pairs[p].rings[0].running && pairs[p].rings[1].running;
	pthread_mutex_unlock(&run_lock);
	__atomic_store_n(&running_pairs, count, __ATOMIC_RELEASE);
}

static void adjust(uint64_t features, uint64_t offloads, unsigned int count)
{
	int header = feature_header_len(features);
	unsigned int p;

	/* the header's length and the offloads are one for all queues of a tap */
	if (ioctl(pairs[0].tap, TUNSETVNETHDRSZ, &header))
		note("TUNSETVNETHDRSZ %d: %s", header, strerror(errno));
	if (ioctl(pairs[0].tap, TUNSETOFFLOAD, feature_tun_offloads(offloads)))
		note("TUNSETOFFLOAD: %s", strerror(errno));

	for (p = 0; p < opt.pairs; p++) {
		if (p < count)
			attach_tap(&pairs[p], true);
		adjust_ring(p, 0, features);
		adjust_ring(p, 1, features);
		if (p >= count && p)
			attach_tap(&pairs[p], false);
	}
	count_running();
	write_state();
}

static void *work(void *unused)
{
	uint64_t features, offloads;
	unsigned int count;
	bool started;

	pthread_mutex_lock(&wanted_lock);
	while (!wanted.end) {
		if (!wanted.changed) {
			pthread_cond_wait(&wanted_changed, &wanted_lock);
			continue;
		}
		wanted.changed = false;
		features = wanted.features;
		offloads = wanted.offloads;
		count = wanted.pairs;
		started = wanted.started;
		pthread_mutex_unlock(&wanted_lock);
		if (started)
			adjust(features, offloads, count);
		pthread_mutex_lock(&wanted_lock);
	}
	pthread_mutex_unlock(&wanted_lock);
	return unused;
}

static void wanted_end_change(void)
{
	wanted.changed = true;
	pthread_cond_signal(&wanted_changed);
	pthread_mutex_unlock(&wanted_lock);
}

static void give_eventfds(unsigned int index, struct ring *ring)
{
	struct vloop_fd arg = { .index = index };

	ring->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ring->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->kick < 0 || ring->call < 0)
		fail("eventfd: %s", strerror(errno));
	arg.fd = ring->kick;
	RUN(loop_fd, VLOOP_SET_KICK, &arg);
	arg.fd = ring->call;
	RUN(loop_fd, VLOOP_SET_CALL, &arg);
}

void backend_open(void)
{
	unsigned int i;
	int old = -1;

	pairs = calloc(opt.pairs, sizeof(*pairs));
	if (!pairs)
		fail("no memory");
	for (i = 0; i < opt.pairs; i++)
		open_vhost(&pairs[i]);
	if (opt.netns)
		old = enter_netns(opt.netns);
	for (i = 0; i < opt.pairs; i++)
		open_tap(&pairs[i], opt.pairs > 1);
	if (old >= 0) {
		if (setns(old, CLONE_NEWNET))
			fail("cannot leave %s: %s", opt.netns, strerror(errno));
		close(old);
	}
	tun_features = probe_tun(pairs[0].tap);
	for (i = 1; i < opt.pairs; i++)
		attach_tap(&pairs[i], false);
	if (pthread_create(&worker, NULL, work, NULL))
		fail("cannot start a thread");
}

/* The device exists: its rings get their kick and call. */
void backend_connect(void)
{
	unsigned int i;

	for (i = 0; i < opt.pairs * 2; i++)
		give_eventfds(i, &pairs[i / 2].rings[i % 2]);
}

void backend_start(uint64_t features)
{
	pthread_mutex_lock(&wanted_lock);
	wanted.started = true;
	wanted.features = features;
	wanted.offloads = features;
	wanted.pairs = 1;
	wanted_end_change();
}

/* The device is reset: when this returns, vhost has let go of all rings. */
void backend_stop(void)
{
	unsigned int p, i;

	pthread_mutex_lock(&wanted_lock);
	wanted.started = false;
	for (p = 0; p < opt.pairs; p++)
		for (i = 0; i < 2; i++)
			pairs[p].rings[i].reset = false;
	pthread_mutex_unlock(&wanted_lock);

	pthread_mutex_lock(&run_lock);
	for (p = 0; p < opt.pairs; p++) {
		for (i = 0; i < 2; i++) {
			stop_ring(&pairs[p], i);
			pairs[p].rings[i].base = 0;
		}
		pairs[p].ready = false;
	}
	pthread_mutex_unlock(&run_lock);
}

void backend_set_pairs(unsigned int count)
{
	pthread_mutex_lock(&wanted_lock);
	wanted.pairs = count;
	wanted_end_change();
}

void backend_set_offloads(uint64_t offloads)
{
	pthread_mutex_lock(&wanted_lock);
	wanted.offloads = offloads;
	wanted_end_change();
}

/*
 * The driver takes the ring away and holds RTNL meanwhile. A worker that is setting a
 * backend may wait for RTNL: then the driver is told that the ring is busy.
 */
int backend_queue_reset(unsigned int index)
{
	struct pair *pair = &pairs[index / 2];
	struct timespec until;

	if (index >= opt.pairs * 2)
		return 0;
	pthread_mutex_lock(&wanted_lock);
	pair->rings[index % 2].reset = true;
	pthread_mutex_unlock(&wanted_lock);

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	if (pthread_mutex_timedlock(&run_lock, &until)) {
		pthread_mutex_lock(&wanted_lock);
		pair->rings[index % 2].reset = false;
		wanted_end_change();
		return -EBUSY;
	}
	stop_ring(pair, index % 2);
	pair->rings[index % 2].base = 0;
	pthread_mutex_unlock(&run_lock);
	return 0;
}

void backend_queue_enable(unsigned int index)
{
	if (index >= opt.pairs * 2)
		return;
	pthread_mutex_lock(&wanted_lock);
	pairs[index / 2].rings[index % 2].reset = false;
	wanted_end_change();
}

/* How many pairs run. Takes no lock: the worker may wait for RTNL under its own. */
unsigned int backend_running(void)
{
	return __atomic_load_n(&running_pairs, __ATOMIC_ACQUIRE);
}

void backend_close(void)
{
	unsigned int i;

	pthread_mutex_lock(&wanted_lock);
	wanted.end = true;
	wanted_end_change();
	pthread_join(worker, NULL);
	for (i = 0; i < opt.pairs; i++) {
		close(pairs[i].vhost);
		close(pairs[i].tap);
	}
}
