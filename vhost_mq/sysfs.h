/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between sysfs.c and stats.c: directories and their attributes.
 */
#ifndef VHMQ_SYSFS_H
#define VHMQ_SYSFS_H

#include <linux/kobject.h>
#include <linux/sysfs.h>

/*
 * A directory that shows an object: a group, a worker, a queue, or (NULL) the
 * defaults. It is removed before the object goes; removing waits for those who are
 * inside a show or store, so that these need no reference to the object. The
 * memory of the directory itself goes when the last reference does.
 */
struct vhmq_dir {
	struct kobject kobj;
	void *object;
};

/* One file; @arg is for show and store: a knob, or the offset of a counter. */
struct vhmq_attr {
	struct attribute attr;
	ssize_t (*show)(void *object, unsigned int arg, char *page);
	ssize_t (*store)(void *object, unsigned int arg, const char *text);
	unsigned int arg;
};

#define VHMQ_ATTR_RO(prefix, _name, _show, _arg)			\
	static struct vhmq_attr prefix##_name = {			\
		.attr = { .name = #_name, .mode = 0444 },		\
		.show = _show,						\
		.arg = _arg,						\
	}

#define VHMQ_ATTR_RW(prefix, _name, _show, _store, _arg)		\
	static struct vhmq_attr prefix##_name = {			\
		.attr = { .name = #_name, .mode = 0644 },		\
		.show = _show,						\
		.store = _store,					\
		.arg = _arg,						\
	}

/* stats/ of each kind of directory: stats.c */
extern const struct attribute_group vhmq_group_stats;
extern const struct attribute_group vhmq_worker_stats;
extern const struct attribute_group vhmq_queue_stats;

#endif /* VHMQ_SYSFS_H */
