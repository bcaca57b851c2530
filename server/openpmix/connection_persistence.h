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

// The names of what is in OpenPmixOptions::fd_store, which agents of other
// releases know too: of everything, of a job's connection log, of a connection.
inline constexpr std::string_view kPersistedPrefix = "stock.";
inline constexpr char kConnectionLogName[] = "stock.ledger";
std::string PersistedName(core::ClientId id);

// The sockets of a job's connections are held by its shim, and what is read,
// served and answered is recorded in the job's connection log. Loop thread
// only. `options` and `jobs` outlive it.
class ConnectionPersistence {
 public:
  // `find`: the connection of that number, or null.
  ConnectionPersistence(const OpenPmixOptions* options, Jobs* jobs,
                        std::function<Connection*(core::ClientId)> find);

  // A log with that initial content. Null: it cannot be made; logged.
  std::shared_ptr<ConnectionLog> MakeLog(const std::string& nspace,
                                         const ConnectionLogState& state);
  // A connection whose job is not known yet: whichever shim may get it holds
  // its socket, because the agent may end at any moment.
  void Offer(Connection& c);
  // The connection was accepted; its log begins. `unread`: what arrived behind
  // its greeting.
  void Begin(Connection& c, std::string_view unread);
  // A request, before the core gets it. `pending`: null when it has no answer.
  void AddRequest(Connection& c, uint32_t tag, const core::Input& input,
                  PendingRequest* pending);
  // A message of `size` bytes that is put into `c.out`. `message`: its bytes,
  // or nothing when they can be made again from the request.
  void AddAnswer(Connection& c, uint32_t tag, size_t size,
                 std::string_view message);
  // The message that carries the event precedes it.
  void AddNotified(Connection& c, const EventId& event);
  // After a flush: what was sent in part cannot be made again.
  void AddUnsent(Connection& c);
  // The connection ends, for its peer too.
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
