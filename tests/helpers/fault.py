#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
fault.py - put a deliberate fault of tests/faults.txt into a tree

  fault.py list [TIER]        names of all faults, or of those with this "tier"
  fault.py get NAME FIELD     the text of a field, or an empty line if the fault lacks it
  fault.py apply NAME TREE    change the files of TREE, or none if the fault does not fit
  fault.py check TREE         print each fault that is incomplete or does not fit TREE

tests/faults.txt describes its format.  Errors go to standard error, with status 1.
"""
import functools
import os
import re
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "faults.txt")


def read_faults():
    """Return {name: fault}: its fields, and "edits", a list of {file, from, to}."""
    faults = {}
    with open(TABLE, encoding="utf-8") as table:
        text = "".join(line for line in table if not line.startswith("#"))
    for record in re.split(r"\n{2,}", text.strip("\n")):
        fault = fields = {"kernel": "6.1", "edits": []}
        for line in record.split("\n"):
            field, colon, value = line.partition(":")
            if field == "file":
                fields = {}
                fault["edits"].append(fields)
            if not colon or (field in ("file", "from", "to")) != (fields is not fault):
                sys.exit(f"faults.txt: {fault.get('name', '?')}: unexpected line: {line}")
            value = value.removeprefix(" ")
            again = field in fields and field in ("from", "to")
            fields[field] = f"{fields[field]}\n{value}" if again else value
        if fault.get("name", "") in ("", *faults):
            sys.exit(f"faults.txt: no name, or that of another fault: {record.splitlines()[0]}")
        faults[fault["name"]] = fault
    return faults


def edited(fault, tree):
    """Return {path: text with the fault}.  Raise ValueError if an edit does not fit."""
    files = {}
    for edit in fault["edits"]:
        path, old, new = os.path.join(tree, edit["file"]), edit.get("from"), edit.get("to")
        if path not in files:
            with open(path, encoding="utf-8", newline="") as file:
                files[path] = file.read()
        text = files[path]
        if not old or text.count(old) != 1:
            raise ValueError(f"not exactly once in {edit['file']}: {old}".replace("\n", "\\n"))
        start = text.index(old)
        end = start + len(old)
        if new is None:	# the whole lines go
            start, end, new = text.rfind("\n", 0, start) + 1, text.index("\n", end) + 1, ""
        files[path] = text[:start] + new + text[end:]
    return files


@functools.cache
def results(tree):
    """Return all that the tests of TREE may print, and more: their text."""
    text = []
    for directory in ("tests", "tools/tests"):
        for path, _, files in os.walk(os.path.join(tree, directory)):
            for file in files:
                if file != "faults.txt":
                    with open(os.path.join(path, file), encoding="utf-8", errors="replace") as source:
                        text.append(source.read())
    return "\n".join(text)


def check(name, fault, tree):
    """Return a line on what is wrong with the fault, or None."""
    for field in ("what", "kernel", "test", "fails", "edits"):
        if not fault.get(field):
            return f"{name}: no {field}"
    if not os.path.isfile(os.path.join(tree, "tests", fault["test"])):
        return f"{name}: there is no tests/{fault['test']}"
    try:
        fails = fault["fails"]
        for each in [fails] if "(" in fails else fails.split("|"):
            if not re.search(each, results(tree)):
                return f"{name}: no test has a result like this: {each}"
        edited(fault, tree)
    except (OSError, ValueError, re.error) as err:
        return f"{name}: {err}"
    return None


def main(command="", name="", argument="", *more):
    faults = read_faults()
    if command == "list" and not argument:
        print(end="".join(f"{each}\n" for each in faults if name in ("", faults[each].get("tier"))))
    elif command == "check" and name and not argument:
        sys.exit("\n".join(filter(None, (check(*item, name) for item in faults.items()))) or 0)
    elif command not in ("get", "apply") or not argument or more:
        sys.exit(__doc__.strip())
    elif name not in faults:
        sys.exit(f"faults.txt: there is no fault {name}")
    elif command == "get":
        print(faults[name].get(argument, ""))
    else:
        try:
            files = edited(faults[name], argument)
        except (OSError, ValueError) as err:
            sys.exit(f"{name}: {err}")
        for path, text in files.items():
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
