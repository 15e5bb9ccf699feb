# SPDX-License-Identifier: GPL-2.0
"""Events and counts of stackbuf, in gdb

    (gdb) source stackbuf-gdb.py
    (gdb) stackbuf [log|count|text|info] [OPTION...]

Without words: the newest 20 events.  gdb needs the kernel's vmlinux with debug information,
at the place where the kernel was loaded ("symbol-file VMLINUX -o OFFSET" undoes KASLR), and
its memory by virtual addresses: QEMU's or another stub ("target remote"), or an ELF dump
of QEMU with paging ("core-file DUMP").

gdb finds where the module's arrays are; the command "stackbuf" reads them.
"""
import os
import shutil
import subprocess
import tempfile

import gdb

ARRAYS = {"info": "stackbuf_info", "events": "stackbuf_events",
          "stacks": "stackbuf_stacks", "text": "stackbuf"}
HERE = os.path.dirname(os.path.abspath(__file__))
HINT = "stackbuf -f DUMP reads a dump without symbols, and without gdb"


class Stackbuf(gdb.Command):
    """Print what the module stackbuf recorded: stackbuf [log|count|text|info] [OPTION...]"""

    def __init__(self):
        super().__init__("stackbuf", gdb.COMMAND_DATA)

    @staticmethod
    def find_reader():
        """The command stackbuf: built beside this script, or installed"""
        built = os.path.join(HERE, "..", "build", "tools", "stackbuf")
        reader = built if os.access(built, os.X_OK) else shutil.which("stackbuf")
        if not reader:
            raise gdb.GdbError("the command stackbuf is missing: make, then make install")
        return reader

    @staticmethod
    def find_arrays():
        """Name: (address, size) of the loaded module's arrays"""
        head = gdb.parse_and_eval("&modules")
        module = gdb.lookup_type("struct module")
        offset = next(f.bitpos // 8 for f in module.fields() if f.name == "list")
        char = gdb.lookup_type("char").pointer()
        entry = head["next"]
        while entry != head:
            mod = (entry.cast(char) - offset).cast(module.pointer())
            entry = entry["next"]
            if mod["name"].string() != "stackbuf":
                continue
            table = mod["kallsyms"]
            found = {}
            for i in range(int(table["num_symtab"])):
                symbol = table["symtab"][i]
                name = (table["strtab"] + int(symbol["st_name"])).string()
                found[name] = (int(symbol["st_value"]), int(symbol["st_size"]))
            if all(name in found for name in ARRAYS.values()):
                return {file: found[name] for file, name in ARRAYS.items()}
        raise gdb.GdbError("the module stackbuf is not loaded there")

    def invoke(self, argument, from_tty):
        """Called by gdb"""
        reader = self.find_reader()
        words = gdb.string_to_argv(argument) or ["log", "--last", "20"]
        try:
            arrays = self.find_arrays()
            memory = {file: gdb.selected_inferior().read_memory(*where)
                      for file, where in arrays.items()}
        except (gdb.MemoryError, UnicodeDecodeError) as error:
            raise gdb.GdbError(f"the kernel's memory cannot be read ({error}): is vmlinux the "
                               f"right one, and at the right place?  {HINT}") from None
        except gdb.error as error:
            raise gdb.GdbError(f"{error}: is vmlinux with debug information loaded?  {HINT}") \
                from None
        with tempfile.TemporaryDirectory() as directory:
            for file, content in memory.items():
                with open(os.path.join(directory, file), "wb") as out:
                    out.write(content)
            done = subprocess.run([reader, "-f", directory, *words], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        gdb.write(done.stderr.decode(errors="replace"), gdb.STDERR)
        gdb.write(done.stdout.decode(errors="replace"))
        if done.returncode:
            raise gdb.GdbError(f"stackbuf ended with status {done.returncode}")


Stackbuf()
