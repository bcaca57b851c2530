// Serves the commands of PMI clients, one at a time for each client.
#ifndef CANOPY_SERVER_PMI_COMMAND_SERVER_H_
#define CANOPY_SERVER_PMI_COMMAND_SERVER_H_

#include <optional>
#include <string>

#include "common/ids.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/pmi/change_server.h"
#include "server/pmi/connection.h"
#include "server/pmi/key_values.h"
#include "server/pmi/message.h"
#include "server/pmi/options.h"
#include "server/pmi/request.h"
#include "server/pmi/socket_persistence.h"
#include "server/ports/input_sink.h"

namespace canopy::pmi {

// A command is removed from its socket when it has been answered. An invalid
// request is answered with an error code; a client that violates the protocol
// is disconnected. Loop thread only. The arguments of the constructor must
// outlive this object.
class CommandServer {
 public:
  CommandServer(const PmiOptions* options, const Jobs* jobs,
                Connections* connections, SocketPersistence* persistence,
                InputSink* sink);

  // Handles a complete message. Connection::command_size must have been set.
  void Handle(Connection& c, const Message& message);
  // Handles the core's answer.
  void Reply(Connection& c, const core::ReplyClient& reply);
  // Handles the first command in the socket of a recovered connection. Removes
  // the command if its answer was sent, and sends the answer if the predecessor
  // had begun to answer. Otherwise leaves the command in the socket.
  void FinishRecovered(Connection& c);
  ChangeServer& changes() { return changes_; }

 private:
  void HandleRequest(Connection& c);
  void HandleInit(Connection& c);
  void HandleFullInit(Connection& c);
  void HandlePut(Connection& c, core::Scope scope, const std::string& pmix_key);
  void HandleRing(Connection& c);
  void Commit(Connection& c, core::RequestId request, core::Scope scope,
              const std::string& pmix_key);
  void HandleGet(Connection& c);
  void HandleGetNodeAttribute(Connection& c);
  void HandleGetJobAttribute(Connection& c);
  void HandleFence(Connection& c);
  void HandleFinalize(Connection& c);
  void HandleAbort(Connection& c);
  // Passes a get of `target` to the core; the rank may be kRankUndef. If
  // `waits`, the answer comes when the key is put; otherwise at once, after a
  // refresh of the data of other nodes.
  void Ask(const Connection& c, const std::string& key, ProcId target,
           bool waits);
  void AnswerGet(Connection& c, int status);
  void OnPut(Connection& c, const core::ReplyClient& reply);
  void OnFence(Connection& c, int status);
  void AnswerFence(Connection& c);
  void AnswerRing(Connection& c);
  void AnswerOk(Connection& c);
  void AnswerValue(Connection& c, std::optional<std::string> value);
  void Refuse(Connection& c, int code, const std::string& problem);

  const KeyValues key_values_;
  Connections* const connections_;
  InputSink* const sink_;
  ChangeServer changes_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_COMMAND_SERVER_H_
