// Serves what PMI clients ask for beyond their own job: names, spawning, and
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

// Requests are numbered for each process, over restarts of its agent: one that
// is put again has its number, so that it is done once. Loop thread only. The
// arguments of the constructor outlive it.
class ChangeServer {
 public:
  ChangeServer(Connections* connections, SocketPersistence* persistence,
               InputSink* sink);

  // `c.request`; false when it is none of these.
  bool Handle(Connection& c);
  // A line of a spawn of PMI-1: the client is within one, or begins one.
  void HandleSpawnLine(Connection& c, std::string_view line);
  // The core's answer; false when it is for something else.
  bool Reply(Connection& c, const core::ReplyClient& reply);

  // What a predecessor had persisted: the lines of a spawn, a log of outcomes.
  void RecoverSpawn(Connection& c, UniqueFd file);
  void RecoverOutcomes(Connection& c, UniqueFd file);
  // Collectives with other jobs that have ended for the client.
  static std::vector<core::CollectiveCount> Connects(const Connection& c);
  // The first command in the socket of a recovered connection was not answered:
  // true when that is done here now. `c.request` is it, `c.command_size` its
  // size, `line` its text.
  bool FinishRecovered(Connection& c, std::string_view line);
  // It was answered.
  void Forget(Connection& c);
  // Puts again what waits for its answer, once the core knows the client.
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
