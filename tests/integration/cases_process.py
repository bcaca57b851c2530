"""The environment of a process at its start, and the effect of its end on the
job."""
import os
import re
import signal
import stat
import tempfile

import harness
from harness import PYTHON, Failure, check

RUN = ["run", "--emulate", 2, "--oversubscribe"]
ODD = ["", " ", "two words", "tab\there", "new\nline", "'", '"', "\\", "$HOME",
       "*", "`id`", "--", "-n", ":;", "näh", "\udcff\udc80", "x" * 100000]


def environment(bench):
    odd = {"TEST_ODD": "a=b 'c' \"d\" $e\n\\f \udcfe", "EMPTY": "",
           "TEST_LONG": "y" * 100000}
    show = "import os, sys; sys.stdout.write(repr(dict(os.environ)) + '\\n')"
    result = bench.run(*RUN, "-n", 2, "--map-by", "node", "/usr/bin/python3",
                       "-c", show, env=odd).expect()
    # written by this test
    seen = [eval(line) for line in result.out.splitlines()]
    check(len(seen) == 2, "not two environments" + result.tail())
    for one in seen:
        for name, value in {**bench.env, **odd}.items():
            check(one.get(name) == value,
                  f"{name} is {one.get(name)!r}, not {value!r}")
        check(one["OMPI_COMM_WORLD_SIZE"] == "2", "size")
        check(one["OMPI_COMM_WORLD_LOCAL_SIZE"] == "1", "local size")
        check(one["OMPI_COMM_WORLD_RANK"] == one["PMIX_RANK"], "rank")
    check({one["PMIX_RANK"] for one in seen} == {"0", "1"}, "ranks")
    check(len({one["PMIX_NAMESPACE"] for one in seen}) == 1, "namespace")


def exported(bench):
    show = "echo ${ONE-unset},${TWO-unset},${THREE-unset}"
    bench.run(*RUN, "-n", 1, "-x", "ONE=1", "-x", "TWO", "sh", "-c", show,
              env={"TWO": "of ours"}).expect_lines(["1,of ours,unset"])
    bench.run(*RUN, "-n", 1, "-x", "ONE=first", "sh", "-c", show, ":", "-n", 1,
              "-x", "THREE=second", "sh", "-c", show).expect_lines(
                  ["first,unset,unset", "unset,unset,second"])
    for words in (["--env=ONE=1", "--genv", "TWO=2"],
                  ["-env", "ONE", "1", "--genv=TWO=2"]):
        bench.run(*RUN, "-n", 1, *words, "sh", "-c", show).expect_lines(
            ["1,2,unset"])
    bench.run(*RUN, "-n", 1, "--mca", "btl_x", "y", "--no-such-option", "1",
              "true").expect_refusal(2, "--no-such-option")
    bench.run(*RUN, "-n", 1, "-mca", "btl_x", "y z", "sh", "-c",
              "echo $OMPI_MCA_btl_x").expect_lines(["y z"])


def directories(bench):
    with tempfile.TemporaryDirectory() as base:
        inner = os.path.join(base, "a b")
        os.mkdir(inner)
        bench.run(*RUN, "-n", 2, "pwd", cwd=base).expect_lines([base] * 2)
        for option in ("--wdir", "-wd", "-wdir"):
            bench.run(*RUN, "-n", 1, option, "a b", "pwd", cwd=base).expect_lines(
                [inner])
        bench.run(*RUN, "-n", 1, "--wdir", "/", "pwd", ":", "-n", 1, "pwd",
                  cwd=base).expect_lines(["/", base])
        # A program is searched in the directory of its process, and in --path.
        script = os.path.join(inner, "here")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho found $1\n")
        os.chmod(script, stat.S_IRWXU)
        bench.run(*RUN, "-n", 1, "./here", 1, cwd=inner).expect_lines(["found 1"])
        bench.run(*RUN, "-n", 1, "--path", inner, "here", 2).expect_lines(
            ["found 2"])
        bench.run(*RUN, "-n", 1, "--wdir", inner, "./here", 3).expect_lines(
            ["found 3"])
        in_the_working_directory(bench, base, inner)


def in_the_working_directory(bench, base, inner):
    """A program in the working directory needs no "./"; PATH has precedence."""
    run = [*RUN[1:], "--allow-run-as-root", "-n", 1]
    for name in ("mpirun", "mpiexec", "canopy-prterun"):
        link = os.path.join(base, name)
        os.symlink(bench.canopy, link)
        bench.run(*run, "here", 4, cwd=inner, program=link).expect_lines(
            ["found 4"])
    bench.run(*run, "--wdir", inner, "here", 5, ":", "-n", 1, "--wdir", "/",
              "echo", "found 6", program=link).expect_lines(
                  ["found 5", "found 6"])
    bench.run(*run, "--preload-binary", "here", 7, cwd=inner, program=link
              ).expect_lines(["found 7"])
    os.rename(os.path.join(inner, "here"), os.path.join(inner, "echo"))
    bench.run(*run, "echo", "of PATH", cwd=inner, program=link).expect_lines(
        ["of PATH"])
    bench.run(*run, "here", cwd=inner, program=link).expect(
        127, err=["not found in PATH"])
    os.rename(os.path.join(inner, "echo"), os.path.join(inner, "here"))
    bench.run(*RUN, "-n", 1, "here", 8, cwd=inner).expect_lines(["found 8"])
    bench.run(*RUN, "-n", 1, "here", cwd=base).expect(
        127, err=["not found in PATH", f'nor in "{base}"'])


def arguments(bench):
    program = bench.plain("arguments")
    result = bench.run(*RUN, "-n", 1, program, *ODD).expect()
    wanted = ["=" + os.fsencode(word).hex() for word in ODD]
    if result.out.splitlines() != wanted:
        raise Failure("arguments changed on the way" + result.tail())


def exit_codes(bench):
    for code in (0, 1, 42, 255):
        bench.run(*RUN, "-n", 2, "sh", "-c", f"exit {code}").expect(code)
    # The first failure decides the exit code; the other processes are ended.
    result = bench.run(*RUN, "-n", 4, "sh", "-c",
                       "[ $PMIX_RANK = 2 ] && exit 9; sleep 100").expect(
                           9, err=["rank 2", "exited with code 9"])
    check(result.seconds < 30, f"took {result.seconds:.0f} s")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT,
                   signal.SIGUSR1):
        bench.run(*RUN, "-n", 2, "sh", "-c",
                  f"[ $PMIX_RANK = 1 ] && kill -{int(number)} $$; sleep 100"
                  ).expect(128 + number, err=["rank 1",
                                              f"signal {int(number)}"])


def several_programs(bench):
    bench.run(*RUN, "-n", 2, "echo", "one", ":", "-n", 3, "sh", "-c",
              "echo two $OMPI_COMM_WORLD_SIZE").expect_lines(
                  ["one"] * 2 + ["two 5"] * 3)
    for family in ("openmpi", "mpich"):
        ring, hello = bench.mpi("ring", family), bench.mpi("ring", family)
        bench.run(*RUN, "-n", 2, ring, 4, ":", "-n", 2, hello, 4).expect(
            out=["ring ok size 4"])


def app_file(bench):
    with tempfile.TemporaryDirectory() as base:
        path = os.path.join(base, "apps")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# two programs\n-n 1 echo 'a  b'\n\n"
                       "-np 2 -x WORD=c sh -c 'echo $WORD'\n")
        bench.run(*RUN, "--app", path).expect_lines(["a  b", "c", "c"])


def mpirun_links(bench):
    with tempfile.TemporaryDirectory() as base:
        for name in ("mpirun", "mpiexec", "prterun"):
            link = os.path.join(base, name)
            os.symlink(bench.canopy, link)
            bench.run("-np", 2, "--oversubscribe", "--allow-run-as-root",
                      bench.mpi("hello"), 2, program=link).expect(
                          out=["hello ok size 2"])
            if os.geteuid() == 0:
                bench.run("-np", 1, "true", program=link).expect(
                    1, err=["--allow-run-as-root"])
        # Uses the installed link canopy-mpirun.
        bench.run("-np", 1, "--allow-run-as-root", "echo", "linked", program=
                  os.path.join(bench.prefix, "bin", "canopy-mpirun")
                  ).expect_lines(["linked"])


def time_limit(bench):
    result = bench.run(*RUN, "-n", 2, "--timeout", 1, "sleep", 100)
    result.expect(110, err=["time limit", "ranks 0-1"])
    check(result.seconds < 20, f"took {result.seconds:.0f} s")
    bench.run(*RUN, "-n", 2, "--timeout", 50, "true").expect()


def time_limit_report(bench):
    """Reports the states and stacks of ranks that exceed the time limit, on all
    nodes of the job."""
    result = bench.run("run", "--emulate", 2, "--map-by", "node", "-n", 2,
                       "--timeout", 1, "--report-state-on-timeout",
                       "--get-stack-traces", "sleep", 100)
    result.expect(110, err=["time limit", "nanosleep"])
    for rank in range(2):
        state = re.search(rf"^rank {rank} on node{rank + 1}, process \d+: .+$",
                          result.err, re.M)
        check(state, f"no state of rank {rank}" + result.tail())
    check(result.err.count("nanosleep") >= 2, "not of each node" + result.tail())
    check(result.err.index("nanosleep") < result.err.index("time limit"),
          "not before the end" + result.tail())
    check(result.out == "", f"it is for standard error: {result.out}")


def tables(bench):
    result = bench.run("run", "--emulate", 2, "--map-by", "node", "--display",
                       "map", "-n", 4, "true").expect()
    text = result.out + result.err
    check("node1" in text and "node2" in text, "no map" + result.tail())
    bound = bench.run("run", "--emulate", 1, "--bind-to", "core",
                      "--report-bindings", "-n", 1, "grep", "Cpus_allowed_list",
                      "/proc/self/status").expect()
    check(re.search(r"Cpus_allowed_list:\s+\d+$", bound.out.strip()),
          "not bound to one core" + bound.tail())


def cores(result):
    found = re.search(r"Cpus_allowed_list:\s+(\S+)$", result.out.strip())
    check(found, "no CPUs" + result.tail())
    return found[1]


def cores_of_two_jobs(bench):
    """Runs jobs beside one that is bound to a core."""
    name = "cores"
    show = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    run = ["run", "--context", name, "-n", 1]
    bench.run("up", "--context", name, "--hosts", "localhost:4").expect()
    try:
        first = bench.start(*run, "--bind-to", "core", "sh", "-c",
                            " ".join(show) + "; sleep 60")
        first.wait_for("Cpus_allowed_list")
        taken = re.search(rb"list:\s+(\S+)", first.texts["out"])[1].decode()
        for options in ([], ["--bind-to", "core"], ["--map-by", "core"]):
            beside = cores(bench.run(*run, *options, *show).expect())
            check(beside.isdigit() and beside != taken,
                  f"{options}: on {beside} beside a job on {taken}")
        bench.run(*run[:-1], os.cpu_count(), "--oversubscribe", "--bind-to",
                  "core", "true").expect(code=1, err=["other jobs are bound"])
        bench.run(*run[:-1], os.cpu_count(), "--oversubscribe", "--bind-to",
                  "core:overload-allowed", "true").expect()
        first.end(signal.SIGTERM)
    finally:
        bench.run("down", "--context", name, "--force")


def gpus(bench):
    """Ranks and jobs have different GPUs, on a machine that hwloc's XML shows."""
    name = "gpus"
    env = {"HWLOC_XMLFILE": os.path.join(harness.PROGRAMS, "four_gpus.xml"),
           "HWLOC_THISSYSTEM": "1"}
    show = ["sh", "-c", 'echo "${CUDA_VISIBLE_DEVICES-all}"']
    run = ["run", "--context", name, "--oversubscribe"]
    bench.run("up", "--context", name, "--hosts", "localhost:8", env=env).expect()
    try:
        bench.run(*run, "-n", 2, *show).expect_lines(["all", "all"])
        bench.run(*run, "-n", 2, "--gpus-per-rank", 2, *show).expect_lines(
            ["0,1", "2,3"])
        bench.run(*run, "-n", 3, "--gpus-per-rank", 2, "true").expect(
            code=1, err=["2 GPUs"])
        first = bench.start(*run, "-n", 1, "--gpus-per-rank", 3, "sh", "-c",
                            show[2] + "; sleep 60")
        first.wait_for("0,1,2")
        bench.run(*run, "-n", 1, "--gpus-per-rank", 1, "--report-bindings",
                  *show).expect(out=["3"], err=["has GPUs nvidia:3"])
        bench.run(*run, "-n", 1, "--gpus-per-rank", 2, "true").expect(
            code=1, err=["2 GPUs"])
        first.end(signal.SIGTERM)
        bench.run(*run, "-n", 1, "--gpus-per-rank", 4, *show).expect_lines(
            ["0,1,2,3"])
    finally:
        bench.run("down", "--context", name, "--force")


WITHOUT_REAPER = """
import glob, os, subprocess, sys
for _ in range(10):
    subprocess.run(sys.argv[1:], check=True)
for path in glob.glob("/proc/[0-9]*/stat"):
    with open(path, encoding="utf-8") as file:
        stat = file.read()
    if int(stat.split()[0]) not in (1, os.getpid()):
        print("left:", stat.split(")")[0] + ")")
"""


def no_reaper(bench):
    """If the first process does not reap children, as in many containers, a job
    leaves no zombie."""
    bench.run("--pid", "--fork", "--mount-proc", PYTHON, "-c", WITHOUT_REAPER,
              bench.canopy, *RUN, "-n", 2, "true", program="unshare"
              ).expect_lines([])


def run(bench):
    for name, body in (
            ("environment", environment), ("-x and --mca", exported),
            ("working directory and --path", directories),
            ("arguments with odd characters", arguments),
            ("exit codes and signals", exit_codes),
            ("several programs in one job", several_programs),
            ("--app file", app_file), ("mpirun, mpiexec, prterun", mpirun_links),
            ("--timeout", time_limit),
            ("--timeout with a report", time_limit_report),
            ("no zombie", no_reaper), ("--display and bindings", tables),
            ("cores of two jobs", cores_of_two_jobs), ("GPUs", gpus)):
        bench.case(f"process: {name}", lambda: body(bench))
