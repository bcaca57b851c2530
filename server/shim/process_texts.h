// Inserts texts into the output of processes that request them. The amount of
// text is bounded, a request is never printed twice, and texts of one kind are
// aggregated.
#ifndef CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_
#define CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "common/ids.h"
#include "server/shim/output_pump.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Prints texts that processes request (TextRequest). Requests with the same key
// and the same value are of one kind. Of each kind, only the text of the first
// request is printed. After a delay, a line reports how many processes have
// made further requests. The line is printed on the stream of the last of these
// requests, and not later than the end of that stream. Requests without a key
// or a value are always printed, and so are requests of further kinds when
// kMaxKinds kinds are recorded. Loop thread only.
class ProcessTexts {
 public:
  // Returns true if the rank has only the stream of standard output.
  using MergesStderr = std::function<bool(Rank)>;

  // `loop` and `pump` must outlive this object.
  ProcessTexts(EventLoop* loop, OutputPump* pump, MergesStderr merges_stderr);
  ~ProcessTexts();
  ProcessTexts(const ProcessTexts&) = delete;
  ProcessTexts& operator=(const ProcessTexts&) = delete;

  // Handles a request and returns the status for TextTaken.
  int Take(TextRequest request);
  // Called from OutputPump::OnEnding.
  void OnStreamEnding(Rank rank, uint16_t channel);
  // Called when a new agent is served, which may repeat requests of its
  // predecessor.
  void OnNewAgent();

 private:
  using Id = std::pair<uint64_t, uint32_t>;
  using Kind = std::pair<std::string, std::string>;
  struct Gathered {
    std::set<Rank> ranks;  // since the count was last printed
    Rank rank = 0;         // rank of the last request
    uint16_t channel = 0;
  };
  struct Answers {
    std::map<Id, int> statuses;
    std::deque<Id> order;
  };

  int Print(TextRequest& request);
  void NoteAnswer(const Id& id, int status);
  // Counts a request of a known kind. Returns false if the request's kind is
  // new.
  bool Gather(const TextRequest& request);
  void NoteKind(const TextRequest& request);
  void OnTimer();
  void PrintCount(const Kind& kind, Gathered* gathered);
  uint16_t StreamOf(Rank rank, uint16_t channel) const;

  EventLoop* const loop_;
  OutputPump* const pump_;
  const MergesStderr merges_stderr_;
  std::map<Kind, Gathered> kinds_;
  EventLoop::TimerId timer_ = 0;
  // The answers to the current agent, and to its predecessor.
  Answers answered_;
  Answers answered_before_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_TEXTS_H_
