#include "client/cli/host_module/attach_call.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/status.h"
#include "server/scheduler/contract/times.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxId = 255;

}  // namespace

AttachCall::AttachCall(const Probe* probe, uint64_t incarnation, uint64_t first)
    : probe_(probe), stream_(probe->stub()->Attach(&context_)), next_(first) {
  v1h::AttachRequest message;
  v1h::AgentHello* const hello = message.mutable_hello();
  *hello->mutable_overlay() = probe_->overlay();
  hello->set_incarnation(incarnation);
  hello->set_first_report(first);
  hello->set_last_report(first - 1);
  Write(message);
  thread_ = std::thread([this] { Run(); });
}

AttachCall::~AttachCall() {
  context_.TryCancel();
  thread_.join();
}

void AttachCall::Write(const v1h::AttachRequest& message) {
  const MutexLock lock(write_mutex_);
  // The reading thread notices a broken stream.
  (void)stream_->Write(message);
}

void AttachCall::Run() {
  v1h::AttachResponse message;
  while (stream_->Read(&message)) {
    if (message.has_command()) {
      v1h::AttachRequest answer;
      answer.mutable_result()->set_command_id(message.command().command_id());
      // None of the jobs of this overlay has been launched.
      answer.mutable_result()->set_pmix_status(kErrNotFound);
      Write(answer);
    }
    const MutexLock lock(mutex_);
    Take(message);
    changed_.NotifyAll();
  }
  (void)stream_->Finish();
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

std::string AttachCall::ProblemOf(const v1h::AttachResponse& message) const {
  if (message.has_hello()) {
    return hello_ ? "a second hello of the host" : "";
  }
  if (!hello_) return "a message before the host's hello";
  if (message.has_acknowledge()) {
    const uint64_t sequence = message.acknowledge().sequence();
    if (sequence < next_) return "";
    return "report " + std::to_string(sequence) +
           " acknowledged, and the last one was " + std::to_string(next_ - 1);
  }
  if (!message.has_command()) return "a message of no kind";
  const v1h::Command& command = message.command();
  if (command.command_id().empty() || command.command_id().size() > kMaxId) {
    return "a command with an id of " +
           std::to_string(command.command_id().size()) + " bytes";
  }
  return command.kind_case() == v1h::Command::KIND_NOT_SET
             ? "a command of no kind"
             : "";
}

void AttachCall::Take(const v1h::AttachResponse& message) {
  const std::string problem = ProblemOf(message);
  if (problem_.empty()) problem_ = problem;
  if (message.has_hello() && !hello_) hello_ = message.hello();
  if (message.has_acknowledge() && problem.empty()) {
    acknowledged_ = std::max(acknowledged_, message.acknowledge().sequence());
  }
}

std::optional<v1h::HostHello> AttachCall::WaitHello(int milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  MutexLock lock(mutex_);
  while (!hello_ && !ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return hello_;
}

v1h::NodeReport AttachCall::MakeNode(const std::string& name,
                                     v1h::NodeState state) {
  v1h::NodeReport node;
  node.set_name(name);
  node.add_aliases(AliasOf(name));
  node.set_slots(kSlotsOfNode);
  node.set_cores(kSlotsOfNode);
  node.set_state(state);
  return node;
}

void AttachCall::SendSnapshot(const std::vector<v1h::JobReport>& jobs,
                              uint32_t settle_ms) {
  const google::protobuf::Duration settle = scheduler::DurationOfMs(settle_ms);
  for (const char* name : kProbeNodes) {
    v1h::AttachRequest page;
    *page.mutable_snapshot()->add_nodes() = MakeNode(name, v1h::NODE_STATE_UP);
    *page.mutable_snapshot()->mutable_settle_time() = settle;
    Write(page);
  }
  v1h::AttachRequest last;
  v1h::SnapshotPage* const page = last.mutable_snapshot();
  for (const v1h::JobReport& job : jobs) *page->add_jobs() = job;
  *page->mutable_settle_time() = settle;
  page->set_last(true);
  Write(last);
}

uint64_t AttachCall::Send(v1h::Report report) {
  v1h::AttachRequest message;
  {
    const MutexLock lock(mutex_);
    report.set_sequence(next_++);
  }
  const uint64_t sequence = report.sequence();
  *message.mutable_report() = std::move(report);
  Write(message);
  return sequence;
}

uint64_t AttachCall::ReportNode(const std::string& name, v1h::NodeState state) {
  v1h::Report report;
  *report.mutable_node() = MakeNode(name, state);
  return Send(std::move(report));
}

uint64_t AttachCall::ReportRecord(const v1h::JobRecord& record) {
  v1h::Report report;
  *report.mutable_record() = record;
  return Send(std::move(report));
}

bool AttachCall::WaitAcknowledged(uint64_t sequence, int milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  MutexLock lock(mutex_);
  while (acknowledged_ < sequence && !ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return acknowledged_ >= sequence;
}

bool AttachCall::WaitEnd(int milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  MutexLock lock(mutex_);
  while (!ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return ended_;
}

std::string AttachCall::Problem() {
  const MutexLock lock(mutex_);
  return problem_;
}

uint64_t AttachCall::last_report() {
  const MutexLock lock(mutex_);
  return next_ - 1;
}

}  // namespace canopy::cli
