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

}  // namespace canopy::sim
