// The agent's TCP endpoint for programs that carry an OpenPMIx library of
// their own, 3.2 to 7, and for the tools of that project.
#ifndef CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_
#define CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/posix/acceptor.h"
#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "common/shm/segment_reader.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_log.h"
#include "server/openpmix/log_text.h"
#include "server/openpmix/peer_proof.h"
#include "server/openpmix/requests.h"
#include "server/openpmix/tool_file.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"
#include "server/ports/process_text.h"

namespace canopy::openpmix {

struct OpenPmixOptions {
  NodeId self = 0;
  ProcId server;     // this agent, as PMIx names it
  std::string host;  // this node's name
  // Numeric address to listen on, and a port or 0. Peers must be on this
  // machine whatever it is, because nobody can prove who a remote peer is.
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  // Where tools look for a server; empty: they need an explicit address.
  std::string tool_dir;
  // The data of a namespace that is registered here, or null. Good until the
  // namespace is dropped.
  std::function<const shm::SegmentReader*(const std::string& nspace)> job_data;
  // Called before the name of a local rank's directory (PMIX_PROCDIR) is given
  // out; the directory must exist then. May be null.
  std::function<void(const ProcId& proc)> make_directory;
  std::function<void(const core::LogLine&)> log;
  // Where texts go that ranks log to their standard streams; null: nowhere.
  PutText put_text;
  // Null: MakeHostPeerProof.
  std::unique_ptr<PeerProof> proof;
  // How long a peer may take to identify itself, and a rank's process to become
  // known.
  int64_t hello_timeout_ns = int64_t{5} * 1000 * 1000 * 1000;
  // Several connections of one rank are legal (a forked child is one).
  uint32_t max_connections_per_rank = 64;
  // Of unidentified connections; above it the oldest is closed.
  uint32_t max_unidentified = 512;
  uint32_t max_tools = 256;
  uint32_t max_pending_requests = 1 << 16;
  uint32_t max_payload = uint32_t{256} << 20;
  // Flow control of a peer that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second it is
  // closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
  // Persist descriptors for a successor with the job's shim; null: there is no
  // successor. `persist` is for few of them, at once; a later one of a name
  // replaces the earlier one. `persist_connection` returns false when there is
  // no room.
  std::function<void(const std::string& nspace, const std::string& name,
                     UniqueFd fd)>
      persist;
  std::function<bool(const std::string& nspace, const std::string& name,
                     UniqueFd fd)>
      persist_connection;
  std::function<void(const std::string& nspace, const std::string& name,
                     bool at_once)>
      release_connection;
};

// A connection is served when, according to the kernel, it was made by the user
// of a local job and, for ranks, is held by the rank's process or a descendant
// of it. Anything else is refused by closing, which every version of the
// library understands. Loop thread only. The loop and the sink outlive it.
class OpenPmixEndpoint : public ClientPort, public ProcessEnvironment {
 public:
  OpenPmixEndpoint(EventLoop* loop, InputSink* sink, OpenPmixOptions options);
  ~OpenPmixEndpoint() override;
  OpenPmixEndpoint(const OpenPmixEndpoint&) = delete;
  OpenPmixEndpoint& operator=(const OpenPmixEndpoint&) = delete;

  // On `listener`, the predecessor's, when it is valid; else on the address and
  // port of the options, or any port when that is taken.
  Status Start(UniqueFd listener = UniqueFd());
  int listener() const { return acceptor_.fd(); }
  uint16_t port() const;
  // Where it listens, as in PMIX_SERVER_URI41. After Start.
  const std::string& uri() const { return uri_; }

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  void Notify(const core::NotifyClient& event) override;
  void Close(core::ClientId client, const std::string& reason) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string& nspace, Rank rank, int pid) override;

  // Recovers the connections of a job from what a predecessor persisted. The
  // job must have been added and its processes reported. Connections whose
  // position cannot be verified are closed.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // After the last Recover, before the loop runs: connections that had not been
  // accepted start anew.
  void FinishRecovery();
  // True for names given to `persist` and `persist_connection`.
  static bool IsPersistedName(std::string_view name);
  static constexpr char kListenerName[] = "stock.listener";

  // A handover is due: connections made from now on are left to the successor.
  // AllIdentified: no connection is left unidentified.
  void PrepareHandover();
  bool AllIdentified() const { return unidentified_.empty(); }
  // Flushes pending output; nothing is served after that.
  void Quiesce() { FlushDirty(); }

  size_t num_connections() const { return connections_.size(); }
  // How many forms of a namespace's job info were made; all clients of one
  // form share its bytes.
  size_t num_job_infos(const std::string& nspace) const;

 private:
  struct LocalRank {
    int pid = 0;
    uint32_t connections = 0;
  };
  // What the encoding of job info depends on, beside the job.
  using InfoForm = std::tuple<IntegerForm, bool, pmix_data_type_t, bool, bool>;
  struct Job {
    std::shared_ptr<const JobSpec> spec;
    std::shared_ptr<const JobLayout> layout;
    std::map<Rank, LocalRank> ranks;
    std::map<InfoForm, Bytes> infos;
    std::shared_ptr<ConnectionLog> connection_log;  // with the first connection
    std::map<ConnectionLogState::Collective, uint32_t> series;
  };

  void Log(core::LogLine::Level level, std::string text);
  // Connections.
  void OnAcceptable();
  // With that number, or a new one for 0.
  void AddConnection(UniqueFd fd, core::ClientId id);
  bool IsServedUser(uint32_t uid) const;
  void DropOldestUnidentified();
  void SetHelloTimer(Connection& c, const char* reason);
  Connection* Find(core::ClientId client);
  void End(Connection& c, const std::string& reason);
  void Destroy(core::ClientId id);
  // Reading.
  void OnEvents(core::ClientId id, uint32_t events);
  void Receive(Connection& c);
  void ReceiveGreeting(Connection& c);
  void TakeGreeting(Connection& c);
  size_t HandleMessages(Connection& c, std::string_view data);
  void HandlePartial(Connection& c);
  // Each handles the first message of `data` and returns its length; 0 while it
  // is incomplete.
  size_t HandleConnect(Connection& c, std::string_view data);
  size_t HandleMessage(Connection& c, std::string_view data);
  // Identity.
  Status Greet(Connection& c, std::string_view payload);
  Status GreetTool(Connection& c, const ConnectMessage& message);
  void Identify(Connection& c);
  Status Prove(Connection& c, LocalRank* rank);
  void Welcome(Connection& c, LocalRank* rank);
  void Accept(Connection& c);
  LocalRank* FindRank(const ProcId& proc);
  Job* FindJob(const std::string& nspace);
  // Requests.
  void HandleRequest(Connection& c, uint32_t tag, std::string_view payload);
  void Serve(Connection& c, uint32_t tag, CoreRequest& request);
  void Serve(Connection& c, uint32_t tag, JobInfoRequest& request);
  void Serve(Connection& c, uint32_t tag, QueryRequest& request);
  void Serve(Connection& c, uint32_t tag, LogRequest& request);
  void Serve(Connection& c, uint32_t tag, ResolvePeersRequest& request);
  void Serve(Connection& c, uint32_t tag, ResolveNodesRequest& request);
  void Serve(Connection& c, uint32_t tag, RefusedRequest& request);
  // PMIx_Log (openpmix_log.cc).
  ProcessText TextFor(const Connection& c, uint32_t tag, LogPlan plan) const;
  void OnTextDone(core::ClientId client, uint32_t tag, int status);
  void LogIgnored(const Connection& c, const std::vector<std::string>& keys);
  // True when a get is answered from job data alone.
  bool ServeFromJobData(Connection& c, uint32_t tag,
                        const core::GetArrived& get);
  std::string ProcData(const shm::SegmentReader& job, const ProcId& proc,
                       std::string_view asked);
  void MakeDirectory(const ProcId& proc);
  // Answers.
  Bytes JobInfo(const std::string& nspace, const PeerTraits& peer);
  void Answer(Connection& c, uint32_t tag, const PendingRequest& request,
              const core::ReplyClient& reply);
  void AnswerGet(Connection& c, uint32_t tag, const PendingRequest& request,
                 std::string_view kvals);
  void PackFollowing(Connection& c, const ProcId& asked, Encoder* out);
  void AnswerConnect(Connection& c, uint32_t tag,
                     const PendingRequest& request);
  void SendStatus(Connection& c, uint32_t tag, int status);
  void SendPayload(Connection& c, uint32_t tag, const std::string& payload);
  void SendPayload(Connection& c, uint32_t tag, const std::string& head,
                   const Bytes& shared, std::string tail);
  // Persistence and recovery (openpmix_recovery.cc).
  void OfferToShims(Connection& c);
  void Release(Connection& c, const std::string& except);
  void Persist(Connection& c, std::string_view unread);
  std::shared_ptr<ConnectionLog> MakeConnectionLog(
      const std::string& nspace, const ConnectionLogState& state);
  void Append(Connection& c, RecordKind kind, uint32_t a, uint32_t b,
              uint64_t number, std::string_view bytes);
  void AppendRequest(Connection& c, uint32_t tag, const core::Input& input,
                     PendingRequest* pending);
  void AppendAnswer(Connection& c, uint32_t tag, size_t size,
                    std::string_view message);
  void AppendUnsent(Connection& c);
  void AppendEnd(Connection& c);
  uint32_t SeriesNumber(Connection& c, const core::CollectiveArrived& arrived);
  using Sockets = std::map<core::ClientId, UniqueFd>;
  Sockets TakeSockets(std::vector<NamedFd> persisted, UniqueFd* connection_log);
  void SeparateUnverified(const std::string& nspace,
                          ConnectionLogReader* reader, Sockets* sockets);
  void RecoverConnections(const std::string& nspace, ConnectionLogState* state,
                          Sockets sockets);
  void ReportReattached(const Connection& c,
                        const ConnectionLogState::Counts& counts);
  void ReplayRequests(Connection& c,
                      const ConnectionLogState::Connection& persisted);
  Connection* RecoverConnection(const std::string& nspace, core::ClientId id,
                                UniqueFd fd,
                                ConnectionLogState::Connection* persisted);
  // Writing.
  void MarkDirty(Connection& c);
  void FlushDirty();
  void Flush(Connection& c);
  void WatchFor(Connection& c, bool blocked);

  EventLoop* loop_;
  InputSink* sink_;
  OpenPmixOptions options_;
  std::string address_;  // with the port
  std::string uri_;
  ToolFile tool_file_;
  Acceptor acceptor_;
  uint64_t next_number_ = 1;
  uint32_t next_tool_ = 1;
  uint32_t tools_ = 0;
  std::unordered_map<std::string, Job> jobs_;
  // By number, so that the oldest comes first.
  std::map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::set<core::ClientId> unidentified_;
  std::vector<core::ClientId> dirty_;
  bool putting_again_ = false;  // requests that a former agent did not answer
  std::set<std::string> ignored_directives_;  // that the log has
  // A predecessor's connections that are in no log.
  Sockets unverified_;
  std::vector<char> buffer_;
  std::shared_ptr<OpenPmixEndpoint*> self_;  // cleared when this goes
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_
