// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a packet costs the worker threads: CPU time for a fixed number of packets
 * each way, one pair, by the clocks of the threads.
 *
 * usage: vhost-cost [PACKETS [LENGTH [RING [FEATURES [in-flight]]]]]
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "vhost.h"

#define BATCH	64

static unsigned long packets = 100000;
static unsigned int length = 64;
static unsigned int in_flight;

static bool is_worker(const char *dir, const char *tid)
{
	char path[600], comm[32] = "", wanted[32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/comm", dir, tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	snprintf(wanted, sizeof(wanted), "vhost-%d", getpid());
	return !strncmp(comm, wanted, strlen(wanted));
}

/* The CPU clock of a thread of this process, or of another process. */
static unsigned long long clock_ns(pid_t pid, bool thread)
{
	clockid_t clock = (clockid_t)(~(unsigned int)pid << 3 | 2 | (thread ? 4 : 0));
	struct timespec time;

	if (clock_gettime(clock, &time))
		err(1, "clock of %d", pid);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* CPU time of the worker threads: of this process, or of the kernel. */
static unsigned long long workers_ns(void)
{
	static const char *const dirs[] = { "/proc", "/proc/self/task" };
	unsigned long long ns = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		DIR *dir = opendir(dirs[i]);
		struct dirent *entry;

		if (!dir)
			err(1, "%s", dirs[i]);
		while ((entry = readdir(dir))) {
			if (is_worker(dirs[i], entry->d_name))
				ns += clock_ns(atoi(entry->d_name), i);
		}
		closedir(dir);
	}
	return ns;
}

static void want_interrupt_at(struct ring *ring, uint16_t idx)
{
	*(uint16_t *)&ring->avail->ring[ring->num] = idx;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Sleeps until half of what is under way has come back. */
static void wait_half(struct ring *ring, unsigned int under_way)
{
	uint16_t until = ring->next_used + (under_way + 1) / 2;

	want_interrupt_at(ring, until - 1);
	while ((int16_t)(__atomic_load_n(&ring->used->idx, __ATOMIC_ACQUIRE) - until) < 0) {
		if (!wait_event(ring->call, 5000))
			errx(1, "the device has stopped at %u of %u", ring->used->idx, until);
	}
}

static double cost_of_transmit(struct client *client, uint8_t *buf)
{
	struct ring *tx = &client->rings[TX];
	struct buf out = { buf, client->hlen + length, false };
	unsigned long sent = 0, done = 0;
	unsigned long long before;

	memset(buf, 0, client->hlen);
	make_frame(buf + client->hlen, length, 0);
	before = workers_ns();
	while (done < packets) {
		while (sent < packets && sent - done < in_flight && ring_add(tx, &out, 1) >= 0)
			sent++;
		ring_kick(tx);
		wait_half(tx, sent - done);
		while (ring_take(tx, NULL) >= 0)
			done++;
	}
	return (double)(workers_ns() - before) / packets;
}

static void send_many(int sock, struct mmsghdr *msgs, unsigned int count)
{
	unsigned int sent = 0;

	while (sent < count) {
		int ret = sendmmsg(sock, msgs + sent, count - sent, 0);

		if (ret <= 0)
			err(1, "sendmmsg");
		sent += ret;
	}
}

static double cost_of_receive(struct client *client, uint8_t *bufs, int sock)
{
	struct ring *rx = &client->rings[RX];
	static uint8_t frame[65536];
	struct iovec iov = { frame, length };
	struct mmsghdr msgs[BATCH];
	unsigned long done = 0;
	unsigned long long before;
	unsigned int i;

	make_frame(frame, length, 0);
	memset(msgs, 0, sizeof(msgs));
	for (i = 0; i < BATCH; i++) {
		msgs[i].msg_hdr.msg_iov = &iov;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	for (i = 0; i < rx->num; i++) {
		struct buf in = { bufs + i * 2048, 2048, true };

		ring_add(rx, &in, 1);
	}
	ring_kick(rx);

	before = workers_ns();
	while (done < packets) {
		unsigned int batch = in_flight < BATCH ? in_flight : BATCH, got = 0;

		send_many(sock, msgs, batch);
		while (got < batch) {
			int head;

			wait_half(rx, (batch - got) * 2);
			while ((head = ring_take(rx, NULL)) >= 0) {
				struct buf in = { bufs + head * 2048, 2048, true };

				ring_add(rx, &in, 1);
				got++;
			}
			ring_kick(rx);
		}
		done += got;
	}
	return (double)(workers_ns() - before) / done;
}

int main(int argc, char **argv)
{
	uint64_t features = VERSION_1 | MRG_RXBUF | EVENT_IDX | INDIRECT;
	unsigned int num = 256;
	struct client *client;
	uint8_t *bufs;
	int tap, sock;

	if (argc > 1)
		packets = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		length = atoi(argv[2]);
	if (argc > 3)
		num = atoi(argv[3]);
	if (argc > 4)
		features = strtoull(argv[4], NULL, 0);
	in_flight = argc > 5 ? (unsigned int)atoi(argv[5]) : num;

	enter_netns();
	client = client_setup(num, features);
	tap = tap_open("tap0", client->hlen, 0);
	sock = sending_socket("tap0");
	client_start(client, tap);
	bufs = client_alloc(client, num * 2048, 4096);

	printf("tx %.0f\n", cost_of_transmit(client, bufs));
	printf("rx %.0f\n", cost_of_receive(client, bufs, sock));
	client_stop(client);
	client_close(client);
	return 0;
}
