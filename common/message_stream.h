// Messages on a byte stream. Each message is preceded by its length, 4 bytes in
// network order. The content, as a rule in protobuf's form, is opaque here.
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

// Returns a protobuf message ready to be written. Returns an empty string if
// the message lacks a required field, or is longer than protobuf allows (2
// GiB).
template <typename Message>
std::string FrameMessage(const Message& message) {
  std::string frame(kMessageHead, '\0');
  if (!message.AppendToString(&frame)) return {};
  PutMessageLength(static_cast<uint32_t>(frame.size() - kMessageHead),
                   frame.data());
  return frame;
}

// Splits received bytes into messages. Used by one thread.
class MessageReader {
 public:
  // A message longer than `max_length` bytes is rejected before memory for it
  // is allocated.
  explicit MessageReader(uint32_t max_length) : max_length_(max_length) {}

  // Appends the next bytes of the stream.
  void Append(std::string_view bytes);

  enum class Next {
    kMessage,
    kIncomplete,  // more bytes are needed
    kTooLong,     // the stream cannot be used any further
  };
  // Takes the next message and stores a view of it, valid until the next
  // Append. *message is unchanged unless the result is kMessage.
  Next Take(std::string_view* message);

 private:
  const uint32_t max_length_;
  std::string bytes_;
  size_t taken_ = 0;  // consumed bytes at the front
};

}  // namespace canopy

#endif  // CANOPY_COMMON_MESSAGE_STREAM_H_
