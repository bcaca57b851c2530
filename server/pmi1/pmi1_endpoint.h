// PMI-1 over an inherited socket: how an unmodified MPICH program finds the
// other ranks of its job.
#ifndef CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
#define CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_

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
#include "server/pmi1/command_server.h"
#include "server/pmi1/connection.h"
#include "server/pmi1/options.h"
#include "server/pmi1/socket_persistence.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::pmi1 {

// A rank's process inherits one end of a socket pair, so no other process can
// speak for it. What it puts is committed at once, and its barrier is a fence
// over its namespace that collects data. Names are published data, a spawn is
// PMIx_Spawn.
//
// A command stays in its socket until it is answered: a client that waits for
// an answer gets it from the agent that has the socket, which may be a
// successor. Lines of a spawn are persisted before they leave it.
//
// Loop thread only; loop and sink outlive it.
class Pmi1Endpoint : public ClientPort,
                     public ProcessEnvironment,
                     private endpoint::ConnectionHandler {
 public:
  Pmi1Endpoint(EventLoop* loop, InputSink* sink, Pmi1Options options);
  ~Pmi1Endpoint() override = default;
  Pmi1Endpoint(const Pmi1Endpoint&) = delete;
  Pmi1Endpoint& operator=(const Pmi1Endpoint&) = delete;

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  // PMI-1 knows no events.
  void Notify(const core::NotifyClient&) override {}
  void Close(core::ClientId client, const std::string& reason) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  // {-1} when no socket pair can be made; logged.
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string&, Rank, int) override {}

  // Recovers the connections that a predecessor persisted, after AddJob of that
  // job.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // True for the names of descriptors in Pmi1Options::fd_store.
  static bool IsPersistedName(std::string_view name);

  size_t num_connections() const { return connections_.size(); }

 private:
  std::string_view Read(endpoint::Connection& connection) override;
  size_t Handle(endpoint::Connection& connection,
                std::string_view data) override;
  void LogEnd(const endpoint::Connection& connection,
              const std::string& reason) override;
  void OnClosed(endpoint::Connection& connection) override;

  void Log(core::LogLine::Level level, std::string text);
  Connection& AddConnection(const ProcId& proc,
                            std::shared_ptr<const JobSpec> job, UniqueFd fd);
  void RecoverStates(const std::string& nspace, Jobs::Job* job, size_t ranks,
                     std::vector<NamedFd>& persisted);
  // `spawn`: the lines of one that was not answered, if there are any.
  void RecoverConnection(const std::string& nspace, Jobs::Job* job, Rank rank,
                         UniqueFd fd, UniqueFd spawn);

  const Pmi1Options options_;
  InputSink* const sink_;
  uint64_t next_number_ = 1;
  std::vector<char> buffer_;
  Jobs jobs_;
  Connections connections_;
  SocketPersistence persistence_;
  CommandServer commands_;
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
