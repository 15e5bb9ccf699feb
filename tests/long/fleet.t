#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# docs/fleet.md: its commands and queries are taken from the page and run with two servers of
# ClickHouse on loopback, on two million events of three made-up machines.  What they answer is compared with what
# was made.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=../host/tools.sh
. "${BASH_SOURCE[0]%/*}/../host/tools.sh"

page=docs/fleet.md
# Events of each host, and pages of a ring that holds them
events=(700000 800000 500000)
pages=9000
servers=()

stop() {
	local server
	for server in "${servers[@]}"; do
		kill "$server" && wait "$server"
	done 2>/dev/null
	servers=()
}

# The lines of a part of the page, without the marks of its block
text() { part "$page" "$1" | sed '/^```/d'; }

# query PART: the answer of the page's query
query() { clickhouse-client --query "$(text "$1")"; }

# commands PART: runs the page's commands in $home
commands() {
	local line
	text "$1" | sed -n 's/^\$ //p' >"$work/commands" && [ -s "$work/commands" ] || return
	while IFS= read -r line <&3; do
		(cd "$home" && eval "$line") 3<&- || { echo "failed: $line"; return 1; }
	done 3<"$work/commands"
}

# serve N: starts server N in its own directory
serve() {
	local at=$work/server$1
	mkdir -p "$at"
	cat >"$at/config.xml" <<END
<yandex>
	<logger><level>warning</level><console>1</console></logger>
	<listen_host>127.0.0.1</listen_host>
	<tcp_port>${port[$1]}</tcp_port>
	<path>$at/data/</path>
	<tmp_path>$at/tmp/</tmp_path>
	<users_config>users.xml</users_config>
	<default_profile>default</default_profile>
	<default_database>default</default_database>
	<mark_cache_size>104857600</mark_cache_size>
	<timezone>UTC</timezone>
	<remote_servers><racks>
		<shard><replica><host>127.0.0.1</host><port>${port[0]}</port></replica></shard>
		<shard><replica><host>127.0.0.1</host><port>${port[1]}</port></replica></shard>
	</racks></remote_servers>
</yandex>
END
	cat >"$at/users.xml" <<END
<yandex>
	<profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
	<users><default>
		<password></password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota>
	</default></users>
	<quotas><default></default></quotas>
</yandex>
END
	(cd "$at" && exec clickhouse-server --config-file="$at/config.xml") >"$at/log" 2>&1 &
	servers+=($!)
}

# Both answer
answer() {
	local n tries
	for n in 0 1; do
		for ((tries = 0; tries < 120; tries++)); do
			[ "$(PORT=${port[n]} clickhouse-client --query 'SELECT 1' 2>/dev/null)" = 1 ] && continue 2
			kill -0 "${servers[n]}" 2>/dev/null || break
			sleep 0.5
		done
		tail -n 5 "$work/server$n/log"
		return 1
	done
}

made() {
	local n
	for n in 0 1 2; do
		"$fake" "$home/host$n.snapshot" host $n "${events[n]}" $pages >"$work/made$n" || return
	done
}

tables() {
	local n
	for n in 0 1; do PORT=${port[n]} query events && PORT=${port[n]} query fleet || return; done
}

load() {
	commands load || { grep -h Exception "$work"/server*/log | cut -c 1-300 | tail -n 3; return 1; }
	[ "$(clickhouse-client --query 'SELECT count() FROM fleet')" = 2000000 ] || return
	# All events of a host are on one server, and both have some
	[ "$(for n in 0 1; do PORT=${port[n]} clickhouse-client --query 'SELECT DISTINCT host FROM events'; done | sort | tr '\n' ' ')" = 'host0 host1 host2 ' ] &&
		[ "$(PORT=${port[1]} clickhouse-client --query 'SELECT count() > 0 AND count() < 2000000 FROM events')" = 1 ]
}

hosts() {
	local n
	query hosts >"$work/answer" && cut -f 1-3 "$work/answer" | diff - <(for n in 0 1 2; do printf 'host%d\t6.1.%d-made\t%d\n' $n $n "${events[n]}"; done) || return
	# As MADE_INSTANCE and host() of fake.c have it
	cut -f 4 "$work/answer" | diff - <(for n in 0 1 2; do date -u -d @1700000000 '+%F %T'; done)
}

# against_made PART: compares the answer of a query on standard input with what fake said
against_made() {
	python3 - "$work" "$1" <<'END'
import sys
work, part = sys.argv[1:]
made = [dict(map(int, line.split()) for line in open(f"{work}/made{n}")) for n in range(3)]
def folded(k):
    return ";".join(f"fleet_{k}_{i}_[made]" for i in reversed(range(20)))
got = [line.rstrip("\n").split("\t") for line in open(work + "/answer")]
events = [sum(m.values()) for m in made]
if part == "top":
    want = [[str(sum(m[k] for m in made)), str(sum(m[k] > 0 for m in made)), folded(k)] for k in made[0]]
    want = sorted(want, key=lambda w: (-int(w[0]), w[2]))[:10]
    assert got == want, (got, want)
else:
    want = []
    for k in made[0]:
        here = round(100 * made[1][k] / events[1], 3)
        elsewhere = round(100 * (made[0][k] + made[2][k]) / (events[0] + events[2]), 3)
        want.append((here - elsewhere, made[1][k], here, elsewhere, folded(k)))
    want.sort(reverse=True)
    assert len(got) == 5 and got[0][3] == folded(7), got
    by_stack = {w[4]: w for w in want}
    for line in got:
        change, n, here, elsewhere, stack = by_stack[line[3]]
        assert int(line[0]) == n and abs(float(line[1]) - here) < 0.0011 and abs(float(line[2]) - elsewhere) < 0.0011, (line, by_stack[line[3]])
        assert change >= want[4][0] - 0.003, line
END
}

top() { query top >"$work/answer" && against_made top; }

rest() { query rest >"$work/answer" && against_made rest; }

# As host() of fake.c has it: event i has tag 0xffff888100000000 + i % 64 if 3 divides i, and PID 100 + i / 5 % 40
tag() {
	query tag >"$work/answer" && python3 - "${events[2]}" <<'END' | diff - "$work/answer"
import collections, sys
n = collections.Counter((100 + i // 5 % 40, "worker" if i // 5 % 2 else "init") for i in range(int(sys.argv[1])) if i % 3 == 0 and i % 64 == 3)
for (pid, comm), count in sorted(n.items()):
    print("host2", comm, pid, count, sep="\t")
END
}

flame() {
	commands flame && [ "$(awk '{ n += $NF } END { print n }' "$home/hot")" = $((events[1] / 2)) ] &&
		grep -q "<title>all ($((events[1] / 2)) events, 100.00 %)</title>" "$home/hot.svg" && grep -q '<title>fleet_7_0 \[made\] (' "$home/hot.svg"
}

difference() {
	commands diff >"$work/said" 2>"$work/err" || { cat "$work/said" "$work/err"; return 1; }
	grep -q "<title>all (before: $((events[0] + events[2])) events, 100.00 %; after: ${events[1]} events, 100.00 %)</title>" "$home/diff.svg" &&
		grep -q '^  fleet_7_0 \[made\]$' "$work/said" && grep -q '(more)$' "$work/said" || { cat "$work/said"; return 1; }
}

# timed WHAT FUNCTION: its result, with the seconds that it took
timed() {
	local start=$EPOCHREALTIME
	result "$1" "$2"
	awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "# %.1f s\n", to - from }'
}

all_tests() {
	if ! command -v clickhouse-server >/dev/null || ! command -v clickhouse-client >/dev/null; then
		echo "ok the commands of $page # SKIP clickhouse-server and clickhouse-client are not installed"
		return
	fi
	read -ra port < <(python3 -c '
import socket
all = [socket.socket() for _ in range(2)]
for s in all: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])')
	export HOME=$work/home
	home=$HOME
	mkdir "$home" "$work/bin"
	# The page's clickhouse-client asks the first server
	# shellcheck disable=SC2016 # for that script
	printf '#!/bin/sh\nexec %s --host 127.0.0.1 --port "${PORT:-%s}" "$@"\n' "$(command -v clickhouse-client)" "${port[0]}" >"$work/bin/clickhouse-client"
	chmod +x "$work/bin/clickhouse-client"
	PATH=$work/bin:$tools:$PATH
	# This runs in a shell of its own, which has none of its parent's traps
	trap stop EXIT
	trap 'exit 1' HUP INT TERM
	serve 0
	serve 1
	result 'two servers run' answer
	timed 'three snapshots with two million events are made' made
	result 'the tables of the page' tables
	timed 'they are loaded' load
	timed 'hosts and kernels' hosts
	timed 'the most frequent stacks of the fleet' top
	timed 'one host against the rest' rest
	timed 'events with a tag' tag
	timed 'a flame graph of an answer' flame
	timed 'the difference of two answers' difference
	stop
}

with_tools all_tests all "$fake"
