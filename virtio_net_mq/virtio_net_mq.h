/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * virtio_net_mq - driver for the virtio network device with many queues
 *
 * This header is the map of the module.
 *
 * Objects
 *
 *	struct vnmq_priv	one device, the private part of its net_device
 *	struct vnmq_rq		a receive queue: virtqueue, NAPI, where its buffers come from
 *	struct vnmq_sq		a transmit queue: virtqueue, NAPI for completions
 *	struct vnmq_ctrl	the control queue
 *	struct vnmq_cmd		one command on it, owned by the device until answered
 *
 * A pair is rq[i] and sq[i]. The device has max_pairs of them, the network stack
 * and the device use the first curr_pairs.
 *
 * Who calls whom
 *
 *	main.c		probe, remove, power		> everything below
 *	features.c	what is negotiated, offload switches > ctrl
 *	netdev.c	open, stop, the ndo table	> queues, tx, xdp, stats, filter, link
 *	queues.c	queues from nothing to traffic and back > rx, tx, affinity, rss, ctrl
 *	affinity.c	which CPUs a pair belongs to, CPU hotplug
 *	filter.c	MAC address, receive filter, VLANs > ctrl
 *	link.c		link state, speed, announcement	> ctrl
 *	rss.c		which queue a frame comes on, its hash > ctrl
 *	coal.c		interrupt coalescing, by the user or by DIM > ctrl
 *	ethtool.c stats.c sysfs.c			> queues, features, link, rss, coal
 *	ctrl.c		commands and their answers
 *	rx.c		poll, refill, hand to the stack	> rx_*, xdp, header
 *	xdp.c		XDP: attach, run the program	> rx_*, tx, queues, features
 *	tx.c		transmit, completions		> header
 *	rx_*.c		one way to lay out receive buffers each
 *	frag.c		pieces of pages for receive buffers
 *	header.c	struct virtio_net_hdr to and from an skb
 *
 * Verbs
 *
 *	alloc/free	memory of the driver
 *	create/destroy	the virtqueues exist in the device
 *	start/stop	traffic: NAPI on, buffers posted
 *	init/exit	the module, or a part of a structure embedded in another
 *	fill/receive	give the device receive buffers, take a frame out of one
 *
 * Contexts and locks
 *
 *	RTNL		open and stop, curr_pairs, rq.started, features, ring sizes. A control
 *			command may be sent under it: the wait is bounded and sleeps.
 *	NAPI of rq	everything of an rq behind `napi`, and the virtqueue's get and add. While
 *			the NAPI is off (see rq.started), whoever holds RTNL.
 *	tx queue lock	everything of an sq and its virtqueue: transmit, NAPI of sq, and NAPI of rq
 *			which cleans up for its pair's sq with a trylock.
 *	coal.lock	what the device was told of coalescing; inside RTNL, around ctrl.mutex
 *	ctrl.mutex	one command at a time, from its first descriptor to the end of the wait
 *	ctrl.lock	the control virtqueue and vnmq_cmd.state; taken in the interrupt
 *	cpus_read_lock	affinity masks against CPU hotplug; inside RTNL
 *
 * The device is not trusted: what it writes (length, header, configuration) is read once, checked,
 * and then used. A frame that fails a check is dropped and counted under a name.
 */
#ifndef VIRTIO_NET_MQ_H
#define VIRTIO_NET_MQ_H

#include <linux/average.h>
#include <linux/bpf.h>
#include <linux/completion.h>
#include <linux/dim.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/ipv6.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/scatterlist.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/u64_stats_sync.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <linux/workqueue.h>
#include <net/xdp.h>

#include "frag.h"

#define VNMQ_NAME		"virtio_net"	/* driver name that tools look for */

/* Frame without offloads that a buffer must hold: MTU 1500 and a VLAN tag. */
#define VNMQ_GOOD_FRAME		(ETH_HLEN + VLAN_HLEN + ETH_DATA_LEN)
/* Longest frame a device may deliver: the largest IPv6 packet and two VLAN tags. */
#define VNMQ_MAX_FRAME		(ETH_HLEN + 2 * VLAN_HLEN + sizeof(struct ipv6hdr) + 65535)
/* Room in an skb's head for a frame that is copied; longer ones stay in their buffer. */
#define VNMQ_COPY_LEN		128
/* Where a frame begins in its first page, the longest header before it: big layout. */
#define VNMQ_BIG_DATA		32U
/* Aligned size of what build_skb() needs behind the data. */
#define VNMQ_SHINFO_LEN		SKB_DATA_ALIGN(sizeof(struct skb_shared_info))
/* Descriptors the longest skb takes: header, linear part, each fragment. */
#define VNMQ_TX_SG		(MAX_SKB_FRAGS + 2)
/*
 * Longest piece of a frame in a buffer for an XDP program, which has its headroom in front and
 * skb_shared_info behind, in a page.
 */
#define VNMQ_XDP_ROOM		((unsigned int)(PAGE_SIZE - XDP_PACKET_HEADROOM - \
						ALIGN(VNMQ_SHINFO_LEN, SMP_CACHE_BYTES)))
/* Frames that XDP sends at once. */
#define VNMQ_XDP_BULK		16

struct vnmq_priv;

enum vnmq_rx_mode {
	VNMQ_RX_SMALL,		/* a buffer holds one frame of the MTU */
	VNMQ_RX_MERGEABLE,	/* a frame takes as many buffers as it needs */
	VNMQ_RX_BIG,		/* every buffer holds 64 KiB, in pages */
};

/*
 * Counters of a receive queue; names in stats.c. Those from LENGTH_ERRORS to XDP_DROPS add up
 * to DROPS.
 */
enum vnmq_rx_counter {
	VNMQ_RX_PACKETS,
	VNMQ_RX_BYTES,
	VNMQ_RX_DROPS,
	VNMQ_RX_KICKS,
	VNMQ_RX_LENGTH_ERRORS,	/* used length beyond the buffer, or too short for a frame */
	VNMQ_RX_HEADER_ERRORS,	/* virtio_net_hdr asks for something impossible */
	VNMQ_RX_BUFFER_ERRORS,	/* num_buffers is 0, absurd, or buffers are missing */
	VNMQ_RX_SKB_ERRORS,	/* no memory for the skb */
	VNMQ_RX_XDP_DROPS,	/* by an XDP program, or no frame for one */
	VNMQ_RX_XDP_PACKETS,	/* an XDP program saw them */
	VNMQ_RX_XDP_TX,		/* it sent them back */
	VNMQ_RX_XDP_REDIRECTS,	/* it sent them elsewhere */
	VNMQ_RX_REFILL_ERRORS,	/* no memory for a buffer; tried again later */
	VNMQ_RX_COUNTERS
};

/* Counters of a transmit queue. HEADER_ERRORS to RESET_DROPS add up to DROPS. */
enum vnmq_tx_counter {
	VNMQ_TX_PACKETS,
	VNMQ_TX_BYTES,
	VNMQ_TX_DROPS,
	VNMQ_TX_KICKS,
	VNMQ_TX_STOP,		/* queue stopped because the ring was full */
	VNMQ_TX_WAKE,
	VNMQ_TX_BUSY,		/* skb given back to the stack: not enough descriptors */
	VNMQ_TX_HEADER_ERRORS,	/* an offload that the header cannot express */
	VNMQ_TX_MEMORY_ERRORS,	/* no memory to make the skb fit the ring */
	VNMQ_TX_RING_ERRORS,	/* the ring refused (broken device) */
	VNMQ_TX_RESET_DROPS,	/* in a ring that was reset */
	VNMQ_TX_XDP_TX,		/* XDP frames to be sent */
	VNMQ_TX_XDP_TX_DROPS,	/* those of them that the ring did not take */
	VNMQ_TX_COUNTERS
};

enum vnmq_ctrl_counter {
	VNMQ_CTRL_COMMANDS,
	VNMQ_CTRL_REFUSED,	/* the device answered with an error */
	VNMQ_CTRL_TIMEOUTS,
	VNMQ_CTRL_LATE,		/* answers to commands that had been given up */
	VNMQ_CTRL_COUNTERS
};

DECLARE_EWMA(vnmq_len, 0, 64)

/* A mergeable buffer whose frame was copied out: posted again before a new one is made. */
struct vnmq_spare {
	void *buf;
	void *ctx;
};

#define VNMQ_SPARES	32

/*
 * A buffer of the big layout: pages that are there from one use to the next unless an skb took
 * them.
 */
struct vnmq_big_buf {
	struct vnmq_big_buf *next;	/* in rq->big_free */
	unsigned int count;
	struct page *pages[];
};

/* The header with VIRTIO_NET_F_HASH_REPORT (virtio 1.2, 5.1.6.1). */
struct vnmq_hdr_hash {
	struct virtio_net_hdr_mrg_rxbuf mrg;
	__le16 hash_low;
	__le16 hash_high;
	__le16 report;
	__le16 padding;
};

/* The header as the device wrote it, copied once. A frame and its header are at least as long. */
union vnmq_hdr {
	struct virtio_net_hdr hdr;
	struct virtio_net_hdr_mrg_rxbuf mrg;
	struct vnmq_hdr_hash hash;
};

static_assert(sizeof(union vnmq_hdr) <= sizeof(struct virtio_net_hdr) + ETH_HLEN);

/* How much the device may gather before it interrupts. */
struct vnmq_coal {
	u32 frames;
	u32 usecs;
};

/* XDP on a receive queue: what the poll that runs has counted, and the frames that it sends. */
struct vnmq_xdp_rq {
	struct xdp_rxq_info rxq;
	unsigned int packets;
	unsigned int drops;
	unsigned int sent;
	unsigned int redirects;
	unsigned int gone_bytes;	/* of those that did not become an skb */
	unsigned int nr_tx;		/* of tx */
	struct xdp_frame *tx[VNMQ_XDP_BULK];
};

struct vnmq_rq {
	/* read-mostly */
	struct virtqueue *vq;
	struct vnmq_priv *priv;
	unsigned int index;
	unsigned int refill_at;		/* fill the ring when more descriptors are free */
	unsigned int min_len;		/* mergeable: so that what is posted always holds a frame */
	bool adaptive;			/* coal.lock; NAPI: DIM chooses coal */
	struct bpf_prog __rcu *xdp_prog; /* RTNL; the reference is that of priv->xdp_prog */

	/* NAPI context */
	struct napi_struct napi ____cacheline_aligned_in_smp;
	struct vnmq_frag_pool frag;
	struct ewma_vnmq_len avg_len;	/* mergeable: frame length; sysfs reads it without a lock */
	unsigned int nr_spare;
	struct vnmq_spare spare[VNMQ_SPARES];
	struct vnmq_big_buf *big_free;
	struct vnmq_xdp_rq xdp;
	struct scatterlist sg[MAX_SKB_FRAGS + 1];
	u16 events;			/* polls that ended, for DIM */
	struct dim dim;

	/* written once a poll */
	struct u64_stats_sync syncp ____cacheline_aligned_in_smp;
	u64_stats_t count[VNMQ_RX_COUNTERS];

	/* slow path */
	struct vnmq_coal coal;		/* coal.lock */
	struct timer_list refill_timer;	/* armed by the poll when there was no memory for buffers */
	bool started;			/* RTNL: NAPI of this pair is on, its rings are served */
	char name[20];
};

struct vnmq_sq {
	/* read-mostly */
	struct virtqueue *vq;
	struct vnmq_priv *priv;
	struct netdev_queue *txq;
	unsigned int index;
	unsigned int need_free;		/* stop the queue below so many free descriptors */
	unsigned int max_descs;		/* more do not fit, however empty the ring is */
	bool use_napi;			/* completions by NAPI, else skbs are orphaned when sent */
	bool off;			/* RTNL, interrupt: stays stopped, XDP sends nothing */

	/* transmit, tx queue lock */
	struct scatterlist sg[VNMQ_TX_SG] ____cacheline_aligned_in_smp;

	/* completion, tx queue lock */
	struct napi_struct napi ____cacheline_aligned_in_smp;

	/* tx queue lock */
	struct u64_stats_sync syncp ____cacheline_aligned_in_smp;
	u64_stats_t count[VNMQ_TX_COUNTERS];

	/* slow path */
	struct vnmq_coal coal;		/* coal.lock */
	atomic_long_t timeouts;		/* watchdog, which does not hold the queue's lock */
	char name[20];
};

/* Who has a command: the sender until it is sent, then the device until it is answered. */
enum vnmq_cmd_state {
	VNMQ_CMD_SENT,		/* the device has it, the sender waits */
	VNMQ_CMD_ANSWERED,	/* the sender has it again */
	VNMQ_CMD_GIVEN_UP,	/* the device has it and nobody waits: free it when it comes back */
};

struct vnmq_cmd {
	struct completion done;
	enum vnmq_cmd_state state;	/* ctrl.lock */
	unsigned int len;		/* of data */
	unsigned int split;		/* data from here on are a part of their own; 0: one part */
	struct virtio_net_ctrl_hdr hdr ____cacheline_aligned;	/* for the device to read */
	u8 status ____cacheline_aligned;			/* for the device to write */
	u8 data[] ____cacheline_aligned;			/* for the device to read */
};

struct vnmq_ctrl {
	struct virtqueue *vq;
	struct mutex mutex;		/* one command at a time */
	spinlock_t lock;		/* vq and the state of commands, against the interrupt */
	bool irq;			/* the queue has a callback; without, the sender polls */
	unsigned int late;		/* lock: commands given up since the last answer */
	atomic_long_t count[VNMQ_CTRL_COUNTERS];
};

/* What the device is told of the hash of received frames. */
struct vnmq_rss {
	bool steer;		/* VIRTIO_NET_F_RSS: it delivers by the table */
	bool report;		/* VIRTIO_NET_F_HASH_REPORT: the header has the hash */
	u8 key_len;		/* bytes */
	u16 entries;		/* of the table, a power of two */
	u32 types_all;		/* VIRTIO_NET_RSS_HASH_TYPE_* that it knows */
	u32 types;		/* those in use */
	u16 *table;		/* the user's, while ethtool says that there is one */
	u8 key[NETDEV_RSS_KEY_LEN];
};

/* What all queues of a direction were told; each has its own numbers besides. */
struct vnmq_coal_all {
	struct mutex lock;	/* this, and coal and adaptive of the queues */
	struct vnmq_coal rx;
	struct vnmq_coal tx;
	bool adaptive;
};

struct vnmq_priv {
	/* read-mostly, packet path */
	struct net_device *dev;
	struct virtio_device *vdev;
	struct vnmq_rq *rq;
	struct vnmq_sq *sq;
	enum vnmq_rx_mode rx_mode;
	unsigned int hdr_len;
	unsigned int big_pages;		/* big: pages in a buffer */
	bool le;			/* header fields are little-endian */
	bool any_layout;		/* header and data may share a descriptor */

	/* queues; written under RTNL, curr_pairs also under cpus_read_lock */
	unsigned int curr_pairs ____cacheline_aligned_in_smp;
	unsigned int xdp_first;		/* first of xdp_pairs, one for each CPU; 0: none */
	unsigned int xdp_pairs;		/* in use besides, for XDP to send on */
	unsigned int max_pairs;
	struct bpf_prog *xdp_prog;	/* RTNL */
	bool running;			/* RTNL: open, and not detached for suspend */
	bool created;			/* probe, remove, power: the virtqueues exist */

	struct vnmq_ctrl ctrl;

	/* features.c, RTNL */
	u64 guest_offloads;		/* receive offloads the device may use now */
	u64 guest_offloads_all;

	struct vnmq_rss rss;		/* RTNL */
	struct failover *failover;	/* VIRTIO_NET_F_STANDBY: the device is one of a pair */
	struct vnmq_coal_all coal;

	/* filter.c */
	struct delayed_work rx_mode_work;
	bool rx_mode_on;		/* netif_addr_lock: the work may be scheduled */
	bool sent_valid;		/* work only: sent_* say what the device has */
	bool sent_promisc;
	bool sent_allmulti;
	bool filter_again;		/* work only: it is a retry */
	unsigned long *vlans;		/* RTNL: filters in the device, one bit an id */

	/* link.c */
	struct work_struct link_work;
	struct work_struct announce_work;
	spinlock_t config_lock;		/* config_on, against the config interrupt */
	bool config_on;			/* the device is open: configuration changes matter */
	u32 speed;
	u8 duplex;

	/* affinity.c */
	struct hlist_node node_online;
	struct hlist_node node_dead;
	bool affinity_on;		/* probe, remove, power: CPU hotplug is followed */
	bool affinity_set;		/* cpus_read_lock */
};

/* module parameters, main.c */
extern int vnmq_napi_weight;
extern bool vnmq_csum;
extern bool vnmq_gso;
extern bool vnmq_napi_tx;
extern int vnmq_queue_pairs;

static inline unsigned int vnmq_rxq_to_vq(unsigned int index)
{
	return 2 * index;
}

static inline unsigned int vnmq_txq_to_vq(unsigned int index)
{
	return 2 * index + 1;
}

static inline unsigned int vnmq_vq_to_pair(const struct virtqueue *vq)
{
	return vq->index / 2;
}

/* Pairs that the device uses. Context: RTNL. */
static inline unsigned int vnmq_pairs_used(const struct vnmq_priv *priv)
{
	return priv->curr_pairs + priv->xdp_pairs;
}

/* Does an XDP program want its headroom in buffers posted from now on? Context: NAPI or RTNL. */
static inline bool vnmq_rx_has_xdp(const struct vnmq_rq *rq)
{
	return rcu_access_pointer(rq->xdp_prog);
}

static inline bool vnmq_has_ctrl(const struct vnmq_priv *priv)
{
	return virtio_has_feature(priv->vdev, VIRTIO_NET_F_CTRL_VQ);
}

/*
 * A command with this result may still be carried out, before any that is sent after it: what
 * stays in use has to be sent again.
 */
static inline bool vnmq_ctrl_in_doubt(int ret)
{
	return ret == -ETIMEDOUT || ret == -EINTR;
}

/* Context: NAPI of @rq, or its NAPI is off: process, then, which may be preempted. */
static inline void vnmq_rx_count(struct vnmq_rq *rq, enum vnmq_rx_counter id, u64 n)
{
	unsigned long flags = u64_stats_update_begin_irqsave(&rq->syncp);

	u64_stats_add(&rq->count[id], n);
	u64_stats_update_end_irqrestore(&rq->syncp, flags);
}

/* A dropped frame and the reason. Context: as vnmq_rx_count(). */
static inline void vnmq_rx_count_drop(struct vnmq_rq *rq, enum vnmq_rx_counter reason)
{
	u64_stats_update_begin(&rq->syncp);
	u64_stats_inc(&rq->count[VNMQ_RX_DROPS]);
	u64_stats_inc(&rq->count[reason]);
	u64_stats_update_end(&rq->syncp);
}

/* Context: tx queue lock, or process while nobody uses the queue. */
static inline void vnmq_tx_count(struct vnmq_sq *sq, enum vnmq_tx_counter id, u64 n)
{
	unsigned long flags = u64_stats_update_begin_irqsave(&sq->syncp);

	u64_stats_add(&sq->count[id], n);
	u64_stats_update_end_irqrestore(&sq->syncp, flags);
}

/* Schedule @napi and keep its queue quiet meanwhile. Context: any with bottom halves off. */
static inline void vnmq_napi_schedule(struct napi_struct *napi, struct virtqueue *vq)
{
	if (napi_schedule_prep(napi)) {
		virtqueue_disable_cb(vq);
		__napi_schedule(napi);
	}
}

/* features.c */
extern const unsigned int vnmq_features[];
extern const unsigned int vnmq_features_legacy[];
extern const unsigned int vnmq_features_count;
extern const unsigned int vnmq_features_legacy_count;
int vnmq_validate(struct virtio_device *vdev);
void vnmq_features_init(struct vnmq_priv *priv);
bool vnmq_guest_gso(const struct virtio_device *vdev);
int vnmq_set_features(struct net_device *dev, netdev_features_t features);
int vnmq_features_resync(struct vnmq_priv *priv);
int vnmq_features_set_xdp(struct vnmq_priv *priv, bool on);

/* netdev.c */
extern const struct net_device_ops vnmq_netdev_ops;

/* queues.c */
int vnmq_queues_alloc(struct vnmq_priv *priv);
void vnmq_queues_free(struct vnmq_priv *priv);
int vnmq_queues_create(struct vnmq_priv *priv);
void vnmq_queues_destroy(struct vnmq_priv *priv);
void vnmq_queues_start(struct vnmq_priv *priv);
void vnmq_queues_stop(struct vnmq_priv *priv);
void vnmq_queues_tell_count(struct vnmq_priv *priv);
int vnmq_queues_set_count(struct vnmq_priv *priv, unsigned int pairs, bool xdp);
int vnmq_queues_resize(struct vnmq_priv *priv, u32 rx, u32 tx);

/* affinity.c */
int vnmq_affinity_init(void);
void vnmq_affinity_exit(void);
int vnmq_affinity_add(struct vnmq_priv *priv);
void vnmq_affinity_remove(struct vnmq_priv *priv);
void vnmq_affinity_set(struct vnmq_priv *priv);
void vnmq_affinity_clear(struct vnmq_priv *priv);

/* ctrl.c */
void vnmq_ctrl_init(struct vnmq_ctrl *ctrl);
bool vnmq_ctrl_use_irq(struct vnmq_priv *priv);
void vnmq_ctrl_done(struct virtqueue *vq);
void vnmq_ctrl_reap(struct vnmq_ctrl *ctrl);
struct vnmq_cmd *vnmq_cmd_alloc(u8 class, u8 command, size_t len);
int vnmq_ctrl_exec(struct vnmq_priv *priv, struct vnmq_cmd *cmd);
int vnmq_ctrl_send(struct vnmq_priv *priv, u8 class, u8 command, const void *data, size_t len);

/* filter.c */
void vnmq_filter_init(struct vnmq_priv *priv);
void vnmq_filter_start(struct vnmq_priv *priv);
void vnmq_filter_stop(struct vnmq_priv *priv);
void vnmq_filter_resync(struct vnmq_priv *priv);
int vnmq_mac_send(struct vnmq_priv *priv, const u8 *addr);
int vnmq_set_mac_address(struct net_device *dev, void *addr);
void vnmq_set_rx_mode(struct net_device *dev);
int vnmq_vlan_add(struct net_device *dev, __be16 proto, u16 vid);
int vnmq_vlan_kill(struct net_device *dev, __be16 proto, u16 vid);

/* link.c */
void vnmq_link_init(struct vnmq_priv *priv);
void vnmq_link_start(struct vnmq_priv *priv);
void vnmq_link_stop(struct vnmq_priv *priv);
void vnmq_link_exit(struct vnmq_priv *priv);
void vnmq_link_update_speed(struct vnmq_priv *priv);
void vnmq_config_changed(struct virtio_device *vdev);

/* rx.c */
void vnmq_rx_done(struct virtqueue *vq);
int vnmq_rx_poll(struct napi_struct *napi, int budget);
bool vnmq_rx_fill(struct vnmq_rq *rq, gfp_t gfp);
void vnmq_rx_refill_timer(struct timer_list *timer);
void vnmq_rx_ring_changed(struct vnmq_rq *rq);
unsigned int vnmq_rx_ring_min(const struct vnmq_priv *priv);
bool vnmq_rx_ring_holds(const struct vnmq_priv *priv, unsigned int size, bool xdp);
void vnmq_rx_recycle(struct virtqueue *vq, void *buf);
void vnmq_rx_free_memory(struct vnmq_rq *rq);

/* rx_small.c, rx_mergeable.c, rx_big.c */
int vnmq_small_fill_one(struct vnmq_rq *rq, gfp_t gfp);
struct sk_buff *vnmq_small_receive(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				   union vnmq_hdr *hdr);
bool vnmq_small_to_xdp(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
		       struct xdp_buff *xdp);
int vnmq_mergeable_fill_one(struct vnmq_rq *rq, gfp_t gfp);
struct sk_buff *vnmq_mergeable_receive(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
				       union vnmq_hdr *hdr);
bool vnmq_mergeable_to_xdp(struct vnmq_rq *rq, void *buf, void *ctx, unsigned int len,
			   struct xdp_buff *xdp, bool frags);
unsigned int vnmq_mergeable_min_len(const struct vnmq_priv *priv, unsigned int posted);
unsigned int vnmq_mergeable_len(struct vnmq_rq *rq);
void vnmq_mergeable_free_spares(struct vnmq_rq *rq);
int vnmq_big_fill_one(struct vnmq_rq *rq, gfp_t gfp);
struct sk_buff *vnmq_big_receive(struct vnmq_rq *rq, struct vnmq_big_buf *buf, unsigned int len,
				 union vnmq_hdr *hdr);
void vnmq_big_free(struct vnmq_big_buf *buf);

/* xdp.c */
void vnmq_xdp_init(struct vnmq_priv *priv);
int vnmq_xdp_init_rq(struct vnmq_rq *rq);
void vnmq_xdp_exit_rq(struct vnmq_rq *rq);
bool vnmq_xdp_takes(const struct virtio_net_hdr *hdr);
struct sk_buff *vnmq_xdp_receive(struct vnmq_rq *rq, struct bpf_prog *prog, void *buf, void *ctx,
				 unsigned int len, union vnmq_hdr *hdr);
void vnmq_xdp_poll_end(struct vnmq_rq *rq);
int vnmq_xdp_xmit(struct net_device *dev, int n, struct xdp_frame **frames, u32 flags);
int vnmq_change_mtu(struct net_device *dev, int mtu);
int vnmq_bpf(struct net_device *dev, struct netdev_bpf *bpf);

/* tx.c */
netdev_tx_t vnmq_xmit(struct sk_buff *skb, struct net_device *dev);
void vnmq_tx_done(struct virtqueue *vq);
int vnmq_tx_poll(struct napi_struct *napi, int budget);
void vnmq_tx_clean_from_rx(struct vnmq_sq *sq, int budget);
void vnmq_tx_restart(struct vnmq_sq *sq);
void vnmq_tx_ring_changed(struct vnmq_sq *sq);
unsigned int vnmq_tx_ring_min(const struct vnmq_priv *priv);
void vnmq_tx_recycle(struct virtqueue *vq, void *buf);
int vnmq_tx_xdp(struct vnmq_sq *sq, struct xdp_frame **frames, int n);
void vnmq_tx_timeout(struct net_device *dev, unsigned int index);

/* header.c */
int vnmq_hdr_to_skb(const struct vnmq_priv *priv, const struct virtio_net_hdr *hdr,
		    struct sk_buff *skb);
int vnmq_hdr_from_skb(const struct vnmq_priv *priv, const struct sk_buff *skb,
		      struct virtio_net_hdr *hdr);
unsigned int vnmq_hdr_pull_len(const struct vnmq_priv *priv, const struct virtio_net_hdr *hdr);

/* rss.c */
void vnmq_rss_validate(struct virtio_device *vdev);
void vnmq_rss_init(struct vnmq_priv *priv);
int vnmq_rss_send_count(struct vnmq_priv *priv, unsigned int pairs);
void vnmq_rss_give_up(struct vnmq_priv *priv);
u32 vnmq_rss_key_size(struct net_device *dev);
u32 vnmq_rss_indir_size(struct net_device *dev);
void vnmq_rss_get(struct net_device *dev, u32 *indir, u8 *key);
int vnmq_rss_set(struct net_device *dev, const u32 *indir, const u8 *key);
u32 vnmq_rss_get_fields(struct net_device *dev, u32 type);
int vnmq_rss_set_fields(struct net_device *dev, u32 type, u32 fields);
void vnmq_rss_hash_to_skb(const struct vnmq_hdr_hash *hdr, struct sk_buff *skb);

/* coal.c */
int vnmq_coal_init(struct vnmq_priv *priv);
void vnmq_coal_exit(struct vnmq_priv *priv);
void vnmq_coal_sample(struct vnmq_rq *rq);
void vnmq_coal_stop(struct vnmq_rq *rq);
void vnmq_coal_resync(struct vnmq_priv *priv);
void vnmq_coal_pair_reset(struct vnmq_priv *priv, unsigned int pair);
int vnmq_get_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
		      struct kernel_ethtool_coalesce *kernel_ec, struct netlink_ext_ack *extack);
int vnmq_set_coalesce(struct net_device *dev, struct ethtool_coalesce *ec,
		      struct kernel_ethtool_coalesce *kernel_ec, struct netlink_ext_ack *extack);
int vnmq_get_per_queue_coalesce(struct net_device *dev, u32 queue, struct ethtool_coalesce *ec);
int vnmq_set_per_queue_coalesce(struct net_device *dev, u32 queue, struct ethtool_coalesce *ec);

/* stats.c */
void vnmq_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *total);
void vnmq_get_strings(struct net_device *dev, u32 set, u8 *data);
int vnmq_get_sset_count(struct net_device *dev, int set);
void vnmq_stats_init(struct net_device *dev);
void vnmq_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data);

/* ethtool.c */
extern const struct ethtool_ops vnmq_ethtool_ops;

/* sysfs.c */
void vnmq_sysfs_init(struct vnmq_priv *priv);

#endif /* VIRTIO_NET_MQ_H */
