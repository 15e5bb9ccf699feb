#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: stackbuf-drgn.py [-k VMLINUX] DUMP [COMMAND [OPTION...]]
       drgn -s VMLINUX -c DUMP stackbuf-drgn.py [COMMAND [OPTION...]]
Print events (COMMAND is log), counts (count), the text log (text) or the state (info) from
DUMP, by drgn.  drgn finds where the module's arrays are; the command "stackbuf" reads them.
Without COMMAND: the newest 20 events.  From drgn's prompt:
runpy.run_path("stackbuf-drgn.py")["stackbuf"](prog, "log", "--last", "20"), after import runpy.

  -k VMLINUX  the kernel's image with debug information, not compressed (default: where drgn
              finds it; on Debian in the package linux-image-RELEASE-dbg)
  -h, --help  this text

DUMP is /proc/kcore, as root, for the running kernel, or a dump with vmcoreinfo, which says
where KASLR put the kernel: a vmcore of kdump, as makedumpfile saves it or copied, or an ELF
dump of QEMU.  One without paging (also that of virsh dump --memory-only) needs
DRGN_USE_LIBKDUMPFILE_FOR_ELF=1 in drgn's environment; without drgn in the command line this
script sees to that.

drgn does not open QEMU's kdump-zlib, which is flattened, raw images of RAM, and dumps of QEMU
without vmcoreinfo (-device vmcoreinfo, and the module qemu_fw_cfg in the machine).
"stackbuf -f DUMP" reads all of them, without symbols.
"""
# The symbols come from the kernel's own table of the module, as drgn 0.0.22 gives variables of
# modules a wrong address from Linux 6.4 on, and as no stackbuf.ko is needed so.
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import drgn
    from drgn.helpers.linux.list import list_for_each_entry
except ImportError:
    drgn = None

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
    for place in ("build/tools", "../sbin"):
        reader = os.path.join(here, "..", place, "stackbuf")
        if os.access(reader, os.X_OK):
            return reader
    return shutil.which("stackbuf") or \
        fail("the command stackbuf is missing: make tools, then make install-tools")


def find_arrays(prog):
    """Name: (address, size) of the loaded module's arrays"""
    release = prog["UTS_RELEASE"].string_()
    if not prog["linux_banner"].string_().startswith(b"Linux version " + release + b" "):
        fail(f"vmlinux is of another build than the kernel {release.decode()} that ran.  {HINT}")
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
        fail("the module stackbuf is there, but its symbols cannot be read: pages are missing.  " +
             HINT)
    return fail("the module stackbuf is not loaded there")


def stackbuf(prog, *words):
    """Run the command stackbuf on the arrays; its exit status"""
    reader = find_reader()
    with tempfile.TemporaryDirectory() as directory:
        try:
            for file, (address, size) in find_arrays(prog).items():
                with open(os.path.join(directory, file), "wb") as out:
                    out.write(prog.read(address, size))
        except LookupError as error:
            fail(f"no symbol {error}: name a vmlinux (not vmlinuz) with debug information, -k "
                 f"(drgn: -s), on Debian of the package linux-image-RELEASE-dbg.  {HINT}")
        except drgn.FaultError as error:
            fail(f"the kernel's memory cannot be read ({error}): vmlinux is of another build, or "
                 "this is an ELF dump of QEMU without paging: set DRGN_USE_LIBKDUMPFILE_FOR_ELF=1 "
                 f"in drgn's environment.  {HINT}")
        return subprocess.run([reader, "-f", directory, *(words or ("log", "--last", "20"))],
                              check=False).returncode


def open_dump(vmlinux, dump):
    """What drgn does for its options -c and -s"""
    os.environ.setdefault("DRGN_USE_LIBKDUMPFILE_FOR_ELF", "1")
    prog = drgn.Program()
    try:
        prog.set_core_dump(dump)
        prog.load_debug_info([vmlinux] if vmlinux else None, default=not vmlinux, main=True)
    except drgn.MissingDebugInfoError:
        # Without vmlinux there is no symbol, which is reported later
        pass
    except OSError as error:
        fail(f"{error.filename or dump}: {error.strerror}")
    except Exception as error:  # drgn raises plain exceptions pylint: disable=broad-except
        fail(f"{dump}: {error}.  {HINT}")
    return prog


def main():
    """Called when this is run as a program, or by drgn"""
    words = sys.argv[1:]
    if words and words[0] in ("-h", "--help"):
        print(__doc__, end="")
        return 0
    if "prog" in globals():
        return stackbuf(globals()["prog"], *words)
    vmlinux = None
    if words and words[0] == "-k":
        if len(words) == 1:
            fail("-k needs a file name; try stackbuf-drgn.py -h", 2)
        vmlinux = words[1]
        words = words[2:]
    if words and words[0].startswith("-"):
        fail(f"no option {words[0]}; try stackbuf-drgn.py -h", 2)
    if not words:
        fail("name a dump, or /proc/kcore; try stackbuf-drgn.py -h", 2)
    try:
        open(vmlinux or words[0], "rb").close()
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    if not drgn:
        fail("drgn is missing: install the package python3-drgn")
    return stackbuf(open_dump(vmlinux, words[0]), *words[1:])


if __name__ == "__main__":
    sys.exit(main())
