# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the cases with DPDK's testpmd as a client of /dev/vhost-net. A case
# sources this, calls load and start_pmd, gives commands with pmd and ends with finish.

# shellcheck source=test/lab/client.sh
. "${0%/*}/../lab/client.sh"

if ! command -v dpdk-testpmd >/dev/null; then
	echo "there is no dpdk-testpmd (package dpdk-dev)"
	exit 4
fi

work=$(mktemp -d)
pmd_pid=
prompts=0

bail() {
	[ ! -e "$work/out" ] || tail -n 30 "$work/out" | sed 's/^/# testpmd: /'
	echo "Bail out! $*"
	exit 1
}

cleanup() {
	exec 3>&-
	if [ -n "$pmd_pid" ]; then
		kill -KILL "$pmd_pid"
		wait "$pmd_pid"
	fi 2>/dev/null
	if loaded "$vhost" && within 10 unused "$vhost"; then
		modprobe -r "$vhost"
	fi
	sysctl -q -w net.ipv6.conf.default.disable_ipv6=0
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

prompts() {
	grep -o 'testpmd> ' "$work/out" | wc -l
}

prompted() {
	[ "$(prompts)" -gt "$prompts" ] || ! running
}

running() {
	kill -0 "$pmd_pid" 2>/dev/null
}

# launch PAIRS RING [DEVARGS]: testpmd with a port of PAIRS on tap0.
launch() {
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in"
	HOME=$work stdbuf -oL dpdk-testpmd -l 0,1 --no-huge -m 256 --no-pci --no-telemetry \
		--vdev="net_virtio_user0,path=/dev/vhost-net,queues=$1,queue_size=$2${3:+,$3}" -- \
		--interactive --rxq="$1" --txq="$1" --rxd="$2" --txd="$2" \
		--total-num-mbufs=8192 <"$work/in" >"$work/out" 2>&1 &
	pmd_pid=$!
	exec 3>"$work/in"
	prompts=0
}

start_pmd() {
	# The frames on the tap are to be those of the test.
	sysctl -q -w net.ipv6.conf.default.disable_ipv6=1
	launch "$@"
	within 180 prompted || bail "testpmd does not come up"
	running || bail "testpmd ended"
	prompts=$(prompts)
	ip link set tap0 up || bail "testpmd made no tap0"
}

# pmd COMMAND...: gives testpmd a command and prints what it says.
pmd() {
	lines=$(wc -l <"$work/out")
	echo "$*" >&3
	within 60 prompted || bail "testpmd does not answer '$*'"
	running || bail "testpmd ended at '$*'"
	prompts=$(prompts)
	tail -n +$((lines + 1)) "$work/out"
}

quit_pmd() {
	echo quit >&3
	exec 3>&-
	wait "$pmd_pid"
	pmd_status=$?
	pmd_pid=
	return $pmd_status
}

# Extended statistics of the port into a file, to be read with xstat.
read_xstats() {
	pmd show port xstats 0 >"$work/xstats"
}

xstat() {
	sed -n "s/^$1: //p" "$work/xstats"
}

