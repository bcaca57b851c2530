#include "client/session/agent_connection.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "client/session/shm_job.h"
#include "common/codec/infos.h"
#include "common/mutex.h"
#include "common/shm/memory_file.h"
#include "common/status.h"
#include "common/wire.h"

namespace canopy::client {

using local::FrameType;

AgentConnection::AgentConnection(Bootstrap* bootstrap, Parts parts)
    : parts_(std::move(parts)),
      search_(std::move(bootstrap->environment), bootstrap->reattach_ms,
              bootstrap->epoch) {
  if (bootstrap->socket == nullptr) return;
  socket_fd_ = bootstrap->socket->fd();
  // Created last: its reader may call this object from here on.
  channel_ = std::make_unique<Channel>(std::move(bootstrap->socket), this,
                                       &parts_.progress);
}

void AgentConnection::Close(int status) {
  search_.Stop();
  if (channel_ != nullptr) channel_->Close(status);
}

// -------------------------------------------------- frames from the agent ---

void AgentConnection::OnEvent(std::string_view payload) {
  WireReader in(payload);
  const int64_t status = in.Int();
  ProcId source = in.Proc();
  const uint32_t range = in.Uint32();
  const std::string_view encoded = in.String();
  InfoList infos;
  if (!in.ok() || range > UINT8_MAX || !DecodeInfos(encoded, &infos)) return;
  const ProcView raiser = in.ProcInPlace();
  const uint64_t number = in.Uint();
  if (in.ok() && !parts_.seen.Note(raiser, number)) return;
  parts_.events.Raise(
      MakeEvent(static_cast<pmix_status_t>(status), std::move(source),
                static_cast<pmix_data_range_t>(range), std::move(infos)));
}

namespace {

// Makes a file from the copy that the agent sends if it cannot pass the
// descriptor: its size, and offset and bytes of each part of it.
UniqueFd FileOf(std::string_view content) {
  constexpr uint64_t kMaxFile = uint64_t{1} << 40;
  WireReader in(content);
  UniqueFd file = shm::CreateMemoryFile("canopy-job-copy");
  const uint64_t size = in.Uint();
  if (!in.ok() || size > kMaxFile || !file ||
      ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return UniqueFd();
  }
  while (!in.done()) {
    const uint64_t at = in.Uint();
    const std::string_view part = in.String();
    if (!in.ok() || at > size || part.size() > size - at ||
        pwrite(file.get(), part.data(), part.size(), static_cast<off_t>(at)) !=
            static_cast<ssize_t>(part.size())) {
      return UniqueFd();
    }
  }
  return file;
}

}  // namespace

void AgentConnection::OnSegment(std::string_view payload, UniqueFd fd) {
  WireReader in(payload);
  const std::string nspace(in.String());
  const uint64_t size = in.Uint();
  if (in.ok() && !fd) fd = FileOf(in.String());
  if (!in.ok() || !fd) return;
  auto job = ShmJob::Map(fd.get(), size);
  if (job.ok()) parts_.namespaces.Add(nspace, std::move(job).value());
}

void AgentConnection::OnHandover(std::string_view payload) {
  WireReader in(payload);
  const uint32_t limit_ms = in.Uint32();
  if (in.ok()) search_.SetLimit(limit_ms);
}

void AgentConnection::OnAnswered(FrameType type, std::string_view request,
                                 int status) {
  if (type == FrameType::kCollective) {
    parts_.fences.counts().Add(request, status);
  } else if (type == FrameType::kGroup) {
    parts_.fences.counts().AddGroup(request, status);
  } else if (type == FrameType::kGroupCall) {
    parts_.fences.counts().AddGroupCall(request, status);
  }
}

void AgentConnection::OnLost() {
  // The channel holds its lock here, so a task takes the lock of the handlers.
  parts_.progress.Post([&events = parts_.events, server = parts_.server] {
    events.Raise(MakeEvent(PMIX_ERR_LOST_CONNECTION, server,
                           PMIX_RANGE_PROC_LOCAL, InfoList()));
  });
}

// --------------------------------------------------------------- reattach ---

std::unique_ptr<FrameSocket> AgentConnection::Reattach() {
  std::optional<Bootstrap> next = search_.Find();
  if (!next) return nullptr;
  // A participant in the old barrier has seen the end of its fence or arrives
  // by message; the counts are right in both cases.
  const MutexLock lock(parts_.fences.mutex());
  // Every commit is either included in the state sent here, or goes to the
  // successor.
  const MutexLock commit_lock(parts_.commits.mutex());
  // If this successor is gone already, the channel fails on its socket and
  // reattaches to the next one, which gets the whole state again.
  (void)RestoreState(*next->socket);
  Adopt(&*next);
  return std::move(next->socket);
}

// Sends the state before any request: the successor derives from the counts
// which collectives come next, even if none has ended. Other empty state is
// left out. Returns a PMIx status.
int AgentConnection::RestoreState(FrameSocket& socket) {
  const std::string counts =
      parts_.fences.counts().Encode(parts_.namespaces.own_nspace());
  const std::string commits = parts_.commits.staged().CommittedFrame();
  const SubscriptionChange wanted = parts_.subscriptions.Now();
  int rc = socket.Send(FrameType::kReattach, 0, counts);
  if (rc == kSuccess && !commits.empty()) {
    rc = socket.Send(FrameType::kCommit, 0, commits);
    parts_.commits.Note();
  }
  if (rc == kSuccess && !wanted.empty()) {
    rc = socket.Send(FrameType::kEventsWanted, 0, wanted.Encode());
  }
  return rc;
}

void AgentConnection::Adopt(Bootstrap* successor) {
  parts_.commits.Replace(std::move(successor->commits));
  parts_.fences.Replace(std::move(successor->barrier));
  parts_.namespaces.ReplaceOwn(std::move(successor->job));
  search_.Accept(*successor);
  socket_fd_ = successor->socket->fd();
}

}  // namespace canopy::client
