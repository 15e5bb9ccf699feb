#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""includes.py [--headers] DIRECTORY... - print each circle among files there that include each other

NAME.c and NAME.h are one file, with --headers NAME.h alone.  A path is looked for beside the file that
includes it, in the current directory, and in each DIRECTORY.
"""
import glob
import os
import re
import sys


def circles(graph):
    """Tarjan's strongly connected components of more than one node"""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return found


def main():
    where = [d for d in sys.argv[1:] if d != '--headers']
    kind = '[ch]' if where == sys.argv[1:] else 'h'
    files = [f for d in where for f in glob.glob(f'{d}/**/*.{kind}', recursive=True)]
    graph = {os.path.splitext(f)[0]: set() for f in files}
    edges = 0
    for name in files:
        with open(name, encoding='utf-8', errors='replace') as file:
            for path in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
                for place in [os.path.dirname(name), '.'] + where:
                    other = os.path.splitext(os.path.normpath(os.path.join(place, path)))[0]
                    if other in graph and other != os.path.splitext(name)[0]:
                        graph[os.path.splitext(name)[0]].add(other)
                        edges += 1
                        break
    if edges < len(files):
        print(f'only {edges} includes are found in {len(files)} files')
    for circle in circles(graph):
        print(' '.join(circle))


main()
