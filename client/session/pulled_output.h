// Writes pulled output to the callback or the standard streams of the process
// that pulls it, and to files, as the directives of PMIx_IOF_pull determine.
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
  bool merge = false;         // standard error goes to the same place as output
  size_t buffering_size = 0;  // bytes held for a callback; 0: unset
  // Seconds for which output is held for the callback; 0: no limit in time.
  uint32_t buffering_time_s = 0;
  std::string file;       // PMIX_IOF_OUTPUT_TO_FILE; empty: none
  bool pattern = false;   // `file` is a pattern
  std::string directory;  // PMIX_IOF_OUTPUT_TO_DIRECTORY; empty: none
  bool only_files = false;
  int stdout_fd = 1;
  int stderr_fd = 2;

  bool to_files() const { return !file.empty() || !directory.empty(); }
};

// Receives the bytes of one channel. With `closed` no more bytes follow these.
using OutputReceiver =
    std::function<void(const ProcId& source, uint16_t channel,
                       std::string_view data, bool closed)>;

// Used by one thread. A write blocks until the stream or the file accepts it.
class PulledOutput {
 public:
  // If `receiver` is empty, the output goes to the standard streams.
  PulledOutput(PulledOutputOptions options, OutputReceiver receiver);
  ~PulledOutput();
  PulledOutput(const PulledOutput&) = delete;
  PulledOutput& operator=(const PulledOutput&) = delete;

  // Adds output of a process; empty data closes its channel.
  void Add(const ProcId& source, uint16_t channel, std::string_view data);
  // Writes the held output, because no more output follows.
  void Flush();
  // `holds` returns true if output is held for the callback, not counting
  // incomplete lines; `Release` delivers the held output.
  bool holds() const;
  void Release();

 private:
  using Stream = std::pair<ProcId, uint16_t>;
  struct State {
    OutputFormatter formatter;
    std::string held;  // formatted output for the callback
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
