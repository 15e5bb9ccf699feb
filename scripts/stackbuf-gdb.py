#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: stackbuf-gdb.py -k VMLINUX [-o OFFSET] DUMP [COMMAND [OPTION...]]
Print events (COMMAND is log), counts (count), the text log (text) or the state (info) from
DUMP, by gdb.  gdb finds where the module's arrays are; the command "stackbuf" reads them.
Without COMMAND: the newest 20 events.

  -k VMLINUX  the kernel's image with debug information, not compressed (on Debian in the
              package linux-image-RELEASE-dbg)
  -o OFFSET   where KASLR put the kernel, as "stackbuf -f DUMP info -k VMLINUX" prints it; 0 with
              nokaslr (default: what the dump's vmcoreinfo says)
  -h, --help  this text

The same in gdb, by hand:

  gdb -ex "symbol-file VMLINUX -o OFFSET" -ex "core-file DUMP" -ex "source stackbuf-gdb.py"
  (gdb) stackbuf [COMMAND [OPTION...]]

instead of "core-file DUMP" also "target remote :1234", with a machine of "qemu -s".

gdb reads memory by virtual addresses only.  It opens ELF dumps of QEMU with paging
(dump-guest-memory -p) and stubs.  It does not open QEMU's dumps without paging (also those
of virsh dump --memory-only), vmcores of kdump, in which modules have no virtual addresses,
what makedumpfile compressed, and raw images of RAM.  "stackbuf -f DUMP" reads all of them,
without symbols.
"""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import gdb
except ImportError:
    # Not within gdb: run as a program
    gdb = None

ARRAYS = {"info": "stackbuf_info", "events": "stackbuf_events",
          "stacks": "stackbuf_stacks", "text": "stackbuf"}
HERE = os.path.dirname(os.path.abspath(__file__))
NEWEST = ["log", "--last", "20"]
PLACE = ("vmlinux is not where KASLR put the kernel (-o OFFSET, also of symbol-file; "
         "\"stackbuf -f DUMP info -k VMLINUX\" prints it), or of another build, or this is a dump "
         "without virtual addresses, as QEMU's without paging")
HINT = "stackbuf -f DUMP reads a dump without symbols, and without gdb"


def find_reader():
    """The command stackbuf: built or installed beside this script, or in PATH; or None"""
    for place in ("build/tools", "../sbin"):
        reader = os.path.join(HERE, "..", place, "stackbuf")
        if os.access(reader, os.X_OK):
            return reader
    return shutil.which("stackbuf")


NO_READER = "the command stackbuf is missing: make tools, then make install-tools"


def check_place():
    """Fail if the kernel is not where its symbols are"""
    banner = int(gdb.parse_and_eval("&linux_banner"))
    try:
        found = gdb.selected_inferior().read_memory(banner, 14).tobytes()
    except gdb.MemoryError:
        found = None
    if found != b"Linux version ":
        raise gdb.GdbError(f"no kernel at {banner:#x}: {PLACE}.  {HINT}")


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


def write_arrays(directory):
    """Write the arrays into a directory, each into a file, for the command stackbuf"""
    try:
        check_place()
        memory = {file: gdb.selected_inferior().read_memory(*where)
                  for file, where in find_arrays().items()}
    except (gdb.MemoryError, UnicodeDecodeError) as error:
        raise gdb.GdbError(f"the memory of modules cannot be read ({error}): vmlinux is of another "
                           "build, or the dump has that memory by physical addresses only, as a "
                           f"vmcore of kdump.  {HINT}") from None
    except gdb.error as error:
        raise gdb.GdbError(f"{error}: is vmlinux with debug information loaded?  {HINT}") \
            from None
    for file, content in memory.items():
        with open(os.path.join(directory, file), "wb") as out:
            out.write(content)


def write_or_explain(directory):
    """The same for the program below: its error without a traceback"""
    try:
        write_arrays(directory)
    except gdb.GdbError as error:
        gdb.write(f"{error}\n", gdb.STDERR)


def define_command():
    """Define gdb's command"""
    class Stackbuf(gdb.Command):
        """Print what the module stackbuf recorded: stackbuf [log|count|text|info] [OPTION...]"""

        def __init__(self):
            super().__init__("stackbuf", gdb.COMMAND_DATA)

        def invoke(self, argument, from_tty):
            """Called by gdb"""
            reader = find_reader()
            if not reader:
                raise gdb.GdbError(NO_READER)
            words = gdb.string_to_argv(argument) or NEWEST
            with tempfile.TemporaryDirectory() as directory:
                write_arrays(directory)
                done = subprocess.run([reader, "-f", directory, *words], check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            gdb.write(done.stderr.decode(errors="replace"), gdb.STDERR)
            gdb.write(done.stdout.decode(errors="replace"))
            if done.returncode:
                raise gdb.GdbError(f"stackbuf ended with status {done.returncode}")

    Stackbuf()


def fail(text, status=1):
    """End with one line"""
    print(f"stackbuf-gdb.py: {text}", file=sys.stderr)
    sys.exit(status)


def kaslr_offset(dump):
    """From vmcoreinfo, which is near the beginning of a dump"""
    with open(dump, "rb") as file:
        found = file.read(64 << 20).partition(b"KERNELOFFSET=")[2]
    return f"0x{found.split(maxsplit=1)[0].decode()}" if found else None


def run_gdb(vmlinux, offset, dump, words):
    """Have gdb write the arrays, and the command stackbuf print them; its exit status"""
    reader = find_reader() or fail(NO_READER)
    program = shutil.which("gdb") or fail("gdb is missing: install the package gdb")
    with tempfile.TemporaryDirectory() as directory:
        quoted = os.path.abspath(vmlinux).replace("\\", "\\\\").replace('"', '\\"')
        done = subprocess.run([program, "-nx", "-q", "-batch", "-c", dump,
                               "-ex", f"symbol-file \"{quoted}\" -o {offset}",
                               "-x", os.path.abspath(__file__),
                               "-ex", f"python write_or_explain({directory!r})"],
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace")
        if len(os.listdir(directory)) != len(ARRAYS):
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            refused = [line for line in lines if "is not a core dump" in line]
            fail(f"{refused[0]}.  {HINT}" if refused else (lines or ["gdb failed"])[-1])
        return subprocess.run([reader, "-f", directory, *(words or NEWEST)],
                              check=False).returncode


def main():
    """Called when this is run as a program"""
    given = {"-k": None, "-o": None}
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(__doc__, end="")
            return 0
        if word not in given:
            fail(f"no option {word}; try stackbuf-gdb.py -h", 2)
        if not words:
            fail(f"{word} needs a value; try stackbuf-gdb.py -h", 2)
        given[word] = words.pop(0)
    if not words:
        fail("name a dump; try stackbuf-gdb.py -h", 2)
    dump = words.pop(0)
    if not given["-k"]:
        fail("name the kernel's vmlinux: -k (on Debian the package linux-image-RELEASE-dbg has "
             "it); stackbuf -f DUMP needs none", 2)
    try:
        open(given["-k"], "rb").close()
        offset = given["-o"] or kaslr_offset(dump)
        int(offset or "0", 0)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    except ValueError:
        fail(f"-o {offset}: no number; as 0x39200000", 2)
    if not offset:
        fail(f"{dump} has no vmcoreinfo that says where KASLR put the kernel: name the offset, as "
             "\"stackbuf -f DUMP info -k VMLINUX\" prints it: -o OFFSET")
    return run_gdb(given["-k"], offset, dump, words)


if gdb:
    define_command()
elif __name__ == "__main__":
    sys.exit(main())
