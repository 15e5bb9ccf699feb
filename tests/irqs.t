#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# How long a save keeps interrupts off, and how much of the stack it uses:
# tests/guest/irqs.sh on each kernel.  Interrupts must be off for no longer than a walk of the
# stack takes plus 5,000 instructions, whatever modules are loaded.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# within NAME: there are lines "irqs NAME...", and each is within the bound
within() {
	awk -v name="$1" '$1 == "irqs" && $2 ~ "^" name {
			n++
			bad += $3 > $4 + 5000 || !$3 || !$4
			print
		}
		END { exit !n || bad }' "$work/guest.log"
}

# figure KIND NAME FIELD
figure() {
	awk -v kind="$1" -v name="$2" -v field="$3" '$1 == kind && $2 == name { print $field }' "$work/guest.log"
}

interrupting() {
	[ "$(figure interrupts page 3)" = 0 ] && [ "$(figure interrupts full 3)" -gt 0 ]
}

# The time must not depend on symbols: a search of 20,000 takes half a million instructions
alike() {
	local name
	for name in new again probe; do
		echo "$name: $(figure irqs "many-$name" 3), $(figure irqs "few-$name" 3)"
		[ $(($(figure irqs "many-$name" 3) - $(figure irqs "few-$name" 3))) -le 4000 ] || return
	done
}

stack() {
	awk '$1 == "stack" { n++; bad += $3 > $4 || $3 < 100; print } END { exit n < 3 || bad }' "$work/guest.log"
}

# sights NAME TIMES PLUS: in each context and at each depth that event of a stack costs that many
# times what a walk does, and that many instructions, at most; "event": of stacks never recalled
sights() {
	awk -v name="$1" -v times="$2" -v plus="$3" -v least="$least" '$1 == "sight" {
			split($2, is, "_")
			cost[is[1], is[2] " " $3] = $4
			if (is[1] == "walk" && (is[2] == "unserved") == (name == "event"))
				at[is[2] " " $3]
		}
		END {
			for (i in at) {
				n++
				most = times * cost["walk", i] + plus
				print i ": " cost[name, i] ", at most " most
				bad += !cost[name, i] || cost[name, i] > most
			}
			exit n < (name == "event" ? 3 : least) || bad
		}' "$work/guest.log"
}

# What a frame that keeps an address of the stack in rbp adds to a known stack
rbp() {
	awk '$1 == "sight" && $2 == "third_task" { task[$3] = $4 }
		$1 == "sight" && $2 == "third_rbp" {
			n++
			# Without a figure of its own: the one before, and five for each frame more
			none = $3 in task ? task[$3] : none + 5 * ($3 - frames)
			frames = $3
			each = ($4 - none) / $3
			printf "%d frames: %d, with rbp %d: %.1f each\n", $3, none, $4, each
			bad += each > 8 || each < 0
		}
		END { exit n < 4 || bad }' "$work/guest.log"
}

irqs() {
	local kernel words cross reader='' options=() least=14
	kernel_of "$1" || return
	measured_build "$1" irqs && mv "$work/vm/irqs"/* "$work/vm/" && build "$1" plain && build_reader "$1" &&
		cp "$here/guest/irqs.sh" "$work/vm/run" && chmod +x "$work/vm/run" || echo "not ok everything is built"
	# For other kernels the cycle counter does not count instructions; arm64's clock does
	case $1 in
	*-arm64) options=(-i) least=9 && : >"$work/vm/sights" ;;
	*-*) ;;
	*) options=(-i) && : >"$work/vm/sights" && : >"$work/vm/instructions" ;;
	esac
	boot "$1" -x "$reader" "${options[@]}" >"$work/results"
	sed '/^ok\|^not ok/!s/^/# /' "$work/results"
	result "a save takes no more of the stack than stackbuf.h says" stack
	if [ -e "$work/vm/sights" ]; then
		result "the first event of a stack costs a walk and a half and 3,000 instructions at most" \
			sights first 1.5 3000
		result "the second one costs no more than a walk" sights second 1.15 0
	fi
	if [ -e "$work/vm/instructions" ]; then
		result "interrupts off: first sights, and what is learnt again" within 'few-'
		result "interrupts off: the same from a module of 20,000 symbols" within 'many-'
		result "interrupts off: that does not depend on symbols" alike
		result "interrupts off: a page of the ring is counted and cleared" within page
		result "interrupts off: the table is full" within full
		result "info: eviction interrupts CPUs while the table is full, and else none" interrupting
		result "the third one is recalled" sights third 0.1 300
		result "where none is recalled an event costs no more than a walk" sights event 1.05 0
		result "a frame that keeps an address of the stack in rbp adds 8 instructions at most" rbp
		result "a probe where a module's function begins is recalled" \
			[ "$(figure recalled many-probe 3)" -ge 90 ]
	else
		echo "ok interrupts off # SKIP no counter of instructions on $1"
	fi
	ended
}

on_each_kernel "what a save holds up" irqs 6.1
