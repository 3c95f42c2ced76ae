# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the cases with somebody else's client of /dev/vhost-net: tests, and what a user
# sees of a client. VMQ_VHOST chooses the module: mq (ours), or stock to see what
# that one does. A case ends with finish.

# shellcheck source=test/lab/within.sh
. "${0%/*}/../lab/within.sh"

VHOST=${VMQ_VHOST:-mq}
case $VHOST in
mq) vhost=vhost_net_mq ;;
stock) vhost=vhost_net ;;
*)
	echo "VMQ_VHOST is mq or stock, not '$VHOST'"
	exit 1
	;;
esac

tests=0
failed=0

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# check NAME COMMAND...: one test, which holds when COMMAND succeeds.
check() {
	tests=$((tests + 1))
	name=$1
	shift
	if "$@"; then
		echo "ok $tests - $name"
	else
		echo "not ok $tests - $name"
		failed=$((failed + 1))
	fi
}

# same NAME VALUE EXPECTED
same() {
	check "$1" [ "$2" = "$3" ]
	[ "$2" = "$3" ] || diag "$1: got '$2', expected '$3'"
}

bail() {
	echo "Bail out! $*"
	exit 1
}

finish() {
	echo "1..$tests"
	[ $failed -eq 0 ] || exit 1
	exit 0
}

loaded() {
	[ -e "/sys/module/$1/initstate" ]
}

unused() {
	[ "$(cat "/sys/module/$1/refcnt")" = 0 ]
}

load() {
	[ "$vhost" = vhost_net ] && other=vhost_net_mq || other=vhost_net
	! loaded "$other" || modprobe -r "$other" || bail "$other is in use"
	modprobe tun || bail "no tun"
	modprobe "$vhost" || bail "cannot load $vhost"
	within 5 test -c /dev/vhost-net || bail "$vhost makes no /dev/vhost-net"
}

value_of() {
	read -r value <"$1" && echo "$value"
}

tap() {
	value_of "/sys/class/net/tap0/statistics/$1"
}

# Packets that the tap had from the client, and what it threw away of them.
tap_received() {
	echo $(($(tap rx_packets) + $(tap rx_dropped)))
}

tap_received_at_least() {
	[ "$(tap_received)" -ge "$1" ]
}

tap_received_is() {
	[ "$(tap_received)" = "$1" ]
}

no_tap() {
	[ ! -e "/sys/class/net/${1:-tap0}" ]
}

# Threads that work for process $1, whether ours or stock's.
threads_of() {
	grep -l -s -E "^vhost-$1(/[0-9]+)?\$" /proc/[0-9]*/task/*/comm | wc -l
}

no_threads() {
	[ "$(threads_of "$1")" = 0 ]
}

# How many of these there are; a pattern that matches nothing counts for none.
count() {
	if [ -e "$1" ]; then
		echo $#
	else
		echo 0
	fi
}

group_of() {
	echo "/sys/class/misc/vhost-net/mq/$1-tap0"
}

# The sum of a counter over the group's queues of a kind.
queues_sum() {
	sum=0
	for queue in "$1"/queue*; do
		[ "$(value_of "$queue/kind")" = "$2" ] || continue
		sum=$((sum + $(value_of "$queue/stats/$3")))
	done
	echo $sum
}

# nothing_left PID: as if that process had never been.
nothing_left() {
	check "no thread of it is left" within 10 no_threads "$1"
	check "its tap is gone" within 10 no_tap
	check "nothing uses $vhost" within 10 unused "$vhost"
	if [ "$VHOST" = mq ]; then
		check "its group is gone from sysfs" within 10 test ! -e "$(group_of "$1")"
	fi
	check "$vhost can be unloaded" modprobe -r "$vhost"
	check "/dev/vhost-net is gone with it" within 5 test ! -e /dev/vhost-net
}
