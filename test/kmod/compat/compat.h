/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VLOOP_COMPAT_H
#define VLOOP_COMPAT_H

#include <linux/eventfd.h>
#include <linux/timer.h>

static inline void vloop_eventfd_signal(struct eventfd_ctx *ctx)
{
#ifdef VLOOP_HAVE_EVENTFD_SIGNAL_CTX
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

#ifndef VLOOP_HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, field) \
	container_of(timer, typeof(*(var)), field)
#endif

#endif /* VLOOP_COMPAT_H */
