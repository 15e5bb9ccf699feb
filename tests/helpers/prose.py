#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""prose.py [messages] - print which words of documents, manual pages, comments and messages are to be rewritten

In the current directory, a line for each, with what to write instead.  "messages" prints all messages of
the module, the command and the scripts, to be read from top to bottom.
"""
import glob
import os
import re
import sys

# A pattern, and the advice
PHRASES = [(re.compile(pattern), advice) for pattern, advice in (
    (r'\blikewise\b', 'also, in the same way'),
    (r'\bby now\b', 'now, already'),
    (r'\bso many\b(?! that)', 'this number of, that many'),
    (r'\bin vain\b', 'without success'),
    (r'\bto be had\b', 'available'),
    (r'\bfor ever\b', 'forever, endlessly'),
    (r'\b[Aa] (line|row|file|bit|byte|word) an? [a-z]', 'one ... per ...'),
    (r'\b[Tt]he same of\b', 'name the thing'),
    (r'\b[Tt]hat which\b', 'name the thing'),
    (r'\bwhoever\b', 'name the subject'),
    (r'\b([Nn]obody|[Ss]omebody)\b', 'name the subject'),
    (r'\bby turns\b', 'alternately, in turn'),
    (r'\bfolders?\b', 'directory'),
    (r'\b[Bb]ut for\b', 'except, except for'),
    (r'\bjust now\b', 'currently, concurrently'),
    (r'\bmeanwhile\b', 'at the same time, concurrently'),
    (r'(?:^|[.:] |/\* )Whether\b', 'true if'),
    (r'(?:^|[.] |/\* )What [^?]*$', 'a noun for a subject'),
    (r'(?:^|[.] |/\* )Those (?!are\b)[a-z]+ ', 'a noun for a subject'),
)]
LONGEST = 120
# C: a comment, a character, or strings that are joined
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:\\.|[^\'\\])\'|"(?:\\.|[^"\\])*"(?:\s*(?:PRI\w+\s*)?"(?:\\.|[^"\\])*")*', re.S)
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
IN_SCRIPT = re.compile(r'\b(?:die|warn|echo|printf)\b[^"\n]*"((?:\\.|[^"\\])*)"')


def sources():
    files = glob.glob('core/*.[ch]') + glob.glob('tools/**/*.[ch]', recursive=True) + glob.glob('stackbuf*.[ch]')
    return sorted(file for file in files if not file.startswith('tools/tests/'))


def scripts():
    return sorted(file for file in glob.glob('scripts/**/stackbuf-*', recursive=True) if os.path.isfile(file))


def read(file):
    with open(file, encoding='utf-8') as source:
        return source.read()


def tokens(text):
    """(line, token) of each comment and string"""
    line, end = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count('\n', end, match.start())
        end = match.start()
        yield line, match.group()


def is_message(text):
    return len(re.findall(r'[A-Za-z]{2,}', text)) > 1 and ' ' in text.strip()


def messages():
    """(file, line, text) of each string of two words or more"""
    for file in sources():
        for line, token in tokens(read(file)):
            if token[0] == '"' and is_message(text := ''.join(STRING.findall(token))):
                yield file, line, text
    for file in scripts():
        text = read(file)
        for match in IN_SCRIPT.finditer(text):
            if is_message(match.group(1)):
                yield file, text.count('\n', 0, match.start()) + 1, match.group(1)


def sentences(line, text):
    """(line, sentence) of a comment or paragraph"""
    for part in re.split(r'(?<=[.:;?]) |\n *\*? *\n', text):
        yield line, re.sub(r'\s*\n *\*? *', ' ', part)
        line += part.count('\n')


def comments():
    for file in sources():
        for line, token in tokens(read(file)):
            if token.startswith(('/*', '//')):
                text = re.sub(r'^/[*/]+\s*|\s*\*/$', '', token)
                for at, sentence in sentences(line, text):
                    yield file, at, sentence


def documents():
    """Paragraphs without listings, tables and what stands between backquotes"""
    for file in sorted(glob.glob('*.md') + glob.glob('docs/*.md')):
        text = re.sub(r'^```.*?^```$|^<!-- .*? -->$.*?^<!-- /.*? -->$|^(?:\||    ).*?$',
                      lambda block: '\n' * block.group().count('\n'), read(file), flags=re.S | re.M)
        line = 1
        for paragraph in re.split(r'(?<=\n)(?=\s*\n|[*#-] )', text):
            for at, sentence in sentences(line, re.sub(r'`[^`]*`', '``', paragraph.strip('\n'))):
                yield file, at + len(paragraph) - len(paragraph.lstrip('\n')), sentence
            line += paragraph.count('\n')
    for file in sorted(glob.glob('man/*.[1-9]')):
        text = re.sub(r'^\.(?:nf|EX)$.*?^\.(?:fi|EE)$', lambda block: '\n' * block.group().count('\n'), read(file),
                      flags=re.S | re.M)
        line = 1
        for paragraph in re.split(r'(?<=\n)(?=\.(?:PP|TP|IP|SH|SS))', text):
            for at, sentence in sentences(line, re.sub(r'^\.[BIR]+ |^\.\\".*$|\\f[A-Z]', '', paragraph, flags=re.M)):
                yield file, at, sentence
            line += paragraph.count('\n')


def wrong():
    found = 0
    for file, line, sentence in (*documents(), *comments(), *messages()):
        found += 1
        for pattern, advice in PHRASES:
            if match := pattern.search(sentence.strip()):
                yield f'{file}:{line}: "{match.group().strip()[:40]}": {advice}'
    if found < 5000:
        yield f'only {found} sentences are found'
    for file in sorted(glob.glob('*.md') + glob.glob('docs/*.md')):
        listing = False
        for number, line in enumerate(read(file).split('\n'), 1):
            listing ^= line.startswith('```')
            if len(line) > LONGEST and not listing and line[0] != '|' and not line.startswith('<!--'):
                yield f'{file}:{number}: {len(line)} columns: at most {LONGEST}'


if sys.argv[1:] == ['messages']:
    for file, line, text in messages():
        print(f'{file}:{line}: {text}')
else:
    for line in wrong():
        print(line)
