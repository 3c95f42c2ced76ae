/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzzers run the module's plain C files in: the owner's memory, every access to
 * which is judged, and a plain model of what guest addresses mean.
 *
 * An access is allowed to what the owner has set for it, and only to that: the rings,
 * regions of the memory table or of the device IOTLB with the permission that it needs,
 * and the bits of the dirty log that can be meant. Anything else ends the program. Of what
 * is allowed, only the arena and the log are there; the rest faults.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

#define ARENA		0x8000u
#define DIRTY		0x1000u

extern u8 arena[ARENA], dirty[DIRTY];
extern struct vhmq_dev dev;

/* ------------------------------------------------------------------------
 * Input: when it ends, all that follows is 0
 */
void input_set(const u8 *data, size_t size);
bool input_ends(void);
u8 u8_in(void);
u16 u16_in(void);
u64 u64_in(void);

/* ------------------------------------------------------------------------
 * Accesses
 */

/* The ring that is at work; NULL: the fuzzer itself. */
extern struct vhmq_queue *acting;
/* Accesses by it. */
extern unsigned long accesses;

void begin(struct vhmq_queue *queue);
/* Return: was memory as the model could see it: nothing flipped, nothing faulted? */
bool end(void);

/* What the guest's other CPUs do: just before the @nth access from now. */
void arm_flip(unsigned int nth, u16 at, u64 value, unsigned int len);
/* The @nth access from now faults; 0: none. */
void arm_fault(unsigned int nth);
bool armed(void);
void disarm(void);

/* The pages whose bits the log has to have by what was written since begin(). */
void expect_log(const struct vhmq_ring *ring, u8 *expected);

/* ------------------------------------------------------------------------
 * Model
 */

bool in_arena(const void *addr, size_t size);
const struct vhmq_region *model_find(const struct vhmq_mem *mem, u64 addr);
/* All of it? Return: 0, -EAGAIN, -EPERM or -EFAULT. */
int model_range(const struct vhmq_ring *ring, u64 addr, u64 len, u8 perm);
int model_read(const struct vhmq_ring *ring, u64 addr, void *to, size_t len);
/* @at as in ring->desc and so on. */
int model_read_ring(const struct vhmq_ring *ring, const void *at, void *to, size_t len);

struct model_chain {
	int ret;			/* 1, 0, -EAGAIN, -EIO, or -EINVAL for all others */
	unsigned int head, out, in;
	size_t out_len, in_len, cost;
	struct iovec iov[UIO_MAXIOV];
};

void model_pop(const struct vhmq_ring *ring, struct model_chain *chain);

__attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *format, ...);

#define must(condition) \
	do { if (!(condition)) wrong("line %d: %s", __LINE__, #condition); } while (0)

#endif /* FUZZ_WORLD_H */
