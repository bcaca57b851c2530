// The format of forwarded output: directives such as PMIX_IOF_TAG_OUTPUT, which
// the library of the pulling process applies (PMIx Standard, "Forwarding
// stdout/stderr").
#ifndef CANOPY_CLIENT_SESSION_OUTPUT_FORMAT_H_
#define CANOPY_CLIENT_SESSION_OUTPUT_FORMAT_H_

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>

#include "common/ids.h"

namespace canopy::client {

struct OutputFormat {
  bool tag = false;        // "[nspace,rank]<stdout>: "
  bool rank = false;       // "[rank]<stdout>: "
  bool timestamp = false;  // the time of arrival before the line
  bool xml = false;        // an element for each line
  bool raw = false;        // incomplete lines are written at once

  // Returns true if text is added to each line.
  bool marks() const { return tag || rank || timestamp || xml; }
};

// Returns "stdout", "stderr" or "stddiag" for one bit of pmix_iof_channel_t.
const char* ChannelName(uint16_t channel);

// Formats one channel of one process. It holds an incomplete line until its end
// arrives, but at most 64 KiB. Not synchronised.
class OutputFormatter {
 public:
  using Clock = std::function<std::time_t()>;

  // If `clock` is null, the system's clock is used.
  OutputFormatter(const OutputFormat& format, const ProcId& source,
                  uint16_t channel, Clock clock = nullptr);

  // Adds data and returns the text that can be written now.
  std::string Add(std::string_view data);
  // Returns the held text at the end of the channel, and completes its last
  // line if lines are marked.
  std::string Flush();

 private:
  std::string Mark(std::string_view line) const;
  std::string Time() const;

  const OutputFormat format_;
  const ProcId source_;
  const char* const channel_;
  const Clock clock_;
  std::string held_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OUTPUT_FORMAT_H_
