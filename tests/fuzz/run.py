#!/usr/bin/env python3
"""Runs every fuzz target under libFuzzer, from its own seeds.

The programs have address and undefined-behaviour sanitizers. Prints one line
for each target.

Usage: tests/fuzz/run.py [--seconds N] [--keep DIR] [WORD...]

With WORDs, only targets whose name contains one of them are run. Inputs that
make a target fail are kept in DIR (default: a new directory below /tmp).
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def bazel(base, *args):
    """Returns the output of Bazel. It has an output base of its own, because
    another compiler would invalidate the usual build."""
    done = subprocess.run(["bazel", "--output_base=" + base, *args], cwd=ROOT,
                          check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("FAILED build of fuzz targets:\n" + done.stderr[-4000:])
    return done.stdout


def fuzz(binary, name, seconds, keep):
    """Runs one target. Returns the end of its output after an error."""
    corpus = os.path.join(keep, name)
    os.makedirs(corpus)
    subprocess.run([binary], cwd=ROOT, check=True,
                   env=dict(os.environ, CANOPY_FUZZ_SEEDS=corpus))
    seeds = len(os.listdir(corpus))
    done = subprocess.run(
        [binary, f"-max_total_time={seconds}", "-max_len=4096", "-seed=1",
         "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1",
         f"-artifact_prefix={corpus}-", corpus],
        cwd=ROOT, check=False, capture_output=True, text=True,
        errors="replace")
    runs = [line.split()[-1] for line in done.stderr.splitlines()
            if "number_of_executed_units" in line]
    if done.returncode != 0 or not runs or int(runs[0]) <= seeds:
        return f"exit {done.returncode}, inputs in {keep}\n" + \
            done.stderr[-3000:]
    print(f"ok {name} ({seeds} seeds, {runs[0]} runs)", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", help="directory for corpora and failures")
    parser.add_argument("--output-base", help="where Bazel builds")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    keep = options.keep or tempfile.mkdtemp(prefix="canopy-fuzz-")
    base = options.output_base or subprocess.run(
        ["bazel", "info", "output_base"], cwd=ROOT, check=True,
        capture_output=True, text=True).stdout.strip() + "-fuzz"
    # //... would include links to the usual build below the root.
    folders = " + ".join(
        f"//{entry.name}/..." for entry in os.scandir(ROOT)
        if entry.is_dir(follow_symlinks=False) and entry.name[0] != ".")
    targets = bazel(base, "query", f"attr(tags, fuzz, {folders})").split()
    wanted = [t for t in targets if not options.words or
              any(w in t for w in options.words)]
    bazel(base, "build", "--config=fuzz", "--symlink_prefix=/", *wanted)
    place = bazel(base, "info", "--config=fuzz", "bazel-bin").strip()
    failed = 0
    for target in wanted:
        path = target[2:].replace(":", "/")
        problem = fuzz(os.path.join(place, path), path.replace("/", "."),
                       options.seconds, keep)
        if problem:
            failed += 1
            print(f"FAILED {path}: {problem}", flush=True)
    print(f"fuzz: {len(wanted) - failed} passed, {failed} failed")
    return 0 if wanted and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
