// Assembles the lines of many writers, so that no line is interrupted by
// another.
#ifndef CANOPY_CLIENT_CLI_RUN_LINE_ASSEMBLER_H_
#define CANOPY_CLIENT_CLI_RUN_LINE_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace canopy::cli {

// A process and its output channel (2: stdout, 4: stderr). The upper half of
// the number is the job, the lower half the rank.
using OutputStream = std::pair<uint64_t, uint32_t>;

struct LineAssemblerOptions {
  // Longer lines are written in parts.
  size_t max_line = 256u << 10;
  // Limit of the bytes held for all streams. Above it, the longest held part is
  // written.
  size_t max_held = 16u << 20;
  // Returns the text before each line of the stream. An empty function means no
  // prefix.
  std::function<std::string(OutputStream)> prefix = nullptr;
  // Returns the text that replaces a line of the stream, or a part of a line
  // that is written alone; the text has its own line feed. If there is no
  // value, the line is written after its prefix. Whether there is a value
  // depends only on the stream. An empty function means no value.
  std::function<std::optional<std::string>(OutputStream, std::string_view)>
      replacement = nullptr;
};

// Assembles the lines for one destination of output. The functions append text
// to `out`, which the caller writes in the order of the calls. Whole lines are
// released immediately. An unfinished line is held until it ends, until its
// stream ends, until it is flushed, or until a limit of LineAssemblerOptions is
// exceeded. If the last released text ended within a line, a line feed precedes
// the text of another stream. Used by one thread.
class LineAssembler {
 public:
  explicit LineAssembler(LineAssemblerOptions options);

  // Adds output of a stream. `now_ms` is the time of any monotonic clock.
  void Add(OutputStream stream, std::string_view data, int64_t now_ms,
           std::string* out);
  // Records the end of the stream and releases the held output of the stream.
  void Close(OutputStream stream, std::string* out);
  // Releases the lines that have been held unchanged since `since_ms` or
  // earlier.
  void FlushOlder(int64_t since_ms, std::string* out);
  // Releases all held lines.
  void FlushAll(std::string* out);

  // Returns the time when the oldest held part was last changed; no value if
  // nothing is held.
  std::optional<int64_t> OldestHeld() const;
  size_t held() const { return held_; }

 private:
  struct Held {
    std::string text;
    int64_t changed_ms = 0;
  };

  // Appends text of one stream: whole lines or a part of a line.
  void Emit(OutputStream stream, std::string_view text, std::string* out);
  // Returns false if the lines of that stream are not replaced.
  bool EmitReplaced(OutputStream stream, std::string_view text,
                    std::string* out);
  void Release(OutputStream stream, Held* held, std::string* out);
  void ReleaseLongest(std::string* out);

  const LineAssemblerOptions options_;
  std::map<OutputStream, Held> held_by_;
  size_t held_ = 0;
  // The stream whose last released text ended within a line.
  std::optional<OutputStream> open_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LINE_ASSEMBLER_H_
