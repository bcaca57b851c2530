// Reads the output pipes of a job's processes, as far as a window of
// unacknowledged bytes allows, and puts texts of other origin among it.
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
// A stream ends with its pipe, but not before its process: that may want texts
// printed when it has closed the pipe. Loop thread only.
class OutputPump {
 public:
  // data is empty at the end of a stream.
  using Emit = std::function<void(Rank rank, uint16_t channel, Bytes data)>;
  // A stream is about to end; texts that are put now come before that.
  using OnEnding = std::function<void(Rank rank, uint16_t channel)>;
  // All streams of a rank have ended.
  using OnEnd = std::function<void(Rank rank)>;

  // window: bytes, at least 1. Emit is called only between Resume and Pause.
  OutputPump(EventLoop* loop, uint64_t window, Emit emit, OnEnding on_ending,
             OnEnd on_end);
  ~OutputPump();
  OutputPump(const OutputPump&) = delete;
  OutputPump& operator=(const OutputPump&) = delete;

  // Takes the reading end of a pipe. Without one, of a process that was never
  // started, the stream has its end alone, and that must be told as well.
  void Add(Rank rank, uint16_t channel, UniqueFd pipe);

  // Gives up the streams of the rank, whose process has ended: another one's
  // are added in their place. What was read of them stays.
  void Drop(Rank rank);

  // The rank's process has ended: its streams end with their pipes.
  void ProcessEnded(Rank rank);

  // Room for so many texts of so many bytes in all, beside the window.
  bool HasRoom(size_t texts, size_t bytes) const;
  // Puts a text behind what is in the stream's pipe by now; without effect for
  // a stream that was never added, and for an empty text. Of a stream that has
  // ended it comes after the end.
  void Put(Rank rank, uint16_t channel, Bytes text);
  bool HasStream(Rank rank, uint16_t channel) const;

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
  struct Text {
    uint64_t after;  // so many bytes of the pipe
    Bytes data;
  };
  struct Stream {
    Rank rank;
    uint16_t channel;
    UniqueFd pipe;
    bool ready = false;  // in ready_
    uint64_t read = 0;   // bytes of the pipe
    std::deque<Text> texts;
    bool ended = false;
  };
  struct RankStreams {
    std::vector<Stream*> streams;
    size_t open = 0;  // not ended
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
  std::deque<Stream*> ready_;  // wait to be read
  std::deque<Chunk> kept_;
  uint64_t kept_bytes_ = 0;
  uint64_t acknowledged_ = 0;
  size_t waiting_texts_ = 0;
  size_t waiting_bytes_ = 0;  // of them
  std::unique_ptr<char[]> buffer_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_OUTPUT_PUMP_H_
