#include "server/control/hosted_jobs.h"

#include <sys/random.h>

#include <utility>

namespace canopy::control {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr int64_t kOpenNs = 30'000'000'000;

}  // namespace

std::string HostedJobs::NewToken() {
  std::string token(kTokenBytes, '\0');
  for (size_t have = 0; have < token.size();) {
    const ssize_t n =
        getrandom(token.data() + have, token.size() - have, /*flags=*/0);
    if (n > 0) have += static_cast<size_t>(n);
  }
  return token;
}

HostedLauncher* HostedJobs::Add(const std::string& nspace, uint64_t* id) {
  *id = listener_->NewLauncher();
  HostedLauncher::Events events;
  events.request = [this, id = *id](v1::RunRequest request) {
    listener_->OnRequest(id, std::move(request));
  };
  events.gone = [this, id = *id] { Remove(id); };
  events.job = [this, nspace](const std::string& name) {
    const JobRecord* const job =
        families_->FindJob(name.empty() ? nspace : name);
    return job == nullptr ? nullptr : job->job.get();
  };
  events.persist = [this, nspace](const std::string& state) {
    LaunchPersistence* const persistence = families_->persistence();
    if (persistence != nullptr) persistence->PersistOutput(nspace, state);
  };
  events.warn = [this, nspace](const std::string& text) {
    warn_("job " + nspace + ": " + text);
  };
  auto& launcher = launchers_[*id];
  launcher = std::make_unique<HostedLauncher>(loop_, std::move(events));
  return launcher.get();
}

void HostedJobs::Begin(const PlacementId& placement, const std::string& nspace,
                       const HostOutput& output, Begun done) {
  if (threads_.use_count() > kMaxOpening) {
    return done(Status(kErrResourceBusy, "the files of " +
                                             std::to_string(kMaxOpening) +
                                             " jobs are being opened"));
  }
  uint64_t id = 0;
  HostedLauncher* const launcher = Add(nspace, &id);
  opening_[placement] =
      loop_->AddTimer(kOpenNs, [this, alive = alive_, placement, id, done] {
        if (!*alive) return;
        OnOpened(placement, id,
                 Status(kErrTimeout, "its files could not be opened in time"),
                 done);
      });
  launcher->Begin(output, threads_,
                  [this, placement, id, done](const Status& status) {
                    loop_->CancelTimer(opening_.at(placement));
                    OnOpened(placement, id, status, done);
                  });
}

void HostedJobs::OnOpened(const PlacementId& placement, uint64_t id,
                          const Status& status, const Begun& done) {
  opening_.erase(placement);
  // `done` is copied, because it may belong to the launcher, which may be
  // destroyed here.
  const Begun decided = done;
  const auto launcher = launchers_.find(id);
  if (!status.ok()) {
    launchers_.erase(launcher);
    return decided(status);
  }
  listener_->OnLauncher(id, launcher->second.get(), OwnUser());
  decided(id);
}

void HostedJobs::Remove(uint64_t id) {
  listener_->OnGone(id);
  launchers_.erase(id);
}

// Posts the reattachment of the job's launcher, because the core has no jobs
// before the loop runs.
void HostedJobs::Recover(const PersistedJob& job) {
  loop_->Post([this, alive = alive_, job] {
    if (!*alive) return;
    uint64_t id = 0;
    HostedLauncher* const launcher = Add(job.job->nspace, &id);
    listener_->OnLauncher(id, launcher, OwnUser());
    launcher->Reattach(*job.facts.host_output, job.token, job.output);
  });
}

}  // namespace canopy::control
