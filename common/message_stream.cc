#include "common/message_stream.h"

#include <utility>

namespace canopy {
namespace {

uint32_t LengthIn(const char* head) {
  uint32_t length = 0;
  for (size_t i = 0; i < kMessageHead; ++i) {
    length = length << 8 | static_cast<unsigned char>(head[i]);
  }
  return length;
}

}  // namespace

void PutMessageLength(uint32_t length, char* frame) {
  for (size_t i = kMessageHead; i-- > 0; length >>= 8) {
    frame[i] = static_cast<char>(length & 0xff);
  }
}

// Consumed messages are erased here and not in Take, because one erasure serves
// all messages that arrive together.
void MessageReader::Append(std::string_view bytes) {
  bytes_.erase(0, std::exchange(taken_, 0));
  bytes_.append(bytes);
}

MessageReader::Next MessageReader::Take(std::string_view* message) {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  if (left.size() < kMessageHead) return Next::kIncomplete;
  const uint32_t length = LengthIn(left.data());
  if (length > max_length_) return Next::kTooLong;
  if (left.size() - kMessageHead < length) return Next::kIncomplete;
  *message = left.substr(kMessageHead, length);
  taken_ += kMessageHead + length;
  return Next::kMessage;
}

}  // namespace canopy
