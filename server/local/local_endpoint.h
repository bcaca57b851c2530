// The agent's Unix socket: clients that load our libpmix.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_
#define CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/local_protocol.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/local/connection.h"
#include "server/local/environment.h"
#include "server/local/frames.h"
#include "server/local/identity.h"
#include "server/local/local_jobs.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::local {

// A job's shared memory.
struct SegmentRef {
  int fd = -1;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps fd open
};

struct LocalOptions {
  EnvironmentOptions environment;  // socket_path is the socket's place
  ProcId server;                   // this agent, as PMIx names it
  // A namespace's segment; nothing when the agent has none.
  std::function<std::optional<SegmentRef>(const std::string& nspace)> segment;
  // Whether everything that is visible of a rank is in its namespace's
  // segment; what is not travels in answers to gets. Empty: it always is.
  std::function<bool(const ProcId& proc)> holds;
  // Called when a rank's process exists. May be empty.
  std::function<void(const std::string& nspace, Rank rank, int pid)> on_process;
  // Called when a rank connects whose library expects its directory to exist.
  // May be empty.
  std::function<void(const ProcId& proc)> make_directory;
  // Persists a job's commit mailboxes for a successor, before a process can
  // write to them. Empty: there is no successor.
  std::function<void(const std::string& nspace, UniqueFd mailboxes)>
      persist_mailboxes;
  // The token by which a rank proves its identity; a successor must derive the
  // same. Empty: random.
  std::function<std::string(const ProcId& proc)> token;
  std::function<void(const core::LogLine&)> log;
  // Null: HostIdentityPolicy.
  std::unique_ptr<IdentityPolicy> identity;
  // How long clients try to reattach to a successor when this agent is gone.
  uint32_t reattach_ms = 0;
  int64_t hello_timeout_ns = int64_t{5} * 1000 * 1000 * 1000;
  // Several connections of one rank are legal (a forked child is one).
  uint32_t max_connections_per_rank = 64;
  uint32_t max_unidentified = 4096;
  // Polling interval for barriers without progress: half the time after which a
  // fence with a late rank is passed to the core. Also for commits without a
  // request, because clients may look for them in the segment.
  int64_t watch_barriers_ns = int64_t{250} * 1000 * 1000;
  // Flow control of a client that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second it is
  // closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
};

// Loop thread only. The loop and the sink outlive it.
class LocalEndpoint : public ClientPort, public ProcessEnvironment {
 public:
  LocalEndpoint(EventLoop* loop, InputSink* sink, LocalOptions options);
  // Closes every connection; removes the socket if it is still its own.
  ~LocalEndpoint() override;
  LocalEndpoint(const LocalEndpoint&) = delete;
  LocalEndpoint& operator=(const LocalEndpoint&) = delete;

  // Makes the socket. Its directory exists, is private and stays.
  Status Start();

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  void Notify(const core::NotifyClient& event) override;
  void Close(core::ClientId client, const std::string& reason) override;
  void TakeCommits(const ProcId& proc) override;
  void AwaitCommit(const ProcId& proc) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string& nspace, Rank rank, int pid) override;

  // The mailboxes that a predecessor persisted, before AddJob of that job,
  // which takes their content; an invalid descriptor: none.
  void RecoverMailboxes(const std::string& nspace, UniqueFd mailboxes);

  // Ranks of this job send commits as messages from now on, which are answered.
  void CloseMailboxes(const std::string& nspace);

  // A handover is due: announces to clients how long to try to reattach.
  void PrepareHandover(uint32_t ms);
  // Handles what clients have sent so far, flushes the replies, and stops
  // reading. The process must end afterwards.
  void Quiesce();

  size_t num_connections() const { return connections_.size(); }

 private:
  LocalJobsOptions JobsOptions();
  void Log(core::LogLine::Level level, std::string text);
  void OnAcceptable();
  void AddConnection(UniqueFd fd);
  void OnEvents(core::ClientId id, uint32_t events);
  void Receive(Connection& c);
  // Handles the whole frames at the start of `data`; returns their length.
  size_t HandleFrames(Connection& c, std::string_view data);
  void HandleFrame(Connection& c, const FrameHeader& header,
                   std::string_view payload);
  void HandleHello(Connection& c, const FrameHeader& header,
                   std::string_view payload);
  Status Identify(Connection& c, const FrameHeader& header,
                  std::string_view payload);
  Status Prove(const Connection& c, const Hello& hello);
  void Admit(Connection& c, const Hello& hello);
  void Welcome(Connection& c, uint64_t tag, uint64_t version,
               const SegmentRef& segment);
  void HandleRequest(Connection& c, const FrameHeader& header,
                     std::string_view payload);
  MailboxOffer OfferMailboxes(Connection& c, uint64_t version,
                              const BarrierOffer& barrier);
  void OnCorrupted(const ProcId& proc);
  // Reports what the connection's rank has committed before its current
  // request.
  void TakeOwn(const Connection& c);
  void NoteReattached(Connection& c, const core::ClientReattached& resumed);
  void NoteRequest(Connection& c, const FrameHeader& header,
                   const core::Input& input);
  void NoteReply(Connection& c, const core::ReplyClient& reply);
  Connection* Find(core::ClientId client);
  void OfferSegment(Connection& c, const std::string& nspace);
  // Closes at the end of the round, after one more attempt to send. An empty
  // reason is an ordinary end and not logged.
  void End(Connection& c, const std::string& reason);
  void MarkDirty(Connection& c);
  void FlushDirty();
  void Flush(Connection& c);
  void WatchFor(Connection& c, bool blocked);
  void Destroy(core::ClientId id);
  bool IsOwnSocket() const;

  EventLoop* loop_;
  InputSink* sink_;
  LocalOptions options_;
  Acceptor acceptor_;
  uint64_t socket_inode_ = 0;
  uint64_t next_number_ = 1;
  uint32_t unidentified_ = 0;
  LocalJobs jobs_;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::vector<core::ClientId> dirty_;
  std::vector<char> buffer_;
  const uint64_t epoch_;
  std::shared_ptr<LocalEndpoint*> self_;  // cleared when this goes
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_
