// One agent that is being started: the process that connects its standard input
// and output, and the framing of bootstrap messages on them.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_PROCESS_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/message_stream.h"
#include "common/status.h"

namespace google::protobuf {
class MessageLite;
}

namespace canopy::cli {

// Single-threaded. What the process writes to standard error is kept for error
// messages. The destructor closes descriptors and leaves the process alone.
class AgentProcess {
 public:
  AgentProcess() = default;
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  // Starts the command in a session of its own, which keeps the terminal and
  // its signals for the launcher.
  Status Spawn(std::vector<std::string> command);

  // Readable: Read has something to do.
  int output() const { return from_; }
  int input() const { return to_; }
  // False: it is gone.
  bool Send(const google::protobuf::MessageLite& message);
  // Takes in what there is; false at the end of its output.
  bool Read();
  // The next whole message. False: not there, or `*broken`.
  bool Take(std::string* message, bool* broken);

  // Last line of its standard error.
  std::string LastErrorLine() const;

  void CloseInput();
  void Signal(int number) const;
  // To it and what it started.
  void SignalGroup(int number) const;
  // Waits for its end; false when it is there after `timeout_ms`.
  bool WaitEnd(int timeout_ms);
  // After its end: it ended by itself, with exit code 0.
  bool EndedWell() const { return wait_status_ == 0; }

 private:
  static constexpr uint32_t kMaxMessage = 64u << 20;  // bytes

  Status MakePipes(int child[3]);

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int wait_status_ = -1;
  int to_ = -1;
  int from_ = -1;
  int errors_ = -1;
  MessageReader received_{kMaxMessage};
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_PROCESS_H_
