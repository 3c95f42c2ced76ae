/* SPDX-License-Identifier: GPL-2.0-only */
/* Who does something in the fuzzed world: the device, its owner and its guest. */
#ifndef FUZZ_ACTORS_H
#define FUZZ_ACTORS_H

#include "world.h"

struct guest {				/* of each queue */
	struct vhmq_used_elem held[256];	/* popped, not returned */
	unsigned int nr;
	u16 offered;
	u16 ahead;			/* next_avail - next_used when it was started */
	unsigned int told;		/* failures that the fuzzer knows of */
};

extern struct guest guests[VHMQ_NR_QUEUES];

struct guest *guest_of(const struct vhmq_queue *queue);

/* One step, of a kind that @what says and with what else is in the input. */
void device_does(struct vhmq_queue *queue, u8 what);
void owner_does(struct vhmq_queue *queue, u8 what);
void guest_does(struct vhmq_queue *queue, u8 what);

/* The end of a run: nothing stays popped. */
void settle(struct vhmq_queue *queue);

void open_device(void);
void close_device(void);

/* An address of a guest. */
u64 guest_in(void);

#endif /* FUZZ_ACTORS_H */
