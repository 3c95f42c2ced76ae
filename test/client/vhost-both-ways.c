// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of every size both ways, with the given features.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

int main(int argc, char **argv)
{
	uint64_t features = argc > 1 ? strtoull(argv[1], NULL, 0) : VERSION_1 | MRG_RXBUF | EVENT_IDX;
	unsigned int num = argc > 2 ? atoi(argv[2]) : 256;
	unsigned long count = argc > 3 ? atol(argv[3]) : 2000, i;
	struct client *client;
	struct ring *tx, *rx;
	uint8_t *buf;
	int tap, sock;

	enter_netns();
	client = client_setup(num, features);
	tap = tap_open("tap0", client->hlen, 0);
	sock = packet_socket("tap0");
	client_start(client, tap);
	tx = &client->rings[TX];
	rx = &client->rings[RX];
	buf = client_alloc(client, 65536, 64);

	for (i = 0; i < count; i++) {
		struct buf out = { buf, client->hlen + 18 + i % 1482, false };
		size_t len;
		long got;

		memset(buf, 0, client->hlen);
		make_frame(buf + client->hlen, out.len - client->hlen, i);
		if (ring_add(tx, &out, 1) < 0)
			errx(1, "tx full");
		ring_kick(tx);
		got = receive_frame(sock, 1000, &len);
		if (got != (long)i || len != out.len - client->hlen)
			errx(1, "tx %lu: got %ld len %zu", i, got, len);
		if (!ring_wait(tx, 1000) || ring_take(tx, NULL) < 0)
			errx(1, "tx %lu: not returned", i);
	}
	printf("tx ok, %lu kicks\n", tx->kicks);

	for (i = 0; i < count; i++) {
		struct buf in = { buf, 2048, true };
		size_t flen = 18 + i % 1482;
		uint32_t len;

		memset(buf, 0xff, 2048);
		if (ring_add(rx, &in, 1) < 0)
			errx(1, "rx full");
		ring_kick(rx);
		if (!send_frame(sock, flen, i))
			err(1, "send");
		if (!ring_wait(rx, 1000) || ring_take(rx, &len) < 0)
			errx(1, "rx %lu: nothing", i);
		if (len != flen + client->hlen || frame_number(buf + client->hlen) != i)
			errx(1, "rx %lu: len %u want %zu", i, len, flen + client->hlen);
		if (client->hlen == 12 && (buf[10] != 1 || buf[11]))
			errx(1, "rx: num_buffers %u", buf[10] + buf[11] * 256);
	}
	printf("rx ok, %lu kicks\n", rx->kicks);
	client_stop(client);
	client_close(client);
	return 0;
}
