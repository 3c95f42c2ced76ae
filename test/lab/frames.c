// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames: sends a known number of UDP frames out of a network device and says
 * how many the device was given.
 *
 * The flows differ in their source port, so that a device with several queues
 * uses all of them. With a window, no more frames are under way than that: those
 * that the device has not counted as sent or dropped. Without one the device is
 * given all that it takes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_SIZE	65535
#define MIN_SIZE	60
/* Nothing moved for this long: the other side is not taking frames. */
#define STUCK_SECONDS	10

static const char *device;
static unsigned int size = MIN_SIZE;
static unsigned long count = 1, flows = 1, window;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("frames: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || !*text || *end || value < min || value > max)
		die("'%s' is not a number from %lu to %lu", text, min, max);
	return value;
}

static unsigned long statistic(const char *name)
{
	char path[256];
	unsigned long value;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", device, name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lu", &value) != 1)
		die("cannot read %s", path);
	fclose(file);
	return value;
}

static unsigned long taken(void)
{
	return statistic("tx_packets") + statistic("tx_dropped");
}

/* Wait until fewer than the window's frames are under way. */
static void wait_for_window(unsigned long before, unsigned long sent)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	unsigned long now, last = taken();
	time_t moved = time(NULL);

	for (;;) {
		now = taken();
		if (before + sent - now < window || now > before + sent)
			return;
		if (now != last) {
			last = now;
			moved = time(NULL);
		} else if (time(NULL) - moved > STUCK_SECONDS) {
			die("%lu of %lu frames sent, %lu taken, no more for %d s",
			    sent, count, now - before, STUCK_SECONDS);
		}
		nanosleep(&pause, NULL);
	}
}

static unsigned short ip_checksum(const struct iphdr *ip)
{
	const unsigned short *words = (const unsigned short *)ip;
	unsigned int i, sum = 0;

	for (i = 0; i < sizeof(*ip) / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void build(unsigned char *frame)
{
	struct ether_header *eth = (struct ether_header *)frame;
	struct iphdr *ip = (struct iphdr *)(eth + 1);
	struct udphdr *udp = (struct udphdr *)(ip + 1);

	memset(eth->ether_dhost, 0xff, ETH_ALEN);
	eth->ether_shost[0] = 2;
	eth->ether_type = htons(ETH_P_IP);
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = htonl(0xc6120001);	/* 198.18.0.1, for measuring */
	ip->daddr = htonl(0xc6130001);
	ip->tot_len = htons(size - sizeof(*eth));
	ip->check = ip_checksum(ip);
	udp->dest = htons(9);
	udp->len = htons(size - sizeof(*eth) - sizeof(*ip));
}

static int open_socket(struct sockaddr_ll *address)
{
	int fd, bytes = 64 << 20;

	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0)
		die("no packet socket: %m");
	/* The device is to be the limit, not the socket. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		die("SO_SNDBUFFORCE: %m");
	address->sll_family = AF_PACKET;
	address->sll_protocol = htons(ETH_P_IP);
	address->sll_ifindex = if_nametoindex(device);
	if (!address->sll_ifindex)
		die("%s: %m", device);
	return fd;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "flows", required_argument, NULL, 'f' },
		{ "size", required_argument, NULL, 's' },
		{ "window", required_argument, NULL, 'w' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			count = number(optarg, 1, ~0ul);
			break;
		case 'f':
			flows = number(optarg, 1, 65535);
			break;
		case 's':
			size = number(optarg, MIN_SIZE, MAX_SIZE);
			break;
		case 'w':
			window = number(optarg, 1, 1 << 20);
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind != 1) {
		fputs("usage: frames [--count N] [--flows N] [--size BYTES] [--window N] DEVICE\n",
		      stderr);
		exit(2);
	}
	device = argv[optind];
}

int main(int argc, char **argv)
{
	static unsigned char frame[MAX_SIZE];
	struct udphdr *udp = (void *)(frame + sizeof(struct ether_header) + sizeof(struct iphdr));
	struct sockaddr_ll address = { };
	unsigned long sent, before, refused = 0;
	int fd;

	parse(argc, argv);
	fd = open_socket(&address);
	build(frame);
	before = taken();
	for (sent = 0; sent < count; sent++) {
		if (window && sent % 16 == 0)
			wait_for_window(before, sent);
		udp->source = htons(1024 + sent % flows);
		if (sendto(fd, frame, size, 0, (struct sockaddr *)&address, sizeof(address)) ==
		    (ssize_t)size)
			continue;
		if (errno != ENOBUFS)
			die("%s refuses a frame: %m", device);
		refused++;
	}
	printf("sent %lu refused %lu\n", sent, refused);
	return 0;
}
