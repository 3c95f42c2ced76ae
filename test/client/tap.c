// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tap devices, and raw packets on them: see tap.h.
 */
#include "tap.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void enter_netns(void)
{
	int fd;

	if (unshare(CLONE_NEWNET))
		err(1, "unshare");
	/* No router solicitations and the like among the frames. */
	fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY);
	if (fd >= 0) {
		if (write(fd, "1", 1) != 1)
			warn("disable_ipv6");
		close(fd);
	}
}

static void ifreq_for(struct ifreq *ifr, const char *name)
{
	memset(ifr, 0, sizeof(*ifr));
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", name);
}

static void link_ioctl(const char *name, unsigned long cmd, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, cmd, ifr))
		err(1, "%s", name);
	close(fd);
}

void link_up(const char *name)
{
	struct ifreq ifr;

	ifreq_for(&ifr, name);
	ifr.ifr_flags = IFF_UP | IFF_NOARP;
	link_ioctl(name, SIOCSIFFLAGS, &ifr);
}

int link_set_txqueuelen(const char *name, int len)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr;
	int ret;

	ifreq_for(&ifr, name);
	ifr.ifr_qlen = len;
	ret = ioctl(fd, SIOCSIFTXQLEN, &ifr);
	close(fd);
	return ret;
}

int tap_open(const char *name, unsigned int hlen, unsigned int flags)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int size = hlen;
	struct ifreq ifr;

	ifreq_for(&ifr, name);
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI | (hlen ? IFF_VNET_HDR : 0) |
			(flags & TAP_MULTI ? IFF_MULTI_QUEUE : 0) |
			(flags & TAP_NAPI ? IFF_NAPI : 0);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		err(1, "tap %s", name);
	if (hlen && ioctl(fd, TUNSETVNETHDRSZ, &size))
		err(1, "TUNSETVNETHDRSZ %u", hlen);
	tap_limit(fd, INT_MAX);
	link_up(name);
	return fd;
}

void tap_limit(int tap, int sndbuf)
{
	if (ioctl(tap, TUNSETSNDBUF, &sndbuf))
		err(1, "TUNSETSNDBUF");
}

int tap_attach(int tap, bool attach)
{
	struct ifreq ifr = {
		.ifr_flags = attach ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE,
	};

	return ioctl(tap, TUNSETQUEUE, &ifr);
}

int run_command(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int bound_socket(const char *name, int protocol)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err(1, "packet socket on %s", name);
	return fd;
}

int sending_socket(const char *name)
{
	return bound_socket(name, 0);
}

int packet_socket(const char *name)
{
	int fd = bound_socket(name, FRAME_TYPE);
	int size = 64 << 20;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		warn("SO_RCVBUFFORCE");
	return fd;
}

size_t make_frame(uint8_t *frame, size_t len, uint32_t number)
{
	static const uint8_t head[] = {
		2, 0, 0, 0, 0, 1,	2, 0, 0, 0, 0, 2,	FRAME_TYPE >> 8, FRAME_TYPE & 0xff
	};
	size_t i;

	for (i = sizeof(head) + sizeof(number); i < len; i++)
		frame[i] = i + number;
	memcpy(frame, head, sizeof(head));
	memcpy(frame + sizeof(head), &number, sizeof(number));
	return len;
}

uint32_t frame_number(const uint8_t *frame)
{
	uint32_t number;

	memcpy(&number, frame + 14, sizeof(number));
	return number;
}

bool send_frame(int fd, size_t len, uint32_t number)
{
	uint8_t frame[65536];

	return send(fd, frame, make_frame(frame, len, number), 0) == (ssize_t)len;
}

long receive_frame(int fd, int ms, size_t *len)
{
	for (;;) {
		struct pollfd poller = { .fd = fd, .events = POLLIN };
		uint8_t frame[65536], wanted[65536];
		struct sockaddr_ll from;
		socklen_t size = sizeof(from);
		ssize_t got;

		if (poll(&poller, 1, ms) <= 0)
			return -1;
		got = recvfrom(fd, frame, sizeof(frame), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &size);
		if (got < 18 ||
		    frame[12] != FRAME_TYPE >> 8 || frame[13] != (FRAME_TYPE & 0xff))
			continue;
		make_frame(wanted, got, frame_number(frame));
		if (memcmp(frame, wanted, got))
			errx(1, "frame %u of %zd bytes is not what was sent",
			     frame_number(frame), got);
		if (len)
			*len = got;
		return frame_number(frame);
	}
}
