// Reads the output pipes of a job's processes, as far as a window of
// unacknowledged bytes allows.
#ifndef CANOPY_SERVER_SHIM_OUTPUT_PUMP_H_
#define CANOPY_SERVER_SHIM_OUTPUT_PUMP_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"

namespace canopy::process {

// Keeps what was read until it is acknowledged, in one order for the whole
// job. While streams compete for the window, each gets one chunk in turn.
// Loop thread only.
class OutputPump {
 public:
  // data is empty at the end of a stream.
  using Emit = std::function<void(Rank rank, uint16_t channel, Bytes data)>;
  // All streams of a rank have ended.
  using OnEnd = std::function<void(Rank rank)>;

  // window: bytes, at least 1. Emit is called only between Resume and Pause.
  OutputPump(EventLoop* loop, uint64_t window, Emit emit, OnEnd on_end);
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  // Takes the reading end of a pipe.
  void Add(Rank rank, uint16_t channel, UniqueFd pipe);

  // Emits everything not acknowledged again, then the ends of streams that
  // have ended, and from then on what comes.
  void Resume();
  void Pause() { flowing_ = false; }
  // The first `bytes` not yet acknowledged are not needed any more.
  void Credit(uint64_t bytes);

  // Some stream of the rank has not ended.
  bool IsOpen(Rank rank) const;
  // Some stream of the rank has data that only the window holds back.
  bool IsHeldBack(Rank rank) const;
  uint64_t unacknowledged() const { return kept_bytes_; }
  // Of all that was read.
  uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Stream {
    Rank rank;
    uint16_t channel;
    UniqueFd pipe;
    bool ready = false;  // in ready_
  };
  struct Chunk {
    Rank rank;
    uint16_t channel;
    Bytes data;
  };

  bool WindowOpen() const;
  void OnReadable(Stream* stream);
  void Pump();
  void ReadOne(Stream* stream);
  void Keep(const Stream& stream, Bytes data);
  void End(Stream* stream);

  EventLoop* const loop_;
  const uint64_t window_;
  const Emit emit_;
  const OnEnd on_end_;
  bool flowing_ = false;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unordered_map<Rank, int> open_;  // streams not ended, by rank
  std::deque<Stream*> ready_;           // wait for their turn to be read
  std::deque<Chunk> kept_;
  uint64_t kept_bytes_ = 0;
  uint64_t acknowledged_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_OUTPUT_PUMP_H_
