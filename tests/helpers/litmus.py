#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""litmus.py - compare tests/litmus with docs/design.md and the code

Each pair of barriers between CPUs has a test; each test is of such a pair, of functions that its row or
what comes before the table names, and has no barrier that none of its functions has.
"""
import collections
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

# What stands for it in the code.  A reset knows what all devices do; a grace period is what
# sbuf_synchronize_saves() waits for, or an interrupt on each CPU
SAME = {
    "smp_wmb": ("wmb",),
    "smp_mb": ("mb",),
    "smp_rmb": ("atomic_thread_fence",),
    "synchronize_rcu": ("sbuf_synchronize_saves", "on_each_cpu"),
}
BARRIER = re.compile(r"\b((?:smp_)?[rw]?mb|smp_mb__\w+|smp_store_release|smp_load_acquire|synchronize_rcu"
                     r"|atomic(?:64)?_\w+_(?:acquire|release)|atomic_thread_fence|(?:atomic_)?(?:try_)?cmpxchg(?:64)?"
                     r"(?:_(?:relaxed|acquire|release))?|(?:atomic_)?xchg|sbuf_synchronize_saves|on_each_cpu)\(")


def functions():
    """Of each function its barriers, and how often it has each.  A macro's are those of its callers"""
    barriers, macros = {}, {}
    for path in sorted(glob.glob("core/*.[ch]") + glob.glob("tools/*/*.c")):
        name = None
        for line in open(path, encoding="utf-8"):
            found = BARRIER.findall(line)
            macro = re.match(r"#define (\w+)\(", line)
            if macro:
                macros[macro[1]] = macros.get(macro[1]) or found
                continue
            head = re.match(r"[a-z][^;={]*?\b([a-z0-9_]+)\(", line)
            if head:
                name = head[1]
                # It does not call itself
                found = BARRIER.findall(line.replace(name + "(", "", 1))
            if re.match(r"\s*(/?\*|//)", line) or not name:
                continue
            for called in re.findall(r"\b(\w+)\(", line):
                found += macros.get(called, [])
            barriers.setdefault(name, collections.Counter()).update(found)
    return barriers


def kind(barrier):
    """Of 64 bits, of atomic_t, or as a loop's condition it is the same"""
    return re.sub(r"^atomic(64)?_|try_|64", "", barrier)


def number(barrier, has):
    """How often the code has a barrier of a test"""
    return sum(n for other, n in has.items() if kind(other) == barrier or other in SAME.get(barrier, ()))


def main():
    text = open("docs/design.md", encoding="utf-8").read()
    text = text[text.index("\n## Ordering"):]
    text = text[:text.index("\nOn one CPU")]
    before = text[:text.index("\n| ")]
    row = {line[2:4]: line for line in text.splitlines() if re.match(r"\| [A-Z]\d \|", line)}
    barriers = functions()
    marked = collections.Counter()
    for path in sorted(glob.glob("tests/litmus/*.litmus")):
        test = open(path, encoding="utf-8").read()
        label = os.path.basename(path)[:2]
        marked[label] += test.count("// without:")
        if test.split("\n", 1)[0] != "C " + os.path.basename(path)[:-7]:
            print(f"{path}: its first line has another name")
        if label not in row:
            print(f"{path}: there is no label {label}")
            continue
        if "// without:" not in test:
            print(f"{path}: no line is marked as a barrier")
        for process in re.split(r"\n(?=P\d\()", test)[1:]:
            head, body = process.split("\n{\n", 1)
            said = head.split("//", 1)[1]
            # What is the kernel's own has its barriers there
            own = re.sub(r"the kernel's .*?(;|, then|, and|$)", "", said)
            names = [name for name in re.findall(r"(\w+)\(\)", own) if name in barriers]
            for name in re.findall(r"(\w+)\(\)", own):
                if f"`{name}()`" not in before + row[label] and not name.startswith("smp_"):
                    print(f"{path}: {name}() is not in the row of {label}")
            if own != said or not names:
                continue
            has = sum((barriers[name] for name in names), collections.Counter())
            # These copy by it, as often as they need
            if re.search(r"steady_|arrays_|_torn", said):
                has["smp_rmb"] += 9 * barriers["arrays_read"]["atomic_thread_fence"]
            body = re.sub(r"//.*", "", body.split("\nexists", 1)[0])
            for barrier, n in collections.Counter(map(kind, BARRIER.findall(body))).items():
                if n > number(barrier, has):
                    print(f"{path}: {n} {barrier}(), and {number(barrier, has)} in {', '.join(names)}")
    for label, line in sorted(row.items()):
        if f"| Never; Sometimes ({marked[label]}) |" not in line:
            print(f"docs/design.md: {marked[label]} barriers of {label} are marked in tests/litmus")
    if len(marked) < 30:
        print(f"only {len(marked)} labels have tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
