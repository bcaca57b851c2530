#!/usr/bin/python3
"""A small scheduler for Canopy: a queue, slots, time limits and backfill.

    scheduler.py --listen unix:/run/user/1000/scheduler.sock &
    canopy up --emulate 4 --host-module unix:/run/user/1000/scheduler.sock
    canopy run -n 4 ./a.out

Jobs start in the order of their requests. A job that has to wait is overtaken
by jobs whose time limits end before it can start. Standard input takes commands
of the operator: jobs, launch PROGRAM [ARG...], kill JOB, suspend JOB, resume
JOB, signal JOB NUMBER, limit JOB SECONDS [WARN], requeue JOB, drain NODE,
undrain NODE. Programs can query the queue, "all", their jobs and the remaining
time of these with PMIx_Query_info. Needs the same packages as
host_module_stubs.py.
"""
import argparse
import collections
import concurrent.futures
import os
import queue
import re
import sys
import threading
import time

import grpc

from host_module_stubs import pb, rpc

INSUFFICIENT_RESOURCES = -234  # PMIX_ERR_JOB_INSUFFICIENT_RESOURCES
OUT_OF_RESOURCE = -29          # PMIX_ERR_OUT_OF_RESOURCE
NOT_SUPPORTED = -47            # PMIX_ERR_NOT_SUPPORTED
NOT_FOUND = -46                # PMIX_ERR_NOT_FOUND
PARTIAL_SUCCESS = -52          # PMIX_ERR_PARTIAL_SUCCESS
UINT32 = 14                    # PMIX_UINT32
QUEUE = "all"                  # the only one


class Job:
    """A job from its request to its release."""

    def __init__(self, request):
        self.overlay = request.overlay.overlay_id
        self.placement = request.placement
        self.request = request
        self.host_job_id = ""
        self.nodes = {}        # granted slots by name; empty: waiting
        self.ends = 0          # when its time is over, at the latest
        self.answers = None    # queue of its open call, or None
        self.said = ""

    def order(self):
        return (self.request.since_ms, self.placement.request_id)

    def hosts(self):
        """Returns the nodes that its user names; an empty set means any."""
        named = list(self.request.hosts)
        for app in self.request.apps:
            named += app.hosts
        return {host.name for host in named if not host.name.startswith("+")}


class Scheduler(rpc.HostModuleServicer):
    def __init__(self, default_limit, accounting):
        self.lock = threading.RLock()
        self.default_limit = default_limit
        self.accounting = accounting
        self.nodes = {}                            # by name: NodeReport
        self.jobs = {}                             # by overlay and request
        # for job names, unique over restarts
        self.next_id = int(time.time())
        # queue of the stream, by overlay
        self.agents = {}
        self.unanswered = {}                       # commands, by number
        self.taken = collections.defaultdict(int)  # reports, by incarnation
        self.next_command = 0
        self.last_command = pb.HostMessage()
        self.read_accounts()

    def read_accounts(self):
        """Reads the accounts of an earlier run of this scheduler."""
        if not self.accounting or not os.path.exists(self.accounting):
            return
        with open(self.accounting, encoding="utf-8") as lines:
            for line in lines:
                found = re.search(r" report=(\d+)\.(\d+) ", line)
                if found:
                    series, number = map(int, found.groups())
                    self.taken[series] = max(self.taken[series], number)

    # ---------------------------------------------------------------- queue

    def free(self):
        slots = {name: node.slots for name, node in self.nodes.items()
                 if node.state == pb.NODE_STATE_UP}
        for job in self.jobs.values():
            for name, used in job.nodes.items():
                if name in slots:
                    slots[name] -= used
        return slots

    def pick(self, job, slots):
        """Returns slots by node if the job fits into these slots, or None."""
        hosts = job.hosts()
        may = {name: n for name, n in slots.items()
               if n > 0 and (not hosts or hosts & {name, *self.nodes[name].aliases})}
        wanted = job.request.num_slots or sum(
            node.slots for node in self.nodes.values()
            if node.state == pb.NODE_STATE_UP)
        if job.request.oversubscribe:
            wanted = min(wanted, max(sum(may.values()), 1))
        picked = {}
        for name, n in sorted(may.items()):
            if wanted > 0:
                picked[name] = min(n, wanted)
                wanted -= picked[name]
        return picked if wanted == 0 else None

    def limit(self, job):
        return job.request.time_limit_seconds or self.default_limit

    def start_of(self, job, now):
        """Returns when the job can start at the latest, if jobs use all of
        their time."""
        slots = self.free()
        for running in sorted((j for j in self.jobs.values() if j.nodes),
                              key=lambda j: j.ends):
            for name, used in running.nodes.items():
                if name in slots:
                    slots[name] += used
            if self.pick(job, slots) is not None:
                return max(running.ends, now)
        return None

    def schedule(self):
        """Starts the jobs that can start, and reports to the others why they
        wait."""
        now = time.time()
        waiting = sorted((job for job in self.jobs.values() if not job.nodes),
                         key=Job.order)
        blocked_until = None  # start of the first waiting job
        for position, job in enumerate(waiting, 1):
            slots = self.free()
            nodes = self.pick(job, slots)
            if nodes is not None and (blocked_until is None or
                                      now + self.limit(job) <= blocked_until):
                self.grant(job, nodes, now)
                continue
            if blocked_until is None:
                blocked_until = self.start_of(job, now)
                if blocked_until is None and self.nodes:
                    total = {name: node.slots for name, node in self.nodes.items()}
                    if self.pick(job, total) is None:
                        self.refuse(job, INSUFFICIENT_RESOURCES,
                                    f"{job.request.num_slots} slots are wanted, and "
                                    f"there are {sum(total.values())}")
                        continue
                    blocked_until = now
            self.say(job, position, sum(slots.values()))

    def say(self, job, position, free):
        reason = (f"{job.request.num_slots or 'all'} slots wanted, {free} free"
                  if self.nodes else "no nodes are known yet")
        if job.answers is None or job.said == f"{position} {reason}":
            return
        job.said = f"{position} {reason}"
        job.answers.put(pb.PlacementUpdate(queued=pb.Queued(
            reason=reason, position=position)))

    def grant(self, job, nodes, now):
        job.host_job_id = str(self.next_id)
        self.next_id += 1
        job.nodes = nodes
        job.ends = now + self.limit(job)
        self.answer_granted(job)

    def answer_granted(self, job):
        if job.answers is None:
            return
        job.answers.put(pb.PlacementUpdate(granted=pb.Granted(
            host_job_id=job.host_job_id, time_limit_seconds=self.limit(job),
            env=[f"SCHEDULER_JOB_ID={job.host_job_id}".encode()],
            nodes=[pb.GrantedNode(name=name, slots=n)
                   for name, n in sorted(job.nodes.items())])))
        job.answers.put(None)

    def refuse(self, job, status, why):
        self.jobs.pop((job.overlay, job.placement.request_id), None)
        if job.answers is not None:
            job.answers.put(pb.PlacementUpdate(refused=pb.Refused(
                status=status, message=why)))
            job.answers.put(None)

    # -------------------------------------------------------------- service

    def GetCapabilities(self, request, context):
        return pb.GetCapabilitiesReply(
            name="example", version="1",
            slots=[pb.SLOT_PLACE_JOB, pb.SLOT_ATTACH, pb.SLOT_ALLOCATE,
                   pb.SLOT_QUERY])

    def PlaceJob(self, request, context):
        # Required directives must be honoured, and this scheduler knows none.
        required = [info.key for info in request.directives if info.required]
        if required:
            yield pb.PlacementUpdate(refused=pb.Refused(
                status=NOT_SUPPORTED, message=f"{required[0]} is not supported"))
            return
        key = (request.overlay.overlay_id, request.placement.request_id)
        answers = queue.Queue()
        context.add_callback(lambda: self.stream_ended(key, answers))
        with self.lock:
            job = self.jobs.get(key)
            if job is None or job.placement.attempt < request.placement.attempt:
                job = self.jobs[key] = Job(request)
            elif job.answers is not None:
                job.answers.put(None)  # ends an older call of the same
                                       # placement
            job.answers = answers
            job.said = ""
            if job.nodes:
                self.answer_granted(job)
            self.schedule()
        while (update := answers.get()) is not None:
            yield update

    def stream_ended(self, key, answers):
        """Called when a stream ends. A job that still waits is requested again
        if it is still wanted."""
        answers.put(None)
        with self.lock:
            job = self.jobs.get(key)
            if job is None or job.answers is not answers:
                return
            job.answers = None
            if not job.nodes:
                del self.jobs[key]
                self.schedule()

    def JobLaunched(self, request, context):
        return pb.JobLaunchedReply()

    def JobReleased(self, request, context):
        with self.lock:
            key = (request.overlay.overlay_id, request.placement.request_id)
            job = self.jobs.get(key)
            if job is not None and job.placement.attempt <= request.placement.attempt:
                del self.jobs[key]
                self.schedule()
        return pb.JobReleasedReply()

    def Allocate(self, request, context):
        """Jobs keep their nodes. The reply states whether the request could
        ever succeed."""
        infos = {info.key: info.value for info in request.infos}
        wanted = infos.get("pmix.alloc.nnodes", pb.Value()).unsigned
        with self.lock:
            there = len(self.nodes)
        if wanted > there:
            return pb.HostReply(status=OUT_OF_RESOURCE, message=(
                f"job {request.call.caller.host_job_id or '-'} wants {wanted} nodes, "
                f"and there are {there}"), results=[pb.Info(
                    key="pmix.alloc.id", value=pb.Value(text=b"none"))])
        return pb.HostReply(status=NOT_SUPPORTED)

    def Query(self, request, context):
        qualifiers = {info.key: info.value for info in request.qualifiers}
        for info in request.qualifiers:
            if info.required and info.key not in (
                    "pmix.alloc.queue", "pmix.alloc.id", "pmix.timeout"):
                return pb.HostReply(status=NOT_SUPPORTED,
                                    message=f"{info.key} is not supported")
        with self.lock:
            answers = {key: self.answer(key, qualifiers, request.call.caller)
                       for key in request.keys}
        results = [pb.Info(key=key, value=value)
                   for key, value in answers.items() if value is not None]
        status = NOT_FOUND if not results else 0
        return pb.HostReply(results=results, status=status if
                            len(results) in (0, len(answers)) else PARTIAL_SUCCESS)

    def answer(self, key, qualifiers, caller):
        """Returns None if there is no answer."""
        name = qualifiers.get("pmix.alloc.id", pb.Value()).text.decode()
        jobs = [job for job in self.jobs.values()
                if job.host_job_id == (name or caller.host_job_id) and job.nodes]
        if key == "pmix.qry.qlst":
            return pb.Value(text=QUEUE.encode())
        if key == "pmix.qry.qst":
            queue_name = qualifiers.get("pmix.alloc.queue", pb.Value()).text.decode()
            waiting = sum(not job.nodes for job in self.jobs.values())
            return pb.Value(text=f"{QUEUE}: {waiting} waiting".encode()) \
                if queue_name in ("", QUEUE) else None
        if key == "pmix.query.alloc" and jobs:
            return pb.Value(text=f"job {jobs[0].host_job_id}: granted".encode())
        if key == "pmix.time.remaining" and jobs and jobs[0].ends:
            return pb.Value(type=UINT32, unsigned=max(
                int(jobs[0].ends - time.time()), 0))
        return None

    # --------------------------------------------------------------- agents

    def Attach(self, messages, context):
        overlay = next(messages).hello
        out = queue.Queue()
        key = overlay.overlay.overlay_id
        with self.lock:
            if key in self.agents:
                self.agents[key].put(None)  # the new stream replaces it
            self.agents[key] = out
            again = list(self.unanswered.values())
        out.put(pb.HostMessage(hello=pb.HostHello(
            incarnation=overlay.incarnation,
            acknowledged=self.taken[overlay.incarnation])))
        # The commands may have been lost with the previous agent; none is
        # executed twice.
        for message in again:
            out.put(message)
        reader = threading.Thread(target=self.read, daemon=True, args=(
            key, overlay.incarnation, messages, out))
        reader.start()
        while (message := out.get()) is not None:
            yield message

    def read(self, overlay, incarnation, messages, out):
        try:
            for message in messages:
                kind = message.WhichOneof("kind")
                if kind == "snapshot":
                    self.take_snapshot(overlay, message.snapshot)
                elif kind == "report":
                    if message.report.sequence > self.taken[incarnation]:
                        self.take_report(incarnation, message.report)
                        self.taken[incarnation] = message.report.sequence
                    out.put(pb.HostMessage(acknowledge=pb.Acknowledge(
                        sequence=message.report.sequence)))
                elif kind == "result":
                    self.unanswered.pop(message.result.command_id, None)
                    print(f"command {message.result.command_id}: "
                          f"{message.result.status} {message.result.message}", flush=True)
        except grpc.RpcError:
            pass  # the agent is gone
        out.put(None)

    def take_snapshot(self, overlay, snapshot):
        with self.lock:
            for node in snapshot.nodes:
                self.nodes[node.name] = node
            there = {job.placement.request_id for job in snapshot.jobs}
            for report in snapshot.jobs:
                self.adopt(overlay, report)
            gone = [key for key, job in self.jobs.items()
                    if key[0] == overlay and job.nodes and key[1] not in there]
            threading.Timer(snapshot.settle_ms / 1000, self.settle, (gone,)).start()
            self.schedule()

    def adopt(self, overlay, report):
        """Adopts a job that an earlier run of this scheduler has started."""
        key = (overlay, report.placement.request_id)
        if report.state == pb.JOB_STATE_QUEUED or key in self.jobs:
            return
        job = Job(pb.PlaceJobRequest(placement=report.placement))
        job.overlay = overlay
        job.host_job_id = report.host_job_id
        job.nodes = {use.name: use.procs for use in report.nodes}
        job.ends = time.time() + self.default_limit
        self.jobs[key] = job

    def settle(self, keys):
        """Releases granted jobs that neither run nor were requested again."""
        with self.lock:
            for key in keys:
                job = self.jobs.get(key)
                if job is not None and job.answers is None:
                    del self.jobs[key]
            self.schedule()

    def take_report(self, incarnation, report):
        kind = report.WhichOneof("kind")
        with self.lock:
            if kind == "node":
                self.nodes[report.node.name] = report.node
                self.schedule()
        if kind == "record" and self.accounting:
            record = report.record
            nodes = ",".join(f"{use.name}:{use.procs}" for use in record.nodes)
            with open(self.accounting, "a", encoding="utf-8") as out:
                out.write(f"{record.host_job_id} {record.placement.request_id} "
                          f"report={incarnation}.{report.sequence} "
                          f"uid={record.caller.uid} nodes={nodes} "
                          f"waited_ms={record.started_ms - record.queued_ms} "
                          f"ran_ms={record.ended_ms - record.started_ms} "
                          f"exit={record.exit_code} status={record.status} "
                          f"cpu_ms={self.measured(record, 'cpu_time_ms')} "
                          f"peak_bytes={self.measured(record, 'peak_memory_bytes')} "
                          f"{record.command}\n")

    @staticmethod
    def measured(record, field):
        """Returns a number as text, with "+" if it is a lower bound, or "-" if
        unknown."""
        if not record.HasField(field):
            return "-"
        more = "+" if record.procs_measured < record.num_procs else ""
        return f"{getattr(record, field)}{more}"

    # ------------------------------------------------------------- operator

    def show(self):
        with self.lock:
            running = [f"job {job.host_job_id}: {job.placement.request_id} on "
                       f"{','.join(sorted(job.nodes))}"
                       for job in self.jobs.values() if job.nodes]
        print("; ".join(running) or "no jobs", flush=True)

    def launch(self, argv):
        """Launches a job of one process on the first free slot. It has no
        launcher; its output goes to a file in the directory of the scheduler.
        """
        with self.lock:
            nodes = [name for name, n in sorted(self.free().items()) if n > 0]
            if not nodes or not self.agents:
                print("no slot is free", flush=True)
                return None
            overlay = next(iter(self.agents))
            job = Job(pb.PlaceJobRequest(placement=pb.Placement(
                request_id=f"batch {self.next_id}", attempt=1)))
            job.overlay = overlay
            job.nodes = {nodes[0]: 1}
            job.ends = time.time() + self.default_limit
            job.host_job_id = str(self.next_id)
            self.next_id += 1
            self.jobs[(overlay, job.placement.request_id)] = job
        return {"launch": pb.LaunchJob(
            request_id=job.placement.request_id,
            granted=pb.Granted(host_job_id=job.host_job_id, nodes=[
                pb.GrantedNode(name=nodes[0], slots=1)]),
            apps=[pb.LaunchApp(argv=[word.encode() for word in argv], num_procs=1)],
            env=[b"PATH=/usr/bin:/bin"], cwd=os.getcwd().encode(),
            output=f"job-{job.host_job_id}.out".encode())}

    def limit_job(self, name, seconds, warn=0):
        with self.lock:
            for job in self.jobs.values():
                if job.host_job_id == name:
                    job.ends = time.time() + int(seconds)
        return {"time_limit": pb.SetTimeLimit(
            job=pb.JobName(host_job_id=name), seconds=int(seconds),
            warn_seconds=int(warn))}

    def command(self, words):
        if words == ["jobs"]:
            return self.show()
        if words == ["again"]:  # agents execute it once and reply again
            return self.send(self.last_command)
        verb, name = words[0], pb.JobName(host_job_id=words[1])
        fields = {
            "launch": lambda: self.launch(words[1:]),
            "drain": lambda: {"drain_node": pb.DrainNode(name=words[1], reason="drained")},
            "undrain": lambda: {"resume_node": pb.ResumeNode(name=words[1])},
            "kill": lambda: {"kill": pb.KillJob(job=name, reason="its operator says so")},
            "suspend": lambda: {"suspend": pb.SuspendJob(job=name)},
            "resume": lambda: {"resume": pb.ResumeJob(job=name)},
            "requeue": lambda: {"requeue": pb.RequeueJob(job=name, reason="for another")},
            "limit": lambda: self.limit_job(*words[1:]),
            "signal": lambda: {"signal": pb.SignalJob(job=name, signal=int(words[2]))},
        }[verb]()
        if fields is None:
            return
        self.next_command += 1
        self.last_command = pb.HostMessage(command=pb.Command(
            command_id=f"{os.getpid()}-{self.next_command}", **fields))
        self.send(self.last_command)

    def send(self, message):
        with self.lock:
            self.unanswered[message.command.command_id] = message
            for out in self.agents.values():
                out.put(message)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", required=True, help="unix:/PATH or HOST:PORT")
    parser.add_argument("--time-limit", type=int, default=3600,
                        help="seconds of a job that names none (3600)")
    parser.add_argument("--accounting", help="file to which a line for each job goes")
    parser.add_argument("--tls", nargs=3, metavar=("CA", "CERT", "KEY"),
                        help="PEM files, for HOST:PORT that is not this machine's "
                        "alone: agents need certificates of CA")
    options = parser.parse_args()
    scheduler = Scheduler(options.time_limit, options.accounting)
    # Each waiting job occupies a thread.
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=1000))
    rpc.add_HostModuleServicer_to_server(scheduler, server)
    if options.tls:
        authority, certificate, key = (read(path) for path in options.tls)
        server.add_secure_port(options.listen, grpc.ssl_server_credentials(
            [(key, certificate)], authority, require_client_auth=True))
    else:
        server.add_insecure_port(options.listen)
    server.start()
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            scheduler.command(line.split())
        except (KeyError, IndexError, TypeError, ValueError):
            print("jobs, again, launch PROGRAM, kill JOB, suspend JOB, resume JOB, "
                  "signal JOB NUMBER, limit JOB SECONDS [WARN], requeue JOB, "
                  "drain NODE, undrain NODE", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
