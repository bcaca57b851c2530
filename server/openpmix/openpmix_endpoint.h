// The agent's TCP endpoint for programs that have an OpenPMIx library of their
// own, 3.2 to 7, and for the tools of that project.
#ifndef CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_
#define CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/endpoint/connection_table.h"
#include "server/endpoint/gate.h"
#include "server/endpoint/listener.h"
#include "server/net/source.h"
#include "server/openpmix/admission.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_persistence.h"
#include "server/openpmix/jobs.h"
#include "server/openpmix/message_writer.h"
#include "server/openpmix/options.h"
#include "server/openpmix/output_pullers.h"
#include "server/openpmix/recovery.h"
#include "server/openpmix/request_server.h"
#include "server/openpmix/text_logger.h"
#include "server/openpmix/tool_file.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::openpmix {

// The kernel reports which user made a connection. A rank is served if the user
// of its job made the connection and the rank's process, or a descendant of it,
// holds it. A tool is served if this process's user made the connection or,
// with serves_job_owners, a user who has a job on this node. Any other
// connection is rejected by closing it, which every version of the library
// understands. Loop thread only. The loop and the sink must outlive this
// object.
class OpenPmixEndpoint : public ClientPort,
                         public ProcessEnvironment,
                         private endpoint::ConnectionHandler {
 public:
  OpenPmixEndpoint(EventLoop* loop, InputSink* sink, OpenPmixOptions options);
  ~OpenPmixEndpoint() override = default;
  OpenPmixEndpoint(const OpenPmixEndpoint&) = delete;
  OpenPmixEndpoint& operator=(const OpenPmixEndpoint&) = delete;

  // Listens on `listener`, the predecessor's, if it is valid; otherwise on the
  // address and port of the options, or on any port if that port is in use.
  // Then writes the tool files. Errors are those of net::ListenTcp and
  // ToolFile::Write.
  Status Start(UniqueFd listener = UniqueFd());
  // Adds one end of a socket pair of this process, whose other end is forwarded
  // to a tool on another machine. The tool has proved that it belongs to this
  // process's user. Only a tool is accepted on this connection.
  void Adopt(UniqueFd fd);
  int listener() const { return listener_ ? listener_->fd() : -1; }
  // Returns the port of the listener. Valid after Start.
  uint16_t port() const;
  // Returns the address of the listener, as in PMIX_SERVER_URI41. Valid after
  // Start.
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

  // Recovers the connections of a job from the descriptors that a predecessor
  // persisted. The job must have been added and its processes reported.
  // Connections whose position cannot be verified are closed.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // Called after the last Recover, before the loop runs. Connections that had
  // not been accepted start anew.
  void FinishRecovery();
  // Returns true for the names of descriptors in OpenPmixOptions::fd_store.
  static bool IsPersistedName(std::string_view name);
  static constexpr char kListenerName[] = "stock.listener";

  // Prepares a handover: new connections are left to the successor.
  // AllIdentified returns true when no connection is unidentified.
  void PrepareHandover();
  bool AllIdentified() const { return unidentified_.empty(); }
  // Flushes pending output. Called last; the endpoint serves no request
  // afterwards.
  void Quiesce() { connections_.FlushDirty(); }

  size_t num_connections() const { return connections_.size(); }
  // Returns the number of encoded forms of a namespace's job info; all clients
  // of one form share its bytes.
  size_t num_job_infos(const std::string& nspace) const;

 private:
  void Log(core::LogLine::Level level, std::string text);
  // Adds a connection with the number `number`, or with a new number if it is
  // 0.
  void AddConnection(UniqueFd fd, core::ClientId number);
  Connection& Add(UniqueFd fd, core::ClientId number, const SocketOwner& owner,
                  const net::Source& source);
  void Listen(UniqueFd listener);
  endpoint::Gate::Parts GateParts();
  void SetIdentified(const Connection& c);
  std::string_view Read(endpoint::Connection& connection) override;
  size_t Handle(endpoint::Connection& connection,
                std::string_view data) override;
  void OnFlushed(endpoint::Connection& connection) override;
  bool IsStopped(const endpoint::Connection& connection) const override;
  void LogEnd(const endpoint::Connection& connection,
              const std::string& reason) override;
  void OnClosed(endpoint::Connection& connection) override;
  std::string_view ReadGreeting(Connection& c);
  void TakeGreeting(Connection& c);
  // HandleConnect and HandleMessage handle the first message of `data` and
  // return its length, or 0 while the message is incomplete.
  size_t HandleConnect(Connection& c, std::string_view data);
  uint32_t LimitOf(const Connection& c, std::string_view begin) const;
  size_t HandleMessage(Connection& c, std::string_view data);
  size_t AwaitRest(Connection& c);
  // Called with the result of greeting or identifying the connection.
  void OnAdmission(Connection& c, const Status& status);
  void Admit(Connection& c, const endpoint::Verdict& verdict);
  void AdmitLater(core::ClientId id, const endpoint::Verdict& verdict);
  void IdentifyWaiting(core::ClientId id);

  EventLoop* loop_;
  OpenPmixOptions options_;
  InputSink* const sink_;
  std::string address_;  // includes the port
  std::string uri_;
  ToolFile tool_file_;
  uint64_t next_number_ = 1;
  std::set<core::ClientId> unidentified_;
  std::vector<char> buffer_;
  Jobs jobs_;
  Connections connections_;
  endpoint::Gate gate_;
  ConnectionPersistence persistence_;
  Admission admission_;
  MessageWriter writer_;
  TextLogger text_logger_;
  OutputPullers pullers_;
  RequestServer requests_;
  Recovery recovery_;
  std::optional<endpoint::Listener> listener_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_OPENPMIX_ENDPOINT_H_
