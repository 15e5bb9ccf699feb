#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: stackbuf-drgn.py is for drgn:
  drgn -s VMLINUX -c DUMP stackbuf-drgn.py [COMMAND [OPTION...]]
Print events (COMMAND is log), counts (count), the text log (text) or the state (info) from DUMP;
without COMMAND the newest 20 events.  drgn finds where the module's arrays are; the command
"stackbuf" reads them.  From drgn's prompt, after import runpy:
  runpy.run_path("stackbuf-drgn.py")["stackbuf"](prog, "log", "--last", "20")
DUMP is /proc/kcore, as root, or a dump with vmcoreinfo, which says where KASLR put the kernel.
One of QEMU without paging needs DRGN_USE_LIBKDUMPFILE_FOR_ELF=1 in drgn's environment.

  -h, --help  this text
"""
# Symbols are from the kernel's table: drgn 0.0.22 errs on variables of modules from 6.4 on
import os
import shutil
import subprocess
import sys
import tempfile

ARRAYS = {"info": b"stackbuf_info", "events": b"stackbuf_events",
          "stacks": b"stackbuf_stacks", "text": b"stackbuf"}
HINT = "stackbuf -f DUMP reads a dump without symbols, and without drgn"


def fail(text, status=1):
    """End with one line"""
    print(f"stackbuf-drgn.py: {text}", file=sys.stderr)
    sys.exit(status)


def find_reader():
    """The command stackbuf: built or installed beside this script, or in PATH"""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, "../..", place, "stackbuf") for place in ("build/tools", "sbin")]
    reader = next((path for path in beside if os.access(path, os.X_OK)), shutil.which("stackbuf"))
    return reader or fail("the command stackbuf is missing: make install-tools")


def find_arrays(prog):
    """Name: (address, size) of the arrays of the loaded module, or of the kernel"""
    from drgn.helpers.linux.list import list_for_each_entry
    banner = b"Linux version " + prog["UTS_RELEASE"].string_() + b" "
    if not prog["linux_banner"].string_().startswith(banner):
        fail(f"vmlinux is of another build than the kernel that ran.  {HINT}")
    for mod in list_for_each_entry("struct module", prog["modules"].address_of_(), "list"):
        if mod.name.string_() == b"stackbuf":
            table = mod.kallsyms
            symbols = (table.symtab[i] for i in range(table.num_symtab.value_()))
            found = {(table.strtab + s.st_name).string_(): (s.st_value.value_(), s.st_size.value_())
                     for s in symbols}
            return {file: found[name] for file, name in ARRAYS.items()}
    try:
        built_in = {file: prog.symbol(name.decode()) for file, name in ARRAYS.items()}
    except LookupError:
        fail("the module stackbuf is not loaded there")
    return {file: (symbol.address, symbol.size) for file, symbol in built_in.items()}


def stackbuf(prog, *words):
    """Run the command stackbuf on the arrays; its exit status"""
    reader = find_reader()
    with tempfile.TemporaryDirectory() as directory:
        try:
            for file, (address, size) in find_arrays(prog).items():
                with open(os.path.join(directory, file), "wb") as out:
                    out.write(prog.read(address, size))
        except LookupError as error:
            fail(f"no symbol {error}: name the vmlinux of this kernel (not vmlinuz) with debug "
                 f"information: drgn -s (on Debian of the package linux-image-RELEASE-dbg).  {HINT}")
        except Exception as error:  # drgn.FaultError  pylint: disable=broad-except
            fail(f"memory cannot be read ({error}): vmlinux is of another build, or this is an ELF "
                 f"dump without paging: set DRGN_USE_LIBKDUMPFILE_FOR_ELF=1 for drgn.  {HINT}")
        return subprocess.run([reader, "-f", directory, *(words or ("log", "--last", "20"))],
                              check=False).returncode


if sys.argv[1:2] in (["-h"], ["--help"]):
    print(__doc__, end="")
elif "prog" in globals():
    sys.exit(stackbuf(globals()["prog"], *sys.argv[1:]))
elif __name__ == "__main__":
    fail(f"{' '.join(sys.argv[1:])}: runs within drgn; try stackbuf-drgn.py -h", 2)
