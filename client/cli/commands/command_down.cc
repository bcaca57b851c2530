#include <chrono>
#include <string>
#include <thread>

#include "client/cli/agents/agent_leftovers.h"
#include "client/cli/agents/overlay_end.h"
#include "client/cli/base/command.h"
#include "client/cli/base/table.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/context_store.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

// The time for which the removal of directories is repeated while shims of
// killed agents still use them.
constexpr auto kJobsEnd = std::chrono::seconds(10);
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

constexpr char kAbout[] =
    "Ends the agents of an overlay and removes its context. While jobs\n"
    "run, this is refused unless --force is given. The agents of a\n"
    "'canopy run' end with it; to end them earlier, use both --context and\n"
    "--force.\n";

using Clock = std::chrono::steady_clock;

// Removes what remains of an agent: its log after a normal end, its whole
// directory after a kill. A directory that is still in use is retried, because
// the shims of a dead agent need time to end their jobs.
Status RemoveLeftovers(const bootstrap::v1::NodeInfo& node,
                       Clock::time_point deadline) {
  for (;;) {
    Status status = RemoveAgentDirectory(node.runtime_dir());
    if (status.code() != kErrResourceBusy || Clock::now() >= deadline) {
      return status;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void RemoveLeftovers(const v1::Context& context) {
  const auto deadline = Clock::now() + kJobsEnd;
  for (const auto& node : context.members()) {
    if (!IsThisMachineNow(node.machine())) continue;
    const Status status = RemoveLeftovers(node, deadline);
    if (status.ok()) continue;
    PrintError("warning: the files of the agent of " + node.name() +
               " are not removed: " + status.message());
  }
}

int PrintDown(const v1::Context& context, const OverlayEnd& end, bool quiet,
              bool json) {
  if (!end.silent.empty()) {
    PrintError("warning: " + Join(end.silent, ", ") +
               (end.silent.size() == 1 ? " does" : " do") +
               " not answer; an agent that runs there continues until it is "
               "ended there");
  }
  if (json) {
    Json out;
    out["context"] = context.name();
    out["nodes"] = Json::array();
    for (const auto& node : context.members()) {
      out["nodes"].push_back(node.name());
    }
    out["reached"] = end.reached;
    out["no_answer"] = end.silent;
    return PrintDocument(out);
  }
  if (quiet) return 0;
  const std::string text =
      "context " + context.name() + " is down" +
      (end.reached ? ""
                   : "; its agents had ended before or cannot be reached") +
      "\n";
  return PrintText(text);
}

int Down(const v1::Context& context, bool force, bool quiet, bool json) {
  const Result<OverlayEnd> end = EndOverlay(context, force);
  if (!end.ok()) return Fail(end.status());
  RemoveLeftovers(context);
  ContextStore().Remove(context.name());
  return PrintDown(context, *end, quiet, json);
}

}  // namespace

int DownCommand(const CommandLine& line) {
  bool force = false;
  bool quiet = false;
  SharedOptions shared;
  const CommandInfo info = {
      "down",
      "[options]",
      kAbout,
      {{"force f", 0, "",
        "also end running jobs, and kill agents on this\n"
        "machine that do not end",
        SetFlag(&force)},
       {"quiet q", 0, "", "print nothing on success", SetFlag(&quiet)}},
      0,
      0};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = NeedOverlay(shared.context);
  if (!context.ok()) return Fail(context.status());
  return Down(*context, force, quiet, shared.json);
}

}  // namespace canopy::cli
