// Runs commands that need the agent of this machine as a PMIx tool. `canopy`
// starts this program with words by position (commands.h). Under the name of a
// tool of OpenPMIx, the program is that tool.
//
// canopy-tool [--json] DIRECTORY COMMAND WORD...
//
// DIRECTORY holds the agent's rendezvous files. If it is empty, the library
// searches for the agent.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/reference_tools.h"

namespace canopy::tools {
namespace {

struct Command {
  std::string_view name;
  size_t min_words;
  int (*run)(Words words, Format format);
  bool publishes = false;  // uses the tool name that owns published data
};

constexpr Command kCommands[] = {
    {"procs", 0, Procs},   {"table", 1, Table},
    {"query", 3, Query},   {"event", 4, Event},
    {"output", 3, Output}, {"attach", 5, Attach},
    {"launch", 2, Launch}, {"publish", 4, Publish, true},
    {"lookup", 4, Lookup}, {"unpublish", 2, Unpublish, true},
    {"usage", 0, Usage},
};

// Connects to the agent. All commands that publish use the same tool name, so
// that a later command can unpublish the data. While another command uses the
// name, this one waits.
pmix_status_t Connect(const std::string& directory, bool publishes) {
  constexpr int kAttempts = 100;
  Infos directives;
  if (!directory.empty()) directives.AddText(PMIX_SERVER_TMPDIR, directory);
  if (publishes) {
    directives.AddText(PMIX_TOOL_NSPACE,
                       "canopy-publisher." + std::to_string(getuid()));
    const pmix_rank_t rank = 0;
    directives.Add(PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
  }
  pmix_proc_t self;
  pmix_status_t status = PMIX_ERR_EXISTS;
  for (int i = 0; i < kAttempts && status == PMIX_ERR_EXISTS; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = PMIx_tool_init(&self, directives.data(), directives.size());
  }
  return status;
}

int RunCommand(Words args) {
  const bool json = !args.empty() && args[0] == "--json";
  if (json) args = args.subspan(1);
  const Command* const command =
      args.size() < 2 ? std::end(kCommands)
                      : std::ranges::find(kCommands, args[1], &Command::name);
  if (command == std::end(kCommands) || args.size() < 2 + command->min_words) {
    Complain("canopy-tool is started by 'canopy'");
    return kExitUsage;
  }
  if (command->run == Launch) PrepareLaunch(args[2]);
  pmix_status_t status = Connect(args[0], command->publishes);
  if (status != PMIX_SUCCESS) return Fail("no agent of this machine", status);
  const int code =
      command->run(args.subspan(2), json ? Format::kJson : Format::kText);
  status = PMIx_tool_finalize();
  return code != 0 || status == PMIX_SUCCESS ? code : Fail("tool", status);
}

}  // namespace
}  // namespace canopy::tools

int main(int argc, char** argv) {
  using namespace canopy::tools;  // NOLINT
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string name = ReferenceName(argc > 0 ? argv[0] : "");
  return WithOutput(name.empty() ? RunCommand(args)
                                 : RunReferenceTool(name, args));
}
