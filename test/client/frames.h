/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One frame at a time between a client and a tap, each checked.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "tap.h"
#include "vhost.h"

/* A client on a queue of a tap, and the other side of the tap. */
struct port {
	struct client *client;
	int tap, sock;
	uint8_t *buf;		/* 64 KiB, the upper half for what is received */
	uint32_t number;	/* of the next frame */
};

#define LEN	100		/* of a frame, unless something else is said */

void port_open(struct port *port, const char *name, unsigned int num, uint64_t features,
	       unsigned int tap_flags);
void port_close(struct port *port);

/* From the guest: add and kick; then wait for it and for its buffer. */
void port_send(struct port *port);
bool port_sent(struct port *port, int ms);
/* To the guest: its buffer and the frame; then wait for it. */
bool port_receive(struct port *port, int ms);
/* Both ways, or the program ends. */
void port_check(struct port *port, const char *when);

#endif /* FRAMES_H */
