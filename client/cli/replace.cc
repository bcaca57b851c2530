#include "client/cli/replace.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/agent_plans.h"
#include "client/cli/agent_process.h"
#include "client/cli/command.h"
#include "client/cli/context_target.h"
#include "client/cli/files.h"
#include "client/cli/table.h"
#include "client/cli/words.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kConnectMs = 1000;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(20);

// Waits for another agent than the one that started at `before`.
Result<control::v1::StatusReply> WaitUp(const v1::Context& context, int member,
                                        uint64_t before,
                                        Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    const ControlTarget target = TargetOf(context, member);
    if (!target.address.empty()) {
      Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
      if (client.ok()) {
        Result<control::v1::StatusReply> status = client->GetStatus();
        if (status.ok() && status->started() != before && status->linked()) {
          return status;
        }
      }
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return Status(kErrTimeout, "its new agent did not come up in time");
}

Status Restart(const v1::Context& context, int member, bool here,
               Clock::time_point deadline) {
  const auto& node = context.members(member);
  Result<std::vector<std::string>> command = RestartCommand(
      here ? "" : context.launch_agent(), node.name(), node.runtime_dir());
  if (!command.ok()) return command.status();
  AgentProcess process;
  Status status = process.Spawn(*std::move(command));
  if (!status.ok()) return status;
  process.CloseInput();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  if (!process.WaitEnd(static_cast<int>(left.count()))) {
    return Status(kErrTimeout, "its new agent did not come up in time");
  }
  if (process.EndedWell()) return Status();
  const std::string said = process.LastWords();
  return Status(kErrUnreach, said.empty() ? "its new agent gave up" : said);
}

Result<control::v1::StatusReply> ReplaceOne(const v1::Context& context,
                                            int member,
                                            const UpOptions& options) {
  const auto deadline =
      Clock::now() + std::chrono::seconds(options.timeout_seconds);
  const ControlTarget target = TargetOf(context, member);
  const bool here =
      context.launch_agent().empty() || target.address.starts_with("unix:");
  uint64_t before = 0;
  Status status(kErrUnreach, "");
  if (!target.address.empty()) {
    Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
    status = client.status();
    if (client.ok()) {
      Result<control::v1::StatusReply> old = client->GetStatus();
      status = old.status();
      if (old.ok()) {
        before = old->started();
        status = client->Replace(AgentProgram());
        if (!status.ok()) return status;
      }
    }
  }
  if (!status.ok()) {
    status = Restart(context, member, here, deadline);
    if (!status.ok()) return status;
  }
  return WaitUp(context, member, before, deadline);
}

}  // namespace

int ReplaceAgents(v1::Context* context, const UpOptions& options,
                  const ContextStore& store) {
  int failed = 0;
  for (int i = context->members_size() - 1; i >= 0; --i) {
    const std::string& name = context->members(i).name();
    Result<control::v1::StatusReply> now = ReplaceOne(*context, i, options);
    if (!now.ok()) {
      PrintError("node '" + name + "': " + now.status().message());
      ++failed;
      continue;
    }
    auto* const member = context->mutable_members(i);
    member->set_pid(now->pid());
    member->set_version(now->version());
    if (Status s = store.Update(*context); !s.ok()) return Fail(s);
  }
  if (failed > 0) return kExitFailure;
  if (options.quiet) return 0;
  const std::string text =
      "context " + context->name() + ": " +
      Count(static_cast<uint64_t>(context->members_size()), "agent") +
      " replaced\n";
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
}

}  // namespace canopy::cli
