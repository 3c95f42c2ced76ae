/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the plain C files (ring_split.c, steer.c, work.c) need from their
 * surroundings. In the kernel these are the kernel's own; a user-space build
 * puts a directory with headers of the same names in front.
 */
#ifndef VHMQ_HOOKS_H
#define VHMQ_HOOKS_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#endif /* VHMQ_HOOKS_H */
