#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# proof.t: what tests/proof writes into docs/runs.md and docs/testing.md, tried with a made-up
# test in a separate repository

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

tree=$work/tree
mkdir -p "$tree"/{core,docs,tests/long,tools,scripts}
cp "$here"/{proof,proof-tables,run} "$tree/tests/"
for file in core/a.c tools/b.c stackbuf.c stackbuf.h; do
	echo "/* $file */" >"$tree/$file"
done
cat >"$tree/scripts/stackbuf-setup" <<'END'
#!/bin/sh
END
cat >"$tree/scripts/stackbuf-kernel" <<'END'
#!/bin/sh
mkdir -p "$0-cache" && echo 1.2.3 >"$0-cache/release" && echo "$0-cache"
END
# The made-up test has two results; the file second decides about the second
cat >"$tree/tests/module.t" <<'END'
#!/bin/sh
second=$(cat "${0%/tests/*}/second")
echo "KTAP version 1"
echo "1..3"
echo "# attempted 7 recorded 5 refused 2"
echo "ok 1 it is so"
echo "$second 2 so is $SERIES"
echo "ok 3 nor that # SKIP no such thing"
[ "$second" = ok ]
END
cp "$tree/tests/module.t" "$tree/tests/recall.t"
cp "$tree/tests/module.t" "$tree/tests/long/fuzz.t"
chmod +x "$tree"/scripts/* "$tree"/tests/*.t "$tree"/tests/long/*.t
marks() {
	for mark in "$@"; do
		printf '<!-- %s -->\n<!-- /%s -->\n' "$mark" "$mark"
	done
}
{
	echo before
	marks "debug a module" "debug a recall" "debug b module" "debug b recall" "arm64 c-arm64 module" "fuzz"
	echo after
} >"$tree/docs/runs.md"
printf '%s\n' "before" "<!-- tables -->" "what was there" "<!-- /tables -->" "after" >"$tree/docs/testing.md"
echo ok >"$tree/second"
printf '%s\n' build second 'scripts/*-cache' >"$tree/.gitignore"

git() {
	command git -C "$tree" -c user.name=me -c user.email=me@localhost -c commit.gpgsign=false \
		-c init.defaultBranch=main "$@"
}

commit() {
	git add -A && git commit -q -m "$1"
}

# The version that a run names
version() {
	git describe --always
}

proof() {
	env -u MAKEFLAGS TESTS="module" "$tree/tests/proof" "$@"
}

# cells KERNEL: its row of the table without dates
cells() {
	grep "^| $1 |" "$tree/docs/testing.md" | sed -E 's/ [-0-9]{10}( to [-0-9]{10})? / D /'
}

# is TEXT: standard input is this text
is() {
	local got

	got=$(cat)
	[ "$got" = "$1" ] && return
	printf 'want %s\ngot  %s\n' "$1" "$got"
	return 1
}

passes() {
	SERIES=a proof debug && cells a | is "| a | 2/0/1 |  | D | \`$(version)\` |" &&
		cells b | is "| b |  |  | not run | |"
}

log_kept() {
	sed -n '/^<!-- debug a module -->$/,/^<!-- \/debug a module -->$/p' "$tree/docs/runs.md" >"$work/part"
	grep -qE "^\* a \(1\.2\.3\) module: $(date -u +%Y)-..-.., [01] minutes, stackbuf at $(version): \*\*2 passed, 0 failed, 1 skipped\*\*$" "$work/part" &&
		grep -qxF '  * 7 saves attempted, of which 5 recorded and 2 refused and counted' "$work/part" &&
		grep -qxF '  * skipped: nor that: no such thing' "$work/part" || { cat "$work/part"; return 1; }
}

rest_kept() {
	sed '/^<!-- tables/,/^<!-- .tables/d' "$tree/docs/testing.md" | tr '\n' ' ' | is "before after " &&
		sed '/^<!-- debug a module/,/^<!-- .debug a module/d' "$tree/docs/runs.md" | grep -vc '^<!-- ' | is 2 &&
		! grep -q 'what was there' "$tree/docs/testing.md"
}

# A test that fails makes the run fail, and its row shows that
fails() {
	echo "not ok" >"$tree/second"
	SERIES=b proof debug && return 1
	echo ok >"$tree/second"
	cells b | is "| b | **1/1/1** |  | D | \`$(version)\` |" &&
		grep -qxF '  * failed: so is b' "$tree/docs/runs.md"
}

# Rows of other kinds of runs
others() {
	SERIES=c-arm64 proof arm64 && cells c-arm64 | is "| c-arm64 | 2/0/1 |  | D | \`$(version)\` |" &&
		cells a | is "| a | 2/0/1 |  | D | \`$(version)\` |" &&
		cells b | is "| b | **1/1/1** |  | D | \`$(version)\` |" &&
		grep '^| fuzz ' "$tree/docs/testing.md" | is '| fuzz |  |  |  | not run |  |'
}

unchanged() {
	cp "$tree/docs/testing.md" "$work/page"
	commit results && "$tree/tests/proof-tables" && cmp "$work/page" "$tree/docs/testing.md" &&
		"$tree/tests/proof-tables" -c
}

# runs_out KERNEL: its row shows that no run counts
runs_out() {
	cells "$1" | sed -E 's/[-0-9]{10}/D/' | is "| $1 |  |  | not since D | |"
}

# Changes that make a run's result outdated, and changes that do not
remarks() {
	local first

	first=$(version)
	proof fuzz 1 && SERIES=a proof debug || return
	commit runs
	echo 'int tools;' >>"$tree/tools/b.c" && "$tree/tests/proof-tables" &&
		cells a | is "| a | 2/0/1 |  | D | \`$first\` |" &&
		grep "^| fuzz |  |  |  | not since $(date -u +%Y)-..-.. |  |" "$tree/docs/testing.md" || return
	commit tools
	# A comment does not
	echo '/* core */' >>"$tree/core/a.c" && "$tree/tests/proof-tables" -c || return
	echo 'int core;' >>"$tree/core/a.c"
	"$tree/tests/proof-tables" -c >"$work/diff" 2>&1 && { echo "not noticed"; return 1; }
	grep '^+| a |  |  | not since ' "$work/diff" && "$tree/tests/proof-tables" && runs_out a || return
	commit core
	"$tree/tests/proof-tables" -c || return
	SERIES=a proof debug && cells a | is "| a | 2/0/1 |  | D | \`$(version)\` |"
}

dirty() {
	echo '/* more */' >>"$tree/core/a.c"
	SERIES=a proof debug && runs_out a
}

interrupted() {
	cp "$tree/docs/runs.md" "$work/runs"
	cp "$tree/docs/testing.md" "$work/page"
	cp "$tree/tests/run" "$work/run"
	printf '#!/bin/sh\necho "KTAP version 1"; echo 1..1; exit 130\n' >"$tree/tests/run"
	SERIES=a proof debug && return 1
	cp "$work/run" "$tree/tests/run"
	cmp "$work/runs" "$tree/docs/runs.md" && cmp "$work/page" "$tree/docs/testing.md"
}

{
	result "a repository for the test" eval 'git init -q && commit first'
	result "a run that passes has its result, date and commit in the table" passes
	result "... and its log" log_kept
	result "... and nothing else changes" rest_kept
	result "a run that fails is bold, and the failure is named" fails
	result "each kernel has a row" others
	result "the tables are the same after the results are committed" unchanged
	result "a run counts no longer when the code it was about changes, and only then" remarks
	result "a run of uncommitted code does not count" dirty
	result "an interrupted run changes nothing" interrupted
	echo "done"
} | ktap
