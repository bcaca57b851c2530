#include "server/local/local_jobs.h"

#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::local {
namespace {

std::vector<Rank> RanksOf(const LocalJob& job) {
  std::vector<Rank> ranks;
  for (const auto& [rank, state] : job.ranks) ranks.push_back(rank);
  return ranks;
}

}  // namespace

LocalJobs::LocalJobs(EventLoop* loop, InputSink* sink, LocalJobsOptions options)
    : loop_(loop), sink_(sink), options_(std::move(options)) {}

LocalJobs::~LocalJobs() { loop_->CancelTimer(watch_timer_); }

void LocalJobs::Add(const core::RegisterJob& registration) {
  const std::string& nspace = registration.job->nspace;
  LocalJob job;
  job.uid = registration.job->uid;
  job.local_only = registration.job->nodes.size() == 1;
  for (const Rank rank : registration.layout->ranks_of_agent(options_.self)) {
    job.ranks[rank].token = options_.token({nspace, rank});
  }
  LocalJob& added = jobs_[nspace] = std::move(job);
  auto former = inherited_.extract(nspace);
  if (former.empty() || added.ranks.empty()) return;
  MakeBoxes(nspace, &added, std::move(former.mapped()));
  TakeCommits({nspace, kRankWildcard});
}

void LocalJobs::Inherit(const std::string& nspace, UniqueFd boxes) {
  if (boxes) {
    inherited_[nspace] = std::move(boxes);
  } else {
    inherited_.erase(nspace);
  }
}

LocalJob* LocalJobs::Find(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

LocalRank* LocalJobs::FindRank(const ProcId& proc) {
  LocalJob* job = Find(proc.nspace);
  if (job == nullptr) return nullptr;
  const auto rank = job->ranks.find(proc.rank);
  return rank == job->ranks.end() ? nullptr : &rank->second;
}

FenceGate* LocalJobs::FindGate(const std::string& nspace) {
  LocalJob* job = Find(nspace);
  return job == nullptr ? nullptr : job->gate.get();
}

CommitBoxes* LocalJobs::FindBoxes(const std::string& nspace) {
  LocalJob* job = Find(nspace);
  return job == nullptr ? nullptr : job->boxes.get();
}

void LocalJobs::MakeGate(const std::string& nspace, LocalJob* job) {
  auto gate = FenceGate::Create(
      RanksOf(*job), job->local_only, sink_,
      [this](std::function<void()> work) { Defer(std::move(work)); },
      [this, nspace](Rank rank) {
        TakeCommits({nspace, rank});
      });
  if (!gate.ok()) return;
  job->gate = std::move(gate).value();
  StartWatch();
}

GateOffer LocalJobs::OfferGate(const ProcId& proc, core::ClientId client) {
  LocalJob* job = Find(proc.nspace);
  if (job == nullptr) return {};
  if (job->gate == nullptr) MakeGate(proc.nspace, job);
  if (job->gate == nullptr) return {};
  const int index = job->gate->Admit(proc.rank, client);
  if (index < 0) return {};
  return {job->gate->size(), static_cast<uint32_t>(index)};
}

void LocalJobs::MakeBoxes(const std::string& nspace, LocalJob* job,
                          UniqueFd former) {
  auto boxes = CommitBoxes::Make(
      nspace, RanksOf(*job), std::move(former), sink_,
      [this](std::function<void()> work) { Defer(std::move(work)); },
      [this, nspace](Rank rank) {
        options_.on_spoiled({nspace, rank});
      });
  if (!boxes.ok()) return;
  job->boxes = std::move(boxes).value();
  if (job->boxes_closed) job->boxes->Close();
  StartWatch();
  if (!options_.keep_boxes) return;
  options_.keep_boxes(nspace, DuplicateFd(job->boxes->fd()));
}

uint64_t LocalJobs::OfferBoxes(const std::string& nspace, uint32_t index) {
  LocalJob* job = Find(nspace);
  if (job == nullptr) return 0;
  if (job->boxes == nullptr) MakeBoxes(nspace, job, UniqueFd());
  if (job->boxes == nullptr) return 0;
  job->boxes->Admit(index);
  return job->boxes->size();
}

void LocalJobs::CloseBoxes(const std::string& nspace) {
  LocalJob* job = Find(nspace);
  if (job == nullptr) return;
  job->boxes_closed = true;
  if (job->boxes != nullptr) job->boxes->Close();
}

void LocalJobs::TakeCommits(const ProcId& proc) {
  CommitBoxes* boxes = FindBoxes(proc.nspace);
  if (boxes == nullptr) return;
  if (proc.rank <= kRankValid) {
    boxes->Take(proc.rank);
  } else {
    boxes->TakeAll();
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
  for (const auto& [nspace, job] : jobs_) {
    if (job.gate != nullptr || job.boxes != nullptr) watched.push_back(nspace);
  }
  for (const std::string& nspace : watched) {
    if (CommitBoxes* boxes = FindBoxes(nspace)) boxes->TakeAll();
    if (FenceGate* gate = FindGate(nspace)) gate->Watch();
  }
  if (!watched.empty()) StartWatch();
}

}  // namespace canopy::local
