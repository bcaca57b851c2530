#!/usr/bin/python3
"""Slurm as the scheduler of a Canopy overlay.

    slurm_scheduler.py --listen unix:/run/canopy/slurm.sock &
    canopy up --hosts n[001-128] --host-module unix:/run/canopy/slurm.sock
    canopy run --queue debug --account physics -n 64 ./a.out

The overlay has agents on all nodes that Canopy may use. Each job of 'canopy run'
and of PMIx_Spawn becomes a job of Slurm that only holds its nodes: Slurm decides
when and where it runs, by its own queues, accounts, limits and priorities, and
Canopy's agents run the processes there. PMIx_Allocation_request holds nodes that
spawned jobs name by PMIX_ALLOC_ID. A job that Slurm ends, by a time limit, by
scancel or for another job, is ended in Canopy, and the other way round.

As root, jobs are submitted for the users who requested them; otherwise for the
user who runs this program. Nodes must have the same names in Slurm and in
Canopy. Nothing is stored: the comment of a Slurm job names the job of the
overlay that it is for. Needs Slurm's commands and the same packages as
host_module_stubs.py.
"""
import argparse
import asyncio
import collections
import os
import re
import time

import grpc

from host_module_stubs import health, moment, pb, reading, refuse, rpc

NOT_SUPPORTED = "PMIX_ERR_NOT_SUPPORTED"
ALLOC_FAILED = "PMIX_ERR_JOB_ALLOC_FAILED"
POLL_SECONDS = 0.5
ABANDONED_SECONDS = 60  # until a job that is not requested any more is cancelled
COMPLETING_SECONDS = 5  # until a job that is ending counts as over
REPEAT_SECONDS = 10  # between two commands to end a job that has lost its nodes
# The states of Slurm in which a job has its nodes.
HOLDING = ("RUNNING", "SUSPENDED")
WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD")


class SlurmError(Exception):
    """A command of Slurm has failed; the text is its first line."""


async def slurm(*command):
    """Returns the output of a command of Slurm."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    if process.returncode == 0:
        return out.decode(errors="replace")
    lines = err.decode(errors="replace").strip().splitlines()
    raise SlurmError(lines[0] if lines else f"{command[0]} has failed")


def time_of(seconds):
    """Returns a duration for --time: whole minutes, rounded up, at least one."""
    return str(max((int(seconds) + 59) // 60, 1))


class Submission:
    """The options of sbatch for a job that holds nodes."""

    def __init__(self, comment, user):
        self.options = ["--parsable", "--no-requeue", "--output=/dev/null",
                        "--export=PATH", f"--comment={comment}", "--chdir=/"]
        if os.geteuid() == 0 and user.uid:
            self.options += [f"--uid={user.uid}", f"--gid={user.gid}"]

    def add(self, option, value):
        """Adds an option unless its value is empty or 0."""
        if value:
            self.options.append(f"--{option}={value}")

    async def submit(self):
        """Submits the job and returns its number."""
        # The batch script runs only on the first node. A script that sleeps keeps
        # all nodes of the job.
        out = await slurm("sbatch", *self.options, "--wrap", "exec sleep infinity")
        return out.strip().split(";")[0]


def submission_of(request, comment):
    """Returns the submission for a job, or raises SlurmError."""
    job = Submission(comment, request.caller.user)
    applications = request.applications
    cpus = max(a.slots_per_process for a in applications)
    procs = sum(a.num_procs for a in applications if a.HasField("num_procs"))
    hosts = list(request.hosts) or [host for a in applications for host in a.hosts]
    # "+any" is a number of nodes of Slurm's choice.
    nodes = sum(host.slots for host in hosts if host.name == "+any")
    job.add("job-name", request.hints.name or "canopy")
    job.add("ntasks", max(procs, nodes, 1))
    job.add("cpus-per-task", max(cpus, 1))
    job.add("ntasks-per-node", min((a.max_procs_per_node for a in applications
                                    if a.HasField("max_procs_per_node")), default=0))
    job.add("gpus-per-task", max(a.gpus_per_process for a in applications))
    memory = max(a.memory_bytes_per_process for a in applications)
    if memory:
        job.add("mem-per-cpu", f"{-(-memory // (max(cpus, 1) << 20))}M")
    job.add("nodes", nodes)
    job.add("nodelist", ",".join(dict.fromkeys(
        host.name for host in hosts if host.name != "+any")))
    job.add("exclude", ",".join(request.refused_nodes))
    if request.time_limit.seconds:
        job.add("time", time_of(request.time_limit.seconds))
    job.add("partition", request.hints.queue)
    job.add("account", request.hints.account)
    if request.hints.HasField("priority"):
        job.add("priority", request.hints.priority)
    for name, value in sorted(request.hints.others.items()):
        if name not in HINTS:
            raise SlurmError(f"unknown hint {name!r}; {', '.join(HINTS)} are known")
        job.add(name, value)
    return job


# Hints that become options of sbatch with the same name.
HINTS = ("constraint", "licenses", "mem", "mem-per-cpu", "qos", "reservation",
         "gres", "exclusive", "nice")


class Held:
    """A job of Slurm that holds nodes, or waits for them."""

    def __init__(self, number, comment):
        self.number = number
        self.comment = comment
        self.state = "PENDING"
        self.reason = ""
        self.starts = ""           # expected, as Slurm prints it
        self.left = ""             # time left, as Slurm prints it
        self.slots = {}            # by node; empty: waiting
        self.completing = 0        # polls that have shown COMPLETING
        self.changed = asyncio.Event()

    @property
    def is_over(self):
        return self.state not in HOLDING + WAITING


class Cluster:
    """The jobs that this program has submitted, as squeue shows them."""

    FIELDS = "%A|%T|%S|%L|%r|%k"

    def __init__(self):
        self.held = {}             # by number

    async def recover(self):
        """Adopts the jobs that an earlier run of this program submitted."""
        for fields in await self.queue():
            if fields[5].startswith("canopy "):
                self.held[fields[0]] = Held(fields[0], fields[5])

    async def queue(self):
        """Returns the fields of each job that has not ended."""
        out = await slurm("squeue", "--noheader", "--format", self.FIELDS)
        return [line.split("|", 5) for line in out.splitlines()
                if line.count("|") >= 5]

    def with_comment(self, comment):
        return next((held for held in self.held.values()
                     if held.comment == comment and not held.is_over), None)

    def allocation(self, overlay, name):
        """Returns the overlay's allocation of this name, or raises SlurmError."""
        held = self.held.get(name)
        if held is None or not held.comment.startswith(overlay.comment("alloc", "")):
            raise SlurmError(f"there is no allocation {name!r}")
        return held

    async def submit(self, submission, comment):
        number = await submission.submit()
        held = self.held[number] = Held(number, comment)
        return held

    async def cancel(self, held):
        """Cancels the job, whether it waits or holds nodes."""
        self.held.pop(held.number, None)
        held.state = "CANCELLED"
        held.changed.set()
        try:
            await slurm("scancel", held.number)
        except SlurmError as error:
            print(f"job {held.number}: {error}", flush=True)

    async def poll(self):
        """Updates all jobs with one command. Sets `changed` of each job whose
        state, reason or start has changed."""
        # Jobs that are submitted during the command are not in its output.
        asked = dict(self.held)
        if not asked:
            return
        there = {fields[0]: fields for fields in await self.queue()}
        for number, held in asked.items():
            before = (held.state, held.reason, held.starts)
            fields = there.get(number)
            if self.is_completing(held, fields):
                continue
            if fields is None:
                held.state = await self.end_of(number)
            else:
                _, held.state, held.starts, held.left, held.reason, _ = fields
            if held.state in HOLDING and not held.slots:
                held.slots = await self.slots_of(number)
            if before != (held.state, held.reason, held.starts):
                held.changed.set()
            if held.is_over:
                self.held.pop(number, None)

    @staticmethod
    def is_completing(held, fields):
        """Returns True if the job ends, and Slurm does not show the cause before
        its nodes are clean. That can last for ever, so it is awaited for a time."""
        if fields is None or fields[1] != "COMPLETING":
            return False
        held.completing += 1
        return held.completing * POLL_SECONDS <= COMPLETING_SECONDS

    @staticmethod
    async def end_of(number):
        """Returns the state in which a job has ended."""
        try:
            shown = await slurm("scontrol", "show", "job", number)
        except SlurmError:
            return "ENDED"
        found = re.search(r"JobState=(\S+)", shown)
        return found[1] if found else "ENDED"

    @staticmethod
    async def slots_of(number):
        """Returns by node how many tasks of a job fit there."""
        shown = await slurm("scontrol", "--details", "show", "job", number)
        found = re.search(r"CPUs/Task=(\d+)", shown)
        per_task = int(found[1]) if found else 1
        slots = {}
        for nodes, cpus in re.findall(r"\bNodes=(\S+) CPU_IDs=(\S+)", shown):
            count = 0
            for run in cpus.split(","):
                first, _, last = run.partition("-")
                count += int(last or first) - int(first) + 1
            names = (await slurm("scontrol", "show", "hostnames", nodes)).split()
            for name in names:
                slots[name] = slots.get(name, 0) + max(count // per_task, 1)
        return slots


class Job:
    """A job of an overlay from its request to its release."""

    def __init__(self, placement, held, owns):
        self.placement = placement
        self.held = held
        self.owns = owns           # the Slurm job ends with this job
        self.granted = False
        self.calls = 0             # number of the newest call
        self.ended_at = 0          # when its end was last commanded
        self.suspended = False

    @property
    def name(self):
        """The host_job_id. Jobs that are spawned in one allocation share a Slurm
        job; the request_id then distinguishes them."""
        number = self.held.number
        return number if self.owns else \
            f"{number}/{self.placement.request_id}"[:255]


class Overlay:
    """The jobs of one overlay. Names are unique only in it."""

    def __init__(self, key):
        self.key = key
        self.jobs = {}             # by request_id
        self.out = None            # queue of the stream
        self.incarnation = None
        self.taken = 0
        self.commands = 0

    def comment(self, kind, name):
        return f"canopy {self.key.hex()} {kind} {name}"

    def command(self, **fields):
        """Sends a command. Returns False if no agent is connected."""
        if self.out is None:
            return False
        self.commands += 1
        self.out.put_nowait(pb.AttachResponse(command=pb.Command(
            command_id=f"{time.time_ns()}-{self.commands}", **fields)))
        return True

    def follow(self):
        """Ends, suspends or resumes the overlay's jobs whose Slurm jobs have ended,
        were suspended or were resumed."""
        for job in list(self.jobs.values()):
            if not job.granted:
                continue
            name = job.name
            if job.held.is_over:
                self.end(job)
            elif job.suspended != (job.held.state == "SUSPENDED"):
                stops = not job.suspended
                if self.command(**({"suspend": pb.SuspendJob(host_job_id=name)}
                                   if stops else
                                   {"resume": pb.ResumeJob(host_job_id=name)})):
                    job.suspended = stops

    def end(self, job):
        """Ends a job that has lost its nodes. The command is repeated until the
        job is released, because it may be lost with its stream."""
        now = time.monotonic()
        if job.ended_at and now < job.ended_at + REPEAT_SECONDS:
            return
        if self.command(kill=pb.KillJob(
                host_job_id=job.name, reason="Slurm has ended its job "
                f"{job.held.number}: {job.held.state}")):
            job.ended_at = now


class Scheduler(rpc.HostModuleServiceServicer):
    def __init__(self):
        self.cluster = Cluster()
        self.overlays = {}

    def overlay(self, message):
        key = message.overlay_id
        if key not in self.overlays:
            self.overlays[key] = Overlay(key)
        return self.overlays[key]

    async def watch(self):
        while True:
            try:
                await self.cluster.poll()
            except (SlurmError, OSError, ValueError) as error:
                print(f"Slurm does not answer: {error}", flush=True)
            for overlay in self.overlays.values():
                overlay.follow()
            await asyncio.sleep(POLL_SECONDS)

    # ---------------------------------------------------------------- service

    async def GetCapabilities(self, request, context):
        return pb.GetCapabilitiesResponse(
            name="Slurm", version=(await slurm("sinfo", "--version")).strip(),
            features=[pb.FEATURE_PLACE_JOB, pb.FEATURE_ATTACH, pb.FEATURE_ALLOCATE,
                      pb.FEATURE_QUERY])

    async def PlaceJob(self, request, context):
        overlay = self.overlay(request.overlay)
        try:
            job = await self.job_of(overlay, request)
        except SlurmError as error:
            await refuse(context, grpc.StatusCode.FAILED_PRECONDITION,
                         ALLOC_FAILED, str(error))
        if job is None:
            await context.abort(grpc.StatusCode.ABORTED, "there is a later attempt")
        job.calls = call = job.calls + 1
        job.held.changed.set()  # the newer call replaces the others
        try:
            said = None
            while not job.held.slots and not job.held.is_over:
                queued = self.queued(job.held)
                if queued != said:
                    yield pb.PlaceJobResponse(queued=queued)
                    said = queued
                await job.held.changed.wait()
                job.held.changed.clear()
                if job.calls != call:
                    return
            if job.held.is_over:
                overlay.jobs.pop(request.placement.request_id, None)
                await refuse(context, grpc.StatusCode.FAILED_PRECONDITION,
                             ALLOC_FAILED, f"Slurm has ended job {job.held.number} "
                             f"while it waited: {job.held.state}")
            job.granted = True
            yield pb.PlaceJobResponse(granted=self.grant(job))
        finally:
            if job.calls == call and not job.granted:
                asyncio.get_running_loop().call_later(
                    ABANDONED_SECONDS, self.abandon, overlay, job, call)

    @staticmethod
    def queued(held):
        queued = pb.Queued(reason=f"Slurm job {held.number}: "
                           f"{held.reason or held.state.lower()}")
        try:
            starts = time.mktime(time.strptime(held.starts, "%Y-%m-%dT%H:%M:%S"))
            queued.expected_start_time.FromSeconds(int(starts))
        except ValueError:
            pass  # it is unknown
        return queued

    @staticmethod
    def grant(job):
        """Returns a grant of all nodes of the Slurm job, also to a job that is
        spawned in an allocation."""
        granted = pb.Granted(
            host_job_id=job.name,
            nodes=[pb.GrantedNode(name=name, slots=n)
                   for name, n in sorted(job.held.slots.items())])
        left = seconds_of(job.held.left)
        if left:
            granted.time_limit.seconds = left
        return granted

    async def job_of(self, overlay, request):
        """Returns the job of a request, or None if a later attempt of it is
        known."""
        placement = request.placement
        job = overlay.jobs.get(placement.request_id)
        if job is not None and job.placement.attempt > placement.attempt:
            return None
        if job is not None and job.placement.attempt == placement.attempt:
            return job
        if job is not None:
            await self.release(overlay, job)
        inside = self.allocation_of(overlay, request)
        comment = overlay.comment("job", f"{placement.request_id}.{placement.attempt}")
        held = inside or self.cluster.with_comment(comment)
        if held is None:
            held = await self.cluster.submit(submission_of(request, comment), comment)
        # The same request may have arrived again during the submission.
        known = overlay.jobs.get(placement.request_id)
        if known is not None and known.placement.attempt >= placement.attempt:
            if not inside and known.held is not held:
                await self.cluster.cancel(held)
            return known
        job = overlay.jobs[placement.request_id] = Job(placement, held, inside is None)
        return job

    def allocation_of(self, overlay, request):
        """Returns the allocation in which a job is spawned, or None. Raises
        SlurmError for an allocation that is not the overlay's, and for other
        required directives."""
        for info in request.directives:
            if info.key == "pmix.alloc.id":
                name = info.value.text.decode(errors="replace")
                return self.cluster.allocation(overlay, name)
            if info.required:
                raise SlurmError(f"{info.key} is not supported with Slurm")
        return None

    def abandon(self, overlay, job, call):
        """Cancels a waiting job unless it was requested again after `call`."""
        known = overlay.jobs.get(job.placement.request_id)
        if known is job and job.calls == call and not job.granted:
            asyncio.ensure_future(self.release(overlay, job))

    async def release(self, overlay, job):
        if overlay.jobs.get(job.placement.request_id) is job:
            del overlay.jobs[job.placement.request_id]
        if job.owns and not job.held.is_over:
            await self.cluster.cancel(job.held)

    async def JobLaunched(self, request, context):
        return pb.JobLaunchedResponse()

    async def JobReleased(self, request, context):
        overlay = self.overlay(request.overlay)
        job = overlay.jobs.get(request.placement.request_id)
        # The release of an earlier attempt is ignored, because the later
        # attempt has the nodes.
        if job is not None and job.placement.attempt <= request.placement.attempt:
            await self.release(overlay, job)
        return pb.JobReleasedResponse()

    # ------------------------------------------------------------- allocations

    async def Allocate(self, request, context):
        overlay = self.overlay(request.call.overlay)
        for info in request.infos:
            if info.required and info.key not in KNOWN:
                await refuse(context, grpc.StatusCode.UNIMPLEMENTED, NOT_SUPPORTED,
                             f"{info.key} is not supported with Slurm")
        infos = {info.key: info.value for info in request.infos}
        try:
            if request.directive == pb.ALLOCATION_DIRECTIVE_NEW:
                return await self.allocate(overlay, request, infos)
            if request.directive == pb.ALLOCATION_DIRECTIVE_RELEASE:
                return await self.free(overlay, infos)
        except SlurmError as error:
            await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED,
                         "PMIX_ERR_OUT_OF_RESOURCE", str(error))
        await refuse(context, grpc.StatusCode.UNIMPLEMENTED, NOT_SUPPORTED,
                     "allocations are requested and released, not changed")

    async def allocate(self, overlay, request, infos):
        comment = overlay.comment("alloc", request.call.call_id)
        held = self.cluster.with_comment(comment)
        if held is None:
            job = Submission(comment, request.call.caller.user)
            job.add("job-name", text(infos.get("pmix.alloc.reqid")) or "canopy")
            job.add("nodes", number(infos.get("pmix.alloc.nnodes")))
            job.add("ntasks", number(infos.get("pmix.alloc.ncpus")))
            job.add("nodelist", text(infos.get("pmix.alloc.nlist")))
            job.add("partition", text(infos.get("pmix.alloc.queue")))
            if number(infos.get("pmix.alloc.time")):
                job.add("time", time_of(number(infos["pmix.alloc.time"])))
            held = await self.cluster.submit(job, comment)
        try:
            while not held.slots and not held.is_over:
                await held.changed.wait()
                held.changed.clear()
        except asyncio.CancelledError:  # the process waits no longer
            asyncio.ensure_future(self.cluster.cancel(held))
            raise
        if held.is_over:
            raise SlurmError(f"Slurm has ended job {held.number}: {held.state}")
        names = sorted(held.slots)
        return pb.AllocateResponse(results=[
            pb.Info(key="pmix.alloc.id", value=pb.Value(text=held.number.encode())),
            pb.Info(key="pmix.alloc.nnodes", value=pb.Value(
                type=pb.DATA_TYPE_UINT64, unsigned_integer=len(names))),
            pb.Info(key="pmix.alloc.nlist",
                    value=pb.Value(text=",".join(names).encode()))])

    async def free(self, overlay, infos):
        name = text(infos.get("pmix.alloc.id"))
        await self.cluster.cancel(self.cluster.allocation(overlay, name))
        return pb.AllocateResponse()

    async def Query(self, request, context):
        for info in request.qualifiers:
            if info.required and info.key not in ("pmix.alloc.id", "pmix.timeout"):
                await context.abort(grpc.StatusCode.UNIMPLEMENTED,
                                    f"{info.key} is not supported")
        qualifiers = {info.key: info.value for info in request.qualifiers}
        name = text(qualifiers.get("pmix.alloc.id")) or \
            request.call.caller.host_job_id.split("/")[0]
        results = []
        for key in request.keys:
            value = await self.answer(key, self.cluster.held.get(name))
            if value is not None:
                results.append(pb.Info(key=key, value=value))
        return pb.QueryResponse(results=results)

    @staticmethod
    async def answer(key, held):
        """Returns the value of a query's key, or None if it is unknown."""
        if key == "pmix.qry.qlst":
            names = (await slurm("sinfo", "--noheader", "--format", "%R")).split()
            return pb.Value(text=",".join(names).encode())
        if key == "pmix.query.alloc" and held:
            return pb.Value(text=f"job {held.number}: {held.state}".encode())
        if key == "pmix.time.remaining" and held and seconds_of(held.left) is not None:
            return pb.Value(type=pb.DATA_TYPE_UINT32,
                            unsigned_integer=seconds_of(held.left))
        return None

    # ------------------------------------------------------------------ agents

    async def Attach(self, messages, context):
        hello = (await anext(aiter(messages))).hello
        overlay = self.overlay(hello.overlay)
        if overlay.incarnation != hello.incarnation:
            overlay.incarnation, overlay.taken = hello.incarnation, 0
        out = asyncio.Queue()
        if overlay.out is not None:
            overlay.out.put_nowait(None)  # the new stream replaces it
        yield pb.AttachResponse(hello=pb.HostHello(
            incarnation=hello.incarnation, acknowledged=overlay.taken,
            filter=pb.ReportFilter()))
        overlay.out = out
        with reading(overlay, out, self.read(overlay, messages, out)):
            while (message := await out.get()) is not None:
                yield message

    async def read(self, overlay, messages, out):
        pages = []
        try:
            async for message in messages:
                kind = message.WhichOneof("kind")
                if kind == "snapshot":
                    pages.append(message.snapshot)
                    if message.snapshot.last:
                        self.adopt(overlay, pages)
                        pages = []
                elif kind == "report":
                    overlay.taken = message.report.sequence
                    out.put_nowait(pb.AttachResponse(acknowledge=pb.Acknowledge(
                        sequence=overlay.taken)))
                elif kind == "result" and message.result.pmix_status:
                    print(f"command: {message.result.message}", flush=True)
        finally:
            out.put_nowait(None)

    def adopt(self, overlay, pages):
        """Adopts the jobs of a snapshot. After its settle time, Slurm jobs without
        a job of the overlay are cancelled."""
        for page in pages:
            for report in page.jobs:
                self.adopt_job(overlay, report)
        asyncio.get_running_loop().call_later(
            moment(pages[-1].settle_time) + 1, self.settle, overlay)

    def adopt_job(self, overlay, report):
        name = report.placement.request_id
        number = report.host_job_id.split("/")[0]
        if report.state == pb.JOB_STATE_QUEUED or name in overlay.jobs:
            return
        held = self.cluster.held.get(number)
        if held is None:  # it ended while this program did not run
            held = Held(number, "")
            held.state = "ENDED"
        job = overlay.jobs[name] = Job(report.placement, held,
                                       "/" not in report.host_job_id)
        job.granted = True
        job.suspended = report.state == pb.JOB_STATE_SUSPENDED

    def settle(self, overlay):
        """Cancels the Slurm jobs of the overlay that belong to none of its jobs."""
        wanted = {job.held for job in overlay.jobs.values()}
        prefix = overlay.comment("job", "")
        for held in list(self.cluster.held.values()):
            if held.comment.startswith(prefix) and held not in wanted:
                asyncio.ensure_future(self.cluster.cancel(held))


# The attributes of an allocation request that are honoured.
KNOWN = ("pmix.alloc.id", "pmix.alloc.reqid", "pmix.alloc.nnodes", "pmix.alloc.ncpus",
         "pmix.alloc.nlist", "pmix.alloc.queue", "pmix.alloc.time", "pmix.timeout")


def text(value):
    return value.text.decode(errors="replace") if value is not None else ""


def number(value):
    """Returns the number of a value; 0 if there is no value or it is negative."""
    if value is None:
        return 0
    return value.unsigned_integer or max(value.integer, 0)


def seconds_of(left):
    """Returns the seconds of a time such as 1-02:03:04, or None if the text has
    another form."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", left)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


async def serve(options):
    scheduler = Scheduler()
    await scheduler.cluster.recover()
    server = grpc.aio.server()
    rpc.add_HostModuleServiceServicer_to_server(scheduler, server)
    server.add_generic_rpc_handlers((health(),))
    server.add_insecure_port(options.listen)
    await server.start()
    print("ready", flush=True)
    await asyncio.gather(server.wait_for_termination(), scheduler.watch())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", required=True, help="unix:/PATH")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
