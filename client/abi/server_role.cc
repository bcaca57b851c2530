#include "client/abi/server_role.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/abi/server_data.h"
#include "client/abi/server_directory.h"
#include "client/abi/server_log.h"
#include "client/abi/server_options.h"
#include "client/events/event.h"
#include "client/session/bootstrap.h"
#include "client/session/event_op.h"
#include "client/session/lifecycle.h"
#include "client/session/pulled_output.h"
#include "client/tool/initiator.h"
#include "client/tool/tool.h"
#include "common/bytes.h"
#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "server/core/step/host.h"
#include "server/library/host_module.h"

namespace canopy::client {
namespace {

using library::LibraryServer;

struct Running {
  ServerDirectory directory;
  std::unique_ptr<LibraryServer> server;
};

// Plain data that a forked child can reset; never destroyed.
struct Role {
  std::atomic<LibraryServer*> server{nullptr};
  std::atomic<int> calls{0};  // calls that may use the server
  Mutex* mu = new Mutex;
  int references CANOPY_GUARDED_BY(mu) = 0;
  bool of_tool CANOPY_GUARDED_BY(mu) = false;  // the tool's end ends the server
  bool offered CANOPY_GUARDED_BY(mu) = false;  // started for OfferAddress
  // Leaked in a child after fork, because the server's thread does not exist
  // there.
  Running* running CANOPY_GUARDED_BY(mu) = nullptr;
};
Role g_role;

// See AfterForkInChild in client/session/lifecycle.cc.
void AfterForkInChild() CANOPY_NO_THREAD_SAFETY_ANALYSIS {
  g_role.server = nullptr;
  g_role.calls = 0;
  g_role.references = 0;
  g_role.of_tool = false;
  g_role.offered = false;
  g_role.running = nullptr;
  g_role.mu = new Mutex;
}

void WatchForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, AfterForkInChild);
  (void)registered;
}

// Returns true if a parameter of OpenPMIx requires that the host be called for
// every fence. By default, as with OpenPMIx, the host is not called for a fence
// among processes of this node alone.
bool HostHasAllFences() {
  const char* value = std::getenv("PMIX_MCA_pmix_server_fence_localonly_opt");
  if (value == nullptr) return false;
  const std::string_view text = value;
  return text == "0" || text == "false" || text == "no";
}

// Logs to the file that CANOPY_SERVER_LOG names, because hosts may have no
// standard error.
void Log(const core::LogLine& line) {
  const char* path = std::getenv("CANOPY_SERVER_LOG");
  if (path != nullptr) AppendToServerLog(path, line.text);
}

void RaiseHere(library::HostEvent event) {
  InfoList infos;
  const ApiCall call;
  if (!call || !DecodeInfos(event.info.view(), &infos)) return;
  call.session().events().Raise(MakeEvent(event.status, std::move(event.source),
                                          event.range, std::move(infos)));
}

// Writes to this process's standard streams on the thread for callbacks,
// because a write may block until it is read.
std::function<void(const library::DeliveredOutput&)> WriteHere() {
  PulledOutputOptions as_it_comes;
  as_it_comes.format.raw = true;
  auto writer = std::make_shared<PulledOutput>(as_it_comes, nullptr);
  return [writer](const library::DeliveredOutput& output) {
    const ApiCall call;
    if (!call || output.data.empty()) return;
    call.session().progress().Post([writer, output] {
      writer->Add(output.source, output.channels, output.data.view());
    });
  };
}

// Delivers a notification of this process to the processes that its server
// serves.
int Distribute(const Notification& event, pmix_op_cbfunc_t cbfunc,
               void* cbdata) {
  const ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  std::string infos;
  const int rc = EncodeInfos(event.info, event.ninfo, &infos);
  if (rc != PMIX_SUCCESS) return rc;
  core::EventRaised raised;
  raised.status = event.status;
  if (event.source != nullptr) raised.source = FromC(*event.source);
  raised.range = event.range;
  for (size_t i = 0; i < event.ninfo; ++i) {
    if (KeyOf(event.info[i]) != PMIX_EVENT_CUSTOM_RANGE) continue;
    raised.targets = ProcsOfInfo(event.info[i]);
  }
  raised.info = Bytes(std::move(infos));
  server->Notify(std::move(raised), [cbfunc, cbdata](int status) {
    if (cbfunc != nullptr) cbfunc(status, cbdata);
  });
  return PMIX_SUCCESS;
}

// Calls `done` in its destructor if it was not called before, because the
// server has ended before the host has answered.
class Answerer {
 public:
  using Done = std::function<void(int status, const std::string& results)>;
  explicit Answerer(Done done) : done_(std::move(done)) {}
  ~Answerer() {
    if (done_) done_(PMIX_ERR_LOST_CONNECTION, "");
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  void Answer(int status, const std::string& results) {
    if (const Done done = std::exchange(done_, nullptr)) done(status, results);
  }

 private:
  Done done_;
};

// Makes `done` run exactly once, even if the server ends first.
Answerer::Done Always(Answerer::Done done) {
  const auto answerer = std::make_shared<Answerer>(std::move(done));
  return [answerer](int status, const std::string& results) {
    answerer->Answer(status, results);
  };
}

int Spawn(std::string call, bool waits, Session::Spawned done) {
  const ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (waits && server->InThread()) return PMIX_ERR_WOULD_BLOCK;
  server->Spawn(Bytes(std::move(call)), Always(std::move(done)));
  return PMIX_SUCCESS;
}

int CallHost(HostOp op, std::vector<ProcId> targets, std::string call,
             bool waits, Session::HostAnswer done) {
  const ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (waits && server->InThread()) return PMIX_ERR_WOULD_BLOCK;
  core::AskHost ask;
  ask.op = op;
  ask.targets = std::move(targets);
  ask.call = Bytes(std::move(call));
  server->CallHost(std::move(ask), Always(std::move(done)));
  return PMIX_SUCCESS;
}

std::string AddressOfServer() {
  const ServerCall server;
  return server ? server->uri() : "";
}

Result<std::unique_ptr<Running>> Start(const pmix_server_module_t* module,
                                       size_t entries,
                                       const ServerDirectives& directives) {
  Result<ServerDirectory> directory =
      ServerDirectory::Make(directives.tmpdir, directives.tools);
  if (!directory.ok()) return directory.status();
  library::LibraryServerOptions options;
  options.self = directives.self;
  options.module = library::CopyModule(module, entries);
  options.directory = directory->path();
  options.jobs_directory = directory->jobs_path();
  options.jobs_fd = directory->jobs_fd();
  options.jobs_directory_is_users = directory->jobs_are_users();
  options.system_tmpdir = directives.system_tmpdir;
  options.node_names = directives.node_names;
  options.node_id = directives.node_id;
  options.tools = directives.tools;
  options.host_has_all_fences = HostHasAllFences();
  if (directives.tools) {
    options.tool_files.own_directory = options.directory;
    if (directory->jobs_are_users()) {
      options.tool_files.users_directory = options.jobs_directory;
    }
  }
  if (directives.system) {
    options.tool_files.system_directory = directives.system_tmpdir;
  }
  options.tool_files.launcher_file = directives.rendezvous_file;
  options.tool_files.for_all_users = !directives.of_one_user;
  options.raise = RaiseHere;
  if (directives.local_output) options.write = WriteHere();
  options.log = Log;
  auto server = LibraryServer::Start(std::move(options));
  if (!server.ok()) return server.status();
  return std::make_unique<Running>(
      Running{*std::move(directory), *std::move(server)});
}

void Open(std::unique_ptr<Running> running) CANOPY_REQUIRES(g_role.mu) {
  ServerData::Of().Open();
  g_role.running = running.release();
  g_role.server = g_role.running->server.get();
}

void LogIgnored(std::string_view function, std::string_view key) {
  Log({core::LogLine::Level::kInfo, "the directive " + std::string(key) +
                                        " of " + std::string(function) +
                                        " is ignored"});
}

int InitFirst(const pmix_server_module_t* module, const pmix_info_t* info,
              size_t ninfo) CANOPY_REQUIRES(g_role.mu) {
  support::IgnoredDirectives::OfProcess().SetReport(LogIgnored);
  const Result<ServerDirectives> directives = ReadServerDirectives(info, ninfo);
  if (!directives.ok()) return directives.code();
  const Result<size_t> entries = library::NumEntries({info, ninfo}, module);
  if (!entries.ok()) return entries.code();
  auto running = Start(module, *entries, *directives);
  if (!running.ok()) {
    Log({core::LogLine::Level::kError, running.status().message()});
    return running.code();
  }
  InitServerSession(directives->self,
                    {Distribute, Spawn, CallHost, AddressOfServer});
  Open(*std::move(running));
  return PMIX_SUCCESS;
}

// Waits until no call can use the server, whose thread is stopped after that.
void WaitForCalls() {
  while (g_role.calls.load(std::memory_order_seq_cst) > 0) sched_yield();
}

void Stop() CANOPY_REQUIRES(g_role.mu) {
  g_role.server = nullptr;
  WaitForCalls();
  ServerData::Of().Close();
  delete std::exchange(g_role.running, nullptr);
  const ApiCall call;
  if (call) call.session().set_own_server({});
}

// Returns true on the server's thread, which must not wait for its own end.
bool IsServersThread() {
  const ServerCall server;
  return server && server->InThread();
}

// Stops the server if it belongs to the tool. Returns false on the server's
// thread, which would wait for itself.
bool StopServingByTool() {
  if (IsServersThread()) return false;
  const MutexLock lock(*g_role.mu);
  g_role.offered = false;
  if (std::exchange(g_role.of_tool, false)) Stop();
  return true;
}

int ServeAs(Session& session, const pmix_server_module_t* module,
            ServerDirectives directives) CANOPY_REQUIRES(g_role.mu) {
  const Result<size_t> entries = library::NumEntries({}, module);
  if (!entries.ok()) return entries.code();
  directives.self = session.self();
  const canopy_server_module_t copy = library::CopyModule(module, *entries);
  directives.tools = copy.tool_connected || copy.tool_connected2;
  auto running = Start(module, *entries, directives);
  if (!running.ok()) return running.code();
  Open(*std::move(running));
  g_role.of_tool = true;
  // Functions for spawns and host calls are not set, so these requests go to
  // the server to which the tool is connected. If it never had a server, a
  // spawn starts a launcher.
  session.set_own_server({Distribute, {}, {}, AddressOfServer});
  SetToolEnd(StopServingByTool);
  return PMIX_SUCCESS;
}

// Accepts the tools that may connect to a launcher: the tools of its own user.
// A tool that has a name keeps it; any other tool gets a unique name.
void AcceptTool(pmix_info_t* info, size_t ninfo,
                pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
  static std::atomic<uint32_t> number{0};
  const std::span<const pmix_info_t> infos(info, ninfo);
  const pmix_info_t* user = FindInfo(infos, PMIX_USERID);
  if (user == nullptr || Uint64Of(user->value) != geteuid()) {
    cbfunc(PMIX_ERR_NO_PERMISSIONS, nullptr, cbdata);
    return;
  }
  ProcId name = NameAfterProcess("guest");
  name.nspace += "." + std::to_string(++number);
  const pmix_info_t* nspace = FindInfo(infos, PMIX_TOOL_NSPACE);
  const pmix_info_t* rank = FindInfo(infos, PMIX_TOOL_RANK);
  if (nspace != nullptr && rank != nullptr) {
    name.nspace = StringOf(nspace->value).value_or("");
    name.rank = static_cast<Rank>(Uint64Of(rank->value).value_or(0));
  }
  pmix_proc_t proc = ToC(name);
  cbfunc(PMIX_SUCCESS, &proc, cbdata);
}

// Returns the address of this launcher, after starting its server if needed.
std::string AddressOfLauncher() {
  const ApiCall call;
  if (!call) return "";
  {
    const MutexLock lock(*g_role.mu);
    Result<ServerDirectives> directives = ReadServerDirectives(nullptr, 0);
    if (g_role.running == nullptr && directives.ok()) {
      pmix_server_module_t module = {};
      module.tool_connected = AcceptTool;
      directives->of_one_user = true;
      g_role.offered =
          ServeAs(call.session(), &module, *directives) == PMIX_SUCCESS;
    }
  }
  return AddressOfServer();
}

// Returns the file in which the tool that started this tool expects this tool's
// address.
std::string TakeRendezvousFile() {
  const char* const file = std::getenv(kEnvRendezvousFile);
  std::string path = file == nullptr ? "" : file;
  unsetenv(kEnvRendezvousFile);
  return path;
}

}  // namespace

ServerCall::ServerCall() {
  g_role.calls.fetch_add(1, std::memory_order_seq_cst);
  server_ = g_role.server.load(std::memory_order_seq_cst);
}

ServerCall::~ServerCall() {
  g_role.calls.fetch_sub(1, std::memory_order_release);
}

int StartOrWait(ServerCall& server, pmix_op_cbfunc_t cbfunc, void* cbdata,
                const std::function<void(LibraryServer::Done)>& start) {
  if (cbfunc != nullptr) {
    start([cbfunc, cbdata](int status) { cbfunc(status, cbdata); });
    return PMIX_SUCCESS;
  }
  if (server->InThread()) {
    start([](int) {});
    return PMIX_SUCCESS;
  }
  std::promise<int> result;
  start([&result](int status) { result.set_value(status); });
  const int status = result.get_future().get();
  return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

int InitServer(const pmix_server_module_t* module, const pmix_info_t* info,
               size_t ninfo) {
  WatchForks();
  const MutexLock lock(*g_role.mu);
  if (g_role.of_tool) return PMIX_ERR_EXISTS;
  if (g_role.references == 0) {
    const int rc = InitFirst(module, info, ninfo);
    if (rc != PMIX_SUCCESS) return rc;
  }
  ++g_role.references;
  return PMIX_SUCCESS;
}

int FinalizeServer() {
  {
    const ServerCall server;
    if (!server) return PMIX_ERR_INIT;
    // The end of the server would wait for this thread.
    if (server->InThread()) return PMIX_ERR_WOULD_BLOCK;
  }
  const MutexLock lock(*g_role.mu);
  if (g_role.running == nullptr || g_role.of_tool) return PMIX_ERR_INIT;
  if (--g_role.references > 0) return PMIX_SUCCESS;
  Stop();
  return FinalizeLibrary(nullptr, 0);
}

int ServeByTool(const pmix_server_module_t* module) {
  WatchForks();
  const ApiCall call;
  if (!call) return PMIX_ERR_INIT;
  if (module == nullptr) return PMIX_ERR_BAD_PARAM;
  Session& session = call.session();
  if (!session.servers().is_tool()) return PMIX_ERR_NOT_SUPPORTED;
  if (IsServersThread()) return PMIX_ERR_EXISTS;
  const MutexLock lock(*g_role.mu);
  if (std::exchange(g_role.offered, false)) Stop();
  if (g_role.running != nullptr) return PMIX_ERR_EXISTS;
  Result<ServerDirectives> directives = ReadServerDirectives(nullptr, 0);
  if (!directives.ok()) return directives.code();
  directives->rendezvous_file = TakeRendezvousFile();
  return ServeAs(session, module, *directives);
}

void OfferAddress() {
  WatchForks();
  const ApiCall call;
  if (!call || !call.session().servers().is_tool()) return;
  const MutexLock lock(*g_role.mu);
  if (g_role.running != nullptr) return;
  call.session().set_own_server({{}, {}, {}, AddressOfLauncher});
}

}  // namespace canopy::client
