// PMIx_Log of OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_
#define CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/core/step/client_id.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/message_writer.h"
#include "server/openpmix/options.h"
#include "server/openpmix/requests.h"

namespace canopy::openpmix {

// Loop thread only. The arguments of the constructor outlive it.
class TextLogger {
 public:
  TextLogger(const OpenPmixOptions* options, const Connections* connections,
             MessageWriter* writer);
  ~TextLogger();
  TextLogger(const TextLogger&) = delete;
  TextLogger& operator=(const TextLogger&) = delete;

  void Serve(Connection& c, uint32_t tag, LogRequest& request);
  // From now on requests are ones that a former agent may have served, without
  // an answer.
  void set_replaying(bool replaying) { replaying_ = replaying; }

 private:
  void OnDone(core::ClientId client, uint32_t tag, int status);
  void LogIgnored(const Connection& c, const std::vector<std::string>& keys);

  const OpenPmixOptions* const options_;
  const Connections* const connections_;
  MessageWriter* const writer_;
  bool replaying_ = false;
  std::set<std::string> ignored_directives_;  // that the agent's log has
  std::shared_ptr<TextLogger*> self_;         // cleared when this goes
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_
