// An agent for tests: one thread that speaks the local protocol to one client,
// with a job in shared memory. The test sets its answers.
#ifndef CANOPY_CLIENT_SESSION_FAKE_AGENT_H_
#define CANOPY_CLIENT_SESSION_FAKE_AGENT_H_

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/local_protocol.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/shm/barrier_participant.h"
#include "common/shm/barrier_server.h"
#include "common/shm/commit_reader.h"
#include "common/shm/segment_writer.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {

// A frame from the client.
struct Request {
  local::FrameType type{};
  uint64_t tag = 0;
  std::string payload;

  // Returns the frame, whose views point into the payload. Ends the test if the
  // payload is malformed.
  template <typename M>
  M As() const& {
    M message;
    if (!wire::Decode(payload, &message)) abort();
    return message;
  }
  template <typename M>
  M As() const&& = delete;
};

// An agent with a job of 4 ranks: 0 (the client) and 1 on node "here", 2 and 3
// on node "there" (alias "there.site"); ranks 0 to 2 in application 0, rank 3
// in application 1.
class FakeAgent {
 public:
  using Handler = std::function<void(FakeAgent&, const Request&)>;

  // Sets the environment so that PMIx_Init connects here.
  explicit FakeAgent(const std::string& nspace = "job-1");
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  const std::string& nspace() const { return nspace_; }
  const std::string& socket_path() const { return path_; }
  // Renames the agent. Without this call its name is agent:0.
  void Rename(const ProcId& server);
  // Returns the PMIX_PROCDIR of rank 0 or 1. The directory is not created, but
  // removed at the end.
  std::string RankDirectory(Rank rank) const;

  // Sets the handler of a frame type, which runs in the agent's thread. Without
  // a handler a kGet is answered with kErrNotFound and every other request with
  // success.
  void On(local::FrameType type, Handler handler);

  // The following functions may be called from any thread.

  void Reply(const Request& request, int status, std::string_view payload = {});
  // A `number` of 0 gives the event a number that no other event has.
  void SendEvent(int status, const ProcId& source, uint8_t range,
                 const InfoList& infos, uint64_t number = 0);
  // Called before PMIx_Init: the client gets an open barrier for ranks 0 and 1.
  // With `local_only` the job has no other ranks.
  void OfferBarrier(bool local_only);
  shm::BarrierServer& barrier() { return *barrier_; }
  // Called before PMIx_Init: the client gets the barrier, and mailboxes for the
  // commits of ranks 0 and 1.
  void OfferMailboxes();
  shm::CommitReader& mailboxes() { return *mailboxes_; }
  // Returns rank 1's side of the barrier.
  shm::BarrierParticipant& other_participant() { return *other_participant_; }
  // Sets the content of the next welcomes: the time to try to reattach when
  // this agent is gone, and its epoch (not 0).
  void BeAgent(uint64_t epoch, uint32_t reattach_ms);
  // Makes another namespace (one node, `ranks` ranks, PMIX_JOB_SIZE) and offers
  // it to the client.
  void OfferNamespace(const std::string& nspace, uint32_t ranks);
  // Replaces the committed data of a rank; the keys in `outside` are for other
  // nodes only.
  void Publish(Rank rank, const std::vector<KeyValue>& kvals,
               const std::vector<std::string>& outside = {});
  // Closes the connection, as it happens when an agent dies.
  void Die();
  // Sends bytes that need not be a frame.
  void SendRaw(std::string_view bytes);

  // Waits until the client has sent `count` frames of that type and returns
  // the last of them.
  Request Await(local::FrameType type, size_t count = 1);
  size_t Count(local::FrameType type) const;
  // Returns the types of all frames so far, in order.
  std::vector<local::FrameType> Seen() const;

 private:
  static shm::SegmentContents Contents(const std::string& nspace);
  void Serve();
  bool ReadExactly(void* to, size_t size);
  void Handle(const Request& request);
  void Welcome(const Request& request);
  // A tool without a name is named "tool".
  void WelcomeTool(const Request& request);
  void Send(local::FrameType type, uint64_t tag, std::string_view payload,
            const std::vector<int>& fds = {});

  const std::string nspace_;
  std::string directory_;
  std::string path_;
  UniqueFd listener_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::vector<std::unique_ptr<shm::SegmentWriter>> other_segments_
      CANOPY_GUARDED_BY(mu_);

  std::unique_ptr<shm::BarrierServer> barrier_;
  std::unique_ptr<shm::BarrierParticipant> other_participant_;
  std::unique_ptr<shm::CommitReader> mailboxes_;

  mutable Mutex mu_;
  ProcId server_ CANOPY_GUARDED_BY(mu_){"agent", 0};
  uint64_t epoch_ CANOPY_GUARDED_BY(mu_) = 0;
  uint32_t reattach_ms_ CANOPY_GUARDED_BY(mu_) = 0;
  uint64_t events_ CANOPY_GUARDED_BY(mu_) = uint64_t{1} << 32;
  CondVar changed_;
  UniqueFd connection_ CANOPY_GUARDED_BY(mu_);
  std::map<local::FrameType, Handler> handlers_ CANOPY_GUARDED_BY(mu_);
  std::vector<Request> requests_ CANOPY_GUARDED_BY(mu_);
  Mutex send_mu_;
  std::thread thread_;
};

// Encodes KVALs back to back, in wire format.
std::string EncodeKvals(const std::vector<KeyValue>& kvals);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_FAKE_AGENT_H_
