#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# "stackbuf merge" on made-up records of machines with different kernels and offsets of KASLR: what
# the merged file says is what the records say, added up.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

hosts=7
fleet=$dir/fleet

# said COMMAND...: standard error goes to $dir/err
said() {
	"$@" 2>"$dir/err"
}

# quiet COMMAND...: it succeeds, and says nothing on standard error
quiet() {
	said "$@" && [ ! -s "$dir/err" ] && return
	echo "failed, or spoke: $*"
	cat "$dir/err"
	return 1
}

# python FILE...: the program on standard input, with what the tests share before it
python() {
	python3 <(
		cat <<'END'
import collections, json, sys
def read(name):
    return [json.loads(line) for line in open(name)]
# Kernel of host N, by which the builds of the frames differ
def frames(stack, release):
    return (release,) + tuple(stack["frames"])
END
		cat
	) "$@"
}

# Host 3 has no events, that of the others do not fit the ring
records() {
	local n

	for ((n = 0; n < hosts; n++)); do
		"$fake" "$dir/r$n" host $n $((n == 3 ? 0 : 30000 + n)) && "$plain" -f "$dir/r$n" count --json >"$dir/r$n.count" 2>/dev/null &&
			"$plain" -f "$dir/r$n" log --json >"$dir/r$n.log" 2>/dev/null && "$plain" -f "$dir/r$n" info --json >"$dir/r$n.info" || return
	done
	[ "$(for ((n = 0; n < hosts; n++)); do sed 's/.*"base_address":"\([^"]*\)".*/\1/' "$dir/r$n.info"; done | sort -u | wc -l)" = $hosts ] || return
	quiet "$sane" merge -o "$fleet" "$dir"/r[0-9] && [ "$(stat -c %a "$fleet")" = 600 ]
}

# Stacks are one where the build, the functions and the offsets are
totals() {
	quiet "$sane" -f "$fleet" count --json >"$dir/count" || return
	python "$dir" $hosts <<'END'
want = collections.defaultdict(dict)
for n in range(int(sys.argv[2])):
    for s in read(f"{sys.argv[1]}/r{n}.count"):
        want[frames(s, f"6.1.{n % 3}-made")][f"host{n}"] = s["count"]
last = sum = 0
for s in read(sys.argv[1] + "/count"):
    got = {h["host"]: h["count"] for h in s["hosts"]}
    release, = {h["release"] for h in s["hosts"]}
    assert got == want.pop(frames(s, release)), s
    assert s["count"] >= last, "not in order"
    last = s["count"]
    sum += last
    assert last == __builtins__.sum(got.values())
assert not want, want
assert sum == 180018, sum
END
}

# events FILE...: those of the records as the merged file must have them
events() {
	quiet "$sane" -f "$fleet" log --json >"$dir/log" || return
	python "$dir" $hosts <<'END'
merged = read(sys.argv[1] + "/log")
walls = [int(e["wall_ns"]) for e in merged]
assert walls == sorted(walls), "not in order of time"
by_host = collections.defaultdict(list)
for e in merged:
    by_host[e["host"]].append(e)
for n in range(int(sys.argv[2])):
    info, = read(f"{sys.argv[1]}/r{n}.info")
    events = read(f"{sys.argv[1]}/r{n}.log")
    got = by_host.pop(f"host{n}", [])
    assert len(got) == len(events), (n, len(got), len(events))
    for g, e in zip(got, events):
        for key in "time_ns", "cpu", "pid", "tgid", "comm", "context", "tag", "frames", "cut":
            assert g.get(key) == e.get(key), (key, g, e)
        assert int(g["wall_ns"]) - int(g["time_ns"]) == int(info["load_realtime_ns"]) - int(info["load_ns"])
        assert g["release"] == info["release"]
assert not by_host
END
}

# Of --host, and of options that choose events: as the log says
chosen() {
	quiet "$sane" -f "$fleet" --host 'host[1-5],!host2' log --json --comm worker --cpu 1,3 --since -20ms >"$dir/some" &&
		quiet "$sane" -f "$fleet" log --json --host host6 --last 100 >"$dir/last" &&
		said "$sane" -f "$fleet" count --json --comm init --host host0 --host host6 >"$dir/comm" &&
		quiet "$sane" -f "$fleet" count --json --host host4 >"$dir/one" &&
		said "$sane" -f "$fleet" count --json --last 999 >"$dir/newest" &&
		quiet "$sane" -f "$fleet" log --json --stack 7 >"$dir/stack" || { cat "$dir/err"; return 1; }
	python "$dir" <<'END'
def totals(events):
    return sorted(collections.Counter(e["stack"] for e in events).items())
def counted(name):
    return sorted((s["stack"], s["count"]) for s in read(f"{sys.argv[1]}/{name}"))
all = read(sys.argv[1] + "/log")
names = "host1", "host3", "host4", "host5"
newest = max(int(e["wall_ns"]) for e in all if e["host"] in names)
want = [e for e in all if e["host"] in names and e["comm"] == "worker" and e["cpu"] in (1, 3) and
        int(e["wall_ns"]) >= newest - 20 * 10**6]
assert want and read(sys.argv[1] + "/some") == want
assert read(sys.argv[1] + "/last") == [e for e in all if e["host"] == "host6"][-100:]
assert counted("comm") == totals(e for e in all if e["comm"] == "init" and e["host"] in ("host0", "host6"))
assert counted("newest") == totals(all[-999:])
for s in read(sys.argv[1] + "/comm") + read(sys.argv[1] + "/newest"):
    assert sum(h["count"] for h in s["hosts"]) == s["count"], s
stack = [e for e in all if e["stack"] == 7]
assert stack and read(sys.argv[1] + "/stack") == stack
one = {tuple(s["frames"]): s["count"] for s in read(sys.argv[1] + "/one")}
assert one == {tuple(s["frames"]): s["count"] for s in read(sys.argv[1] + "/r4.count")}
END
}

text() {
	"$sane" -f "$fleet" count --top 1 >"$dir/out" || return
	grep -q '^    [0-9]*  (on host[0-9] [0-9]*, host[0-9] [0-9]*, host[0-9] [0-9]*)$' "$dir/out" ||
		grep -q '^    [0-9]*  (on host[0-9] [0-9]*, host[0-9] [0-9]*)$' "$dir/out" || { cat "$dir/out"; return 1; }
	"$sane" -f "$fleet" log --last 1 >"$dir/out" || return
	[ "$(awk 'NR == 1 { print $1, $2 } NR == 2 { print $1, $2 }' "$dir/out")" = "HOST TIME(s)
$(tail -n 1 "$dir/log" | python3 -c 'import json; e = json.loads(input()); print(e["host"], e["wall"])')" ]
}

# Whatever the format, the events are as many
formats() {
	[ "$("$sane" -f "$fleet" count --folded | awk '{ n += $NF } END { print n }')" = 180018 ] || return
	[ "$("$sane" -f "$fleet" log --folded | awk '{ n += $NF } END { print n }')" = "$(wc -l <"$dir/log")" ] &&
		[ "$("$sane" -f "$fleet" log --perf | grep -c ': 1 stackbuf:$')" = "$(wc -l <"$dir/log")" ] || return
	"$sane" -f "$fleet" count --flame "$dir/fleet.svg" && grep -q '<title>all (180018 events, 100.00 %)</title>' "$dir/fleet.svg" || return
	"$sane" -f "$fleet" log --flame "$dir/fleet.svg" && grep -q "<title>all ($(wc -l <"$dir/log") events, 100.00 %)</title>" "$dir/fleet.svg"
}

# Sums of the samples of a profile by the label host
profile() {
	zcat | protoc --decode=Profile -I "$here/helpers" "$here/helpers/profile.proto" | awk '
		/^string_table: / { sub(/^string_table: "/, ""); sub(/"$/, ""); name[n++] = $0 }
		/^sample \{/ { nr = 0 }
		/^  value: / { value = $2 }
		/^    key: / { key = $2 }
		/^    str: / { label[nr] = key; text[nr++] = $2 }
		/^}/ && value { samples++; at[samples] = value; for (i = 0; i < nr; i++) all[samples, label[i]] = text[i]; value = 0 }
		END {
			for (i = 0; i < n; i++) if (name[i] == "host") host = i
			for (i = 1; i <= samples; i++) sum[name[all[i, host]]] += at[i]
			for (i in sum) print i, sum[i] }' | sort
}

profiles() {
	[ "$("$sane" -f "$fleet" count --pprof | profile | tr '\n' ' ')" = \
		'host0 30000 host1 30001 host2 30002 host4 30004 host5 30005 host6 30006 ' ] || return
	"$sane" -f "$fleet" log --pprof | profile | diff - <(sed 's/.*"host":"\([^"]*\)".*/\1/' "$dir/log" | sort | uniq -c | awk '{ print $2, $1 }')
}

# What "info" says of a record is kept
information() {
	local n

	"$sane" -f "$fleet" info --json >"$dir/info" && [ "$(wc -l <"$dir/info")" = $hosts ] || return
	for ((n = 0; n < hosts; n++)); do
		sed -n $((n + 1))p "$dir/info" | diff <(python3 -m json.tool --sort-keys) <(python3 -m json.tool --sort-keys "$dir/r$n.info") || return
	done
	"$sane" -f "$fleet" info >"$dir/out" && [ "$(grep -c '^host[0-9]  *6.1.[0-2]-made  *\(3000[0-9]\|0\) ' "$dir/out")" = $hosts ] &&
		[ "$("$sane" -f "$fleet" info --host 'host[25]' | grep -c '^host')" = 2 ]
}

# A file that was merged is a record, too
again() {
	quiet "$sane" merge -o "$dir/part" "$dir"/r[1-4] && quiet "$sane" merge -o "$dir/all" "$dir/r0" "$dir/part" "$dir"/r[56] &&
		cmp "$dir/all" "$fleet" && "$sane" diff "$dir/all" "$fleet" >"$dir/out" 2>/dev/null && tail -n 1 "$dir/out" | grep -q '^0 new, 0 gone, 0 more, 0 fewer,'
}

# Of one kernel on two machines: the difference that the records have
differences() {
	quiet "$sane" merge -o "$dir/zero" "$dir/r0" && quiet "$sane" merge -o "$dir/six" "$dir/r6" || return
	"$sane" diff --json "$dir/zero" "$dir/six" | diff - <("$sane" diff --json "$dir/r0" "$dir/r6") &&
		"$sane" diff --json "$fleet" "$fleet" --host host0 2>/dev/null | cmp - /dev/null &&
		"$sane" diff "$dir/zero" "$dir/r6" | head -n 1 | grep -q ': 30000 events, [0-9]* stacks, 1 host, Linux 6.1.0-made$'
}

names() {
	"$fake" "$dir/arrays" 100 || return
	quiet "$sane" merge -o "$dir/named" --host "a b=$dir/r4" --host "web:$dir/r1" "$dir/r2" "$dir/arrays/" --host "six=$dir/r6" "$dir/r6" || return
	"$sane" -f "$dir/named" info --json | sed 's/.*"host":"\([^"]*\)".*/\1/' >"$dir/out"
	diff - "$dir/out" <<-'END' || return
		host2
		arrays
		six
		a b
		web
	END
	"$sane" -f "$dir/named" count --json --host '!six,!?e?' | grep -o '"host":"[^"]*"' | sort -u | diff - <(printf '"host":"%s"\n' 'a b' arrays host2)
	# A snapshot of a snapshot keeps the name
	"$sane" -f "$dir/r5" save "$dir/kept" && quiet "$sane" merge -o "$dir/named" "$dir/kept" &&
		"$sane" -f "$dir/named" info --json | grep -q '"host":"host5"'
}

# Each is named and left out, and the rest is merged
damaged() {
	local name

	rm -rf "$dir/bad" && mkdir "$dir/bad" && cd "$dir/bad" && cp ../r[0-9] . || return
	head -c 1000000 r1 >"cut"
	python3 - r4 <<'END' || return
import struct, sys
data = open("r2", "rb").read()
open("version", "wb").write(data.replace(b"\x89stkbuf\n" + data[8:10], b"\x89stkbuf\n\x63\0").replace(b"stackbuf text v2", b"stackbuf text v99"))
data = bytearray(open(sys.argv[1], "rb").read())
pages = [i for i in range(0, len(data), 4096) if data[i:i + 8] == b"\x89stkbuf\n" and data[i + 10] == 3]
assert pages
# The first event of a page cannot be a short one
struct.pack_into("<Q", data, pages[5] + 64, 1 << 61)
open("event", "wb").write(data)
data = bytearray(open(sys.argv[1], "rb").read())
data[pages[7]] ^= 1
open("page", "wb").write(data)
END
	echo text >text && : >empty && mkdir folder && cp r6 again && cp "$fleet" merged && truncate -s -1 merged
	said "$sane" merge -o out r0 cut r1 version text r2 event r3 page empty r4 folder r5 nowhere merged r6 again && return 1
	for name in cut version text event page empty folder nowhere merged again; do
		grep -q "^stackbuf: ${name}[:/ ].*: left out$" "$dir/err" || { echo "$name is not named"; cat "$dir/err"; return 1; }
	done
	[ "$(wc -l <"$dir/err")" = 11 ] && tail -n 1 "$dir/err" | grep -qx 'stackbuf: 10 of 17 records are left out of out' || { cat "$dir/err"; return 1; }
	grep -q '^stackbuf: cut: is cut: ' "$dir/err" && grep -q '^stackbuf: version: format version 99' "$dir/err" || return
	cmp out <("$plain" merge -o - r[0-9]) || return
	said "$sane" merge -o none cut version && return 1
	tail -n 1 "$dir/err" | grep -qx 'stackbuf: none: not written: no record could be read' && [ ! -e none ]
}

# What a record lacks is said with its name, and kept
losses() {
	cd "$dir" && mkdir -p lacking && "$fake" lacking 5000 || return
	# Without a page of stackbuf_info no time of day is known
	cat lacking/{events,stacks,text} >lacking.image
	said "$sane" merge -o lost lacking.image r1 || { cat err; return 1; }
	grep -q '^stackbuf: lacking.image: .*stackbuf_info is missing' err && grep -q '^stackbuf: lacking.image: no time of day is known' err || { cat err; return 1; }
	said "$sane" -f lost log --json >out || return
	grep -q '1 host has no time of day' err && [ "$(head -n 1 out | grep -c '"host":"lacking.image",.*"time_ns":"5')" = 1 ] && ! head -n 1 out | grep -q wall || { head -n 1 out; return 1; }
	[ "$(grep -c lacking.image out)" = 5000 ] && [ "$(tail -n 1 out | grep -c '"host":"host1"')" = 1 ] || return
	# Pages that a dump does not have
	cat lacking/{info,stacks,text} >lacking.image
	head -c 100000 lacking/events >>lacking.image
	said "$sane" merge -o lost lacking.image && grep -q '^stackbuf: lacking.image: [0-9]* pages are missing' err &&
		"$sane" -f lost info --json | grep -q '"pages_missing":1000'
}

refusals() {
	cd "$dir" && refused 2 'the file to write is missing' merge r0 && refused 2 'a RECORD is missing' merge -o out &&
		refused 2 'must be the host of a file' merge -o out --host web1 r0 && refused 2 'has a name already' merge -o out --host "a=r0" --host "b=r0" &&
		refused 2 '--output is not for "log"' -f r0 log -o out && refused 2 '--host is not for "text"' -f r0 text --host a &&
		refused 1 'this is none' -f r0 log --host host0 && refused 1 'chooses none of 7 hosts' -f fleet count --host nobody &&
		refused 1 'is a merged file' -f fleet text && refused 1 'is a merged file' -f fleet save out && refused 1 'is a merged file' -f fleet depth &&
		refused 1 'is a merged file' -f fleet log --follow && refused 1 'is a merged file' -f fleet log --lines &&
		refused 1 'is a merged file' -f fleet count vfs_read && refused 1 'is a merged file' -f fleet snoop vfs_read &&
		refused 2 'hosts differ in the time of their boot' -f fleet log --since 5.1 || return
	refused 1 'no/where: cannot be written: No such file' merge -o no/where r0 && refused 1 '/dev/full: cannot be written: No space' merge -o /dev/full r0 r1 r2 &&
		refused 1 'cannot be written: Is a directory' merge -o . r0 || return
	# Neither a limit nor a signal leaves a part of a file
	mkdir -p left && (ulimit -f 100 && refused 1 'left/out: cannot be written: File too large' merge -o left/out r[0-9]) || return
	"$sane" merge -o left/out r{0,1,2}{,,,,,,,,,,}{,,,,,,,,,,} 2>/dev/null &
	sleep 1
	[ -n "$(ls left)" ] && kill $! || return
	wait $!
	[ $? = 143 ] && [ -z "$(ls left)" ] || { ls left; return 1; }
}

# damage KIND...: the merged file with one byte of a block of the kind changed, and with its checksum made to fit
hostile() {
	cd "$dir" && quiet "$plain" merge -o small r3 lost 2>/dev/null || "$plain" merge -o small r3 || return
	python3 - "$sane" <<'END'
import random, struct, subprocess, sys, zlib
data = open("small", "rb").read()
at, blocks = data.index(b"\n") + 1, []
while at < len(data):
    blocks.append((at, struct.unpack_from("<Q", data, at + 8)[0]))
    at += 16 + blocks[-1][1]
def read(what, *options):
    open("hostile", "wb").write(what)
    done = subprocess.run([sys.argv[1], "-f", "hostile", *options], capture_output=True)
    assert done.returncode in (0, 1) and b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr[-2000:]
    return done.returncode, done.stderr
for at, size in blocks:
    wrong = bytearray(data)
    wrong[at + 16 + size // 2 if size else at + 4] ^= 1
    code, said = read(wrong, "count")
    assert code == 1 and said.count(b"\n") == 1 and b"damaged" in said, said
for size in list(range(0, 100, 7)) + [len(data) - 1, len(data) // 2]:
    code, said = read(data[:size], "count")
    assert code == 1 and said.count(b"\n") == 1, (size, said)
code, said = read(data.replace(b"merged 1\n", b"merged 2\n"), "count")
assert code == 1 and b"version 2" in said and b"knows version 1" in said, said
random.seed(1)
refused = 0
for turn in range(300):
    wrong = bytearray(data)
    at, size = random.choice([b for b in blocks if b[1]])
    for _ in range(random.choice((1, 1, 3))):
        wrong[at + 16 + random.randrange(size)] = random.choice((0, 1, 10, 32, 127, 128, 255, random.randrange(256)))
    struct.pack_into("<I", wrong, at + 4, zlib.crc32(wrong[at + 16:at + 16 + size]))
    refused += read(wrong, *random.choice((("count",), ("log", "--json"), ("info",), ("count", "--json"), ("log", "--last", "9"))))[0]
assert 20 < refused < 290, refused
END
}

# A thousand snapshots of 2 MB: each process's memory
thousand() {
	local n

	cd "$dir" && mkdir -p many && for ((n = 0; n < 1000; n++)); do "$fake" many/$n host $n 50000 || return; done
	python3 - "$plain" many >"$dir/took" <<'END' || return
import os, resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.run([sys.argv[1], "merge", "-o", "thousand"] + [f"{sys.argv[2]}/{n}" for n in range(1000)]).returncode
print(int(time.monotonic() - start), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(code)
END
	read -r seconds memory <"$dir/took"
	rm -rf many
	[ "$("$plain" -f thousand count --folded | awk '{ n += $NF } END { print NR, n }')" = '900 50000000' ] &&
		[ "$("$plain" -f thousand count --json --top 1 | grep -o '"host":' | wc -l)" -gt 300 ] || return
	[ "$memory" -le 64 ] || { echo "$seconds s, $memory MiB"; return 1; }
}

all_tests() {
	local seconds='' memory=''

	result 'records of several machines are merged' records
	result 'totals of a stack are the sums of all machines, by build' totals
	result 'events are those of the records, in order of time' events
	thorough || return 0
	result '--host and other filters' chosen
	result 'text names hosts' text
	result '--folded, --perf and --flame have all events' formats
	if command -v protoc >/dev/null; then
		result '--pprof has the label host' profiles
	else
		echo 'ok --pprof has the label host # SKIP protoc is not installed'
	fi
	result 'what info says of each record is kept' information
	result 'merged files can be merged' again
	result 'differences are those of the records' differences
	result 'names of hosts' names
	result 'records that cannot be read are named and left out' damaged
	result 'what records lack is said, and kept' losses
	result 'what makes no sense, or cannot be written, is refused' refusals
	result 'damage of a merged file is found, and does no harm' hostile
	result 'a thousand snapshots of 2 MB, 64 MiB a process' thousand
	awk '{ print "# " $1 " s, " $2 " MiB in the largest process" }' "$dir/took"
}

with_tools all_tests tests
