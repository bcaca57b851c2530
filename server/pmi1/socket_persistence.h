// Persists the sockets of PMI-1 clients for a successor.
#ifndef CANOPY_SERVER_PMI1_SOCKET_PERSISTENCE_H_
#define CANOPY_SERVER_PMI1_SOCKET_PERSISTENCE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/named_fd.h"
#include "server/pmi1/connection.h"
#include "server/pmi1/options.h"

namespace canopy::pmi1 {

// The names of what is in Pmi1Options::fd_store, which agents of other releases
// know too: of everything, of a job's rank states.
inline constexpr std::string_view kPersistedPrefix = "pmi1.";
inline constexpr char kStatesName[] = "pmi1.states";
inline constexpr char kChangesName[] = "pmi1.changes";
// The rank whose socket has that name, and whose lines of a spawn.
std::optional<Rank> RankIn(std::string_view name);
std::optional<Rank> SpawnerIn(std::string_view name);

// Loop thread only. The arguments of the constructor outlive it.
class SocketPersistence {
 public:
  SocketPersistence(EventLoop* loop, const Pmi1Options* options, Jobs* jobs,
                    const Connections* connections);
  ~SocketPersistence();
  SocketPersistence(const SocketPersistence&) = delete;
  SocketPersistence& operator=(const SocketPersistence&) = delete;

  // Before the process starts. All ranks of a job start together, so their
  // sockets are persisted together, at the end of the round.
  void PersistSoon(const ProcId& proc);
  // A job whose states an agent of another release has made gets what that one
  // does not know.
  void CompleteStates(const std::string& nspace, RankStates* states);
  // Before the first line of a spawn, and after its answer.
  void HoldSpawn(Connection& c);
  void ReleaseSpawn(Connection& c);
  // The connection is closed, for its peer too.
  void End(Connection& c);

 private:
  void PersistSockets(const std::string& nspace);
  bool MakeStates(const std::string& nspace, Jobs::Job* job);
  void HoldChanges(const std::string& nspace, const RankStates& states);

  EventLoop* const loop_;
  const Pmi1Options* const options_;
  Jobs* const jobs_;
  const Connections* const connections_;
  std::shared_ptr<SocketPersistence*> self_;  // cleared when this goes
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_SOCKET_PERSISTENCE_H_
