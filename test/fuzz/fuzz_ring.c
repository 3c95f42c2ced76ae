// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device, its guest and its owner, all of whom do what the input says. The guest writes
 * anything to memory that it shares with the device, also while the device reads it; the
 * owner sets rings, tables and translations as the ioctls allow. What must hold:
 *
 * - nothing is touched that the owner has not set for it (world.c);
 * - while nothing changes under the device, it finds what the model finds (model.c);
 * - what is popped lies in regions that allow it, and its lengths are the sum of its parts;
 * - a refusal stops the ring, with one reason; a ring that has stopped is not touched;
 * - what was popped is returned once, in its place, and nothing beside it is written;
 * - each page that is written is in the dirty log, and no other;
 * - a message to the device IOTLB does what it says or nothing, and a miss is told once.
 */
#include "actors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input_set(data, size);
	open_device();
	while (!input_ends()) {
		u8 what = u8_in();
		struct vhmq_queue *queue = &dev.queues[what >> 7];

		switch (what >> 5 & 3) {
		case 0:
			owner_does(queue, what);
			break;
		case 1:
			guest_does(queue, what);
			break;
		default:
			device_does(queue, what);
			break;
		}
	}
	close_device();
	return 0;
}
