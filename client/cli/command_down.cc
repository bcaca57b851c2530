#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "client/cli/agent_end.h"
#include "client/cli/answers.pb.h"
#include "client/cli/command.h"
#include "client/cli/command_line.h"
#include "client/cli/context_choice.h"
#include "client/cli/context_store.h"
#include "client/cli/context_target.h"
#include "client/cli/files.h"
#include "client/cli/json_text.h"
#include "client/cli/table.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

enum DownOptionId : int { kDownForce, kDownQuiet };

constexpr OptionSpec kOptions[] = {
    {kDownForce, "force f", 0, "",
     "end running jobs too, and kill agents here that do not end"},
    {kDownQuiet, "quiet q", 0, "", "print nothing when all is well"},
};

constexpr char kAbout[] =
    "Ends the agents of an overlay and forgets its context. While jobs run it\n"
    "is refused unless --force is said.\n";

// Agents that the root reaches end within this time; the others are asked by
// themselves and get as much.
constexpr auto kAgentEnd = std::chrono::seconds(5);

// Those that are still there after a while.
std::vector<const LocalAgent*> WaitForEnd(
    const std::vector<const LocalAgent*>& agents) {
  const auto deadline = Clock::now() + kAgentEnd;
  std::vector<const LocalAgent*> left;
  for (const LocalAgent* agent : agents) {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    if (!agent->WaitEnd(static_cast<int>(std::max<int64_t>(rest.count(), 0)))) {
      left.push_back(agent);
    }
  }
  return left;
}

// Asks each member here by itself: for what no root reaches.
bool EndMembersOneByOne(const v1::Context& context, bool force) {
  bool any = false;
  for (int i = 0; i < context.members_size(); ++i) {
    const ControlTarget target = TargetOf(context, i);
    if (!target.address.starts_with("unix:")) continue;
    Result<ControlClient> client = ControlClient::Connect(target, 1000);
    if (client.ok() && client->Shutdown(force).ok()) any = true;
  }
  return any;
}

// True when none of the agents here is left.
bool EndLocalAgents(const v1::Context& context,
                    const std::vector<LocalAgent>& agents, bool force) {
  std::vector<const LocalAgent*> left;
  for (const LocalAgent& agent : agents) left.push_back(&agent);
  left = WaitForEnd(left);
  if (left.empty()) return true;
  (void)EndMembersOneByOne(context, force);
  left = WaitForEnd(left);
  if (!force) return left.empty();
  for (const LocalAgent* agent : left) agent->Kill();
  return WaitForEnd(left).empty();
}

// An agent's log outlives it, and its sockets do when it was killed.
void RemoveLeftovers(const v1::Context& context) {
  for (const auto& node : context.members()) {
    const std::string& dir = node.runtime_dir();
    for (const char* name : {"/agent.log", "/agent.1.log", "/control.sock",
                             "/run.sock", "/clients.sock"}) {
      unlink((dir + name).c_str());
    }
    // Harmless when something else is in them.
    if (rmdir(dir.c_str()) == 0) rmdir(dir.substr(0, dir.rfind('/')).c_str());
  }
}

int PrintDown(const v1::Context& context, bool reached, bool quiet, bool json) {
  if (json) {
    v1::DownAnswer answer;
    answer.set_context(context.name());
    for (const auto& node : context.members()) answer.add_nodes(node.name());
    answer.set_reached(reached);
    return WriteAll(STDOUT_FILENO, JsonText(answer)) ? 0 : kExitFailure;
  }
  if (quiet) return 0;
  const std::string text =
      "context " + context.name() + " is down" +
      (reached ? "" : "; its agents had ended before or can not be reached") +
      "\n";
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
}

int Down(const v1::Context& context, bool force, bool quiet, bool json) {
  const std::vector<LocalAgent> agents = LocalAgent::Of(context);
  Result<RootAgent> root = ConnectRoot(context);
  bool reached = true;
  if (root.ok()) {
    Status status = root->client.Shutdown(force);
    // An agent may be gone before its answer is through.
    if (!status.ok() && status.code() != kErrUnreach) return Fail(status);
  } else if (!EndMembersOneByOne(context, force) && agents.empty()) {
    reached = false;
  }
  if (!EndLocalAgents(context, agents, force)) {
    return Fail(Status(
        kErrTimeout, "some agents do not end; 'canopy down --force --context " +
                         context.name() + "' kills those of this machine"));
  }
  RemoveLeftovers(context);
  ContextStore().Remove(context.name());
  return PrintDown(context, reached, quiet, json);
}

}  // namespace

int DownCommand(const CommandLine& line) {
  bool force = false;
  bool quiet = false;
  SharedOptions shared;
  const CommandInfo info = {"down", "[options]", kAbout, kOptions, 0, 0};
  const ParseOutcome parsed = ParseCommandLine(
      info, line, &shared, [&force, &quiet](const ParsedOption& option) {
        (option.id == kDownForce ? force : quiet) = true;
        return Status();
      });
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = NeedContext(shared.context);
  if (!context.ok()) return Fail(context.status());
  return Down(*context, force, quiet, shared.json);
}

}  // namespace canopy::cli
