// Reads the output pipes of a job's processes, as far as a window of
// unacknowledged bytes allows, and inserts texts from other sources.
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

// Retains the data that was read until it is acknowledged, in one order for the
// whole job. If the window does not suffice for all streams, they take turns,
// one chunk each. A stream ends after its pipe and its process have both ended,
// because a process may request texts after it has closed the pipe. Loop thread
// only.
class OutputPump {
 public:
  // Called with output. Empty data is the end of a stream.
  using Emit = std::function<void(Rank rank, uint16_t channel, Bytes data)>;
  // Called when a stream is about to end; texts that the callback puts still
  // precede the end.
  using OnEnding = std::function<void(Rank rank, uint16_t channel)>;
  // Called when all streams of a rank have ended.
  using OnEnd = std::function<void(Rank rank)>;

  // `window` is in bytes, at least 1. Emit is called only between Resume and
  // Pause.
  OutputPump(EventLoop* loop, uint64_t window, Emit emit, OnEnding on_ending,
             OnEnd on_end);
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  // Takes ownership of the reading end of a pipe. Without a pipe, for a process
  // that was never started, only the end of the stream is emitted.
  void Add(Rank rank, uint16_t channel, UniqueFd pipe);

  // Drops the streams of a rank whose process has ended, so that the streams of
  // the rank's next process can be added. Data already read is retained.
  void Drop(Rank rank);

  // Records that the rank's process has ended; its streams end with their
  // pipes.
  void ProcessEnded(Rank rank);

  // Returns true if there is room for `texts` texts of `bytes` bytes in total,
  // in addition to the window.
  bool HasRoom(size_t texts, size_t bytes) const;
  // Inserts a text after the current content of the stream's pipe. Has no
  // effect for an unknown stream or an empty text. If the stream has ended, the
  // text follows the end.
  void Put(Rank rank, uint16_t channel, Bytes text);
  // Returns true if the rank has this stream, which may have ended.
  bool HasStream(Rank rank, uint16_t channel) const;

  // Emits all unacknowledged data again, then the ends of streams that have
  // ended, and then new data.
  void Resume();
  void Pause() { flowing_ = false; }
  // Releases the first `bytes` bytes of the unacknowledged data.
  void Credit(uint64_t bytes);

  // Returns true if a stream of the rank has not ended.
  bool IsOpen(Rank rank) const;
  // Returns true if a stream of the rank has data that is not read only because
  // the window is full.
  bool IsHeldBack(Rank rank) const;
  uint64_t unacknowledged() const { return kept_bytes_; }
  // Returns the number of bytes that were acknowledged since the start.
  uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Text {
    uint64_t after;  // the text follows this number of bytes of the pipe
    Bytes data;
  };
  struct Stream {
    Rank rank;
    uint16_t channel;
    UniqueFd pipe;
    bool ready = false;  // the stream is in `ready_`
    uint64_t read = 0;   // bytes read from the pipe
    std::deque<Text> texts;
    bool ended = false;
  };
  struct RankStreams {
    std::vector<Stream*> streams;
    size_t open = 0;  // number of streams that have not ended
    bool process_ended = false;
  };
  struct Chunk {
    Rank rank;
    uint16_t channel;
    Bytes data;
  };

  bool WindowOpen() const;
  void WatchPipe(Stream* stream);
  void MakeReady(Stream* stream);
  void Pump();
  void TakeTurn(Stream* stream);
  void ReadPipe(Stream* stream);
  void TakeText(Stream* stream);
  void Keep(const Stream& stream, Bytes data);
  void ClosePipe(Stream* stream);
  void EndIfOver(Stream* stream);
  Stream* Find(Rank rank, uint16_t channel) const;

  EventLoop* const loop_;
  const uint64_t window_;
  const Emit emit_;
  const OnEnding on_ending_;
  const OnEnd on_end_;
  bool flowing_ = false;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unordered_map<Rank, RankStreams> ranks_;
  std::deque<Stream*> ready_;  // streams that wait to be read
  std::deque<Chunk> kept_;
  uint64_t kept_bytes_ = 0;
  uint64_t acknowledged_ = 0;
  size_t waiting_texts_ = 0;
  size_t waiting_bytes_ = 0;  // bytes of the waiting texts
  std::unique_ptr<char[]> buffer_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_OUTPUT_PUMP_H_
