#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every file takes what it promises, refuses the rest with the right error, and changes nothing then.
# kernels: 6.1 6.12 debug uml-debug uml-smp
# timeout: 60
set -eu
cd -- "$(dirname -- "$0")/../.."
# shellcheck source=test/host/lib.sh
. test/host/lib.sh

# shellcheck disable=SC2119
host_load
pairs_start 2
cpus=$(cat /sys/devices/system/cpu/possible)
last=${cpus##*[-,]}

for dir in $mq "$group"; do
	for file in window_jiffies threads; do
		for value in '' x 5x ' 5' 5.0 0x5 '5 5' recent; do
			refused EINVAL "$dir/$file" "$value"
		done
		for value in -1 99999999999999999999 4294967297; do
			refused ERANGE "$dir/$file" $value
		done
	done
	refused ERANGE "$dir/window_jiffies" 60001
	refused ERANGE "$dir/threads" 257
	for value in '' x Recent recent,pair 'recent ' load; do
		refused EINVAL "$dir/policy" "$value"
	done
	for value in '' x spread,shared; do
		refused EINVAL "$dir/placement" "$value"
	done

	for value in 0 1 60000 5; do takes "$dir/window_jiffies" $value; done
	for value in 1 3 256 0; do takes "$dir/threads" $value; done
	for value in pair single recent; do takes "$dir/policy" $value; done
	for value in shared spread; do takes "$dir/placement" $value; done
done

for file in $mq/cpulist "$group/cpulist" "$group/worker0/cpulist"; do
	for value in x 0-x 1-0 ',' 0,x '0 x'; do
		refused EINVAL "$file" "$value"
	done
	for value in $((last + 1)) 0-$((last + 1)) 8193 99999999999; do
		refused ERANGE "$file" "$value"
	done
	takes "$file" 0
	takes "$file" "$cpus"
	takes "$file" 0,0-0 0
	takes "$file" ''
done

# What is read can be written back, without and with the newline.
find $mq -type f -perm -200 >"$work/files"
while read -r file; do
	value=$(cat "$file")
	takes "$file" "$value"
	printf %s "$value" >"$work/value"
	[ ! -s "$work/value" ] || cat "$work/value" >"$file"
	is "$file" "$value"
done <"$work/files"

# The rest cannot be written.
[ -z "$(find $mq -type f ! -perm -200 ! -perm 444)" ] || fail "a mode is not 444"
pairs tx 0 >/dev/null
pairs tx 1 >/dev/null
pairs_end

# Groups made from now on begin with the defaults.
echo 7 >$mq/window_jiffies
echo 2 >$mq/threads
echo pair >$mq/policy
echo shared >$mq/placement
echo 0 >$mq/cpulist
pairs_start 1
is "$group/window_jiffies" 7
is "$group/threads" 2
is "$group/policy" pair
is "$group/placement" shared
is "$group/cpulist" 0
is "$group/worker0/effective_cpulist" 0
pairs_end
