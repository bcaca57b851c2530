#include "server/scheduler/reports.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/scheduler/contract/line.h"
#include "server/scheduler/contract/times.h"
#include "server/scheduler/messages.h"

namespace canopy::scheduler {
namespace {

constexpr size_t kMaxCommandId = 255;
constexpr int kLastSignal = 64;
constexpr int kMaxStates = 64;
// A page of a snapshot ends with the entry that reaches this size, so a page
// stays far below gRPC's limit for a message.
constexpr size_t kPageBytes = 256 << 10;

// Returns true for commands that must not be repeated. If an agent was killed
// during such a command, its successor does not execute the command again.
bool IsOnce(const v1::Command& command) {
  return command.has_signal() || command.has_requeue();
}

// Returns true for commands whose effect ends with this process.
bool IsOfThisProcess(const v1::Command& command) {
  return command.has_drain_node() || command.has_resume_node();
}

// Distributes the state of the overlay over pages.
class Snapshot {
 public:
  explicit Snapshot(const google::protobuf::Duration& settle_time)
      : settle_time_(settle_time) {
    Begin();
  }
  void Add(v1::NodeReport node) {
    bytes_ += node.ByteSizeLong();
    *page_->add_nodes() = std::move(node);
    if (bytes_ >= kPageBytes) Begin();
  }
  void Add(v1::JobReport job) {
    bytes_ += job.ByteSizeLong();
    *page_->add_jobs() = std::move(job);
    if (bytes_ >= kPageBytes) Begin();
  }
  std::vector<v1::AttachRequest> Take() {
    page_->set_last(true);
    return std::move(messages_);
  }

 private:
  void Begin() {
    page_ = messages_.emplace_back().mutable_snapshot();
    *page_->mutable_settle_time() = settle_time_;
    bytes_ = 0;
  }

  const google::protobuf::Duration settle_time_;
  std::vector<v1::AttachRequest> messages_;
  v1::SnapshotPage* page_ = nullptr;  // the last page
  size_t bytes_ = 0;                  // bytes of the last page
};

v1::CommandResult ResultOf(const std::string& command, const Status& status) {
  v1::CommandResult result;
  result.set_command_id(command);
  result.set_pmix_status(status.code());
  // The message is truncated between characters, because an incomplete
  // character would be shown as bytes.
  result.set_message(LineOf(status.message()));
  return result;
}

}  // namespace

Reports::Reports(Options options)
    : options_(std::move(options)),
      queue_(options_.incarnation,
             [link = options_.link](const std::string& text) {
               link->Warn(text);
             }),
      releases_([link = options_.link](const std::string& text) {
        link->Warn(text);
      }),
      history_([link = options_.link](const std::string& text) {
        link->Warn(text);
      }) {
  options_.link->OnUp([this] { Attach(); });
}

Reports::~Reports() { *alive_ = false; }

void Reports::SetRoot(bool root) {
  if (std::exchange(root_, root) == root) return;
  if (root) {
    TakeStore();
    return Attach();
  }
  if (call_ != nullptr) call_->Cancel();
}

void Reports::TakeStore() {
  if (options_.store == nullptr || std::exchange(stores_, true)) return;
  const StoredReports stored = options_.store->Load();
  queue_.SetStore(options_.store, stored);
  for (const v1::JobReleasedRequest& release :
       releases_.SetStore(options_.store, stored.releases)) {
    options_.release_again(release);
  }
  for (const std::string& command : history_.SetStore(
           options_.store, stored.commands, options_.wall_clock_ms())) {
    OnLeft(command);
  }
}

// Handles a command that a predecessor had begun. If the command has launched a
// job, the job is known to this agent, because its end has not been reported.
// If the command was to launch a job that is not known, it may be executed
// again.
void Reports::OnLeft(const std::string& command) {
  const std::string request =
      history_.Find(command, options_.wall_clock_ms())->request;
  v1::CommandResult result = ResultOf(
      command,
      Status(kErrLostConnection, "the agent was killed while it executed it"));
  if (!request.empty()) {
    const std::string nspace = options_.commands->HostLaunched({request, 1});
    if (nspace.empty()) return history_.Forget(command);
    result = ResultOf(command, Status());
    result.set_nspace(nspace);
  }
  history_.End(std::move(result), /*keep=*/true, options_.wall_clock_ms());
}

// ------------------------------------------------------------------ stream ---

void Reports::Attach() {
  Link* const link = options_.link;
  link->Refresh();
  if (!root_ || call_ != nullptr || !link->Has(v1::FEATURE_ATTACH)) return;
  const uint64_t number = ++number_;
  greeted_ = false;
  call_ = link->client()->Attach(
      [this, number](const v1::AttachResponse& message) {
        OnMessage(number, message);
      },
      [this, number](const CallEnd& end) { OnEnd(number, end); });
  v1::AttachRequest message;
  v1::AgentHello* const hello = message.mutable_hello();
  *hello->mutable_overlay() = link->overlay();
  hello->set_incarnation(queue_.series());
  hello->set_first_report(queue_.first());
  hello->set_last_report(queue_.last());
  hello->set_records_lost(queue_.lost());
  call_->Write(std::move(message));
}

void Reports::OnEnd(uint64_t number, const CallEnd& end) {
  if (number != number_) return;
  call_.reset();
  greeted_ = false;
  if (!root_) return;
  if (!options_.link->LostBy(end)) AttachLater(end);
}

// Opens the stream again after a pause, even if it has ended normally.
void Reports::AttachLater(const CallEnd& end) {
  options_.link->Warn("the stream of reports to the scheduler has ended: " +
                      (end.message.empty() ? std::string("without an error")
                                           : LineOf(end.message)));
  options_.loop->AddTimer(backoff_.Next(end.retry_ns),
                          [this, alive = alive_, number = number_] {
                            if (*alive && number == number_) Attach();
                          });
}

void Reports::OnMessage(uint64_t number, const v1::AttachResponse& message) {
  if (number != number_ || call_ == nullptr) return;
  if (message.has_hello() == greeted_ &&
      message.kind_case() != v1::AttachResponse::KIND_NOT_SET) {
    options_.link->Warn("the scheduler's stream is out of order, and is ended");
    return call_->Cancel();
  }
  switch (message.kind_case()) {
    case v1::AttachResponse::kHello:
      return OnHello(message.hello());
    case v1::AttachResponse::kAcknowledge:
      return queue_.Acknowledge(message.acknowledge().sequence());
    case v1::AttachResponse::kCommand:
      return OnCommand(message.command());
    case v1::AttachResponse::KIND_NOT_SET:
      return;  // a message of a later version
  }
}

void Reports::OnHello(const v1::HostHello& hello) {
  greeted_ = true;
  if (hello.incarnation() == queue_.series()) {
    queue_.Acknowledge(hello.acknowledged());
  }
  backoff_.Reset();
  filter_.reset();
  if (hello.has_filter()) {
    filter_ = hello.filter();
    filter_->mutable_job_states()->Truncate(
        std::min(filter_->job_states_size(), kMaxStates));
  }
  SendSnapshot();
  for (const v1::Report& report : queue_.reports()) Send(report);
}

void Reports::SendSnapshot() {
  Snapshot snapshot(DurationOfMs(options_.settle_ms));
  for (v1::NodeReport& node : options_.nodes()) snapshot.Add(std::move(node));
  for (v1::JobReport& job : options_.jobs()) snapshot.Add(std::move(job));
  for (v1::AttachRequest& message : snapshot.Take()) {
    call_->Write(std::move(message));
  }
}

void Reports::SayGoodbye() {
  if (!greeted_) return;
  v1::AttachRequest message;
  message.mutable_goodbye();
  call_->Write(std::move(message));
}

bool Reports::Wants(v1::JobState state) const {
  return !filter_ || std::ranges::count(filter_->job_states(), state) > 0;
}

// ----------------------------------------------------------------- reports ---

void Reports::OnJob(const v1::JobReport& job) {
  if (!Wants(job.state())) return;
  v1::Report report;
  *report.mutable_job() = job;
  Add(std::move(report));
}

void Reports::OnRecord(const v1::JobRecord& record) {
  v1::Report report;
  *report.mutable_record() = record;
  Add(std::move(report));
}

void Reports::OnNode(const v1::NodeReport& node) {
  v1::Report report;
  *report.mutable_node() = node;
  Add(std::move(report));
}

void Reports::Add(v1::Report report) {
  const v1::Report* const added = queue_.Add(std::move(report));
  if (added != nullptr && greeted_) Send(*added);
}

void Reports::Send(const v1::Report& report) {
  v1::AttachRequest message;
  *message.mutable_report() = report;
  call_->Write(std::move(message));
}

// ---------------------------------------------------------------- commands ---

void Reports::OnCommand(const v1::Command& command) {
  const std::string& id = command.command_id();
  if (id.empty() || id.size() > kMaxCommandId) {
    return options_.link->Warn("a command of the scheduler has no name");
  }
  const int64_t now = options_.wall_clock_ms();
  const CommandHistory::Known* const known = history_.Find(id, now);
  if (known != nullptr) {
    if (known->done) Answer(known->result);  // otherwise the answer will follow
    return;
  }
  if (command.has_launch()) return Launch(command);
  if (IsOnce(command)) history_.Begin(id, "", now);
  End(Execute(command), !IsOfThisProcess(command));
}

void Reports::End(v1::CommandResult result, bool keep) {
  history_.End(result, keep, options_.wall_clock_ms());
  Answer(result);
}

void Reports::Launch(const v1::Command& command) {
  const std::string id = command.command_id();
  const Result<HostLaunch> read = FromMessage(command.launch());
  if (!read.ok()) return End(ResultOf(id, read.status()), /*keep=*/true);
  history_.Begin(id, read->id.request, options_.wall_clock_ms());
  options_.commands->LaunchHostJob(
      *read, [this, alive = alive_, id](const Result<std::string>& nspace) {
        if (!*alive) return;
        v1::CommandResult result = ResultOf(id, nspace.status());
        if (nspace.ok()) result.set_nspace(*nspace);
        End(std::move(result), /*keep=*/true);
      });
}

v1::CommandResult Reports::Execute(const v1::Command& command) {
  JobCommandsPort* const to = options_.commands;
  Status status(kErrNotSupported, "this agent does not have that command");
  switch (command.kind_case()) {
    case v1::Command::kKill:
      status = to->KillHostJob(command.kill().host_job_id(),
                               LineOf(command.kill().reason()),
                               command.kill().immediately());
      break;
    case v1::Command::kSignal: {
      const int signal = command.signal().signal();
      status = signal < 1 || signal > kLastSignal
                   ? Status(kErrBadParam, "there is no such signal")
                   : to->SignalHostJob(command.signal().host_job_id(), signal);
      break;
    }
    case v1::Command::kSuspend:
      status = to->SuspendHostJob(command.suspend().host_job_id(), true);
      break;
    case v1::Command::kResume:
      status = to->SuspendHostJob(command.resume().host_job_id(), false);
      break;
    case v1::Command::kDrainNode:
      status = to->DrainNode(command.drain_node().name(),
                             LineOf(command.drain_node().reason()));
      break;
    case v1::Command::kResumeNode:
      status = to->ResumeNode(command.resume_node().name());
      break;
    case v1::Command::kTimeLimit:
      status = to->SetHostTimeLimit(command.time_limit().host_job_id(),
                                    SecondsOf(command.time_limit().limit()),
                                    SecondsOf(command.time_limit().warning()));
      break;
    case v1::Command::kRequeue:
      status = to->RequeueHostJob(command.requeue().host_job_id(),
                                  LineOf(command.requeue().reason()));
      break;
    case v1::Command::kLaunch:       // Launch has handled it
    case v1::Command::KIND_NOT_SET:  // a command of a later version
      break;
  }
  return ResultOf(command.command_id(), status);
}

void Reports::Answer(const v1::CommandResult& result) {
  if (call_ == nullptr) return;
  v1::AttachRequest message;
  *message.mutable_result() = result;
  call_->Write(std::move(message));
}

}  // namespace canopy::scheduler
