#include "server/local/local_jobs.h"

#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::local {
namespace {

std::vector<Rank> RanksOf(const LocalJobs::Job& job) {
  std::vector<Rank> ranks;
  for (const auto& [rank, state] : job.ranks) ranks.push_back(rank);
  return ranks;
}

}  // namespace

LocalJobs::LocalJobs(EventLoop* loop, InputSink* sink, LocalJobsOptions options)
    : loop_(loop),
      sink_(sink),
      options_(std::move(options)),
      processes_(options_.self) {}

LocalJobs::~LocalJobs() { loop_->CancelTimer(watch_timer_); }

void LocalJobs::Add(const core::RegisterJob& registration) {
  const std::string& nspace = registration.job->nspace;
  Job& added = processes_.Add(registration);
  for (auto& [rank, process] : added.ranks) {
    process.token = options_.token({nspace, rank});
  }
  auto former = recovered_mailboxes_.extract(nspace);
  if (former.empty() || added.ranks.empty()) return;
  MakeMailboxes(nspace, &added, std::move(former.mapped()));
  TakeCommits({nspace, kRankWildcard});
}

void LocalJobs::RecoverMailboxes(const std::string& nspace,
                                 UniqueFd mailboxes) {
  if (mailboxes) {
    recovered_mailboxes_[nspace] = std::move(mailboxes);
  } else {
    recovered_mailboxes_.erase(nspace);
  }
}

size_t LocalJobs::NumRanks() const {
  size_t count = 0;
  for (const auto& [nspace, job] : processes_.jobs()) {
    count += job.spec->procs.size();
  }
  return count;
}

FenceBarrier* LocalJobs::FindBarrier(const std::string& nspace) {
  Job* job = Find(nspace);
  return job == nullptr ? nullptr : job->barrier.get();
}

CommitMailboxes* LocalJobs::FindMailboxes(const std::string& nspace) {
  Job* job = Find(nspace);
  return job == nullptr ? nullptr : job->mailboxes.get();
}

void LocalJobs::MakeBarrier(const std::string& nspace, Job* job) {
  const bool local_only =
      job->spec->nodes.size() == 1 && !options_.host_decides_fences;
  auto barrier = FenceBarrier::Create(
      RanksOf(*job), local_only, sink_,
      [this](std::function<void()> work) { Defer(std::move(work)); },
      [this, nspace](Rank rank) {
        TakeCommits({nspace, rank});
      });
  if (!barrier.ok()) return;
  job->barrier = std::move(barrier).value();
  StartWatch();
}

BarrierOffer LocalJobs::OfferBarrier(const ProcId& proc,
                                     core::ClientId client) {
  Job* job = Find(proc.nspace);
  if (job == nullptr) return {};
  if (job->barrier == nullptr) MakeBarrier(proc.nspace, job);
  if (job->barrier == nullptr) return {};
  const int index = job->barrier->Admit(proc.rank, client);
  if (index < 0) return {};
  return {job->barrier->size(), static_cast<uint32_t>(index)};
}

void LocalJobs::MakeMailboxes(const std::string& nspace, Job* job,
                              UniqueFd former) {
  auto mailboxes = CommitMailboxes::Make(
      nspace, RanksOf(*job), std::move(former), sink_,
      [this](std::function<void()> work) { Defer(std::move(work)); },
      [this, nspace](Rank rank) {
        options_.on_corrupted({nspace, rank});
      });
  if (!mailboxes.ok()) return;
  job->mailboxes = std::move(mailboxes).value();
  if (job->mailboxes_closed) job->mailboxes->Close();
  StartWatch();
  if (options_.fd_store == nullptr) return;
  options_.fd_store->HoldFile(
      nspace, {kMailboxesName, DuplicateFd(job->mailboxes->fd())});
}

uint64_t LocalJobs::OfferMailboxes(const std::string& nspace, uint32_t index) {
  Job* job = Find(nspace);
  if (job == nullptr) return 0;
  if (job->mailboxes == nullptr) MakeMailboxes(nspace, job, UniqueFd());
  if (job->mailboxes == nullptr) return 0;
  job->mailboxes->Admit(index);
  return job->mailboxes->size();
}

void LocalJobs::CloseMailboxes(const std::string& nspace) {
  Job* job = Find(nspace);
  if (job == nullptr) return;
  job->mailboxes_closed = true;
  if (job->mailboxes != nullptr) job->mailboxes->Close();
}

void LocalJobs::TakeCommits(const ProcId& proc) {
  CommitMailboxes* mailboxes = FindMailboxes(proc.nspace);
  if (mailboxes == nullptr) return;
  if (proc.rank <= kRankValid) {
    mailboxes->Take(proc.rank);
  } else {
    mailboxes->TakeAll();
  }
}

void LocalJobs::StartWatch() {
  if (watch_timer_ != 0) return;
  watch_timer_ = loop_->AddTimer(options_.watch_ns, [this] {
    watch_timer_ = 0;
    Watch();
  });
}

void LocalJobs::Watch() {
  std::vector<std::string> watched;
  for (const auto& [nspace, job] : processes_.jobs()) {
    if (job.barrier != nullptr || job.mailboxes != nullptr)
      watched.push_back(nspace);
  }
  for (const std::string& nspace : watched) {
    if (CommitMailboxes* mailboxes = FindMailboxes(nspace))
      mailboxes->TakeAll();
    if (FenceBarrier* barrier = FindBarrier(nspace)) barrier->Watch();
  }
  if (!watched.empty()) StartWatch();
}

}  // namespace canopy::local
