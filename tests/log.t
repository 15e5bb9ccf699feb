#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The command stackbuf reads the live module: tests/guest/log.sh on each kernel.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

reader=$work/tools/stackbuf
make -s -C "$top/tools" O="$work/tools" all >"$work/make.log" 2>&1 || sed 's/^/# /' "$work/make.log"

echo "KTAP version 1"
read -ra all <<<"${SERIES:-6.1 6.12}"
echo "1..${#all[@]}"
test=0
status=0
for series in "${all[@]}"; do
	test=$((test + 1))
	{
		rm -rf "$work/vm"
		mkdir -p "$work/vm"
		cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/log.sh" "$work/vm/run" &&
			echo "$reader" >"$work/vm/reader" && build "$series" big ||
			echo "not ok everything is built"
		"$top/scripts/stackbuf-vm" -k "$series" -x "$reader" "$work/vm" \
			>"$work/guest.log" 2>"$work/vm.err"
		vm=$?
		grep -v '^done$' "$work/guest.log"
		[ $vm = 0 ] || sed 's/^/# /' "$work/vm.err"
		result "the machine ends well, without complaints in its log" [ $vm = 0 ]
		! grep -qx 'done' "$work/guest.log" || echo "done"
	} | ktap | sed 's/^/    /'
	if [ "${PIPESTATUS[1]}" = 0 ]; then
		echo "ok $test the reader on $series"
	else
		echo "not ok $test the reader on $series"
		status=1
	fi
done
exit $status
