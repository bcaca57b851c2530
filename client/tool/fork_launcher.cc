#include "client/tool/fork_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/bootstrap.h"
#include "client/session/directives.h"
#include "client/session/servers.h"
#include "client/tool/attach.h"
#include "client/tool/initiator.h"
#include "client/tool/launcher_orders.h"
#include "client/tool/rendezvous.h"
#include "common/app_command.h"
#include "common/ids.h"
#include "common/launcher_orders_env.h"
#include "common/posix/private_dir.h"
#include "common/posix/unique_fd.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kDefaultTimeoutMs = 60'000;
constexpr int kPollMs = 10;

// The process to start, and the time to wait for it.
struct Order {
  std::string program;  // a path
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;  // empty: the directory of this process
  std::string exec_agent;
  std::string fork_agent;
  bool outlives = false;
  uint32_t timeout_ms = kDefaultTimeoutMs;
  std::string file;  // written by the launcher
  LauncherOrders orders;
};

// ------------------------------------------------------------- directives ---

// Returns the member for the text of a directive; null for other directives.
std::string* TextIn(std::string_view key, Order* out) {
  if (key == PMIX_WDIR) return &out->directory;
  if (key == PMIX_EXEC_AGENT) return &out->exec_agent;
  if (key == PMIX_FORKEXEC_AGENT) return &out->fork_agent;
  return nullptr;
}

// Returns true for directives about forwarding, which have no effect, because
// the launcher writes to the streams of this process. A tool may request
// forwarding nevertheless.
bool ConcernsForwarding(std::string_view key) {
  return key.starts_with("pmix.fwd.") || key.starts_with("pmix.iof.");
}

bool AsksForNothing(const pmix_info_t& info) {
  return info.value.type == PMIX_BOOL && !info.value.data.flag;
}

int ReadDirective(const pmix_info_t& info, Order* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_TIMEOUT || key == PMIX_SPAWN_TIMEOUT) {
    uint32_t timeout_ms = 0;
    const int rc = TimeoutOf(info, &timeout_ms);
    if (rc == PMIX_SUCCESS && timeout_ms > 0) out->timeout_ms = timeout_ms;
    return rc;
  }
  if (key == PMIX_SPAWN_TOOL) return PMIX_SUCCESS;
  if (key == PMIX_NOHUP) {
    out->outlives = IsTrue(info);
    return PMIX_SUCCESS;
  }
  if (key == PMIX_LAUNCH_DIRECTIVES && !InfosOf(info.value)) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (key == PMIX_DEBUG_STOP_IN_INIT || key == PMIX_LAUNCH_DIRECTIVES) {
    out->orders.job_data.Append(info);
    return PMIX_SUCCESS;
  }
  if (ConcernsForwarding(key)) {
    return AsksForNothing(info) || !IsRequired(info) ? PMIX_SUCCESS
                                                     : PMIX_ERR_NOT_SUPPORTED;
  }
  std::string* const to = TextIn(key, out);
  if (to == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const auto text = StringOf(info.value);
  if (!text || text->empty()) return PMIX_ERR_BAD_PARAM;
  *to = *text;
  return PMIX_SUCCESS;
}

int ReadDirectives(const InfoArray& infos, Order* out) {
  for (size_t i = 0; i < infos.size; ++i) {
    const int rc = ReadDirective(infos.infos[i], out);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

// Adds an entry, in place of an entry with the same name.
void SetEntry(std::string entry, std::vector<std::string>* env) {
  const std::string name = entry.substr(0, entry.find('=') + 1);
  std::erase_if(*env, [&](const std::string& one) {
    return !name.empty() && one.starts_with(name);
  });
  env->push_back(std::move(entry));
}

std::string ValueIn(const std::vector<std::string>& env,
                    const std::string& name) {
  for (const std::string& entry : env) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

std::vector<std::string> TextsOf(char* const* texts) {
  std::vector<std::string> out;
  for (; texts != nullptr && *texts != nullptr; ++texts) {
    out.emplace_back(*texts);
  }
  return out;
}

// Finds a program as a shell does, and after that in the launcher's working
// directory, as OpenPMIx does. Returns "" if there is none.
std::string FindProgram(const std::string& name, const std::string& path,
                        const std::string& directory) {
  if (name.find('/') != std::string::npos) return name;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string found = path.substr(at, end - at) + "/" + name;
    if (access(found.c_str(), X_OK) == 0) return found;
    at = end + 1;
  }
  const std::string here = (directory.empty() ? "." : directory) + "/" + name;
  return access(here.c_str(), X_OK) == 0 ? "./" + name : "";
}

int ReadOrder(const SpawnRequest& request, Order* out) {
  if (!request.directives.ok() || request.apps.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  const pmix_app_t& app = request.apps[0];
  const InfoArray infos{app.info, app.ninfo};
  AppCommand command = CommandOf(app.cmd, app.argv);
  if (command.program.empty()) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  if (!infos.ok()) return PMIX_ERR_BAD_PARAM;
  if (request.apps.size() > 1 || app.maxprocs > 1) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  if (app.cwd != nullptr) out->directory = app.cwd;
  int rc = ReadDirectives(request.directives, out);
  if (rc == PMIX_SUCCESS) rc = ReadDirectives(infos, out);
  if (rc != PMIX_SUCCESS) return rc;
  out->argv = std::move(command.argv);
  out->env = TextsOf(environ);
  for (std::string& entry : TextsOf(app.env)) {
    SetEntry(std::move(entry), &out->env);
  }
  out->program = std::move(command.program);
  // The fork agent starts the exec agent, which becomes the launcher.
  for (const std::string* agent : {&out->exec_agent, &out->fork_agent}) {
    if (agent->empty()) continue;
    out->argv.insert(out->argv.begin(), *agent);
    out->program = *agent;
  }
  out->program =
      FindProgram(out->program, ValueIn(out->env, "PATH"), out->directory);
  return out->program.empty() ? PMIX_ERR_JOB_EXE_NOT_FOUND : PMIX_SUCCESS;
}

// ---------------------------------------------------------------- process ---

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
    return true;
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) {
    out.push_back(const_cast<char*>(text.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

// Runs in the tool's child, before any exec. Forks again and ends the child, so
// that the launcher becomes an orphan for which the tool need not wait. Writes
// to `failed` only if the second fork, the change of the directory or the exec
// fails.
[[noreturn]] void BecomeLauncher(const Order& order, char* const* argv,
                                 char* const* env, int keepalive, int failed) {
  const pid_t pid = fork();
  if (pid > 0) _exit(0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  fcntl(keepalive, F_SETFD, 0);
  int what[2] = {0, 0};
  if (pid == 0 &&
      (order.directory.empty() || chdir(order.directory.c_str()) == 0)) {
    what[0] = 1;
    execve(order.program.c_str(), argv, env);
  }
  what[1] = errno;
  const ssize_t written = write(failed, what, sizeof what);
  (void)written;
  _exit(127);
}

// Returns PMIX_SUCCESS if the program runs.
int AwaitExec(const Pipe& failed) {
  int what[2] = {0, 0};
  ssize_t size = 0;
  do {
    size = read(failed.reader.get(), what, sizeof what);
  } while (size < 0 && errno == EINTR);
  if (size == 0) return PMIX_SUCCESS;
  if (what[0] == 0) return PMIX_ERR_JOB_WDIR_NOT_FOUND;
  return what[1] == ENOENT ? PMIX_ERR_JOB_EXE_NOT_FOUND
                           : PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
}

int StartProcess(Order* order, Pipe* keepalive) {
  Pipe failed;
  if (!failed.Open() || !keepalive->Open()) return PMIX_ERR_OUT_OF_RESOURCE;
  if (!order->outlives) {
    SetEntry(std::string(kEnvKeepalivePipe) + "=" +
                 std::to_string(keepalive->reader.get()),
             &order->env);
  }
  const std::vector<char*> argv = Pointers(order->argv);
  const std::vector<char*> env = Pointers(order->env);
  const pid_t pid = fork();
  if (pid < 0) return PMIX_ERR_OUT_OF_RESOURCE;
  if (pid == 0) {
    BecomeLauncher(*order, argv.data(), env.data(), keepalive->reader.get(),
                   failed.writer.get());
  }
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  failed.writer = UniqueFd();
  keepalive->reader = UniqueFd();
  return AwaitExec(failed);
}

// ---------------------------------------------------------------- contact ---

bool HasEnded(const Pipe& keepalive) {
  pollfd entry = {keepalive.writer.get(), 0, 0};
  return poll(&entry, 1, kPollMs) > 0;
}

// Waits for the file. A file counts as written when it names a server.
int AwaitFile(const Order& order, const Pipe& keepalive) {
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(order.timeout_ms);
  while (!ReadRendezvousFile(order.file).ok()) {
    if (HasEnded(keepalive)) return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    if (Clock::now() >= deadline) return PMIX_ERR_TIMEOUT;
  }
  return PMIX_SUCCESS;
}

// Returns a directory in which other users cannot replace the launcher's file.
std::string FileBase() {
  std::string base = TemporaryBase();
  return IsOwnDirectory(base) ? base : "/tmp";
}

// A directory for the launcher's file, which is removed with the file.
class FilePlace {
 public:
  FilePlace() : path_(FileBase() + "/canopy-launcher-XXXXXX") {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~FilePlace() {
    if (!made_) return;
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  FilePlace(const FilePlace&) = delete;
  FilePlace& operator=(const FilePlace&) = delete;

  bool made() const { return made_; }
  std::string file() const { return path_ + "/server"; }
  // Returns the part of the name that is unique to this directory.
  std::string mark() const { return path_.substr(path_.size() - 6); }

 private:
  std::string path_;
  bool made_ = false;
};

// Keeps this end of the pipe open until the library is finalised.
void Keep(Session& session, Pipe keepalive) {
  const auto kept = std::make_shared<UniqueFd>(std::move(keepalive.writer));
  (void)session.progress().Watch(kept->get(), [kept] {});
}

// Sets the launcher's orders. The launcher gets a unique name, because agents
// keep events for names that were used before.
int SetOrders(const Session& session, const FilePlace& place, Order* order) {
  LauncherOrders& orders = order->orders;
  orders.name = NameAfterProcess("launcher");
  orders.name.nspace += "." + place.mark();
  orders.job_data.Set(PMIX_PARENT_ID, Value::Proc(session.self()));
  const Result<std::string> text = WriteOrders(orders);
  if (!text.ok()) return text.code();
  SetEntry(std::string(kEnvLauncherOrders) + "=" + *text, &order->env);
  return PMIX_SUCCESS;
}

int AttachTo(Session& session, const Order& order, char* nspace) {
  InfoList infos;
  infos.Add(PMIX_TOOL_ATTACHMENT_FILE, Value::String(order.file));
  pmix_proc_t server = {};
  const int rc =
      AttachToServer(session, infos.data(), infos.size(), nullptr, &server);
  if (rc != PMIX_SUCCESS) return rc;
  session.servers().SetLauncher(order.orders.name, FromC(server));
  const pmix_proc_t launcher = ToC(order.orders.name);
  memcpy(nspace, launcher.nspace, sizeof launcher.nspace);
  return PMIX_SUCCESS;
}

}  // namespace

bool MustForkLauncher(Session& session) {
  return session.servers().is_tool() && session.channel() == nullptr;
}

int ForkLauncher(Session& session, const SpawnRequest& request,
                 pmix_nspace_t nspace) {
  nspace[0] = '\0';
  Order order;
  int rc = ReadOrder(request, &order);
  if (rc != PMIX_SUCCESS) return rc;
  const FilePlace place;
  if (!place.made()) return PMIX_ERR_OUT_OF_RESOURCE;
  order.file = ValueIn(order.env, kEnvRendezvousFile);
  if (order.file.empty()) {
    order.file = place.file();
    SetEntry(std::string(kEnvRendezvousFile) + "=" + order.file, &order.env);
  }
  Pipe keepalive;
  rc = SetOrders(session, place, &order);
  if (rc == PMIX_SUCCESS) rc = StartProcess(&order, &keepalive);
  if (rc == PMIX_SUCCESS) rc = AwaitFile(order, keepalive);
  if (rc == PMIX_SUCCESS) rc = AttachTo(session, order, nspace);
  if (rc == PMIX_SUCCESS) Keep(session, std::move(keepalive));
  return rc;
}

}  // namespace canopy::client
