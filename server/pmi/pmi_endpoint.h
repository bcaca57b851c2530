// Serves PMI over an inherited socket, through which an unmodified MPICH
// program finds the other ranks of its job.
#ifndef CANOPY_SERVER_PMI_PMI_ENDPOINT_H_
#define CANOPY_SERVER_PMI_PMI_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/endpoint/connection_table.h"
#include "server/pmi/command_server.h"
#include "server/pmi/connection.h"
#include "server/pmi/options.h"
#include "server/pmi/socket_persistence.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::pmi {

// A rank's process inherits one end of a socket pair, so no other process can
// act as this rank. Its first command selects the version of PMI. Each put is
// committed immediately. A barrier or fence of PMI is a PMIx_Fence over the
// namespace that also collects data. Names are published data, a spawn is
// PMIx_Spawn, and a connection with another job is PMIx_Connect of both whole
// jobs.
//
// A command stays in its socket until it is answered. A client that waits for
// an answer gets it from the agent that has the socket, which may be a
// successor. Lines of a spawn are persisted before they are removed from the
// socket.
//
// Loop thread only; loop and sink must outlive this object.
class PmiEndpoint : public ClientPort,
                    public ProcessEnvironment,
                    private endpoint::ConnectionHandler {
 public:
  PmiEndpoint(EventLoop* loop, InputSink* sink, PmiOptions options);
  ~PmiEndpoint() override = default;
  PmiEndpoint(const PmiEndpoint&) = delete;
  PmiEndpoint& operator=(const PmiEndpoint&) = delete;

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  // PMI has no events.
  void Notify(const core::NotifyClient&) override {}
  void Close(core::ClientId client, const std::string& reason) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  // Returns {-1} and logs an error if no socket pair can be created.
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string&, Rank, int) override {}

  // Recovers the connections that a predecessor persisted. Called after AddJob
  // of that job.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // Returns true for the names of descriptors in PmiOptions::fd_store.
  static bool IsPersistedName(std::string_view name);

  size_t num_connections() const { return connections_.size(); }

 private:
  std::string_view Read(endpoint::Connection& connection) override;
  size_t Handle(endpoint::Connection& connection,
                std::string_view data) override;
  void LogEnd(const endpoint::Connection& connection,
              const std::string& reason) override;
  void OnClosed(endpoint::Connection& connection) override;

  void Await(Connection& c, size_t wanted);
  void EndFormer(const ProcId& proc);
  void Log(core::LogLine::Level level, std::string text);
  Connection& AddConnection(const ProcId& proc,
                            std::shared_ptr<const JobSpec> job, UniqueFd fd);
  void RecoverStates(const std::string& nspace, Jobs::Job* job, size_t ranks,
                     std::vector<NamedFd>& persisted);
  // The data of one connection that a predecessor has persisted.
  struct PersistedConnection {
    UniqueFd socket;
    UniqueFd spawn;     // lines of an unanswered spawn
    UniqueFd outcomes;  // the log of outcomes
  };
  void RecoverConnection(const std::string& nspace, Jobs::Job* job, Rank rank,
                         PersistedConnection persisted);
  void ReportRecovered(Connection& c);

  const PmiOptions options_;
  InputSink* const sink_;
  uint64_t next_number_ = 1;
  std::vector<char> buffer_;
  Jobs jobs_;
  Connections connections_;
  SocketPersistence persistence_;
  CommandServer commands_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI_ENDPOINT_H_
