# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# tools.sh - shared by the tests of the command stackbuf on this machine

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

export TZ=UTC LC_ALL=C ASAN_OPTIONS=detect_leaks=1
# shellcheck disable=SC2034 # for those that include this
plain=$tools/stackbuf
asan=$tools/asan
# Sanitizers triple the time of a command: reader.t has them always
sane=$plain
! thorough || sane=$asan/stackbuf
# shellcheck disable=SC2034
fake=$tools/fake
# The name has blanks, which must do no harm
dir="$work/made for the tests"
mkdir "$dir" || exit 1

# unit NAME PROGRAM: the results of a program that prints them with numbers and a plan
unit() {
	local line planned=0 seen=0 status=0
	mkdir "$dir/$1"
	(cd "$dir/$1" && "$2") >"$dir/$1.out" 2>"$dir/$1.err" || status=$?
	while read -r line; do
		case $line in
		1..*) planned=${line#1..} ;;
		"ok "*) seen=$((seen + 1)); echo "ok $1: ${line#ok * }" ;;
		"not ok "*) seen=$((seen + 1)); echo "not ok $1: ${line#not ok * }" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$dir/$1.out"
	# With a leak it fails at its end
	if [ "$seen" -eq 0 ] || [ "$seen" -ne "$planned" ] || [ "$status" != 0 ]; then
		echo "not ok $1: all tests came to their end"
		head -n 40 "$dir/$1.err" | sed 's/^/# /'
	fi
}

# refused CODE WORDS ARGUMENT...: exit code, one line on stderr with WORDS, nothing on stdout
refused() {
	local code=$1 words=$2
	shift 2
	"$sane" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$code" ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" = 1 ] &&
		grep -qF -- "$words" "$dir/err" && return
	echo "stackbuf $* said:"
	cat "$dir/out" "$dir/err"
	return 1
}

# with_tools FUNCTION TARGET...: numbers the results of the function, which needs these targets
# of tools/Makefile
with_tools() {
	{
		if build_tools "${@:2}"; then
			"$1"
		else
			echo "not ok the command and its tests build"
		fi
		echo "done"
	} | ktap
}
