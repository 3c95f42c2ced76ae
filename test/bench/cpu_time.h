/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU time of threads, as perf's task clock counts it: from switch to switch.
 *
 * What the scheduler itself books (schedstat, CPU clocks, rusage) is not that. After a wake-up
 * that is to preempt it spares itself a look at the clock: what the thread still does before it
 * gives way, in a kernel without full preemption up to the end of a run or poll, is booked on the
 * next one. Which side then pays depends on who woke whom, and when.
 */
#ifndef BENCH_CPU_TIME_H
#define BENCH_CPU_TIME_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Counts a thread's time from now on, or from its next exec on and then its children's, too.
 * Return: a descriptor, or -1 where the kernel has no perf.
 */
static inline int cpu_time_open(pid_t tid, bool command)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = command,
		.enable_on_exec = command,
		.inherit = command,
	};

	return syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline bool cpu_time_read(int fd, uint64_t *ns)
{
	return fd >= 0 && read(fd, ns, sizeof(*ns)) == sizeof(*ns);
}

#endif /* BENCH_CPU_TIME_H */
