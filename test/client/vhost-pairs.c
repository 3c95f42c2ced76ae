// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-pairs N [kthread]: a device of N queue pairs on one tap, that does what it
 * is told on standard input and answers each line with one of its own: "ok", perhaps
 * with a result, or "error" and what was wrong.
 *
 *	tx PAIR [COUNT]		send frames one by one; each must leave and come back
 *	busy PAIR... | idle	a thread sends on these pairs until told to stop, as
 *				fast as the frames come back
 *	rx COUNT		send frames to the tap; one pair or other gets them
 *	stop PAIR | start PAIR	take the backend away, give it back
 *	close PAIR		close the file
 *	poll PAIR USEC		busy polling of both rings, so many microseconds
 *	backend PAIR		try to take the backend away: the error number
 *	holder			fork a process that keeps all files open; its pid. It
 *				takes its orders from descriptor 3
 *	quit			end, with everything open
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define MAX_PAIRS	64
#define FRAME		60
#define WAIT_MS		5000

struct pair {
	struct client *client;
	int tap;
	uint8_t *out, *in;
	bool busy;
};

static struct pair pairs[MAX_PAIRS];
static unsigned int npairs;
static int sock;

static pthread_t sender;
static bool sending, stop_sending;
static unsigned long sent;
static const char *failure;

static void give_buffers(struct pair *pair)
{
	struct ring *rx = &pair->client->rings[RX];
	struct buf in = { pair->in, 2048, true };

	while (ring_add(rx, &in, 1) >= 0)
		;
	ring_kick(rx);
}

static void open_pair(struct pair *pair, bool kthread)
{
	struct client *client = client_open(1 << 20);
	uint8_t kind = 0;

	if (kthread && ioctl(client->fd, _IOW(VHOST_VIRTIO, 0x84, uint8_t), &kind))
		err(1, "VHOST_SET_FORK_FROM_OWNER");
	if (vhost(client, VHOST_SET_OWNER, NULL) ||
	    set_features(client, VERSION_1 | MRG_RXBUF | EVENT_IDX) || set_mem(client))
		err(1, "set up");
	client_setup_rings(client, 64);
	pair->client = client;
	pair->out = client_alloc(client, 2048, 64);
	pair->in = client_alloc(client, 2048, 64);
	pair->tap = tap_open("tap0", client->hlen, TAP_MULTI);
	client_start(client, pair->tap);
	give_buffers(pair);
}

/* A frame out, and its buffer back. */
static const char *send_one(struct pair *pair)
{
	struct ring *tx = &pair->client->rings[TX];
	struct buf out = { pair->out, pair->client->hlen + FRAME, false };

	memset(pair->out, 0, pair->client->hlen);
	make_frame(pair->out + pair->client->hlen, FRAME, 0);
	if (ring_add(tx, &out, 1) < 0)
		return "no room";
	ring_kick(tx);
	if (!ring_wait(tx, WAIT_MS))
		return "not returned";
	if (ring_take(tx, NULL) < 0)
		return "returned nothing";
	return NULL;
}

/* Whatever has arrived, on all pairs. */
static unsigned int take_received(void)
{
	unsigned int taken = 0, i;

	for (i = 0; i < npairs; i++) {
		if (!pairs[i].client)
			continue;
		while (ring_take(&pairs[i].client->rings[RX], NULL) >= 0)
			taken++;
		give_buffers(&pairs[i]);
	}
	return taken;
}

/* Ask every pair for a call with the next frame; false when one has come already. */
static bool arm_all(void)
{
	bool armed = true;
	unsigned int i;

	for (i = 0; i < npairs; i++)
		if (pairs[i].client && !ring_arm(&pairs[i].client->rings[RX]))
			armed = false;
	return armed;
}

static const char *receive(unsigned int count)
{
	struct pollfd calls[MAX_PAIRS];
	unsigned int got = take_received(), i;
	uint64_t events;

	got = 0;
	for (i = 0; i < count; i++)
		if (!send_frame(sock, FRAME, i))
			return "cannot send";
	for (i = 0; i < npairs; i++) {
		calls[i].fd = pairs[i].client ? pairs[i].client->rings[RX].call : -1;
		calls[i].events = POLLIN;
	}
	for (;;) {
		got += take_received();
		if (got >= count)
			return NULL;
		if (!arm_all())
			continue;
		if (poll(calls, npairs, WAIT_MS) <= 0)
			return "not received";
		for (i = 0; i < npairs; i++)
			if (calls[i].revents &&
			    read(calls[i].fd, &events, sizeof(events)) < 0 && errno != EAGAIN)
				return "call";
	}
}

static void *send_always(void *data)
{
	unsigned int i;

	while (!__atomic_load_n(&stop_sending, __ATOMIC_RELAXED)) {
		for (i = 0; i < npairs && !failure; i++) {
			if (!pairs[i].busy)
				continue;
			failure = send_one(&pairs[i]);
			__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
		}
		if (failure)
			break;
	}
	return data;
}

static void stop_sender(void)
{
	unsigned int i;

	if (!sending)
		return;
	__atomic_store_n(&stop_sending, true, __ATOMIC_RELAXED);
	pthread_join(sender, NULL);
	sending = false;
	stop_sending = false;
	for (i = 0; i < npairs; i++)
		pairs[i].busy = false;
}

static void start_sender(void)
{
	sent = 0;
	failure = NULL;
	if (pthread_create(&sender, NULL, send_always, NULL))
		errx(1, "no thread");
	sending = true;
}

static void answer(const char *error)
{
	if (error)
		printf("error %s\n", error);
	else
		puts("ok");
}

/* A process with the same files, and nothing else of its parent. */
static void fork_holder(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid) {
		printf("ok %d\n", pid);
		return;
	}
	if (!freopen("/dev/fd/3", "r", stdin))
		_exit(1);
}

static const char *set_polling(struct pair *pair, unsigned int usec)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++)
		if (set_state(pair->client, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, i, usec))
			return strerror(errno);
	return NULL;
}

static void on_pair(const char *verb, const char *rest)
{
	unsigned int i, n, count = 1, used = 0;
	const char *error = NULL;

	while (sscanf(rest, "%u%n", &i, &n) == 1 && i < npairs && pairs[i].client) {
		struct pair *pair = &pairs[i];

		rest += n;
		used++;
		if (!strcmp(verb, "tx")) {
			sscanf(rest, "%u", &count);
			while (count-- && !error)
				error = send_one(pair);
			break;
		} else if (!strcmp(verb, "poll")) {
			sscanf(rest, "%u", &count);
			error = set_polling(pair, count);
			break;
		} else if (!strcmp(verb, "busy")) {
			pair->busy = true;
		} else if (!strcmp(verb, "stop")) {
			client_stop(pair->client);
		} else if (!strcmp(verb, "start")) {
			client_start(pair->client, pair->tap);
		} else if (!strcmp(verb, "close")) {
			client_close(pair->client);
			close(pair->tap);
			pair->client = NULL;
		} else if (!strcmp(verb, "backend")) {
			if (set_backend(pair->client, TX, -1))
				error = strerror(errno);
		} else {
			error = "no such verb";
		}
	}
	if (!used)
		error = "no such pair";
	else if (!strcmp(verb, "busy"))
		start_sender();
	answer(error);
}

static void obey(char *line)
{
	char *rest = line + strcspn(line, " \n");

	if (*rest)
		*rest++ = '\0';
	if (!strcmp(line, "quit")) {
		puts("ok");
		fflush(stdout);
		_exit(0);
	} else if (!strcmp(line, "idle")) {
		stop_sender();
		if (failure)
			answer(failure);
		else
			printf("ok %lu\n", sent);
	} else if (!strcmp(line, "rx")) {
		answer(receive(atoi(rest)));
	} else if (!strcmp(line, "holder")) {
		fork_holder();
	} else {
		on_pair(line, rest);
	}
}

int main(int argc, char **argv)
{
	bool kthread = argc > 2 && !strcmp(argv[2], "kthread");
	char line[256];
	unsigned int i;

	if (argc < 2)
		errx(2, "usage: vhost-pairs N [kthread]");
	npairs = atoi(argv[1]);
	if (!npairs || npairs > MAX_PAIRS)
		errx(2, "1 to %u pairs", MAX_PAIRS);
	setlinebuf(stdout);
	enter_netns();
	for (i = 0; i < npairs; i++)
		open_pair(&pairs[i], kthread);
	sock = packet_socket("tap0");
	printf("ok %d\n", getpid());
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
