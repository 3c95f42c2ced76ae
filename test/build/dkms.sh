#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# dkms takes the package: add, build and install give both modules, remove leaves nothing.
# kernels: none
# timeout: 900
set -eu
cd -- "$(dirname -- "$0")/../.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
name=$(sed -n 's/^PACKAGE_NAME="\(.*\)"$/\1/p' dkms.conf)
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' dkms.conf)
kernel=$(test/lab/kernel 6.1)
release=$(cat "$kernel/build/include/config/kernel.release")

mkdir -p "$tmp/tree" "$tmp/src" "$tmp/lib/modules/$release"
scripts/dkms-sources "$tmp/src/$name-$version"
run() {
	action=$1
	shift
	dkms "$action" "$name/$version" --dkmstree "$tmp/tree" --sourcetree "$tmp/src" \
		--installtree "$tmp/lib/modules" "$@"
}
run add
run build -k "$release" --kernelsourcedir "$kernel/build" || {
	cat "$tmp/tree/$name/$version/build/make.log"
	exit 1
}
run install -k "$release" --kernelsourcedir "$kernel/build" --no-depmod
run status | tee "$tmp/status"
grep -q "^$name/$version, $release, .*: installed" "$tmp/status"
for module in vhost_net_mq virtio_net_mq; do
	find "$tmp/lib/modules/$release/updates/dkms" -name "$module.ko*" | grep .
done
run remove -k "$release" --no-depmod
[ -z "$(find "$tmp/lib/modules" -name '*.ko*')" ]
