// Persists the sockets of PMI clients for a successor.
#ifndef CANOPY_SERVER_PMI_SOCKET_PERSISTENCE_H_
#define CANOPY_SERVER_PMI_SOCKET_PERSISTENCE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/named_fd.h"
#include "server/pmi/connection.h"
#include "server/pmi/options.h"

namespace canopy::pmi {

// The names under which PmiOptions::fd_store keeps descriptors: the prefix of
// all names, the name of a job's rank states, and that of its changes. Agents
// of other releases use the same names.
inline constexpr std::string_view kPersistedPrefix = "pmi1.";
inline constexpr char kStatesName[] = "pmi1.states";
inline constexpr char kChangesName[] = "pmi1.changes";
// Return the rank in the name of a socket, of the lines of a spawn, and of a
// log of outcomes; no value for another name.
std::optional<Rank> RankIn(std::string_view name);
std::optional<Rank> SpawnerIn(std::string_view name);
std::optional<Rank> LoggedIn(std::string_view name);

// Loop thread only. The arguments of the constructor must outlive this object.
class SocketPersistence {
 public:
  SocketPersistence(EventLoop* loop, const PmiOptions* options, Jobs* jobs,
                    const Connections* connections);
  ~SocketPersistence();
  SocketPersistence(const SocketPersistence&) = delete;
  SocketPersistence& operator=(const SocketPersistence&) = delete;

  // Persists the socket of a rank at the end of the round, together with those
  // of the job's other ranks, which start at the same time. Called before the
  // process starts.
  void PersistSoon(const ProcId& proc);
  // Adds the file that is missing in a job whose states an agent of another
  // release created.
  void CompleteStates(const std::string& nspace, RankStates* states);
  // Begin and end the persistence of a spawn's lines. Called before the first
  // line of the spawn and after its answer.
  void HoldSpawn(Connection& c);
  void ReleaseSpawn(Connection& c);
  // Creates `c.outcomes` if it does not exist and a successor could use it.
  void HoldOutcomes(Connection& c);
  // Ends the connection, also for its peer.
  void End(Connection& c);

 private:
  void PersistSockets(const std::string& nspace);
  bool MakeStates(const std::string& nspace, Jobs::Job* job);
  void Release(const Connection& c, std::string_view prefix);
  void HoldChanges(const std::string& nspace, const RankStates& states);

  EventLoop* const loop_;
  const PmiOptions* const options_;
  Jobs* const jobs_;
  const Connections* const connections_;
  // Points to this object, and to null after its destruction, so that deferred
  // work does not call a destroyed object.
  std::shared_ptr<SocketPersistence*> self_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SOCKET_PERSISTENCE_H_
