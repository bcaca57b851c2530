"""Writes the constants of the headers as a Python module, from their tables."""
import csv
import os


def rows(tables, name):
    with open(os.path.join(tables, name + ".tsv"), encoding="utf-8",
              newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def lines(tables):
    """Yields one line of Python for each constant of the headers: numbers for
    constants, texts for the keys of attributes. Rows without a header are names
    of the Standard that the headers do not define."""
    for row in rows(tables, "constants"):
        if row["header"] != "-":
            yield f"{row['name']} = {int(row['value'], 0)}\n"
    for row in rows(tables, "attributes"):
        if row["header"] != "-":
            yield f"{row['name']} = {row['key']!r}\n"


def write(tables, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write('"""Generated from the tables of the PMIx headers."""\n')
        file.writelines(lines(tables))
