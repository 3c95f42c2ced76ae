#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A lab run passes on the command's words, output and status, and tells a report, a panic and a
# passed time limit from them.
# kernels: none
# timeout: 600
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/lab/within.sh
. test/lab/within.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS COMMAND...: in the kernel, within the limit.
limit=120
expect() {
	want=$1
	shift
	got=0
	test/lab/run --kernel uml --timeout $limit -- "$@" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" -eq "$want" ] || {
		echo "status $got instead of $want: $*"
		cat "$work/out" "$work/err"
		exit 1
	}
}

expect 0 true
expect 7 sh -c 'exit 7'
expect 0 printf '<%s>\n' 'a  b' "it's" "\$x \"y\"" ''
printf '<%s>\n' 'a  b' "it's" "\$x \"y\"" '' | cmp - "$work/out"
expect 0 sh -c 'seq 100000; echo to stderr >&2'
seq 100000 | cmp - "$work/out"
grep -qx 'to stderr' "$work/err"
expect 123 sh -c 'echo "WARNING: at a place" >/dev/kmsg'
grep -q 'WARNING: at a place' "$work/err"
expect 123 sh -c 'echo c >/proc/sysrq-trigger'
expect 125 sh -c 'echo o >/proc/sysrq-trigger; read -r never </dev/zero'
touch "$work/mark"
expect 0 sh -c "rm '$work/mark' 2>/dev/null; echo changed >$PWD/Makefile"
[ -e "$work/mark" ]
if grep -qx changed Makefile; then
	echo "the checkout was written to"
	exit 1
fi
limit=3
expect 124 sh -c 'mkfifo /tmp/f; read -r never </tmp/f'

# Killed, it takes its machine along.
test/lab/run --kernel uml -- sh -c 'echo up; exec sleep 1000' >"$work/out" 2>"$work/err" &
lab=$!
within 60 grep -qx up "$work/out"
machine=$(pgrep -P "$(pgrep -P "$lab" timeout)")
[ -e "/proc/$machine" ]
kill -KILL "$lab"
within 10 test ! -e "/proc/$machine"
