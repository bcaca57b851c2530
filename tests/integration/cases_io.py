"""Standard input, standard output and standard error of a job."""
import os
import re
import signal
import tempfile

import leftovers
from harness import Failure, check

RUN = ["run", "--emulate", 2, "--oversubscribe"]
MIB = 1 << 20
ECHO = ["sh", "-c", "echo out $PMIX_RANK; echo err $PMIX_RANK >&2"]


def input_of_ranks(bench):
    blob = bytes(range(256)) * 4096 * 8  # 8 MiB with all values of a byte
    copied = bench.run(*RUN, "-n", 2, "cat", stdin=blob).expect()
    check(copied.raw == blob, "8 MiB did not come back as they were")
    count = ["sh", "-c", "echo $PMIX_RANK $(wc -c)"]
    text = b"x" * 1000
    for options, seen in (([], ["0 1000", "1 0", "2 0"]),
                          (["--stdin", "1"], ["0 0", "1 1000", "2 0"]),
                          (["--stdin", "all"], ["0 1000", "1 1000", "2 1000"]),
                          (["--stdin", "none"], ["0 0", "1 0", "2 0"])):
        bench.run(*RUN, *options, "-n", 3, "--map-by", "node", *count,
                  stdin=text).expect_lines(seen)
    # A program may leave its input unread.
    bench.run(*RUN, "-n", 2, "true", stdin=blob).expect()


def tags(bench):
    result = bench.run(*RUN, "-n", 2, "--tag-output", *ECHO).expect_lines(
        ["[1,0]<stdout>: out 0", "[1,1]<stdout>: out 1"])
    check(sorted(result.err.splitlines()) ==
          ["[1,0]<stderr>: err 0", "[1,1]<stderr>: err 1"],
          "stderr is not tagged" + result.tail())
    stamped = bench.run(*RUN, "-n", 1, "--timestamp-output", *ECHO).expect()
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d<stdout>: "
                       r"out 0\n", stamped.out),
          "no time before the line" + stamped.tail())
    bench.run(*RUN, "-n", 2, "--tag-output", "--merge-stderr-to-stdout", *ECHO
              ).expect(absent=["stderr"]).expect_lines(
                  ["[1,0]<stdout>: out 0", "[1,1]<stdout>: out 1",
                   "[1,0]<stdout>: err 0", "[1,1]<stdout>: err 1"])
    # The last line may be unterminated.
    bench.run(*RUN, "-n", 1, "--tag-output", "printf", "a\\nb").expect_lines(
        ["[1,0]<stdout>: a", "[1,0]<stdout>: b"])


def files(bench):
    with tempfile.TemporaryDirectory() as base:
        bench.run(*RUN, "-n", 2, "--output-filename", f"{base}/d:nojobid", *ECHO
                  ).expect_lines(["out 0", "out 1"])
        silent = bench.run(*RUN, "-n", 2, "--output-filename",
                           f"{base}/n:nojobid,nocopy", *ECHO).expect_lines([])
        check(silent.err == "", "output beside the files" + silent.tail())
        for top in ("d", "n"):
            for rank in (0, 1):
                for stream, text in (("stdout", "out"), ("stderr", "err")):
                    path = f"{base}/{top}/rank.{rank}/{stream}"
                    with open(path, encoding="utf-8") as file:
                        check(file.read() == f"{text} {rank}\n", path)
        bench.run(*RUN, "-n", 1, "--output-filename", f"{base}/j", *ECHO).expect()
        names = os.listdir(f"{base}/j")
        check(len(names) == 1 and names[0].startswith("canopy-"), str(names))


def no_line_torn(bench, options, prefix, where=RUN):
    """Eight ranks print lines in pieces at the same time, on both streams."""
    ranks, lines = 8, 2000
    result = bench.run(*where, *options, "-n", ranks, bench.plain("lines"),
                       lines).expect()
    for stream, text in enumerate((result.out, result.err)):
        following = {rank: stream for rank in range(ranks)}
        for line in text.splitlines():
            found = re.fullmatch(prefix + r"rank (\d) line (\d+) (x*)", line)
            if not found:
                raise Failure(f"torn line {line[:200]!r}")
            rank, number = int(found[1]), int(found[2])
            check(number == following[rank] and
                  len(found[3]) == number % 200,
                  f"{line[:60]!r} after line {following[rank] - 2} of its rank")
            following[rank] += 2
        check(set(following.values()) == {lines + stream},
              f"lines are missing: {following}")


def peaks():
    """Returns the peak memory of canopy, its agents and shims, in KiB."""
    found = {}
    for pid in leftovers.processes():
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        name = re.search(r"Name:\s+(\S+)", text)[1]
        # A process that is ending has no memory any more.
        peak = re.search(r"VmHWM:\s+(\d+)", text)
        if peak and name.startswith("canopy"):
            found[f"{name} {pid}"] = int(peak[1])
    return found


def expected_block(number, last):
    block = bytearray(ord("!") + i * 7 % 89 for i in range(MIB))
    block[63::64] = last * len(block[63::64])
    block[15:16] = last
    block[0:15] = b"%015d" % number
    return bytes(block)


def flood(bench, blocks, arguments, last):
    """BLOCKS MiB from a rank on the other node arrive unchanged, and no process
    on the way grows with them."""
    pattern = expected_block(0, last)[15:]
    held, wanted = os.pipe()
    reader, writer = os.pipe()
    job = bench.start(*RUN, "--stdin", "1", "-n", 2, "--map-by", "node", "sh",
                      "-c", "[ $PMIX_RANK = 1 ] || exit 0; exec \"$@\"", "sh",
                      bench.plain("flood"), blocks, *arguments, stdin=held,
                      stdout=writer)
    os.close(held)
    os.close(writer)
    before = None
    with os.fdopen(reader, "rb", buffering=MIB) as stream:
        for number in range(blocks):
            block = stream.read(MIB)
            if block != b"%015d" % number + pattern:
                job.end(signal.SIGKILL)
                raise Failure(f"block {number} differs ({len(block)} bytes)")
            if number == 32:
                before = peaks()
        after = peaks()
        os.close(wanted)
        check(stream.read() == b"", "more than was written")
    job.finish().expect()
    check(len(after) == 5, f"not canopy, two agents, two shims: {after}")
    grown = {name: f"{before.get(name)} to {kib} KiB" for name, kib in
             after.items() if kib > before.get(name, 0) + 32 * 1024}
    check(not grown, f"memory grew with the output: {grown}")


def reader_that_leaves(bench):
    """`canopy run ... | head -1` ends although the program would not end."""
    line = bench.run(
        "-c", f"{bench.canopy} run --emulate 2 -n 2 yes canopy | head -1; "
        "echo ${PIPESTATUS[0]}", program="bash", timeout=30)
    line.expect_lines(["canopy", "141"])


def run(bench):
    bench.case("io: standard input", lambda: input_of_ranks(bench))
    bench.case("io: tags and times", lambda: tags(bench))
    bench.case("io: --output-filename", lambda: files(bench))
    bench.case("io: no line torn", lambda: no_line_torn(bench, [], ""))
    bench.case("io: no tagged line torn", lambda: no_line_torn(
        bench, ["--tag-output"], r"\[1,\d\]<std(?:out|err)>: "))
    bench.case("io: 1 GiB through", lambda: flood(bench, 1024, [], b"\n"))
    bench.case("io: 128 MiB without a newline", lambda: flood(
        bench, 128, ["-"], b" "))
    bench.case("io: | head -1", lambda: reader_that_leaves(bench))
