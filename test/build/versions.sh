#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The version, and the oldest and newest kernel, are the same wherever they are said.
# kernels: none
# timeout: 300
set -eu
cd -- "$(dirname -- "$0")/../.."

fail() {
	echo "$*"
	exit 1
}

conf() {
	sed -n "s/^$1=\"\(.*\)\"$/\1/p" dkms.conf
}

version=$(conf PACKAGE_VERSION)
floor=$(conf BUILD_EXCLUSIVE_KERNEL_MIN)
last=$(conf BUILD_EXCLUSIVE_KERNEL_MAX)
pattern=$(conf BUILD_EXCLUSIVE_KERNEL)
ceiling=${last%.*}
[ "$last" = "$ceiling.999" ] || fail "dkms.conf: the newest kernel is not all of $ceiling"

for module in vhost_mq virtio_net_mq; do
	grep -q "^#if KERNEL_VERSION(${floor%.*}, ${floor#*.}, 0) > LINUX_VERSION_CODE" "$module/compat/compat.h" ||
		fail "$module/compat/compat.h has another floor than $floor"
done
grep -q "floor ($floor) and the ceiling ($ceiling)" vhost_mq/compat/compat.h ||
	fail "vhost_mq/compat/compat.h does not name $floor and $ceiling"
grep -q "^From $floor to $ceiling, one source" README.md || fail "README.md does not say from $floor to $ceiling"

# dkms that knows neither bound goes by the pattern.
for release in "$floor.0-57-amd64" "$floor.0" 6.4.16 6.12.43+deb12-amd64 7.0.1 7.2.13 "$ceiling.5+deb13-amd64" "$ceiling"; do
	echo "$release" | grep -Eq "$pattern" || fail "dkms.conf leaves out $release"
done
for release in 5.10.0-30-amd64 5.19.0 6.0.12 7.4.0 7.10.1 7.30 8.1.0; do
	! echo "$release" | grep -Eq "$pattern" || fail "dkms.conf takes $release"
done

# Built for the oldest, the newest and some between, and all of those are in the README.
releases=
kernels=$(sed -n 's/^all_kernels := //p' Makefile)
for kernel in $kernels; do
	release=$(cat "$(test/lab/kernel "$kernel")/build/include/config/kernel.release")
	series=$(echo "$release" | cut -d . -f 1,2)
	releases="$releases $series"
	grep -q "^| $series |" README.md || fail "README.md does not name $series"
done
# shellcheck disable=SC2086 # words
for series in $(printf '%s\n' $releases "$floor" "$ceiling" | sort -uV | sed -n '1p;$p'); do
	case "$series " in
	"$floor " | "$ceiling ") ;;
	*) fail "$series is outside of $floor to $ceiling" ;;
	esac
	case "$releases " in
	*" $series "*) ;;
	*) fail "nothing is built for $series" ;;
	esac
done

out=$(scripts/build-modules "$(test/lab/kernel "$floor")/build")
for ko in $out; do
	[ "$(modinfo -F version "$ko")" = "$version" ] || fail "$ko is not of version $version"
done
