#include "server/runtime/runtime.h"

#include <algorithm>
#include <typeinfo>
#include <utility>
#include <variant>

#include "server/core/step/earlier_commits.h"
#include "server/ports/coarse_clock.h"

namespace canopy {

namespace {

// The queue's memory is retained for reuse if it has room for at most this many
// inputs.
constexpr size_t kRetainedInputs = 4096;

// Returns the name of the input's type: the last identifier of the mangled
// name, in which each identifier follows its length.
std::string NameOf(const core::Input& input) {
  const std::string mangled =
      std::visit([](const auto& one) { return typeid(one).name(); }, input);
  const size_t end = mangled.find_last_not_of('E') + 1;
  const size_t digit = mangled.find_last_of("0123456789", end);
  return mangled.substr(digit + 1, end - digit - 1);
}

}  // namespace

AgentRuntime::AgentRuntime(EventLoop* loop) : loop_(loop) {}

void AgentRuntime::Start(core::CoreConfig config, RuntimePorts ports) {
  loop_->AssertOnThread();
  ports_ = std::move(ports);
  core_ = std::make_unique<core::AgentCore>(std::move(config));
  if (!queue_.empty()) Schedule();
}

void AgentRuntime::OnInput(core::Input input) {
  loop_->AssertOnThread();
  DrawCommitsBefore(input);
  queue_.push_back(std::move(input));
  if (!draining_) Schedule();
}

void AgentRuntime::Schedule() {
  if (std::exchange(scheduled_, true)) return;
  loop_->Defer([this] {
    scheduled_ = false;
    Drain();
  });
}

void AgentRuntime::Drain() {
  loop_->AssertOnThread();
  if (draining_ || core_ == nullptr) return;
  draining_ = true;
  const int64_t began = CoarseMs();
  size_t inputs = 0;
  while (!queue_.empty()) {
    batch_.swap(queue_);
    for (const core::Input& input : batch_) Step(input);
    inputs += batch_.size();
    batch_.clear();
  }
  if (CoarseMs() - began >= kSlowTurnMs) {
    NoteWork(began, [&] { return std::to_string(inputs) + " inputs"; });
  }
  if (batch_.capacity() > kRetainedInputs) batch_ = {};
  if (queue_.capacity() > kRetainedInputs) queue_ = {};
  draining_ = false;
}

void AgentRuntime::Step(const core::Input& input) {
  const int64_t began = CoarseMs();
  Observe(input);
  core::Actions actions = core_->Step(EventLoop::Now(), input);
  for (core::Action& action : actions) Execute(action);
  if (CoarseMs() - began >= kSlowTurnMs) {
    NoteWork(began, [&] { return "input " + NameOf(input); });
  }
}

void AgentRuntime::NoteWork(int64_t began_ms,
                            const std::function<std::string()>& cause) {
  auto line = slow_turns_.Note(began_ms, CoarseMs(), cause);
  if (!line || !ports_.log) return;
  ports_.log({core::LogLine::Level::kWarning, *std::move(line)});
}

void AgentRuntime::Observe(const core::Input& input) {
  if (const auto* exits = std::get_if<core::LocalExits>(&input)) {
    for (InputObserver* one : ports_.observers) one->OnLocalExits(*exits);
  } else if (const auto* change = std::get_if<core::NodeStateChanged>(&input)) {
    for (InputObserver* one : ports_.observers)
      one->OnNodeStateChanged(*change);
  }
}

void AgentRuntime::DrawCommitsBefore(const core::Input& input) {
  core::ForEachEarlierCommitter(input, [this](const ProcId& proc) {
    for (auto& [kind, port] : ports_.clients) port->TakeCommits(proc);
  });
}

void AgentRuntime::Execute(core::Action& action) {
  std::visit([this](auto& a) { Do(a); }, action);
}

void AgentRuntime::Do(core::SendPeer& action) {
  ports_.overlay->Send(action.message);
}

void AgentRuntime::Do(core::ReplyClient& action) {
  const auto it = ports_.clients.find(KindOf(action.client));
  if (it != ports_.clients.end()) it->second->Reply(action);
}

void AgentRuntime::Do(core::ReleaseFence& action) {
  const auto it = ports_.clients.find(KindOf(action.clients.front()));
  if (it != ports_.clients.end()) it->second->ReleaseFence(action);
}

void AgentRuntime::Do(core::NotifyClient& action) {
  const auto it = ports_.clients.find(KindOf(action.client));
  if (it != ports_.clients.end()) it->second->Notify(action);
}

void AgentRuntime::Do(core::AskHost& action) { ports_.host->Ask(action); }

void AgentRuntime::Do(core::CloseClient& action) {
  const auto it = ports_.clients.find(KindOf(action.client));
  if (it != ports_.clients.end()) {
    it->second->Close(action.client, action.reason);
  }
}

void AgentRuntime::Do(core::RegisterJob& action) {
  Status status = ports_.datastore->AddJob(action);
  if (!status.ok()) {
    unusable_[action.job->nspace] = std::move(status);
    return;
  }
  for (auto& [kind, port] : ports_.clients) port->AddJob(action);
}

void AgentRuntime::Do(core::DropJob& action) {
  for (auto& [kind, port] : ports_.clients) port->DropJob(action.nspace);
  ports_.host->DropJob(action.nspace);
  ports_.datastore->DropJob(action.nspace);
  if (ports_.persistence != nullptr) ports_.persistence->DropJob(action.nspace);
  unusable_.erase(action.nspace);
}

void AgentRuntime::Do(core::PublishRank& action) {
  const Status status = ports_.datastore->Publish(action);
  if (action.request == 0) return;
  core::ReplyClient reply{action.client, action.request, status.code(), {}};
  Do(reply);
}

void AgentRuntime::Do(core::SetIncarnation& action) {
  ports_.datastore->SetIncarnation(action.proc, action.incarnation);
}

void AgentRuntime::Do(core::ToolGone& action) {
  for (InputObserver* observer : ports_.observers) {
    observer->OnToolGone(action.proc);
  }
}

void AgentRuntime::Do(core::JobHeld& action) {
  for (InputObserver* observer : ports_.observers) observer->OnJobHeld(action);
}

void AgentRuntime::Do(core::AwaitCommit& action) {
  for (auto& [kind, port] : ports_.clients) port->AwaitCommit(action.proc);
}

void AgentRuntime::Do(core::PrepareLocal& action) {
  const auto it = unusable_.find(action.job->nspace);
  if (it == unusable_.end()) {
    ports_.process->Prepare(action);
    if (ports_.persistence != nullptr)
      ports_.persistence->AddJob(action.job->nspace);
    return;
  }
  OnInput(core::LocalPrepared{action.job->nspace, it->second.code(),
                              it->second.message()});
}

void AgentRuntime::Do(core::StartLocal& action) {
  ports_.process->Start(action);
}

void AgentRuntime::Do(core::RestartLocal& action) {
  ports_.process->Restart(action);
}

void AgentRuntime::Do(core::SignalLocal& action) {
  ports_.process->Signal(action);
}

void AgentRuntime::Do(core::KillLocal& action) { ports_.process->Kill(action); }

void AgentRuntime::Do(core::ForgetLocal& action) {
  ports_.process->Forget(action.nspace);
}

void AgentRuntime::Do(core::CreditOutput& action) {
  ports_.process->Credit(action);
}

void AgentRuntime::Do(core::ResendOutput& action) {
  ports_.process->ResendOutput(action.nspace);
}

void AgentRuntime::Do(core::PersistRecord& action) {
  if (ports_.persistence != nullptr) ports_.persistence->Persist(action);
}

void AgentRuntime::Do(core::PersistControlState& action) {
  if (ports_.persistence != nullptr) ports_.persistence->Persist(action);
}

void AgentRuntime::Do(core::FeedInput& action) { ports_.process->Feed(action); }

void AgentRuntime::Do(core::SetDeadline& action) {
  if (timer_ != 0) loop_->CancelTimer(timer_);
  timer_ = 0;
  if (action.when == core::kNever) return;
  const int64_t delay = std::max<int64_t>(action.when - EventLoop::Now(), 0);
  timer_ = loop_->AddTimer(delay, [this] {
    timer_ = 0;
    OnInput(core::Tick{});
  });
}

void AgentRuntime::Do(core::HostSpawn& action) { ports_.jobs->OnSpawn(action); }

void AgentRuntime::Do(core::JobChanged& action) {
  ports_.jobs->OnJobChanged(action);
}

void AgentRuntime::Do(core::JobElsewhere& action) {
  ports_.jobs->OnJobElsewhere(action);
}

void AgentRuntime::Do(core::DeliverOutput& action) {
  ports_.jobs->OnOutput(action);
}

void AgentRuntime::Do(core::OutputDelivered& action) {
  ports_.jobs->OnOutputDelivered(action);
}

void AgentRuntime::Do(core::InputConsumed& action) {
  ports_.jobs->OnInputConsumed(action);
}

void AgentRuntime::Do(core::StateCollected& action) {
  ports_.jobs->OnStateCollected(action);
}

void AgentRuntime::Do(core::ReadFacts& action) { ports_.facts->Read(action); }

void AgentRuntime::Do(core::UsageTaken& action) {
  if (ports_.usage) ports_.usage(action);
}

void AgentRuntime::Do(core::EndAgent& action) { ports_.end(action.reason); }

void AgentRuntime::Do(core::LogLine& action) {
  if (ports_.log) ports_.log(action);
}

}  // namespace canopy
