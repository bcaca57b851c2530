// Serves what PMI-1 clients ask for beyond their own job: names and spawning.
#ifndef CANOPY_SERVER_PMI1_CHANGE_SERVER_H_
#define CANOPY_SERVER_PMI1_CHANGE_SERVER_H_

#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/pmi1/connection.h"
#include "server/pmi1/pmi1_wire.h"
#include "server/pmi1/socket_persistence.h"
#include "server/ports/input_sink.h"

namespace canopy::pmi1 {

// Requests are numbered for each process, over restarts of its agent: one that
// is put again has its number, so that it is done once. Loop thread only. The
// arguments of the constructor outlive it.
class ChangeServer {
 public:
  ChangeServer(Connections* connections, SocketPersistence* persistence,
               InputSink* sink);

  // False for a command that is none of these.
  bool Handle(Connection& c, const Command& command);
  // A line of a spawn: the client is within one, or begins one.
  void HandleSpawnLine(Connection& c, std::string_view line);
  // The core's answer; false when it is for something else.
  bool Reply(Connection& c, const core::ReplyClient& reply);

  // `file`: the lines of a spawn that a predecessor had persisted.
  void RecoverSpawn(Connection& c, UniqueFd file);
  // The first command in the socket of a recovered connection, without its end,
  // was not answered: true when that is done here now. `c.command_size` is its
  // size.
  bool FinishRecovered(Connection& c, std::string_view line);
  // It was answered.
  void Forget(Connection& c);
  // Puts again what waits for its answer, once the core knows the client.
  void Resume(Connection& c);

 private:
  void StartSpawn(Connection& c);
  void EndSpawn(Connection& c);
  bool FinishLines(Connection& c, std::string_view line);
  core::RequestId Begin(Connection& c, Change change);
  void AnswerChange(Connection& c, const Bytes& payload);

  Connections* const connections_;
  SocketPersistence* const persistence_;
  InputSink* const sink_;
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_CHANGE_SERVER_H_
