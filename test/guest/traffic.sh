# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# TCP both ways over the loop, for cases that do something meanwhile.

guest_host=${GUEST_HOST:-mq}

up() {
	trap 'traffic_kill; test/lab/loop down' EXIT
	test/lab/loop up --guest mq --host "$guest_host" "$@"
}

traffic_kill() {
	# shellcheck disable=SC2046 # a list of numbers
	kill -KILL $(ip netns pids host 2>/dev/null) $(ip netns pids vm 2>/dev/null) 2>/dev/null || :
}

# Streams each way that end when told.
traffic_start() {
	log=$(mktemp -d)
	for port in 5201 5202; do
		ip netns exec host iperf3 -s -1 -p $port >"$log/server$port" 2>&1 &
		until ip netns exec host ss -Hlnt "sport = $port" | grep -q .; do sleep 0.05; done
	done
	ip netns exec vm iperf3 -c 10.9.0.1 -p 5201 -P "$1" -t 600 >"$log/out" 2>&1 &
	out_pid=$!
	ip netns exec vm iperf3 -c 10.9.0.1 -p 5202 -P "$1" -t 600 -R >"$log/in" 2>&1 &
	in_pid=$!
	traffic_moves
}

moved() {
	ip netns exec vm cat "/proc/net/dev" | awk '$1 == "eth0:" { print $2, $10 }'
}

# Wait until a megabyte went each way.
traffic_moves() {
	before=$(moved)
	start=$(date +%s)
	# shellcheck disable=SC2046,SC2086 # two numbers each
	until set -- $before $(moved); [ $(($3 - $1)) -gt 1000000 ] && [ $(($4 - $2)) -gt 1000000 ]; do
		if [ $(($(date +%s) - start)) -gt 30 ]; then
			echo "no traffic any more: $before, then $(moved)"
			ip netns exec vm ethtool -S eth0
			cat "$log"/*
			exit 1
		fi
		sleep 0.05
	done
}

# Every connection is still there, and ends when asked.
traffic_end() {
	for pid in $out_pid $in_pid; do
		kill -0 "$pid" || {
			echo "a connection was lost"
			cat "$log"/*
			exit 1
		}
		kill -INT "$pid"
		wait "$pid" || :
	done
	if grep -i 'error - ' "$log/out" "$log/in"; then
		exit 1
	fi
	rm -r "$log"
}

no_drops() {
	if ip netns exec vm ethtool -S eth0 | grep -E '^ *(rx|tx)_(drops|.*errors|tx_timeouts): [1-9]'; then
		exit 1
	fi
}
