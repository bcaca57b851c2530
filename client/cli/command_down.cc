#include <unistd.h>

#include <string>

#include "client/cli/answers.pb.h"
#include "client/cli/command.h"
#include "client/cli/command_line.h"
#include "client/cli/context_choice.h"
#include "client/cli/context_store.h"
#include "client/cli/files.h"
#include "client/cli/json_text.h"
#include "client/cli/overlay_end.h"
#include "client/cli/table.h"
#include "client/cli/words.h"
#include "server/stock/tool_file.h"

namespace canopy::cli {
namespace {

enum DownOptionId : int { kDownForce, kDownQuiet };

constexpr OptionSpec kOptions[] = {
    {kDownForce, "force f", 0, "",
     "end running jobs too, and kill agents here that do not end"},
    {kDownQuiet, "quiet q", 0, "", "print nothing when all is well"},
};

constexpr char kAbout[] =
    "Ends the agents of an overlay and forgets its context. While jobs run it\n"
    "is refused unless --force is said.\n";

// An agent's log outlives it, and all the rest does when it was killed.
void RemoveLeftovers(const v1::Context& context) {
  for (const auto& node : context.members()) {
    const std::string& dir = node.runtime_dir();
    for (const char* name : {"/agent.log", "/agent.1.log", "/agent.state",
                             "/control.sock", "/run.sock", "/clients.sock"}) {
      unlink((dir + name).c_str());
    }
    stock::ToolFile::RemoveAll(dir);
    // Harmless when something else is in them.
    if (rmdir(dir.c_str()) == 0) rmdir(dir.substr(0, dir.rfind('/')).c_str());
  }
}

int PrintDown(const v1::Context& context, const OverlayEnd& end, bool quiet,
              bool json) {
  if (!end.silent.empty()) {
    PrintError("warning: " + Join(end.silent, ", ") +
               (end.silent.size() == 1 ? " does" : " do") +
               " not answer; an agent that runs there goes on until it is "
               "ended there");
  }
  if (json) {
    v1::DownAnswer answer;
    answer.set_context(context.name());
    for (const auto& node : context.members()) answer.add_nodes(node.name());
    answer.set_reached(end.reached);
    for (const std::string& name : end.silent) answer.add_silent(name);
    return WriteAll(STDOUT_FILENO, JsonText(answer)) ? 0 : kExitFailure;
  }
  if (quiet) return 0;
  const std::string text =
      "context " + context.name() + " is down" +
      (end.reached ? ""
                   : "; its agents had ended before or can not be reached") +
      "\n";
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
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
