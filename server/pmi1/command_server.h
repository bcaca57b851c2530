// Serves the commands of PMI-1 clients, one at a time for each.
#ifndef CANOPY_SERVER_PMI1_COMMAND_SERVER_H_
#define CANOPY_SERVER_PMI1_COMMAND_SERVER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/step/client_actions.h"
#include "server/pmi1/connection.h"
#include "server/pmi1/options.h"
#include "server/pmi1/pmi1_wire.h"
#include "server/ports/input_sink.h"

namespace canopy::pmi1 {

// Removes bytes from the socket that were only looked at.
void TakeFrom(int fd, size_t size);

// A command leaves its socket when it has been answered. What a client asks for
// wrongly is answered with an error code; who breaks the protocol is closed.
// Loop thread only. The arguments of the constructor outlive it.
class CommandServer {
 public:
  CommandServer(const Pmi1Options* options, Connections* connections,
                InputSink* sink);

  // The line without its end; Connection::command_size has been set.
  void Handle(Connection& c, std::string_view line);
  // The core's answer.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // The first command in the socket of a connection that was recovered may have
  // been answered: answers it, removes it, or leaves it.
  void FinishRecovered(Connection& c);

 private:
  void HandleSpawnLine(Connection& c, std::string_view line);
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
  // Ends the command that is handled, with an answer or without one.
  void Answer(Connection& c, const std::string& line);
  void Done(Connection& c);

  const Pmi1Options* const options_;
  Connections* const connections_;
  InputSink* const sink_;
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_COMMAND_SERVER_H_
