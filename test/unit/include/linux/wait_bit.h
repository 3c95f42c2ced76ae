/* SPDX-License-Identifier: GPL-2.0-only */
/* One wait queue for all, as good as many. In unit.c. */
#ifndef UNIT_LINUX_WAIT_BIT_H
#define UNIT_LINUX_WAIT_BIT_H

#include <pthread.h>

extern pthread_mutex_t unit_wait_lock;
extern pthread_cond_t unit_wait_cond;

#define wait_var_event(var, condition)					\
	do {								\
		(void)(var);						\
		pthread_mutex_lock(&unit_wait_lock);			\
		while (!(condition))					\
			pthread_cond_wait(&unit_wait_cond, &unit_wait_lock); \
		pthread_mutex_unlock(&unit_wait_lock);			\
	} while (0)

static inline void wake_up_var(void *var)
{
	(void)var;
	pthread_mutex_lock(&unit_wait_lock);
	pthread_cond_broadcast(&unit_wait_cond);
	pthread_mutex_unlock(&unit_wait_lock);
}

#endif
