# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# For the cases of the host module: a device of several pairs that does what it is
# told (test/client/vhost-pairs.c), and its group in sysfs.

# shellcheck source=test/lab/within.sh
. test/lab/within.sh

mq=/sys/class/misc/vhost-net/mq
: "${LAB_BIN:?runs in the lab}"

fail() {
	echo "$*"
	exit 1
}

# Load the module, with parameters.
# shellcheck disable=SC2120
host_load() {
	[ -d /sys/module/tun ] || modprobe tun
	modprobe vhost_net_mq "$@"
	work=$(mktemp -d)
	trap host_end EXIT
}

host_end() {
	pairs_kill
	rm -rf "$work"
	modprobe -r vhost_net_mq
}

# pairs_start N [kthread]: $owner is its pid, $group its directory.
pairs_start() {
	rm -f "$work/orders" "$work/answers" "$work/holder"
	mkfifo "$work/orders" "$work/answers" "$work/holder"
	"$LAB_BIN/vhost-pairs" "$@" <"$work/orders" >"$work/answers" 3<>"$work/holder" &
	exec 8>"$work/orders" 9<"$work/answers"
	read -r word owner <&9 || fail "vhost-pairs does not start"
	[ "$word" = ok ] || fail "vhost-pairs: $word $owner"
	group=$mq/$owner-tap0
	[ -d "$group" ] || fail "$group is not there"
}

# Give an order and print the result.
pairs() {
	echo "$*" >&8
	pairs_answer "$*"
}

pairs_answer() {
	read -r word result <&9 || fail "$1: vhost-pairs has ended"
	[ "$word" = ok ] || fail "$1: $word $result"
	echo "$result"
}

# End the device; what it was made of is gone when this returns.
pairs_end() {
	pairs quit >/dev/null
	exec 8>&- 9<&-
	wait "$owner" || :
	owner=
}

pairs_kill() {
	[ -n "${owner:-}" ] || return 0
	kill -KILL "$owner" 2>/dev/null || :
	wait "$owner" 2>/dev/null || :
	exec 8>&- 9<&-
	owner=
}

# is FILE VALUE
is() {
	IFS= read -r value <"$1" || fail "$1 cannot be read"
	[ "$value" = "$2" ] || fail "$1 is '$value', not '$2'"
}

# Try until it holds, a minute at most.
soon() {
	within 60 "$@" || fail "not within a minute: $*"
}

# refused ERROR FILE VALUE: the write fails so, and what is read stays.
refused() {
	IFS= read -r before <"$2"
	if message=$(printf '%s\n' "$3" | tee "$2" 2>&1 >/dev/null); then
		fail "$2 takes '$3'"
	fi
	case $1:$message in
	EINVAL:*"Invalid argument"* | ERANGE:*"out of range"* | EACCES:*"ermission denied"*) ;;
	*) fail "$2 refuses '$3' with: $message; not $1" ;;
	esac
	is "$2" "$before"
}

# takes FILE VALUE [READ AS]
takes() {
	printf '%s\n' "$2" >"$1" || fail "$1 does not take '$2'"
	is "$1" "${3-$2}"
}

# Threads named after an owner, by thread id and name.
worker_threads() {
	grep -Hs "^vhost-$1\(/\|\$\)" /proc/[0-9]*/task/[0-9]*/comm |
		sed 's,.*/task/\([0-9]*\)/comm:,\1 ,'
}

no_worker_threads() {
	[ -z "$(worker_threads "$1")" ]
}
