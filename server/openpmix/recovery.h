// Recovers the connections that a former agent persisted.
//
// The shim of a job holds the sockets of its connections and the connection
// log. For each socket, the log shows how far the former agent got, and the
// kernel reports how many bytes it read and wrote (stream_position.h). Recovery
// continues a connection only if both agree:
// - Bytes that were read after the last record are in the free part of the log
//   (AddUnrecorded).
// - Bytes that were written end within the logged answers. A partly sent answer
//   is completed from its logged bytes; later answers are regenerated unless
//   their bytes are logged (SortAnswers).
//
// Steps for each job, in Recover:
//   1  TakeSockets           the descriptors by connection, and the log
//   2  SeparateUnverified    connections that cannot be verified are set aside
//   3  MakeLog               a new log with the recovered state
//   4  RecoverConnections    all connections of the job, then
//      ReportReattached      the ended collectives and registered events
//      ReplayRequests        the requests without an answer
// A socket that no log contains may still wait for its greeting. Finish returns
// those that were never read or written, and closes the others, because data
// may have been lost.
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

// Loop thread only. The arguments of the constructor must outlive this object.
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

  // Recovers the connections of a job, whose processes have been reported, and
  // replays the requests without an answer.
  void Recover(const std::string& nspace, std::vector<NamedFd> persisted);
  // Called after the last Recover. Returns the connections that were never read
  // or written, and closes those whose position is unknown.
  Sockets Finish();
  // Returns a number above those of connections that may belong to a former
  // agent.
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
  // Connections that no log contains.
  Sockets unverified_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_RECOVERY_H_
