#!/usr/bin/python3
"""A small scheduler for Canopy: a queue, slots, time limits and backfill.

    scheduler.py --listen unix:/run/user/1000/scheduler.sock &
    canopy up --emulate 4 --host-module unix:/run/user/1000/scheduler.sock
    canopy run -n 4 ./a.out

Jobs of an overlay start in the order of their requests. A job that has to wait
is overtaken by jobs whose time limits end before it can start. Everything runs
in one thread, so any number of jobs can wait, of any number of overlays.

Standard input takes commands of the operator: jobs,
launch [account=NAME] PROGRAM [ARG...], kill JOB, suspend JOB, resume JOB,
signal JOB NUMBER, limit JOB SECONDS [WARN], requeue JOB, drain NODE,
undrain NODE. Programs can query the queue, "all", their jobs and the remaining
time of these with PMIx_Query_info. Needs the same packages as
host_module_stubs.py.
"""
import argparse
import asyncio
import bisect
import collections
import hmac
import os
import re
import sys
import time

import grpc

from host_module_stubs import health, moment, pb, reading, refuse, rpc

NOT_SUPPORTED = "PMIX_ERR_NOT_SUPPORTED"
OUT_OF_RESOURCE = "PMIX_ERR_OUT_OF_RESOURCE"
INSUFFICIENT_RESOURCES = "PMIX_ERR_JOB_INSUFFICIENT_RESOURCES"
QUEUE = "all"  # the only queue
CHECK = "host-module-check"  # the overlay of 'canopy host-module check'
POSITIONS_SECONDS = 1  # between two reports of the places in the queue
ACKNOWLEDGE_SECONDS = 0.05  # reports of this time are acknowledged together


class Refused(Exception):
    """A job that can never run."""


class Job:
    """A job from its request to its release."""

    def __init__(self, request):
        self.placement = request.placement
        self.request = request
        self.host_job_id = ""
        self.nodes = {}        # granted slots by name; empty: waiting
        self.ends = 0          # when its time is over, at the latest
        self.answers = None    # queue of its open call, or None
        self.said = None       # the last reason and place

    def order(self):
        return (moment(self.request.request_time), self.placement.request_id)

    def say(self, reason, position):
        if self.answers is None or self.said == (reason, position):
            return
        self.said = (reason, position)
        self.answers.put_nowait(pb.PlaceJobResponse(queued=pb.Queued(
            reason=reason, position=position)))


class Overlay:
    """The nodes and jobs of one overlay. Names are unique only in it."""

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.nodes = {}        # by name: NodeReport
        self.free = {}         # slots by name; negative: oversubscribed
        self.jobs = {}         # by request_id
        self.waiting = []      # (order, job), sorted
        self.out = None        # queue of the stream
        self.unanswered = {}   # commands, by command_id
        self.incarnation = None
        self.taken = 0         # last report of the incarnation
        self.uid = None        # the user of its token, if that is known

    # ---------------------------------------------------------------- nodes

    def set_node(self, report):
        used = self.slots_of(report.name) - self.free.get(report.name, 0)
        self.nodes[report.name] = report
        self.free[report.name] = self.slots_of(report.name) - used

    def slots_of(self, name):
        node = self.nodes.get(name)
        return node.slots if node and node.state == pb.NODE_STATE_UP else 0

    def use(self, nodes, sign):
        for name, slots in nodes.items():
            self.free[name] = self.free.get(name, 0) - sign * slots

    def rooms(self, request, application, slots):
        """Returns by node how many processes of an application fit into the
        given free slots."""
        hosts = application.hosts or request.hosts
        per_process = max(application.slots_per_process, 1)
        rooms = {}
        for name in sorted(slots):
            node = self.nodes.get(name)
            if node is None or name in request.refused_nodes:
                continue
            room = max(slots[name], 0) // per_process
            if application.HasField("max_procs_per_node"):
                room = min(room, application.max_procs_per_node)
            if hosts and not any(host.name.startswith("+") for host in hosts):
                named = [host for host in hosts
                         if host.name == name or host.name in node.aliases]
                if not named:
                    continue
                if all(host.HasField("slots") for host in named):
                    room = min(room, sum(host.slots for host in named))
            if room > 0:
                rooms[name] = room
        return rooms

    def pick(self, request, slots):
        """Returns the slots for the job by node, or None if it does not fit into
        the given slots."""
        left = dict(slots)
        picked = collections.Counter()
        for application in request.applications:
            rooms = self.rooms(request, application, left)
            total = sum(rooms.values())
            wanted = max(application.num_procs, 1) if \
                application.HasField("num_procs") else max(total, 1)
            if request.oversubscribe:
                wanted = min(wanted, max(total, 1))
            for name, room in rooms.items():
                procs = min(room, wanted)
                wanted -= procs
                taken = procs * max(application.slots_per_process, 1)
                left[name] -= taken
                picked[name] += taken
            if wanted > 0:
                return None
        return {name: n for name, n in picked.items() if n > 0}

    # ---------------------------------------------------------------- queue

    def enqueue(self, job):
        self.jobs[job.placement.request_id] = job
        bisect.insort(self.waiting, (job.order(), job))

    def dequeue(self, job):
        at = bisect.bisect_left(self.waiting, (job.order(),))
        if at < len(self.waiting) and self.waiting[at][1] is job:
            del self.waiting[at]

    def forget(self, job):
        """Removes a job that has ended or is no longer wanted, and frees its
        slots."""
        del self.jobs[job.placement.request_id]
        self.dequeue(job)
        self.use(job.nodes, -1)

    def schedule(self):
        """Starts the jobs that can start. A job behind the first waiting job
        starts only if it ends before the first waiting job can start."""
        blocked_until = None  # start of the first waiting job
        for _, job in list(self.waiting):
            if blocked_until is not None and not any(
                    n > 0 for n in self.free.values()):
                return
            nodes = self.pick(job.request, self.free)
            now = time.time()
            if nodes and (blocked_until is None or
                          now + self.limit(job) <= blocked_until):
                self.grant(job, nodes, now)
                continue
            if blocked_until is None:
                try:
                    blocked_until = self.start_of(job, now)
                except Refused as refusal:
                    self.forget(job)
                    job.answers.put_nowait(refusal)
                    continue
                self.say(job, 1)

    def say(self, job, position):
        reason = "no nodes are known yet" if not self.nodes else \
            f"{job.request.num_slots or 'all'} slots wanted, " \
            f"{sum(max(n, 0) for n in self.free.values())} free"
        job.say(reason, position)

    def say_positions(self):
        for position, (_, job) in enumerate(self.waiting, 1):
            self.say(job, position)

    def limit(self, job):
        return job.request.time_limit.seconds or self.scheduler.default_limit

    def start_of(self, job, now):
        """Returns when the job can start at the latest, if jobs use all of
        their time."""
        if not self.nodes:
            return now
        slots = dict(self.free)
        for running in sorted((j for j in self.jobs.values() if j.nodes),
                              key=lambda j: j.ends):
            for name, used in running.nodes.items():
                slots[name] = slots.get(name, 0) + used
            if self.pick(job.request, slots):
                return max(running.ends, now)
        total = {name: node.slots for name, node in self.nodes.items()}
        if not self.pick(job.request, total):
            raise Refused(self.why_never(job.request, sum(total.values())))
        return now

    def why_never(self, request, slots):
        """Returns why a job that would not fit even alone can never run."""
        known = {name for node in self.nodes.values()
                 for name in (node.name, *node.aliases)}
        for part in (request, *request.applications):
            for host in part.hosts:
                if not host.name.startswith("+") and host.name not in known:
                    return f"no node is called '{host.name}'"
        return f"{request.num_slots} slots are wanted, and there are {slots}"

    def grant(self, job, nodes, now):
        job.host_job_id = self.scheduler.next_name()
        job.nodes = nodes
        job.ends = now + self.limit(job)
        self.dequeue(job)
        self.use(nodes, 1)
        self.answer_granted(job)

    def answer_granted(self, job):
        if job.answers is None:
            return
        granted = pb.Granted(
            host_job_id=job.host_job_id,
            env=[f"SCHEDULER_JOB_ID={job.host_job_id}".encode()],
            nodes=[pb.GrantedNode(name=name, slots=n)
                   for name, n in sorted(job.nodes.items())])
        granted.time_limit.seconds = self.limit(job)
        job.answers.put_nowait(pb.PlaceJobResponse(granted=granted))

    # --------------------------------------------------------------- agents

    def take_snapshot(self, pages):
        there = set()
        for page in pages:
            for node in page.nodes:
                self.set_node(node)
        for page in pages:
            for report in page.jobs:
                there.add(report.placement.request_id)
                self.adopt(report)
        gone = [job for job in self.jobs.values() if job.nodes and
                job.placement.request_id not in there]
        settle = pages[-1].settle_time
        asyncio.get_running_loop().call_later(
            settle.seconds + settle.nanos / 1e9, self.settle, gone)
        self.schedule()

    def adopt(self, report):
        """Adopts a job that an earlier run of this scheduler has started."""
        name = report.placement.request_id
        if report.state == pb.JOB_STATE_QUEUED or name in self.jobs:
            return
        job = self.jobs[name] = Job(pb.PlaceJobRequest(placement=report.placement))
        job.host_job_id = report.host_job_id
        job.nodes = {use.name: use.slots for use in report.nodes}
        limit = report.time_limit.seconds or self.scheduler.default_limit
        job.ends = (moment(report.start_time) or time.time()) + limit
        self.use(job.nodes, 1)

    def settle(self, jobs):
        """Releases granted jobs that neither run nor were requested again."""
        for job in jobs:
            if self.jobs.get(job.placement.request_id) is job and \
                    job.answers is None:
                self.forget(job)
        self.schedule()

    def send(self, message):
        self.unanswered[message.command.command_id] = message
        if self.out is not None:
            self.out.put_nowait(message)


class Scheduler(rpc.HostModuleServiceServicer):
    def __init__(self, default_limit, accounting):
        self.default_limit = default_limit
        self.users = None      # uids by token; None: every overlay is served
        self.tokens = {}       # by overlay_id
        self.accounting = accounting and open(accounting, "a+", encoding="utf-8")
        self.overlays = collections.defaultdict(lambda: Overlay(self))
        # Names start at the time in milliseconds. They stay unique after a
        # restart as long as fewer than 1000 jobs start per second.
        self.last_name = int(time.time() * 1000)
        self.next_command = 0
        self.last_command = pb.AttachResponse()
        self.taken = collections.Counter()  # reports, by incarnation
        self.read_accounts()

    def next_name(self):
        self.last_name += 1
        return str(self.last_name)

    def read_accounts(self):
        """Reads the accounts of an earlier run of this scheduler."""
        if not self.accounting:
            return
        self.accounting.seek(0)
        for line in self.accounting:
            found = re.search(r" report=(\d+)\.(\d+) ", line)
            if found:
                series, number = map(int, found.groups())
                self.taken[series] = max(self.taken[series], number)

    async def positions(self):
        while True:
            await asyncio.sleep(POSITIONS_SECONDS)
            for overlay in self.overlays.values():
                overlay.say_positions()

    # -------------------------------------------------------------- service

    async def overlay_of(self, message, context):
        """Returns the overlay of a call after checking its token."""
        metadata = dict(context.invocation_metadata())
        token = metadata.get("authorization", "").removeprefix("Bearer ")
        if self.users is not None and token not in self.users:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED,
                                "this scheduler does not know the overlay's token")
        known = self.tokens.setdefault(message.overlay_id, token)
        if not hmac.compare_digest(known, token):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED,
                                "another overlay has this overlay_id")
        overlay = self.overlays[message.overlay_id]
        overlay.uid = self.users[token] if self.users is not None else None
        return overlay

    async def GetCapabilities(self, request, context):
        await self.overlay_of(request.overlay, context)
        return pb.GetCapabilitiesResponse(
            name="example", version="1",
            features=[pb.FEATURE_PLACE_JOB, pb.FEATURE_ATTACH, pb.FEATURE_ALLOCATE,
                      pb.FEATURE_QUERY])

    async def PlaceJob(self, request, context):
        # Required directives must be honoured, and this scheduler knows none.
        for info in request.directives:
            if info.required:
                await refuse(context, grpc.StatusCode.UNIMPLEMENTED, NOT_SUPPORTED,
                             f"{info.key} is not supported")
        overlay = await self.overlay_of(request.overlay, context)
        answers = asyncio.Queue()
        job = self.job_of(overlay, request)
        if job is None:
            await context.abort(grpc.StatusCode.ABORTED, "there is a later attempt")
        if job.answers is not None:
            job.answers.put_nowait(None)  # the newer call replaces it
        job.answers = answers
        job.said = None
        try:
            if job.nodes:
                overlay.answer_granted(job)
            else:
                overlay.schedule()
                if not job.nodes:
                    overlay.say(job, len(overlay.waiting))
            while (update := await answers.get()) is not None:
                if isinstance(update, Refused):
                    await refuse(context, grpc.StatusCode.FAILED_PRECONDITION,
                                 INSUFFICIENT_RESOURCES, str(update))
                yield update
                if update.HasField("granted"):
                    return
        finally:
            self.call_ended(overlay, job, answers)

    @staticmethod
    def job_of(overlay, request):
        """Returns the job of a request, or None if a later attempt of it is
        known."""
        job = overlay.jobs.get(request.placement.request_id)
        if job is not None:
            if job.placement.attempt > request.placement.attempt:
                return None
            if job.placement.attempt == request.placement.attempt:
                return job
            overlay.forget(job)  # the attempt before
        job = Job(request)
        overlay.enqueue(job)
        return job

    @staticmethod
    def call_ended(overlay, job, answers):
        """Removes the job if it still waits. The agent requests it again if it
        is still wanted."""
        if job.answers is not answers:
            return
        job.answers = None
        if not job.nodes and overlay.jobs.get(job.placement.request_id) is job:
            overlay.forget(job)
            overlay.schedule()

    async def JobLaunched(self, request, context):
        # This scheduler needs only the ends of jobs. After this error an agent
        # saves the call for every further job.
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "not needed")

    async def JobReleased(self, request, context):
        overlay = await self.overlay_of(request.overlay, context)
        job = overlay.jobs.get(request.placement.request_id)
        # The release of an earlier attempt is ignored, because the later
        # attempt has the slots.
        if job is not None and job.placement.attempt <= request.placement.attempt:
            overlay.forget(job)
            if job.answers is not None:
                job.answers.put_nowait(None)
            overlay.schedule()
        return pb.JobReleasedResponse()

    async def Allocate(self, request, context):
        """Refuses every request, because jobs keep their nodes. The error states
        whether the request could ever succeed."""
        infos = {info.key: info.value for info in request.infos}
        wanted = infos.get("pmix.alloc.nnodes", pb.Value()).unsigned_integer
        overlay = await self.overlay_of(request.call.overlay, context)
        there = len(overlay.nodes)
        if wanted > there:
            await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, OUT_OF_RESOURCE,
                         f"job {request.call.caller.host_job_id or '-'} wants "
                         f"{wanted} nodes, and there are {there}")
        # The details make this an answer to the request. Without them it would
        # mean that the scheduler does not have the call.
        await refuse(context, grpc.StatusCode.UNIMPLEMENTED, NOT_SUPPORTED,
                     "jobs keep their nodes")

    async def Query(self, request, context):
        qualifiers = {info.key: info.value for info in request.qualifiers}
        for info in request.qualifiers:
            if info.required and info.key not in (
                    "pmix.alloc.queue", "pmix.alloc.id", "pmix.timeout"):
                await context.abort(grpc.StatusCode.UNIMPLEMENTED,
                                    f"{info.key} is not supported")
        overlay = await self.overlay_of(request.call.overlay, context)
        answers = {key: self.answer(overlay, key, qualifiers, request.call.caller)
                   for key in request.keys}
        return pb.QueryResponse(results=[
            pb.Info(key=key, value=value)
            for key, value in answers.items() if value is not None])

    @staticmethod
    def answer(overlay, key, qualifiers, caller):
        """Returns the value of a query's key, or None if it is unknown."""
        name = qualifiers.get("pmix.alloc.id", pb.Value()).text.decode()
        jobs = [job for job in overlay.jobs.values() if job.nodes and
                job.host_job_id == (name or caller.host_job_id)]
        if key == "pmix.qry.qlst":
            return pb.Value(text=QUEUE.encode())
        if key == "pmix.qry.qst":
            queue = qualifiers.get("pmix.alloc.queue", pb.Value()).text.decode()
            return pb.Value(text=f"{QUEUE}: {len(overlay.waiting)} waiting".encode()) \
                if queue in ("", QUEUE) else None
        if key == "pmix.query.alloc" and jobs:
            return pb.Value(text=f"job {jobs[0].host_job_id}: granted".encode())
        if key == "pmix.time.remaining" and jobs and jobs[0].ends:
            return pb.Value(type=pb.DATA_TYPE_UINT32, unsigned_integer=max(
                int(jobs[0].ends - time.time()), 0))
        return None

    # --------------------------------------------------------------- agents

    async def Attach(self, messages, context):
        hello = (await anext(aiter(messages))).hello
        overlay = await self.overlay_of(hello.overlay, context)
        if overlay.incarnation != hello.incarnation:
            overlay.incarnation = hello.incarnation
            overlay.taken = self.taken[hello.incarnation]
        out = asyncio.Queue()
        if overlay.out is not None:
            overlay.out.put_nowait(None)  # the new stream replaces it
        overlay.out = out
        # With an empty filter, agents report only nodes and the ends of jobs.
        yield pb.AttachResponse(hello=pb.HostHello(
            incarnation=hello.incarnation, acknowledged=overlay.taken,
            filter=pb.ReportFilter()))
        # These commands may have been lost with the previous stream. Agents do not
        # execute a command twice.
        for message in overlay.unanswered.values():
            out.put_nowait(message)
        with reading(overlay, out, self.read(
                overlay, hello.overlay.context, messages, out)):
            while (message := await out.get()) is not None:
                yield message

    async def read(self, overlay, context, messages, out):
        pages = []
        acknowledged = overlay.taken

        def acknowledge():
            nonlocal acknowledged
            acknowledged = overlay.taken
            out.put_nowait(pb.AttachResponse(acknowledge=pb.Acknowledge(
                sequence=overlay.taken)))

        try:
            async for message in messages:
                kind = message.WhichOneof("kind")
                if kind == "snapshot":
                    pages.append(message.snapshot)
                    if message.snapshot.last:
                        overlay.take_snapshot(pages)
                        pages = []
                elif kind == "report":
                    if overlay.taken == acknowledged:
                        asyncio.get_running_loop().call_later(
                            ACKNOWLEDGE_SECONDS, acknowledge)
                    self.take_report(overlay, context, message.report)
                elif kind == "result":
                    overlay.unanswered.pop(message.result.command_id, None)
                    print(f"command {message.result.command_id}: "
                          f"{message.result.pmix_status} {message.result.message}",
                          flush=True)
        finally:
            out.put_nowait(None)

    def take_report(self, overlay, context, report):
        if report.sequence <= overlay.taken:
            return
        kind = report.WhichOneof("kind")
        if kind == "node":
            overlay.set_node(report.node)
            overlay.schedule()
        if kind == "record" and self.accounting and context != CHECK:
            self.account(overlay, report.sequence, report.record)
        overlay.taken = self.taken[overlay.incarnation] = report.sequence

    def account(self, overlay, sequence, record):
        incarnation = overlay.incarnation
        # The token proves the user; the record only claims it.
        uid = record.caller.user.uid if overlay.uid is None else overlay.uid
        nodes = ",".join(f"{use.name}:{use.procs}" for use in record.nodes)
        requested, ended = moment(record.request_time), moment(record.end_time)
        # A job that was never started has waited until its end.
        started = moment(record.start_time) if record.HasField("start_time") else ended
        self.accounting.write(
            f"{record.host_job_id} {record.placement.request_id} "
            f"report={incarnation}.{sequence} "
            f"uid={uid} account={record.hints.account or '-'} nodes={nodes} "
            f"waited_ms={int((started - requested) * 1000)} "
            f"ran_ms={int((ended - started) * 1000)} "
            f"exit={record.exit_code} status={record.pmix_status} "
            f"cpu_ms={self.cpu_ms(record)} "
            f"peak_bytes={self.peak_bytes(record)} {record.command}\n")
        self.accounting.flush()

    @staticmethod
    def bound(record):
        """Returns "+" if not all processes were measured, so that the numbers
        of the record are lower bounds. Otherwise returns an empty text."""
        return "+" if record.procs_measured < record.num_procs else ""

    def cpu_ms(self, record):
        return f"{record.cpu_time.ToMilliseconds()}{self.bound(record)}" \
            if record.HasField("cpu_time") else "-"

    def peak_bytes(self, record):
        return f"{record.peak_memory_bytes}{self.bound(record)}" \
            if record.HasField("peak_memory_bytes") else "-"

    # ------------------------------------------------------------- operator

    def show(self):
        running = [f"job {job.host_job_id}: {job.placement.request_id} on "
                   f"{','.join(sorted(job.nodes))}"
                   for overlay in self.overlays.values()
                   for job in overlay.jobs.values() if job.nodes]
        print("; ".join(running) or "no jobs", flush=True)

    def overlays_with(self, name, is_node):
        """Returns the connected overlays that have a node or a job of this name.
        Returns all connected overlays if none has it. Their agents then answer
        that it does not exist."""
        found = [overlay for overlay in self.overlays.values() if overlay.out and (
            name in overlay.nodes if is_node else
            any(job.host_job_id == name for job in overlay.jobs.values()))]
        return found or [overlay for overlay in self.overlays.values() if overlay.out]

    def launch(self, argv):
        """Launches a job of one process on the first free slot. It has no
        launcher; its output goes to a file in the directory of the scheduler.
        """
        account = ""
        if argv[0].startswith("account="):
            account, argv = argv[0].removeprefix("account="), argv[1:]
        for overlay in self.overlays.values():
            nodes = [name for name, n in sorted(overlay.free.items()) if n > 0]
            if nodes and overlay.out:
                break
        else:
            print("no slot is free", flush=True)
            return
        name = self.next_name()
        job = Job(pb.PlaceJobRequest(placement=pb.Placement(
            request_id=f"batch {name}", attempt=1)))
        job.host_job_id = name
        job.nodes = {nodes[0]: 1}
        job.ends = time.time() + self.default_limit
        overlay.jobs[job.placement.request_id] = job
        overlay.use(job.nodes, 1)
        self.send([overlay], {"launch": pb.LaunchJob(
            request_id=job.placement.request_id,
            granted=pb.Granted(host_job_id=name, nodes=[
                pb.GrantedNode(name=nodes[0], slots=1)]),
            applications=[pb.LaunchApplication(
                argv=[word.encode() for word in argv], num_procs=1)],
            env=[b"PATH=/usr/bin:/bin"], cwd=os.getcwd().encode(),
            output=f"job-{name}.out".encode(),
            hints=pb.Hints(name=f"batch-{name}", account=account))})

    def limit_job(self, name, seconds, warn=0):
        for overlay in self.overlays.values():
            for job in overlay.jobs.values():
                if job.host_job_id == name:
                    job.ends = time.time() + int(seconds)
        limit = pb.SetTimeLimit(host_job_id=name)
        limit.limit.seconds = int(seconds)
        if int(warn):
            limit.warning.seconds = int(warn)
        return {"time_limit": limit}

    def command(self, words):
        if words == ["jobs"]:
            return self.show()
        if words == ["again"]:  # agents execute it once and reply again
            for overlay in self.overlays.values():
                overlay.send(self.last_command)
            return None
        verb, name = words[0], words[1]
        if verb == "launch":
            return self.launch(words[1:])
        fields = {
            "drain": lambda: {"drain_node": pb.DrainNode(name=name, reason="drained")},
            "undrain": lambda: {"resume_node": pb.ResumeNode(name=name)},
            "kill": lambda: {"kill": pb.KillJob(
                host_job_id=name, reason="its operator says so")},
            "suspend": lambda: {"suspend": pb.SuspendJob(host_job_id=name)},
            "resume": lambda: {"resume": pb.ResumeJob(host_job_id=name)},
            "requeue": lambda: {"requeue": pb.RequeueJob(
                host_job_id=name, reason="for another")},
            "limit": lambda: self.limit_job(*words[1:]),
            "signal": lambda: {"signal": pb.SignalJob(
                host_job_id=name, signal=int(words[2]))},
        }[verb]()
        return self.send(
            self.overlays_with(name, verb in ("drain", "undrain")), fields)

    def send(self, overlays, fields):
        self.next_command += 1
        self.last_command = pb.AttachResponse(command=pb.Command(
            command_id=f"{os.getpid()}-{self.next_command}", **fields))
        for overlay in overlays:
            overlay.send(self.last_command)


async def operate(scheduler):
    """Executes the commands of standard input."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        try:
            scheduler.command(line.decode().split())
        except (KeyError, IndexError, TypeError, ValueError):
            print("jobs, again, launch [account=NAME] PROGRAM, kill JOB, "
                  "suspend JOB, resume JOB, signal JOB NUMBER, "
                  "limit JOB SECONDS [WARN], requeue JOB, drain NODE, undrain NODE",
                  flush=True)


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def read_users(path):
    """Returns uids by token, from lines TOKEN UID, or None without a file."""
    if not path:
        return None
    return {token: int(uid) for token, uid in
            (line.split() for line in read_file(path).decode().splitlines())}


async def serve(options, servicer):
    scheduler = servicer(options.time_limit, options.accounting)
    scheduler.users = read_users(options.users)
    server = grpc.aio.server()
    rpc.add_HostModuleServiceServicer_to_server(scheduler, server)
    server.add_generic_rpc_handlers((health(),))
    if options.tls:
        authority, certificate, key = (read_file(path) for path in options.tls)
        server.add_secure_port(options.listen, grpc.ssl_server_credentials(
            [(key, certificate)], authority, require_client_auth=True))
    else:
        server.add_insecure_port(options.listen)
    await server.start()
    print("ready", flush=True)
    await asyncio.gather(server.wait_for_termination(), scheduler.positions(),
                         operate(scheduler))


def main(servicer=Scheduler):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", required=True, help="unix:/PATH or HOST:PORT")
    parser.add_argument("--time-limit", type=int, default=3600,
                        help="seconds of a job that names none (3600)")
    parser.add_argument("--accounting", help="file to which a line for each job goes")
    parser.add_argument("--users", help="file with lines TOKEN UID: only overlays with "
                        "these tokens ('canopy host-module token') are served")
    parser.add_argument("--tls", nargs=3, metavar=("CA", "CERT", "KEY"),
                        help="PEM files, for HOST:PORT that is not this machine's "
                        "alone: agents need certificates of CA")
    asyncio.run(serve(parser.parse_args(), servicer))


if __name__ == "__main__":
    main()
