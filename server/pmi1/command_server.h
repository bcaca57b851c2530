// Serves the commands of PMI-1 clients, one at a time for each.
#ifndef CANOPY_SERVER_PMI1_COMMAND_SERVER_H_
#define CANOPY_SERVER_PMI1_COMMAND_SERVER_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/core/step/client_actions.h"
#include "server/pmi1/change_server.h"
#include "server/pmi1/connection.h"
#include "server/pmi1/options.h"
#include "server/pmi1/pmi1_wire.h"
#include "server/pmi1/socket_persistence.h"
#include "server/ports/input_sink.h"

namespace canopy::pmi1 {

// A command leaves its socket when it has been answered. What a client asks for
// wrongly is answered with an error code; who breaks the protocol is closed.
// Loop thread only. The arguments of the constructor outlive it.
class CommandServer {
 public:
  CommandServer(const Pmi1Options* options, Connections* connections,
                SocketPersistence* persistence, InputSink* sink);

  // The line without its end; Connection::command_size has been set.
  void Handle(Connection& c, std::string_view line);
  // The core's answer.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // The first command in the socket of a connection that was recovered may have
  // been answered: answers it, removes it, or leaves it.
  void FinishRecovered(Connection& c);
  ChangeServer& changes() { return changes_; }

 private:
  void HandleCommand(Connection& c, const Command& command);
  void HandleInit(Connection& c, const Command& command);
  void HandlePut(Connection& c, const Command& command);
  void HandleGet(Connection& c, const Command& command);
  std::optional<std::string> Lookup(const Connection& c,
                                    const std::string& key) const;
  void HandleBarrier(Connection& c);
  void HandleFinalize(Connection& c);
  void HandleAbort(Connection& c, const Command& command);
  void AnswerBarrier(Connection& c);
  void Answer(Connection& c, const std::string& line);

  const Pmi1Options* const options_;
  Connections* const connections_;
  InputSink* const sink_;
  ChangeServer changes_;
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_COMMAND_SERVER_H_
