#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# builds.t: source lines come from the builds that ran, or a message reports that this is not
# known: with a stackbuf.ko of other sizes, a client edited and rebuilt, another vmlinux.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

export TZ=UTC LC_ALL=C

# client NAME: builds NAME/mine.ko from NAME/mine.c
client() {
	printf 'obj-m := mine.o\nccflags-y += -I%s\n' "$top" >"$1/Kbuild" &&
		make -s -C "$kernel/build" M="$1" KBUILD_MODPOST_WARN= "${words[@]}" \
			KBUILD_EXTRA_SYMBOLS="$work/build/$series-big/Module.symvers" modules \
			>"$work/make.log" 2>&1 && [ -e "$1/mine.ko" ] && return
	cat "$work/make.log"
	return 1
}

clients() {
	mkdir "$work/first" "$work/edited" || return
	# The second function's file has a name with bytes that a terminal must not get
	{
		printf '%s\n' '// SPDX-License-Identifier: GPL-2.0' '#include <linux/module.h>' \
			'#include "stackbuf.h"' '' 'static noinline void mine_save(void)' '{' \
			'	stackbuf_save();' '	barrier();' '}' ''
		printf '#line 100 "mine\033[31m\233\377.c"\n'
		printf '%s\n' 'static noinline void mine_raw(void)' '{' '	stackbuf_save_tag(1);' \
			'	barrier();' '}' '' 'static int __init mine_init(void)' '{' \
			'	mine_save();' '	mine_raw();' '	return 0;' '}' \
			'module_init(mine_init);' '' 'static void __exit mine_exit(void)' '{' '}' \
			'module_exit(mine_exit);' 'MODULE_LICENSE("GPL");' \
			'MODULE_DESCRIPTION("a client");'
	} >"$work/first/mine.c"
	# The same code, five lines further down
	sed '3a //\n//\n//\n//\n//' "$work/first/mine.c" >"$work/edited/mine.c"
	client "$work/first" && client "$work/edited" && mkdir "$work/vm/ran" "$work/vm/edited" &&
		cp "$work/first"/*.ko "$work/vm/ran/" && cp "$work/edited/mine.ko" "$work/vm/edited/" || return
	# ran has both modules that ran; sized and rebuilt have one of another build each
	mkdir "$work/ran" "$work/sized" "$work/rebuilt" &&
		cp "$work/vm/big/stackbuf.ko" "$work/first/mine.ko" "$work/ran/" &&
		cp "$work/vm/small/stackbuf.ko" "$work/first/mine.ko" "$work/sized/" &&
		cp "$work/vm/big/stackbuf.ko" "$work/edited/mine.ko" "$work/rebuilt/"
}

id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

# lines SOURCE MODULES [OPTION...]: writes the text with lines to $work/lines, messages to
# $work/said
lines() {
	local source=$1 modules=$2
	shift 2
	"$host" -f "$source" text --lines -k "$kernel/vmlinux" -m "$modules" "$@" >"$work/lines" 2>"$work/said" ||
		{ cat "$work/said"; return 1; }
}

# line_of FUNCTION: file and line of its frame, "" if it has none
line_of() { sed -n "s/^$1+0x.*[( ]\([^ ]*:[0-9]*\))\$/\1/p" "$work/lines" | head -n 1; }

# said NUMBER [WORDS...]: there are NUMBER messages, and one with each of the WORDS
said() {
	local number=$1 found=0 words
	shift
	for words in "$@"; do
		[ "$(grep -cF -- "$words" "$work/said")" = 1 ] && found=$((found + 1))
	done
	[ $found = $# ] && [ "$(wc -l <"$work/said")" = "$number" ] && return
	echo "wanted $number: $*"
	cat "$work/said"
	return 1
}

unknown='not known to be the build that ran'

id_in_record() {
	local id
	id=$(id_of "$work/ran/stackbuf.ko")
	[ "$(id_of "$work/sized/stackbuf.ko")" != "$id" ] && [ ${#id} = 40 ] &&
	[ "$(modinfo -F srcversion "$work/ran/stackbuf.ko")" = "$(modinfo -F srcversion "$work/sized/stackbuf.ko")" ] || return
	"$host" -f "$work/out" info --json | grep -qF "\"build_id\":\"$id\"" &&
		"$host" -f "$work/out" info | grep -qx "module's build id  *$id" &&
		[ "$(od -An -tx1 -v "$work/out/stackbuf.note" | tr -d ' \n' | tail -c 40)" = "$id" ]
}

# With the builds that ran, and a snapshot, which has all build ids: the lines of the calls in
# stackbuf_init() and mine_save()
of_what_ran() {
	local at
	lines "$work/out/snapshot" "$work/ran" && said 0 || return
	at=$(line_of stackbuf_init)
	echo "stackbuf_init at $at, mine_save at $(line_of mine_save)"
	sed -n "${at##*:}p" "$top/stackbuf.c" | grep -q 'stackbuf_save();' && [ "${at%:*}" != "$at" ] &&
		[[ $(line_of mine_save) == *mine.c:7 ]]
}

other_sizes() {
	local source
	for source in "$work/out/snapshot" "$work/out"; do
		lines "$source" "$work/sized" || return
		[ -z "$(line_of stackbuf_init)" ] && [[ $(line_of mine_save) == *mine.c:7 ]] || { cat "$work/lines"; return 1; }
		grep -qF "frames of [stackbuf] stay as they are: $work/sized/stackbuf.ko has another build id" "$work/said" ||
			{ cat "$work/said"; return 1; }
	done
	lines "$work/out/snapshot" "$work/sized" --force && [ -n "$(line_of stackbuf_init)" ] &&
		said 1 'another build id than the module that ran'
}

edited_since() {
	local source
	for source in "$work/out/snapshot" "$work/out"; do
		lines "$source" "$work/rebuilt" || return
		[ -z "$(line_of mine_save)" ] && [ -n "$(line_of stackbuf_init)" ] || { cat "$work/lines"; return 1; }
		said 1 "frames of [mine] stay as they are: $work/rebuilt/mine.ko has another build id" || return
	done
	lines "$work/out/snapshot" "$work/rebuilt" --force && [[ $(line_of mine_save) == *mine.c:12 ]] &&
		said 1 'used anyway (--force)'
}

# Two builds in one record: each frame has the line of its own build, or none
loaded_again() {
	local modules line
	for modules in ran:7 rebuilt:12; do
		line=${modules#*:} modules=${modules%:*}
		lines "$work/out/again" "$work/$modules" &&
			said 1 "frames of [mine] stay as they are: $work/$modules/mine.ko has another build id" || return
		grep '^mine_save' "$work/lines"
		[ "$(grep -c '^mine_save+' "$work/lines")" = 2 ] &&
			[ "$(grep -c "^mine_save+.*mine.c:$line)\$" "$work/lines")" = 1 ] &&
			[ "$(grep -c '^mine_save+.*\[mine\]$' "$work/lines")" = 1 ] || return
	done
}

not_known() {
	# A record of an older stackbuf.ko has no build ids
	mkdir "$work/older" && cp "$work/out"/{text,info,events,stacks} "$work/older/" &&
		python3 - "$work/older/info" "$(id_of "$work/ran/stackbuf.ko")" "$(id_of "$work/ran/mine.ko")" <<-'END' &&
		import sys
		data = open(sys.argv[1], "rb").read()
		for id in map(bytes.fromhex, sys.argv[2:]):
		    assert data.count(id) == 1
		    data = data.replace(id, bytes(20))
		open(sys.argv[1], "wb").write(data)
		END
		"$host" -f "$work/older" info | grep -qx "module's build id  *unknown" || return
	lines "$work/older" "$work/rebuilt" && [[ $(line_of mine_save) == *mine.c:12 ]] &&
		said 2 "$work/rebuilt/stackbuf.ko: $unknown" "$work/rebuilt/mine.ko: $unknown" || return
	# Text has no build ids, only names
	"$host" -f "$work/out/snapshot" text | "$host" decode -k "$kernel/vmlinux" -m "$work/ran" >"$work/lines" 2>"$work/said" &&
		[[ $(line_of mine_save) == *mine.c:7 ]] &&
		said 3 "vmlinux: $unknown" "stackbuf.ko: $unknown" "mine.ko: $unknown"
}

# A vmlinux that differs in its build id only
another_vmlinux() {
	local id
	id=$(id_of "$kernel/vmlinux")
	python3 - "$kernel/vmlinux" "$work/vmlinux" "$id" <<-'END' || return
	import sys
	data = open(sys.argv[1], "rb").read()
	id = bytes.fromhex(sys.argv[3])
	assert id in data
	open(sys.argv[2], "wb").write(data.replace(id, bytes(reversed(id))))
	END
	! "$host" -f "$work/out/snapshot" text --lines -k "$work/vmlinux" -m "$work/ran" >"$work/lines" 2>"$work/said" &&
		said 1 "the kernel that ran has build id $id" && [ ! -s "$work/lines" ] || return
	"$host" -f "$work/out/snapshot" text --lines -k "$work/vmlinux" -m "$work/ran" --force >"$work/lines" 2>"$work/said" &&
		said 1 'used anyway (--force)' && [[ $(line_of mine_save) == *mine.c:7 ]]
	status=$?
	rm "$work/vmlinux"
	return $status
}

# Paths from debug information with bytes that would control a terminal
raw_paths() {
	lines "$work/out/snapshot" "$work/ran" || return
	grep -q '^mine_raw+.*mine?\[31m??\.c:102)$' "$work/lines" ||
		{ grep -a '^mine_raw' "$work/lines" | od -c | head; return 1; }
	[ "$(tr -d '\n\t -~' <"$work/lines" | wc -c)" = 0 ] || return
	"$host" -f "$work/out/snapshot" log --lines --json -k "$kernel/vmlinux" -m "$work/ran" | python3 -c '
import json, sys
raw = 0
for line in sys.stdin:
    e = json.loads(line)
    assert len(e["lines"]) == len(e["frames"]), e
    for frame, at in zip(e["frames"], e["lines"]):
        raw += frame.startswith("mine_raw+") and at.endswith(".c:102)")
assert raw'
}

builds() {
	local kernel words cross reader='' series=$1 host=$tools/stackbuf
	kernel_of "$series"
	rm -rf "${work:?}"/{first,edited,ran,sized,rebuilt,older}
	result 'everything is built' build_tools all
	guest "$series" builds && build_reader "$series" && build "$series" small EVENTS_KB=64 CONFIG_DEBUG_INFO=y && build "$series" big ||
		echo "not ok everything is built"
	result 'a client is built, edited and built again' clients
	boot "$series" -x "$reader"
	result "the record holds the build id of stackbuf.ko, which its srcversion doesn't replace" id_in_record
	result 'what ran has its lines, without a word' of_what_ran
	result 'stackbuf.ko of other sizes has none, but by --force, which says so' other_sizes
	result 'nor has a client that was edited and rebuilt since' edited_since
	result 'each of two builds in one record has the lines of its own' loaded_again
	result 'where the build that ran is not known standard error says so' not_known
	result 'a vmlinux of the same version with another build id is refused' another_vmlinux
	result 'paths of debug information: nothing that a terminal obeys, JSON in step' raw_paths
	ended
}

on_each_kernel "lines of the build that ran" builds 6.1
