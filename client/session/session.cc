#include "client/session/session.h"

#include <utility>

#include "client/session/shm_job.h"
#include "common/codec/infos.h"
#include "common/wire.h"

namespace canopy::client {

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
      gate_(std::move(bootstrap.gate)) {
  if (bootstrap.socket == nullptr) return;
  socket_fd_ = bootstrap.socket->fd();
  channel_ =
      std::make_unique<Channel>(std::move(bootstrap.socket), this, &progress_);
}

Session::~Session() {
  Disconnect();
  progress_.Stop();
}

void Session::NoteCommit() {
  if (gate_ == nullptr) return;
  gate_->CountCommit();
  committed_ = true;
}

void Session::Disconnect() {
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

void Session::OnLost() {
  progress_.Post([this] {
    events_.Raise(MakeEvent(PMIX_ERR_LOST_CONNECTION, server_,
                            PMIX_RANGE_PROC_LOCAL, InfoList()));
  });
}

}  // namespace canopy::client
