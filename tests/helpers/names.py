#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""names.py FOREIGN - for tests/host/docs: print which names in documents and comments are not in the code

In the current directory.  Code names between backquotes in *.md, and NAME() in comments of C, are in
the sources or in the file FOREIGN, which lists the names of others: the kernel's, libraries'.  Each
name there is needed.  A function where core/ has a label of docs/design.md is in that label's row;
a barrier that a comment places in a function is there.
"""
import collections
import glob
import os
import re
import subprocess
import sys

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
BARRIER = re.compile(r'\b((?:smp_)?[rw]?mb|smp_mb__\w+|barrier|\w+_(?:acquire|release)|(?:try_)?cmpxchg\w*)\(')


def tracked(*where):
    listed = subprocess.run(['git', 'ls-files', '--', *where], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.DEVNULL, check=False).stdout.split()
    return listed or [f for w in where for f in glob.glob(f'{w}/**', recursive=True)]


def read(name):
    with open(name, encoding='utf-8', errors='replace') as file:
        return file.read()


def documents():
    """(document, name) of all names in code between backquotes"""
    # The functions of another system, beside ours
    for page in set(glob.glob('*.md') + glob.glob('docs/*.md')) - {'docs/stack9.md', 'CHANGELOG.md'}:
        text = re.sub(r'```.*?```', '', read(page), flags=re.S)
        for code in re.findall(r'`([^`\n]+)`', text):
            for name in re.findall(r'(?<![\w.\-/%$])([A-Za-z_]\w*)(?![\w\-./])', code):
                if '_' in name or code.endswith('()'):
                    yield page, name


def functions(text):
    """(name, line, is_comment) of the lines of each function and of the comment before it"""
    before, name, inside = [], None, False
    for line in text.split('\n'):
        match = re.match(r'[a-z][^;=]*?(\w+)\(', line)
        if match and not inside:
            name, inside = match.group(1), True
            for earlier in before:
                yield name, earlier
            before = []
        if inside:
            yield name, line
            inside = line != '}' and not (line.endswith(';') and not line.startswith((' ', '\t')))
        elif line.startswith(('/*', ' *')):
            before.append(line)
        else:
            before = []


def main():
    sources = [f for f in tracked('core', 'tools', 'tests', 'scripts', 'packaging', 'debian', 'man')
               + glob.glob('stackbuf*.[ch]') + ['Makefile', 'Kbuild']
               # What logs and faults have is no code
               if not f.startswith(('tests/field/', 'tests/faults.txt')) and
               os.path.basename(f) != os.path.basename(sys.argv[1])]
    texts = {name: read(name) for name in sources}
    code = {name: COMMENT.sub('', text) if name.endswith(('.c', '.h')) else text
            for name, text in texts.items()}
    ours = {word for text in code.values() for word in re.findall(r'[A-Za-z_]\w*', text)}
    foreign = {line for line in read(sys.argv[1]).split('\n') if line and not line.startswith('#')}
    said = list(documents())
    for name, text in texts.items():
        if name.endswith(('.c', '.h')):
            said += [(name, word) for comment in COMMENT.findall(text)
                     for word in re.findall(r'\b([a-z_]\w*)\(\)', comment)]
    for where, name in sorted(set(said)):
        if name not in ours | foreign:
            print(f'{where}: there is no {name} (if it is of others: tests/host/foreign)')
    for name in sorted(foreign - ({name for _, name in said} - ours)):
        print(f'{sys.argv[1]}: {name} is not needed')
    if len(said) < 200:
        print(f'only {len(said)} names are found')

    rows = dict(re.findall(r'^\| ([A-Z]\d) \|(.*)$', read('docs/design.md'), re.M))
    has = collections.defaultdict(set)
    for name in glob.glob('core/*.[ch]'):
        for function, line in functions(texts[name]):
            has[function] |= set(BARRIER.findall(line))
            for label in set(re.findall(r'\b[A-Z]\d\b', line)) & set(rows):
                if f'`{function}()`' not in rows[label]:
                    print(f'{name}: {function}() has the label {label}, whose row in docs/design.md lacks it')
    for name in glob.glob('core/*.[ch]'):
        for barrier, function in re.findall(r'with the (\w+)\(\)[\s*]+in[\s*]+(\w+)\(\)', texts[name]):
            if barrier not in has[function]:
                print(f'{name}: there is no {barrier}() in {function}()')


main()
