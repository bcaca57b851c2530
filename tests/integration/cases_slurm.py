"""Jobs inside an allocation of a real Slurm: the agents are steps of the
allocation, and end with it."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile

import cases_openpmix
import hostility
import netns
import slurm
import slurm_bridge
from harness import ROOT, check, until

NODES = 2
RANKS = 4  # one on each CPU
CASES = ("slurm: up, run and down in an allocation",
         "slurm: an allocation ends and its overlay with it",
         "slurm: each allocation has an overlay of its own",
         "slurm: run as a batch job",
         "slurm: exit codes of batch jobs",
         "slurm: slots are the tasks of each node",
         "slurm: some nodes of an allocation",
         "slurm: --nodes takes nodes of the allocation",
         "slurm: a step that is smaller than its allocation",
         "slurm: cancelled while a batch job runs",
         "slurm: cancelled while an overlay runs a job",
         "slurm: doctor in an allocation",
         "slurm: srun whose plug-in has our library, and ours in the ranks",
         "slurm: srun whose plug-in has our library, and OpenPMIx in the ranks",
         "slurm: srun of an MPI program whose plug-in has our library",
         "slurm: a rank of srun aborts the job",
         "slurm: a server of root's is where the user cannot change it",
         "slurm: a rank's cleanup removes nothing of root's",
         "slurm: links in the directory of a step lead its server nowhere",
         *slurm_bridge.CASES)
HELLO = [f"hello ok size {RANKS}"]


class Place:
    """The fixture: a cluster, and how its programs are called."""

    def __init__(self, bench, cluster, openpmix):
        self.bench = bench
        self.cluster = cluster
        self.openpmix = openpmix  # the directory of Debian's library
        self.hello = bench.mpi("hello")

    def start(self, program, *args, **streams):
        return self.bench.start(*args, program=program, env=self.cluster.env,
                                **streams)

    def salloc(self, script, *options):
        """Runs SCRIPT in an allocation of all nodes."""
        return self.start("salloc", "--quiet", f"--nodes={NODES}",
                          f"--ntasks={RANKS}", *options, "sh", "-c", script)

    def batch(self, script, *options):
        """Runs SCRIPT as a batch job. The command ends with it, and with its
        exit code."""
        self.output = os.path.join(self.bench.work, "batch.out")
        return self.start("sbatch", "--quiet", "--wait", f"--nodes={NODES}",
                          f"--ntasks={RANKS}", "--job-name=batch",
                          "--output", self.output, *options, "--wrap", script)

    def printed(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.remove(self.output)
        return text

    def batch_printed(self, *texts):
        """Waits until the batch job has printed these texts."""
        def there():
            with contextlib.suppress(FileNotFoundError), \
                    open(self.output, encoding="utf-8") as file:
                text = file.read()
                return all(word in text for word in texts)
            return False
        self.cluster.wait_for(there, 30, f"no {texts} in the output")

    def cancel(self):
        """Cancels all running jobs."""
        jobs = self.cluster.ask("squeue", "--noheader", "--format", "%A").split()
        check(jobs, "no job is there")
        self.cluster.ask("scancel", *jobs)

    def only(self, body):
        """Runs BODY, and waits until no job is queued, running, or being ended.
        """
        try:
            body(self)
        except BaseException:
            for user in ("root", hostility.NAME):
                self.cluster.ask("scancel", f"--user={user}")
            raise
        finally:
            self.cluster.wait_over()


def overlay(place):
    out = place.salloc(
        f"canopy up --context job && "
        f"canopy run --context job -n {RANKS} {place.hello} {RANKS} && "
        f"canopy status --context job && canopy down --context job"
    ).finish().expect(out=[f"{NODES} nodes, {RANKS} slots", *HELLO]).out
    check(re.search(r"\bn1\b", out) and re.search(r"\bn2\b", out),
          "status does not show the nodes:\n" + out)


def ends_with_allocation(place):
    """Without `canopy down` the steps end, and with them the agents and the
    context."""
    place.salloc("canopy up --context left").finish().expect()


def own_names(place):
    """Each allocation has an overlay of its own, whose name need not be given.
    """
    def small(script, **streams):
        return place.start("salloc", "--quiet", "--nodes=1", "--ntasks=2", "sh",
                           "-c", script, **streams)
    reader, writer = os.pipe()
    first = small("canopy up && read line; canopy run hostname", stdin=reader)
    os.close(reader)
    first.wait_for("is up")
    second = small(f"canopy up && canopy run {place.hello} 2").finish()
    second.expect(out=["hello ok size 2"])
    os.close(writer)
    result = first.finish().expect(out=["n1\nn1\n"])
    names = re.findall(r"context (slurm-\d+) is up", second.out + result.out)
    check(len(set(names)) == 2, f"contexts {names}")


def batch(place):
    place.batch(f"canopy run {place.hello} {RANKS}").finish().expect()
    text = place.printed()
    check(HELLO[0] in text, text)


def exit_codes(place):
    for script, code in (("exit 7", 7), ("kill -9 $$", 128 + signal.SIGKILL)):
        run = f"canopy run -n {RANKS} sh -c '{script}'"
        place.batch(run).finish().expect(code=code)
        place.printed()
        place.salloc(run).finish().expect(code=code)
    place.batch("canopy run no-such-program").finish().expect(code=127)
    check("no-such-program" in place.printed(), "the program is not named")


def slots(place):
    """Three tasks run on two nodes as Slurm distributes them."""
    job = place.start("salloc", "--quiet", f"--nodes={NODES}", "--ntasks=3",
                      "sh", "-c", "canopy run hostname; canopy run -n 4 true")
    result = job.finish()
    result.expect(code=1, err=["not enough slots", "4 processes"])
    check(sorted(result.out.split()) == ["n1", "n1", "n2"], result.out)


def some(place):
    place.salloc("canopy run --host n2:2 hostname").finish().expect_lines(
        ["n2"] * 2)
    place.salloc("canopy run --host n7 hostname").finish().expect(
        code=1, err=["n7"])


def number_of_nodes(place):
    """--nodes never means nodes that are emulated on the login node."""
    hosts = "canopy run --nodes {} -n {} --map-by node hostname"
    for nodes, ranks, shown in ((2, RANKS, ["n1", "n1", "n2", "n2"]),
                                (1, 2, ["n1", "n1"])):
        result = place.salloc(hosts.format(nodes, ranks)).finish().expect()
        check(sorted(result.out.split()) == shown, result.tail())
    place.salloc(hosts.format(3, RANKS)).finish().expect(
        code=1, err=["--nodes 3: Slurm job", "has only 2"])
    place.salloc("canopy up --context two && canopy run --context two --nodes 2 "
                 "--npernode 1 hostname; canopy down --context two").finish().expect(
                     out=["n1\n", "n2\n"])


def small_step(place):
    """A job has the slots of its step, not those of the whole allocation."""
    result = place.salloc("srun -n 1 canopy run hostname").finish()
    check(len(result.expect().out.split()) == 1, result.tail())


def sleepers(place, options=""):
    return (f"canopy run {options} -n {RANKS} sh -c "
            "'echo rank $PMIX_RANK is up; exec sleep 1000'")


UP = [f"rank {rank} is up" for rank in range(RANKS)]


def cancelled_batch(place):
    job = place.batch(sleepers(place))
    place.batch_printed(*UP)
    place.cancel()
    job.finish(30)
    place.printed()


def cancelled_overlay(place):
    job = place.salloc("canopy up --context gone && exec " +
                       sleepers(place, "--context gone"))
    for line in UP:
        job.wait_for(line)
    place.cancel()
    result = job.finish(30)
    check(result.code != 0, "cancelled with exit code 0" + result.tail())


def doctor(place):
    place.salloc("canopy doctor").finish().expect(
        out=["Slurm job", f"{NODES} nodes"])


@contextlib.contextmanager
def plugin_with_ours(bench):
    """Installs the plug-in's library for daemons that are started in the block,
    in this mount namespace only. Yields a directory with the original library.
    """
    ours = os.path.join(bench.prefix, "lib", "libpmix.so.2")
    with tempfile.TemporaryDirectory(dir=bench.work) as directory:
        bench.skip.add(directory)
        shutil.copy(os.path.realpath(slurm.PLUGINS_LIBRARY),
                    os.path.join(directory, "libpmix.so.2"))
        with slurm.Cluster.plugin_with(ours):
            yield directory


def srun(place, *args, **more):
    """Runs srun. The end of the daemons' logs is added to its standard error.
    """
    result = place.bench.run(
        "--mpi=pmix", f"--nodes={NODES}", f"--ntasks={RANKS}", *args,
        program="srun", env={**place.cluster.env, **more}, timeout=60)
    result.err = place.cluster.logs() + result.err
    return result


def served_by_ours(place):
    """The parent of each rank has loaded Canopy's library."""
    ours = os.path.join(place.bench.prefix, "lib", "libpmix.so.2")
    script = ("set -- $(grep libpmix /proc/$PPID/maps); "
              f"cmp /proc/$PPID/map_files/$1 {ours} && echo served by ours")
    out = srun(place, "sh", "-c", script).expect().out
    check(out.count("served by ours") == RANKS, out)


def ours(place):
    return {"LD_LIBRARY_PATH": os.path.join(place.bench.prefix, "lib")}


def example(place, name, compile_with):
    program = os.path.join(place.bench.work, f"{name}.srun")
    subprocess.run(
        ["gcc", "-std=gnu11", "-o", program,
         os.path.join(ROOT, "examples", "pmix", name + ".c"),
         f"-I{compile_with}/include", f"-L{compile_with}/lib", "-lpmix"],
        check=True)
    return program


def examples(place, names, compile_with, env):
    for name in names:
        srun(place, example(place, name, compile_with), str(RANKS),
             **env).expect(out=[f"{name} ok size {RANKS}"])


def srun_ours(place):
    served_by_ours(place)
    # Between nodes the plug-in supports only fences of whole jobs, so "subset"
    # is not run.
    examples(place, ("exchange", "nonblocking", "direct", "scopes"),
             place.bench.prefix, ours(place))


def srun_openpmix(place):
    # OpenPMIx's library reads data that a rank has read once from its own copy.
    examples(place, ("nonblocking", "direct"), cases_openpmix.PMIX,
             {"LD_LIBRARY_PATH": place.openpmix})


def srun_mpi(place):
    # Between nodes, Open MPI 4.1.4 ends with SIGSEGV in about one start of 300,
    # with OpenPMIx's libraries too: mca_btl_tcp receives a message before the
    # function that handles it is registered. Such a start is repeated.
    for _ in range(3):
        result = srun(place, place.hello, str(RANKS), **ours(place))
        if "Segmentation fault" not in result.err:
            break
    result.expect(out=HELLO)


def srun_abort(place):
    program = example(place, "abort", place.bench.prefix)
    result = srun(place, program, str(RANKS), "7", **ours(place))
    check(result.code != 0, "aborted with exit code 0" + result.tail())


class Exposed:
    """Prepares an attack of a cluster's user on root: programs and a library
    that the user can read, a directory, and a directory of root whose content
    must stay."""

    def __init__(self, place):
        check(os.geteuid() == 0, "this needs root")
        self.place = place
        self.top = tempfile.mkdtemp(dir="/tmp")
        place.bench.skip.add(self.top)
        os.chmod(self.top, 0o755)
        shutil.copy(os.path.join(place.bench.prefix, "lib", "libpmix.so.2"), self.top)
        self.target = self.inside("target")
        hostility.make_target(self.target)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                hostility.check_target(self.target)
        finally:
            shutil.rmtree(self.top)

    def inside(self, name):
        return os.path.join(self.top, name)

    def directory(self, name):
        hostility.make_for_user(self.inside(name))
        return self.inside(name)

    def program(self, path):
        return shutil.copy(path, self.top)

    def start(self, *command):
        """Runs COMMAND as that user."""
        env = {**self.place.cluster.env, "HOME": "/", "LD_LIBRARY_PATH": self.top}
        return self.place.bench.start(*hostility.AS_USER, *command,
                                      program="setpriv", env=env)


def user_step(*command):
    return ("srun", "--mpi=pmix", "--chdir=/", *command)


def server_place(place):
    """Tests the directories of a server with ranks of a user, which are below
    the directory that Slurm provides."""
    script = ("stat -c '%n %u %a' $PMIX_SERVER_TMPDIR; "
              "mkdir $PMIX_SERVER_TMPDIR/mine && echo mine; true")
    with Exposed(place) as exposed:
        program = example(place, "exchange", place.bench.prefix)
        exposed.start(*user_step("-n2", exposed.program(program), "2")
                      ).finish().expect(out=["exchange ok size 2"])
        out = exposed.start(*user_step("-n1", "sh", "-c", script)).finish().expect(
            absent=["mine\n"]).out
        found = re.search(r"^(/run/canopy-\S+) 0 711$", out, re.MULTILINE)
        check(found, out)
        until(lambda: not os.path.exists(found[1]), "the end of the server's directory")


def cleanup_race(place):
    with Exposed(place) as exposed:
        race = exposed.program(place.bench.pmix("cleanup_race"))
        for number in range(3):
            users = exposed.directory(f"users.{number}")
            # Slurm may end a step for a rank that does not finalize, and lose
            # the output of the others. A rank that cannot register all paths
            # leaves its file "last". The step has one node, because the
            # plug-in's fence between nodes does not wait for late ranks.
            result = exposed.start(*user_step(
                "--nodes=1", f"--ntasks={slurm.CPUS}", race, users,
                exposed.target)).finish()
            check(len(glob.glob(users + "/place.*")) == slurm.CPUS,
                  result.tail() + place.cluster.logs())
            # The step's server continues after Slurm considers the job over.
            until(lambda users=users: not glob.glob(users + "/last.*"),
                  f"the end of the files {os.listdir(users)}" + result.tail())
            hostility.check_target(exposed.target)


def swapped_entries(place):
    steps = 20
    script = (f"for i in $(seq {steps}); do " +
              " ".join(user_step("-n1", "echo", "step ok")) + "; done")
    with Exposed(place) as exposed:
        swapper = exposed.start(
            exposed.program(place.bench.plain("swap_entries")),
            os.path.join(place.cluster.directory, "spool-n1"),
            os.path.join(exposed.target, "file"))
        swapper.wait_for("ready")
        out = exposed.start("salloc", "--quiet", "--nodelist=n1", "--ntasks=1",
                            "--chdir=/", "sh", "-c", script).finish(180).out
        until(lambda: not glob.glob("/run/canopy-*"), "the end of the last server")
        swapper.end(signal.SIGKILL)
        hostility.check_target(exposed.target)
        check(out.count("step ok") == steps, out + place.cluster.logs())


BODIES = (overlay, ends_with_allocation, own_names, batch, exit_codes, slots, some,
          number_of_nodes, small_step,
          cancelled_batch, cancelled_overlay, doctor, srun_ours, srun_openpmix,
          srun_mpi, srun_abort, server_place, cleanup_race, swapped_entries,
          *slurm_bridge.CASES.values())


def run(bench):
    if not bench.wanted(*CASES):
        return
    with bench.taken() as mine:
        if not mine:
            return
        # Users other than root read it, too.
        directory = tempfile.mkdtemp(prefix="slurm-", dir="/tmp")
        os.chmod(directory, 0o755)
        bench.skip.add(directory)
        with netns.Namespaces(NODES) as space, \
                slurm.Cluster.with_user(hostility.NAME, hostility.USER), \
                plugin_with_ours(bench) as openpmix:
            cluster = slurm.Cluster(space, directory)
            if not bench.case("slurm: a cluster of two nodes", cluster.start,
                              always=True, leaves=True):
                return
            try:
                place = Place(bench, cluster, openpmix)
                for name, body in zip(CASES, BODIES, strict=True):
                    bench.case(name, lambda body=body: place.only(body))
            finally:
                cluster.end()
