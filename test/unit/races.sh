#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Work items and their handing over have no data race that the thread sanitizer can see.
# kernels: none
# timeout: 300
set -eu
make -C "$(dirname -- "$0")" race
