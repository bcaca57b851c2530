#include "tests/sim/kvals.h"

#include <cstdint>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "server/core/modex/kval.h"

namespace canopy::sim {

std::string Kval(const std::string& key, const std::string& value) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(value);
  return encoder.Take();
}

std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key) {
  core::KvalPiece piece;
  while (core::TakeKval(&kvals, &piece)) {
    if (piece.key != key) continue;
    Decoder decoder(piece.whole);
    std::string_view text;
    uint16_t type = 0;
    if (decoder.GetString(&text) && decoder.GetUint16(&type) &&
        decoder.GetString(&text)) {
      return std::string(text);
    }
  }
  return std::nullopt;
}

Bytes PublishInfo(const std::string& key, bool once) {
  Encoder out;
  out.PutSize(2);
  out.PutString("pmix.persist");
  out.PutUint32(0);
  out.PutUint16(PMIX_PERSIST);
  out.PutByte(once ? PMIX_PERSIST_FIRST_READ : PMIX_PERSIST_APP);
  out.PutString(key);
  out.PutUint32(0);
  out.PutUint16(PMIX_STRING);
  out.PutString(key);
  return Bytes(out.Take());
}

Bytes LookupInfo(uint32_t timeout_seconds) {
  if (timeout_seconds == 0) return Bytes();
  Encoder out;
  out.PutSize(2);
  out.PutString("pmix.wait");
  out.PutUint32(0);
  out.PutUint16(PMIX_UINT32);
  out.PutUint32(0);
  out.PutString("pmix.timeout");
  out.PutUint32(0);
  out.PutUint16(PMIX_UINT32);
  out.PutUint32(timeout_seconds);
  return Bytes(out.Take());
}

}  // namespace canopy::sim
