#include "client/session/session.h"

#include <chrono>
#include <thread>
#include <utility>

#include "client/session/shm_job.h"
#include "common/codec/infos.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

constexpr std::chrono::milliseconds kBetweenAttempts{10};

}  // namespace

Session::Session(Bootstrap bootstrap, bool external_progress)
    : self_(bootstrap.self),
      server_(bootstrap.server),
      namespaces_(bootstrap.self.nspace, std::move(bootstrap.job)),
      lookup_(self_, namespaces_, store_),
      progress_(external_progress),
      events_(
          this,
          [this](Progress::Task task) { progress_.Post(std::move(task)); },
          [this] { return progress_.InTask(); }),
      environment_(std::move(bootstrap.environment)),
      reattach_ms_(bootstrap.reattach_ms),
      epoch_(bootstrap.epoch),
      barrier_(std::move(bootstrap.barrier)),
      commits_(std::move(bootstrap.commits)) {
  if (bootstrap.socket == nullptr) return;
  socket_fd_ = bootstrap.socket->fd();
  channel_ =
      std::make_unique<Channel>(std::move(bootstrap.socket), this, &progress_);
}

Session::~Session() {
  Disconnect();
  progress_.Stop();
}

void Session::Disconnect() {
  closing_ = true;
  if (channel_ != nullptr) channel_->Close();
}

bool Session::OnSameNode(const ProcId& proc) const {
  if (proc == server_) return true;
  const JobView* job = namespaces_.Find(proc.nspace);
  if (job == nullptr || !IsProcessRank(proc.rank)) return false;
  const uint32_t node = job->NodeOf(proc.rank);
  return node != kNoNode && node == job->self_node();
}

void Session::OnEvent(std::string_view payload) {
  WireReader in(payload);
  const int64_t status = in.Int();
  ProcId source = in.Proc();
  const uint32_t range = in.Uint32();
  const std::string_view encoded = in.String();
  InfoList infos;
  if (!in.ok() || range > UINT8_MAX || !DecodeInfos(encoded, &infos)) return;
  events_.Raise(MakeEvent(static_cast<pmix_status_t>(status), std::move(source),
                          static_cast<pmix_data_range_t>(range),
                          std::move(infos)));
}

void Session::OnSegment(std::string_view payload, UniqueFd fd) {
  WireReader in(payload);
  const std::string nspace(in.String());
  const uint64_t size = in.Uint();
  if (!in.ok() || !fd) return;
  auto job = ShmJob::Map(fd.get(), size);
  if (job.ok()) namespaces_.Add(nspace, std::move(job).value());
}

void Session::OnHandover(std::string_view payload) {
  WireReader in(payload);
  const uint32_t ms = in.Uint32();
  if (in.ok()) reattach_ms_ = ms;
}

void Session::OnAnswered(local::FrameType type, std::string_view request,
                         int status) {
  if (type == local::FrameType::kCollective) counts_.Add(request, status);
}

std::optional<Bootstrap> Session::FindNextAgent() {
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(reattach_ms_.load());
  while (!closing_) {
    Result<Bootstrap> next = ConnectToAgent(environment_);
    if (next.ok()) {
      if (next->epoch == epoch_) return std::nullopt;
      return std::move(next).value();
    }
    // An agent that is there and does not know this process never will.
    if (next.code() != kErrUnreach) return std::nullopt;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return std::nullopt;
}

std::unique_ptr<FrameSocket> Session::Reattach() {
  if (!MayReattach() || closing_) return nullptr;
  std::optional<Bootstrap> next = FindNextAgent();
  if (!next) return nullptr;
  // A participant in the old barrier has seen the end of its fence or arrives
  // by message; either is known afterwards.
  std::lock_guard<std::mutex> lock(barrier_mu_);
  // Every commit is included in what is sent here, or goes to the successor.
  std::lock_guard<std::mutex> commit_lock(commit_mu_);
  FrameSocket& socket = *next->socket;
  const std::string counts = counts_.Encode(self_.nspace);
  const std::string commits = staged_.CommittedFrame();
  const SubscriptionChange wanted = subscriptions_.Now();
  int rc = kSuccess;
  if (!counts.empty()) {
    rc = socket.Send(local::FrameType::kReattach, 0, counts);
  }
  if (rc == kSuccess && !commits.empty()) {
    rc = socket.Send(local::FrameType::kCommit, 0, commits);
    committed_ = true;
  }
  if (rc == kSuccess && !wanted.empty()) {
    rc = socket.Send(local::FrameType::kEventsWanted, 0, wanted.Encode());
  }
  commits_ = std::move(next->commits);
  former_barriers_.push_back(std::exchange(barrier_, std::move(next->barrier)));
  namespaces_.ReplaceOwn(std::move(next->job));
  reattach_ms_ = next->reattach_ms;
  epoch_ = next->epoch;
  socket_fd_ = socket.fd();
  // With an agent that is gone again already it begins anew.
  return std::move(next->socket);
}

void Session::OnLost() {
  progress_.Post([this] {
    events_.Raise(MakeEvent(PMIX_ERR_LOST_CONNECTION, server_,
                            PMIX_RANGE_PROC_LOCAL, InfoList()));
  });
}

}  // namespace canopy::client
