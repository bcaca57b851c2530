// Serves the requests of PMI clients beyond their own job: names, spawning, and
// connections with other jobs.
#ifndef CANOPY_SERVER_PMI_CHANGE_SERVER_H_
#define CANOPY_SERVER_PMI_CHANGE_SERVER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/pmi/connection.h"
#include "server/pmi/request.h"
#include "server/pmi/socket_persistence.h"
#include "server/ports/input_sink.h"

namespace canopy::pmi {

// Requests are numbered for each process, across restarts of its agent. A
// request that is repeated keeps its number, so that it is executed once. Loop
// thread only. The arguments of the constructor must outlive this object.
class ChangeServer {
 public:
  ChangeServer(Connections* connections, SocketPersistence* persistence,
               InputSink* sink);

  // Handles `c.request`. Returns false if it is not a request of this kind.
  bool Handle(Connection& c);
  // Handles a line of a PMI-1 spawn, which the client has begun or begins with
  // this line.
  void HandleSpawnLine(Connection& c, std::string_view line);
  // Handles the core's answer. Returns false if it belongs to another request.
  bool Reply(Connection& c, const core::ReplyClient& reply);

  // Restore the data that a predecessor persisted: the lines of a spawn, and a
  // log of outcomes.
  void RecoverSpawn(Connection& c, UniqueFd file);
  void RecoverOutcomes(Connection& c, UniqueFd file);
  // Returns how many connects and how many disconnects with each other job have
  // ended for the client.
  static std::vector<core::CollectiveCount> Connects(const Connection& c);
  // Called if the first command in the socket of a recovered connection was not
  // answered. Returns true if this object has handled it. `c.request` is the
  // command, `c.command_size` its size, and `line` its text.
  bool FinishRecovered(Connection& c, std::string_view line);
  // Drops the state of a command that was answered.
  void Forget(Connection& c);
  // Repeats a request that waits for its answer. Called when the core knows the
  // client.
  void Resume(Connection& c);

 private:
  void HandleName(Connection& c);
  void HandleSpawn(Connection& c);
  void HandleConnect(Connection& c);
  void StartLines(Connection& c);
  void StartSpawn(Connection& c, Result<std::string> call);
  void EndSpawn(Connection& c);
  bool HasRoomForOutcome(Connection& c);
  bool FinishLines(Connection& c, std::string_view line);
  core::RequestId Begin(Connection& c, Operation change);
  void AnswerChange(Connection& c, std::optional<std::string> value);
  void Refuse(Connection& c, int code, const char* problem);

  Connections* const connections_;
  SocketPersistence* const persistence_;
  InputSink* const sink_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_CHANGE_SERVER_H_
