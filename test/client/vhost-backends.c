// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backends other than a queue of one's own of a tap: macvtap, a raw packet socket, a
 * tap without header, and one queue that several devices share, some of them
 * with one ring only.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"

#define ROUNDS	200

static void run(const char *command)
{
	if (run_command(command))
		errx(1, "%s", command);
}

static void start(struct port *port, uint64_t features, int backend, const char *other_side)
{
	memset(port, 0, sizeof(*port));
	port->client = client_setup(64, features);
	port->tap = backend;
	port->sock = packet_socket(other_side);
	port->buf = client_alloc(port->client, 65536, 4096);
	client_start(port->client, backend);
}

static void check(struct port *port, const char *what)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		port_check(port, what);
	/* Again after a stop, with what may lie in the ring of the backend. */
	client_stop(port->client);
	client_start(port->client, port->tap);
	port_check(port, what);
	port_close(port);
	printf("%s: ok\n", what);
}

static void macvtap(unsigned int hlen, uint64_t features, const char *what)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int size = hlen, fd, sndbuf = INT_MAX;
	unsigned int index;
	struct port port;
	char path[40];
	FILE *file;

	run("ip link add link v0 name mv0 address 02:00:00:00:00:01 type macvtap mode vepa");
	link_up("mv0");
	file = popen("ip -o link show mv0", "r");
	if (!file || fscanf(file, "%u", &index) != 1)
		errx(1, "mv0 has no index");
	pclose(file);
	snprintf(path, sizeof(path), "/dev/tap%u", index);
	fd = open(path, O_RDWR | O_NONBLOCK);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) || ioctl(fd, TUNSETVNETHDRSZ, &size) ||
	    ioctl(fd, TUNSETSNDBUF, &sndbuf))
		err(1, "%s", path);
	start(&port, features, fd, "v1");
	check(&port, what);
	run("ip link del mv0");
}

static void raw_socket(void)
{
	struct port port;

	start(&port, VERSION_1 | MRG_RXBUF | VNET_HDR, packet_socket("v0"), "v1");
	check(&port, "raw packet socket");
}

static void limited_tap(void)
{
	struct port port;
	int tap = tap_open("tap1", 12, 0);

	/* Not in batches then; and less than a packet, so that it stalls. */
	tap_limit(tap, 1000);
	start(&port, VERSION_1 | MRG_RXBUF | EVENT_IDX, tap, "tap1");
	check(&port, "tap with a limited send buffer");
}

static void tap_without_header(void)
{
	struct port port;

	start(&port, VERSION_1 | VNET_HDR, tap_open("tap1", 0, 0), "tap1");
	check(&port, "tap without header");
	start(&port, VNET_HDR, tap_open("tap1", 0, 0), "tap1");
	check(&port, "tap without header, legacy");
}

/* One receive queue, four transmit queues, four devices, one file of the tap. */
static void shared_tap(void)
{
	struct port ports[4];
	int tap = tap_open("tap1", 12, 0), sock;
	unsigned int i, k;

	memset(ports, 0, sizeof(ports));
	sock = packet_socket("tap1");
	for (i = 0; i < 4; i++) {
		ports[i].client = client_setup(64, VERSION_1 | MRG_RXBUF | INDIRECT);
		ports[i].buf = client_alloc(ports[i].client, 65536, 4096);
		ports[i].tap = tap;
		ports[i].sock = sock;
		if ((!i && set_backend(ports[i].client, RX, tap)) ||
		    set_backend(ports[i].client, TX, tap))
			err(1, "shared backend");
	}
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < 4; i++) {
			port_send(&ports[i]);
			if (!port_sent(&ports[i], 5000))
				errx(1, "shared tap: device %u does not send", i);
		}
		if (!port_receive(&ports[0], 5000))
			errx(1, "shared tap: device 0 does not receive");
	}
	for (i = 0; i < 4; i++)
		client_close(ports[i].client);
	close(tap);
	close(sock);
	printf("shared tap: ok\n");
}

int main(void)
{
	enter_netns();
	run("ip link add v0 type veth peer name v1");
	link_up("v0");
	link_up("v1");
	run("ip link set v0 promisc on");
	macvtap(12, VERSION_1 | MRG_RXBUF | EVENT_IDX, "macvtap");
	macvtap(10, 0, "macvtap, legacy");
	raw_socket();
	limited_tap();
	tap_without_header();
	shared_tap();
	return 0;
}
