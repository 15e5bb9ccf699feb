#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
decode.py - hold "stackbuf decode" against objdump and addr2line

  decode.py lines STACKBUF VMLINUX N
      "ok" or "not ok" for each of three: lines of N calls, as objdump and addr2line have
      them; those of functions that cannot be told apart; which frames are exact, which are return addresses
  decode.py frames VMLINUX N
      distinct frames, one a line
  decode.py pprof [--no-comm] FOLDED < PROTOC
      a profile that protoc --decode printed, against "--folded"
  decode.py svg FOLDED < SVG
      a flame graph, against "--folded"

Status 0: all is as it should be.
"""
import bisect
import collections
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})


def lines(*command, text=None):
    return run(*command, text=text).stdout.splitlines()


class Image:
    """A vmlinux: its functions, and where calls are in a part of its code"""

    def __init__(self, path, part=0x180000, seed=1):
        self.path = path
        self.random = random.Random(seed)
        symbols = [line.split(" ", 2) for line in lines("nm", path)]
        self.starts = sorted({int(a, 16) for a, t, _ in symbols if t in "tTwW"})
        self.named = collections.defaultdict(set)
        for address, kind, name in symbols:
            if kind in "tT":
                self.named[name].add(int(address, 16))
        text = [int(a, 16) for a, _, n in symbols if n == "_stext"][0]
        # Begin where most functions share their name with another
        twins = sorted(a for n, s in self.named.items() if len(s) > 1 for a in s)
        first = max(range(text, twins[-1], 0x80000),
                    key=lambda p: bisect.bisect(twins, p + part) - bisect.bisect(twins, p))
        self.after_call = []    # function, its start, address after a call
        self.others = []        # the same, address after another instruction
        self.ends = []          # the same, address after a call at the function's end
        start = name = called = None
        for line in lines("objdump", "-d", "--no-show-raw-insn", "--start-address=%d" % first,
                          "--stop-address=%d" % (first + part), path):
            match = re.match(r"([0-9a-f]+) <(.*)>:$", line)
            if match:
                if called:
                    self.ends.append((name, start, int(match[1], 16)))
                start, name, called = int(match[1], 16), match[2], None
                continue
            match = re.match(r" *([0-9a-f]+):\t(\S+)", line)
            if match and name:
                address = int(match[1], 16)
                if called is not None and start in self.named[name]:
                    (self.after_call if called else self.others).append((name, start, address))
                called = match[2].startswith("call")

    def frame(self, name, start, address):
        end = self.starts[bisect.bisect_right(self.starts, start)]
        return "%s+%#x/%#x" % (name, address - start, end - start)

    def places(self, addresses):
        """What addr2line -i says of each, without the root and discriminators"""
        wanted = ["%x" % a for a in addresses]
        found = []
        for line in lines("addr2line", "-a", "-i", "-e", self.path, text="\n".join(wanted) + "\n"):
            if re.match("0x[0-9a-f]+$", line):
                found.append([])
            else:
                found[-1].append(shorten(re.sub(r" \(discriminator.*", "", line)))
        return found


def shorten(path):
    path = re.sub(r"^(/build/[^ ]*?/linux-[^/]*/|debian/build/[^/]*/)", "", path)
    while True:
        shorter = re.sub(r"(^|/)(?!\.\./)[^/]+/\.\./", r"\1", path, count=1)
        if shorter == path:
            return path
        path = shorter


def given(line):
    """Source lines in what "stackbuf decode" printed: one list, or several with "or" between"""
    return [re.findall(r"\(([^() ]+:[0-9?]+)\)", part) for part in line.split(" or ")]


def same(places, wanted):
    """2: equal, 1: but for files that addr2line before 2.42 names wrongly (its bug 30783)"""
    if places == wanted:
        return 2
    numbers = [p.rsplit(":", 1)[1] for p in places], [p.rsplit(":", 1)[1] for p in wanted]
    return int(bool(places) and numbers[0] == numbers[1] and wanted[0].split(":")[0].endswith(".c"))


def decode(stackbuf, image, text, *options):
    done = run(stackbuf, "decode", "-k", image.path, *options, text=text)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()


def truth(stackbuf, image, number):
    pick = image.random.sample(image.after_call, number)
    pick += [c for c in image.after_call if len(image.named[c[0]]) > 1][:number // 2]
    text = "Call Trace:\n a+0x1/0x2\n" + "".join(" %s\n" % image.frame(*c) for c in pick)
    wrong = several = moved = twins = 0
    files = set()
    wanted = image.places([c[2] - 1 for c in pick])
    returns = image.places([c[2] for c in pick])
    for line, want, there, call in zip(decode(stackbuf, image, text)[2:], wanted, returns, pick):
        best = max(same(places, want) for places in given(line))
        several += " or " in line
        if best == 1:
            files.add(str(want))
        moved += want != there
        twins += len(image.named[call[0]]) > 1
        if not best:
            wrong += 1
            print(line, "but", want)
    print("%d frames, %d of them with a name in common: %d wrong, %d with more than one answer, "
          "%d places where addr2line has another file; %d would have another line if decoded behind "
          "the call" % (len(pick), twins, wrong, several, len(files), moved))
    return wrong or len(files) > len(pick) // 20 or several > twins // 4 or moved < len(pick) // 4 \
        or twins < number // 4


def interrupted(stackbuf, image, most):
    """Anywhere in functions with name and size in common: what is right is among the answers"""
    sizes = {int(s[0], 16): int(s[1], 16) for s in map(str.split, lines("nm", "-S", image.path))
             if len(s) == 4}
    groups = collections.defaultdict(list)
    for name, starts in image.named.items():
        # Not __pfx_NAME, the padding before a function: it is not executed
        for start in starts if len(starts) > 1 and not name.startswith("__pfx_") else ():
            after = bisect.bisect_right(image.starts, start)
            if after < len(image.starts):
                groups[name, image.starts[after] - start].append(start)
    groups = sorted((g, s) for g, s in groups.items() if len(s) > 1 and g[1] <= 0x80)
    image.random.shuffle(groups)
    pick = [(name, start, start + offset) for (name, size), starts in groups
            for start in starts for offset in range(1, sizes.get(start, size))][:most]
    wrong = several = bare = 0
    said = decode(stackbuf, image, "".join("RIP: 0010:%s\n" % image.frame(*c) for c in pick))
    for line, want in zip(said, image.places([c[2] for c in pick])):
        none = want[0].endswith((":?", ":0"))
        answers = [places for places in given(line) if places not in ([], ["?:?"])]
        several += " or " in line
        bare += none and bool(answers)
        if not any(same(places, want) for places in answers) and \
                not (none and (not answers or "(?:?)" in line)):
            wrong += 1
            print(line, "but", want)
    print("%d places in %d functions: %d wrong, %d with more than one answer, %d without a line "
          "where another has one" % (len(pick), sum(len(s) for _, s in groups), wrong, several, bare))
    return wrong or several < 100 or len(said) != len(pick)


def kinds(stackbuf, image):
    """Addresses whose line is not that of the byte before tell which of the two was meant"""

    def turning(calls):
        calls = [c for c in calls if len(image.named[c[0]]) == 1]
        calls = image.random.sample(calls, 400)
        here = image.places([c[2] for c in calls])
        before = image.places([c[2] - 1 for c in calls])
        return [(image.frame(*c), h, b) for c, h, b in zip(calls, here, before)
                if h != b and same(h, b) != 1 and "?" not in str(h + b)]

    call, other = turning(image.after_call), turning(image.others)
    a, b, o = (call[0], call[1], other[0])
    # The text, with %s in place of the frame; the frame; the place whose line is right
    cases = [
        ("RIP: 0010:%s", a, "exact"),
        ("EIP: %s", a, "exact"),
        ("[    1.2] IP: [<ffffffff81000000>] %s", a, "exact"),
        ("pc : %s", a, "exact"),
        ("PC is at %s", a, "exact"),
        ("lr : %s", a, "call"),
        ("LR is at %s", o, "call"),
        ("WARNING: CPU: 0 PID: 1 at fs/x.c:1 %s", a, "exact"),
        ("Call Trace:\n %s", a, "call"),
        ("Call Trace:\n %s", o, "exact"),
        ("stack 1 [    0.1] CPU: 0 PID: 1 Comm: x\n%s", a, "call"),
        ("stack 1 [    0.1] CPU: 0 PID: 1 Comm: x\n%s", o, "exact"),
        ("Call Trace:\n <TASK>\n " + a[0] + "\n %s", o, "call"),
        ("[<0>] " + a[0] + "\n[<0>] %s", o, "call"),
        ("Call Trace:\n <IRQ>\n " + a[0] + "\n </IRQ>\n <TASK>\n %s", o, "call"),
        ("Call Trace:\n ? " + a[0] + "\n %s", o, "exact"),
        ("Call Trace:\n " + a[0] + "\n ? %s", o, "exact"),
        ("Call Trace:\n " + a[0] + "\n ? " + b[0] + "\n %s", o, "call"),
        (" asm_exc_page_fault+0x26/0x30\n %s", a, "exact"),
        (" asm_sysvec_apic_timer_interrupt+0x16/0x20\n %s", a, "exact"),
        (" el1h_64_irq+0x64/0x68\n %s", a, "exact"),
        (" asm_exc_int3+0x35/0x40\n %s", o, "call"),
        (" asm_exc_page_fault+0x26/0x30\nRIP: 0010:" + a[0] + "\nCode: 00\n %s", b, "call"),
        (" " + a[0] + "\n %s (P)", o, "exact"),
        (" %s (P)", a, "exact"),
        (" %s (C)", o, "call"),
        (" " + a[0] + "\n %s (K)", o, "call"),
        ("x " + a[0] + " <- %s", o, "call"),
        ("BUG: data-race in " + a[0] + " / %s", o, "exact"),
        ("[   12.345678][   T12]  " + a[0] + "\n[   12.345678][   T12]  %s", o, "call"),
        ("Jan  1 00:00:00 host kernel:  " + a[0] + "\nJan  1 00:00:00 host kernel:  %s", o, "call"),
    ]
    # After a call at the end of a function, the return address is in the next function
    name = {start: n for n, starts in image.named.items() for start in starts if len(starts) == 1}
    ends = [e for e in image.ends if e[2] in name and e[0] in image.named][:5]
    for (function, _, address), want in zip(ends, image.places([e[2] - 1 for e in ends])):
        frame = image.frame(name[address], address, address)
        cases.append(("Call Trace:\n " + a[0] + "\n %s", (frame, None, want, function), "call"))
    said = decode(stackbuf, image, "".join("--\n" + text % frame[0] + "\n"
                                           for text, frame, _ in cases) + "--\n")
    said = [part.split("\n")[-2] for part in ("\n".join(said) + "\n").split("--\n")[1:-1]]
    wrong = 0
    for (text, frame, right), line in zip(cases, said):
        place = given(line.rsplit("+0x", 1)[1])[0]
        if not same(place, frame[1] if right == "exact" else frame[2]) or \
                (len(frame) > 3 and frame[3].split(".")[0] not in line):
            wrong += 1
            print("%r: %s, but the %s is at" % (text, line, right), frame[1:])
    print("%d cases, %d of them calls at the end of a function: %d wrong"
          % (len(cases), len(ends), wrong))
    return wrong or not ends or len(said) != len(cases)


def all_lines(stackbuf, vmlinux, number):
    image = Image(vmlinux)
    bad = False
    for text, function, args in (
            ("of calls and functions that share a name none has a wrong line", truth, (max(number, 500),)),
            ("interrupted where functions share name and size: the right line is there",
             interrupted, (16 * number,)),
            ("exact frames and return addresses are told apart", kinds, ())):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            wrong = function(stackbuf, image, *args)
        print("not ok" if wrong else "ok", text)
        print("".join("# %s\n" % line for line in said.getvalue().splitlines()[-12:]), end="")
        bad = bad or wrong
    return bad


def some_frames(vmlinux, number):
    image = Image(vmlinux, part=0x400000)
    seen = set()
    for call in image.random.sample(image.after_call, number * 2):
        seen.add(image.frame(*call))
    print("\n".join(sorted(seen)[:number]))
    return len(seen) < number


def parse_protoc(source):
    """Text of protoc: top-level messages as lists of (name, value), and strings"""
    strings, messages, outer, fields = [], [], [], []
    for line in source:
        line = line.strip()
        if line.endswith("{"):
            outer.append((line.split()[0], fields))
            fields = []
        elif line == "}":
            name, around = outer.pop()
            around.append((name, fields))
            if not outer:
                messages.append((name, fields))
            fields = around
        else:
            key, value = line.split(": ", 1)
            if key == "string_table":
                strings.append(value[1:-1].encode().decode("unicode_escape"))
            fields.append((key, value))
    return strings, messages


def pprof(folded, with_comm):
    """Samples added up by functions, and with_comm by command, against --folded"""
    strings, messages = parse_protoc(sys.stdin)
    functions = {int(dict(m)["id"]): strings[int(dict(m)["name"])]
                 for kind, m in messages if kind == "function"}
    mappings = {int(dict(m)["id"]): strings[int(dict(m)["filename"])]
                for kind, m in messages if kind == "mapping"}
    modules = {key: "" if name == "[kernel.kallsyms]" else "_" + name.split(" ")[0].rstrip("]") + "]"
               for key, name in mappings.items()}
    locations = {int(dict(m)["id"]): [functions[int(dict(v)["function_id"])] +
                                      modules[int(dict(m)["mapping_id"])]
                                      for k, v in m if k == "line"]
                 for kind, m in messages if kind == "location"}
    samples = [m for kind, m in messages if kind == "sample"]
    sums, seen = collections.Counter(), collections.Counter()
    for sample in samples:
        labels = {strings[int(dict(v)["key"])]: dict(v) for k, v in sample if k == "label"}
        names = [n for k, v in sample if k == "location_id" for n in locations[int(v)]][::-1]
        events = sum(int(v) for k, v in sample if k == "value")
        for label in labels:
            seen[label] += events
            # A value of 0 is not in the file: pprof would drop the label
            assert int(labels[label].get("str", 0)), label
        if "comm" in labels:
            assert set(labels) <= {"comm", "pid", "tgid", "cpu", "context", "tag"}
            if with_comm:
                names.insert(0, strings[int(labels["comm"]["str"])])
        else:
            assert list(labels) == ["event"] and strings[int(labels["event"]["str"])] == "overwritten"
        sums[";".join(names)] += events
    wanted = read_folded(folded)
    total = sum(wanted.values())
    for label in ("comm", "pid", "tgid", "cpu", "context", "tag"):
        assert seen[label] + seen["event"] >= total - (label == "tag"), label
    if strings[0] or sums != wanted:
        print("sums differ:", list((sums - wanted).items())[:3], list((wanted - sums).items())[:3])
        return True
    print("%d samples, %d events, %d functions; labels: %s"
          % (len(samples), total, len(functions), dict(seen)))
    return not samples


def read_folded(path):
    folded = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, count = line.rstrip("\n").rsplit(" ", 1)
            folded[name] += int(count)
    return folded


def svg(folded):
    """Every frame of a flame graph: its place and width, against --folded"""
    space = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.fromstring(sys.stdin.read())
    total = int(root.attrib["data-total"])
    frames = []
    for group in root.iter(space + "g"):
        rect, title = group.find(space + "rect"), group.find(space + "title").text
        name, events = re.match(r"(.*) \((\d+) events, [0-9.]+ %\)$", title).groups()
        width, start = int(group.attrib["data-w"]), int(group.attrib["data-x"])
        assert int(events) == width
        assert abs(float(rect.attrib["width"][:-1]) - 100 * width / total) < 0.001
        assert abs(float(rect.attrib["x"][:-1]) - 100 * start / total) < 0.001
        name = re.sub(r" (\[[^] ]*)[^]]*\]$", r"_\1]", name)
        frames.append((int(rect.attrib["y"]), start, width, name))
    rows = sorted({f[0] for f in frames}, reverse=True)
    by_row = {y: sorted(f for f in frames if f[0] == y) for y in rows}
    assert rows == list(range(rows[0], rows[-1] - 1, rows[1] - rows[0])), "rows with gaps"
    # Each frame lies on its caller and overlaps no other; the rest of its width is its own total
    own = collections.Counter()
    path = {by_row[rows[0]][0]: ""}
    for above, y in zip(rows[1:] + [None], rows):
        upper = by_row.get(above, [])
        for frame in by_row[y]:
            on = [u for u in upper if frame[1] <= u[1] and u[1] + u[2] <= frame[1] + frame[2]]
            end = frame[1]
            for u in on:
                assert u[1] >= end, "overlap"
                end = u[1] + u[2]
                path[u] = path[frame] + (";" if path[frame] else "") + u[3]
            own[path[frame]] += frame[2] - sum(u[2] for u in on)
        assert all(u in path for u in upper), "a frame stands on nothing"
    wanted = read_folded(folded)
    own = +own
    if own != wanted or sum(wanted.values()) != total:
        print("sums differ:", list((own - wanted).items())[:3], list((wanted - own).items())[:3])
        return True
    print("%d frames, %d events, %d rows" % (len(frames), total, len(rows)))
    return False


def main():
    what, *args = sys.argv[1:] or ["-h"]
    if what == "lines":
        return all_lines(*args[:2], int(args[2]))
    if what == "frames":
        return some_frames(args[0], int(args[1]))
    if what == "pprof":
        return pprof(args[-1], args[0] != "--no-comm")
    if what == "svg":
        return svg(*args)
    print(__doc__)
    return what != "-h"


sys.exit(bool(main()))
