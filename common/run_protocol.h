// Frames between `canopy run` and the agent that controls its job, when both
// are on one machine: the messages of Control.Run without gRPC, whose threads
// and set-up would dominate the cost of a short job.
//
// The agent listens on a socket beside its control socket. It greets an
// authorised client with an empty frame, or with the frame kGreetingElsewhere
// if new jobs are launched at another agent. Then requests (RunRequest) go one
// way and events (RunEvent) the other. The agent closes the connection after
// `end`; if the launcher closes it earlier, the job ends. Frames are messages
// of common/message_stream.h, in protobuf's form.
#ifndef CANOPY_COMMON_RUN_PROTOCOL_H_
#define CANOPY_COMMON_RUN_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

// The longest message that either side accepts.
inline constexpr uint32_t kMaxRunMessage = 256u << 20;

// The greeting of an agent that is not the leader. It accepts launchers that
// reattach to its jobs.
inline constexpr std::string_view kGreetingElsewhere = "elsewhere";

// Returns the path of the socket that belongs to a control socket.
inline std::string RunSocketBeside(std::string_view control_socket) {
  const size_t slash = control_socket.rfind('/');
  if (slash == std::string_view::npos) return "run.sock";
  return std::string(control_socket.substr(0, slash)) + "/run.sock";
}

}  // namespace canopy

#endif  // CANOPY_COMMON_RUN_PROTOCOL_H_
