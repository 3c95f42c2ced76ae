/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_HIGHMEM_H
#define UNIT_LINUX_HIGHMEM_H

#include <linux/mm.h>

#define kmap_local_page(page)	((void *)(page))
#define kunmap_local(memory)	((void)(memory))

#endif
