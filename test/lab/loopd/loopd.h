/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loopd plays the virtio network device of test/kmod and hands its rings to
 * /dev/vhost-net, as a virtual machine manager does.
 *
 *	main.c		options, events of the device, start and end
 *	memory.c	the kernel's memory: what vhost and the control queue see
 *	features.c	which features the device has
 *	control.c	the control queue
 *	backend.c	vhost and tap: what runs, and on which queues
 *
 * Two threads. The first answers the driver: events and the control queue. The
 * driver often holds RTNL while it waits for that, so this thread does nothing that
 * takes RTNL. What does (tun's queues and offloads, and a vhost that looks a backend up)
 * is done by the second, which makes what runs agree with what is wanted.
 */
#ifndef LOOPD_H
#define LOOPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../kmod/vmq_loop_abi.h"

#define MAX_PAIRS	512
#define BIT64(n)	(1ULL << (n))

/**
 * struct options - the command line
 * @tap: name of the tap
 * @netns: path of the network namespace that the tap is in, or NULL
 * @pairs: queue pairs of the device
 * @ring: entries of a ring
 * @limit_ms: how long the driver waits for an answer
 * @features_off: features that the device does not have
 * @mtu: of the device, 0 for none
 * @mac: of the device
 * @vhost: path of the vhost device
 * @state: file that tells the device's name
 * @foreground: do not detach
 */
struct options {
	const char *tap;
	const char *netns;
	unsigned int pairs;
	unsigned int ring;
	unsigned int limit_ms;
	uint64_t features_off[2];
	unsigned int mtu;
	uint8_t mac[6];
	const char *vhost;
	const char *state;
	bool foreground;
};

extern struct options opt;
extern int loop_fd;		/* /dev/vmq_loop */

void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void write_state(void);
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* memory.c */
struct vhost_memory;
void memory_map(void);
void *memory_at(uint64_t addr, uint64_t len);
struct vhost_memory *memory_table(void);

/* features.c */
bool feature_parse(const char *list, uint64_t mask[2]);
void feature_offer(uint64_t vhost, unsigned int tun, uint64_t out[2]);
uint64_t feature_for_vhost(uint64_t accepted, uint64_t vhost);
unsigned int feature_header_len(uint64_t accepted);
unsigned int feature_tun_offloads(uint64_t guest);

/* control.c */
void control_start(unsigned int index, uint64_t features);
void control_stop(void);
void control_serve(void);
void config_init(struct vloop_create *create);

/* backend.c */
void backend_open(void);
void backend_connect(void);
uint64_t backend_vhost_features(void);
unsigned int backend_tun_features(void);
void backend_start(uint64_t features);
void backend_stop(void);
void backend_set_pairs(unsigned int pairs);
void backend_set_offloads(uint64_t offloads);
int backend_queue_reset(unsigned int index);
void backend_queue_enable(unsigned int index);
unsigned int backend_running(void);
void backend_close(void);

#endif /* LOOPD_H */
