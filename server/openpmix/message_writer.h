// Messages to OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_MESSAGE_WRITER_H_
#define CANOPY_SERVER_OPENPMIX_MESSAGE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/connection_persistence.h"

namespace canopy::openpmix {

// Puts messages into the connection's queue and log. Loop thread only. The
// arguments of the constructor must outlive this object.
class MessageWriter {
 public:
  // `max_payload` limits the bytes of a message, in addition to the client's
  // own limit.
  MessageWriter(Connections* connections, ConnectionPersistence* persistence,
                uint32_t max_payload);

  // Answers request `tag` with only a PMIx status.
  void SendStatus(Connection& c, uint32_t tag, int status);
  // Sends a payload. If it is too large for the client and is not an event, a
  // status is sent instead.
  void SendPayload(Connection& c, uint32_t tag, const std::string& payload);
  // Sends an event. `infos` are in Canopy's form, SIZE and elements. Returns
  // false, and sends nothing, if they are malformed.
  bool SendEvent(Connection& c, int status, const ProcId& source,
                 std::string_view infos);
  // Sends a payload in three parts. Other messages share the middle part.
  void SendPayload(Connection& c, uint32_t tag, const std::string& head,
                   const Bytes& shared, std::string tail);

 private:
  Connections* const connections_;
  ConnectionPersistence* const persistence_;
  const uint32_t max_payload_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_MESSAGE_WRITER_H_
