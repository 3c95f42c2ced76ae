/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_UIO_H
#define UNIT_LINUX_UIO_H

#include <sys/uio.h>

#ifndef UIO_MAXIOV
#define UIO_MAXIOV	1024
#endif

#endif
