// SPDX-License-Identifier: GPL-2.0-only
/*
 * talk: TCP connections whose other end sends back what it gets; every byte that comes
 * back is compared with the one that was sent.
 *
 *	talk --serve PORT
 *	talk [--connections N] [--bytes N] ADDRESS PORT
 *
 * Without --bytes it talks until SIGTERM or SIGINT, then waits for what is still on its way.
 * Fails when a connection cannot be made, ends early, is silent for a minute, or brings
 * back anything else than what was sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS	256
#define CHUNK		65536
/* Sent and not come back yet; more than the sockets on the way can hold stalls. */
#define WINDOW		(256 * 1024)
#define SILENCE		60

struct connection {
	int fd;
	unsigned int number;
	uint64_t sent, received;
	bool told;		/* that no more is sent */
	bool done;
	time_t heard;
};

static volatile sig_atomic_t stop;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("talk: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void ask_to_stop(int signal)
{
	stop = 1;
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* The byte at @offset of connection @number; no run of them is found anywhere else. */
static unsigned char byte_at(unsigned int number, uint64_t offset)
{
	uint64_t x = (offset >> 3) + ((uint64_t)number << 40) + 1;

	x *= 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x >> (8 * (offset & 7));
}

static void send_back(int fd)
{
	static char buffer[CHUNK];
	ssize_t got, done, put;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
		for (done = 0; done < got; done += put) {
			put = write(fd, buffer + done, got - done);
			if (put <= 0)
				exit(1);
		}
	}
	exit(got < 0);
}

static void serve(unsigned int port)
{
	struct sockaddr_in6 address = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	int on = 1, fd, client;

	signal(SIGCHLD, SIG_IGN);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, MAX_CONNECTIONS))
		die("cannot listen on port %u: %m", port);
	for (;;) {
		client = accept(fd, NULL, NULL);
		if (client < 0)
			continue;
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			send_back(client);
		}
		close(client);
	}
}

static int connect_to(const char *host, const char *port)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *address;
	int error, fd;

	error = getaddrinfo(host, port, &hints, &address);
	if (error)
		die("%s port %s: %s", host, port, gai_strerror(error));
	fd = socket(address->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, address->ai_addr, address->ai_addrlen))
		die("cannot connect to %s port %s: %m", host, port);
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		die("fcntl: %m");
	freeaddrinfo(address);
	return fd;
}

static void send_more(struct connection *connection, uint64_t bytes)
{
	static unsigned char buffer[CHUNK];
	uint64_t room = WINDOW - (connection->sent - connection->received);
	size_t i, want = sizeof(buffer);
	ssize_t put;

	if (room < want)
		want = room;
	if (bytes - connection->sent < want)
		want = bytes - connection->sent;
	if (stop || !want) {
		if (!connection->told && (stop || connection->sent == bytes)) {
			shutdown(connection->fd, SHUT_WR);
			connection->told = true;
		}
		return;
	}
	for (i = 0; i < want; i++)
		buffer[i] = byte_at(connection->number, connection->sent + i);
	put = write(connection->fd, buffer, want);
	if (put > 0)
		connection->sent += put;
	else if (errno != EAGAIN && errno != EINTR)
		die("connection %u is lost after %llu bytes: %m", connection->number,
		    (unsigned long long)connection->sent);
}

static void receive(struct connection *connection)
{
	static unsigned char buffer[CHUNK];
	ssize_t i, got = read(connection->fd, buffer, sizeof(buffer));

	if (got < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return;
		die("connection %u is lost: %m", connection->number);
	}
	if (!got) {
		if (!connection->told || connection->received != connection->sent)
			die("connection %u ended after %llu of %llu bytes", connection->number,
			    (unsigned long long)connection->received,
			    (unsigned long long)connection->sent);
		connection->done = true;
		return;
	}
	for (i = 0; i < got; i++) {
		if (buffer[i] != byte_at(connection->number, connection->received + i))
			die("connection %u: byte %llu came back changed", connection->number,
			    (unsigned long long)connection->received + i);
	}
	connection->received += got;
	connection->heard = seconds();
}

static bool wants_to_send(const struct connection *connection, uint64_t bytes)
{
	if (connection->told)
		return false;
	return stop || connection->sent == bytes ||
		connection->sent - connection->received < WINDOW;
}

static void talk(const char *host, const char *port, unsigned int count, uint64_t bytes)
{
	static struct connection connections[MAX_CONNECTIONS];
	static struct pollfd polls[MAX_CONNECTIONS];
	uint64_t total = 0;
	unsigned int i, left = count;

	for (i = 0; i < count; i++) {
		connections[i].number = i;
		connections[i].fd = connect_to(host, port);
		connections[i].heard = seconds();
	}
	while (left) {
		for (i = 0; i < count; i++) {
			polls[i].fd = connections[i].done ? -1 : connections[i].fd;
			polls[i].events = POLLIN;
			if (wants_to_send(&connections[i], bytes))
				polls[i].events |= POLLOUT;
		}
		poll(polls, count, 1000);
		for (i = 0; i < count; i++) {
			if (connections[i].done)
				continue;
			if (polls[i].revents & (POLLIN | POLLHUP | POLLERR))
				receive(&connections[i]);
			if (polls[i].revents & POLLOUT)
				send_more(&connections[i], bytes);
			left -= connections[i].done;
			if (!connections[i].done && seconds() - connections[i].heard > SILENCE)
				die("connection %u is silent after %llu bytes", i,
				    (unsigned long long)connections[i].received);
		}
	}
	for (i = 0; i < count; i++)
		total += connections[i].received;
	printf("%u connections, %llu bytes there and back\n", count, (unsigned long long)total);
}

static unsigned long long number(const char *text, unsigned long long max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || !value || value > max)
		die("'%s' is not a number from 1 to %llu", text, max);
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "connections", required_argument, NULL, 'c' },
		{ "serve", required_argument, NULL, 's' },
		{ }
	};
	const struct sigaction action = { .sa_handler = ask_to_stop };
	unsigned int count = 1;
	uint64_t bytes = UINT64_MAX;
	int option;

	signal(SIGPIPE, SIG_IGN);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			bytes = number(optarg, UINT64_MAX);
			break;
		case 'c':
			count = number(optarg, MAX_CONNECTIONS);
			break;
		case 's':
			serve(number(optarg, 65535));
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind != 2) {
		fputs("usage: talk --serve PORT\n"
		      "       talk [--connections N] [--bytes N] ADDRESS PORT\n", stderr);
		exit(2);
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	talk(argv[optind], argv[optind + 1], count, bytes);
	return 0;
}
