# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the cases with DPDK's testpmd as a client of /dev/vhost-net. A case
# sources this, calls load and start_pmd, gives commands with pmd and ends with finish.
# VMQ_VHOST chooses the module: mq (ours), or stock to see what that one does.

VHOST=${VMQ_VHOST:-mq}
case $VHOST in
mq) vhost=vhost_net_mq ;;
stock) vhost=vhost_net ;;
*)
	echo "VMQ_VHOST is mq or stock, not '$VHOST'"
	exit 1
	;;
esac

if ! command -v dpdk-testpmd >/dev/null; then
	echo "there is no dpdk-testpmd (package dpdk-dev)"
	exit 4
fi

work=$(mktemp -d)
tests=0
failed=0
pmd_pid=
prompts=0

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

bail() {
	[ ! -e "$work/out" ] || tail -n 30 "$work/out" | sed 's/^/# testpmd: /'
	echo "Bail out! $*"
	exit 1
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

# Starting a program takes long in an emulated machine whose CPUs testpmd keeps busy; what is
# called often gets by without.
uptime() {
	read -r now _ </proc/uptime
	now=${now%.*}
}

# Try until it works, as many seconds as are given.
within() {
	uptime
	end=$((now + $1))
	shift
	until "$@"; do
		uptime
		[ "$now" -lt "$end" ] || return 1
		sleep 0.05
	done
}

cleanup() {
	exec 3>&-
	if [ -n "$pmd_pid" ]; then
		kill -KILL "$pmd_pid"
		wait "$pmd_pid"
	fi 2>/dev/null
	! loaded "$vhost" || within 10 unused "$vhost" && modprobe -q -r "$vhost"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

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
	# The frames on the tap are to be those of the test.
	sysctl -q -w net.ipv6.conf.default.disable_ipv6=1
}

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
	launch "$@"
	within 60 prompted || bail "testpmd does not come up"
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
