// SPDX-License-Identifier: GPL-2.0-only
/* What the headers below include/ declare. */
#include <pthread.h>

#include <linux/uaccess.h>
#include <linux/wait_bit.h>

pthread_mutex_t unit_wait_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t unit_wait_cond = PTHREAD_COND_INITIALIZER;

bool (*unit_user_fault)(const void *addr, size_t size, bool write);
