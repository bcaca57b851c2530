"""The declarations of the PMIx headers in the subset of C that cffi reads."""
import re
import subprocess

HEADERS = ("pmix.h", "pmix_tool.h", "pmix_server.h")
# The definitions that the headers take from the system's headers, on Linux.
SYSTEM = """
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef long time_t;
struct timeval { long tv_sec; long tv_usec; };
void free(void *memory);
void *malloc(size_t size);
"""


def preprocessed(include, compiler="cc"):
    """Returns the headers below INCLUDE after the preprocessor, with its line
    markers."""
    source = "".join(f"#include <{name}>\n" for name in HEADERS)
    return subprocess.run(
        [compiler, "-E", "-I", include, "-D__attribute__(x)=", "-x", "c", "-"],
        input=source, check=True, capture_output=True, text=True).stdout


def own_lines(text, include):
    """Yields the lines that come from files below INCLUDE."""
    own = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker[1].startswith(include)
        elif own and line.strip():
            yield line


def without_bodies(text):
    """Removes the functions that the headers define."""
    kept = []
    for piece in re.split(r"(?=^static inline\b)", text, flags=re.M):
        if piece.startswith("static inline"):
            piece = piece[end_of_body(piece):]
        kept.append(piece)
    return "".join(kept)


def end_of_body(text):
    """Returns the position behind the brace that closes the first brace."""
    depth = 0
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    raise ValueError("a function without an end: " + text[:80])


def declarations(include, compiler="cc"):
    """Returns the text that cffi reads: types and functions of the installed
    headers."""
    lines = "\n".join(own_lines(preprocessed(include, compiler), include))
    return SYSTEM + without_bodies(lines)
