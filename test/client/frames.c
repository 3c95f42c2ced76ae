// SPDX-License-Identifier: GPL-2.0-only
/*
 * One frame at a time between a client and a tap: see frames.h.
 */
#include "frames.h"

#include <err.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

void port_open(struct port *port, const char *name, unsigned int num, uint64_t features,
	       unsigned int tap_flags)
{
	memset(port, 0, sizeof(*port));
	port->client = client_setup(num, features);
	port->tap = tap_open(name, port->client->hlen, tap_flags);
	port->sock = packet_socket(name);
	port->buf = client_alloc(port->client, 65536, 4096);
	client_start(port->client, port->tap);
}

void port_close(struct port *port)
{
	client_close(port->client);
	close(port->tap);
	close(port->sock);
}

void port_send(struct port *port)
{
	struct client *client = port->client;
	struct buf out = { port->buf, client->hlen + LEN, false };

	memset(port->buf, 0, client->hlen);
	make_frame(port->buf + client->hlen, LEN, port->number);
	if (ring_add(&client->rings[TX], &out, 1) < 0)
		errx(1, "the transmit ring is full");
	ring_kick(&client->rings[TX]);
}

bool port_sent(struct port *port, int ms)
{
	struct ring *tx = &port->client->rings[TX];
	long got;

	do {
		got = receive_frame(port->sock, ms, NULL);
		if (got < 0)
			return false;
	} while (got != port->number);
	port->number++;
	if (!ring_wait(tx, ms))
		return false;
	return ring_take(tx, NULL) >= 0;
}

bool port_receive(struct port *port, int ms)
{
	struct client *client = port->client;
	struct ring *rx = &client->rings[RX];
	uint8_t *to = port->buf + 32768;
	struct buf in = { to, 2048, true };
	uint32_t len;

	if (rx->nfree == rx->num) {
		ring_add(rx, &in, 1);
		ring_kick(rx);
	}
	if (!send_frame(port->sock, LEN, port->number))
		return false;
	for (;;) {
		if (!ring_wait(rx, ms))
			return false;
		ring_take(rx, &len);
		if (frame_number(to + client->hlen) == port->number)
			break;
		/* One of an earlier try. */
		ring_add(rx, &in, 1);
		ring_kick(rx);
	}
	if (len != client->hlen + LEN)
		errx(1, "received %u bytes, not %u", len, client->hlen + LEN);
	port->number++;
	return true;
}

void port_check(struct port *port, const char *when)
{
	port_send(port);
	if (!port_sent(port, 5000))
		errx(1, "%s: what the guest sent did not arrive", when);
	if (!port_receive(port, 5000))
		errx(1, "%s: the guest received nothing", when);
}
