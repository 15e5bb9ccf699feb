#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory that outlives a reset: tests/guest/keep.sh on each kernel, reset without warning while all
# CPUs write.  What the console said had been written must be there after the reset.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# Lines "N CPU AT": the last that each CPU had said before reset N
said() {
	tr -d '\r' <"$work/out/console.log" | awk '
		/Linux version / { n++; next }
		match($0, /stackbuf_writer: CPU [0-9]+ at [0-9]+$/) { split(substr($0, RSTART), w, " "); at[n " " w[3]] = w[5] }
		END { for (i in at) print i, at[i] }'
}

# Nothing is missing but what came after the last thousandth was said, and nothing in between
nothing_lost() {
	said | sort >"$work/said"
	sed -n 's/^# kept //p' "$work/guest.log" | sort >"$work/kept"
	awk -v resets="$1" '
		NF == 3 { said[$1 " " $2] = $3; next }
		{
			kept++
			# N CPU FIRST LAST GAPS.  The last thousandths may be saved and not on the console yet
			if (!said[$1 " " $2] || $4 < said[$1 " " $2] || $4 > said[$1 " " $2] + 20000 || $5) {
				print "reset", $1, "CPU", $2, "said", said[$1 " " $2], "kept from", $3, "to", $4, "with", $5, "gaps"
				bad++
			}
		}
		END { print kept + 0, "of", 2 * resets; exit bad || kept < 2 * resets }' "$work/said" "$work/kept"
}

keep() {
	local kernel words cross node=() reader='' resets=(monitor sysrq hang) append named='' keep=0x8000000:32M i
	for ((i = 3; i < ${RESETS:-$(few 3 20)}; i++)); do resets+=(monitor); done
	kernel_of "$1" || return
	# Memory with a name came with 6.12
	grep -q reserve_mem_find_by_name "$kernel/build/Module.symvers" && named=1
	# shellcheck disable=SC2016
	case ${named:-none}-$1 in
	none-*-arm64) append='' keep=$'sbuf\n0x50000000:32M' node=(-n sbuf@50000000:2000000 -n taken@40200000:1000000) && : >"$work/vm/taken" ;;
	none-*) append='memmap=32M$0x8000000 reboot=t' ;;
	*) append='reserve_mem=32M:4096:sbuf nokaslr' keep=sbuf:take ;;
	esac
	# Its kernel has the driver
	if [ "$1" = 6.12 ]; then
		resets[2]=watchdog
		for i in watchdog i6300esb; do
			xz -dc "$kernel/modules/kernel/drivers/watchdog/$i.ko.xz" >"$work/vm/$i.ko" || echo "not ok there is a watchdog"
		done
	fi
	# Its memory has an address
	if [ "$1" = 6.1 ]; then
		for i in fs/pstore/ramoops lib/reed_solomon/reed_solomon; do
			cp "$kernel/modules/kernel/$i.ko" "$work/vm/" || echo "not ok there is ramoops"
		done
	fi
	printf '%s\n' "${resets[@]}" >"$work/vm/resets"
	echo "$keep" >"$work/vm/keep"
	guest "$1" keep && build_reader "$1" && build "$1" big || echo "not ok everything is built"
	APPEND=$append boot "$1" -r "${node[@]}" -x "$reader"
	grep -qx 'done' "$work/guest.log" || return
	result "nothing is missing but the last moment, nothing is wrong" nothing_lost "${#resets[@]}"
	ended
}

on_each_kernel "memory that outlives a reset" keep 6.1
