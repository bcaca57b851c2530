#include "client/cli/base/command.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/doctor.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/context_store.h"
#include "client/cli/context/run_contexts.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/grpc_agents.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/run/program_check.h"

namespace canopy::cli {
namespace {

Result<control::v1::StatusReply> StatusOf(const v1::Context& context) {
  Result<RootAgent> root = ConnectRoot(context);
  if (!root.ok()) return root.status();
  return root->client.GetStatus(/*ask_all=*/true);
}

// Adds the result for an overlay whose agents have answered.
void CheckNodes(const std::string& name, const control::v1::StatusReply& status,
                DoctorReport* report) {
  if (const std::string silent = SilentText(status); !silent.empty()) {
    return AddCheck(name, "failed", silent.substr(0, silent.size() - 1),
                    report);
  }
  if (!status.scheduler_trouble().empty()) {
    return AddCheck(name, "failed",
                    status.scheduler_trouble() + "; new jobs wait for it",
                    report);
  }
  std::string lost;
  for (const auto& node : status.nodes()) {
    if (!node.up()) lost += (lost.empty() ? "" : ", ") + node.name();
  }
  if (!lost.empty()) {
    return AddCheck(name, "warning", "lost: " + lost + "; see 'canopy status'",
                    report);
  }
  AddCheck(
      name, "ok",
      Count(static_cast<uint64_t>(status.nodes_size()), "node") + " up" +
          (status.scheduler().empty() ? ""
                                      : ", scheduler " + status.scheduler()),
      report);
}

// Adds the result for one context, unless its agents have ended. `stays` is
// true for an overlay of `canopy up`. Since `canopy run` sends jobs to it, an
// overlay that does not answer is a failure; agents of a run that do not answer
// are only a warning.
void CheckContext(const std::string& name, const v1::Context& context,
                  bool stays, DoctorReport* report) {
  const auto status = StatusOf(context);
  if (!status.ok() && HasEnded(context)) return;
  if (!status.ok()) {
    return AddCheck("context " + name, stays ? "failed" : "warning",
                    status.status().message(), report);
  }
  CheckNodes("context " + name, *status, report);
}

template <typename Store>
void CheckContextsIn(const Store& store, bool stays, DoctorReport* report) {
  const auto names = store.List();
  if (!names.ok()) {
    return AddCheck("contexts", "failed", names.status().message(), report);
  }
  for (const std::string& name : *names) {
    const Result<v1::Context> context = store.Load(name);
    if (context.ok()) {
      CheckContext(name, *context, stays, report);
    } else if (context.code() != kErrNotFound) {
      AddCheck("context " + name, "warning", context.status().message(),
               report);
    }
  }
}

// Checks that every overlay and every `canopy run` answers.
void CheckContexts(DoctorReport* report) {
  CheckContextsIn(ContextStore(), /*stays=*/true, report);
  CheckContextsIn(RunContexts(), /*stays=*/false, report);
}

int CheckThisMachine(bool json) {
  DoctorReport report = CheckMachine();
  CheckContexts(&report);
  const int exit_code = report.healthy() ? 0 : kExitFailure;
  if (json) return PrintDocument(DoctorDocument(report), exit_code);
  return PrintText(DoctorText(report), exit_code);
}

}  // namespace

int DoctorCommand(const CommandLine& line) {
  SharedOptions shared;
  ProgramCheck check;
  const CommandInfo info = {
      "doctor",
      "[options] [program]",
      "Checks for problems that keep jobs from running on this machine:\n"
      "programs, library, directories, limits, kernel, host name,\n"
      "and overlays that do not answer. With a program: shows which PMIx\n"
      "library it would use, and why, on every node of the overlay, or on\n"
      "this machine if none is up.\n",
      {{"inject", 1, "WHEN",
        "with a program: auto, always or never, as in\n"
        "'canopy run'",
        SetText(&check.inject)}},
      0,
      1};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (shared.words.empty()) return CheckThisMachine(shared.json);
  check.program = shared.words[0];
  check.context = shared.context;
  check.json = shared.json;
  GrpcAgents agents;
  return CheckProgram(check, &agents);
}

}  // namespace canopy::cli
