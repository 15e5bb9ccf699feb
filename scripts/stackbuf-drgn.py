#!/usr/bin/env drgn
# SPDX-License-Identifier: GPL-2.0
"""Events and counts of stackbuf, in drgn

    drgn -s VMLINUX -c DUMP stackbuf-drgn.py [log|count|text|info] [OPTION...]

or, from drgn's prompt: stackbuf(prog, "log", "--last", "20").  Without words:
the newest 20 events.

drgn finds where the module's arrays are; the command "stackbuf" reads them.  The symbols
come from the kernel's own table of the module, as drgn 0.0.22 gives variables of modules
a wrong address from Linux 6.4 on, and as no stackbuf.ko is needed so.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from drgn.helpers.linux.list import list_for_each_entry

ARRAYS = {"info": b"stackbuf_info", "events": b"stackbuf_events",
          "stacks": b"stackbuf_stacks", "text": b"stackbuf"}


def find_reader():
    """The command stackbuf: built beside this script, or installed"""
    here = os.path.dirname(os.path.abspath(__file__))
    built = os.path.join(here, "..", "build", "tools", "stackbuf")
    reader = built if os.access(built, os.X_OK) else shutil.which("stackbuf")
    if not reader:
        sys.exit("stackbuf-drgn: the command stackbuf is missing: make, then make install")
    return reader


def find_arrays(prog):
    """Name: (address, size) of the loaded module's arrays"""
    for mod in list_for_each_entry("struct module", prog["modules"].address_of_(), "list"):
        if mod.name.string_() != b"stackbuf":
            continue
        table = mod.kallsyms
        found = {}
        for i in range(table.num_symtab.value_()):
            symbol = table.symtab[i]
            name = (table.strtab + symbol.st_name).string_()
            found[name] = (symbol.st_value.value_(), symbol.st_size.value_())
        if all(name in found for name in ARRAYS.values()):
            return {file: found[name] for file, name in ARRAYS.items()}
    sys.exit("stackbuf-drgn: the module stackbuf is not loaded there")


def stackbuf(prog, *words):
    """Run the command stackbuf on the arrays; its exit status"""
    reader = find_reader()
    with tempfile.TemporaryDirectory() as directory:
        for file, (address, size) in find_arrays(prog).items():
            with open(os.path.join(directory, file), "wb") as out:
                out.write(prog.read(address, size))
        return subprocess.run([reader, "-f", directory, *(words or ("log", "--last", "20"))],
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(stackbuf(prog, *sys.argv[1:]))  # noqa: F821 # pylint: disable=undefined-variable
