# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What test/lab/run and test/lab/guest share: one boot of a kernel. Sourced after lib.sh, with
# these set: kernel, its directory dir, the modules' tree, cpus, mem (MB), limit (s), log (a file, or
# empty), bin (the lab's programs).

# shellcheck disable=SC2154 # set by the scripts that source this
machine=
readers=
run=

# shellcheck disable=SC2317 # called by a trap
end_run() {
	[ -z "$machine" ] || kill -KILL -- "-$machine" 2>/dev/null || :
	# shellcheck disable=SC2086 # a list of numbers
	[ -z "$readers" ] || kill $readers 2>/dev/null || :
	[ -z "$run" ] || rm -rf "$run"
}

# prepare_run PARENT PROLOGUE COMMAND...: makes the directory of the run, below PARENT. PROLOGUE is
# shell text for the kernel to run before COMMAND.
prepare_run() {
	arch=$(cat "$dir/arch")
	init=$("$top/test/lab/build-init") || die "no init"
	mkdir -p "$1"
	run=$(mktemp -d "$1/$kernel.XXXXXX")
	prologue=$2
	shift 2
	cp "$init" "$run/init"
	printf '%s %s\n' arch "$arch" top "$top" cache "$cache" modules "$tree/lib/modules" >"$run/job"
	{
		echo "export HOME=/root TMPDIR=/tmp LANG=C.UTF-8 LAB_KERNEL=$kernel LAB_BIN=$bin"
		echo "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
		env | sed -n 's/^\(VMQ_[A-Z_]*\)=.*/\1/p' | while read -r name; do
			eval "echo export $name=\"\$(quote \"\$$name\")\""
		done
		printf '%s\n' "$prologue"
		echo "exec $(quote "$@")"
	} >"$run/command"
	mkfifo "$run/out" "$run/err"
}

# The machine ends with the script, even when that is killed.
start() {
	exec setpriv --pdeathsig KILL timeout -s KILL "$limit" setpriv --pdeathsig KILL "$@"
}

start_um() {
	# The memory of a user-mode kernel is a file, in /dev/shm where that is large enough.
	shm=$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1 | tr -d ' ')
	if [ "${shm:-0}" -lt "$mem" ]; then
		TMPDIR=$run
		export TMPDIR
	fi
	set -- "$dir/image" seccomp=on root=/dev/root rootfstype=hostfs rootflags=/ ro mem="${mem}M"
	[ "$kernel" = uml ] || set -- "$@" ncpus="$cpus"
	set -- "$@" uml_dir="$run/" init="$run/init" ignore_loglevel panic=-1 log_buf_len=4M \
		con=null con0=null,fd:3 con1=null,fd:4 con2=null,fd:5 ssl=null
	start "$@" </dev/null \
		3>"$run/console" 4>"$run/out" 5>"$run/err" >"$run/vmm" 2>&1
}

# The arguments are more of QEMU's.
start_x86() {
	set -- qemu-system-x86_64 -machine q35 -nodefaults -no-user-config -display none -no-reboot \
		-smp "$cpus" -m "$mem" -kernel "$dir/image" \
		-device virtio-rng-pci \
		-serial "file:$run/console" \
		-device virtio-serial-pci \
		-chardev "file,id=out,path=$run/out" -device virtserialport,chardev=out,name=out \
		-chardev "file,id=err,path=$run/err" -device virtserialport,chardev=err,name=err \
		-fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap" \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-fsdev "local,id=lab,path=$run,security_model=none" \
		-device virtio-9p-pci,fsdev=lab,mount_tag=lab "$@"
	slabs=
	if [ -n "${icount-}" ]; then
		# With one CPU a slab has 16 skbs; one half's skbs then leave the other the slow paths.
		slabs='slub_min_objects=128'
		set -- "$@" -accel tcg,thread=single -icount shift=0,sleep=off -cpu max,la57=off
	elif "$top/test/lab/have-kvm"; then
		set -- "$@" -accel kvm -cpu host
	else
		set -- "$@" -accel tcg,thread=multi -cpu max,la57=off
	fi
	if [ -r "$dir/initrd" ]; then
		cat "$init.cpio" "$dir/initrd" >"$run/initrd"
		set -- "$@" -initrd "$run/initrd"
	fi
	start "$@" -append \
		"root=host rootfstype=9p rootflags=trans=virtio,version=9p2000.L,cache=loose,msize=262144 ro \
init=$run/init console=ttyS0 ignore_loglevel panic=-1 log_buf_len=4M no_timer_check tsc=reliable mitigations=off $slabs" \
		</dev/null >"$run/vmm" 2>&1
}

# boot ARG...: runs the kernel to its end; ARG... are for QEMU. The command's output comes through
# two pipes, the kernel's log goes to a file.
boot() {
	cat "$run/out" &
	readers=$!
	cat "$run/err" >&2 &
	readers="$readers $!"

	# `timeout` leads a process group of its own, which end_run ends.
	case $arch in
	um) start_um & ;;
	x86) start_x86 "$@" & ;;
	esac
	machine=$!
	ended=0
	wait "$machine" || ended=$?
	machine=

	# A reader may still wait for somebody to open the other end.
	: <>"$run/out"
	: <>"$run/err"
	# shellcheck disable=SC2086
	wait $readers || :
	readers=
	[ -z "$log" ] || cp "$run/console" "$log"
}

# Print what the kernel reported and exit as the run ended.
finish_run() {
	reports=0
	[ -e "$run/console" ] || : >"$run/console"
	"$top/test/lab/check-log" "$run/console" >"$run/reports" || reports=1
	if [ -s "$run/kmemleak" ]; then
		reports=1
		echo '--- kmemleak' >>"$run/reports"
		cat "$run/kmemleak" >>"$run/reports"
	fi
	if [ $reports -ne 0 ]; then
		say "the log of kernel $kernel holds reports:"
		cat "$run/reports" >&2
	fi
	if [ "$ended" -eq 137 ] && [ ! -e "$run/status" ]; then
		say "time ran out after $limit s; the end of the log of kernel $kernel:"
		tail -n 20 "$run/console" >&2
		exit "$st_timeout"
	fi
	[ $reports -eq 0 ] || exit "$st_report"
	if [ ! -e "$run/status" ]; then
		say "kernel $kernel ended without a status; the end of its log:"
		tail -n 20 "$run/vmm" "$run/console" >&2
		exit "$st_lab"
	fi
	exit "$(cat "$run/status")"
}

trap end_run EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
