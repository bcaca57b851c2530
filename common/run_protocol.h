// Frames between `canopy run` and the agent that controls its job, when both
// are on one machine: the messages of Control.Run without gRPC, whose threads
// and set-up cost a short job more than all the rest.
//
// The agent listens on a socket beside its control socket. It greets who is
// allowed to be there with an empty frame; then requests (RunRequest) go one
// way and events (RunEvent) the other, until the agent closes the connection
// after `end`, or the caller does, which ends its job. A frame is its length,
// 4 bytes in network order, and the message in protobuf's form.
#ifndef CANOPY_COMMON_RUN_PROTOCOL_H_
#define CANOPY_COMMON_RUN_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

inline constexpr size_t kRunFrameHead = 4;
// Longest message either side accepts.
inline constexpr uint32_t kMaxRunMessage = 256u << 20;

// The socket that belongs to a control socket.
inline std::string RunSocketBeside(std::string_view control_socket) {
  const size_t slash = control_socket.rfind('/');
  if (slash == std::string_view::npos) return "run.sock";
  return std::string(control_socket.substr(0, slash)) + "/run.sock";
}

inline uint32_t RunFrameLength(const char* head) {
  uint32_t length = 0;
  for (size_t i = 0; i < kRunFrameHead; ++i) {
    length = length << 8 | static_cast<unsigned char>(head[i]);
  }
  return length;
}

// `length` as the first bytes of a frame.
inline void PutRunFrameLength(uint32_t length, char* head) {
  for (size_t i = kRunFrameHead; i-- > 0; length >>= 8) {
    head[i] = static_cast<char>(length & 0xff);
  }
}

}  // namespace canopy

#endif  // CANOPY_COMMON_RUN_PROTOCOL_H_
