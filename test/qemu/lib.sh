# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the cases with QEMU as a client of /dev/vhost-net: boots a guest that runs
# test/qemu/inside, and watches from the host's side. VMQ_GUEST chooses the guest's driver:
# mq (ours), or stock.

# shellcheck source=test/lab/client.sh
. "${0%/*}/../lab/client.sh"

GUEST=${VMQ_GUEST:-mq}
pairs=4
work=$(mktemp -d)
guest_pid=
server_pid=

# shellcheck disable=SC2317 # called by a trap
cleanup() {
	for pid in "$guest_pid" "$server_pid" "$done_pid"; do
		[ -z "$pid" ] || kill "$pid"
	done 2>/dev/null
	wait
	if loaded "$vhost" && within 10 unused "$vhost"; then
		modprobe -r "$vhost"
	fi
	rm -rf "$work"
}
done_pid=
trap cleanup EXIT
trap 'exit 1' INT TERM

# boot_guest STEP...: a guest in the background that takes these steps of test/qemu/inside.
boot_guest() {
	"$LAB_BIN/talk" --serve 7001 &
	server_pid=$!
	test/lab/guest --pairs $pairs --cpus 2 --host "$VHOST" --guest "$GUEST" --timeout "${limit:-900}" \
		--pidfile "$work/pid" -- test/qemu/inside "$@" >"$work/out" 2>&1 &
	guest_pid=$!
}

guest_ended() {
	! kill -0 "$guest_pid" 2>/dev/null
}

said() {
	grep -q -x "$1" "$work/out"
}

said_or_ended() {
	said "$1" || guest_ended
}

# Wait until the guest says a line; its output is shown when it ends without.
wait_for() {
	if ! within "${limit:-900}" said_or_ended "$1" || ! said "$1"; then
		sed 's/^/# guest: /' "$work/out"
		bail "the guest did not come to '$1'"
	fi
	value_of "$work/pid" >/dev/null || bail "QEMU has left no process number"
	qemu_pid=$(value_of "$work/pid")
}

# Let the guest go on; it waits for somebody at port $1.
let_go() {
	"$LAB_BIN/talk" --serve "$1" &
	done_pid=$!
}

# The guest's own tests become ours.
guest_tests() {
	while read -r line; do
		case $line in
		"ok "* | "not ok "*)
			verdict=true
			[ "${line#not }" = "$line" ] || verdict=false
			check "guest: ${line#*- }" $verdict
			;;
		*) echo "# guest: $line" ;;
		esac
	done <"$work/out"
}

# Wait for the guest's end; its status is that of test/qemu/inside.
wait_guest() {
	wait "$guest_pid"
	# shellcheck disable=SC2034 # for the cases
	guest_status=$?
	guest_pid=
	kill "$server_pid" ${done_pid:+"$done_pid"}
	wait
	server_pid=''
	done_pid=''
}

enabled_queues() {
	enabled=0
	for queue in "$(group_of "$qemu_pid")"/queue*; do
		enabled=$((enabled + $(value_of "$queue/enabled")))
	done
	echo $enabled
}

enabled_queues_are() {
	[ "$(enabled_queues)" = "$1" ]
}

# What the queues sent is what the tap received. The other way round a frame may be missing for
# each time that a queue was switched off: the tap forgets what it holds for that one.
counters_agree() {
	group=$(group_of "$qemu_pid")
	lost=$(($(tap tx_packets) - $(queues_sum "$group" rx packets)))
	[ $lost -ge 0 ] && [ $lost -lt 100 ] &&
		[ "$(tap rx_packets)" = "$(queues_sum "$group" tx packets)" ]
}

no_ring_errors() {
	[ "$(queues_sum "$(group_of "$qemu_pid")" tx ring_errors)" = 0 ] &&
		[ "$(queues_sum "$(group_of "$qemu_pid")" rx ring_errors)" = 0 ]
}
