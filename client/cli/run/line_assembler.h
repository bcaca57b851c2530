// Puts together the lines of many writers so that none is torn by another.
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

// A process and its output channel (2 stdout, 4 stderr). The upper half of its
// number tells the job, the lower one the rank in it.
using OutputStream = std::pair<uint64_t, uint32_t>;

struct LineAssemblerOptions {
  // A longer line goes out in parts.
  size_t max_line = 256u << 10;
  // Bytes held for all streams; above that the longest goes out in parts.
  size_t max_held = 16u << 20;
  // Text before each line of that stream; empty function: none.
  std::function<std::string(OutputStream)> prefix = nullptr;
};

// One destination of output. What the functions append to `out` is to be
// written in that order. Whole lines go out at once, an unfinished one is held
// until it ends, its stream ends, or it is flushed for its age. A part that
// went out without its end is closed by a line feed before another stream's
// text follows. Single-threaded.
class LineAssembler {
 public:
  explicit LineAssembler(LineAssemblerOptions options);

  // `now_ms`: any clock that does not go back.
  void Add(OutputStream stream, std::string_view data, int64_t now_ms,
           std::string* out);
  // End of the stream.
  void Close(OutputStream stream, std::string* out);
  // Lets out what has been held without change since `since_ms` or longer.
  void FlushOlder(int64_t since_ms, std::string* out);
  void FlushAll(std::string* out);

  // Time of the oldest held part; no value: nothing is held.
  std::optional<int64_t> OldestHeld() const;
  size_t held() const { return held_; }

 private:
  struct Held {
    std::string text;
    int64_t changed_ms = 0;
  };

  // Text of one stream, whole lines or a part of one.
  void Emit(OutputStream stream, std::string_view text, std::string* out);
  void Release(OutputStream stream, Held* held, std::string* out);
  void ReleaseLongest(std::string* out);

  const LineAssemblerOptions options_;
  std::map<OutputStream, Held> held_by_;
  size_t held_ = 0;
  std::optional<OutputStream> open_;  // its last text out ended in mid-line
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LINE_ASSEMBLER_H_
