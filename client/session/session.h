// What one process has while it is initialised: who it is, the data it can
// read, its connection, its handlers. The operations on it are functions of
// their own (get_op.h, put_op.h, ...).
#ifndef CANOPY_CLIENT_SESSION_SESSION_H_
#define CANOPY_CLIENT_SESSION_SESSION_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/channel/channel.h"
#include "client/channel/progress.h"
#include "client/events/event_engine.h"
#include "client/events/subscriptions.h"
#include "client/session/bootstrap.h"
#include "client/session/collective_counts.h"
#include "client/session/lookup.h"
#include "client/session/namespaces.h"
#include "client/session/pointer_cache.h"
#include "client/session/staged_puts.h"
#include "client/session/value_store.h"
#include "common/ids.h"
#include "common/shm/barrier_participant.h"
#include "common/shm/commit_writer.h"

namespace canopy::client {

// Thread-safe. Must not be destroyed while a call is inside, nor from a task
// of its progress().
class Session final : public ChannelSink, public SourcePlaces {
 public:
  // `external_progress`: callbacks run in PMIx_Progress only.
  Session(Bootstrap bootstrap, bool external_progress);
  ~Session() override;

  const ProcId& self() const override { return self_; }
  const ProcId& server() const { return server_; }
  Namespaces& namespaces() { return namespaces_; }
  // The own job.
  const JobView& job() const { return namespaces_.own(); }
  ValueStore& store() { return store_; }
  StagedPuts& staged() { return staged_; }
  PointerCache& pointers() { return pointers_; }
  const Lookup& lookup() const { return lookup_; }
  Progress& progress() { return progress_; }
  EventEngine& events() { return events_; }
  Subscriptions& subscriptions() { return subscriptions_; }
  // Null for a singleton.
  Channel* channel() { return channel_.get(); }
  int socket_fd() const { return socket_fd_.load(); }
  // The barrier for fences over the whole job; null: they use messages. Used
  // under the mutex; replaced when the process reattaches.
  std::mutex& barrier_mutex() { return barrier_mu_; }
  shm::BarrierParticipant* barrier() { return barrier_.get(); }
  // Counts a fence over the whole job that begins, and one that is over. True
  // when no other is in progress in this process, so that it may use the
  // barrier, in which a rank has one bit: fences of one rank must arrive in
  // order.
  bool BeginFence() { return fences_.fetch_add(1) == 0; }
  void EndFence() { fences_.fetch_sub(1); }
  CollectiveCounts& counts() { return counts_; }
  // The mailbox for commits; null: they are messages. Used under the mutex, as
  // are the staged puts; replaced when the process reattaches.
  std::mutex& commit_mutex() { return commit_mu_; }
  shm::CommitWriter* commits() { return commits_.get(); }
  // Whether to reattach to a successor when the agent is gone.
  bool MayReattach() const { return reattach_ms_.load() > 0; }
  // A commit was sent to the agent or left in the mailbox.
  void NoteCommit() { committed_ = true; }
  // Whether one did since the last call.
  bool TakeCommitted() { return committed_.exchange(false); }

  // Fails what waits for the agent; later calls fail at once.
  void Disconnect();

  // SourcePlaces.
  bool OnSameNode(const ProcId& proc) const override;
  bool IsServer(const ProcId& proc) const override { return proc == server_; }

  // ChannelSink.
  void OnEvent(std::string_view payload) override;
  void OnSegment(std::string_view payload, UniqueFd fd) override;
  void OnLost() override;
  void OnHandover(std::string_view payload) override;
  void OnAnswered(local::FrameType type, std::string_view request,
                  int status) override;
  std::unique_ptr<FrameSocket> Reattach() override;

 private:
  // Connects to a successor; nothing when there is none, or only the agent that
  // has just closed the connection.
  std::optional<Bootstrap> FindNextAgent();

  const ProcId self_;
  const ProcId server_;
  Namespaces namespaces_;
  ValueStore store_;
  StagedPuts staged_;
  PointerCache pointers_;
  const Lookup lookup_;
  Subscriptions subscriptions_;
  Progress progress_;
  EventEngine events_;
  std::atomic<int> socket_fd_{-1};
  const Environment environment_;
  std::atomic<uint32_t> reattach_ms_;
  uint64_t epoch_;  // of the agent
  std::atomic<bool> closing_{false};
  std::mutex barrier_mu_;
  std::unique_ptr<shm::BarrierParticipant> barrier_;
  // Of predecessors: other threads may still use them.
  std::vector<std::unique_ptr<shm::BarrierParticipant>> former_barriers_;
  CollectiveCounts counts_;
  std::mutex commit_mu_;
  std::unique_ptr<shm::CommitWriter> commits_;
  std::atomic<bool> committed_{false};
  std::atomic<uint32_t> fences_{0};
  std::unique_ptr<Channel> channel_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SESSION_H_
