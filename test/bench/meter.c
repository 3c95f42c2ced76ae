// SPDX-License-Identifier: GPL-2.0-only
/*
 * meter [--out FILE] -- COMMAND...: runs COMMAND in a machine made by test/lab/loop and
 * tells whose CPU time that took, as one line of name=value:
 *
 *	vhost_ns	threads named vhost-*: the host's side
 *	guest_irq_ns	threads named vloop* (what a virtual CPU does in interrupts) and napi/eth0-*
 *	softirq_ns	ksoftirqd, either side
 *	guest_app_ns	other threads in network namespace vm
 *	host_app_ns	other threads in network namespace host
 *	command_ns	COMMAND and its children
 *	wall_ns		time
 *	vhost_wakeups	times that a vhost thread went to sleep
 *	vhost_preempts	times that one was preempted
 *	vhost_threads	vhost threads with a twentieth of that at least
 *	vhost_busiest	the greatest share of that which one of them has, 0 to 1
 *
 * A thread's time is perf's (cpu_time.h), where the kernel has it and the thread was there at the
 * start; else what the scheduler booked: /proc/<pid>/schedstat, or /proc/<pid>/sched. Exits with
 * COMMAND's status.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu_time.h"

enum side { VHOST, GUEST_IRQ, SOFTIRQ, GUEST_APP, HOST_APP, SIDES };

static const char *const side_names[SIDES] = {
	"vhost_ns", "guest_irq_ns", "softirq_ns", "guest_app_ns", "host_app_ns",
};

struct thread {
	pid_t tid;
	enum side side;
	int clock;			/* counts since the snapshot, or -1 */
	uint64_t ns;			/* booked since the thread began */
	uint64_t voluntary;
	uint64_t involuntary;
};

struct snapshot {
	struct thread *threads;
	size_t count;
	uint64_t time;
};

static ino_t vm_ns, host_ns;

static void fail(const char *what)
{
	fprintf(stderr, "meter: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static ino_t netns_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* The whole of a small file of /proc; false when the thread is gone. */
static bool slurp(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool slurp(char *buf, size_t size, const char *fmt, ...)
{
	char path[128];
	va_list args;
	ssize_t len;
	int fd;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len < 0)
		return false;
	buf[len] = 0;
	return true;
}

static bool runtime(pid_t pid, pid_t tid, uint64_t *ns)
{
	char buf[4096], *at;

	if (slurp(buf, sizeof(buf), "/proc/%d/task/%d/schedstat", pid, tid))
		return sscanf(buf, "%" SCNu64, ns) == 1;
	if (!slurp(buf, sizeof(buf), "/proc/%d/task/%d/sched", pid, tid))
		return false;
	at = strstr(buf, "se.sum_exec_runtime");
	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return false;
	*ns = strtod(at + 1, NULL) * 1e6;
	return true;
}

static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool side_of(pid_t pid, const char *comm, enum side *side)
{
	char path[64];
	ino_t ns;

	if (!strncmp(comm, "vhost-", 6)) {
		*side = VHOST;
	} else if (!strncmp(comm, "vloop", 5) || !strncmp(comm, "napi/eth0-", 10)) {
		*side = GUEST_IRQ;
	} else if (!strncmp(comm, "ksoftirqd/", 10)) {
		*side = SOFTIRQ;
	} else {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		ns = netns_of(path);
		if (!ns || (ns != vm_ns && ns != host_ns))
			return false;
		*side = ns == vm_ns ? GUEST_APP : HOST_APP;
	}
	return true;
}

static void add_thread(struct snapshot *s, pid_t pid, pid_t tid, bool count)
{
	struct thread t = { .tid = tid, .clock = -1 };
	char buf[4096];

	if (!slurp(buf, 64, "/proc/%d/task/%d/comm", pid, tid) || !side_of(pid, buf, &t.side) ||
	    !runtime(pid, tid, &t.ns))
		return;
	if (slurp(buf, sizeof(buf), "/proc/%d/task/%d/status", pid, tid)) {
		t.voluntary = field(buf, "\nvoluntary_ctxt_switches:");
		t.involuntary = field(buf, "\nnonvoluntary_ctxt_switches:");
	}
	if (count)
		t.clock = cpu_time_open(tid, false);
	s->threads = realloc(s->threads, (s->count + 1) * sizeof(t));
	if (!s->threads)
		fail("memory");
	s->threads[s->count++] = t;
}

static void snapshot(struct snapshot *s, bool count)
{
	struct dirent *p, *t;
	char path[64];
	DIR *proc, *task;

	proc = opendir("/proc");
	if (!proc)
		fail("/proc");
	while ((p = readdir(proc))) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task", atoi(p->d_name));
		task = opendir(path);
		if (!task)
			continue;
		while ((t = readdir(task)))
			if (isdigit((unsigned char)t->d_name[0]))
				add_thread(s, atoi(p->d_name), atoi(t->d_name), count);
		closedir(task);
	}
	closedir(proc);
}

static const struct thread *find(const struct snapshot *s, pid_t tid)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->threads[i].tid == tid)
			return &s->threads[i];
	return NULL;
}

static uint64_t rusage_ns(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000ull +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000ull;
}

static void report(FILE *out, const struct snapshot *a, const struct snapshot *b,
		   uint64_t command)
{
	uint64_t ns[SIDES] = { 0 }, wakeups = 0, preempts = 0, threads = 0, most = 0, slept, used;
	const struct thread *old, *new;
	struct thread none = { .clock = -1 };
	size_t i;

	for (i = 0; i < b->count; i++) {
		new = &b->threads[i];
		old = find(a, new->tid) ?: &none;
		if (!cpu_time_read(old->clock, &used))
			used = new->ns - old->ns;
		ns[new->side] += used;
		if (new->side != VHOST)
			continue;
		wakeups += new->voluntary - old->voluntary;
		preempts += new->involuntary - old->involuntary;
	}
	for (i = 0; i < b->count; i++) {
		new = &b->threads[i];
		if (new->side != VHOST)
			continue;
		old = find(a, new->tid) ?: &none;
		slept = new->voluntary - old->voluntary;
		threads += slept && slept * 20 >= wakeups;
		if (slept > most)
			most = slept;
	}
	for (i = 0; i < SIDES; i++)
		fprintf(out, "%s=%" PRIu64 " ", side_names[i], ns[i]);
	fprintf(out, "command_ns=%" PRIu64 " wall_ns=%" PRIu64 " ", command,
		b->time - a->time);
	fprintf(out, "vhost_wakeups=%" PRIu64 " vhost_preempts=%" PRIu64 " vhost_threads=%" PRIu64
		" vhost_busiest=%.3f\n", wakeups, preempts, threads,
		wakeups ? (double)most / wakeups : 0);
}

int main(int argc, char **argv)
{
	struct snapshot before = { 0 }, after = { 0 };
	struct rusage usage;
	FILE *out = stdout;
	int status, go[2], clock, arg = 1;
	uint64_t command;
	pid_t child;
	char word;

	if (argc > 2 && !strcmp(argv[1], "--out")) {
		out = fopen(argv[2], "w");
		if (!out)
			fail(argv[2]);
		arg = 3;
	}
	if (arg < argc && !strcmp(argv[arg], "--"))
		arg++;
	if (arg >= argc) {
		fputs("usage: meter [--out FILE] -- COMMAND...\n", stderr);
		return 125;
	}
	vm_ns = netns_of("/run/netns/vm");
	host_ns = netns_of("/run/netns/host");

	if (pipe2(go, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		close(go[1]);
		if (read(go[0], &word, 1) != 1)
			_exit(127);
		execvp(argv[arg], argv + arg);
		fprintf(stderr, "meter: %s: %s\n", argv[arg], strerror(errno));
		_exit(127);
	}
	clock = cpu_time_open(child, true);
	snapshot(&before, true);
	before.time = now();
	if (write(go[1], "", 1) != 1)
		fail("pipe");
	if (wait4(child, &status, 0, &usage) < 0)
		fail("wait");
	after.time = now();
	if (!cpu_time_read(clock, &command))
		command = rusage_ns(&usage);
	snapshot(&after, false);
	report(out, &before, &after, command);
	if (fclose(out))
		fail("write");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
