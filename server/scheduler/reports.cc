#include "server/scheduler/reports.h"

#include <signal.h>

#include <utility>

#include "common/status.h"
#include "server/scheduler/line.h"
#include "server/scheduler/messages.h"

namespace canopy::scheduler {
namespace {

constexpr size_t kMaxCommandId = 255;
constexpr int kLastSignal = 64;

// Commands that must not be repeated: if an agent was killed during one, it is
// not executed again.
bool IsOnce(const v1::Command& command) {
  return command.has_signal() || command.has_requeue();
}

// The effect of these commands ends with this process.
bool IsOfThisProcess(const v1::Command& command) {
  return command.has_drain_node() || command.has_resume_node();
}

v1::CommandResult ResultOf(const std::string& command, const Status& status) {
  v1::CommandResult result;
  result.set_command_id(command);
  result.set_status(status.code());
  // Truncated between characters; an incomplete character would be shown as
  // bytes.
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

// A predecessor had begun the command. A job that it launched is known here,
// because its end has not been reported; if there is none, the job was not
// launched, and may be launched now.
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
  if (!root_ || call_ != nullptr || !link->Has(v1::SLOT_ATTACH)) return;
  const uint64_t number = ++number_;
  greeted_ = false;
  call_ = link->client()->Attach(
      [this, number](const v1::HostMessage& message) {
        OnMessage(number, message);
      },
      [this, number](const CallEnd& end) { OnEnd(number, end); });
  v1::AgentMessage message;
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
  // A stream that ends normally is also opened again through the link, because
  // the link has pauses.
  options_.link->Lost(end.ok() ? "it has ended the stream of reports"
                               : end.message);
}

void Reports::OnMessage(uint64_t number, const v1::HostMessage& message) {
  if (number != number_ || call_ == nullptr) return;
  if (message.has_hello() == greeted_) {
    options_.link->Warn("the scheduler's stream is out of order, and is ended");
    return call_->Cancel();
  }
  switch (message.kind_case()) {
    case v1::HostMessage::kHello:
      return OnHello(message.hello());
    case v1::HostMessage::kAcknowledge:
      return queue_.Acknowledge(message.acknowledge().sequence());
    case v1::HostMessage::kCommand:
      return OnCommand(message.command());
    case v1::HostMessage::KIND_NOT_SET:
      return;  // a message of a later version
  }
}

void Reports::OnHello(const v1::HostHello& hello) {
  greeted_ = true;
  if (hello.incarnation() == queue_.series()) {
    queue_.Acknowledge(hello.acknowledged());
  }
  v1::AgentMessage message;
  v1::Snapshot* const snapshot = message.mutable_snapshot();
  for (v1::NodeReport& node : options_.nodes()) {
    *snapshot->add_nodes() = std::move(node);
  }
  for (v1::JobReport& job : options_.jobs()) {
    *snapshot->add_jobs() = std::move(job);
  }
  snapshot->set_settle_ms(options_.settle_ms);
  call_->Write(std::move(message));
  for (const v1::Report& report : queue_.reports()) Send(report);
}

// ----------------------------------------------------------------- reports ---

void Reports::OnJob(const v1::JobReport& job) {
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
  v1::AgentMessage message;
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
    if (known->done) Answer(known->result);  // otherwise the answer follows
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
      status = to->KillHostJob(command.kill().job().host_job_id(),
                               LineOf(command.kill().reason()),
                               command.kill().immediately());
      break;
    case v1::Command::kSignal: {
      const int signal = command.signal().signal();
      status =
          signal < 1 || signal > kLastSignal
              ? Status(kErrBadParam, "there is no such signal")
              : to->SignalHostJob(command.signal().job().host_job_id(), signal);
      break;
    }
    case v1::Command::kSuspend:
      status =
          to->SignalHostJob(command.suspend().job().host_job_id(), SIGSTOP);
      break;
    case v1::Command::kResume:
      status = to->SignalHostJob(command.resume().job().host_job_id(), SIGCONT);
      break;
    case v1::Command::kDrainNode:
      status = to->DrainNode(command.drain_node().name(),
                             LineOf(command.drain_node().reason()));
      break;
    case v1::Command::kResumeNode:
      status = to->ResumeNode(command.resume_node().name());
      break;
    case v1::Command::kTimeLimit:
      status = to->SetHostTimeLimit(command.time_limit().job().host_job_id(),
                                    command.time_limit().seconds(),
                                    command.time_limit().warn_seconds());
      break;
    case v1::Command::kRequeue:
      status = to->RequeueHostJob(command.requeue().job().host_job_id(),
                                  LineOf(command.requeue().reason()));
      break;
    case v1::Command::kLaunch:  // is answered later
    case v1::Command::KIND_NOT_SET:
      break;  // a command of a later version
  }
  return ResultOf(command.command_id(), status);
}

void Reports::Answer(const v1::CommandResult& result) {
  if (call_ == nullptr) return;
  v1::AgentMessage message;
  *message.mutable_result() = result;
  call_->Write(std::move(message));
}

}  // namespace canopy::scheduler
