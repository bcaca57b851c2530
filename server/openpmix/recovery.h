// Recovers the connections that a former agent persisted.
#ifndef CANOPY_SERVER_OPENPMIX_RECOVERY_H_
#define CANOPY_SERVER_OPENPMIX_RECOVERY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_log.h"
#include "server/openpmix/connection_log_state.h"
#include "server/openpmix/connection_persistence.h"
#include "server/openpmix/jobs.h"
#include "server/openpmix/options.h"
#include "server/openpmix/request_server.h"
#include "server/openpmix/text_logger.h"
#include "server/ports/input_sink.h"

namespace canopy::openpmix {

// Loop thread only. What the constructor gets outlives it.
class Recovery {
 public:
  using Sockets = std::map<core::ClientId, UniqueFd>;
  struct Parts {
    const OpenPmixOptions* options = nullptr;
    Jobs* jobs = nullptr;
    Connections* connections = nullptr;
    ConnectionPersistence* persistence = nullptr;
    RequestServer* requests = nullptr;
    TextLogger* text_logger = nullptr;
    InputSink* sink = nullptr;
  };
  explicit Recovery(Parts parts) : parts_(parts) {}

  // Recovers the connections of a job, whose processes were reported, and
  // replays the requests that have no answer.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // After the last Recover: the connections with which nobody has begun. Those
  // whose position is not known are closed.
  Sockets Finish();
  // Connections with numbers below it may be a former agent's.
  uint64_t next_number() const { return next_number_; }

 private:
  Sockets TakeSockets(std::vector<NamedFd> persisted, UniqueFd* connection_log);
  void SeparateUnverified(const std::string& nspace,
                          ConnectionLogReader* reader, Sockets* sockets);
  void RecoverConnections(const std::string& nspace, ConnectionLogState* state,
                          Sockets sockets);
  Connection* RecoverConnection(const std::string& nspace, core::ClientId id,
                                UniqueFd fd,
                                ConnectionLogState::Connection* persisted);
  void ReportReattached(const Connection& c,
                        const ConnectionLogState::Counts& counts);
  void ReplayRequests(Connection& c,
                      const ConnectionLogState::Connection& persisted);
  void Close(core::ClientId id, const UniqueFd& fd);

  const Parts parts_;
  uint64_t next_number_ = 1;
  // Connections that are in no log.
  Sockets unverified_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_RECOVERY_H_
