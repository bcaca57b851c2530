// The agent's Unix socket for clients that use Canopy's libpmix.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_
#define CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/local_protocol.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/endpoint/connection_table.h"
#include "server/endpoint/gate.h"
#include "server/endpoint/listener.h"
#include "server/endpoint/newcomer.h"
#include "server/local/admission.h"
#include "server/local/connection.h"
#include "server/local/event_frames.h"
#include "server/local/local_jobs.h"
#include "server/local/local_options.h"
#include "server/local/request_flow.h"
#include "server/net/source.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::local {

// Loop thread only. The loop and the sink must outlive this object.
class LocalEndpoint : public ClientPort,
                      public ProcessEnvironment,
                      private endpoint::ConnectionHandler {
 public:
  LocalEndpoint(EventLoop* loop, InputSink* sink, LocalOptions options);
  // Closes every connection, and removes the socket unless another agent has
  // replaced it.
  ~LocalEndpoint() override;
  LocalEndpoint(const LocalEndpoint&) = delete;
  LocalEndpoint& operator=(const LocalEndpoint&) = delete;

  // Creates the socket. Its directory must exist, be private and remain.
  // kErrBadParam: its path is too long; kErrUnreach: it cannot be created.
  Status Start();
  // Creates a further socket, at which the ranks in Kubernetes pods connect,
  // and no tools. The peers are identified by LocalOptions::pod_of_peer. Fails
  // like Start.
  Status ListenForPods(const std::string& path);
  // Adds one end of a socket pair of this process, whose other end is forwarded
  // to a tool on another machine. The tool has proved that it belongs to this
  // process's user. Only a tool is accepted on this connection, and it gets no
  // descriptors.
  void Adopt(UniqueFd fd);

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  void ReleaseFence(const core::ReleaseFence& release) override;
  void Notify(const core::NotifyClient& event) override;
  void Close(core::ClientId client, const std::string& reason) override;
  void TakeCommits(const ProcId& proc) override;
  void AwaitCommit(const ProcId& proc) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string& nspace, Rank rank, int pid) override;

  // The name of a job's commit mailboxes in LocalOptions::fd_store.
  static constexpr const char* kMailboxesName = LocalJobs::kMailboxesName;
  // Provides the mailboxes that a predecessor persisted. Called before AddJob
  // of that job; AddJob reads the commits in them. An invalid descriptor means
  // that there are none.
  void RecoverMailboxes(const std::string& nspace, UniqueFd mailboxes);

  // Makes ranks of this job send their commits as messages from now on. The
  // agent answers these messages.
  void CloseMailboxes(const std::string& nspace);

  // Announces a handover to clients, with the time in milliseconds for which
  // they are to try to reattach.
  void PrepareHandover(uint32_t ms);
  // Reads the data that clients have sent so far, and none afterwards, so the
  // process must end or execute another program soon.
  void Quiesce();
  // Sends queued replies until the sockets accept no more.
  void FlushAll();

  size_t num_connections() const { return connections_.size(); }

 private:
  LocalJobsOptions JobsOptions();
  void Log(core::LogLine::Level level, std::string text);
  endpoint::Gate::Parts GateParts();
  std::function<void()> WarnOfDescriptors();
  void OnConnection(UniqueFd fd);
  void OnPodConnection(UniqueFd fd);
  Connection& AddConnection(UniqueFd fd, const net::Source& source);
  void OnCorrupted(const ProcId& proc);
  bool IsOwnSocket() const;

  std::string_view Read(endpoint::Connection& connection) override;
  size_t Handle(endpoint::Connection& connection,
                std::string_view data) override;
  void LogEnd(const endpoint::Connection& connection,
              const std::string& reason) override;
  void OnClosed(endpoint::Connection& connection) override;
  bool IsStopped(const endpoint::Connection& connection) const override;
  size_t AwaitRest(Connection& c, size_t length);
  void SetSpoken(Connection& c);
  void HandleFrame(Connection& c, const FrameHeader& header,
                   std::string_view payload);
  void HandleHello(Connection& c, const FrameHeader& header,
                   std::string_view payload);
  void Admit(Connection& c, const FrameHeader& header, std::string_view hello,
             const endpoint::Verdict& verdict);
  void Refuse(Connection& c, uint64_t tag, const Status& why);

  EventLoop* loop_;
  LocalOptions options_;
  InputSink* const sink_;
  uint64_t socket_inode_ = 0;
  uint64_t next_number_ = 1;
  std::vector<char> buffer_;
  LocalJobs jobs_;
  Admission admission_;
  RequestFlow requests_;
  EventFrames event_frames_;
  endpoint::TableOf<Connection> connections_;
  endpoint::Gate gate_;
  std::optional<endpoint::Listener> listener_;
  std::optional<endpoint::Listener> pod_listener_;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_H_
