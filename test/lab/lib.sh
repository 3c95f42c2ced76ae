# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Shared by the scripts of the lab: where things are, and how they say so. A
# script sets `me` to its name and `top` to the checkout, and sources this file.

# shellcheck disable=SC2034,SC2154 # set or used by the scripts that source this
cache=${VMQ_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/virtio-net-mq}
kernels="6.1-oldest 6.1 6.12 7.3 debug uml-debug uml-smp uml"

# Exit statuses of a lab run that are not those of the command.
st_report=123	# the kernel log holds a report
st_timeout=124	# the time limit passed
st_lab=125	# the lab itself failed

say() {
	printf '%s: %s\n' "${me:-lab}" "$*" >&2
}

die() {
	say "$*"
	exit "$st_lab"
}

# Print each argument so that a shell reads it back as one word.
quote() {
	for word; do
		printf "'%s' " "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")"
	done
}

number() {
	case $2 in
	'' | *[!0-9]* | 0*) die "$1 takes a number, not '$2'" ;;
	esac
}
known_kernel() {
	case " $kernels " in
	*" $1 "*) ;;
	*) die "no kernel is named '$1'; there are: $kernels" ;;
	esac
}

# The cache is named on kernel command lines and in make's M=, which know no quotes.
prepare_cache() {
	mkdir -p "$cache" || die "cannot make the cache directory $cache"
	cache=$(cd -- "$cache" && pwd -P)
	case $cache in
	*[!A-Za-z0-9_./+@-]*)
		die "the cache directory $cache has characters that make and the kernel's command line cannot take; set VMQ_CACHE"
		;;
	esac
}

# What belongs to this checkout alone is kept under this name.
checkout_id() {
	printf '%s\n' "$top" | sha256sum | cut -c 1-12
}
