# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# How cases wait: by the clock, since tries take long on a slow machine.

# Starting a program takes long in an emulated machine whose CPUs others keep busy; what is
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
