# SPDX-License-Identifier: GPL-2.0
#
# awk -v n=N -v cpus=N -f tags.awk TAGS LOG - the newest events of each CPU that the command
# "tags" of stackbuf_test.ko recorded: each once, in order, up to the last of n, with the right
# stack.  TAGS has what the command printed, lines "path CPU I id ID"; LOG has the output of
# "stackbuf log --json".  A tag is 0x5b, the CPU, the number.

BEGIN { FS = "[:,\"]+" }
FNR == NR { split($0, w, " "); if (w[1] == "path") id[w[2], w[3]] = w[5]; next }
{
	delete f
	for (i = 2; i < NF; i += 2) f[$i] = $(i + 1)
	if (f["tag"] !~ /^0x5b/) next
	cpu = f["cpu"]; at = 0
	# Not every awk reads hexadecimal numbers
	hex = substr(f["tag"], 7)
	for (i = 1; i <= length(hex); i++)
		at = 16 * at + index("0123456789abcdef", substr(hex, i, 1)) - 1
	if (f["stack"] != id[cpu, at % 40]) { print "stack of", $0; bad = 1; exit }
	if (seen[cpu]++ && at != last[cpu] + 1) { print "after", last[cpu], "comes", $0; bad = 1; exit }
	last[cpu] = at
}
END {
	for (cpu = 0; cpu < cpus; cpu++)
		if (!bad && (last[cpu] != n - 1 || seen[cpu] < 1000)) {
			print "CPU", cpu, "ends at", last[cpu], "after", seen[cpu]; bad = 1
		}
	exit bad
}
