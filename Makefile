# SPDX-License-Identifier: GPL-2.0-only
#
# What a person does here; `make help` lists it. How the modules are compiled is in the
# Kbuild files. KVER or KDIR chooses the kernel and nothing else does.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

package := $(shell sed -n 's/^PACKAGE_NAME="\(.*\)"$$/\1/p' dkms.conf)
version := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"$$/\1/p' dkms.conf)

# Kernels of the lab that `modules-all` builds for: the oldest, the newest, and between. Of 6.1
# also the oldest release that Debian 12 still has: its headers include fewer others.
all_kernels := 6.1-oldest 6.1 6.12 uml-smp 7.3

.PHONY: help setup modules modules-all modules_install dkms-install dkms-uninstall \
	check checkpatch sparse shellcheck unit test test-all demo bench fuzz lab clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile
	@echo 'KVER=RELEASE or KDIR=DIRECTORY chooses the kernel to build for; the running one otherwise.'

setup: ## install the Debian packages that building and testing need, as root
	@test/setup

modules: ## build both modules, into build/<kernel release>/
	@scripts/build-modules '$(KDIR)'

modules-all: ## build both modules for each supported kernel, fetching headers and compilers
	@set -e; for kernel in $(all_kernels); do \
		dir=$$(test/lab/kernel $$kernel); scripts/build-modules "$$dir/build"; \
	done

modules_install: modules ## install the modules built for the kernel, as root
	@release=$$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$$/\1/p' '$(KDIR)/include/generated/utsrelease.h') && \
	for module in vhost_net_mq virtio_net_mq; do \
		install -D -m 644 -t '$(INSTALL_MOD_PATH)'/lib/modules/$$release/updates build/$$release/$$module.ko; \
	done && depmod $(if $(INSTALL_MOD_PATH),-b '$(INSTALL_MOD_PATH)') $$release

dkms-install: ## give the sources to dkms and let it build and install, as root
	@scripts/dkms-sources /usr/src/$(package)-$(version)
	@dkms status $(package)/$(version) | grep -q . || dkms add $(package)/$(version)
	dkms install --force $(package)/$(version) -k $(KVER)

dkms-uninstall: ## take everything back from dkms, as root
	@! dkms status $(package)/$(version) | grep -q . || dkms remove $(package)/$(version) --all
	@rm -rf /usr/src/$(package)-$(version)

check: setup checkpatch sparse shellcheck unit ## style, sparse, warnings, scripts, unit tests

checkpatch: ## the kernel's style checker over the C files
	@test/check/checkpatch.sh

sparse: ## sparse over both modules, with all the compiler's warnings
	@test/check/sparse.sh

shellcheck: ## shellcheck over all scripts
	@test/check/shellcheck.sh

unit: ## the tests that run in user space
	@test/run --kernel none unit

test: setup ## unit tests, builds, all cases in user-mode kernels, most of them with all checkers, the main ones on 6.1 and 6.12
	@test/run --quick

test-all: setup ## all cases on every kernel of the lab, the one with all checkers included
	@test/run

demo: ## shows in a virtual machine what the modules do
	@test/demo/run

bench: setup ## compares cost and throughput with the stock modules
	@test/bench/run

fuzz: setup ## ten minutes of libFuzzer over the rings, the IOTLB and the dirty log
	@$(MAKE) -C test/fuzz fuzz

lab: setup ## fetch or build all of the lab's kernels ahead of time
	@set -e; for kernel in 6.1-oldest 6.1 6.12 7.3 debug uml-debug uml-smp uml; do test/lab/kernel $$kernel; done

clean: ## remove what was built here
	@test/lab/clean
