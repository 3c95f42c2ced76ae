// SPDX-License-Identifier: GPL-2.0-only
/*
 * loopd: see loopd.h. Prints nothing when all is well and leaves a file that names
 * the device, once the driver has probed it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "loopd.h"

struct options opt = {
	.tap = "tap0",
	.pairs = 1,
	.ring = 256,
	.limit_ms = 10000,
	.mac = { 0x52, 0x54, 0x00, 0x09, 0x00, 0x02 },
	.vhost = "/dev/vhost-net",
};

int loop_fd = -1;
static int ready_fd = -1;	/* tells the program that was called how it went */
static bool driver_ok;
static int device = -1;		/* the number of the device */

static void say(const char *fmt, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, args);
	dprintf(STDERR_FILENO, "loopd: %s\n", text);
}

void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

/* The end: closing the files takes the device away and stops vhost. */
void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	_exit(1);
}

static const char usage[] =
	"usage: loopd [OPTION]...\n"
	"\n"
	"Plays a virtio network device of module vmq_loop, on /dev/vhost-net and a tap.\n"
	"\n"
	"  --tap NAME          the tap (tap0)\n"
	"  --netns PATH        network namespace of the tap\n"
	"  --pairs N           queue pairs of the device (1)\n"
	"  --ring N            entries of a ring (256)\n"
	"  --limit MS          break the device when the driver waits longer (10000)\n"
	"  --feature-off LIST  leave these features out, with commas\n"
	"  --mtu N             MTU of the device (none)\n"
	"  --mac ADDRESS       (52:54:00:09:00:02)\n"
	"  --vhost PATH        (/dev/vhost-net)\n"
	"  --state FILE        leave the device's name and the process there\n"
	"  --log FILE          what happened\n"
	"  --foreground        do not detach\n";

static unsigned int number(const char *name, const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || !*text || *end || value < 1 || value > max)
		fail("--%s takes a number from 1 to %lu, not '%s'", name, max, text);
	return value;
}

static void parse_mac(const char *text)
{
	unsigned int b[6], i;
	char more;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &more) != 6)
		fail("'%s' is no address", text);
	for (i = 0; i < 6; i++)
		opt.mac[i] = b[i];
}

static const char *parse_options(int argc, char **argv)
{
	enum { TAP, NETNS, PAIRS, RING, LIMIT, OFF, MTU, MAC, VHOST, STATE, LOG, FOREGROUND, HELP };
	static const struct option options[] = {
		{ "tap", required_argument, NULL, TAP },
		{ "netns", required_argument, NULL, NETNS },
		{ "pairs", required_argument, NULL, PAIRS },
		{ "ring", required_argument, NULL, RING },
		{ "limit", required_argument, NULL, LIMIT },
		{ "feature-off", required_argument, NULL, OFF },
		{ "mtu", required_argument, NULL, MTU },
		{ "mac", required_argument, NULL, MAC },
		{ "vhost", required_argument, NULL, VHOST },
		{ "state", required_argument, NULL, STATE },
		{ "log", required_argument, NULL, LOG },
		{ "foreground", no_argument, NULL, FOREGROUND },
		{ "help", no_argument, NULL, HELP },
		{ }
	};
	const char *log = "/dev/null";
	int c, index;

	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		switch (c) {
		case TAP:
			opt.tap = optarg;
			break;
		case NETNS:
			opt.netns = optarg;
			break;
		case PAIRS:
			opt.pairs = number("pairs", optarg, MAX_PAIRS);
			break;
		case RING:
			opt.ring = number("ring", optarg, 32768);
			if (opt.ring & (opt.ring - 1))
				fail("--ring takes a power of two");
			break;
		case LIMIT:
			opt.limit_ms = number("limit", optarg, 600000);
			break;
		case OFF:
			if (!feature_parse(optarg, opt.features_off))
				fail("unknown feature in '%s'", optarg);
			break;
		case MTU:
			opt.mtu = number("mtu", optarg, 65535);
			break;
		case MAC:
			parse_mac(optarg);
			break;
		case VHOST:
			opt.vhost = optarg;
			break;
		case STATE:
			opt.state = optarg;
			break;
		case LOG:
			log = optarg;
			break;
		case FOREGROUND:
			opt.foreground = true;
			break;
		case HELP:
			fputs(usage, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind != argc)
		fail("what is '%s'? see --help", argv[optind]);
	return log;
}

/* The called program waits for one byte; without it, it says that loopd failed. */
static void detach(const char *log)
{
	int fds[2], fd;
	char byte;

	if (opt.foreground)
		return;
	if (pipe2(fds, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	switch (fork()) {
	case -1:
		fail("fork: %s", strerror(errno));
	case 0:
		break;
	default:
		close(fds[1]);
		exit(read(fds[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(fds[0]);
	ready_fd = fds[1];
	setsid();
	fd = open("/dev/null", O_RDWR);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (fd < 0)
		fail("%s: %s", log, strerror(errno));
	dup2(fd, STDERR_FILENO);
}

static void device_create(void)
{
	struct vloop_create create = {
		.device_id = VIRTIO_ID_NET,
		.queues = opt.pairs * 2 + 1,
		.ring_size = opt.ring,
		.limit_ms = opt.limit_ms,
	};

	feature_offer(backend_vhost_features(), backend_tun_features(),
		      (uint64_t *)create.features);
	config_init(&create);
	if (ioctl(loop_fd, VLOOP_CREATE, &create))
		fail("VLOOP_CREATE: %s", strerror(errno));
	backend_connect();
}

/* Either thread; the file is replaced as a whole. */
void write_state(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char new[256];
	FILE *f;

	if (!opt.state || device < 0)
		return;
	pthread_mutex_lock(&lock);
	snprintf(new, sizeof(new), "%s.new", opt.state);
	f = fopen(new, "w");
	if (!f || fprintf(f, "device=virtio%d\npid=%d\npairs=%u\n", device, getpid(),
			  backend_running()) < 0 ||
	    fclose(f) || rename(new, opt.state))
		fail("%s: %s", opt.state, strerror(errno));
	pthread_mutex_unlock(&lock);
}

static void registered(int64_t value)
{
	if (value < 0)
		fail("the device was not registered: %s", strerror(-value));
	note("device virtio%lld", (long long)value);
	device = value;
	write_state();
	if (ready_fd >= 0) {
		if (write(ready_fd, "", 1) != 1)
			note("nobody waits");
		close(ready_fd);
		ready_fd = -1;
	}
}

static void status_changed(const struct vloop_event *ev)
{
	bool mq = ev->features[0] & BIT64(VIRTIO_NET_F_MQ);
	bool now = ev->value & VIRTIO_CONFIG_S_DRIVER_OK;

	if (now && !driver_ok) {
		note("driver ok, features 0x%llx", (unsigned long long)ev->features[0]);
		backend_start(ev->features[0]);
		control_start(mq ? opt.pairs * 2 : 2, ev->features[0]);
	}
	driver_ok = now;
}

static void stop(void)
{
	driver_ok = false;
	control_stop();
	backend_stop();
}

/* Returns false after the last event. */
static bool serve(void)
{
	struct vloop_ack ack = { .ret = 0 };
	struct vloop_event ev;

	if (read(loop_fd, &ev, sizeof(ev)) != sizeof(ev)) {
		if (errno == EAGAIN)
			return true;
		fail("read: %s", strerror(errno));
	}
	switch (ev.type) {
	case VLOOP_EV_REGISTERED:
		registered(ev.value);
		return true;
	case VLOOP_EV_GONE:
		return false;
	case VLOOP_EV_RESET:
	case VLOOP_EV_DEL_VQS:
		stop();
		break;
	case VLOOP_EV_STATUS:
		status_changed(&ev);
		break;
	case VLOOP_EV_QUEUE_RESET:
		ack.ret = backend_queue_reset(ev.index);
		break;
	case VLOOP_EV_QUEUE_ENABLE:
		backend_queue_enable(ev.index);
		break;
	case VLOOP_EV_KICK:
		control_serve();
		break;
	}
	ack.id = ev.id;
	if (write(loop_fd, &ack, sizeof(ack)) != sizeof(ack))
		note("event %u was answered too late: %s", ev.type, strerror(errno));
	return true;
}

static int block_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		fail("signalfd: %s", strerror(errno));
	return fd;
}

int main(int argc, char **argv)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	const char *log = parse_options(argc, argv);

	loop_fd = open(VLOOP_PATH, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (loop_fd < 0)
		fail("%s: %s (module vmq_loop)", VLOOP_PATH, strerror(errno));
	detach(log);
	fds[1].fd = block_signals();
	memory_map();
	backend_open();
	device_create();

	fds[0].fd = loop_fd;
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			fail("poll: %s", strerror(errno));
		if (fds[1].revents) {
			note("asked to end");
			fds[1].fd = -1;
			fds[1].revents = 0;
			ioctl(loop_fd, VLOOP_DESTROY);
		}
		if ((fds[0].revents & POLLIN) && !serve())
			break;
	}
	backend_close();
	if (opt.state)
		unlink(opt.state);
	return 0;
}
