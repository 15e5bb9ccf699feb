#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""manual.py STACKBUF DIRECTORY - print in what the options of the manual pages differ from the table's

DIRECTORY has the pages.  A heading, as "-n, --number=N", is what the help of STACKBUF prints for that
command, which comes from tools/table.c: letter, name and value.  And each option of the help is in the page.
"""
import re
import subprocess
import sys

COMMANDS = 'info text log report life leaks latency offcpu errors count snoop depth save diff metrics decode'.split()


def shown(*command):
    text = subprocess.run([sys.argv[1], *command, '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r'^  +((?:-., )?--[a-z-]+(?:=\S+)?)', text, re.M))


def headings(page):
    """Of .TP and .TQ, without fonts"""
    with open(page, encoding='utf-8') as file:
        lines = file.read().split('\n')
    for before, line in zip(lines, lines[1:]):
        if before in ('.TP', '.TQ') and '\\-\\-' in line:
            words = re.findall(r'"([^"]*)"|(\S+)', re.sub(r'^\.[BIR]+ |\\f[IPRB]', '', line))
            yield ''.join(a or b for a, b in words).replace('\\-', '-')


def lacking(page, options):
    with open(page, encoding='utf-8') as file:
        text = re.sub(r'\\f[IPRB]', '', file.read()).replace('\\-', '-')
    return [option for option in sorted(options) if not re.search(rf'(?<![-a-z]){option}(?![-a-z])', text)]


def main():
    found = 0
    for name, commands in (('stackbuf', COMMANDS), ('stackbuf-snoop', ['snoop']),
                           ('stackbuf-count', ['count']), ('stackbuf-metrics', ['metrics'])):
        options = set().union(shown(), *map(shown, commands))
        names = {re.search('--[a-z-]+', option).group() for option in options}
        page = f'{sys.argv[2]}/{name}.8'
        own = ' '.join(shown(*([] if commands is COMMANDS else commands)))
        for option in lacking(page, set(re.findall(r'(?<!\S)--?[a-zA-Z][a-z-]*', own))):
            print(f'{name}(8) lacks {option}')
        for heading in headings(page):
            found += 1
            # Several that are explained elsewhere have no values
            if heading not in options and not set(heading.split(', ')) <= names:
                print(f'{name}(8): {heading} is not what {commands[-1]} -h has')
    if found < 40:
        print(f'only {found} headings are found')


main()
