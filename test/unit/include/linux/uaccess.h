/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the user is memory. A test that wants accesses to fail says which in
 * unit_user_fault; one that wants to change memory between two reads does it
 * there as well.
 */
#ifndef UNIT_LINUX_UACCESS_H
#define UNIT_LINUX_UACCESS_H

#include <errno.h>
#include <string.h>

#include <linux/types.h>

/* Return: does the access fail? In unit.c; NULL: none does. */
extern bool (*unit_user_fault)(const void *addr, size_t size, bool write);

static inline bool unit_user_fails(const void *addr, size_t size, bool write)
{
	return unit_user_fault && unit_user_fault(addr, size, write);
}

/* The lower half is the user's, but for the last page. */
#define UNIT_USER_END	((1ull << 47) - 4096)

static inline bool access_ok(const void __user *addr, u64 size)
{
	return size <= UNIT_USER_END && (unsigned long)addr <= UNIT_USER_END - size;
}

#define get_user(x, p)							\
({									\
	__auto_type _user = (p);					\
	int _ret = unit_user_fails(_user, sizeof(*_user), false) ? -EFAULT : 0; \
									\
	if (_ret)							\
		(x) = 0;						\
	else								\
		memcpy(&(x), _user, sizeof(*_user));			\
	_ret;								\
})

#define put_user(x, p)							\
({									\
	__auto_type _user = (p);					\
	__typeof__(*_user) _value = (x);				\
	int _ret = unit_user_fails(_user, sizeof(*_user), true) ? -EFAULT : 0; \
									\
	if (!_ret)							\
		memcpy(_user, &_value, sizeof(_value));			\
	_ret;								\
})

#define __get_user(x, p)	get_user(x, p)
#define __put_user(x, p)	put_user(x, p)

/* Return: how many bytes were not copied. */
static inline unsigned long copy_from_user(void *to, const void __user *from,
					   unsigned long size)
{
	if (unit_user_fails(from, size, false))
		return size;
	memcpy(to, from, size);
	return 0;
}

static inline unsigned long copy_to_user(void __user *to, const void *from,
					 unsigned long size)
{
	if (unit_user_fails(to, size, true))
		return size;
	memcpy(to, from, size);
	return 0;
}

#define __copy_from_user(to, from, size)	copy_from_user(to, from, size)
#define __copy_to_user(to, from, size)		copy_to_user(to, from, size)

#endif
