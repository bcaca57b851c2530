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

// The names of what is in PmiOptions::fd_store, which agents of other releases
// know too: of everything, of a job's rank states.
inline constexpr std::string_view kPersistedPrefix = "pmi1.";
inline constexpr char kStatesName[] = "pmi1.states";
inline constexpr char kChangesName[] = "pmi1.changes";
// The rank whose socket has that name, whose lines of a spawn, and whose log of
// outcomes.
std::optional<Rank> RankIn(std::string_view name);
std::optional<Rank> SpawnerIn(std::string_view name);
std::optional<Rank> LoggedIn(std::string_view name);

// Loop thread only. The arguments of the constructor outlive it.
class SocketPersistence {
 public:
  SocketPersistence(EventLoop* loop, const PmiOptions* options, Jobs* jobs,
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
  // Makes `c.outcomes` if there is none yet and it would serve a successor.
  void HoldOutcomes(Connection& c);
  // The connection is closed, for its peer too.
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
  std::shared_ptr<SocketPersistence*> self_;  // cleared when this goes
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SOCKET_PERSISTENCE_H_
