// SPDX-License-Identifier: GPL-2.0-only
/*
 * pkt: sends a fixed number of small UDP frames from a device of one network namespace to a
 * device of another and waits until the other has counted them. The frames' address is
 * nobody's: the receiver counts and drops them, nothing is answered, no socket
 * is on the way.
 *
 * No more than a window of frames is under way, so that no queue overflows; the
 * sender sleeps meanwhile. What it used for sending alone is told as send_ns.
 *
 * On one CPU each frame wakes vhost, which then takes the CPU from the sender, an idle thread
 * to the scheduler: the price of a frame that comes alone. (Were they equals, vhost would take
 * the CPU as long as it has used less of it: the cheaper a module, the more of its frames would
 * be alone.) With --bursts the sender is a real-time thread and keeps the CPU until the window is
 * full: the price of a frame among many.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cpu_time.h"

#define MAX_FRAME	1514
#define MAX_BATCH	64
#define MAX_FLOWS	256
#define STALL_NS	3000000000ull	/* nothing arrived for so long: the rest is lost */

struct headers {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

static struct {
	const char *from_ns, *from_dev, *to_ns, *to_dev;
	uint64_t count;
	unsigned int size, flows, window, batch;
	bool bursts;
} opt = { .count = 100000, .size = 64, .flows = 1, .window = 256, .batch = 32 };

static int sock, counters, own_time;
static unsigned char frames[MAX_FLOWS][MAX_FRAME];

static void fail(const char *what)
{
	fprintf(stderr, "pkt: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The sender's own CPU time. */
static uint64_t used_ns(void)
{
	uint64_t ns;

	return cpu_time_read(own_time, &ns) ? ns : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void enter(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(path);
	close(fd);
}

static uint16_t checksum(const void *data, size_t len)
{
	const uint16_t *p = data;
	uint32_t sum = 0;

	for (; len > 1; len -= 2)
		sum += *p++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void make_frame(unsigned int flow)
{
	static const unsigned char nobody[ETH_ALEN] = { 0x52, 0x54, 0x00, 0x09, 0xff, 0xfe };
	static const unsigned char me[ETH_ALEN] = { 0x52, 0x54, 0x00, 0x09, 0xff, 0x01 };
	struct headers *h = (struct headers *)frames[flow];

	memcpy(h->eth.h_dest, nobody, ETH_ALEN);
	memcpy(h->eth.h_source, me, ETH_ALEN);
	h->eth.h_proto = htons(ETH_P_IP);
	h->ip.version = 4;
	h->ip.ihl = 5;
	h->ip.ttl = 64;
	h->ip.protocol = IPPROTO_UDP;
	h->ip.tot_len = htons(opt.size - sizeof(h->eth));
	h->ip.saddr = htonl(0x0a090003);
	h->ip.daddr = htonl(0x0a090004);
	h->ip.check = checksum(&h->ip, sizeof(h->ip));
	h->udp.source = htons(10000 + flow);
	h->udp.dest = htons(9);
	h->udp.len = htons(opt.size - sizeof(h->eth) - sizeof(h->ip));
}

static void open_sender(void)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = 0,	/* receives nothing */
	};
	unsigned int i;

	enter(opt.from_ns);
	addr.sll_ifindex = if_nametoindex(opt.from_dev);
	if (!addr.sll_ifindex)
		fail(opt.from_dev);
	sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof(addr)))
		fail("packet socket");
	for (i = 0; i < opt.flows; i++)
		make_frame(i);
}

static void open_counters(void)
{
	enter(opt.to_ns);
	counters = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	if (counters < 0)
		fail("/proc/net/dev");
}

/* Packets that the receiving device has counted. */
static uint64_t received(void)
{
	char buf[4096], name[IFNAMSIZ + 4], *at;
	uint64_t bytes, packets;
	ssize_t len;

	len = pread(counters, buf, sizeof(buf) - 1, 0);
	if (len < 0)
		fail("/proc/net/dev");
	buf[len] = 0;
	snprintf(name, sizeof(name), "%s:", opt.to_dev);
	at = strstr(buf, name);
	if (!at || sscanf(at + strlen(name), "%" SCNu64 " %" SCNu64, &bytes, &packets) != 2) {
		errno = ENODEV;
		fail(opt.to_dev);
	}
	return packets;
}

static unsigned int send_batch(uint64_t first, unsigned int count)
{
	struct mmsghdr msgs[MAX_BATCH] = { 0 };
	struct iovec iov[MAX_BATCH];
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++) {
		iov[i].iov_base = frames[(first + i) % opt.flows];
		iov[i].iov_len = opt.size;
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	ret = sendmmsg(sock, msgs, count, 0);
	if (ret < 0 && errno != ENOBUFS && errno != EINTR)
		fail("send");
	return ret < 0 ? 0 : ret;
}

static void run(void)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	uint64_t base = received(), start = clock_ns(CLOCK_MONOTONIC), moved = start;
	uint64_t sent = 0, lost = 0, got = 0, last = 0, send_ns = 0, t;
	unsigned int batch;

	while (sent < opt.count || got + lost < sent) {
		batch = opt.batch;
		if (batch > opt.count - sent)
			batch = opt.count - sent;
		if (batch && sent - got - lost + batch <= opt.window) {
			t = used_ns();
			sent += send_batch(sent, batch);
			send_ns += used_ns() - t;
			if (sent - got - lost + batch <= opt.window && sent < opt.count)
				continue;
		}
		got = received() - base;
		t = clock_ns(CLOCK_MONOTONIC);
		if (got != last) {
			last = got;
			moved = t;
		} else if (t - moved > STALL_NS) {
			lost = sent - got;
			moved = t;
		}
		if (sent - got - lost + opt.batch > opt.window || sent == opt.count)
			nanosleep(&pause, NULL);
	}
	printf("packets=%" PRIu64 " lost=%" PRIu64 " send_ns=%" PRIu64 " pkt_wall_ns=%" PRIu64 "\n",
	       sent, lost, send_ns, clock_ns(CLOCK_MONOTONIC) - start);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	if (*end || value < min || value > max) {
		fprintf(stderr, "pkt: '%s' is not a number from %lu to %lu\n", text, min, max);
		exit(2);
	}
	return value;
}

/* NAMESPACE/DEVICE */
static void split(char *text, const char **ns, const char **dev)
{
	char *slash = strchr(text, '/');

	if (!slash) {
		fprintf(stderr, "pkt: '%s' is not NAMESPACE/DEVICE\n", text);
		exit(2);
	}
	*slash = 0;
	*ns = text;
	*dev = slash + 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "size", required_argument, NULL, 's' },
		{ "flows", required_argument, NULL, 'f' },
		{ "window", required_argument, NULL, 'w' },
		{ "batch", required_argument, NULL, 'b' },
		{ "bursts", no_argument, NULL, 'B' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			opt.count = number(optarg, 1, 1000000000);
			break;
		case 's':
			opt.size = number(optarg, sizeof(struct headers), MAX_FRAME);
			break;
		case 'f':
			opt.flows = number(optarg, 1, MAX_FLOWS);
			break;
		case 'w':
			opt.window = number(optarg, 1, 100000);
			break;
		case 'b':
			opt.batch = number(optarg, 1, MAX_BATCH);
			break;
		case 'B':
			opt.bursts = true;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2 || opt.window < opt.batch) {
		fputs("usage: pkt [--count N] [--size BYTES] [--flows N] [--window N] [--batch N] [--bursts] NAMESPACE/DEVICE NAMESPACE/DEVICE\n",
		      stderr);
		return 2;
	}
	if (sched_setscheduler(0, opt.bursts ? SCHED_FIFO : SCHED_IDLE,
			       &(struct sched_param){ opt.bursts }))
		fail("scheduler");
	split(argv[optind], &opt.from_ns, &opt.from_dev);
	split(argv[optind + 1], &opt.to_ns, &opt.to_dev);
	open_sender();
	open_counters();
	own_time = cpu_time_open(0, false);
	run();
	return 0;
}
