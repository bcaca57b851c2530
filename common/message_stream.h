// Messages on a byte stream: each has its length in front of it, 4 bytes in
// network order. What a message is made of, protobuf's form as a rule, is not
// known here.
#ifndef CANOPY_COMMON_MESSAGE_STREAM_H_
#define CANOPY_COMMON_MESSAGE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

inline constexpr size_t kMessageHead = 4;

// Writes `length` to the first kMessageHead bytes of `frame`.
void PutMessageLength(uint32_t length, char* frame);

// A protobuf message, ready to be written. Empty when it cannot be encoded: it
// lacks a required field, or is longer than protobuf allows (2 GiB).
template <typename Message>
std::string FrameMessage(const Message& message) {
  std::string frame(kMessageHead, '\0');
  if (!message.AppendToString(&frame)) return {};
  PutMessageLength(static_cast<uint32_t>(frame.size() - kMessageHead),
                   frame.data());
  return frame;
}

// The reading side, between whatever reads the bytes and whatever parses the
// messages. One thread.
class MessageReader {
 public:
  // Longer messages than `max_length` bytes are refused, before there is room
  // for them.
  explicit MessageReader(uint32_t max_length) : max_length_(max_length) {}

  // The next bytes of the stream.
  void Append(std::string_view bytes);

  enum class Next {
    kMessage,
    kIncomplete,  // more bytes are needed
    kTooLong,     // and the stream is of no further use
  };
  // The next message, valid until the next Append.
  Next Take(std::string_view* message);

 private:
  const uint32_t max_length_;
  std::string bytes_;
  size_t taken_ = 0;  // of them
};

}  // namespace canopy

#endif  // CANOPY_COMMON_MESSAGE_STREAM_H_
