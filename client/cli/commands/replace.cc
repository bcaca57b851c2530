#include "client/cli/commands/replace.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/agents/agent_process.h"
#include "client/cli/base/command.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/documents.h"
#include "client/cli/control/context_target.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kConnectMs = 1000;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(20);

// Waits until a new agent serves the member and is linked with the overlay.
// `before` is the start time of the previous agent.
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
  const std::string said = process.LastErrorLine();
  return Status(kErrUnreach, said.empty() ? "its new agent gave up" : said);
}

// Returns the status of a member's agent, or the reason why it does not answer.
Result<control::v1::StatusReply> Ask(const ControlTarget& target) {
  if (target.address.empty()) return Status(kErrUnreach, "");
  Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
  if (!client.ok()) return client.status();
  return client->GetStatus();
}

// Replaces one agent after the other.
class Replacement {
 public:
  Replacement(v1::Context* context, const UpOptions& options)
      : context_(context), options_(options), done_(context->members_size()) {}

  // Starts the missing agents first, because the running agents need their
  // parents. Waits for them when all are started, because an agent without any
  // other one has no link. Then replaces the others from the leaves to the
  // root.
  Status Run(const ContextStore& store) {
    const int size = context_->members_size();
    std::vector<int> started;
    for (int i = 0; i < size; ++i) {
      if (Ask(TargetOf(*context_, i)).ok()) continue;
      const Status status = StartOne(i, Deadline());
      if (status.ok()) {
        started.push_back(i);
      } else if (Status s = Note(i, status, store); !s.ok()) {
        return s;
      }
    }
    for (const int i : started) {
      const Reply now = WaitUp(*context_, i, 0, Deadline());
      if (Status s = Note(i, now, store); !s.ok()) return s;
    }
    for (int i = size - 1; i >= 0; --i) {
      if (done_[i]) continue;
      if (Status s = Note(i, ReplaceOne(i), store); !s.ok()) return s;
    }
    return Status();
  }
  int failed() const { return failed_; }

 private:
  using Reply = Result<control::v1::StatusReply>;

  Clock::time_point Deadline() const {
    return Clock::now() + std::chrono::seconds(options_.timeout_seconds);
  }

  Status StartOne(int i, Clock::time_point deadline) const {
    const bool here = context_->launch_agent().empty() ||
                      TargetOf(*context_, i).address.starts_with("unix:");
    return Restart(*context_, i, here, deadline);
  }

  Reply RestartOne(int i) const {
    const auto deadline = Deadline();
    if (Status s = StartOne(i, deadline); !s.ok()) return s;
    return WaitUp(*context_, i, 0, deadline);
  }

  Reply ReplaceOne(int i) const {
    const auto deadline = Deadline();
    const ControlTarget target = TargetOf(*context_, i);
    const Reply old = Ask(target);
    if (!old.ok()) return RestartOne(i);
    Result<ControlClient> client = ControlClient::Connect(target, kConnectMs);
    if (!client.ok()) return client.status();
    if (Status s = client->Replace(AgentProgram()); !s.ok()) return s;
    return WaitUp(*context_, i, old->started(), deadline);
  }

  Status Note(int i, const Reply& now, const ContextStore& store) {
    done_[i] = true;
    auto* const member = context_->mutable_members(i);
    if (!now.ok()) {
      PrintError("node '" + member->name() + "': " + now.status().message());
      ++failed_;
      return Status();
    }
    member->set_pid(now->pid());
    member->set_version(now->version());
    return store.Update(*context_);
  }

  v1::Context* const context_;
  const UpOptions& options_;
  std::vector<bool> done_;
  int failed_ = 0;
};

}  // namespace

int ReplaceAgents(v1::Context* context, const UpOptions& options, bool json,
                  const ContextStore& store) {
  Replacement replacement(context, options);
  if (Status s = replacement.Run(store); !s.ok()) return Fail(s);
  if (replacement.failed() > 0) return kExitFailure;
  if (json) return PrintDocument(ContextDocument(*context));
  if (options.quiet) return 0;
  const std::string text =
      "context " + context->name() + ": " +
      Count(static_cast<uint64_t>(context->members_size()), "agent") +
      " replaced\n";
  return PrintText(text);
}

}  // namespace canopy::cli
