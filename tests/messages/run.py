#!/usr/bin/env python3
"""Compares the texts that users can meet with tests/messages/catalogue.txt, which is
meant to be read as a whole, and checks the English of each by CONTRIBUTING.md, "How we
write".

The texts are collected from the sources of all programs: errors, warnings, log lines,
help, and the lines of tables. Each is an expression with literals; {} stands for its
other parts, and | separates the two texts of a condition. A text that the catalogue does
not have, or has in addition, is a failure.

Usage: tests/messages/run.py [--write]      writes the catalogue anew, to be read
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CATALOGUE = os.path.join(ROOT, "tests", "messages", "catalogue.txt")
FOLDERS = ("client/abi", "client/cli", "client/events", "client/session",
           "client/stacks", "client/tool", "client/tools", "client/topology",
           "common", "hostmodule", "server")
NOT_OF_PROGRAMS = re.compile(
    r"(_test|_testing|_fuzz|_benchmark|_bench|_stand_in)\.(cc|h)$|/(fake|played)_|"
    r"/golden/|/testing/")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|'
    r'"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)+\'|[A-Za-z_]\w*|\d[\w.\']*|'
    r'::|->|<<|>>|.', re.S | re.M)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "0": ""}
# Words that CONTRIBUTING.md keeps out of texts, and what to write instead.
WORDS = {
    r"\bwhoever\b|\bnobody\b": "name the agent, process or user",
    r"\bsays?\b|\bsaid\b|\bis told\b|\btells?\b": "software reports or shows",
    r"\bwants?\b": "software needs or requires",
    r"\bso (many|often|much)\b": "name the number",
    r"\bone word too many\b": "unexpected argument",
    r"\bmay it\b|\bthere is to be\b|\bis to be done\b": "use the imperative",
    r"\bwent away\b|\bgoes on\b": "ended, or continues",
}


def literal(token):
    """Returns the text of a token that is a string literal, else None."""
    if token["raw"] is not None:
        return token["raw"]
    if token["text"] is None:
        return None
    return re.sub(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|.)", lambda found: ESCAPES.get(
        found[1], ""), token["text"])


class Expressions:
    """Collects the texts of one source: the parts of the expression at each depth of
    brackets."""

    def __init__(self, source):
        self.found = []
        self.open = [[]]
        self.grouping = []
        last = ""
        for token in TOKEN.finditer(source):
            word = token[0]
            if word.isspace() or word.startswith(("//", "/*")) or re.match(
                    r"[ \t]*#", word):
                continue
            self.add(token, word, last)
            last = word
        self.flush()

    def add(self, token, word, last):
        text = literal(token)
        if text is not None:
            self.open[-1].append(text)
        elif word in "([{":
            # A bracket after an operator belongs to the expression around it.
            same = word == "(" and (last in "+?:=<<(" or last == "return")
            self.grouping.append(same)
            if same:
                self.open[-1].append("(")
            else:
                self.open[-1].append(None)
                self.open.append([])
        elif word in ")]}":
            if self.grouping and self.grouping.pop():
                self.close_group()
            else:
                self.flush()
                self.open.pop()
                if word == "}":
                    self.flush()
        elif word in ",;":
            self.flush()
        elif word == ":":
            self.open[-1].append("|")
        elif word == "?":
            # The condition is not part of the text.
            while self.open[-1] and self.open[-1][-1] not in ("(", "|"):
                self.open[-1].pop()
        else:
            self.open[-1].append(None)

    def close_group(self):
        parts = self.open[-1]
        for at in range(len(parts) - 1, -1, -1):
            if parts[at] == "(":
                del parts[at]
                return

    def flush(self):
        """Ends the expression of the innermost bracket."""
        parts = self.open[-1]
        self.open[-1] = []
        parts = [part for part in parts if part != "("]
        if not any(part and part != "|" for part in parts):
            return
        text = ""
        for part in parts:
            text += "{}" if part is None else part
        text = re.sub(r"(\{\})+", "{}", text)
        text = re.sub(r"^[{}|]+(?=\|)|\|(\{\})?$", "", text)
        text = re.sub(r"\s*\n\s*", " ", text).strip().strip("|")
        if re.search(r"[A-Za-z]{2,}.* .*[A-Za-z]|[A-Za-z].* .*[A-Za-z]{2,}", text):
            self.found.append(text)


def sources():
    for folder in FOLDERS:
        for base, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(base, name), ROOT)
                if name.endswith((".cc", ".h")) and not NOT_OF_PROGRAMS.search(path):
                    yield path


def collect():
    """Returns the texts of each source, in its order, each once."""
    texts = {}
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as source:
            found = list(dict.fromkeys(Expressions(source.read()).found))
        if found:
            texts[path] = found
    return texts


def catalogue():
    """Returns the texts of the catalogue by their sources."""
    texts, path = {}, None
    with open(CATALOGUE, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("== "):
                path = line[3:]
                texts[path] = []
            elif line and path:
                texts[path].append(line)
    return texts


def write(texts):
    with open(CATALOGUE, "w", encoding="utf-8") as file:
        file.write("Every text that a user can meet; see run.py.\n")
        for path, found in texts.items():
            file.write(f"\n== {path}\n" + "".join(text + "\n" for text in found))


def differences(texts):
    """Yields a line for each difference from the catalogue."""
    known = catalogue()
    for path in sorted({*texts, *known}):
        now, then = texts.get(path, []), known.get(path, [])
        for text in now:
            if text not in then:
                yield f"{path}: not in the catalogue: {text}"
        for text in then:
            if text not in now:
                yield f"{path}: only in the catalogue: {text}"


def wrong_words(texts):
    """Yields a line for each text with a word that is not used."""
    for path, found in texts.items():
        for text in found:
            plain = re.sub(r"'[^']*'", "", text)
            for pattern, advice in WORDS.items():
                word = re.search(pattern, plain)
                if word:
                    yield f"{path}: {word[0]!r} ({advice}): {text}"


def main():
    texts = collect()
    if "--write" in sys.argv[1:]:
        write(texts)
    problems = [*differences(texts), *wrong_words(texts)]
    for problem in problems:
        print(problem)
    total = sum(map(len, texts.values()))
    print(f"{total} texts, {len(problems)} problems")
    if problems:
        print("a text that is right is added by tests/messages/run.py --write")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
