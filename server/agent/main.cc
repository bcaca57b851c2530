// canopyd, the node agent.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "common/status.h"
#include "common/version.h"
#include "server/agent/agent.h"
#include "server/agent/bring_up/bootstrap_channel.h"
#include "server/agent/bring_up/log.h"
#include "server/agent/bring_up/service_manager.h"
#include "server/agent/cluster_service.h"
#include "server/agent/membership/cluster_start.h"
#include "server/agent/persistence/agent_state.h"

namespace canopy::agent {
namespace {

// An agent may run for a long time, so its log is limited to the current file
// and one older file.
constexpr size_t kMaxLogBytes = 16 << 20;
constexpr size_t kOldLogs = 1;
// The time, in milliseconds, for which a restarted agent waits for the end of
// its predecessor. It is less than the time after which an agent closes a
// connection that sends nothing.
constexpr int kGoneMs = 3000;

constexpr char kUsage[] =
    "usage: canopyd --bootstrap\n"
    "       canopyd --restart DIR\n"
    "       canopyd --cluster FILE [--node NAME]\n"
    "       canopyd --check-config FILE [--node NAME]\n"
    "\n"
    "The node agent of Canopy. 'canopy run' and 'canopy up' start it and\n"
    "send its configuration over standard input. --restart replaces an agent\n"
    "of this node that has ended, and continues its jobs; DIR is the\n"
    "directory of that agent.\n"
    "\n"
    "--cluster runs the agent of this node in the foreground. The agents of "
    "the\n"
    "nodes in FILE find each other, in any order of start. The node is NAME, "
    "or\n"
    "that with the name of this machine. If an agent of the node was killed, "
    "its\n"
    "jobs continue. SIGHUP adds the nodes that were added to FILE, or lets an\n"
    "agent that has no place yet ask the DNS again. After SIGTERM the agent\n"
    "leaves its jobs to the next one, if FILE has a restart-grace.\n"
    "\n"
    "--check-config reports what is wrong with FILE, and starts nothing.\n";

// Sets up the signals. The loop reads termination signals, and in a cluster
// SIGHUP, from a descriptor. Threads that are created later inherit the mask.
void SetSignals(const bootstrap::v1::Config& config) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (config.cluster_file().empty()) {
    signal(SIGHUP, SIG_IGN);
  } else {
    sigaddset(&set, SIGHUP);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // With SIGXFSZ ignored, a write beyond the limit of a file's size returns an
  // error, as on a full disk.
  signal(SIGXFSZ, SIG_IGN);
}

// Leaves the launcher's session. The parent process waits until the agent is
// ready or has failed, and exits with the corresponding code. So the connection
// that was used for the bootstrap ends when the parent process exits.
int Detach(int* report_fd) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return -1;
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    close(fds[0]);
    setsid();
    *report_fd = fds[1];
    return 0;
  }
  close(fds[1]);
  char up = 0;
  _exit(read(fds[0], &up, 1) == 1 ? 0 : 1);
}

void CloseStandardStreams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  close(null);
}

// Prevents core dumps of this process, and access of other processes of its
// user to its memory, because the memory contains the cluster key. Programs
// that it executes are not affected. With the log level "debug", a debugger can
// attach to the agent.
void ProtectMemory(const bootstrap::v1::Config& config) {
  if (config.log_level() != "debug") prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Logs to standard error, because standard output belongs to the bootstrap.
void SetLogging(const bootstrap::v1::Config& config) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("stderr"));
  SetLogPattern(config.node_name());
  spdlog::set_level(config.log_level().empty()
                        ? spdlog::level::warn
                        : spdlog::level::from_str(config.log_level()));
}

void LogToFile(const std::string& path) {
  auto logger =
      spdlog::rotating_logger_mt("file", path, kMaxLogBytes, kOldLogs);
  logger->flush_on(spdlog::level::info);
  logger->set_level(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

// The messages of a service go to its manager too.
void AlsoLogToFile(const std::string& path, const std::string& node) {
  spdlog::default_logger()->sinks().push_back(
      std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kMaxLogBytes,
                                                             kOldLogs));
  SetLogPattern(node);
  spdlog::flush_on(spdlog::level::info);
}

// Removes the log of an agent that ends in order, because only the log of a
// killed agent is needed.
void RemoveLogs(const std::string& directory) {
  for (const char* name : {"/agent.log", "/agent.1.log"}) {
    unlink((directory + name).c_str());
  }
}

// Creates an agent, reports it to the launcher and reads the members. Returns
// null if the agent cannot be prepared or the launcher has left.
std::unique_ptr<Agent> MakeMember(BootstrapChannel* channel,
                                  const bootstrap::v1::Config& config,
                                  bootstrap::v1::Members* members,
                                  std::string* directory) {
  auto agent = std::make_unique<Agent>(config);
  bootstrap::v1::Hello hello;
  const Status status = agent->Prepare(hello.mutable_node());
  if (!status.ok()) hello.set_error(status.message());
  *directory = hello.node().runtime_dir();
  const Status sent = channel->Write(hello);
  if (!status.ok() || !sent.ok() || !channel->Read(members).ok()) {
    return nullptr;
  }
  return agent;
}

// Repeats MakeMember while the launcher answers with a new configuration, which
// it does if other members are missing. An agent releases its ports and its
// directory before the next agent is created.
std::unique_ptr<Agent> Assemble(BootstrapChannel* channel,
                                bootstrap::v1::Config* config,
                                bootstrap::v1::Members* members,
                                std::string* directory) {
  std::unique_ptr<Agent> agent =
      MakeMember(channel, *config, members, directory);
  while (agent != nullptr && members->has_config()) {
    *config = members->config();
    agent.reset();
    agent = MakeMember(channel, *config, members, directory);
  }
  return agent;
}

int Serve() {
  BootstrapChannel channel(STDIN_FILENO, STDOUT_FILENO);
  bootstrap::v1::Config config;
  Status status = channel.Read(&config);
  if (!status.ok()) {
    std::fprintf(stderr, "canopyd: %s\n%s", status.message().c_str(), kUsage);
    return 2;
  }
  int report_fd = -1;
  if (config.embedded()) {
    // The call fails if the process leads a session already, as a command of
    // sshd does.
    setsid();
  } else if (Detach(&report_fd) != 0) {
    return 1;
  }
  SetSignals(config);
  ProtectMemory(config);
  SetLogging(config);
  bootstrap::v1::Members members;
  std::string directory;
  std::unique_ptr<Agent> agent =
      Assemble(&channel, &config, &members, &directory);
  if (agent == nullptr) return 1;
  agent->Join(members, &channel, [&] {
    if (!config.embedded()) {
      if (write(report_fd, "u", 1) != 1) spdlog::warn("the launcher is gone");
      close(report_fd);
    }
    LogToFile(directory + "/agent.log");
    if (!config.embedded()) CloseStandardStreams();
  });
  agent->Run();
  RemoveLogs(directory);
  return 0;
}

// Restarts an agent. `in_place` means that this process was the predecessor and
// executes a new program in a handover.
int Restart(const std::string& directory, bool in_place) {
  Result<bootstrap::v1::AgentState> state = LoadState(directory);
  if (!state.ok()) {
    std::fprintf(stderr, "canopyd: %s\n", state.status().message().c_str());
    return 1;
  }
  const std::string log = directory + "/agent.log";
  if (!in_place && IsServed(directory, kGoneMs)) {
    std::fprintf(stderr, "canopyd: an agent is already running in %s\n",
                 directory.c_str());
    return 1;
  }
  int report_fd = -1;
  if (!in_place && Detach(&report_fd) != 0) return 1;
  SetSignals(state->config());
  ProtectMemory(state->config());
  SetLogging(state->config());
  const bool is_service = !state->config().cluster_file().empty();
  if (in_place && !is_service) LogToFile(log);
  if (in_place && is_service) AlsoLogToFile(log, state->config().node_name());
  Agent agent(state->config(), /*restarted=*/true);
  bootstrap::v1::NodeInfo info;
  const Status status = agent.Prepare(&info);
  if (!status.ok()) {
    spdlog::error("{}", status.message());
    return 1;
  }
  agent.Join(state->members(), nullptr, [&] {
    if (!in_place) LogToFile(log);
    if (in_place) return;
    if (write(report_fd, "u", 1) != 1) spdlog::warn("the launcher is gone");
    close(report_fd);
    CloseStandardStreams();
  });
  agent.Run();
  RemoveLogs(directory);
  return 0;
}

// Executes this program again, because the process has threads now. Returns if
// that fails; the service manager then starts the agent again.
void ServeClusterAnew(const std::string& path, const std::string& node) {
  execl("/proc/self/exe", "canopyd", "--cluster", path.c_str(), "--node",
        node.c_str(), nullptr);
}

int PrintCheck(const std::string& path, const std::string& name) {
  const Result<std::string> found = CheckClusterFile(path, name);
  if (found.ok()) return std::printf("%s\n", found->c_str()) < 0 ? 1 : 0;
  std::fprintf(stderr, "canopyd: %s\n", found.status().message().c_str());
  return 1;
}

// Runs an agent that no launcher has started, in the foreground.
int ServeCluster(const std::string& path, const std::string& name) {
  Result<std::optional<ClusterStart>> found = FindClusterStart(path, name);
  if (found.ok() && !found->has_value()) return 0;
  Status status = found.status();
  ClusterStart* const start = found.ok() ? &**found : nullptr;
  if (status.ok() && IsServed(start->config.runtime_dir(), kGoneMs)) {
    status = Status(kErrExists, "an agent is already running in " +
                                    start->config.runtime_dir());
  }
  if (!status.ok()) {
    std::fprintf(stderr, "canopyd: %s\n", status.message().c_str());
    return 1;
  }
  SetSignals(start->config);
  ProtectMemory(start->config);
  SetLogging(start->config);
  Agent agent(start->config, start->restarts);
  bootstrap::v1::NodeInfo info;
  status = agent.Prepare(&info);
  if (!status.ok()) {
    spdlog::error("{}", status.message());
    return 1;
  }
  AlsoLogToFile(info.runtime_dir() + "/agent.log", info.name());
  bool searches_again = false;
  if (start->from_dns) {
    agent.EndAloneOnHangup([&searches_again] { searches_again = true; });
  }
  agent.Join(start->members, nullptr,
             [] { ReportState(ServiceState::kReady); });
  agent.Run();
  RemoveLogs(info.runtime_dir());
  if (searches_again) ServeClusterAnew(path, info.name());
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--bootstrap") == 0) {
    return Serve();
  }
  if (argc == 3 && std::strcmp(argv[1], "--restart") == 0) {
    return Restart(argv[2], /*in_place=*/false);
  }
  if (argc == 3 && std::strcmp(argv[1], "--continue") == 0) {
    return Restart(argv[2], /*in_place=*/true);
  }
  if (argc == 3 || (argc == 5 && std::strcmp(argv[3], "--node") == 0)) {
    const char* const node = argc == 5 ? argv[4] : "";
    if (std::strcmp(argv[1], "--cluster") == 0) {
      return ServeCluster(argv[2], node);
    }
    if (std::strcmp(argv[1], "--check-config") == 0) {
      return PrintCheck(argv[2], node);
    }
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("canopyd %s\n", kVersion);
    return 0;
  }
  const bool help = argc == 2 && std::strcmp(argv[1], "--help") == 0;
  std::fputs(kUsage, help ? stdout : stderr);
  return help ? 0 : 2;
}

}  // namespace
}  // namespace canopy::agent

int main(int argc, char** argv) { return canopy::agent::Main(argc, argv); }
