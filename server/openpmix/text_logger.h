// PMIx_Log of OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_
#define CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_

#include <cstdint>
#include <memory>

#include "server/core/step/client_id.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/ignored_log.h"
#include "server/openpmix/message_writer.h"
#include "server/openpmix/options.h"
#include "server/openpmix/requests.h"

namespace canopy::openpmix {

// Loop thread only. The arguments of the constructor must outlive this object.
class TextLogger {
 public:
  TextLogger(const OpenPmixOptions* options, const Connections* connections,
             MessageWriter* writer);
  ~TextLogger();
  TextLogger(const TextLogger&) = delete;
  TextLogger& operator=(const TextLogger&) = delete;

  // Logs the texts of a request, and answers the request once, before this
  // function returns or later.
  void Serve(Connection& c, uint32_t tag, LogRequest& request);
  // Must be true while requests of a former agent are replayed, because that
  // agent may have logged their texts without answering the requests.
  void set_replaying(bool replaying) { replaying_ = replaying; }

 private:
  void OnDone(core::ClientId client, uint32_t tag, int status);
  const OpenPmixOptions* const options_;
  const Connections* const connections_;
  MessageWriter* const writer_;
  bool replaying_ = false;
  IgnoredLog ignored_log_;
  // Points to this object, and to null after its destruction, so that callbacks
  // of pending requests do not call a destroyed object.
  std::shared_ptr<TextLogger*> self_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TEXT_LOGGER_H_
