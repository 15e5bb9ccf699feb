#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.t: "make demo" works, README.md shows what it prints and the costs that the benchmark
# measured, and what its commands name exists and works as it says.  docs holds names in all documents
# against the sources

# Backquotes are Markdown's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readme=$top/README.md
picture=$top/build/demo/demo.svg

case ${1-} in
-h)
	echo "Usage: ${0##*/} [-u]"
	echo "Run \"make demo\" and hold the documents against it and against the source."
	echo "  -u    write the excerpt in README.md instead"
	exit 0
	;;
'' | -u) ;;
*) echo "${0##*/}: try -h" >&2; exit 2 ;;
esac

# The sessions of a demo, without directories that depend on the machine, empty lines
# and trailing blanks
sessions() {
	sed -n '/^=== Session 1/,/^=== What next/p' | sed '/^=== What next/d' |
		sed -E 's@([( ])/[^ :)]*/([^ :)/]*):@\1<dir>/\2:@g; s/ +$//' |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# Remove figures that differ between runs, or between versions of the kernel and the compiler.
# Names of functions, their nesting and files stay.
shape() {
	sed -E -e 's/^[0-9.]+ +rm +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +/T rm N /' \
		-e 's/\+0x[0-9a-f]+\/0x[0-9a-f]+/+X\/X/; s/([( ][^ ():]+\.[cSh]):[0-9?]+/\1:N/g'
}

# Where "make demo" builds it as well, and other tests may be building now
build_tools all >/dev/null
make -s -C "$top" --no-print-directory demo >"$work/demo" 2>"$work/demo.err"
status=$?
sessions <"$work/demo" >"$work/sessions"

# The session that README.md shows, which names a function: up to the next empty line
excerpt() {
	sed -n '/^# insmod stackbuf\.ko probe=vfs_unlink$/,/^# stackbuf save /p; /^\$ .* log .*--lines/,/^$/p' "$work/sessions" |
		sed -E 's@build/(tools|demo)/(kernel/)?@@g; /^$/d' |
		awk 'length > 119 && (at = index($0, " (inlined by) ")) { $0 = substr($0, 1, at) "..." } 1'
}

if [ "${1-}" = -u ]; then
	[ "$status" = 0 ] && [ -s "$work/sessions" ] ||
		{ echo "${0##*/}: make demo failed; README.md is unchanged" >&2; exit 1; }
	{ echo '```'; excerpt; echo '```'; } >"$work/fenced"
	into_page README.md demo "$work/fenced" &&
		sed -E '1a <!-- SPDX-License-Identifier: GPL-2.0 -->
			s/(Linux [0-9]+\.[0-9]+)\.[^ ]*\. /\1. /' "$picture" >"$top/docs/demo.svg"
	exit
fi

exits() { [ "$status" = 0 ] || { echo "status $status"; tail -n 20 "$work/demo.err"; return 1; }; }

has_both() {
	local want
	for want in '=== Session 1: ' '=== Session 2: ' '# insmod stackbuf.ko' '# rmmod stackbuf.ko'; do
		grep -qF -e "$want" "$work/sessions" || { echo "missing: $want"; return 1; }
	done
	[ "$(grep -cE '^(\[.*\]  ?)?stackbuf_init \(.*/stackbuf\.c:[0-9]+\) stackbuf$' "$work/sessions")" = 2 ] ||
		{ echo "stackbuf_init is not decoded twice"; return 1; }
	grep -qE '^\[.*\]  ?stackbuf_exit \(.*/stackbuf\.c:[0-9]+\) stackbuf$' "$work/sessions" ||
		{ echo "stackbuf_exit is not decoded"; return 1; }
}

# Every stack of the picture ends at the probe
drawn() {
	[ "$(grep -c '<g class="f"' "$picture")" -ge 20 ] && grep -q '<title>submit_bio (' "$picture"
}

# README.md has its costs from docs/performance.md
one_cost() {
	part README.md bench >"$work/says"
	costs_for_readme | diff "$work/says" - || { echo "docs/performance.md has it otherwise"; return 1; }
}

# README.md has its session from "make demo"
one_origin() {
	part README.md demo | sed '/^```/d' >"$work/says"
	[ "$(wc -l <"$work/says")" -ge 8 ] && grep -q '^	vfs_unlink+0x0/' "$work/says" &&
		diff <(shape <"$work/says") <(excerpt | shape) || { echo "tests/demo.t -u writes it again"; return 1; }
}

# The picture in README.md is one of these
pictured() {
	sed -n 's/.*<img src="\([^"]*\)".*/\1/p' "$readme" | grep -x docs/demo.svg && [ "$(wc -c <"$top/docs/demo.svg")" -lt 100000 ] &&
		grep -o '>submit_bio<' "$top/docs/demo.svg" && head -n 4 "$top/docs/demo.svg" | sed '/SPDX/d; s/[0-9][0-9]*"/N"/g' >"$work/kept" &&
		head -n 3 "$picture" | sed 's/[0-9][0-9]*"/N"/g' | diff - "$work/kept" || { echo "tests/demo.t -u writes it again"; return 1; }
}

short() {
	[ "$(wc -l <"$readme")" -le 150 ] && ! expand "$readme" | grep -nE '.{121}'
}

# Code in README.md and CONTRIBUTING.md: lines of fenced blocks and inline spans, without
# prompts and sudo, and without the transcript
code() {
	cat "$readme" "$top/CONTRIBUTING.md" | sed '/^<!-- demo -->$/,/^<!-- \/demo -->$/d' | awk '
		/^```/ { fence = !fence; next }
		fence { print; next }
		{
			line = held (held == "" ? "" : " ") $0
			held = ""
			n = split(line, part, "`")
			for (i = 2; i < n; i += 2) print part[i]
			# A span that continues in the next line
			if (n && n % 2 == 0) held = "`" part[n]
		}' | sed -E 's/ +# .*//; s/ && /\n/g' | sed -E 's/^(crash> |[$#] )//; s/^.*\| *//; s/^sudo //'
}
code >"$work/code"

# Print each line of standard input; fail if there is one
none() { ! grep ''; }

targets() {
	local words word target n=0
	# Skip targets of kbuild (-C)
	while read -r -a words; do
		for word in "${words[@]:1}"; do
			case $word in
			*=*)
				target=${word%%=*}
				grep -qE "^$target \?=|\\$\($target\)|echo '(.* )?$target=.* work as usual" "$top/Makefile" ||
					echo "no variable $target"
				;;
			*) grep -qE "^([-a-z0-9]+ )*$word( [-a-z0-9]+)*:" "$top/Makefile" || echo "no target: make $word" ;;
			esac
		done
	done < <(grep -E '^make( |$)' "$work/code" | grep -v ' -C ' | sed -E 's/"[^"]*"|`[^`]*`/X/g; s/   .*//') >"$work/bad"
	n=$(grep -cE '^make( |$)' "$work/code")
	[ "$n" -ge 8 ] || { echo "only $n times make is found in README.md"; return 1; }
	none <"$work/bad"
}

options() {
	local command words word help n=0
	build_tools all || return
	: >"$work/bad"
	while read -r -a words; do
		command=${words[0]}
		case $command in
		stackbuf) help=$("$tools/stackbuf" -h) ;;
		*)
			command=scripts/${command##*/}
			[ -x "$top/$command" ] || { echo "no $command" >>"$work/bad"; continue; }
			help=$("$top/$command" -h)
			;;
		esac
		n=$((n + 1))
		for word in "${words[@]:1}"; do
			[[ $word =~ ^(-[a-z]|--[a-z-]+)(=.*)?$ ]] || continue
			printf '%s\n' "$help" | grep -qE -e "(^| )${BASH_REMATCH[1]}[ ,=]" ||
				echo "$command has no option $word" >>"$work/bad"
		done
		if [ "$command" = stackbuf ]; then
			# The first word that is neither an option nor its argument
			word=$(printf '%s\n' "${words[*]:1}" | sed -E 's/^-f [^ ]+ ?//' | cut -d' ' -f1)
			[[ -z $word || $word == -* ]] ||
				printf '%s\n' "$help" | grep -qE -e "^  $word " || echo "stackbuf has no command $word" >>"$work/bad"
		fi
	done < <(grep -E '^((scripts/)?stackbuf-[a-z]+|stackbuf)( |$)' "$work/code" | sed -E 's/   .*//')
	# Options without a command are those of stackbuf
	while read -r word; do
		"$tools/stackbuf" -h | grep -qE -e " ${word}[ =]" || echo "stackbuf has no option $word" >>"$work/bad"
		n=$((n + 1))
	done < <(grep -oE '^--[a-z]+' "$work/code")
	[ "$n" -ge 15 ] || { echo "only $n commands and options are found in README.md"; return 1; }
	none <"$work/bad"
}

defaults() {
	local name range value n=0
	while IFS='|' read -r _ name value range _; do
		name=${name//[\` ]/} value=${value// /}
		range=$(sed -E 's/.* to ([0-9]+).*/\1/' <<<"$range")
		grep -qx "$name ?= $value" "$top/Makefile" || { echo "$name is not $value by default"; return 1; }
		grep -qE "check $name '.*' $range\b" "$top/Makefile" || { echo "$name does not go up to $range"; return 1; }
		n=$((n + 1))
	done < <(grep -E '^\| `[A-Z]+_KB`' "$top/docs/performance.md")
	[ "$n" = 4 ] || { echo "$n sizes in docs/performance.md"; return 1; }
}

# Numbers in documents that concern the format agree with a program compiled with the header
figures() {
	local phrase sizes
	cat >"$work/figures.c" <<-'END' || return
		#include <stddef.h>
		#include <stdio.h>
		#include "stackbuf_format.h"

		#define PAGE	4096
		#define GRANULES(nr) \
			((stackbuf_stack_bytes(nr, STACKBUF_STACK_FIRST) + STACKBUF_GRANULE - 1) / STACKBUF_GRANULE)

		static unsigned int bytes(unsigned long form)
		{
			return 8 * stackbuf_event_words(form << STACKBUF_EVENT_FORM_SHIFT);
		}

		/* A number from 1,000 on, rounded down to hundreds */
		static const char *hundreds(unsigned int n)
		{
			static char text[16];

			snprintf(text, sizeof(text), "%u,%u00", n / 1000, n % 1000 / 100);
			return text;
		}

		int main(void)
		{
			unsigned int shortest = bytes(STACKBUF_SHORT), tagged = bytes(STACKBUF_TAGGED);
			unsigned int full = bytes(STACKBUF_FULL), ring = EVENTS_KB / 4 * STACKBUF_EVENT_WORDS * 8;
			unsigned int granules = STACKS_KB / 4 * (PAGE / STACKBUF_GRANULE - 1);

			printf("An event takes %u to %u bytes.\n", shortest, full);
			printf("An event takes %u bytes (%u with a tag)\n", shortest, tagged);
			printf("follow each other on a CPU within %u ms, %u otherwise.\n",
			       (1U << STACKBUF_EVENT_TIME_BITS) / 1000000, full);
			printf("A distinct stack takes %zu bytes and 4 for each frame, rounded up to %d\n",
			       offsetof(struct stackbuf_stack, frames) + sizeof(struct stackbuf_first),
			       STACKBUF_GRANULE);
			printf("%d frames of a trace are kept\n", STACKBUF_DEPTH_MAX);
			printf("event ring: %u0,000 events (each of another\n", ring / full / 10000);
			printf("to %u0,000 (a run of one task, no tags)\n", ring / shortest / 10000);
			printf("room for %s distinct stacks (of %d frames) to ",
			       hundreds(granules / GRANULES(STACKBUF_DEPTH_MAX)), STACKBUF_DEPTH_MAX);
			printf("%s (of 16 or fewer)\n", hundreds(granules / GRANULES(16)));
			return 0;
		}
	END
	mapfile -t sizes < <(sed -nE 's/^(EVENTS|STACKS)_KB \?= ([0-9]+)$/-D\1_KB=\2/p' "$top/Makefile")
	gcc -Wall -Werror -I"$top" "${sizes[@]}" -o "$work/figures" "$work/figures.c" &&
		"$work/figures" >"$work/phrases" || return
	[ "$(wc -l <"$work/phrases")" = 8 ] || return
	# Join lines, as a figure may be wrapped
	cat "$readme" "$top/docs/performance.md" | tr '\n' ' ' >"$work/texts"
	while IFS= read -r phrase; do
		grep -qF -e "$phrase" "$work/texts" || echo "not in README.md and docs/performance.md: $phrase"
	done <"$work/phrases" | none || return
	# The size of the download is given in two places
	grep -oE 'about [0-9]+ MB' "$readme" "$top/scripts/machine/stackbuf-demo" | cut -d: -f2 | sort -u >"$work/sizes"
	[ "$(wc -l <"$work/sizes")" = 1 ] || { cat "$work/sizes"; return 1; }
}

# The block of README.md that begins with ```$1
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed '/^```/d'; }

# The example module of README.md compiles
example() {
	local kernel line
	build 6.1 example || return
	kernel=$("$top/scripts/machine/stackbuf-kernel" 6.1) || return
	mkdir -p "$work/mine" && block c >"$work/mine/mine.c" &&
		block make | sed "s@/path/to/stackbuf@$top@" >"$work/mine/Kbuild" &&
		line=$(grep -E '^make -C .*KBUILD_EXTRA_SYMBOLS=' "$work/code") || return
	line=${line//\/lib\/modules\/RELEASE\/build/$kernel/build}
	line=${line//\/path\/to\/mine/$work/mine}
	line=${line//\/path\/to\/stackbuf\/build\/RELEASE/$work/build/6.1-example}
	# Make unresolved symbols errors: modpost may only warn of them
	eval "$line KBUILD_MODPOST_WARN=" >"$work/make.log" 2>&1 && [ -e "$work/mine/mine.ko" ] &&
		! grep -i warning "$work/make.log" || { tail -n 20 "$work/make.log"; return 1; }
	modinfo -F depends "$work/mine/mine.ko" | grep -qx stackbuf || { echo "mine.ko does not depend on stackbuf"; return 1; }
	cp "$work/mine/mine.ko" "$work/vm/example/" && cat >"$work/vm/example/run" <<-'END' || return
		#!/bin/sh
		cd /t && insmod stackbuf.ko && insmod mine.ko && rmmod mine || exit
		tr -d '\0' </sys/kernel/debug/stackbuf/text
	END
	chmod +x "$work/vm/example/run" &&
		"$top/scripts/machine/stackbuf-vm" -m 256 "$work/vm/example" >"$work/text" || return
	grep -E '^mine_(init|exit)\+0x[0-9a-f]+/0x[0-9a-f]+ \[mine\]$' "$work/text" | cut -d+ -f1 >"$work/got"
	printf 'mine_init\nmine_exit\n' | diff - "$work/got" || { cat "$work/text"; return 1; }
}

{
	result "make demo succeeds" exits
	result "both sessions are there, with source lines" has_both
	result "the flame graph shows the paths to the probe" drawn
	shown=6.1 own=$("$top/scripts/machine/stackbuf-kernel" -o)
	unless "$([ "$own" = "$shown" ] || echo "README.md shows it on $shown, this system's kernel is $own")" \
		"README.md shows what make demo prints" one_origin
	result "the picture in README.md is a flame graph as make demo draws it" pictured
	result "README.md is no longer than 150 lines, none above 120 columns" short
	result "README.md shows what docs/performance.md has measured" one_cost
	result "what README.md and CONTRIBUTING.md have make do, it can do" targets
	result "commands and options in README.md and CONTRIBUTING.md exist" options
	result "sizes in docs/performance.md are those of the Makefile" defaults
	result "figures of the format in documents are those of stackbuf_format.h" figures
	result "the example in README.md is built, loaded and recorded as it says" example
	echo "done"
} | ktap
