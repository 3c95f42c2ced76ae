/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_MM_H
#define UNIT_LINUX_MM_H

#include <linux/kernel.h>

#endif
