#include "server/library/library_server.h"

#include <pthread.h>
#include <unistd.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/event_loop.h"
#include "common/host_op.h"
#include "common/job.h"
#include "common/posix/signal_block.h"
#include "common/posix/start_thread.h"
#include "common/posix/unique_fd.h"
#include "server/core/agent_core.h"
#include "server/datastore/datastore.h"
#include "server/endpoint/listener.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/tool_registry.h"
#include "server/facts/facts_reader.h"
#include "server/library/arrivals.h"
#include "server/library/cleanups.h"
#include "server/library/environments.h"
#include "server/library/host_overlay.h"
#include "server/library/host_processes.h"
#include "server/library/hosted_jobs.h"
#include "server/library/hosted_output.h"
#include "server/library/hosted_sets.h"
#include "server/library/module_host.h"
#include "server/library/no_jobs.h"
#include "server/library/outside_keys.h"
#include "server/library/registered_contents.h"
#include "server/library/upcalls.h"
#include "server/library/watched_clients.h"
#include "server/local/local_endpoint.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/runtime/runtime.h"

namespace canopy::library {
namespace {

constexpr char kThreadName[] = "pmix-server";
constexpr char kSocketName[] = "/clients.sock";
// The prefix of variables that only a launcher may set.
constexpr std::string_view kLaunchersOnly = "OMPI_";

// Starts a thread that blocks all signals, because the host's threads handle
// them.
Result<std::thread> StartServing(std::function<void()> body) {
  const SignalBlock block;
  Result<std::thread> thread = StartThread(std::move(body));
  if (thread.ok()) pthread_setname_np(thread->native_handle(), kThreadName);
  return thread;
}

std::vector<std::string> Joined(std::vector<std::string> one,
                                const std::vector<std::string>& other) {
  one.insert(one.end(), other.begin(), other.end());
  std::erase_if(one, [](const std::string& entry) {
    return entry.starts_with(kLaunchersOnly);
  });
  return one;
}

}  // namespace

// The parts in the order of their construction. Each part refers only to
// earlier ones.
struct LibraryServer::Parts {
  explicit Parts(LibraryServerOptions options_);

  HostOverlay::Parts OverlayParts();
  ClientGate::Parts GateParts();
  datastore::DatastoreOptions DatastoreSettings();
  local::LocalOptions LocalSettings();
  openpmix::OpenPmixOptions OpenPmixSettings();
  facts::FactsOptions FactsSettings();
  void StartCore();

  int Register(registration::Registration told);
  // Adds a registered job to the core.
  Status Begin(const std::string& nspace);
  // Removes the job from the core.
  void Withdraw(const std::string& nspace);
  void Deregister(const std::string& nspace);
  // Adds a registered client of the job. Returns a PMIx status.
  int Add(const ProcId& proc, uid_t uid, gid_t gid, void* object);
  void Expect(const ProcId& proc);
  void SetEnvironments(const JobSpec& spec);
  void FromHost(core::MessageBody body);
  void CallHost(core::AskHost ask, HostCalls::Done done);
  void Reply(const core::ReplyClient& reply);
  endpoint::AskAboutNewcomer AskHost();
  endpoint::AcceptElsewhere AcceptByHost();
  void Log(const std::string& nspace, const Status& status) const;

  const LibraryServerOptions options;
  // Tools may connect only if the host permits it.
  const std::shared_ptr<endpoint::ToolRegistry> tools =
      std::make_shared<endpoint::ToolRegistry>(
          options.self, options.tools ? endpoint::kMaxTools : 0);
  EventLoop loop;
  AgentRuntime runtime{&loop};
  HostedJobs jobs;
  HostedSets sets{options.self, &jobs};
  Arrivals arrivals;
  OutsideKeys outside;
  Cleanups cleanups{&jobs};
  HostedOutput output{
      &options.module, &Upcalls::OfProcess(), &jobs,
      // The reply is posted, because endpoints are not called back while they
      // pass an input.
      [this](core::ClientId client, core::RequestId request, int status,
             std::string payload) {
        loop.Post([this, reply = core::ReplyClient{client, request, status,
                                                   Bytes(std::move(payload))}] {
          Reply(reply);
        });
      }};
  HostProcesses processes{&runtime};
  HostOverlay overlay;
  ClientGate gate;
  datastore::Datastore datastore;
  local::LocalEndpoint local;
  openpmix::OpenPmixEndpoint openpmix;
  facts::FactsReader facts;
  WatchedClients watched_local{&local, &arrivals};
  WatchedClients watched_openpmix{&openpmix, &arrivals};
  // The calls for the host's own process.
  HostCalls own_calls{&options.module, &Upcalls::OfProcess()};
  std::map<core::RequestId, HostCalls::Done> own_pushes;
  core::RequestId next_push = 0;
  HostRequests own_requests{&options.module, &Upcalls::OfProcess(),
                            [this](core::ClientId, core::RequestId request,
                                   int status, std::string payload) {
                              auto push = own_pushes.extract(request);
                              if (push)
                                push.mapped()(status, std::move(payload));
                            }};
  NoJobs no_jobs;
  ModuleHost host{&options.module, &Upcalls::OfProcess(), &runtime};
};

LibraryServer::Parts::Parts(LibraryServerOptions options_)
    : options(std::move(options_)),
      overlay(OverlayParts()),
      gate(GateParts()),
      datastore(DatastoreSettings()),
      local(&loop, &gate, LocalSettings()),
      openpmix(&loop, &gate, OpenPmixSettings()),
      facts(&loop, &runtime, FactsSettings()) {}

HostOverlay::Parts LibraryServer::Parts::OverlayParts() {
  HostOverlay::Parts parts;
  parts.sink = &runtime;
  parts.module = &options.module;
  parts.upcalls = &Upcalls::OfProcess();
  parts.jobs = &jobs;
  parts.arrivals = &arrivals;
  parts.outside = &outside;
  parts.host_has_all_fences = options.host_has_all_fences;
  parts.after = [this](int64_t ms, std::function<void()> what) {
    loop.AddTimer(ms * 1'000'000, std::move(what));
  };
  parts.await_commit = [this](const ProcId& proc) {
    local.AwaitCommit(proc);
    openpmix.AwaitCommit(proc);
  };
  // The call is posted, because the core is sending and cannot take an input
  // before it has finished.
  parts.begin = [this](const std::string& nspace, std::function<void()> then) {
    loop.Post([this, nspace, then = std::move(then)] {
      const HostedJob* job = jobs.Find(nspace);
      if (job != nullptr && job->spec == nullptr) (void)Begin(nspace);
      then();
    });
  };
  parts.log = options.log;
  return parts;
}

ClientGate::Parts LibraryServer::Parts::GateParts() {
  ClientGate::Parts parts;
  parts.loop = &loop;
  parts.core = &runtime;
  parts.module = &options.module;
  parts.upcalls = &Upcalls::OfProcess();
  parts.jobs = &jobs;
  parts.arrivals = &arrivals;
  parts.cleanups = &cleanups;
  parts.output = &output;
  parts.outside = &outside;
  parts.reply = [this](const core::ReplyClient& reply) { Reply(reply); };
  parts.on_commit = [this] { overlay.OnCommit(); };
  parts.raise = options.raise;
  return parts;
}

void LibraryServer::Parts::Reply(const core::ReplyClient& reply) {
  if (KindOf(reply.client) == ClientKind::kLocal) return local.Reply(reply);
  openpmix.Reply(reply);
}

endpoint::AskAboutNewcomer LibraryServer::Parts::AskHost() {
  return [this](const endpoint::Newcomer& who,
                std::function<void(endpoint::Verdict)> done) {
    gate.Ask(who, std::move(done));
  };
}

endpoint::AcceptElsewhere LibraryServer::Parts::AcceptByHost() {
  return [this](int listener, std::function<void(UniqueFd)> on_connection) {
    return Upcalls::OfProcess().Listen(options.module.listener, listener,
                                       std::move(on_connection));
  };
}

datastore::DatastoreOptions LibraryServer::Parts::DatastoreSettings() {
  datastore::DatastoreOptions settings;
  settings.facts.self = kSelf;
  settings.facts.server = options.self;
  settings.facts.uri = [this] { return openpmix.uri(); };
  settings.facts.rm_name.clear();
  settings.facts.tmpdir = options.jobs_directory.empty()
                              ? options.directory
                              : options.jobs_directory;
  if (options.jobs_fd >= 0) settings.directory = DuplicateFd(options.jobs_fd);
  settings.directory_is_users = options.jobs_directory_is_users;
  settings.on_scarce = [this](const std::string& nspace) {
    local.CloseMailboxes(nspace);
  };
  settings.amend = [this](const std::string& nspace,
                          shm::SegmentContents* contents) {
    const HostedJob* job = jobs.Find(nspace);
    if (job != nullptr && job->told != nullptr) {
      AddRegistered(*job->told, contents);
    }
  };
  settings.log = options.log;
  return settings;
}

local::LocalOptions LibraryServer::Parts::LocalSettings() {
  local::LocalOptions settings;
  settings.environment.self = kSelf;
  settings.environment.socket_path = options.directory + kSocketName;
  // Processes of other users connect too; each proves its identity.
  settings.socket_mode = 0666;
  settings.environment.runtime_dir = options.directory;
  settings.environment.system_tmpdir = options.system_tmpdir;
  settings.server = options.self;
  settings.host_decides_fences = true;
  settings.segment =
      [this](const std::string& nspace) -> std::optional<local::SegmentRef> {
    auto segment = datastore.Find(nspace);
    if (!segment) return std::nullopt;
    return local::SegmentRef{segment->fd, segment->size,
                             std::move(segment->owner)};
  };
  settings.holds = [this](const ProcId& proc) { return datastore.Holds(proc); };
  settings.tools = tools;
  settings.ask = AskHost();
  settings.serves_job_owners = true;
  settings.accept = AcceptByHost();
  settings.log = options.log;
  return settings;
}

openpmix::OpenPmixOptions LibraryServer::Parts::OpenPmixSettings() {
  openpmix::OpenPmixOptions settings;
  settings.self = kSelf;
  settings.server = options.self;
  settings.host = options.node_names.front();
  settings.tool_files = options.tool_files;
  settings.tool_socket = options.directory + kSocketName;
  settings.tools = tools;
  settings.ask = AskHost();
  settings.serves_job_owners = true;
  settings.accept = AcceptByHost();
  settings.host_logs = true;
  settings.job_data = [this](const std::string& nspace) {
    return datastore.FindReader(nspace);
  };
  settings.make_directory = [this](const ProcId& proc) {
    datastore.MakeRankDirectory(proc);
  };
  settings.log = options.log;
  return settings;
}

facts::FactsOptions LibraryServer::Parts::FactsSettings() {
  facts::FactsOptions settings;
  settings.server = options.self;
  settings.host = options.node_names.front();
  settings.uri = [this] { return openpmix.uri(); };
  settings.job_data = [this](const std::string& nspace) {
    return datastore.FindReader(nspace);
  };
  settings.make_directory = [this](const ProcId& proc) {
    datastore.MakeRankDirectory(proc);
  };
  return settings;
}

// Starts the core. All other members are children of the host; this server has
// no children.
void LibraryServer::Parts::StartCore() {
  core::CoreConfig config;
  config.self = kSelf;
  config.node_names.resize(kMaxMembers);
  config.node_names[kHost] = "host";
  config.node_names[kSelf] = options.node_names.front();
  config.radix = kMaxMembers;
  config.host_is_root = true;
  config.server_nspace = options.self.nspace;
  RuntimePorts ports;
  ports.overlay = &overlay;
  ports.datastore = &datastore;
  ports.process = &processes;
  ports.host = &host;
  ports.facts = &facts;
  ports.jobs = &no_jobs;
  ports.clients = {{ClientKind::kLocal, &watched_local},
                   {ClientKind::kOpenPmix, &watched_openpmix}};
  ports.log = options.log;
  ports.end = [](const std::string&) {};
  runtime.Start(std::move(config), std::move(ports));
}

void LibraryServer::Parts::FromHost(core::MessageBody body) {
  runtime.OnInput(
      core::PeerArrived{core::PeerMessage{kHost, kSelf, std::move(body)}});
}

// Registers a job. The first client determines the user of its processes.
int LibraryServer::Parts::Register(registration::Registration told) {
  const std::string nspace = told.job.nspace;
  const bool no_data = told.no_data;
  const Status added = jobs.AddJob(std::move(told));
  if (!added.ok()) return added.code();
  const HostedJob& job = *jobs.Find(nspace);
  const bool no_processes = job.told->self_node == kNoNode;
  if (no_data || (job.clients.empty() && !no_processes)) return kSuccess;
  return Begin(nspace).code();
}

void LibraryServer::Parts::CallHost(core::AskHost ask, HostCalls::Done done) {
  ask.source = options.self;
  ask.uid = core::kAgentsUser;
  if (ask.op != HostOp::kPushInput) {
    const int status = own_calls.Call(ask, done);
    if (status != kSuccess) done(status, "");
    return;
  }
  const core::RequestId number = next_push++;
  own_pushes[number] = std::move(done);
  core::HostCallArrived push;
  push.request = number;
  push.op = ask.op;
  push.targets = std::move(ask.targets);
  push.call = std::move(ask.call);
  own_requests.PushInput({options.self, geteuid(), getegid()}, push);
}

void LibraryServer::Parts::Log(const std::string& nspace,
                               const Status& status) const {
  if (status.ok() || !options.log) return;
  options.log({core::LogLine::Level::kError, nspace + ": " + status.message()});
}

Status LibraryServer::Parts::Begin(const std::string& nspace) {
  const Status made = jobs.MakeSpec(nspace);
  Log(nspace, made);
  if (!made.ok()) return made;
  const HostedJob& job = *jobs.Find(nspace);
  core::JobPrepare prepare;
  prepare.spec = Bytes(EncodeJobSpec(*job.spec));
  prepare.controller = kHost;
  FromHost(std::move(prepare));
  runtime.Drain();
  core::JobStart start;
  start.nspace = nspace;
  FromHost(std::move(start));
  runtime.Drain();
  for (const core::PublishRank& keys : KeysOfProcesses(*job.told)) {
    (void)datastore.Publish(keys);
  }
  for (const auto& [rank, client] : job.clients) Expect({nspace, rank});
  SetEnvironments(*job.spec);
  overlay.OnCommit();
  return Status();
}

// Adds a client. A job that was added to the core before its first client
// belongs to this server's user; if its clients belong to another user, it is
// added again.
int LibraryServer::Parts::Add(const ProcId& proc, uid_t uid, gid_t gid,
                              void* object) {
  jobs.AddClient(proc, uid, gid, object);
  const HostedJob& job = *jobs.Find(proc.nspace);
  if (job.told == nullptr || job.told->no_data) return kSuccess;
  const bool is_first = job.clients.size() == 1;
  if (job.spec != nullptr && is_first && job.spec->uid != uid) {
    Withdraw(proc.nspace);
    return Begin(proc.nspace).code();
  }
  if (job.spec == nullptr) return Begin(proc.nspace).code();
  Expect(proc);
  return kSuccess;
}

// Expects the process among the descendants of the host, because a host does
// not register pids.
void LibraryServer::Parts::Expect(const ProcId& proc) {
  local.OnProcess(proc.nspace, proc.rank, getpid());
  openpmix.OnProcess(proc.nspace, proc.rank, getpid());
}

// Removes the job from the core. Notifications about the end of its processes
// have no receiver.
void LibraryServer::Parts::Withdraw(const std::string& nspace) {
  core::JobKill kill;
  kill.nspace = nspace;
  FromHost(std::move(kill));
  processes.End(nspace);
  core::JobForget forget;
  forget.nspace = nspace;
  FromHost(std::move(forget));
  runtime.Drain();
}

void LibraryServer::Parts::Deregister(const std::string& nspace) {
  const HostedJob* job = jobs.Find(nspace);
  if (job == nullptr) return;
  if (job->spec != nullptr) Withdraw(nspace);
  cleanups.DropJob(nspace);
  output.DropJob(nspace);
  outside.DropJob(nspace);
  jobs.RemoveJob(nspace);
  Environments::OfProcess().Drop(nspace);
  overlay.DropJob(nspace);
}

void LibraryServer::Parts::SetEnvironments(const JobSpec& spec) {
  core::PrepareLocal job;
  job.job = std::make_shared<const JobSpec>(spec);
  job.layout = std::make_shared<const JobLayout>(spec);
  Environments& all = Environments::OfProcess();
  all.SetJob(spec.nspace, Joined(local.ForJob(job), openpmix.ForJob(job)));
  for (const Rank rank : job.layout->ranks_of_agent(kSelf)) {
    all.SetRank({spec.nspace, rank},
                Joined(local.ForRank(job, rank), openpmix.ForRank(job, rank)));
  }
}

// -------------------------------------------------------------- its thread ---

LibraryServer::LibraryServer(LibraryServerOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

Result<std::unique_ptr<LibraryServer>> LibraryServer::Start(
    LibraryServerOptions options) {
  std::unique_ptr<LibraryServer> server(new LibraryServer(std::move(options)));
  Parts& parts = *server->parts_;
  Upcalls::OfProcess().Open(&parts.loop);
  const Status listening = server->Listen();
  if (!listening.ok()) return listening;
  parts.StartCore();
  Result<std::thread> thread = StartServing([&parts] { parts.loop.Run(); });
  if (!thread.ok()) return thread.status();
  server->thread_ = *std::move(thread);
  return server;
}

Status LibraryServer::Listen() {
  const Status status = parts_->local.Start();
  return status.ok() ? parts_->openpmix.Start() : status;
}

LibraryServer::~LibraryServer() {
  Upcalls::OfProcess().Close();
  parts_->loop.Stop();
  if (thread_.joinable()) thread_.join();
  Environments::OfProcess().Clear();
}

const LibraryServerOptions& LibraryServer::options() const {
  return parts_->options;
}

void LibraryServer::Log(const std::string& nspace, const Status& status) const {
  parts_->Log(nspace, status);
}

bool LibraryServer::InThread() const {
  return std::this_thread::get_id() == thread_.get_id();
}

void LibraryServer::Run(std::function<void()> work) {
  parts_->loop.Post(std::move(work));
}

void LibraryServer::RunAndWait(const std::function<void()>& work) {
  if (InThread()) return work();
  std::promise<void> done;
  parts_->loop.Post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

// ------------------------------------------------- requests of the host ---

void LibraryServer::RegisterJob(registration::Registration told, Done done) {
  Run([this,
       told = std::make_shared<registration::Registration>(std::move(told)),
       done = std::move(done)] { done(parts_->Register(std::move(*told))); });
}

void LibraryServer::DeregisterJob(const std::string& nspace, Done done) {
  Run([this, nspace, done = std::move(done)] {
    parts_->Deregister(nspace);
    done(kSuccess);
  });
}

void LibraryServer::RegisterClient(const ProcId& proc, uid_t uid, gid_t gid,
                                   void* object, Done done) {
  Run([this, proc, uid, gid, object, done = std::move(done)] {
    done(parts_->Add(proc, uid, gid, object));
  });
}

void LibraryServer::DeregisterClient(const ProcId& proc, Done done) {
  Run([this, proc, done = std::move(done)] {
    for (const core::ClientId client : parts_->gate.ClientsOf(proc)) {
      parts_->local.Close(client, "the host does not know it any more");
      parts_->openpmix.Close(client, "the host does not know it any more");
    }
    parts_->cleanups.OnEnd(proc);
    parts_->jobs.RemoveClient(proc);
    done(kSuccess);
  });
}

void LibraryServer::Prepare(const std::string& nspace) {
  RunAndWait([&] {
    const HostedJob* job = parts_->jobs.Find(nspace);
    if (job != nullptr && job->spec == nullptr) (void)parts_->Begin(nspace);
  });
}

void LibraryServer::GetCommitted(const ProcId& proc, Committed done) {
  Run([this, proc, done = std::move(done)]() mutable {
    parts_->overlay.GetCommitted(proc, std::move(done));
  });
}

void LibraryServer::Notify(core::EventRaised event, Done done) {
  Run([this, event = std::move(event), done = std::move(done)]() mutable {
    parts_->runtime.OnInput(std::move(event));
    done(kSuccess);
  });
}

void LibraryServer::Spawn(Bytes call, Spawned done) {
  Run([this, call = std::move(call), done = std::move(done)] {
    parts_->own_requests.SpawnForHost(parts_->options.self, call, done);
  });
}

void LibraryServer::CallHost(core::AskHost ask, Called done) {
  Run([this, ask = std::move(ask), done = std::move(done)]() mutable {
    parts_->CallHost(std::move(ask), std::move(done));
  });
}

void LibraryServer::DeliverOutput(DeliveredOutput output, Done done) {
  Run([this, output = std::move(output), done = std::move(done)] {
    if (parts_->options.write) parts_->options.write(output);
    done(parts_->output.Deliver(output));
  });
}

void LibraryServer::SetOutputFlow(const ProcId& source, uint16_t channels,
                                  bool stopped, Done done) {
  Run([this, source, channels, stopped, done = std::move(done)] {
    parts_->output.SetFlow(source, channels, stopped);
    done(kSuccess);
  });
}

int LibraryServer::DefineSet(const std::string& name,
                             std::vector<ProcId> members) {
  int status = kSuccess;
  RunAndWait([&] {
    auto event = parts_->sets.Define(name, members);
    status = event.code();
    if (event.ok()) parts_->runtime.OnInput(*std::move(event));
  });
  return status;
}

int LibraryServer::DeleteSet(const std::string& name) {
  int status = kSuccess;
  RunAndWait([&] {
    auto event = parts_->sets.Delete(name);
    status = event.code();
    if (event.ok()) parts_->runtime.OnInput(*std::move(event));
  });
  return status;
}

std::shared_ptr<const registration::Registration> LibraryServer::Told(
    const std::string& nspace) {
  std::shared_ptr<const registration::Registration> told;
  RunAndWait([&] {
    const HostedJob* job = parts_->jobs.Find(nspace);
    if (job != nullptr) told = job->told;
  });
  return told;
}

std::string LibraryServer::uri() const { return parts_->openpmix.uri(); }

}  // namespace canopy::library
