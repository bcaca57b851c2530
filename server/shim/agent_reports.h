// Batches a shim's reports to its agent: exits, and the amount of input that
// was consumed.
#ifndef CANOPY_SERVER_SHIM_AGENT_REPORTS_H_
#define CANOPY_SERVER_SHIM_AGENT_REPORTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Sends one frame of each kind for all reports that were added in one round of
// the loop. Sends nothing before Resume. Loop thread only.
class AgentReports {
 public:
  using Send = std::function<void(FrameType type, const std::string& payload)>;

  // `loop` must not run after the destruction of this object.
  AgentReports(EventLoop* loop, Send send)
      : loop_(loop), send_(std::move(send)) {}
  AgentReports(const AgentReports&) = delete;
  AgentReports& operator=(const AgentReports&) = delete;

  // Starts sending and drops the exits that were added before, because the
  // caller adds all exits again.
  void Resume();
  void Pause() { flowing_ = false; }

  void AddExit(const ExitedRank& exit);
  void AddInputTaken(uint64_t bytes) { input_taken_ += bytes; }
  // Adds a number of bytes of input that the agent need not send again.
  void AddInputDone(uint64_t bytes);

  // Return totals. Amounts that are sent in a Welcome count as reported.
  uint64_t input_taken() const { return input_taken_; }
  uint64_t TakeInputDone() { return input_reported_ = input_done_; }

 private:
  void FlushExits();
  void ScheduleInput();

  EventLoop* const loop_;
  const Send send_;
  bool flowing_ = false;
  std::vector<ExitedRank> exits_;
  bool exits_scheduled_ = false;
  uint64_t input_taken_ = 0;
  uint64_t input_done_ = 0;
  uint64_t input_reported_ = 0;
  bool input_scheduled_ = false;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_AGENT_REPORTS_H_
