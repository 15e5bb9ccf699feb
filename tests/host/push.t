#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# "stackbuf push" on made-up arrays: a strict receiver (tests/helpers/receiver.py) takes what it sends, or
# does to it what servers do.  Profiles are read by Go's pprof (tests/helpers/profile.go); their sums are
# the record's totals.  Prints KTAP.

# shellcheck source-path=SCRIPTDIR source=tools.sh
. "${BASH_SOURCE[0]%/*}/tools.sh"

unset STACKBUF_TOKEN http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY
a=$dir/record r=$dir/receiver spool="$dir/the spool"
trap 'hang_up; [ ! -d "$work/full" ] || umount "$work/full" 2>/dev/null; rm -rf -- "$work"' EXIT

# ------------------------------------------------------------- the receiver ---

# Results are functions in shells of their own: what they start is in a file
hang_up() {
	local pid

	[ -e "$dir/pid" ] || return 0
	pid=$(cat "$dir/pid") && rm "$dir/pid" && kill -9 "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

# listen [CERTIFICATE KEY]: starts it, on the port it had
listen() {
	local i

	hang_up
	mkdir -p "$r"
	[ -e "$r/how" ] || echo ok >"$r/how"
	[ ! -e "$r/port" ] || mv "$r/port" "$r/was"
	"$here/helpers/receiver.py" "$r" "$(cat "$r/was" 2>/dev/null || echo 0)" "$@" >/dev/null 2>"$dir/receiver.err" &
	echo $! >"$dir/pid"
	disown
	for ((i = 0; i < 100; i++)); do
		[ ! -e "$r/port" ] || break
		sleep 0.1
	done
	[ -e "$r/port" ] || { cat "$dir/receiver.err"; return 1; }
	url=http://127.0.0.1:$(cat "$r/port")
}

# fresh [HOW]: a receiver that has received nothing, and no spool
fresh() {
	rm -rf "${r:?}"/{requests,body.*,wrong} "$spool"
	echo "${1:-ok}" >"$r/how"
	listen
}

how() { echo "$1" >"$r/how"; }

requests() { [ -e "$r/requests" ] && wc -l <"$r/requests" || echo 0; }

# field NAME: of each request
field() { python3 -c 'import json, sys; [print(json.loads(l)[sys.argv[1]]) for l in open(sys.argv[2])]' "$1" "$r/requests"; }

# Nothing was sent that is not as documented
proper() { [ ! -e "$r/wrong" ] || { cat "$r/wrong"; return 1; }; }

# taken: the sums of all profiles the receiver has answered well, each key once
taken() {
	local list

	mapfile -t list < <(python3 - "$r" <<'END'
import json, os, sys
seen = {}
for line in open(sys.argv[1] + "/requests"):
    q = json.loads(line)
    body = open(sys.argv[1] + "/body.%d" % q["number"], "rb").read()
    assert seen.setdefault(q["key"], body) == body, "one key, two profiles"
for key in {json.loads(l)["key"]: json.loads(l)["number"] for l in open(sys.argv[1] + "/requests")}.values():
    print(sys.argv[1] + "/body.%d" % key)
END
	)
	"$dir/profile" "${list[@]}"
}

# totals: of the record, as taken prints them
totals() { "$plain" -f "$a" count --folded 2>/dev/null | sed 's/0x[0-9a-f]*/(unknown)/g' | sort; }

# all_taken [N]: that is all of it, in N requests
all_taken() {
	proper && taken >"$dir/taken" && totals | diff - "$dir/taken" || return
	[ -z "${1:-}" ] || [ "$(requests)" = "$1" ] || { echo "$(requests) requests, not $1"; return 1; }
}

# push STATUS WORDS OPTION...: ends with it; WORDS on standard error, nothing there if they are ""
push() {
	local status=$1 words=$2 got
	shift 2

	"$sane" -f "$a" push "$@" "$url" >"$dir/out" 2>"$dir/err"
	got=$?
	[ "$got" = "$status" ] && [ ! -s "$dir/out" ] &&
		if [ -n "$words" ]; then grep -qF -- "$words" "$dir/err"; else [ ! -s "$dir/err" ]; fi && return
	echo "push $* ended with $got:"
	cat "$dir/out" "$dir/err"
	return 1
}

# waiting: how many profiles are in the spool
waiting() { find "$spool" -name '*.push' -o -name '*.again' | wc -l; }

# ------------------------------------------------------------------ results ---

ready() {
	"$fake" "$a" 1000 counted && listen && GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$work/go" GOFLAGS=-p=1 \
		go build -o "$dir/profile" "$here/helpers/profile.go"
}

once() {
	fresh && push 0 '' && all_taken 1 || return
	[ "$(field method) $(field path) $(field token)" = 'POST /ingest None' ] &&
		[ "$(field query)" = "{'name': 'stackbuf', 'from': '1700000000', 'until': '1700000001', 'format': 'pprof'}" ] || { cat "$r/requests"; return 1; }
	# Without a spool nothing is remembered; a path in the URL stays, /ingest is added once
	url+=/under/ push 0 '' --name 'a.b{c=d e&f}' && url+=/under/ingest push 0 '' && [ "$(requests)" = 3 ] && proper || return
	[ "$(field path | tail -n 2)" = $'/under/ingest\n/under/ingest' ] && field query | grep -qF "'a.b{c=d e&f}'" || { cat "$r/requests"; return 1; }
	# Where the kernel lies is not sent
	! zcat "$r/body.0" | grep -a '0x[0-9a-f]\{9\}'
}

# fewer, more, a stack evicted: each push has what is new
deltas() {
	fresh && "$fake" "$a" 100 counted && push 0 '' --spool "$spool" && all_taken 1 || return
	push 0 'nothing was recorded since' --spool "$spool" && [ "$(requests)" = 1 ] || return
	"$fake" "$a" 5003 counted && push 0 '' --spool "$spool" && all_taken 2 || return
	"$dir/profile" "$r/body.1" >"$dir/out" && ! grep '^kept' "$dir/out" || return
	[ "$(awk '{ n += $NF } END { print n }' "$dir/out")" = 4903 ] || return
	# Of the stack that is gone 30 events were pushed, 20 were not
	"$fake" "$a" 6000 evicted && push 0 '20 events of stacks that were evicted' --spool "$spool" && proper && [ "$(requests)" = 3 ] || return
	"$dir/profile" "$r/body.2" | grep -cE '^(.stacks that were evicted. 20|kept_1_\[made\];kept_0_\[made\] 5)$' | grep -qx 2 || return
	taken >"$dir/taken"
	[ "$(awk '{ n += $NF } END { print n }' "$dir/taken")" = 6125 ] && [ "$(waiting)" = 0 ]
}

# Times follow each other
times() {
	field query | sed "s/.*'from': '\([0-9]*\)', 'until': '\([0-9]*\)'.*/\1 \2/" | awk '$1 > $2 || $1 < last { exit 1 } { last = $1 }'
}

away() {
	fresh && hang_up && "$fake" "$a" 100 counted && push 1 'profile is kept in' --spool "$spool" || return
	"$fake" "$a" 400 counted && push 1 '1 profile is kept' --spool "$spool" || return
	"$fake" "$a" 900 counted && push 1 '2 profiles are kept' --spool "$spool" && [ "$(waiting)" = 3 ] || return
	[ "$(stat -c %a "$spool" "$spool"/* | sort -u | tr '\n' ' ')" = '600 700 ' ] || return
	listen && push 0 'nothing was recorded' --spool "$spool" && all_taken 3 && times && [ "$(waiting)" = 0 ] || return
	# Without a spool the next push has it
	fresh && hang_up && push 1 'events are not pushed' && listen && push 0 '' && all_taken 1
}

errors() {
	local status

	for status in 500 503 429 401 404 422; do
		fresh $status && push 1 "answered $status: no ?[1mNone: 1 profile is kept in" --spool "$spool" && how ok &&
			push 0 'nothing was recorded' --spool "$spool" && all_taken 2 || { echo "$status"; return 1; }
	done
	# A profile that the server will never take must not hold up others
	fresh 400 && "$fake" "$a" 100 counted && push 1 'the profile is put aside' --spool "$spool" && how ok && "$fake" "$a" 150 counted &&
		push 0 '' --spool "$spool" && [ "$(requests)" = 2 ] && [ "$(waiting)" = 0 ] && proper || return
	rename_all refused push && push 0 'nothing' --spool "$spool" && all_taken 3
}

# rename_all FROM TO: in the spool
rename_all() {
	local file

	for file in "$spool"/*."$1"; do
		mv "$file" "${file%.*}.$2" || return
	done
}

redirect() {
	fresh 307 && push 1 'answered 307, a redirect, which is not followed' --spool "$spool" && [ "$(requests)" = 1 ] && [ "$(waiting)" = 1 ]
}

# What was sent and not answered may have arrived: it is sent again, as it was, and that is said
unanswered() {
	local how

	for how in close half late never; do
		fresh $how && "$fake" "$a" 300 counted && push 1 'the oldest may have arrived' --spool "$spool" --timeout 500ms && [ "$(requests)" = 1 ] &&
			[ "$(waiting)" = 1 ] && how ok && push 0 'is sent again: the server may have it twice (400 events)' --spool "$spool" &&
			all_taken 2 && [ "$(field key | sort -u | wc -l)" = 1 ] && cmp "$r/body.0" "$r/body.1" || { echo "$how"; return 1; }
	done
	# Late, but in time; or with a good status and half of the text after it
	fresh late && push 0 '' --spool "$spool" --timeout 5 && all_taken 1 && fresh cut && push 0 '' --spool "$spool" --timeout 5 && all_taken 1 || return
	fresh close && push 1 'may have arrived without an answer'
}

# A server and a command that are killed again and again, while a record grows
killed() {
	local i pusher writer

	fresh && rm -rf "$a" || return
	"$fake" "$a" 20000 6 >"$dir/ready" &
	writer=$!
	while [ ! -s "$dir/ready" ]; do sleep 0.1; done
	for ((i = 0; i < 6; i++)); do
		STACKBUF_PARAMETERS=$dir "$plain" -f "$a" push -i 50ms --timeout 2 --spool "$spool" "$url" 2>>"$dir/killed.err" &
		pusher=$!
		sleep 0.$((RANDOM % 6 + 2))
		hang_up
		sleep 0.3
		kill -9 $pusher
		wait $pusher 2>/dev/null
		listen || return
	done
	wait $writer
	push 0 '' --spool "$spool" || push 0 'nothing' --spool "$spool" || push 0 'twice' --spool "$spool" || return
	all_taken && times && [ "$(requests)" -gt 12 ] && [ "$(waiting)" = 0 ] && echo "$(requests) requests"
}

# On a signal it pushes once more
signal() {
	local pusher n

	fresh && "$fake" "$a" 200 counted || return
	STACKBUF_PARAMETERS=$dir "$sane" -f "$a" push -i 1h "$url" 2>"$dir/err" &
	pusher=$!
	for ((n = 0; n < 100 && $(requests) < 1; n++)); do sleep 0.1; done
	"$fake" "$a" 700 counted && kill "$pusher" && wait $pusher && all_taken 2 && [ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
	fresh && STACKBUF_PARAMETERS=$dir push 0 '' -i 100ms -n 3 && all_taken 1
}

secure() {
	local port
	fresh && openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/cert" -days 2 -subj /CN=localhost \
		-addext 'subjectAltName=DNS:localhost' >"$dir/out" 2>&1 && listen "$dir/cert" "$dir/key" || { cat "$dir/out"; return 1; }
	port=$(cat "$r/port")
	url=https://localhost:$port push 1 'certificate' --spool "$spool" && [ "$(requests)" = 0 ] && [ "$(waiting)" = 1 ] || return
	# Of another host
	url=https://127.0.0.1:$port push 1 'certificate' --ca "$dir/cert" && [ "$(requests)" = 0 ] || return
	url=https://localhost:$port push 0 'nothing' --ca "$dir/cert" --spool "$spool" && all_taken 1 || return
	url=https://localhost:$port push 2 'cannot be read' --ca "$dir/nowhere"
}

token() {
	fresh 401 && echo 'secret-0123' >"$dir/token" && push 1 'answered 401: ' --token-file "$dir/token" --spool "$spool" &&
		[ "$(field token)" = 'Bearer secret-0123' ] && ! grep -r secret "$dir/err" "$spool" || { echo "the token shows"; return 1; }
	how ok && STACKBUF_TOKEN=from-env push 0 'nothing' --spool "$spool" && [ "$(field token | tail -n 1)" = 'Bearer from-env' ] || return
	url=http://192.0.2.1:9 push 2 'a token is sent by https:// only' --token-file "$dir/token" || return
	# Nor to a proxy
	http_proxy=http://192.0.2.1:9 push 0 '' --token-file "$dir/token" --timeout 3 || return
	push 2 'cannot be read' --token-file "$dir/nowhere" && push 2 'it is empty' --token-file /dev/null || return
	printf 'two words\n' >"$dir/token" && push 2 'holds no token' --token-file "$dir/token"
}

refusals() {
	fresh
	refused 2 'must begin with http:// or https://' -f "$a" push localhost:4040 && refused 2 'must begin with http://' -f "$a" push 127.0.0.1 &&
		refused 2 'must begin with http://' -f "$a" push ftp://localhost/ && refused 2 'must begin with http://' -f "$a" push 'http://' &&
		refused 2 'no user or password' -f "$a" push http://user:hidden@localhost/ && ! grep -q hidden "$dir/err" || return
	refused 2 'are added' -f "$a" push "$url/?name=x" && refused 2 'URL is missing' -f "$a" push && refused 2 'too many' -f "$a" push "$url" "$url" &&
		refused 2 'must not be empty' -f "$a" push --name '' "$url" && refused 2 '--interval is missing' -f "$a" push -n 3 "$url" &&
		refused 2 'is read once' -f "$a" push -i 3 "$url" && refused 2 '--spool is missing' -f "$a" push --spool-size 1M "$url" &&
		refused 2 'must be a number of bytes' -f "$a" push --spool-size 0 --spool "$spool" "$url" &&
		refused 2 'must be a number of bytes' -f "$a" push --spool-size 12Q --spool "$spool" "$url" && refused 1 nowhere -f "$dir/nowhere" push "$url" &&
		[ "$(requests)" = 0 ] && [ ! -e "$spool" ]
}

bad_spool() {
	local lock

	fresh && push 0 '' --spool "$spool" || return
	push 1 'cannot be' --spool "$a/info" && push 1 'cannot be' --spool /proc/1/nowhere && [ "$(wc -l <"$dir/err")" = 1 ] || return
	exec {lock}<"$spool" && flock "$lock" && push 1 'another stackbuf push uses it' --spool "$spool" && exec {lock}<&- || return
	cp "$spool/push.state" "$dir/state" && sed -i '$d' "$spool/push.state" && push 1 'is damaged' --spool "$spool" || return
	echo nonsense >"$spool/push.state" && push 1 'is damaged' --spool "$spool" && [ "$(requests)" = 1 ] && cp "$dir/state" "$spool/push.state" &&
		push 0 nothing --spool "$spool" || return
	# Files of others stay
	echo mine | tee "$spool/note" "$spool/push.state.mine" >"$spool/state.123456" && push 0 nothing --spool "$spool" &&
		[ "$(cat "$spool"/{note,push.state.mine,state.123456} | wc -l)" = 3 ] || return
	chmod 777 "$spool" && push 1 'other users may write there' --spool "$spool"
}

# The oldest go, and the state counts them: what was sent and what was dropped is all
bounded() {
	local i sent dropped

	fresh && hang_up || return
	for ((i = 1; i <= 12; i++)); do
		"$fake" "$a" $((i * 500)) counted && push 1 '' --spool "$spool" --spool-size 12K >/dev/null
		grep -q 'profile' "$dir/err" || { cat "$dir/err"; return 1; }
		[ "$(find "$spool" -name '*.push' -printf '%s\n' | awk '{ n += $1 } END { print n }')" -le 12288 ] || { ls -l "$spool"; return 1; }
	done
	grep -q 'is full: the oldest profiles are dropped: 1, with 500 events' "$dir/err" || { cat "$dir/err"; return 1; }
	listen && push 0 nothing --spool "$spool" && proper && taken >"$dir/taken" || return
	sent=$(awk '{ n += $NF } END { print n }' "$dir/taken") dropped=$(awk '/^dropped/ { print $3 }' "$spool/push.state")
	echo "$sent sent, $dropped dropped"
	[ $((sent + dropped)) = 6100 ] && [ "$dropped" -gt 0 ] && [ "$sent" -gt 0 ] || return
	push 1 'the profile alone has' --spool "$dir/tiny" --spool-size 100
}

# A stop at any place of storing a push: all of it is there, or nothing
stopped() {
	local n

	fresh && hang_up && "$fake" "$a" 100 counted && push 1 kept --spool "$spool" && cp -r "$spool" "$dir/one" &&
		"$fake" "$a" 900 counted && push 1 kept --spool "$spool" && cp -r "$spool" "$dir/two" || return
	listen || return
	n=$(printf '%020d.push' 2)
	# The push is written, the state is not
	rm -rf "$spool" "$r"/{requests,body.*} && cp -r "$dir/one" "$spool" && cp "$dir/two/$n" "$spool/${n%.push}.new" && : >"$spool/${n%.push}.new.x1y2z3" &&
		push 0 '' --spool "$spool" && all_taken 2 && [ "$(ls "$spool")" = push.state ] || { ls "$spool"; return 1; }
	# The state is, the push does not have its name
	rm -rf "$spool" "$r"/{requests,body.*} && cp -r "$dir/two" "$spool" && mv "$spool/$n" "$spool/${n%.push}.new" && : >"$spool/push.state.a1b2c3" &&
		push 0 nothing --spool "$spool" && all_taken 2 && [ "$(ls "$spool")" = push.state ]
}

reloaded() {
	fresh && "$fake" "$a" 500 counted && push 0 '' --spool "$spool" || return
	LC_ALL=C perl -0pi -e 's/\x15\xcd\x85\x3d\xfe\x9c\x97\x17/\x16\xcd\x85\x3d\xfe\x9c\x97\x17/g' "$a"/{info,events,stacks} || return
	push 0 'was loaded again since the last push' --spool "$spool" && [ "$(requests)" = 2 ] && proper &&
		[ "$("$dir/profile" "$r/body.1" | awk '{ n += $NF } END { print n }')" = 600 ]
}

# On a disk that is full: one line, and what was there stays; with room again nothing is missing
full_disk() {
	local spool=$work/full/spool

	mkdir "$work/full" && mount -t tmpfs -o size=64k none "$work/full" || return
	fresh && rm -rf "$work/full"/* && hang_up && "$fake" "$a" 200 counted && push 1 'kept in' --spool "$spool" || return
	head -c 1000000 /dev/zero >"$work/full/fill" 2>/dev/null
	(cd "$spool" && md5sum -- *) >"$dir/before"
	"$fake" "$a" 3000 counted && push 1 'cannot be written: No space left' --spool "$spool" && [ "$(wc -l <"$dir/err")" = 2 ] || { cat "$dir/err"; return 1; }
	(cd "$spool" && md5sum -- *) | diff "$dir/before" - || return
	# The server is back before the disk has room
	listen && push 1 'cannot be written: No space left' --spool "$spool" && [ "$(wc -l <"$dir/err")" = 1 ] && [ "$(requests)" = 1 ] || return
	rm "$work/full/fill" && push 0 '' --spool "$spool" && all_taken 2 && umount "$work/full"
}

all_tests() {
	local program

	for program in go python3 openssl; do
		command -v $program >/dev/null || { echo "ok push # SKIP $program is not installed"; return; }
	done
	[ -d /usr/share/gocode/src/github.com/google/pprof ] || { echo "ok push # SKIP golang-github-google-pprof-dev is not installed"; return; }
	result 'record, receiver and the reader of profiles are made' ready
	listen
	result 'a push is as documented, and its sums are the totals' once
	result 'deltas: each push has what is new; events of evicted stacks' deltas
	result 'the server is away: the spool keeps pushes, and sends them in order' away
	result 'a redirect is not followed' redirect
	result 'no answer, half an answer, a late one: sent again, and said' unanswered
	result 'TLS is verified; --ca' secure
	thorough || return 0
	result 'the server answers with errors' errors
	result 'server and command killed again and again: nothing is lost or twice' killed
	result 'a signal ends it after one more push; -n' signal
	result 'a token: sent, never shown' token
	result 'what makes no sense is refused, and nothing is sent' refusals
	result 'a spool that is damaged, in use or no folder' bad_spool
	result 'the spool is bounded; what it drops is counted' bounded
	result 'stopped while a push is stored: all of it or nothing' stopped
	result 'the module was loaded again' reloaded
	if [ "$(id -u)" != 0 ]; then
		echo 'ok a full disk # SKIP only root can mount one'
	else
		result 'a full disk: one line, and nothing is lost' full_disk
	fi
}

with_tools all_tests tests
