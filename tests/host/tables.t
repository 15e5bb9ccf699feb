#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's page tables in made-up dumps: they lead to the record that a scan finds, on
# every layout; where they do not, or are made to do harm, a scan follows.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

# READER: another build to test instead
plain=${READER:-$plain}
sane=$plain
layouts=(x86-4 x86-5 arm-4k arm-4k-39 arm-4k-52 arm-4k-52-on-48 arm-16k-47 arm-16k-48 arm-64k arm-64k-52-on-48)
# in_time COMMAND...: each of its processes ends within 20 seconds of CPU time
in_time() { limited 20 "$@"; }

# made LAYOUT KIND MB: makes $work/f
made() { rm -f "$work/f"; "$tools/tables" make "$@" "$work/f"; }

# everything OPTION...: all output from $work/f, but how the record was found
everything() {
	local command
	for command in log count text depth info; do
		"$plain" -f "$work/f" "$@" $command || return
	done 2>&1 | grep -v -e '^found by ' -e '^bytes read '
}

# found_by WORDS [OPTION...]: info has these words
found_by() {
	in_time "$plain" -f "$work/f" "${@:2}" info >"$work/info" 2>"$work/err" &&
		grep -q "^found by  *$1\$" "$work/info" && [ ! -s "$work/err" ] && return
	grep '^found by' "$work/info"
	cat "$work/err"
	return 1
}

bytes_read() { sed -n 's/^bytes read  *//p' "$work/info"; }

# tried LAYOUT: in "make test" most is tried with one for each architecture and size of pages
tried() { thorough || [[ $1 == @(x86-5|arm-4k|arm-16k-47|arm-64k) ]]; }

# both_ways KIND MB BYTES: the tables of each layout lead to what a scan finds, by reading at most
# BYTES
both_ways() {
	local layout
	for layout in "${layouts[@]}"; do
		[ "$1" = elf ] || tried "$layout" || continue
		made "$layout" "$1" "$2" && found_by 'page tables' && [ "$(bytes_read)" -le "$3" ] &&
			found_by 'scan  (--scan)' --scan && everything >"$work/tables" && everything --scan >"$work/scan" &&
			grep -q '^missing pages  *0$' "$work/tables" && [ "$(grep -c '^[0-9].* [0-9]' "$work/tables")" -gt 6000 ] &&
			cmp "$work/tables" "$work/scan" || { echo "$layout $1"; return 1; }
	done
}

# A module was loaded before: only a scan finds it, which --instance asks for, too
earlier() {
	local old this
	made x86-4 earlier 64 && found_by 'page tables' && [ "$(grep -c '^found here' "$work/info")" = 1 ] || return
	this=$(sed -n 's/^instance  *//p' "$work/info")
	"$plain" -f "$work/f" --scan info >"$work/info" && [ "$(grep -c '^found here' "$work/info")" = 2 ] || return
	old=$(sed -n 's/^found here as well  *\([0-9a-f]*\),.*/\1/p' "$work/info")
	"$plain" -f "$work/f" --instance "$old" info >"$work/info" && grep -q '^found by  *scan  (--instance)$' "$work/info" &&
		grep -q "^instance  *$old\$" "$work/info" && found_by 'page tables' --instance "$this" &&
		refused 1 'holds no instance 123;' -f "$work/f" --instance 123 info
}

json() {
	made x86-4 elf 64 && "$plain" -f "$work/f" info --json >"$work/json" && grep -q '"found_by":"page tables"' "$work/json" &&
		grep -qE '"bytes_read":[1-9]' "$work/json" && ! grep -q scan_reason "$work/json" &&
		"$plain" -f "$work/f" --scan info --json >"$work/json" && grep -q '"found_by":"scan"' "$work/json" &&
		grep -q '"scan_reason":"--scan"' "$work/json"
}

# Each ends in a scan, or with what was found, within bounded time, reads and memory
hostile() {
	local layout kind
	for layout in "${layouts[@]}"; do
		tried "$layout" || continue
		for kind in loop wide huge no-level; do
			made "$layout" $kind 64 &&
				in_time "$here/helpers/image.py" limit 150 "$plain" -f "$work/f" info >"$work/info" 2>"$work/err" &&
				[ "$(bytes_read)" -le 400000000 ] && grep -q '^missing pages  *0$' "$work/info" ||
				{ echo "$layout $kind"; cat "$work/err"; grep '^bytes' "$work/info"; return 1; }
			! [[ $layout == x86* ]] || grep -q '^found by  *scan  (the page tables lead to no record)$' "$work/info" || return
		done
	done
}

without() {
	made x86-4 bare 64 && found_by 'scan  (there is no VMCOREINFO)' && made arm-4k nowhere 64 &&
		refused 1 'holds no page of stackbuf' -f "$work/f" info || return
	made x86-4 elf 64 && sed -i 's/SYMBOL(swapper_pg_dir)/SYMBOL(nothing_pg_dir)/' "$work/f" &&
		found_by 'scan  (VMCOREINFO does not describe the page tables)'
}

# One process for each CPU: their answers come in any order
cpus() {
	local cpu
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
	made x86-4 kdump "$(few 48 300)" && everything --scan >"$work/scan" && grep -q '^unreadable pages  *0$' "$work/scan" &&
		(taskset -cp "$cpu" $BASHPID >/dev/null && everything --scan) >"$work/one" && cmp "$work/scan" "$work/one"
}

# As makedumpfile --split marks each part, in the second header
split_dump() {
	made x86-4 kdump 16 && printf '\1' | dd of="$work/f" bs=1 seek=$((4096 + 12)) conv=notrunc status=none &&
		refused 1 'is a part of a split dump: join the parts by makedumpfile --reassemble' -f "$work/f" info
}

# Part of the file is missing: the record is whole, or a scan shows what is left of it
cut_off() {
	local kind part size code compared=0
	for kind in elf kdump; do
		made x86-4 $kind 16 || return
		mv "$work/f" "$work/all"
		size=$(stat -c %s "$work/all")
		for part in 30 60 90 99; do
			head -c $((size * part / 100)) "$work/all" >"$work/f"
			"$plain" -f "$work/f" log >"$work/log" 2>"$work/err"
			code=$?
			[ $code != 1 ] || [ -s "$work/log" ] || [ "$(wc -l <"$work/err")" != 1 ] || continue
			[ $code = 0 ] || { cat "$work/err"; return 1; }
			compared=$((compared + 1))
			grep -qE 'is cut|cannot be read' "$work/err" || { echo "$kind, $part %: not reported"; return 1; }
			cmp "$work/log" <("$plain" -f "$work/f" --scan log 2>/dev/null) || { echo "$kind, $part %"; return 1; }
		done
	done
	rm -f "$work/all"
	[ $compared -gt 0 ]
}

# A sparse file of 512 GB
half_a_terabyte() {
	made x86-4 elf 524288 && [ "$(stat -c %s "$work/f")" -gt 549000000000 ] && found_by 'page tables' &&
		[ "$(bytes_read)" -le 1000000 ] || return
	! thorough || "$plain" -f "$work/f" log | cmp - <("$plain" -f "$work/f" --scan log)
}

all() {
	result 'tables of every layout lead to what a scan finds: ELF' both_ways elf 64 1000000
	result '... compressed' both_ways kdump "$(few 16 64)" 1000000
	result '... built into the kernel, in its image' both_ways built-in 256 6000000
	result 'a load before is found by a scan, which --instance makes, too' earlier
	result 'info --json says how the record was found' json
	result 'no VMCOREINFO, or not enough of it: a scan' without
	result 'loops, millions of entries, tables that are not there: a scan, in time' hostile
	result 'a part of a split dump is refused: what joins the parts' split_dump
	result 'files that are cut: the same both ways, and reported' cut_off
	result 'a scan by one process and by several: the same' cpus
	result 'a sparse file of 512 GB: a megabyte of it is read' half_a_terabyte
	result 'tables damaged in many ways: what a scan finds' "$tools/tables" damage "$(few 200 1000)"
	rm -f "$work/f"
}

with_tools all all "$tools/tables"
