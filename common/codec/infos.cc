#include "common/codec/infos.h"

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"

namespace canopy {

int EncodeInfos(const pmix_info_t* infos, size_t count, std::string* out) {
  Encoder encoder;
  encoder.PutSize(count);
  for (size_t i = 0; i < count; ++i) encoder.PutInfo(infos[i]);
  if (!encoder.ok()) return encoder.status().code();
  *out = encoder.Take();
  return kSuccess;
}

bool DecodeInfos(std::string_view bytes, InfoList* infos) {
  if (bytes.empty()) return true;
  Decoder decoder(bytes);
  size_t count = 0;
  if (!decoder.GetSize(&count) || count > bytes.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t info = {};
    if (!decoder.GetInfo(&info)) return false;
    infos->Adopt(&info);
  }
  return decoder.done();
}

}  // namespace canopy
