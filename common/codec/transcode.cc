#include "common/codec/transcode.h"

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "common/values/zlib_access.h"

namespace canopy {

Result<std::string> TranscodeValue(std::string_view encoded,
                                   const CodecForm& from, const CodecForm& to) {
  const Result<Value> value = DecodeValue(encoded, from);
  if (!value.ok()) return value.status();
  Encoder encoder(to);
  encoder.PutValue(value->raw());
  if (!encoder.ok()) return encoder.status();
  return encoder.Take();
}

std::optional<std::string> InflateString(std::string_view encoded,
                                         const CodecForm& form) {
  if (EncodedType(encoded, form) != PMIX_COMPRESSED_STRING) {
    return std::nullopt;
  }
  Decoder decoder(encoded, form);
  uint16_t type = 0;
  std::string_view compressed;
  if (!decoder.GetUint16(&type) || !decoder.GetBytes(&compressed) ||
      !decoder.done()) {
    return std::nullopt;
  }
  const auto text = Decompress(compressed);
  if (!text) return std::nullopt;
  Encoder encoder(form);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(*text);
  return encoder.Take();
}

}  // namespace canopy
