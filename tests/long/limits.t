#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Machines that are small or large, or where calls fail: tests/guest/limits.sh on each
# kernel, booted in several ways; on a debug kernel, allocations that fail.
# KINDS="NAME..." selects machines.  The way through shim and its MOK manager was not run.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

# Make 64 modules from one, each with another name
clients() {
	local n
	for n in $(seq 10 73); do
		LC_ALL=C sed "s/stackbuf_probe/stackbuf_pro$n/g" "$work/vm/big/stackbuf_probe.ko" \
			>"$work/vm/big/client$n.ko" || return
	done
}

# For the machine "key": a module signed with a new key in $work/vm, and in $work/variables the firmware's
# variables with that key in db, its list of those that may sign.  Kernels of Debian trust these
key() {
	local cert=$work/vm/key.der sign
	sign=$(echo "$kernel"/usr/lib/linux-kbuild-*/scripts/sign-file)
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=stackbuf-test/ \
		-addext extendedKeyUsage=codeSigning -keyout "$work/key.pem" -outform DER -out "$cert" 2>"$work/openssl.log" &&
		mkdir -p "$work/vm/signed" && cp "$work/vm/big/stackbuf.ko" "$work/vm/signed/" &&
		"$sign" sha256 "$work/key.pem" "$cert" "$work/vm/signed/stackbuf.ko" ||
		{ cat "$work/openssl.log"; return 1; }
	# The first variable of an empty store, after the headers of volume and store: an
	# AUTHENTICATED_VARIABLE_HEADER, the name, an EFI_SIGNATURE_LIST with one EFI_CERT_X509
	perl -e 'open(my $vars, "<:raw", "/usr/share/OVMF/OVMF_VARS.fd") or die "no OVMF: install the package ovmf\n";
		open(my $file, "<:raw", $ARGV[0]) or die;
		local $/; $_ = <$vars>; my $cert = <$file>;
		substr($_, 0x64, 2) eq "\xff\xff" or die "OVMF has variables\n";
		my $list = pack("H32 V V V", "a159c0a5e494a74a87b5ab155c2bf072", length($cert) + 44, 0, length($cert) + 16) .
			"stackbuf-testkey" . $cert;
		my $name = "d\0b\0\0\0";
		my $variable = pack("v C C V Q< x16 V V V H32", 0x55aa, 0x3f, 0, 0x27, 0, 0, length($name), length($list),
			"cbb219d73a3d9645a3bcdad00e67656f") . $name . $list;
		substr($_, 0x64, length($variable)) = $variable;
		print' "$cert" >"$work/variables"
}

limits() {
	local series=$1 reader='' kernel words cross kind kinds="usual one eight many possible nodebugfs key huge clients"
	if [[ $series == *-debug ]]; then
		kinds=failing
		gcc -static -O2 -Wall -o "$work/vm/failing" "$here/guest/failing.c" || echo "not ok everything is built"
	fi
	guest "$series" limits && cp "$top/scripts/service/stackbuf-service" "$work/vm/" &&
		build_reader "$series" && build_sbcheck "$series" &&
		build "$series" big && build "$series" many EVENTS_KB=256 &&
		build "$series" huge EVENTS_KB=262144 STACKS_KB=4096 TEXT_KB=4096 && clients ||
		echo "not ok everything is built"
	for kind in ${KINDS:-$kinds}; do
		echo "$kind" >"$work/vm/kind"
		echo "# $series $kind"
		case $kind in
		one) boot "$series" -x "$reader" -c 1 ;;
		eight) boot "$series" -x "$reader" -c 8 -m 768 ;;
		# -s: with a thread each, 128 CPUs of the emulator make little progress
		many) boot "$series" -s -t 1800 -x "$reader" -c 128 -m 3072 ;;
		possible) boot "$series" -x "$reader" -m 768 -a possible_cpus=600 ;;
		nodebugfs) boot "$series" -s -x "$reader" -a debugfs=off ;;
		key)
			result "a module is signed" key
			boot "$series" -u "$work/variables" -x "$reader" -x modprobe -x depmod -x bash -a module.sig_enforce=1
			;;
		huge) boot "$series" -x "$reader" -m 1536 ;;
		# -s: setting and removing probes patches running code
		*) boot "$series" -s -x "$reader" ;;
		esac | sed "s/^\(not \)\?ok /&$kind: /"
		grep -qx "done" "$work/guest.log" || return
	done
	echo "done"
}

on_each_kernel limits limits
