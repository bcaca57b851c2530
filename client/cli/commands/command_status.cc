// status, top: show the agents of an overlay.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/refresh.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/commands/tool.h"
#include "client/cli/commands/usage_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

// Returns a line with the contexts other than `shown`, or an empty string if
// there are none.
std::string OtherContexts(const std::string& shown) {
  Result<std::vector<std::string>> names = ContextNames();
  if (!names.ok()) return "";
  std::erase(*names, shown);
  return names->empty() ? "" : "other contexts: " + Join(*names, ", ") + "\n";
}

// Agents know each other's process IDs from the start of the overlay only; the
// context has the current IDs of agents that were replaced.
void UsePids(const v1::Context& context, control::v1::StatusReply* status) {
  for (auto& node : *status->mutable_nodes()) {
    const auto member = std::ranges::find(context.members(), node.name(),
                                          &bootstrap::v1::NodeInfo::name);
    if (member != context.members().end() && member->pid() != 0) {
      node.set_pid(member->pid());
    }
  }
}

Result<control::v1::StatusReply> StatusOf(OverlayTarget* overlay,
                                          bool ask_all) {
  auto status = overlay->root.client.GetStatus(ask_all);
  if (status.ok()) UsePids(overlay->context, &*status);
  return status;
}

// The state that `canopy top` shows at one refresh.
struct Picture {
  control::v1::StatusReply status;
  control::v1::ListJobsReply jobs;
  UsageReport usage;
};

Result<Picture> Take(OverlayTarget* overlay) {
  Picture picture;
  auto status = StatusOf(overlay, /*ask_all=*/false);
  if (!status.ok()) return status.status();
  picture.status = *std::move(status);
  auto jobs = overlay->root.client.ListJobs();
  if (!jobs.ok()) return jobs.status();
  picture.jobs = *std::move(jobs);
  for (auto& job : *picture.jobs.mutable_jobs()) {
    job.set_context(overlay->context.name());
  }
  std::vector<std::string> words = {"usage"};
  for (const auto& node : picture.status.nodes()) {
    if (node.up()) words.push_back(node.name());
  }
  // If no agent runs on this machine, the usage is not known.
  const Result<Json> usage = ToolDocument(overlay->context, std::move(words));
  if (usage.ok()) picture.usage = ReadUsage(*usage);
  return picture;
}

int Show(const std::string& context, const Picture& picture,
         const UsageReport& before, bool json, const std::string& clear) {
  if (json) {
    Json out;
    out["status"] = StatusDocument(context, picture.status);
    out["jobs"] = JobsJson(picture.jobs);
    AddUsage(before, picture.usage, &out);
    return PrintText(LineText(out));
  }
  const std::string text =
      clear + StatusText(context, picture.status, ShowsUtf8()) +
      NodeUsageText(picture.usage) + "\n" +
      JobsText(picture.jobs, /*contexts=*/false, CommandRoom()) +
      JobUsageText(before, picture.usage);
  return PrintText(text);
}

}  // namespace

int StatusCommand(const CommandLine& line) {
  const CommandInfo info = {
      "status",
      "[options]",
      "Shows the tree of agents: addresses, slots and running processes.\n",
      {},
      0,
      0};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  const auto status = StatusOf(&*overlay, /*ask_all=*/true);
  if (!status.ok()) return Fail(status.status());
  const std::string& name = overlay->context.name();
  if (shared.json) return PrintDocument(StatusDocument(name, *status));
  const std::string text =
      StatusText(name, *status, ShowsUtf8()) + OtherContexts(name);
  return PrintText(text);
}

int TopCommand(const CommandLine& line) {
  Refresh refresh;
  OptionTable table;
  AddRefreshOptions(&refresh, &table);
  const CommandInfo info = {
      "top",
      "[options]",
      "Shows the tree of agents, the jobs, and the CPU and memory that nodes\n"
      "and jobs use, and refreshes them periodically. With -o json, each\n"
      "refresh is a document on one line.\n",
      std::move(table),
      0,
      0};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  UsageReport before;
  bool ended = false;
  const int code = Repeat(refresh, [&](const std::string& clear) {
    Result<Picture> picture = Take(&*overlay);
    if (!picture.ok() && HasEnded(overlay->context)) ended = true;
    if (!picture.ok()) return ended ? 1 : Fail(picture.status());
    const int shown =
        Show(overlay->context.name(), *picture, before, shared.json, clear);
    before = std::move(picture->usage);
    return shown;
  });
  return ended ? 0 : code;
}

}  // namespace canopy::cli
