#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# "stackbuf metrics" on made-up arrays: promtool accepts what it writes, and what Prometheus answers
# after it has scraped node_exporter is what the record holds.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

a="$dir/few events" b=$dir/later c=$dir/reloaded prom=$dir/textfile/stackbuf.prom
trap 'stop; rm -rf -- "$work"' EXIT

# Results are functions in shells of their own: what they start is in a file
stop() {
	local pid
	[ -e "$dir/pids" ] || return
	while read -r pid; do
		kill "$pid" && while kill -0 "$pid"; do sleep 0.1; done
	done <"$dir/pids" 2>/dev/null
	rm "$dir/pids"
}

records() {
	mkdir "$dir/textfile" && "$fake" "$a" 1000 counted && "$fake" "$b" 5000 evicted && "$fake" "$c" 10 evicted &&
		LC_ALL=C perl -0pi -e 's/\x15\xcd\x85\x3d\xfe\x9c\x97\x17/\x16\xcd\x85\x3d\xfe\x9c\x97\x18/g' "$c"/{info,events,stacks}
}

# series FILE: NAME{LABELS} VALUE of each, sorted by name; fails if one is there twice
series() {
	grep -v '^#' "$1" | sort >"$dir/series" && [ -s "$dir/series" ] &&
		[ -z "$(sed 's/ [^ ]*$//' "$dir/series" | uniq -d)" ]
}

# of FILE NAME: the value of a series
of() { awk -v name="$2" 'substr($0, 1, length(name) + 1) == name " " { print $NF }' "$1"; }

accepted() {
	local record
	for record in "$a" "$b" "$c"; do
		"$sane" -f "$record" metrics --top 100 >"$dir/out" && series "$dir/out" || return
		promtool check metrics <"$dir/out" >"$dir/err" 2>&1 && [ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	done
}

# The query of the manual page: one event in five was refused, for two reasons
query() {
	cat >"$dir/query.yml" <<-END || return
		rule_files: [rules.yml]
		tests:
		- interval: 1m
		  input_series:
		  - { series: 'stackbuf_events_total{instance="h"}', values: '0+100x20' }
		  - { series: 'stackbuf_events_refused_total{instance="h",reason="off"}', values: '0+10x20' }
		  - { series: 'stackbuf_events_refused_total{instance="h",reason="nested"}', values: '0+10x20' }
		  promql_expr_test:
		  - { expr: lost, eval_time: 15m, exp_samples: [ { labels: 'lost{instance="h"}', value: 0.2 } ] }
	END
	printf 'groups: [ { name: g, rules: [ { record: lost, expr: "%s" } ] } ]\n' \
		"$(sed -n '/as a query:/,/^\.EE/s/^sum.*/&/p' "$top/man/stackbuf-metrics.8")" >"$dir/rules.yml"
	promtool test rules "$dir/query.yml" >"$dir/out" 2>&1 || { cat "$dir/rules.yml" "$dir/out"; return 1; }
}

# Each number that info has as well; sums over reasons are those that info calls refused
as_info() {
	"$sane" -f "$b" metrics --top 3 >"$dir/out" && "$plain" -f "$b" info --json >"$dir/info" && "$plain" -f "$b" count --json >"$dir/count" || return
	python3 - "$dir" <<'END'
import json, re, sys
def read(name): return open(sys.argv[1] + "/" + name).read()
info = json.loads(read("info"))
stacks = {s["stack"]: s["count"] for s in map(json.loads, read("count").splitlines())}
have = {}
for line in read("out").splitlines():
    if line[0] != "#":
        series, value = line.rsplit(" ", 1)
        have[series] = float(value)
def reasons(name): return sum(v for s, v in have.items() if s.startswith(name + "{"))
p = "stackbuf_"
for series, key in (("events_total", "events_recorded"), ("events_recalled_total", "events_recalled"), ("ring_events", "events_in_ring"),
                    ("ring_overwritten_total", "events_overwritten"), ("ring_size_bytes", "events_bytes"), ("events_cut_total", "cut"),
                    ("events_verified_total", "verified"), ("prints_refused_total", "lost_print"), ("stacks", "stacks"),
                    ("stacks_evicted_total", "stacks_evicted"), ("evicted_stacks_events_total", "evicted_events"),
                    ('events_refused_total{reason="off"}', "lost_off"), ('events_refused_total{reason="nested"}', "lost_nested"),
                    ('events_refused_total{reason="table_full"}', "lost_table"), ('events_refused_total{reason="no_page"}', "lost_page"),
                    ('events_refused_total{reason="no_frame"}', "lost_empty"), ('events_left_out_total{reason="filter"}', "kept_out"),
                    ('events_left_out_total{reason="sampling"}', "not_sampled"), ('events_left_out_total{reason="limit"}', "over_limit"),
                    ('events_walked_total{reason="new_stack"}', "walked_new"), ('events_walked_total{reason="other_stack"}', "walked_elsewhere"),
                    ('events_walked_total{reason="unfit"}', "walked_unfit"), ('events_walked_total{reason="other_layout"}', "walked_again"),
                    ('events_walked_total{reason="differed"}', "differed")):
    assert have[p + series] == info[key], (series, have[p + series], info[key])
assert reasons(p + "events_refused_total") == info["events_refused"]
assert have[p + "events_total"] == have[p + "events_recalled_total"] + reasons(p + "events_walked_total")
assert have[p + "load_time_seconds"] == float(info["load_realtime_ns"]) / 1e9
span = (int(info["newest_ns"]) - int(info.get("whole_since_ns", info["oldest_ns"]))) / 1e9
assert abs(have[p + "ring_span_seconds"] - span) < 1e-9 and span
named = re.escape(p + 'build_info{version="7.5-made",srcversion="0123456789ABCDEF01234567",release="6.1.0-made",reader_version="') + '[^"]*"}'
assert [v for s, v in have.items() if re.fullmatch(named, s)] == [1.0]
missed = {"(unknown)": 2, 'a\\\\b\\"c': 0, "vfs_read": 11}
assert {s: v for s, v in have.items() if s.startswith(p + "probe_hits")} == {'%sprobe_hits_missed_total{probe="%s"}' % (p, n): v for n, v in missed.items()}
assert [have[p + 'probe_set{probe="%s"}' % n] for n in missed] == [1, 0, 1]
top = {int(re.search('id="([0-9]+)"', s).group(1)): v for s, v in have.items() if s.startswith(p + "stack_events_total{")}
assert top == dict(sorted(stacks.items(), key=lambda i: (-i[1], i[0]))[:3]), (top, stacks)
assert have[p + "other_stacks_events"] == sum(stacks.values()) - sum(top.values())
# Nothing is lost between the metrics
assert have[p + "events_total"] == sum(top.values()) + have[p + "other_stacks_events"] + have[p + "evicted_stacks_events_total"]
END
}

# The name of a stack is that of --folded; no series has an address
names() {
	"$sane" -f "$a" metrics --top 100 >"$dir/out" || return
	sed -n 's/^stackbuf_stack_events_total{id="[0-9]*",stack="\(.*\)"} \([0-9]*\)$/\1 \2/p' "$dir/out" | sort >"$dir/got"
	"$plain" -f "$a" count --folded | sed 's/0x[0-9a-f]*/(unknown)/g' | sort | diff - "$dir/got" || return
	"$plain" -f "$a" count --folded | grep -q 0xffffa00000012340 || { echo "no address to hide"; return 1; }
	grep '0x[0-9a-f]' "$dir/out" && return 1
	[ "$("$sane" -f "$b" metrics | grep -c ^stackbuf_stack_events_total)" = 8 ] &&
		[ "$("$sane" -f "$b" metrics --top 1 | grep -c ^stackbuf_stack_events_total)" = 1 ]
}

# Of the same load no counter becomes smaller, as when events were overwritten while they were read
never_back() {
	rm -f "$prom"
	"$sane" -f "$b" metrics -o "$prom" --top 100 && cp "$prom" "$dir/first" && "$sane" -f "$a" metrics -o "$prom" --top 100 || return
	[ "$(of "$prom" stackbuf_events_total)" = 5125 ] && [ "$(of "$prom" stackbuf_ring_events)" = 1000 ] || { cat "$prom"; return 1; }
	series "$prom" || return
	join -t $'\t' <(grep -v '^#' "$dir/first" | sed 's/ \([^ ]*\)$/\t\1/' | sort) <(sed 's/ \([^ ]*\)$/\t\1/' "$dir/series" | sort) |
		awk -F '\t' '/^stackbuf_[a-z_]*_total/ && !/^stackbuf_probe_/ { n++; if ($3 < $2) { print; bad = 1 } } END { print n; exit bad || n < 25 }' || return
	# Another load begins at 0
	"$sane" -f "$c" metrics -o "$prom" && [ "$(of "$prom" stackbuf_events_total)" = 135 ] || return
	# What is there and is not ours is no harm
	noise 100000 >"$prom" && "$sane" -f "$c" metrics -o "$prom" && [ "$(of "$prom" stackbuf_events_total)" = 135 ] &&
		[ "$(stat -c %a "$prom")" = 644 ]
}

whole_or_not() {
	local inode
	"$sane" -f "$a" metrics -o "$prom" || return
	inode=$(stat -c %i "$prom")
	"$sane" -f "$a" metrics -o "$prom" && [ "$(stat -c %i "$prom")" != "$inode" ] && [ "$(ls "$dir/textfile")" = stackbuf.prom ] &&
		cmp "$prom" <("$plain" -f "$a" metrics) && cmp "$prom" <("$sane" -f "$a" metrics -o -) || return
	refused 1 'cannot be written' -f "$a" metrics -o "$dir/nowhere/x.prom" && refused 1 'nowhere' -f "$dir/nowhere" metrics -o "$prom" &&
		cmp "$prom" <("$plain" -f "$a" metrics)
}

# As root, nothing is written where another user could have put a link, or could put one now
of_another_user() {
	local file=$dir/others/x.prom refusal='another user owns the directory, or a link to it'
	mkdir "$dir/others" "$dir/links" && chown nobody "$dir/others" && refused 1 "$refusal" -f "$a" metrics -o "$file" &&
		echo old >"$file" && refused 1 "$refusal" -f "$a" metrics -o "$file" && ln -s "$file" "$dir/links/far" &&
		refused 1 "$refusal" -f "$a" metrics -o "$dir/links/far" && [ "$(cat "$file")" = old ] || return
	ln -s "$prom" "$dir/links/near" && "$sane" -f "$a" metrics -o "$dir/links/near" && chown -h nobody "$dir/links/near" &&
		refused 1 "$refusal" -f "$a" metrics -o "$dir/links/near" && [ "$(ls "$dir/others")" = x.prom ] || return
	# What a user asks for by hand is written there
	"$sane" -f "$a" save "$dir/others/record" && [ -s "$dir/others/record" ]
}

# ------------------------------------------------------------ Prometheus ---

ask() { # QUERY: its result, a line each: labels and value
	python3 - "http://$(cat "$dir/address")" "$1" <<'END'
import json, sys, urllib.parse, urllib.request
got = json.load(urllib.request.urlopen(sys.argv[1] + "/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[2]}), timeout=600))
assert got["status"] == "success", got
for one in got["data"]["result"]:
    print(one["metric"].get("reason") or one["metric"].get("probe") or one["metric"].get("stack") or "-", one["value"][1])
END
}

# answers QUERY VALUE: after ten more scrapes that went well, however long they take, another value is an
# answer, too
answers() {
	local before='' scrapes
	while xargs kill -0 <"$dir/pids" 2>/dev/null; do
		[ "$(ask "$1" 2>/dev/null)" != "$2" ] || return 0
		read -r _ scrapes < <(ask 'sum_over_time(up[1d])' 2>/dev/null) || scrapes=0
		before=${before:-$scrapes}
		[ "$scrapes" -lt $((before + 10)) ] || break
		sleep 0.2
	done
	echo "$1: want $2, have:"
	ask "$1"
	tail -n 3 "$dir/prometheus.log" "$dir/exporter.log"
	return 1
}

start() {
	local ports
	mapfile -t ports < <(python3 -c '
import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[one.getsockname()[1] for one in s], sep="\n")')
	echo "127.0.0.1:${ports[0]}" >"$dir/address"
	rm -f "$prom"
	"$sane" -f "$a" metrics -o "$prom" || return
	prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$dir/textfile" \
		--web.listen-address="127.0.0.1:${ports[1]}" >"$dir/exporter.log" 2>&1 &
	echo $! >>"$dir/pids"
	cat >"$dir/prometheus.yml" <<END
global: { scrape_interval: 2s, scrape_timeout: 2s }
scrape_configs: [{ job_name: made, static_configs: [{ targets: ["127.0.0.1:${ports[1]}"] }] }]
END
	promtool check config "$dir/prometheus.yml" >"$dir/out" 2>&1 || { cat "$dir/out"; return 1; }
	prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:${ports[0]}" \
		>"$dir/prometheus.log" 2>&1 &
	echo $! >>"$dir/pids"
	answers stackbuf_events_total '- 1100' && touch "$dir/scraped"
}

queries() {
	[ -e "$dir/scraped" ] || return
	answers node_textfile_scrape_error '- 0' && answers 'sum(stackbuf_events_refused_total)' '- 15' &&
		answers 'stackbuf_events_refused_total{reason="nested"}' 'nested 2' && answers 'stackbuf_probe_hits_missed_total{probe="vfs_read"}' 'vfs_read 11' &&
		answers 'stackbuf_probe_set{probe="a\\b\"c"}' 'a\b"c 0' && answers 'stackbuf_load_time_seconds' '- 1700000000.1234567' &&
		answers 'count(stackbuf_stack_events_total)' '- 9' && answers 'stackbuf_stack_events_total{stack="kept_1_[made];kept_0_[made]"}' 'kept_1_[made];kept_0_[made] 70' &&
		answers 'stackbuf_events_recalled_total / stackbuf_events_total' '- 0.9536363636363636' &&
		answers 'count(count by (__name__) ({__name__=~"stackbuf_.*"}))' "- $(grep -c '^# TYPE' "$prom")"
}

later() {
	[ -e "$dir/scraped" ] || return
	"$sane" -f "$b" metrics -o "$prom" && answers stackbuf_events_total '- 5125' && answers stackbuf_evicted_stacks_events_total '- 50' || return
	# A reading that finds less is no reset, another load is
	"$sane" -f "$a" metrics -o "$prom" && answers stackbuf_ring_events '- 1000' && answers 'resets(stackbuf_events_total[1d])' '- 0' || return
	"$sane" -f "$c" metrics -o "$prom" && answers stackbuf_events_total '- 135' && answers 'resets(stackbuf_events_total[1d])' '- 1' &&
		answers 'changes(stackbuf_load_time_seconds[1d])' '- 1'
}

all_tests() {
	local program missing=''
	result 'records are made' records
	result 'every number is that of info and count' as_info
	result 'stacks are named as --folded names them; no address is shown; --top' names
	result 'a counter goes back only with another load' never_back
	result '-o: the file is replaced whole or not at all' whole_or_not
	as_root '-o: what another user owns is left alone' of_another_user
	for program in promtool prometheus prometheus-node-exporter; do
		command -v "$program" >/dev/null || missing=$program
	done
	if [ -n "$missing" ]; then
		echo "ok promtool and Prometheus # SKIP $missing is not installed"
		return
	fi
	result 'promtool check metrics accepts it' accepted
	result "the manual page's query" query
	result 'Prometheus scrapes it by node_exporter' start
	result 'Prometheus answers with the numbers recorded' queries
	result 'Prometheus sees a reload as a reset, and nothing else' later
	stop
}

with_tools all_tests tests
