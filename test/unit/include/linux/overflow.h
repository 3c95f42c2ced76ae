/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_OVERFLOW_H
#define UNIT_LINUX_OVERFLOW_H

#define struct_size(p, member, count)	\
	(sizeof(*(p)) + (count) * sizeof((p)->member[0]))

#endif
