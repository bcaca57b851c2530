// Where the output goes that a process pulls: to its callback or to its own
// standard streams, and to files, as the directives of PMIx_IOF_pull say.
#ifndef CANOPY_CLIENT_SESSION_PULLED_OUTPUT_H_
#define CANOPY_CLIENT_SESSION_PULLED_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/output_format.h"
#include "common/ids.h"

namespace canopy::client {

struct PulledOutputOptions {
  OutputFormat format;
  bool merge = false;         // standard error goes where output does
  size_t buffering_size = 0;  // bytes for a callback; 0: as they come
  // Seconds after which it gets what there is, which is held until then; 0: at
  // once, or when there is enough.
  uint32_t buffering_time_s = 0;
  std::string file;       // PMIX_IOF_OUTPUT_TO_FILE; empty: none
  bool pattern = false;   // it is one
  std::string directory;  // PMIX_IOF_OUTPUT_TO_DIRECTORY; empty: none
  bool only_files = false;
  int stdout_fd = 1;
  int stderr_fd = 2;

  bool to_files() const { return !file.empty() || !directory.empty(); }
};

// Gets the bytes of one channel, or, with `closed`, that none follow (and the
// last ones).
using OutputReceiver =
    std::function<void(const ProcId& source, uint16_t channel,
                       std::string_view data, bool closed)>;

// Single-threaded. A write waits for whoever reads the stream or the file.
class PulledOutput {
 public:
  // `receiver` empty: the standard streams.
  PulledOutput(PulledOutputOptions options, OutputReceiver receiver);
  ~PulledOutput();
  PulledOutput(const PulledOutput&) = delete;
  PulledOutput& operator=(const PulledOutput&) = delete;

  // Output of a process; empty: its channel is closed.
  void Add(const ProcId& source, uint16_t channel, std::string_view data);
  // Gives out what is held, as nothing follows.
  void Flush();
  // Whether the callback has yet to get something, beside starts of lines;
  // gives it that.
  bool holds() const;
  void Release();

 private:
  using Stream = std::pair<ProcId, uint16_t>;
  struct State {
    OutputFormatter formatter;
    std::string held;  // for the callback, formatted
  };

  State& Of(const Stream& stream);
  size_t Enough() const;
  void Give(const Stream& stream, State* state, std::string data, bool closed);
  void WriteFile(const Stream& stream, std::string_view data);
  int OpenFile(const Stream& stream);
  std::string PathOf(const Stream& stream) const;

  const PulledOutputOptions options_;
  const OutputReceiver receiver_;
  std::map<Stream, State> streams_;
  std::map<Stream, int> files_;  // -1: cannot be written
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PULLED_OUTPUT_H_
