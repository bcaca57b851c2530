#include "server/openpmix/message_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/codec/encoder.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/kvals.h"

namespace canopy::openpmix {

MessageWriter::MessageWriter(Connections* connections,
                             ConnectionPersistence* persistence,
                             uint32_t max_payload)
    : connections_(connections),
      persistence_(persistence),
      max_payload_(max_payload) {}

void MessageWriter::SendStatus(Connection& c, uint32_t tag, int status) {
  Encoder out(c.traits.form);
  out.PackStatus(status);
  SendPayload(c, tag, out.Take());
}

void MessageWriter::SendPayload(Connection& c, uint32_t tag,
                                const std::string& payload) {
  SendPayload(c, tag, payload, Bytes(), "");
}

bool MessageWriter::SendEvent(Connection& c, int status, const ProcId& source,
                              std::string_view infos) {
  constexpr uint8_t kNotifyCommand = 12;
  Encoder out(c.traits.form);
  out.PackCommand(kNotifyCommand);
  out.PackStatus(status);
  out.PackProc(source);
  if (!PackInfos(c.traits, infos, &out)) return false;
  SendPayload(c, kEventTag, out.Take());
  return true;
}

// Sends a status instead of a message that is too large for the client, because
// the client would drop it and wait forever.
void MessageWriter::SendPayload(Connection& c, uint32_t tag,
                                const std::string& head, const Bytes& shared,
                                std::string tail) {
  const size_t limit = std::min<size_t>(c.traits.max_reply_bytes, max_payload_);
  const size_t size = head.size() + shared.size() + tail.size();
  if (size > limit && tag != kEventTag) {
    return SendStatus(c, tag, kErrOutOfResource);
  }
  std::string message = MakeHeader(tag, static_cast<uint32_t>(size)) + head;
  persistence_->AddAnswer(c, tag, kHeaderSize + size,
                          head.size() == size ? message : std::string_view());
  c.out.Append(std::move(message));
  if (!shared.empty()) c.out.Append(shared);
  if (!tail.empty()) c.out.Append(std::move(tail));
  connections_->MarkDirty(c);
}

}  // namespace canopy::openpmix
