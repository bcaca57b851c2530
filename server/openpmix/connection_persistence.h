// Persists connections for a successor while they are served.
#ifndef CANOPY_SERVER_OPENPMIX_CONNECTION_PERSISTENCE_H_
#define CANOPY_SERVER_OPENPMIX_CONNECTION_PERSISTENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/core/step/client_id.h"
#include "server/core/step/input.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_log.h"
#include "server/openpmix/connection_log_state.h"
#include "server/openpmix/jobs.h"
#include "server/openpmix/options.h"

namespace canopy::openpmix {

// The names under which OpenPmixOptions::fd_store keeps descriptors: the prefix
// of all names, the name of a job's connection log, and that of a connection's
// socket. Agents of other releases use the same names.
inline constexpr std::string_view kPersistedPrefix = "stock.";
inline constexpr char kConnectionLogName[] = "stock.ledger";
std::string PersistedName(core::ClientId id);

// The job's shim holds the sockets of its connections, and the job's connection
// log records the data that is read, the requests that are served, and the
// answers. Loop thread only. `options` and `jobs` must outlive this object.
class ConnectionPersistence {
 public:
  // `find` returns the connection of that number, or null.
  ConnectionPersistence(const OpenPmixOptions* options, Jobs* jobs,
                        std::function<Connection*(core::ClientId)> find);

  // Creates a log with the content `state`. If it cannot be created, logs the
  // reason and returns null.
  std::shared_ptr<ConnectionLog> MakeLog(const std::string& nspace,
                                         const ConnectionLogState& state);
  // Stores the socket of a connection whose job is not known yet, because the
  // agent may end at any moment. The shim of every job to which the connection
  // may belong gets the socket.
  void Offer(Connection& c);
  // Starts the log of a connection that was accepted. `unread` is the data that
  // arrived after its greeting.
  void Begin(Connection& c, std::string_view unread);
  // Records a request before it is passed to the core. `pending` is null if the
  // request has no answer.
  void AddRequest(Connection& c, uint32_t tag, const core::Input& input,
                  PendingRequest* pending);
  // Records a message of `size` bytes that is put into `c.out`. `message`
  // contains its bytes, or is empty if they can be regenerated from the
  // request.
  void AddAnswer(Connection& c, uint32_t tag, size_t size,
                 std::string_view message);
  // Records that the message with this event was queued. Called after AddAnswer
  // for that message.
  void AddNotified(Connection& c, const EventId& event);
  // Called after a flush. Records the rest of a partly sent answer, because it
  // must not be regenerated.
  void AddUnsent(Connection& c);
  // Ends the connection, also for its peer.
  void End(Connection& c);

 private:
  void Add(Connection& c, RecordKind kind, uint32_t a, uint32_t b,
           uint64_t number, std::string_view bytes);
  void AddEvents(Connection& c, const core::Input& input);
  uint32_t SeriesNumber(Connection& c, const core::CollectiveArrived& arrived);
  static bool MakesAgain(const Jobs::Job& job,
                         const ConnectionLogState::Collective& made,
                         uint32_t number);
  void Release(Connection& c, const std::string& except);

  const OpenPmixOptions* const options_;
  Jobs* const jobs_;
  const std::function<Connection*(core::ClientId)> find_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CONNECTION_PERSISTENCE_H_
