// Fuzz target: a frame's payload as the agent reads it from a client. The first
// byte is the type of the frame.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/local/frames.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace canopy::local;
  if (size == 0) return 0;
  const std::string_view payload(reinterpret_cast<const char*>(data + 1),
                                 size - 1);
  FrameHeader header;
  header.type = data[0];
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = 1;
  (void)ParseHello(payload);
  (void)ParseRequest(1, {"job", 0}, header, payload);
  return 0;
}
