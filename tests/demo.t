#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.t: "make demo" works, README.md shows what it prints, and what README.md
# names exists and works as it says

# Backquotes are Markdown's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readme=$top/README.md

case ${1-} in
-h)
	echo "Usage: ${0##*/} [-u]"
	echo "Run \"make demo\" and hold README.md against it and against the source."
	echo "  -u    put what it prints into README.md instead"
	exit 0
	;;
'' | -u) ;;
*) echo "${0##*/}: try -h" >&2; exit 2 ;;
esac

# Both sessions of a demo, without the directories that differ from machine to
# machine, and without empty lines and blanks at ends
sessions() {
	sed -n '/^=== Session 1/,/^=== What next/p' | sed '/^=== What next/d' |
		sed -E 's@([( ])/[^ :)]*/([^ :)/]*):@\1<dir>/\2:@g; s/ +$//' |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# What stands between two markers of README.md, without the fences
between() {
	sed -n "/^<!-- $1 -->\$/,/^<!-- \/$1 -->\$/p" "$readme" | sed '/^<!-- /d; /^```/d'
}

# Figures that differ from run to run, and with each version of kernel and source.
# Names of functions, how they are nested, files and counters stay.
shape() {
	sed -E -e 's/[-_.0-9a-z]*-cloud-amd64/RELEASE/g' \
		-e 's/^\[ *[0-9]+\.[0-9]+\]/[T]/; s/^(stack [0-9]+ )\[ *[0-9]+\.[0-9]+\]/\1[T]/' \
		-e 's/CPU: [0-9]+ PID: [0-9]+/CPU: N PID: N/' \
		-e 's/\+0x[0-9a-f]+\/0x[0-9a-f]+/+X\/X/' \
		-e 's/instance [0-9a-f]{16}$/instance X/' \
		-e 's/Stack trace\([0-9]+\)/Stack trace(N)/' \
		-e 's/^(stackbuf +)[0-9]+( +0)/\1N\2/' \
		-e 's/It ran [0-9]+ seconds/It ran N seconds/' \
		-e 's/([( ][^ ():]+\.[cSh]):[0-9?]+/\1:N/g'
}

make -s -C "$top" --no-print-directory demo >"$work/demo" 2>"$work/demo.err"
status=$?
sessions <"$work/demo" >"$work/sessions"

if [ "${1-}" = -u ]; then
	[ "$status" = 0 ] && [ -s "$work/sessions" ] ||
		{ echo "${0##*/}: make demo failed; README.md is unchanged" >&2; exit 1; }
	awk -v text="$work/sessions" '
		/^<!-- \/demo -->$/ { skip = 0 }
		!skip
		/^<!-- demo -->$/ {
			skip = 1
			print "```"
			while ((getline line < text) > 0) print line
			print "```"
		}' "$readme" >"$work/readme" && cat "$work/readme" >"$readme"
	exit
fi

exits() {
	[ "$status" = 0 ] || { echo "status $status"; tail -n 20 "$work/demo.err"; return 1; }
}

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

same_shape() {
	between demo | shape >"$work/shape.readme"
	shape <"$work/sessions" >"$work/shape.demo"
	[ -s "$work/shape.readme" ] || { echo "README.md holds no transcript"; return 1; }
	# The first difference, by line of the transcript
	awk -v other="$work/shape.demo" '
		{
			if ((getline now < other) <= 0) now = "(nothing more)"
			if ($0 != now) { bad = 1; print "line " NR " of the transcript\nREADME.md: " $0 "\nmake demo: " now; exit }
		}
		END {
			if (!bad && (getline now < other) > 0) { bad = 1; print "README.md ends before: " now }
			exit bad
		}' "$work/shape.readme"
}

# What README.md says in code: lines of fenced blocks and inline spans, without
# prompts and sudo; the transcript left out
code() {
	sed '/^<!-- demo -->$/,/^<!-- \/demo -->$/d' "$readme" | awk '
		/^```/ { fence = !fence; next }
		fence { print; next }
		{
			line = held (held == "" ? "" : " ") $0
			held = ""
			n = split(line, part, "`")
			for (i = 2; i < n; i += 2) print part[i]
			# A span that goes on in the next line
			if (n && n % 2 == 0) held = "`" part[n]
		}' | sed -E 's/^(crash> |[$#] )//; s/^.*\| *//; s/^sudo //'
}
code >"$work/code"

# Complain about each line of standard input; false if there is one
none() {
	local line bad=0

	while IFS= read -r line; do
		echo "$line"
		bad=1
	done
	return "$bad"
}

targets() {
	local words word target n=0

	# Those of kbuild (-C) are not ours
	while read -r -a words; do
		for word in "${words[@]:1}"; do
			case $word in
			*=*)
				target=${word%%=*}
				grep -qE "^$target \?=|\\$\($target\)" "$top/Makefile" || echo "no variable $target"
				;;
			*) grep -qE "^$word:" "$top/Makefile" || echo "no target: make $word" ;;
			esac
		done
	done < <(grep -E '^make( |$)' "$work/code" | grep -v ' -C ' | sed -E 's/"[^"]*"/X/') >"$work/bad"
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
	# Options that are named alone are the reader's
	while read -r word; do
		"$tools/stackbuf" -h | grep -qE -e " ${word}[ =]" || echo "stackbuf has no option $word" >>"$work/bad"
		n=$((n + 1))
	done < <(grep -oE '^--[a-z]+' "$work/code")
	[ "$n" -ge 15 ] || { echo "only $n commands and options are found in README.md"; return 1; }
	none <"$work/bad"
}

# Both ways: README.md's table and the source have the same
parameters() {
	grep -ohE '^(module_param(_cb|_named)?|SB_NUMBER)\([a-z_]+' "$top/stackbuf.c" "$top"/core/*.c | cut -d'(' -f2 | sort >"$work/has"
	sed -n '/^### Parameters/,/^### Sizes/s/^| `\([a-z_]*\)` .*/\1/p' "$readme" | sort >"$work/says"
	[ -s "$work/has" ] && diff "$work/says" "$work/has" &&
		grep -oE 'PARAMS="[^"]*"' "$readme" | grep -oE '[a-z_]+=' | tr -d = | sort -u >"$work/used" &&
		comm -23 "$work/used" "$work/has" | none
}

defaults() {
	local name range value n=0

	while IFS='|' read -r _ name value range _; do
		name=${name//[\` ]/} value=${value// /}
		range=$(sed -E 's/.* to ([0-9]+).*/\1/' <<<"$range")
		grep -qx "$name ?= $value" "$top/Makefile" || { echo "$name is not $value by default"; return 1; }
		grep -qE "check $name '.*' $range\b" "$top/Makefile" || { echo "$name does not go up to $range"; return 1; }
		n=$((n + 1))
	done < <(grep -E '^\| `[A-Z]+_KB`' "$readme")
	[ "$n" = 3 ] || { echo "$n sizes in README.md"; return 1; }
}

calls() {
	local file call n=0

	: >"$work/bad"
	while read -r file; do
		[ -e "$top/$file" ] || echo "no file $file" >>"$work/bad"
		n=$((n + 1))
	done < <(cat "$readme" "$top"/docs/*.md | grep -oE '\]\([^)#]+\)|`(tests|tools|core|docs|man|scripts)/[^`< *]*`' |
		sed -E 's/^\]\(|^`|[)`]$//g; s@^\.\./@@' | sort -u)
	while read -r call; do
		grep -qE "\\b$call\\(" "$top/stackbuf.h" || echo "no call $call()" >>"$work/bad"
		n=$((n + 1))
	done < <(cat "$readme" "$top"/docs/*.md | grep -oE 'stackbuf_[a-z_]*[a-z]\(' | tr -d '(' | grep -vE '^stackbuf_(init|exit)$' | sort -u)
	[ "$n" -ge 20 ] || { echo "only $n files and calls are found"; return 1; }
	none <"$work/bad"
}

# The block of README.md that begins with ```$1
block() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed '/^```/d'
}

# Somebody else's module, just as README.md says
example() {
	local kernel line

	build 6.1 example || return
	kernel=$("$top/scripts/stackbuf-kernel" 6.1) || return
	mkdir -p "$work/mine" && block c >"$work/mine/mine.c" &&
		block make | sed "s@/path/to/stackbuf@$top@" >"$work/mine/Kbuild" &&
		line=$(grep -E '^make -C .*KBUILD_EXTRA_SYMBOLS=' "$work/code") || return
	line=${line//\/lib\/modules\/RELEASE\/build/$kernel/build}
	line=${line//\/path\/to\/mine/$work/mine}
	line=${line//\/path\/to\/stackbuf\/build\/RELEASE/$work/build/6.1-example}
	# A symbol that is not known is only a warning in some versions
	eval "$line KBUILD_MODPOST_WARN=" >"$work/make.log" 2>&1 && [ -e "$work/mine/mine.ko" ] &&
		! grep -i warning "$work/make.log" || { tail -n 20 "$work/make.log"; return 1; }
	modinfo -F depends "$work/mine/mine.ko" | grep -qx stackbuf || { echo "mine.ko does not depend on stackbuf"; return 1; }
	cp "$work/mine/mine.ko" "$work/vm/example/" && cat >"$work/vm/example/run" <<-'END' || return
		#!/bin/sh
		cd /t && insmod stackbuf.ko && insmod mine.ko && rmmod mine || exit
		tr -d '\0' </sys/kernel/debug/stackbuf/text
	END
	chmod +x "$work/vm/example/run" &&
		"$top/scripts/stackbuf-vm" -m 256 "$work/vm/example" >"$work/text" || return
	grep -E '^mine_(init|exit)\+0x[0-9a-f]+/0x[0-9a-f]+ \[mine\]$' "$work/text" | cut -d+ -f1 >"$work/got"
	printf 'mine_init\nmine_exit\n' | diff - "$work/got" || { cat "$work/text"; return 1; }
}

{
	result "make demo succeeds" exits
	result "both sessions are there, with source lines" has_both
	result "README.md's transcript has the shape of today's" same_shape
	result "what README.md has make do, it can do" targets
	result "commands and options in README.md exist" options
	result "parameters in README.md are those of the module" parameters
	result "sizes in README.md are those of the Makefile" defaults
	result "files and calls named in README.md and docs exist" calls
	result "the example in README.md is built, loaded and recorded as it says" example
	echo "done"
} | ktap
