#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# A recalled stack is the one that a walk would find: tests/guest/recall.sh on
# each kernel.  ROUNDS=N (default 1) makes the load as many times as long: about a
# million events on each kernel a round.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# The module with one comparison of recall left out: that of return addresses
faulty() {
	local series=$1

	mkdir -p "$work/faulty" && cp -r "$top"/{Makefile,Kbuild,stackbuf.c,stackbuf.h,core,tests} "$work/faulty/" || return
	sed -i 's/if (!sb_words_fit(word, layout->frames, start->sp, text))/if (0)/' \
		"$work/faulty/core/recall.c"
	cmp -s "$top/core/recall.c" "$work/faulty/core/recall.c" && { echo "# the fault does not apply"; return 1; }
	tree=$work/faulty build "$series" fault
}

reader=$work/tools/stackbuf
make -s -C "$top/tools" O="$work/tools" all >"$work/make.log" 2>&1 || sed 's/^/# /' "$work/make.log"

recall() {
	cp "$here/guest/lib.sh" "$work/vm/" && cp "$here/guest/recall.sh" "$work/vm/run" &&
		echo "$reader" >"$work/vm/reader" && echo "${ROUNDS:-1}" >"$work/vm/rounds" &&
		build "$1" big && faulty "$1" || echo "not ok everything is built"
	boot "$1" -t "$((${ROUNDS:-1} * 120 + 300))" -x "$reader"
	ended
}

on_each_kernel recall recall
