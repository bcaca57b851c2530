// An agent that is being started: the process that connects the agent's
// standard input and output with this process, and the framing of bootstrap
// messages on them.
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

// Used by one thread. What the process writes to its standard error is kept in
// memory for error messages. The destructor closes the descriptors and does not
// end the process.
class AgentProcess {
 public:
  AgentProcess() = default;
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  // Starts the command in a session of its own, so that the terminal and its
  // signals stay with the launcher. Returns kErrSysLimitsFiles if too many
  // files are open, and kErrUnreach if the program cannot be started.
  Status Spawn(std::vector<std::string> command);

  // This descriptor becomes readable when Read has something to read.
  int output() const { return from_; }
  int input() const { return to_; }
  // Sends a message to the agent. Returns false if the process has ended.
  bool Send(const google::protobuf::MessageLite& message);
  // Reads the output that is available. Returns false at the end of the output.
  bool Read();
  // Removes the next complete message from the output that was read. Returns
  // false if no message is complete, or if the framing is invalid (`*broken` is
  // then true).
  bool Take(std::string* message, bool* broken);

  // Returns the last line that the process wrote to its standard error.
  std::string LastErrorLine() const;

  void CloseInput();
  void Signal(int number) const;
  // Sends the signal to the process and to the processes that it started.
  void SignalGroup(int number) const;
  // Waits for the end of the process. Returns false if the process still runs
  // after `timeout_ms`.
  bool WaitEnd(int timeout_ms);
  // Returns true if the process exited with code 0. Valid after WaitEnd
  // returned true.
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
