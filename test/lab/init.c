// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of a lab kernel.
 *
 * The root is the machine's own, read-only. This puts an overlay in memory over it,
 * mounts what a running system has, runs one command and leaves its exit status in the
 * directory of the run, the only one that can be written to from inside. It is one static
 * program, and not a script, because starting a process costs up to half a second under
 * the slowest of the lab's kernels, and all of this needs one.
 *
 * The kernel's command line names it as init=RUN/init. In RUN it finds
 *	job	lines of a word and a path: arch, top, cache, modules
 *	command	what to run, for /bin/sh
 * and there it leaves `status`, and `kmemleak` when that has something to say.
 *
 * As /init of an initramfs it first loads /lab-modules and mounts the root, see early().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NEW	"/mnt/root"
#define RUN	"/run/lab"

/* kmemleak calls nothing a leak that is younger than five seconds. */
#define LEAK_AGE	6

static char run[PATH_MAX];
static char arch[16], top[PATH_MAX], cache[PATH_MAX], modules[PATH_MAX];

/* The message goes to the kernel's log, which is all that is there for certain. */
static void complain(const char *what, const char *which)
{
	int error = errno, fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dprintf(fd, "lab init: %s %s: %s\n", what, which, strerror(error));
		close(fd);
	}
}

static void end(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void give_up(const char *what, const char *which)
{
	complain(what, which);
	end();
}

static void must_mount(const char *source, const char *target, const char *type,
		       unsigned long flags, const char *data)
{
	if (mount(source, target, type, flags, data))
		give_up("mount", target);
}

static void may_mount(const char *source, const char *target, const char *type,
		      const char *data)
{
	if (!access(target, F_OK) && mount(source, target, type, 0, data))
		complain("mount", target);
}

/* Make the directory @path and those above it. */
static void make_dirs(const char *path)
{
	char part[PATH_MAX];
	size_t i, length = strlen(path);

	for (i = 1; i <= length; i++) {
		if (i < length && path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		mkdir(part, 0755);
	}
}

/* Copy the value of the kernel argument @name, or the empty string. */
static void argument(const char *name, char *value, size_t size)
{
	char line[4096];
	char *word, *rest = line;
	size_t length = strlen(name);
	FILE *file = fopen("/proc/cmdline", "re");

	*value = '\0';
	if (!file || !fgets(line, sizeof(line), file))
		give_up("read", "/proc/cmdline");
	fclose(file);
	while ((word = strsep(&rest, " \n"))) {
		if (!strncmp(word, name, length) && word[length] == '=')
			snprintf(value, size, "%s", word + length + 1);
	}
}

/* In an initramfs: load the modules in the order of their names, then take the root. */
static void early(void)
{
	char flags[256], path[PATH_MAX];
	struct dirent **names;
	int count, i, fd;

	must_mount("dev", "/dev", "devtmpfs", 0, NULL);
	must_mount("proc", "/proc", "proc", 0, NULL);
	count = scandir("/lab-modules", &names, NULL, alphasort);
	for (i = 0; i < count; i++) {
		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/lab-modules/%s", names[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
			complain("load", path);
		close(fd);
	}
	argument("rootflags", flags, sizeof(flags));
	must_mount("host", "/root", "9p", MS_RDONLY, flags);
	must_mount("/dev", "/root/dev", NULL, MS_MOVE, NULL);
	umount("/proc");
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		give_up("enter", "/root");
}

static void read_job(void)
{
	char path[PATH_MAX + 8], line[PATH_MAX + 16];
	char *value;
	FILE *file;

	snprintf(path, sizeof(path), "%s/job", run);
	file = fopen(path, "re");
	if (!file)
		give_up("open", path);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = '\0';
		if (!strcmp(line, "arch"))
			snprintf(arch, sizeof(arch), "%s", value);
		else if (!strcmp(line, "top"))
			snprintf(top, sizeof(top), "%s", value);
		else if (!strcmp(line, "cache"))
			snprintf(cache, sizeof(cache), "%s", value);
		else if (!strcmp(line, "modules"))
			snprintf(modules, sizeof(modules), "%s", value);
	}
	fclose(file);
}

static int is_um(void)
{
	return !strcmp(arch, "um");
}

/* Keep the directory @path in sight where a fresh /tmp, /run or /dev/shm covers it. */
static void keep(const char *path)
{
	static const char * const covered[] = { "/tmp/", "/run/", "/dev/shm/" };
	char inside[PATH_MAX + sizeof(NEW)];
	size_t i;

	for (i = 0; i < sizeof(covered) / sizeof(*covered); i++) {
		if (strncmp(path, covered[i], strlen(covered[i])))
			continue;
		snprintf(inside, sizeof(inside), "%s%s", NEW, path);
		make_dirs(inside);
		must_mount(path, inside, NULL, MS_BIND, NULL);
		must_mount(NULL, inside, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
	}
}

static void make_root(void)
{
	must_mount("lab", "/mnt", "tmpfs", 0, "mode=755");
	make_dirs("/mnt/upper");
	make_dirs("/mnt/work");
	make_dirs(NEW);
	must_mount("overlay", NEW, "overlay", 0,
		   "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work");
	make_dirs(NEW "/proc");
	make_dirs(NEW "/sys");
	make_dirs(NEW "/dev");
	make_dirs(NEW "/run");
	make_dirs(NEW "/tmp");
	make_dirs(NEW "/lib/modules");
	must_mount("proc", NEW "/proc", "proc", 0, NULL);
	must_mount("sys", NEW "/sys", "sysfs", 0, NULL);
	must_mount("dev", NEW "/dev", "devtmpfs", 0, NULL);
	make_dirs(NEW "/dev/pts");
	make_dirs(NEW "/dev/shm");
	must_mount("devpts", NEW "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666");
	must_mount("shm", NEW "/dev/shm", "tmpfs", 0, "mode=1777");
	must_mount("run", NEW "/run", "tmpfs", 0, "mode=755");
	must_mount("tmp", NEW "/tmp", "tmpfs", 0, "mode=1777");
	make_dirs(NEW RUN);
	make_dirs(NEW "/run/netns");
	make_dirs(NEW "/run/lock");
	may_mount("cgroup2", NEW "/sys/fs/cgroup", "cgroup2", NULL);
	may_mount("debugfs", NEW "/sys/kernel/debug", "debugfs", NULL);
	may_mount("tracefs", NEW "/sys/kernel/tracing", "tracefs", NULL);
	if (is_um())
		must_mount("none", NEW RUN, "hostfs", 0, run);
	else
		must_mount("lab", NEW RUN, "9p", 0,
			   "trans=virtio,version=9p2000.L,cache=none,msize=262144");
	keep(top);
	keep(cache);
	must_mount(modules, NEW "/lib/modules", NULL, MS_BIND, NULL);

	if (chdir(NEW) || syscall(SYS_pivot_root, ".", "mnt") || chdir("/") ||
	    umount2("/mnt", MNT_DETACH))
		give_up("pivot_root", NEW);
}

static void settle(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		complain("set up", "lo");
	close(fd);
	if (sethostname("lab", 3) ||
	    (symlink("/proc/self/fd", "/dev/fd") && errno != EEXIST) ||
	    (symlink("/proc/self/fd/0", "/dev/stdin") && errno != EEXIST) ||
	    (symlink("/proc/self/fd/1", "/dev/stdout") && errno != EEXIST) ||
	    (symlink("/proc/self/fd/2", "/dev/stderr") && errno != EEXIST))
		complain("name", "things");
}

/* The virtio serial port called @name; what has no udev has no names in /dev. */
static int open_port(const char *name)
{
	char path[PATH_MAX], text[32] = "";
	DIR *ports = opendir("/sys/class/virtio-ports");
	struct dirent *port;
	FILE *file;
	int fd = -1;

	while (ports && fd < 0 && (port = readdir(ports))) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", port->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file) && !strcmp(strtok(text, "\n"), name)) {
			snprintf(path, sizeof(path), "/dev/%s", port->d_name);
			fd = open(path, O_WRONLY | O_CLOEXEC);
		}
		fclose(file);
	}
	if (ports)
		closedir(ports);
	return fd;
}

/* A user-mode kernel's terminal, which must pass on what it is given. */
static int open_terminal(const char *path)
{
	struct termios termios;
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && !tcgetattr(fd, &termios)) {
		cfmakeraw(&termios);
		tcsetattr(fd, TCSANOW, &termios);
	}
	return fd;
}

/* Run the command; returns its status as a shell would say it. */
static int work(void)
{
	int out, err, status = 0;
	pid_t child, pid;

	out = is_um() ? open_terminal("/dev/tty1") : open_port("out");
	err = is_um() ? open_terminal("/dev/tty2") : open_port("err");
	if (out < 0 || err < 0)
		give_up("open", "the command's output");

	child = fork();
	if (!child) {
		setsid();
		if (dup2(open("/dev/null", O_RDONLY), 0) < 0 || dup2(out, 1) < 0 ||
		    dup2(err, 2) < 0 || chdir(top))
			_exit(125);
		clearenv();
		execl("/bin/sh", "sh", RUN "/command", NULL);
		_exit(126);
	}
	do {
		pid = waitpid(-1, &status, 0);
	} while (pid != child && (pid > 0 || errno == EINTR));
	if (is_um()) {
		tcdrain(out);
		tcdrain(err);
	}
	close(out);
	close(err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void look_for_leaks(void)
{
	static const char leaks[] = "/sys/kernel/debug/kmemleak";
	struct timespec age = { .tv_sec = LEAK_AGE };
	char text[4096];
	ssize_t length;
	int from, to;

	from = open(leaks, O_RDWR | O_CLOEXEC);
	if (from < 0)
		return;
	/* The second scan sees what the first took for a leak while it moved. */
	nanosleep(&age, NULL);
	if (write(from, "scan", 4) < 0 || write(from, "scan", 4) < 0) {
		close(from);
		return;
	}
	to = open(RUN "/kmemleak", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	while ((length = read(from, text, sizeof(text))) > 0) {
		if (write(to, text, length) != length)
			complain("write", RUN "/kmemleak");
	}
	close(to);
	close(from);
}

static void leave_status(int status)
{
	FILE *file = fopen(RUN "/status.new", "we");

	if (!file || fprintf(file, "%d\n", status) < 0 || fclose(file) ||
	    rename(RUN "/status.new", RUN "/status"))
		complain("write", RUN "/status");
}

int main(void)
{
	char *slash;
	int status;

	if (!access("/lab-modules", F_OK))
		early();
	must_mount("proc", "/proc", "proc", 0, NULL);
	argument("init", run, sizeof(run));
	slash = strrchr(run, '/');
	if (!slash)
		give_up("find", "the directory of the run");
	*slash = '\0';
	read_job();
	make_root();
	settle();
	status = work();
	look_for_leaks();
	leave_status(status);
	end();
}
