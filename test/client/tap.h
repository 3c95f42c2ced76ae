/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tap devices, and raw packets on them.
 */
#ifndef TAP_CLIENT_H
#define TAP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A new network namespace for the program, so that nothing else sends or
 * receives on its devices.
 */
void enter_netns(void);

#define TAP_MULTI	1	/* several queues */
#define TAP_NAPI	2
/* A queue of @name, made when it is not there; up, without addresses. */
int tap_open(const char *name, unsigned int hlen, unsigned int flags);
void tap_limit(int tap, int sndbuf);
int tap_attach(int tap, bool attach);	/* TUNSETQUEUE */
void link_up(const char *name);
int link_set_txqueuelen(const char *name, int len);
int run_command(const char *command);

/* A raw packet socket on the device: what it sends, the tap's queues receive. */
int packet_socket(const char *name);
/* One that receives nothing. */
int sending_socket(const char *name);
/* Sends and receives whole frames of a type of our own. */
#define FRAME_TYPE	0x88b5
size_t make_frame(uint8_t *frame, size_t len, uint32_t number);
uint32_t frame_number(const uint8_t *frame);
bool send_frame(int fd, size_t len, uint32_t number);
/* The number of the next frame that came from the guest; -1 after @ms. */
long receive_frame(int fd, int ms, size_t *len);

#endif /* TAP_CLIENT_H */
