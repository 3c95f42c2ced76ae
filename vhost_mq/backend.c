// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backends: queues of tun and tap devices (tap, macvtap, ipvtap), and raw packet
 * sockets.
 */
#include <linux/file.h>
#include <linux/if_tap.h>
#include <linux/net.h>
#include <linux/seq_file.h>

#include "vhost_mq.h"

/*
 * tun does not export the way from a file to its device, but it tells the name
 * in the file's fdinfo: "iff:\t<name>\n", the name empty while the queue is
 * detached. Takes RTNL.
 */
static void ask_tun(struct file *file, char *name)
{
	char text[128];
	struct seq_file seq = { .buf = text, .size = sizeof(text) - 1 };
	const char *line;
	unsigned int len;

	if (!file->f_op->show_fdinfo)
		return;
	file->f_op->show_fdinfo(&seq, file);
	text[min(seq.count, seq.size)] = '\0';

	line = strstr(text, "iff:\t");
	if (!line)
		return;
	line += strlen("iff:\t");
	len = strcspn(line, "\n");
	if (len < IFNAMSIZ)
		memcpy(name, line, len);
}

static void ask_tap(struct socket *sock, struct vhmq_netdev_id *id)
{
	struct tap_queue *queue = container_of(sock, struct tap_queue, sock);
	struct tap_dev *tap;

	rcu_read_lock();
	tap = rcu_dereference(queue->tap);
	if (tap) {
		id->net = dev_net(tap->dev);
		strscpy(id->name, tap->dev->name, sizeof(id->name));
	}
	rcu_read_unlock();
}

/* Return: a raw packet socket, with a reference to its file, or NULL. */
static struct socket *get_raw(int fd)
{
	int ret;
	struct socket *sock = sockfd_lookup(fd, &ret);

	if (!sock)
		return NULL;
	if (sock->sk->sk_type == SOCK_RAW && sock->sk->sk_family == AF_PACKET)
		return sock;
	sockfd_put(sock);
	return NULL;
}

/* Return: the socket of a tun or tap file, with a reference to the file, or NULL. */
static struct socket *get_tap(int fd, struct ptr_ring **rx_ring, struct vhmq_netdev_id *id)
{
	struct file *file = fget(fd);
	struct socket *sock;

	if (!file)
		return NULL;

	sock = tun_get_socket(file);
	if (!IS_ERR(sock)) {
		*rx_ring = tun_get_tx_ring(file);
		id->net = sock_net(sock->sk);
		ask_tun(file, id->name);
	} else {
		sock = tap_get_socket(file);
		if (IS_ERR(sock)) {
			fput(file);
			return NULL;
		}
		*rx_ring = tap_get_ptr_ring(file);
		ask_tap(sock, id);
	}
	if (IS_ERR(*rx_ring))
		*rx_ring = NULL;
	return sock;
}

/**
 * vhmq_backend_get() - the socket behind a file descriptor
 * @fd: of a tun or tap queue, or a raw packet socket
 * @rx_ring: set to the ring of a tun or tap queue, else NULL
 * @id: set to the net device, with an empty name when there is none or it
 *	does not tell
 *
 * Return: a socket with a reference to its file, or ERR_PTR(-ENOTSOCK).
 * Context: ioctl, without a lock: takes RTNL.
 */
struct socket *vhmq_backend_get(int fd, struct ptr_ring **rx_ring,
				struct vhmq_netdev_id *id)
{
	struct socket *sock;

	*rx_ring = NULL;
	memset(id, 0, sizeof(*id));
	sock = get_raw(fd);
	if (!sock)
		sock = get_tap(fd, rx_ring, id);
	return sock ?: ERR_PTR(-ENOTSOCK);
}

/**
 * vhmq_backend_put() - drop the reference that vhmq_backend_get() took
 * @sock: socket, or NULL
 */
void vhmq_backend_put(struct socket *sock)
{
	if (sock)
		sockfd_put(sock);
}
