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

// Puts them into the connection's queue and log. Loop thread only. The
// arguments of the constructor outlive it.
class MessageWriter {
 public:
  // `max_payload`: bytes of a message, beside what a peer can take.
  MessageWriter(Connections* connections, ConnectionPersistence* persistence,
                uint32_t max_payload);

  // The answer to request `tag`: a PMIx status alone.
  void SendStatus(Connection& c, uint32_t tag, int status);
  // What is too large for the peer becomes a status, unless it is an event.
  void SendPayload(Connection& c, uint32_t tag, const std::string& payload);
  // An event; `infos` in our form, SIZE and elements. False: they are
  // malformed, and nothing is sent.
  bool SendEvent(Connection& c, int status, const ProcId& source,
                 std::string_view infos);
  // The payload in three parts, of which others share the middle one.
  void SendPayload(Connection& c, uint32_t tag, const std::string& head,
                   const Bytes& shared, std::string tail);

 private:
  Connections* const connections_;
  ConnectionPersistence* const persistence_;
  const uint32_t max_payload_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_MESSAGE_WRITER_H_
