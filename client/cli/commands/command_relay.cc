// relay: connects tools of this machine with an agent of another machine.
#include <dirent.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/json.h"
#include "client/cli/base/signals.h"
#include "client/cli/commands/commands.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/control_channel.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/relay/tool_relay.h"
#include "common/event_loop.h"
#include "common/posix/private_dir.h"
#include "common/string_util.h"
#include "protos/relay.grpc.pb.h"

namespace canopy::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kConnectMs = 3000;
constexpr auto kDescribeTimeout = std::chrono::seconds(5);
constexpr int kMaxTries = 16;
constexpr std::string_view kDirectoryPrefix = "relay-";

struct Agent {
  std::unique_ptr<relay::v1::ToolRelay::Stub> stub;
  relay::v1::DescribeReply itself;
  std::string node;
};

Result<Agent> ConnectAgent(const v1::Context& context, int member) {
  const std::string& name = context.members(member).name();
  const ControlTarget target = NetworkTargetOf(context, member);
  if (target.address.empty()) {
    return Status(
        kErrUnreach,
        "agent " + name + " accepts no connections from other machines");
  }
  auto channel = ConnectControlChannel(target, kConnectMs);
  if (!channel.ok()) return channel.status();
  Agent agent;
  agent.stub = relay::v1::ToolRelay::NewStub(*channel);
  agent.node = name;
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kDescribeTimeout);
  const Status status = FromGrpc(
      agent.stub->Describe(&call, relay::v1::DescribeRequest(), &agent.itself));
  if (!status.ok()) return status;
  return agent;
}

// Returns the agent of the node named `node`; if `node` is empty, the first
// agent that answers.
Result<Agent> FindAgent(const v1::Context& context, const std::string& node) {
  std::optional<Status> first;
  int tried = 0;
  for (int i = 0; i < context.members_size() && tried < kMaxTries; ++i) {
    if (!node.empty() && context.members(i).name() != node) continue;
    ++tried;
    Result<Agent> agent = ConnectAgent(context, i);
    if (agent.ok()) return agent;
    if (!first) first = agent.status();
  }
  if (first) return *first;
  return Status(kErrNotFound,
                "context '" + context.name() + "' has no node '" + node + "'");
}

// Removes the directories of relays that were killed, because their contents
// would mislead tools.
void RemoveLeftovers(const std::string& base) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(base, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kDirectoryPrefix)) continue;
    const auto pid =
        ParseNumber(name.substr(kDirectoryPrefix.size()), INT32_MAX);
    if (!pid || *pid == 0) continue;
    if (kill(static_cast<pid_t>(*pid), 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

// A private directory in which tools look for servers. It is removed at the end
// if it is empty.
class Directory {
 public:
  static Result<Directory> Make() {
    Directory made;
    made.base_ = UserRuntimeDir();
    Status status = MakePrivateDir(made.base_);
    if (!status.ok()) return status;
    RemoveLeftovers(made.base_);
    made.path_ = made.base_ + "/" + std::string(kDirectoryPrefix) +
                 std::to_string(getpid());
    status = MakePrivateDir(made.path_);
    if (!status.ok()) return status;
    return made;
  }
  Directory(Directory&& other) noexcept
      : base_(std::exchange(other.base_, {})),
        path_(std::exchange(other.path_, {})) {}
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    if (path_.empty()) return;
    rmdir(path_.c_str());
    rmdir(base_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  Directory() = default;

  std::string base_;
  std::string path_;
};

std::string TextOf(const std::string& node, const ToolRelay& relay) {
  return "agent of " + node +
         ": tools of this machine find it, or by one of\n  file " +
         relay.file() + "\n  uri  " + relay.uri() + "\n";
}

Json JsonOf(const std::string& node, const ToolRelay& relay) {
  Json out;
  out["node"] = node;
  out["file"] = relay.file();
  out["uri"] = relay.uri();
  return out;
}

// Returns a function that prints lines and omits immediate repetitions.
std::function<void(const std::string&)> Reporter() {
  return [last = std::string()](const std::string& line) mutable {
    if (line != last) PrintError(line);
    last = line;
  };
}

int Serve(Agent agent, SignalSource* signals, bool json) {
  Result<Directory> directory = Directory::Make();
  if (!directory.ok()) return Fail(directory.status());
  ToolRelayOptions options;
  options.directory = directory->path();
  options.report = Reporter();
  EventLoop loop;
  ToolRelay relay(&loop, std::move(agent.stub), std::move(options));
  const Status status = relay.Start(agent.itself);
  if (!status.ok()) return Fail(status);
  const std::string answer = json ? DocumentText(JsonOf(agent.node, relay))
                                  : TextOf(agent.node, relay);
  if (PrintText(answer) != 0) return kExitFailure;
  loop.Watch(signals->fd(), EPOLLIN, [&](uint32_t) {
    while (const std::optional<int> signal = signals->Take()) {
      if (IsEndSignal(*signal)) loop.Stop();
    }
  });
  loop.Run();
  loop.Unwatch(signals->fd());
  return 0;
}

}  // namespace

int RelayCommand(const CommandLine& line) {
  std::string node;
  const CommandInfo info = {
      "relay",
      "[options]",
      "Lets this user's tools on this machine use an agent on another one.\n"
      "Runs until interrupted. Tools connect to the relay as to an agent; it\n"
      "forwards their traffic over TLS with the credentials of the overlay,\n"
      "and the agent serves them as the user of the overlay.\n",
      {{"node", 1, "NAME",
        "node of the agent (default: the first that answers)", SetText(&node)}},
      0,
      0};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  SignalSource signals;
  Result<v1::Context> context = NeedContext(shared.context);
  if (!context.ok()) return Fail(context.status());
  Result<Agent> agent = FindAgent(*context, node);
  if (!agent.ok()) return Fail(agent.status());
  return Serve(*std::move(agent), &signals, shared.json);
}

}  // namespace canopy::cli
