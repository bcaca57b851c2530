// Fuzz target of the two decoders that read what peers send. What they accept
// must encode and decode again to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "server/overlay/frame.h"
#include "server/overlay/translate.h"

namespace canopy::overlay {
namespace {

std::string Flat(const Rope& rope) {
  std::string all;
  for (const Bytes& b : rope) all += b.view();
  return all;
}

void Body(const Bytes& data) {
  const auto body = DecodeBody(data);
  if (!body.ok()) return;
  const std::string once = EncodeBody(*body);
  const auto again = DecodeBody(Bytes(once));
  if (!again.ok() || EncodeBody(*again) != once) abort();
}

void AnyFrame(const Bytes& data) {
  const auto frame = DecodeFrame(data);
  if (!frame.ok()) return;
  const std::string once = Flat(EncodeFrame(*frame));
  const auto again = DecodeFrame(Bytes(once));
  if (!again.ok() || Flat(EncodeFrame(*again)) != once) abort();
}

}  // namespace
}  // namespace canopy::overlay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const canopy::Bytes bytes(
      std::string(reinterpret_cast<const char*>(data), size));
  canopy::overlay::Body(bytes);
  canopy::overlay::AnyFrame(bytes);
  return 0;
}
