// Texts that processes of a job want among their output without writing them
// themselves: bounded, not twice, and those of one kind gathered.
#ifndef CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_
#define CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "common/ids.h"
#include "server/shim/output_pump.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Of one kind, which is a key and a value, the first request is printed. Of
// those that follow it is printed some time later, and at the latest at the
// end of the stream of the last of them, how many processes sent them: on that
// stream. Loop thread only.
class ProcessTexts {
 public:
  // Loop and pump outlive it. merge_stderr: processes have one stream, that of
  // standard output.
  ProcessTexts(EventLoop* loop, OutputPump* pump, bool merge_stderr);
  ~ProcessTexts();
  ProcessTexts(const ProcessTexts&) = delete;
  ProcessTexts& operator=(const ProcessTexts&) = delete;

  // The status of TextTaken.
  int Take(TextRequest request);
  // To be called as OutputPump::OnEnding.
  void OnStreamEnding(Rank rank, uint16_t channel);
  // Requests that the former agent has put may come again.
  void OnNewAgent();

 private:
  using Id = std::pair<uint64_t, uint32_t>;
  using Kind = std::pair<std::string, std::string>;
  struct Gathered {
    std::set<Rank> ranks;  // since it was last printed how many they are
    Rank rank = 0;         // the last of them
    uint16_t channel = 0;
  };
  struct Answers {
    std::map<Id, int> statuses;
    std::deque<Id> order;
  };

  int Print(TextRequest& request);
  void NoteAnswer(const Id& id, int status);
  // False when the request is not one of a known kind.
  bool Gather(const TextRequest& request);
  void NoteKind(const TextRequest& request);
  void OnTimer();
  void PrintCount(const Kind& kind, Gathered* gathered);
  uint16_t StreamOf(uint16_t channel) const;

  EventLoop* const loop_;
  OutputPump* const pump_;
  const bool merge_stderr_;
  std::map<Kind, Gathered> kinds_;
  EventLoop::TimerId timer_ = 0;
  // Of the present agent, and of the one before it.
  Answers answered_;
  Answers answered_before_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_
