#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Folded stacks as a source: what "stackbuf count --folded" prints is read back.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

records() {
	"$fake" "$dir/options" options && "$fake" "$dir/many" 5003 &&
		"$plain" -f "$dir/options" count --folded >"$dir/folded" && "$plain" -f "$dir/many" count --folded >"$dir/other"
}

# What was printed is printed again, with modules, and cut stacks
again() {
	"$sane" -f "$dir/folded" count --folded | cmp - "$dir/folded" && grep -q '_\[made\]' "$dir/folded" &&
		grep -q 'more frames were not kept' "$dir/folded" || return
	# A command's name that begins as a comment does
	cp -r "$dir/options" "$dir/hash" && sed -i 's/worker/#orker/' "$dir/hash"/* && "$sane" -f "$dir/hash" log --folded >"$dir/text" &&
		grep -q '^_orker;' "$dir/text" && "$sane" -f "$dir/text" count --folded | sort | cmp - <(sort "$dir/text") || return
	"$sane" -f "$dir/folded" count --json >"$dir/out" && "$plain" -f "$dir/options" count --json >"$dir/want" || return
	# Names are as they were given
	python3 - "$dir" <<'END'
import json, sys
def read(name):
    return sorted((s["count"], s["cut"], [f.split("+0x")[0] + ("_[" + f.split("[")[1] if "+0x" in f and "[" in f else "")
                   for f in s["frames"]]) for s in map(json.loads, open(sys.argv[1] + "/" + name)))
assert read("out") == read("want"), (read("out"), read("want"))
END
}

# What other formats of the same record say is the same, or is not read
decoded() {
	local as
	for as in count 'count --percent' log; do
		# shellcheck disable=SC2086 # words
		"$plain" -f "$dir/options" $as | "$sane" decode --folded 2>"$dir/err" | sort | cmp - <(sort "$dir/folded") && [ ! -s "$dir/err" ] || return
	done
	# Where the names are from follows the total
	cp -r "$dir/options" "$dir/named" && truncate -s 0 "$dir/named/text" && truncate -s 2M "$dir/named/text" || return
	printf 'ffffffff81234500 T stack_trace_save\nffffffff81234700 T middle\nffffffff81234800 T inner\nffffffff81300000 T end\n%s\n' \
		'ffffffffc0000000 t far [mod]' >"$dir/named/kallsyms"
	"$plain" -f "$dir/named" count >"$dir/out" && grep -q '600  (names from kallsyms)' "$dir/out" &&
		"$sane" decode --folded "$dir/out" 2>"$dir/err" | sort | cmp - <("$plain" -f "$dir/named" count --folded | sort) && [ ! -s "$dir/err" ] || return
	"$plain" -f "$dir/options" count --json | "$sane" decode --folded >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/out" ] &&
		grep -q 'lines of JSON are left out' "$dir/err"
}

# The graph is that of the record
graph() {
	"$sane" -f "$dir/folded" count --flame "$dir/a.svg" && "$plain" -f "$dir/options" count --flame "$dir/b.svg" &&
		diff <(grep -o '<title>[^<]*' "$dir/a.svg") <(grep -o '<title>[^<]*' "$dir/b.svg" | sed 's/ \[made\]/_[made]/')
}

differences() {
	"$sane" diff "$dir/folded" "$dir/folded" 2>&1 >"$dir/out" | cmp - /dev/null &&
		"$sane" diff --folded "$dir/folded" "$dir/other" 2>/dev/null | sort | diff - <("$plain" diff --folded "$dir/options" "$dir/many" 2>/dev/null | sort) &&
		"$sane" diff "$dir/folded" "$dir/options" 2>/dev/null | tail -n 1 | grep -q '^0 new, 0 gone, 0 more, 0 fewer,'
}

# Text of other programs: equal stacks are added up, names stay as they are
others() {
	printf '%s\n' 'sh;main;[unknown];x_[m] 3' '' 'swapper/0;a b;y 18446744073709551600' 'sh;main;[unknown];x_[m] 4' ';z 1' >"$dir/text" || return
	"$sane" -f "$dir/text" count --folded >"$dir/out" && diff - "$dir/out" <<-'END'
		?;z 1
		sh;main;[unknown];x_[m] 7
		swapper/0;a b;y 18446744073709551600
	END
}

# Text that is almost folded stacks is named by what it is, as a file and as a part of one
almost() {
	local input words
	while IFS='|' read -r input words; do
		# shellcheck disable=SC2059 # escapes are meant
		printf "$input" >"$dir/text" && refused 1 "text: is text, almost folded stacks: $words" -f "$dir/text" count || return
		# shellcheck disable=SC2059
		printf "a;b 3\n$input" | "$sane" -f - count 2>&1 >/dev/null | grep -q "left out, the first is line 2: $words" || { echo "$input"; return 1; }
	done <<-'END'
		      5 cat;a;b\n      7 cat;a\n|counts come first, as uniq -c prints them: put them last
		a;b,5\n|counts follow a comma
		a;b 5 # c\n|counts are not the last words
		a;b\n|lines have no count
		P1;T2;main 1,2,3\n|lines have several counts, as of Austin
	END
	printf ' vfs_read+0x15d/0x370\n' >"$dir/text" && refused 1 'is text: it holds stack traces: stackbuf decode reads them' -f "$dir/text" count
}

# gives INPUT OUTPUT [WORDS]: what is read of the text, and the line on standard error
gives() {
	# shellcheck disable=SC2059 # escapes are meant
	printf "$1" >"$dir/text" && "$sane" -f "$dir/text" count --folded >"$dir/out" 2>"$dir/err" || { cat "$dir/err"; return 1; }
	# shellcheck disable=SC2059
	printf "$2" | diff - "$dir/out" || return
	if [ "${3-}" ]; then
		[ "$(wc -l <"$dir/err")" = 1 ] && grep -qF "$3" "$dir/err"
	else
		[ ! -s "$dir/err" ]
	fi || { cat "$dir/err"; return 1; }
}

# Forms that flamegraph.pl and inferno take, and lines that are left out
forms() {
	gives '# stackcollapse 1.0\n\na;b 5\na;b\t6\na;c 7 \n' 'a;c 7\na;b 11\n' &&
	gives 'a;b 1\r\n\r\na;c 1\r\n' 'a;b 1\na;c 1\n' && gives 'a;b   3' 'a;b 3\n' &&
	gives 'm;char[]_[i] 10\nm;char[] 5\nm;x::operator[] 3\nm;x::operator() 4\nm;f_[k] 1\nm;f_[j] 2\n' \
		'm;f_[k] 1\nm;f_[j] 2\nm;x::operator[] 3\nm;x::operator() 4\nm;char[] 5\nm;char[]_[i] 10\n' &&
	gives 'a;f+0x12/0x80 1\na;f+0x14/0x80 2\na;f [x] 3\na;f_[x] 4\na;thread 12 5\na;b 6\n' \
		'a;f+0x12/0x80 1\na;f+0x14/0x80 2\na;f [x] 3\na;f_[x] 4\na;thread 12 5\na;b 6\n' || return
	gives 'a;b 5\na;b 12.5\na;c -3\n' 'a;b 5\n' '2 lines are left out, the first is line 2: its count is not a whole number' &&
	gives 'a;b 3\na;b\na;b\0c 4\n' 'a;b 3\n' '2 lines are left out, the first is line 2: lines have no count at their end' &&
	gives 'a;b 5\rc;d 6\r' 'a;b 5\nc;d 6\n' && gives 'a;b\357\277\276\302\233 5\n' 'a;b????? 5\n' &&
	gives '\357\273\277a;b 3\n' 'a;b 3\n' &&
	gives 'Attaching 1 probe...\n\na;b 3\n' 'a;b 3\n' '1 line is left out, the first is line 1: it is not a stack' &&
	gives 'a;b 3\na 99999999999999999999\n' 'a;b 3\n' '1 line is left out, the first is line 2: its count' &&
	gives "a;b 3\n$(printf 'f;%.0s' {1..30000})f 1\n" 'a;b 3\n' '1 line is left out, the first is line 2: it has more than 30000 frames' || return
	# A first line of 124 KiB; comments before; a pipe
	{ echo '# one'; seq -s ';' 20000; } | sed '2s/$/ 3/' >"$dir/deep" && [ "$(stat -c %s "$dir/deep")" -gt 108000 ] &&
		"$sane" -f "$dir/deep" count --folded | cmp - <(tail -n 1 "$dir/deep") &&
		"$sane" -f <(cat "$dir/deep") count --folded | cmp - <(tail -n 1 "$dir/deep") || return
	cd "$dir" && printf 'a;b 12.5\n' >text && refused 1 'text: no line is a folded stack; line 1: its count is not a whole number' -f text count &&
		printf 'a;b 12 34\na;c 5 0\n' >text && refused 1 'has two counts per line, as diff --folded writes a difference' -f text count &&
		"$plain" diff --folded folded other >text 2>err && refused 1 'has two counts per line' -f text count || return
	printf 'a;b 18446744073709551615\na;c 1\n' >text && refused 1 'text: line 2: the total is beyond 64 bits' -f text count || return
	# Characters are not cut
	printf 'a;b 9999990\nmain;größe;größenänderungsbehälter 10\n' >text && "$sane" -f text count --flame text.svg &&
		grep -q '<title>größe (10 events' text.svg && python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' text.svg || return
	# Doubles would round them
	printf 'a 9007199254740993\n' >text && "$sane" -f text count --flame text.svg && grep -q '<title>a (9007199254740993 events' text.svg || return
	echo 'a 9007199254740992' >text2 && "$sane" diff text text2 | grep -qx '    9007199254740993 -> 9007199254740992  -1  (fewer)' || return
	echo 'd 9223372036854775900' >text && echo 'e 1' >text2 && "$sane" diff text text2 | grep -qx '    9223372036854775900 -> 0  -9223372036854775900  (gone)' || return
	# Addresses of two files are two places
	printf 'a;0xffffffff81000010 5\n' >text && cp text text2 && "$sane" diff text text2 2>err | tail -n 1 | grep -q '^1 new, 1 gone'
}

# Several files and standard input are added up; --prefix tells them apart
several() {
	cd "$dir" || return
	cp folded again && "$sane" -f folded -f other -f - count --folded <again | sort >sum &&
		cat folded folded other | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) print s, sum[s] }' | sort | cmp - sum || return
	"$sane" -f options count --folded --prefix 'web 1' | diff - <(sed 's/^/web 1;/' folded) &&
		{ "$plain" -f options count --folded --prefix a; "$plain" -f many count --folded --prefix b; } >both &&
		"$sane" -f both count --folded | sort | diff - <(sort both) || return
	"$sane" -f both count --flame both.svg && grep -q '<title>a (1000 events' both.svg && grep -q '<title>b (5003 events' both.svg || return
	echo '#' | "$sane" -f - count --json 2>err && grep -q 'the record holds none' err
}

# The commands of docs/fleet.md
few_machines() {
	local line
	mkdir "$dir/fleet" && cd "$dir/fleet" && "$fake" web1.snapshot host 1 3000 && "$fake" db1.snapshot host 2 500 || return
	while IFS= read -r line; do
		(export PATH=$tools:$PATH && eval "$line") || return
	done < <(part docs/fleet.md few | sed -n 's/^\$ //p')
	grep -q '<title>web1 (3000 events' all.svg && grep -q '<title>db1 (500 events' all.svg
}

refusals() {
	cd "$dir" || return
	refused 1 'which count and diff read' -f folded log && refused 1 'which count and diff read' -f folded info &&
		refused 2 'stackbuf -f folded count --function vfs_read' -f folded count vfs_read && refused 1 'no filter can choose among events' -f folded count --comm a &&
		refused 1 'are for the record of one machine' -f folded count --lines || return
	printf 'a;b 18446744073709551615\n' >text && printf 'a;b 1\n' >text2 &&
		refused 1 "text2: line 1: the total is beyond 64 bits" -f text -f text2 count &&
		refused 1 'folded: holds folded stacks, and options does not' -f folded -f options count &&
		refused 2 '--prefix is for --folded' -f folded count --prefix a && refused 2 'the name of one frame' -f folded count --folded --prefix 'a;b' &&
		refused 2 'the name of one frame' -f folded count --folded --prefix '' && refused 2 '--prefix is not for "log"' -f options log --prefix a || return
	refused 1 'is a pipe: from one, folded stacks alone are read' -f - log <folded || return
	# What has no line end is not kept
	(echo 'a;b 3' && head -c 17M /dev/zero && printf '\na;b 4') | "$sane" -f - count --folded >out 2>err &&
		[ "$(cat out)" = 'a;b 7' ] && grep '1 line is left out, the first is line 2: it has more than 16 MiB$' err || return
	# Neither is taken for folded stacks
	printf 'some text\n' >text && refused 1 'is neither a snapshot nor a dump' -f text count && : >text && refused 1 'is empty' -f text log || return
	refused 1 'standard input: is empty' -f - count <text || return
	# A record without events
	printf '#\n' | "$plain" -f - count 2>want && printf '# no stack\n\n' >text2 && "$sane" -f text count 2>err && sed 1d err | cmp - want && head -n 1 err | grep -qx 'stackbuf: text: is empty: taken for folded stacks.*' &&
		"$sane" -f text2 count 2>err && cmp err want && "$sane" diff text folded >out && tail -n 1 out | grep -q ' 0 gone,' || return
	refused 2 'it can be read once' diff - - && refused 2 'it can be read once' -f - -f - count
}

all_tests() {
	result 'records and their folded stacks are made' records
	result 'what was printed is read back' again
	result 'other formats of the record, decoded, are the same stacks and totals' decoded
	result 'the flame graph is that of the record' graph
	result 'differences are those of the records' differences
	result 'text of other programs' others
	result 'forms that other programs write; what is no stack is left out, and said' forms
	result 'text that is almost folded stacks is named by what it is' almost
	result 'several files, standard input, --prefix' several
	result 'docs/fleet.md: a few machines in one graph' few_machines
	result 'what makes no sense is refused' refusals
}

with_tools all_tests tests
