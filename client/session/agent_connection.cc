#include "client/session/agent_connection.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "client/session/shm_job.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/local/events.h"
#include "common/local/greeting.h"
#include "common/mutex.h"
#include "common/shm/memory_file.h"
#include "common/status.h"

namespace canopy::client {

using local::FrameType;

AgentConnection::AgentConnection(Bootstrap* bootstrap, Parts parts)
    : parts_(std::move(parts)),
      search_(std::move(bootstrap->environment), bootstrap->reattach_ms,
              bootstrap->epoch) {
  if (bootstrap->socket == nullptr) return;
  socket_fd_ = bootstrap->socket->fd();
  // The channel is created last, because its reading thread may call this
  // object from now on.
  channel_ = std::make_unique<Channel>(std::move(bootstrap->socket), this,
                                       &parts_.progress);
}

void AgentConnection::Close(int status) {
  search_.Stop();
  if (channel_ != nullptr) channel_->Close(status);
}

// -------------------------------------------------- frames from the agent ---

void AgentConnection::OnEvent(std::string_view payload) {
  local::Event event;
  InfoList infos;
  if (!wire::Decode(payload, &event) || !DecodeInfos(event.info, &infos) ||
      !parts_.seen.Note(event.raiser, event.number)) {
    return;
  }
  parts_.events.Raise(MakeEvent(event.status, OwnerOf(event.source),
                                event.range, std::move(infos)));
}

namespace {

// Makes a file from the copy that the agent sends if it cannot pass the
// descriptor.
UniqueFd FileOf(const local::Segment& segment) {
  constexpr uint64_t kMaxFile = uint64_t{1} << 40;
  const uint64_t size = segment.file_size;
  UniqueFd file = shm::CreateMemoryFile("canopy-job-copy");
  if (size > kMaxFile || !file ||
      ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return UniqueFd();
  }
  for (const auto& [at, bytes] : segment.copy) {
    if (at > size || bytes.size() > size - at ||
        pwrite(file.get(), bytes.data(), bytes.size(),
               static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size())) {
      return UniqueFd();
    }
  }
  return file;
}

}  // namespace

void AgentConnection::OnSegment(std::string_view payload, UniqueFd fd) {
  local::Segment segment;
  if (!wire::Decode(payload, &segment)) return;
  if (!fd) fd = FileOf(segment);
  if (!fd) return;
  auto job = ShmJob::Map(fd.get(), segment.size);
  if (job.ok()) {
    parts_.namespaces.Add(std::string(segment.nspace), std::move(job).value());
  }
}

void AgentConnection::OnHandover(std::string_view payload) {
  local::Handover handover;
  if (wire::Decode(payload, &handover)) search_.SetLimit(handover.reattach_ms);
}

void AgentConnection::OnAnswered(FrameType type, std::string_view request,
                                 int status) {
  if (type == FrameType::kCollective) {
    parts_.fences.counts().Add(request, status);
  } else if (type == FrameType::kGroupCall) {
    parts_.fences.counts().AddGroupCall(request, status);
  }
}

void AgentConnection::OnLost() {
  // Raise takes the lock of the handlers, which must not happen here, because
  // the channel holds its own lock. Therefore a task calls Raise.
  parts_.progress.Post([&events = parts_.events, server = parts_.server] {
    events.Raise(MakeEvent(PMIX_ERR_LOST_CONNECTION, server,
                           PMIX_RANGE_PROC_LOCAL, InfoList()));
  });
}

// --------------------------------------------------------------- reattach ---

std::unique_ptr<FrameSocket> AgentConnection::Reattach() {
  std::optional<Bootstrap> next = search_.Find();
  if (!next) return nullptr;
  // No fence uses the old barrier while this mutex is held. Each fence has
  // either ended or arrives again by message, so the counts of ended
  // collectives that RestoreState sends are right.
  const MutexLock lock(parts_.fences.mutex());
  // While this mutex is held, no commit begins. Every commit is either included
  // in the state that is sent here, or is in the successor's mailbox.
  const MutexLock commit_lock(parts_.commits.mutex());
  // If this successor is gone already, the channel fails on its socket and
  // reattaches to the next one, which gets the whole state again.
  (void)RestoreState(*next->socket);
  Adopt(&*next);
  return std::move(next->socket);
}

// Sends the state before any request, because the successor derives the next
// collectives from the counts of ended ones. The counts are sent even if no
// collective has ended. Other state is left out if it is empty. Returns a PMIx
// status.
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
