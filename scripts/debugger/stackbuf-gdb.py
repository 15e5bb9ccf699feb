#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: stackbuf-gdb.py is for gdb:
  gdb -ex "symbol-file VMLINUX -o OFFSET" -ex "core-file DUMP" -ex "source stackbuf-gdb.py"
  (gdb) stackbuf [COMMAND [OPTION...]]
Print events (COMMAND is log, the newest 20 by default), counts (count), the text log (text) or the
state (info) from DUMP, or from "target remote :1234", a machine of "qemu -s".  OFFSET, where KASLR
put the kernel, is what "stackbuf -f DUMP info -k VMLINUX" prints.
  -h, --help  this text
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARRAYS = {"info": "stackbuf_info", "events": "stackbuf_events",
          "stacks": "stackbuf_stacks", "text": "stackbuf"}
HINT = ("vmlinux is not loaded, not where KASLR put the kernel (-o OFFSET), of another build, or "
        "the dump lacks virtual addresses.  stackbuf -f DUMP reads a dump without symbols and gdb")


def find_reader():
    """The command stackbuf: built or installed beside this script, or in PATH"""
    beside = [HERE / "../.." / place / "stackbuf" for place in ("build/tools", "sbin")]
    reader = next((path for path in beside if path.exists()), shutil.which("stackbuf"))
    if not reader:
        raise gdb.GdbError("the command stackbuf is missing: make install-tools")
    return reader


def find_arrays():
    """Name: (address, size) of the arrays of the loaded module, or of the kernel"""
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("no dump is open: gdb reads ELF dumps alone, not kdump's format, which "
                           "makedumpfile writes.  stackbuf -f DUMP reads both")
    module = gdb.lookup_type("struct module")
    offset = next(f.bitpos // 8 for f in module.fields() if f.name == "list")
    if gdb.parse_and_eval("(char *)&linux_banner").string(length=14) != "Linux version ":
        raise gdb.error("there is no kernel")
    head = gdb.parse_and_eval("&modules")
    entry = head["next"]
    while entry != head:
        mod = (entry.cast(gdb.lookup_type("char").pointer()) - offset).cast(module.pointer())
        entry = entry["next"]
        if mod["name"].string() == "stackbuf":
            table = mod["kallsyms"]
            symbols = (table["symtab"][i] for i in range(int(table["num_symtab"])))
            found = {(table["strtab"] + int(s["st_name"])).string():
                     (int(s["st_value"]), int(s["st_size"])) for s in symbols}
            return {file: found[name] for file, name in ARRAYS.items()}
    try:
        built_in = {file: gdb.parse_and_eval(name) for file, name in ARRAYS.items()}
    except gdb.error:
        raise gdb.GdbError("the module stackbuf is not loaded there") from None
    return {file: (int(array.address), array.type.sizeof) for file, array in built_in.items()}


try:
    import gdb
except ImportError:
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__, end=""))
    print("stackbuf-gdb.py:", *sys.argv[1:], "- is for gdb; try stackbuf-gdb.py -h", file=sys.stderr)
    sys.exit(2)


class Stackbuf(gdb.Command):
    """Print what the module stackbuf recorded: stackbuf [log|count|text|info] [OPTION...]"""
    def invoke(self, argument, from_tty):
        with tempfile.TemporaryDirectory() as directory:
            try:
                for file, where in find_arrays().items():
                    memory = gdb.selected_inferior().read_memory(*where)
                    pathlib.Path(directory, file).write_bytes(memory)
            except (gdb.error, KeyError, UnicodeDecodeError) as error:
                raise gdb.GdbError(f"{error}: {HINT}") from None
            gdb.flush()
            words = gdb.string_to_argv(argument) or ["log", "--last", "20"]
            done = subprocess.run([find_reader(), "-f", directory, *words], check=False)
        if done.returncode:
            raise gdb.GdbError(f"stackbuf ended with status {done.returncode}")


Stackbuf("stackbuf", gdb.COMMAND_DATA)
