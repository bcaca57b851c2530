#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/command_line.h"
#include "client/cli/context.pb.h"
#include "client/cli/context_store.h"
#include "client/cli/context_target.h"
#include "client/cli/doctor.h"
#include "client/cli/file_util.h"
#include "client/cli/grpc_agents.h"
#include "client/cli/json_text.h"
#include "client/cli/program_check.h"
#include "client/cli/table.h"

namespace canopy::cli {
namespace {

enum DoctorOptionId : int { kDoctorInject };

constexpr OptionSpec kOptions[] = {
    {kDoctorInject, "inject", 1, "WHEN",
     "with a program: auto, always or never, as for 'canopy run'"},
};

// Every overlay that is written down should answer.
void CheckContexts(v1::DoctorReport* report) {
  const ContextStore store;
  const auto names = store.List();
  if (!names.ok()) {
    return AddCheck("contexts", "failed", names.status().message(), report);
  }
  for (const std::string& name : *names) {
    Result<v1::Context> context = store.Load(name);
    Result<RootAgent> root = context.ok() ? ConnectRoot(*context)
                                          : Result<RootAgent>(context.status());
    if (!root.ok()) {
      AddCheck("context " + name, "warning", root.status().message(), report);
      continue;
    }
    auto status = root->client.GetStatus();
    if (!status.ok()) {
      AddCheck("context " + name, "warning", status.status().message(), report);
      continue;
    }
    std::string lost;
    for (const auto& node : status->nodes()) {
      if (!node.up()) lost += (lost.empty() ? "" : ", ") + node.name();
    }
    AddCheck(
        "context " + name, lost.empty() ? "ok" : "warning",
        lost.empty()
            ? Count(static_cast<uint64_t>(status->nodes_size()), "node") + " up"
            : "lost: " + lost + "; see 'canopy status'",
        report);
  }
}

int CheckThisMachine(bool json) {
  v1::DoctorReport report = CheckMachine();
  CheckContexts(&report);
  bool healthy = true;
  for (const v1::DoctorCheck& check : report.checks()) {
    if (check.result() == "failed") healthy = false;
  }
  report.set_healthy(healthy);
  const bool written =
      WriteAll(STDOUT_FILENO, json ? JsonText(report) : DoctorText(report));
  return written && healthy ? 0 : kExitFailure;
}

}  // namespace

int DoctorCommand(const CommandLine& line) {
  const CommandInfo info = {
      "doctor",
      "[options] [program]",
      "Looks for what would keep jobs from running here: programs, library,\n"
      "directories, limits, kernel, names, and overlays that do not answer.\n"
      "With a program: which PMIx library it would get, and why, on every "
      "node\n"
      "of the overlay, or on this machine when none is up.\n",
      kOptions,
      0,
      1};
  SharedOptions shared;
  ProgramCheck check;
  const ParseOutcome parsed =
      ParseCommandLine(info, line, &shared, [&](const ParsedOption& option) {
        check.inject = option.values[0];
        return Status();
      });
  if (!parsed.go_on) return parsed.exit_code;
  if (shared.words.empty()) return CheckThisMachine(shared.json);
  check.program = shared.words[0];
  check.context = shared.context;
  check.json = shared.json;
  GrpcAgents agents;
  return CheckProgram(check, &agents);
}

}  // namespace canopy::cli
