#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Memory images for the tests, made of recordings and damaged on purpose, and files made to use up a
reader's time or memory

image.py scatter OUT MIB SEED FILE...   pages of the files at random places of an
                                        image with other memory in it
image.py hostile KIND OUT               a file that does harm: see KINDS
image.py limit MIB COMMAND...           the command's exit status, 125 if it took more memory
image.py COMMAND ...                    see below
"""
import array
import os
import random
import struct
import sys

PAGE = 4096
MAGIC = b"\x89stkbuf\n"


def pages_of(path):
    with open(path, "rb") as f:
        while True:
            page = f.read(PAGE)
            if len(page) < PAGE:
                return
            yield page


def is_ours(page):
    return page[:8] == MAGIC or page.startswith(b"stackbuf text v")


def kind(page):
    """1 info, 2 stacks, 3 events, 0 text"""
    return struct.unpack_from("<H", page, 10)[0] if page[:8] == MAGIC else 0


def noise(rnd):
    """A page as memory has them: of nothing, of text, of numbers, of what looks like ours"""
    what = rnd.randrange(4)
    if what == 0:
        return bytes(PAGE)
    if what == 1:
        return (b"stackbuf texts are no text pages\n" * 200)[:PAGE]
    if what == 2:
        return rnd.randbytes(PAGE)
    return rnd.randbytes(16) + MAGIC + rnd.randbytes(PAGE - 24)


def scatter(out, mib, seed, *files):
    rnd = random.Random(int(seed))
    ours = [p for f in files for p in pages_of(f) if is_ours(p) or not any(p)]
    ours = [p for p in ours if any(p)]
    places = rnd.sample(range(int(mib) * 256), len(ours))
    at = dict(zip(places, ours))
    with open(out, "wb") as f:
        for i in range(int(mib) * 256):
            f.write(at.get(i) or noise(rnd))


def sparse(image, out, gib):
    """The same pages far from each other, holes in between"""
    ours = [p for p in pages_of(image) if is_ours(p)]
    step = (int(gib) << 30) // PAGE // len(ours)
    with open(out, "wb") as f:
        for n, page in enumerate(ours):
            f.seek((n * step + step // 2) * PAGE)
            f.write(page)
        f.truncate(int(gib) << 30)


def zero(image, out, number, which, seed, whole=True):
    """NUMBER pages of that kind are gone"""
    rnd = random.Random(int(seed))
    pages = list(pages_of(image))
    ours = [i for i, p in enumerate(pages) if is_ours(p) and kind(p) == int(which)
            and struct.unpack_from("<Q", p, 24)[0]]
    for i in rnd.sample(ours, int(number)):
        pages[i] = bytes(PAGE) if whole else pages[i][:PAGE // 2] + rnd.randbytes(PAGE // 2)
    with open(out, "wb") as f:
        f.writelines(pages)


def half(*args):
    """Of NUMBER pages the second half was overwritten"""
    zero(*args, whole=False)


def flip(image, out, number, seed):
    """Bits anywhere"""
    rnd = random.Random(int(seed))
    with open(image, "rb") as f:
        data = bytearray(f.read())
    for _ in range(int(number)):
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    with open(out, "wb") as f:
        f.write(data)


def version(image, out, number):
    """Pages of another format version"""
    with open(out, "wb") as f:
        for page in pages_of(image):
            if page[:8] == MAGIC:
                page = page[:8] + struct.pack("<H", int(number)) + page[10:]
            elif is_ours(page):
                page = page.replace(b"text v2 ", b"text v%s " % number.encode(), 1)
            f.write(page)


def deepen(image, out):
    """Three deepest stacks: whole; with a far frame of a stack that is gone; of impossible sizes"""
    def entry(origin, words, frames):
        return (struct.pack("<QIIIBBH", origin, 2, 8 * words[0], 99999, 3, 0, 0) +
                struct.pack("<3H", *words).ljust(256, b"\0") +
                struct.pack("<3I", *frames).ljust(512, b"\0"))
    near, far = 0x110, 0x80000000
    entries = (entry(1, (12, 5, 2), (near,) * 3) + entry(2, (11, 5, 2), (near, far, near)) +
               entry(3, (12, 50, 5), (near,) * 3))
    with open(out, "wb") as f:
        for page in pages_of(image):
            if page[:8] == MAGIC and kind(page) == 5 and entries:
                page = page[:32] + entries + page[32 + len(entries):]
                entries = b""
            f.write(page)


def forget(image, out):
    """The text log is gone, wherever pages begin in the file"""
    with open(image, "rb") as f:
        data = f.read()
    head = b"stackbuf text v2 page "
    with open(out, "wb") as f:
        at = 0
        while (found := data.find(head, at)) >= 0:
            f.write(data[at:found] + bytes(PAGE))
            at = found + PAGE
        f.write(data[at:])


# ------------------------------------------------------------ hostile files ---

EVENTS = 500            # in a page: a FULL one of five words, then SHORT ones
FULL, SHORT = 3 << 61, 1 << 61
MIB = 1 << 20


def lime(image, out, start="0"):
    """As LiME writes the memory of a raw image that begins at @start: ranges, also of parts of pages"""
    start = int(start, 0)
    with open(image, "rb") as f, open(out, "wb") as to:
        at, size = 0, os.fstat(f.fileno()).st_size
        for end in [n for n in (0x9fc00, 0x9fe00, 0x100000) if n < size] + [size]:
            to.write(struct.pack("<4sIQQQ", b"EMiL", 1, start + at, start + end - 1, 0))
            while at < end:
                at += to.write(f.read(min(end - at, 1 << 20)))


def head(of, index, seq):
    return struct.pack("<8sHHIQQ", MAGIC, 2, of, index, 1, seq)


def info(event_pages, stacks=PAGE, text=PAGE):
    """stackbuf_info of a record with arrays of these sizes"""
    page = bytearray(head(1, 0, 1).ljust(PAGE, b"\0"))
    struct.pack_into("<QQQQ", page, 40, 115 * PAGE, event_pages * PAGE, stacks, text)
    struct.pack_into("<II", page, 168, 4, 32)
    return bytes(page)


def few_ids(numbers):
    return [1 + n % 7 for n in numbers]


def own_ids(numbers):
    return [1 + n for n in numbers]


def two_ids(numbers):
    return [1 + n % 2 for n in numbers]


def meeting_ids(numbers):
    """Ids that collide: 2^14 at a time hash to one slot of a table of 2^18, by the lower bits of the
    product with 0x9e3779b1"""
    inverse = pow(0x9e3779b1, -1, 1 << 32)
    return [(n << 18 | n >> 14) * inverse & 0xffffffff or 1 for n in numbers]


def events_page(index, ids_of):
    """@ids_of returns the ids of the stacks of events with these numbers"""
    first, *others = ids_of(range(index * EVENTS, (index + 1) * EVENTS))
    return (head(3, index, index + 1) + struct.pack("<QQIIQ", 0, 10**9 + index * 10**6, index % 4, 0, 0) +
            struct.pack("<QQQ16s", FULL | first, 0, 1 | 1 << 22, b"hostile") +
            array.array("Q", [SHORT | 1 << 32 | i for i in others]).tobytes())


def put_events(f, pages, ids_of, text=PAGE):
    f.write(info(pages, text=text))
    for i in range(pages):
        f.write(events_page(i, ids_of))


def events(f):
    """40 MB of events of few stacks"""
    put_events(f, 10240, few_ids)


def ids(f):
    """40 MB of events, each of another stack"""
    put_events(f, 10240, own_ids)


def meeting(f):
    put_events(f, 260, meeting_ids)


def names(f):
    """Two stacks of 2,000 frames each in the text log, and 50,000 events that alternate between them"""
    put_events(f, 100, two_ids, 2 * PAGE)
    for i, frame in enumerate((b"a\n", b"b\n")):
        page = (b"stackbuf text v2 page %d/2 seq %d instance %016x\n"
                b"stack %d [    0.000000] CPU: 0 PID: 1 Comm: hostile\n" % (i, i + 1, 1, i + 1))
        page += frame * ((PAGE - 15 - len(page)) // 2)
        f.write(page.ljust(PAGE, b"\0"))


def elf_head(number):
    """A core file for x86-64 with this number of program headers, from its second page on: the section
    at 64 has it"""
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1", 4, 62, 0, 0, PAGE, 64, 0, 0, 56, 0xffff,
                       0, 0, 0).ljust(64 + 44, b"\0") + struct.pack("<I", number)


def core(image, out):
    """A core with a segment of virtual memory alone, at an odd place in the file"""
    with open(image, "rb") as f, open(out, "wb") as to:
        data = f.read()
        to.write(elf_head(1).ljust(PAGE, b"\0"))
        to.write(struct.pack("<IIQQQQQQ", 1, 6, PAGE + 57, 0xffffffffc0000000, (1 << 64) - 1, len(data), len(data), 0))
        to.write(b"\0" + data)


def headers(f):
    """2^32 - 1 program headers, all of them PT_NULL, in a hole"""
    f.write(elf_head(0xffffffff))
    f.truncate(1 << 38)


def layers(f):
    """Overlapping segments of 48 MB, which begin at each byte of the first page"""
    f.write(elf_head(PAGE).ljust(PAGE, b"\0"))
    f.writelines(struct.pack("<IIQQQQQQ", 1, 0, MIB, 0, i, 48 * MIB, 0, 0) for i in range(PAGE))
    f.seek(MIB)
    f.write(b"\x5a" * (48 * MIB))


def copies(f):
    """KDUMP: 200,000 pages that share the data of one"""
    number, bitmap = 200000, 7 * PAGE
    f.write(b"KDUMP   \5")
    f.seek(12 + 4 * 65)
    f.write(b"x86_64")
    f.seek(428)
    f.write(struct.pack("<IIII", PAGE, 1, 2 * bitmap // PAGE, number))
    f.seek(2 * PAGE)
    f.write(2 * (b"\xff" * (number // 8)).ljust(bitmap, b"\0"))
    f.write(number * struct.pack("<QIIQ", f.tell() + number * 24, PAGE, 0, 0))
    f.write(events_page(0, few_ids))


def put_pieces(f, parts):
    """As makedumpfile -F writes them: each has its offset"""
    f.write(b"makedumpfile".ljust(PAGE, b"\0"))
    f.writelines(struct.pack(">QQ", offset, len(data)) + data for offset, data in parts)
    f.write(b"\xff" * 16)


def pieces(f):
    """Pieces of one byte, each in another block: 2.5 MB that unpack to 600 MB on disk"""
    put_pieces(f, ((i * PAGE, b"x") for i in range(150000)))


def flat(f):
    """A valid flattened file of 8 MB"""
    put_pieces(f, ((i * PAGE, events_page(i, few_ids)) for i in range(2000)))


def claims(f):
    """stackbuf_info that claims 1 GiB for each array"""
    f.write(info((1 << 30) // PAGE, 1 << 30, 1 << 30))


KINDS = {f.__name__: f for f in (events, ids, meeting, names, headers, layers, copies, pieces, flat, claims)}


def hostile(what, out):
    with open(out, "xb") as f:
        KINDS[what](f)


# ----------------------------------------------------------------- commands ---

def limit(mib, *command):
    """Return the command's exit status, or 125 if it took more memory than that"""
    import resource
    import subprocess
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if used > float(mib):
        print(f"{command[0]} took {used:.1f} MiB of memory, more than {mib}", file=sys.stderr)
        sys.exit(125)
    sys.exit(status if status >= 0 else 128 - status)


def terminal(*command):
    """Run it with a terminal as standard error, and print what that gets"""
    import pty
    import subprocess
    ours, its = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=its) as process:
        os.close(its)
        try:
            while data := os.read(ours, 4096):
                sys.stdout.buffer.write(data)
        except OSError:     # how a terminal ends
            pass
    sys.exit(process.returncode)


COMMANDS = {f.__name__: f for f in (scatter, sparse, zero, half, flip, version, deepen, forget,
                                     lime, core, hostile, limit, terminal)}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
