"""The parts of an installation for people who build programs: pmixcc,
pkg-config and pmix_info."""
import os
import subprocess

from harness import PROGRAMS, check

SOURCE = """#include <pmix.h>
#include <stdio.h>
int main(void) {
  pmix_proc_t self;
  int status = PMIx_Init(&self, NULL, 0);
  printf("status %d rank %u\\n", status, self.rank);
  return status == PMIX_SUCCESS ? PMIx_Finalize(NULL, 0) : 1;
}
"""


def installed(bench, name):
    return os.path.join(bench.prefix, "bin", name)


def source(bench):
    path = os.path.join(bench.work, "sdk.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    return path


def runs_alone(bench, program):
    """The program finds the library without any variable."""
    bench.run(program=program).expect(out=["status 0 rank 0"])
    bench.run("run", "-n", 2, program).expect(
        out=["status 0 rank 0\n", "status 0 rank 1\n"])


def pmixcc(bench):
    program = os.path.join(bench.work, "sdk")
    compiler = installed(bench, "pmixcc")
    bench.run("-Wall", "-Werror", source(bench), "-o", program,
              program=compiler).expect()
    runs_alone(bench, program)
    bench.run("-c", source(bench), "-o", program + ".o",
              program=compiler).expect()
    bench.run(program + ".o", "-o", program, program=compiler).expect()
    runs_alone(bench, program)
    bench.run("-c", os.path.join(PROGRAMS, "no.c"), program=compiler).expect(
        code=1, err=["no.c"])


def showme(bench):
    compiler = installed(bench, "pmixcc")
    prefix = os.path.realpath(bench.prefix)

    def show(*args, **more):
        return bench.run(*args, program=compiler, **more).expect().out
    include, lib = f"-I{prefix}/include\n", f"{prefix}/lib\n"
    check(show("--showme:compile") == include, "compile")
    check(show("-showme:compile") == include, "one dash")
    check(show("--showme:libdirs") == lib, "libdirs")
    check(show("--showme:libs") == "pmix\n", "libs")
    check(show("--showme:command", env={"PMIX_CC": "gcc-x"}) == "gcc-x\n", "CC")
    link = show("--showme:link")
    check(f"-Wl,-rpath,{prefix}/lib " in link and link.endswith("-lpmix\n"),
          link)
    check(show("--showme", "a.c", "-o", "a").startswith(
        f"cc -I{prefix}/include a.c -o a -L"), "whole command")
    check(" -l" not in show("--showme", "-c", "a.c"), "-c links nothing")
    bench.run("--showme:size", program=compiler).expect(
        code=2, err=["pmixcc: unknown option '--showme:size'"])


def pkg_config(bench):
    flags = bench.run(
        "--cflags", "--libs", "pmix", program="pkg-config",
        env={"PKG_CONFIG_PATH": bench.prefix + "/lib/pkgconfig"}).expect().out
    program = os.path.join(bench.work, "sdk-pkg")
    bench.run(source(bench), "-o", program, *flags.split(),
              program="gcc").expect()
    runs_alone(bench, program)


def pmix_info(bench):
    program = installed(bench, "pmix_info")
    prefix = os.path.realpath(bench.prefix)
    bench.run(program=program).expect(
        out=["Package: Canopy ", "PMIX: 4.2.2\n", f"Prefix: {prefix}\n"])
    scripted = bench.run("--all", "--parsable", program=program).expect(
        out=[f"path:bindir:{prefix}/bin\n", "pmix:version:full:4.2.2\n",
             f"library:file:{prefix}/lib/canopy/libpmix.so.2\n",
             f"option:build:cflags:-I{prefix}/include\n"])
    check("PMIx_Fence_nb" in scripted.out.split("functions:client:")[1],
          "the functions are not listed" + scripted.tail())
    bench.run("--path", "libdir", "--parsable",
              program=program).expect_lines([f"path:libdir:{prefix}/lib"])
    for words in (["pmix:major"], ["pmix", "major"]):
        bench.run("--parsable", "--show-version", *words,
                  program=program).expect_lines(["pmix:version:major:4"])
    for words in (["--param", "all"], ["--path", "moon"], ["--no-such"],
                  ["--show-version", "pnet"], ["word"]):
        bench.run(*words, program=program).expect_refusal(2, words[-1].strip(
            "-") if words[0] != "--param" else "parameters")


def version(bench):
    wanted = subprocess.run([installed(bench, "canopy"), "--version"],
                            capture_output=True, text=True, check=True).stdout
    number = wanted.split()[-1]
    for name, option in (("pmix_info", "--version"),
                         ("pmixcc", "--showme:version")):
        bench.run(option, program=installed(bench, name)).expect(
            out=[f"{name} (Canopy) {number}"])


def run(bench):
    for name, body in (("pmixcc", pmixcc), ("pmixcc --showme", showme),
                       ("pkg-config", pkg_config), ("pmix_info", pmix_info),
                       ("versions", version)):
        bench.case(f"sdk: {name}", lambda body=body: body(bench))
