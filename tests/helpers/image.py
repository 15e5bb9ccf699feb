#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Memory images for the tests, made of recordings and damaged on purpose

image.py scatter OUT MIB SEED FILE...   pages of the files at random places of an
                                        image with other memory in it
image.py COMMAND ...                    see below
"""
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


def shuffle(image, out, seed):
    pages = list(pages_of(image))
    random.Random(int(seed)).shuffle(pages)
    with open(out, "wb") as f:
        f.writelines(pages)


def sparse(image, out, gib):
    """The same pages far from each other, holes in between"""
    ours = [p for p in pages_of(image) if is_ours(p)]
    step = (int(gib) << 30) // PAGE // len(ours)
    with open(out, "wb") as f:
        for n, page in enumerate(ours):
            f.seek((n * step + step // 2) * PAGE)
            f.write(page)
        f.truncate(int(gib) << 30)


def zero(image, out, number, which, seed):
    """NUMBER pages of that kind are gone"""
    pages = list(pages_of(image))
    ours = [i for i, p in enumerate(pages) if is_ours(p) and kind(p) == int(which)
            and struct.unpack_from("<Q", p, 24)[0]]
    for i in random.Random(int(seed)).sample(ours, int(number)):
        pages[i] = bytes(PAGE)
    with open(out, "wb") as f:
        f.writelines(pages)


def half(image, out, number, which, seed):
    """Of NUMBER pages the second half was overwritten"""
    rnd = random.Random(int(seed))
    pages = list(pages_of(image))
    ours = [i for i, p in enumerate(pages) if is_ours(p) and kind(p) == int(which)
            and struct.unpack_from("<Q", p, 24)[0]]
    for i in rnd.sample(ours, int(number)):
        pages[i] = pages[i][:PAGE // 2] + rnd.randbytes(PAGE // 2)
    with open(out, "wb") as f:
        f.writelines(pages)


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


def limit(mib, *command):
    """Run it; fail if it took more memory than that"""
    import resource
    import subprocess
    status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print("%.1f MiB" % used)
    sys.exit(status or used > float(mib))


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


COMMANDS = {f.__name__: f for f in (scatter, shuffle, sparse, zero, half, flip, version, forget,
                                     limit, terminal)}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
