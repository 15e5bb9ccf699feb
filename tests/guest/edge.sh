#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2094 # files are named after the commands they come from
#
# Limits of the parameters, and what is switched off, locked down or held by others,
# in the guest.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /t/lib.sh

P=/sys/module/stackbuf/parameters

# set_list LIST: it becomes the list
set_list() {
	echo "$1" >$P/probe 2>error || { cat error; dmesg | tail -n 1; return 1; }
}

load big

# ---------------------------------------------------------------- parameters ---

# Names of modules that are not loaded, LENGTH bytes altogether
lengths() {
	list=
	for i in $(seq 25); do
		list=$list${list:+,}m:$(printf '%0157d' "$i")
	done
	mark
	wrong=
	for length in $(seq 4085 4096); do
		last=m:$(printf "%0$((length - 4002))d" 26)
		for more in '' ,m:more; do
			set_list "$list" && set_list "+$last$more" || return 1
			all=$list,$last$more
			if [ ${#all} -le 4094 ]; then
				echo "$all"
			elif [ "$length" -le 4090 ]; then
				echo "$list,$last,..."
			else
				echo "$list,..."
			fi >want
			cat $P/probe >got
			cmp got want || wrong="$wrong $length$more"
		done
	done
	set_list '' || return 1
	if since | grep 'BUG\|Redzone'; then return 1; fi
	[ -z "$wrong" ] || { echo "wrong:$wrong"; return 1; }
}
result "parameter probe is read at every length around a page, and nothing behind it is written" lengths

unload
echo "done"
