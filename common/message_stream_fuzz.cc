// Fuzz target: reads a stream of messages in two ways: as a whole, and in parts
// whose size is the first byte of the input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/message_stream.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr uint32_t kMaxLength = 1000;

std::vector<std::string> Messages(std::string_view stream, size_t piece) {
  canopy::MessageReader reader(kMaxLength);
  std::vector<std::string> messages;
  for (size_t at = 0; at < stream.size(); at += piece) {
    reader.Append(stream.substr(at, piece));
    std::string_view message;
    while (reader.Take(&message) == canopy::MessageReader::Next::kMessage) {
      if (message.size() > kMaxLength) abort();
      messages.emplace_back(message);
    }
  }
  return messages;
}

std::string Frame(const std::string& bytes) {
  std::string frame(canopy::kMessageHead, '\0');
  canopy::PutMessageLength(static_cast<uint32_t>(bytes.size()), frame.data());
  return frame + bytes;
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  return {"\1" + Frame("a") + Frame("") + Frame("third"),
          "\7" + Frame(std::string(300, 'x')) + "\1"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data + 1),
                                size - 1);
  const size_t piece = std::max<size_t>(data[0], 1);
  const auto messages = Messages(stream, std::max<size_t>(stream.size(), 1));
  if (Messages(stream, piece) != messages) abort();
  return 0;
}
