#include "server/process/process_adapter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/process/shim_start.h"

namespace canopy::process {
namespace {

constexpr int64_t kRecoveryWaitNs = 2000000000;

// Removes the job from a list that owns it, and returns it.
std::unique_ptr<ShimJob> TakeFrom(std::list<std::unique_ptr<ShimJob>>* jobs,
                                  const ShimJob* job) {
  const auto it = std::find_if(jobs->begin(), jobs->end(),
                               [job](const auto& j) { return j.get() == job; });
  if (it == jobs->end()) return nullptr;
  std::unique_ptr<ShimJob> out = std::move(*it);
  jobs->erase(it);
  return out;
}

}  // namespace

ProcessAdapter::ProcessAdapter(EventLoop* loop, InputSink* sink,
                               ProcessOptions options)
    : reaper_(loop), replaced_reaper_(loop) {
  context_.loop = loop;
  context_.sink = sink;
  context_.options = std::move(options);
  context_.findings = &findings_;
  context_.start_shim = [this](const JobSpec& job) { return ShimFor(job); };
  Result<UniqueFd> directory = OpenDirectory(context_.options.runtime_dir);
  directory_status_ = directory.status();
  if (directory.ok()) context_.runtime_dir = std::move(*directory);
}

ProcessAdapter::~ProcessAdapter() { *alive_ = false; }

Result<StartedShim> ProcessAdapter::ShimFor(const JobSpec& job) const {
  const ProcessOptions& options = context_.options;
  std::optional<Result<UniqueFd>> pod;
  if (options.pod_shim) pod = options.pod_shim(job);
  if (!pod) {
    return StartShim(options.shim_path, context_.runtime_dir.get(), job.nspace,
                     options.open_files);
  }
  if (!pod->ok()) return pod->status();
  StartedShim shim;
  shim.connection = **std::move(pod);
  return shim;
}

ShimJob* ProcessAdapter::Find(const std::string& nspace) {
  context_.loop->AssertOnThread();
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : it->second.get();
}

void ProcessAdapter::Prepare(const core::PrepareLocal& job) {
  const std::string& nspace = job.job->nspace;
  Status status = directory_status_;
  if (status.ok() && jobs_.contains(nspace)) {
    status = Status(kErrExists, "namespace " + nspace + " exists already");
  }
  if (!status.ok()) {
    return context_.sink->OnInput(
        core::LocalPrepared{nspace, status.code(), status.message(), {}});
  }
  auto held = std::make_unique<ShimJob>(
      &context_, job, [this](ShimJob* gone) { OnGone(gone); });
  ShimJob* const raw = held.get();
  jobs_[nspace] = std::move(held);
  raw->Prepare();
}

void ProcessAdapter::Start(const core::StartLocal& start) {
  ShimJob* const job = Find(start.nspace);
  if (job != nullptr) return job->Start(start.port);
  context_.sink->OnInput(
      core::LocalStarted{start.nspace, 0, kErrNotFound,
                         "namespace " + start.nspace + " is not prepared"});
}

void ProcessAdapter::Restart(const core::RestartLocal& restart) {
  if (ShimJob* const job = Find(restart.nspace)) job->Restart(restart);
}

void ProcessAdapter::Signal(const core::SignalLocal& signal) {
  if (ShimJob* const job = Find(signal.nspace)) job->Signal(signal);
}

void ProcessAdapter::Kill(const core::KillLocal& kill) {
  if (ShimJob* const job = Find(kill.nspace)) job->Kill(kill);
}

void ProcessAdapter::Credit(const core::CreditOutput& credit) {
  if (ShimJob* const job = Find(credit.nspace)) job->Credit(credit);
}

void ProcessAdapter::ResendOutput(const std::string& nspace) {
  if (ShimJob* const job = Find(nspace)) job->ResendOutput();
}

void ProcessAdapter::PrepareHandover(uint32_t ms) {
  for (auto& [nspace, job] : jobs_) job->SetOrphanTime(ms);
}

void ProcessAdapter::Feed(const core::FeedInput& input) {
  if (ShimJob* const job = Find(input.nspace)) job->Feed(input);
}

void ProcessAdapter::Put(ProcessText text, TextDone done) {
  ShimJob* const job = Find(text.proc.nspace);
  if (job == nullptr) return done(kErrNotSupported);
  job->PutText(std::move(text), std::move(done));
}

void ProcessAdapter::HoldFile(const std::string& nspace, NamedFd file) {
  if (ShimJob* const job = Find(nspace)) {
    job->Hold(file.name, std::move(file.fd));
  }
}

bool ProcessAdapter::HoldConnections(const std::string& nspace,
                                     std::vector<NamedFd> connections) {
  ShimJob* const job = Find(nspace);
  return job != nullptr && job->HoldConnections(std::move(connections));
}

void ProcessAdapter::ReleaseConnection(const std::string& nspace,
                                       const std::string& name, Release when) {
  if (ShimJob* const job = Find(nspace)) {
    job->ReleaseConnection(name, when == Release::kAtOnce);
  }
}

void ProcessAdapter::Forget(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return;
  ending_.push_back(std::move(it->second));
  jobs_.erase(it);
  ending_.back()->Forget();
}

void ProcessAdapter::ForgetAll() {
  while (!jobs_.empty()) Forget(std::string(jobs_.begin()->first));
}

void ProcessAdapter::OnGone(ShimJob* job) {
  std::unique_ptr<ShimJob> gone = TakeFrom(&ending_, job);
  if (gone == nullptr && recovery_ != nullptr) {
    gone = TakeFrom(&recovery_->greeting, job);
  }
  if (gone != nullptr && gone->child_pid() > 0) {
    (gone->replaced() ? replaced_reaper_ : reaper_).Reap(gone->child_pid());
  }
  FinishRecoveryIfDone();
}

// ------------------------------------------------------------- recovery ---

void ProcessAdapter::Recover(OnRecovered done) {
  recovery_ = std::make_unique<Recovery>();
  recovery_->done = std::move(done);
  if (context_.runtime_dir) {
    for (const auto& name : ListShimSockets(context_.runtime_dir.get())) {
      Greet(name);
    }
  }
  recovery_->timer =
      context_.loop->AddTimer(kRecoveryWaitNs, [this, alive = alive_] {
        if (*alive) FinishRecovery();
      });
  FinishRecoveryIfDone();
}

void ProcessAdapter::Greet(const std::string& socket_name) {
  Result<UniqueFd> directory = OpenDirectory(context_.options.runtime_dir);
  if (!directory.ok()) return;
  SocketFile file(std::move(*directory), socket_name);
  Result<UniqueFd> socket = ConnectAt(context_.runtime_dir.get(), socket_name);
  if (socket.code() == kErrUnreach) return file.Remove();
  if (!socket.ok()) return;
  recovery_->greeting.push_back(std::make_unique<ShimJob>(
      &context_, std::move(*socket), std::move(file),
      [this](ShimJob* job, std::vector<NamedFd> held) {
        OnFound(job, std::move(held));
      },
      [this](ShimJob* job) { OnGone(job); }));
}

void ProcessAdapter::OnFound(ShimJob* job, std::vector<NamedFd> held) {
  std::unique_ptr<ShimJob> owned = TakeFrom(&recovery_->greeting, job);
  recovery_->found.push_back({job->job().job, job->job().layout, job->started(),
                              job->ranks(), std::move(held)});
  jobs_[job->nspace()] = std::move(owned);
  FinishRecoveryIfDone();
}

void ProcessAdapter::FinishRecoveryIfDone() {
  if (recovery_ != nullptr && recovery_->greeting.empty()) FinishRecovery();
}

void ProcessAdapter::FinishRecovery() {
  if (recovery_ == nullptr) return;
  const std::unique_ptr<Recovery> recovery = std::move(recovery_);
  context_.loop->CancelTimer(recovery->timer);
  recovery->done(std::move(recovery->found));
}

void ProcessAdapter::ResumeReports(const std::string& nspace) {
  if (ShimJob* const job = Find(nspace)) job->ResumeReports();
}

}  // namespace canopy::process
