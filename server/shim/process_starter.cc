#include "server/shim/process_starter.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "common/posix/start_thread.h"
#include "common/posix/user_database.h"
#include "server/shim/cpuset.h"
#include "server/shim/process_policies.h"
#include "server/shim/pty.h"

namespace canopy::process {
namespace {

// The least number of processes for each thread: with fewer, starting a thread
// costs more than it saves.
constexpr size_t kProcessesPerThread = 16;
constexpr size_t kMaxThreads = 16;

size_t ThreadsFor(size_t processes) {
  const size_t cpus = std::max(1u, std::thread::hardware_concurrency());
  const size_t useful =
      (processes + kProcessesPerThread - 1) / kProcessesPerThread;
  return std::max<size_t>(1, std::min({cpus, useful, kMaxThreads}));
}

bool MakePipe(UniqueFd* read_end, UniqueFd* write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end->Reset(fds[0]);
  write_end->Reset(fds[1]);
  return true;
}

std::string ValueOf(const Environment& env, std::string_view name) {
  const char* const value = env.Get(name);
  return value == nullptr ? "" : value;
}

loader::LoaderEnvironment LoaderEnvironmentOf(const Environment& env) {
  return {ValueOf(env, "LD_LIBRARY_PATH"), ValueOf(env, "LD_PRELOAD")};
}

}  // namespace

ProcessStarter::ProcessStarter(PrepareJob job, rlimit nofile)
    : job_(std::move(job)), nofile_(nofile) {}

Prepared ProcessStarter::Check(const std::vector<LocalProcess>& processes) {
  Status status = CheckPlacement(processes);
  if (status.ok()) status = CheckUser();
  if (!status.ok()) return {status.code(), status.message(), {}};
  MakeApps();
  return FindPrograms();
}

Status ProcessStarter::CheckPlacement(
    const std::vector<LocalProcess>& processes) {
  null_.Reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_) {
    return Status(kErrJobSysOpFailed, "cannot open /dev/null");
  }
  for (const LocalProcess& process : processes) {
    if (process.spec.app >= job_.apps.size()) {
      return Status(kErrBadParam, "a rank of an unknown application");
    }
    const std::string& cpus = process.spec.cpuset;
    if (!cpus.empty() && !ParseCpuList(cpus)) {
      return Status(kErrBadParam, "malformed CPU list \"" + cpus + "\"");
    }
  }
  return Status();
}

Status ProcessStarter::CheckUser() {
  if (job_.uid == geteuid()) return Status();
  if (geteuid() != 0) {
    return Status(kErrNoPermissions,
                  "the job belongs to user " + std::to_string(job_.uid) +
                      ", the agent runs as user " + std::to_string(geteuid()));
  }
  const std::optional<UserEntry> user = FindUserByNumber(job_.uid);
  const std::string name = user ? user->name : "";
  if (!job_.user.empty() && job_.user != name) {
    return Status(kErrNoPermissions,
                  "user " + std::to_string(job_.uid) + " is " +
                      (name.empty() ? "not known" : "'" + name + "'") +
                      " on this node, but the job is of '" + job_.user +
                      "'; the nodes of a cluster need the same users");
  }
  credentials_ = std::make_unique<Credentials>();
  credentials_->uid = job_.uid;
  credentials_->gid = job_.gid;
  if (user) {
    credentials_->groups = GroupsOf(name, job_.gid);
  } else {
    credentials_->groups = {job_.gid};
  }
  return Status();
}

void ProcessStarter::MakeApps() {
  Environment base;
  base.SetAll(job_.env);
  for (const AppSpec& spec : job_.apps) {
    App app;
    app.env = base;
    app.env.SetAll(spec.env);
    app.env.Set(JobMark(job_.nspace, getpid()));
    for (const std::string& arg : spec.argv) {
      app.argv.push_back(const_cast<char*>(arg.c_str()));
    }
    if (spec.argv.empty()) {
      app.argv.push_back(const_cast<char*>(spec.program.c_str()));
    }
    app.argv.push_back(nullptr);
    apps_.push_back(std::move(app));
  }
}

std::vector<ProgramQuery> ProcessStarter::Queries() const {
  std::vector<ProgramQuery> queries;
  for (size_t i = 0; i < apps_.size(); ++i) {
    const AppSpec& spec = job_.apps[i];
    ProgramQuery query;
    query.program = spec.program;
    query.cwd = spec.cwd;
    query.path = apps_[i].env.Get("PATH");
    query.library = job_.library;
    if (!job_.library.empty()) {
      Environment own = apps_[i].env;
      own.SetAll(spec.own_library_env);
      query.injected = LoaderEnvironmentOf(apps_[i].env);
      query.own = LoaderEnvironmentOf(own);
      query.known_finding = spec.known_finding;
    }
    queries.push_back(std::move(query));
  }
  return queries;
}

Prepared ProcessStarter::FindPrograms() {
  const std::vector<ProgramQuery> queries = Queries();
  const Result<std::vector<FoundProgram>> found =
      credentials_ != nullptr ? FindProgramsAs(*credentials_, queries)
                              : process::FindPrograms(queries);
  if (!found.ok()) return {found.code(), found.status().message(), {}};
  Prepared prepared;
  for (size_t i = 0; i < apps_.size(); ++i) {
    const FoundProgram& program = (*found)[i];
    apps_[i].path = program.path;
    if (!program.finding) continue;
    if (loader::NeedsOwnLibrary(program.finding->fit)) {
      apps_[i].env.SetAll(job_.apps[i].own_library_env);
    }
    prepared.findings.push_back(loader::EncodeFinding(*program.finding));
  }
  return prepared;
}

bool ProcessStarter::StopsOnExec(Rank rank) const {
  const auto& ranks = job_.stop_on_exec;
  return ranks && (ranks->empty() || std::ranges::count(*ranks, rank) > 0);
}

std::optional<PtySize> ProcessStarter::TerminalOf(
    const LocalProcess& process) const {
  if (!process.spec.has_stdin) return std::nullopt;
  const char* const size = apps_[process.spec.app].env.Get(kPtyVariable);
  return size == nullptr ? std::nullopt : ParsePtySize(size);
}

bool ProcessStarter::MakePipes(const LocalProcess& process, Outcome* outcome,
                               ProcessEnds* ends) const {
  const bool one_stream =
      job_.merge_stderr || job_.apps[process.spec.app].merge_stderr;
  const bool piped =
      (!process.spec.has_stdin || MakePipe(&ends->in, &outcome->in)) &&
      MakePipe(&outcome->out, &ends->out) &&
      (job_.merge_stderr || MakePipe(&outcome->err, &ends->err));
  if (piped && one_stream) ends->err.Reset();
  return piped;
}

bool ProcessStarter::MakeTerminal(const PtySize& size, Outcome* outcome,
                                  ProcessEnds* ends) const {
  Pty pty = OpenPty(size, job_.uid);
  if (!pty.master) return false;
  outcome->in.Reset(fcntl(pty.master.get(), F_DUPFD_CLOEXEC, 0));
  outcome->out = std::move(pty.master);
  ends->in.Reset(fcntl(pty.slave.get(), F_DUPFD_CLOEXEC, 0));
  ends->out = std::move(pty.slave);
  outcome->is_terminal = true;
  return outcome->in && ends->in;
}

ProcessStarter::Outcome ProcessStarter::StartOne(
    const LocalProcess& process) const {
  const AppSpec& spec = job_.apps[process.spec.app];
  const App& app = apps_[process.spec.app];
  Outcome outcome;
  ProcessEnds ends;  // closed when this function returns
  const std::optional<PtySize> terminal = TerminalOf(process);
  const bool made = terminal ? MakeTerminal(*terminal, &outcome, &ends)
                             : MakePipes(process, &outcome, &ends);
  if (!made) {
    outcome.result = {-1, SpawnStep::kDescriptors, errno};
    return outcome;
  }
  const std::vector<char*> envp = app.env.Overlay(process.spec.env);
  std::vector<char*> argv = app.argv;
  std::string name = argv[0];
  if (job_.process.index_argv) {
    name += "-" + std::to_string(process.spec.rank);
    argv[0] = name.data();
  }
  std::optional<CpuMask> cpus;
  if (!process.spec.cpuset.empty()) cpus = ParseCpuList(process.spec.cpuset);
  SpawnRequest request;
  request.path = app.path.c_str();
  request.argv = argv.data();
  request.envp = envp.data();
  request.cwd = spec.cwd.empty() ? nullptr : spec.cwd.c_str();
  request.stdio[0] = ends.in ? ends.in.get() : null_.get();
  request.stdio[1] = ends.out.get();
  request.stdio[2] = ends.err ? ends.err.get() : ends.out.get();
  request.controls_terminal = outcome.is_terminal;
  for (const UniqueFd& fd : process.fds) request.inherited.push_back(fd.get());
  request.cpus = cpus ? &*cpus : nullptr;
  request.credentials = credentials_.get();
  request.nofile = nofile_;
  request.policies = &job_.process;
  request.stop = StopsOnExec(process.spec.rank);
  outcome.result = Spawn(request);
  return outcome;
}

std::vector<std::optional<ProcessStarter::Outcome>> ProcessStarter::StartAll(
    const std::vector<LocalProcess>& processes, const Stopped& stopped) const {
  std::vector<std::optional<Outcome>> outcomes(processes.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{stopped()};
  const auto start_next = [&] {
    const size_t i = stop ? processes.size() : next++;
    if (i < processes.size()) outcomes[i] = StartOne(processes[i]);
    return i < processes.size();
  };
  const auto help = [&] {
    while (start_next()) {
    }
  };
  // Without helpers, this thread starts all processes.
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < ThreadsFor(processes.size())) {
    Result<std::thread> helper = StartThread(help);
    if (!helper.ok()) break;
    helpers.push_back(*std::move(helper));
  }
  while (start_next()) stop = stopped();
  for (std::thread& helper : helpers) helper.join();
  return outcomes;
}

StartError ProcessStarter::Failed(LocalProcess* process,
                                  const SpawnResult& result) const {
  const Status status =
      result.failed == SpawnStep::kPolicies
          ? Status(kErrNoPermissions, PolicyFailure(job_.process, result.error))
          : DescribeSpawnFailure(
                result.failed, result.error, apps_[process->spec.app].path,
                job_.apps[process->spec.app].cwd, process->spec.cpuset);
  process->phase = RankPhase::kEnded;
  process->wait_status = (result.error == ENOENT ? 127 : 126) << 8;
  return {process->spec.rank, status.code(), result.error, status.message()};
}

// Adds the streams of a process. Streams are also added for a process that was
// not started, because the readers of the job's output wait for the end of each
// stream.
void ProcessStarter::AddStreams(Rank rank, UniqueFd out, UniqueFd err,
                                OutputPump* pump) const {
  pump->Add(rank, kChannelStdout, std::move(out));
  if (!job_.merge_stderr) pump->Add(rank, kChannelStderr, std::move(err));
}

// Passes the process and its pipes to the job.
void ProcessStarter::Adopt(Outcome outcome, LocalProcess* process,
                           OutputPump* pump, InputFeed* feed,
                           Started* started) const {
  const Rank rank = process->spec.rank;
  process->fds.clear();
  if (outcome.in) {
    feed->Add(rank, std::move(outcome.in), outcome.is_terminal);
  }
  AddStreams(rank, std::move(outcome.out), std::move(outcome.err), pump);
  if (outcome.result.pid > 0) {
    process->pid = outcome.result.pid;
    process->phase = RankPhase::kRunning;
    started->ranks.push_back({rank, process->pid});
  } else {
    started->errors.push_back(Failed(process, outcome.result));
  }
}

Started ProcessStarter::Start(std::vector<LocalProcess>* processes,
                              const Stopped& stopped, OutputPump* pump,
                              InputFeed* feed) {
  std::vector<std::optional<Outcome>> outcomes = StartAll(*processes, stopped);
  Started started;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    LocalProcess* const process = &(*processes)[i];
    if (outcomes[i]) {
      Adopt(*std::move(outcomes[i]), process, pump, feed, &started);
    } else {
      process->fds.clear();
      process->phase = RankPhase::kEnded;
      process->wait_status = SIGKILL;
      AddStreams(process->spec.rank, UniqueFd(), UniqueFd(), pump);
    }
  }
  return started;
}

Started ProcessStarter::StartAgain(LocalProcess* process, OutputPump* pump,
                                   InputFeed* feed) {
  Started started;
  Adopt(StartOne(*process), process, pump, feed, &started);
  return started;
}

}  // namespace canopy::process
