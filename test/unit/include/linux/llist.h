/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_LINUX_LLIST_H
#define UNIT_LINUX_LLIST_H

#include <linux/kernel.h>

struct llist_head {
	struct llist_node *first;
};

struct llist_node {
	struct llist_node *next;
};

static inline void init_llist_head(struct llist_head *list)
{
	list->first = NULL;
}

static inline bool llist_empty(const struct llist_head *list)
{
	return !READ_ONCE(list->first);
}

/* Return: was the list empty? */
static inline bool llist_add(struct llist_node *node, struct llist_head *list)
{
	struct llist_node *first = READ_ONCE(list->first);

	do {
		WRITE_ONCE(node->next, first);
	} while (!__atomic_compare_exchange_n(&list->first, &first, node, false,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return !first;
}

static inline struct llist_node *llist_del_all(struct llist_head *list)
{
	return __atomic_exchange_n(&list->first, NULL, __ATOMIC_SEQ_CST);
}

static inline struct llist_node *llist_reverse_order(struct llist_node *head)
{
	struct llist_node *reversed = NULL, *next;

	for (; head; head = next) {
		next = head->next;
		head->next = reversed;
		reversed = head;
	}
	return reversed;
}

#define llist_entry(p, type, member) container_of(p, type, member)

#define llist_entry_or_null(p, type, member)				\
({									\
	struct llist_node *_node = (p);					\
									\
	_node ? llist_entry(_node, type, member) : NULL;		\
})

#define llist_for_each_entry_safe(pos, n, head, member)			\
	for (pos = llist_entry_or_null(head, __typeof__(*pos), member);	\
	     pos && (n = llist_entry_or_null((pos)->member.next,	\
					     __typeof__(*pos), member), true); \
	     pos = n)

#endif
