// How forwarded output looks: PMIX_IOF_TAG_OUTPUT and the like, which the
// library of who pulls applies (PMIx Standard, "Forwarding stdout/stderr").
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
  bool timestamp = false;  // the time of arrival before it
  bool xml = false;        // an element for each line
  bool raw = false;        // lines need not be whole

  // Each line gets something.
  bool marks() const { return tag || rank || timestamp || xml; }
};

// "stdout", "stderr" or "stddiag", of one bit of pmix_iof_channel_t.
const char* ChannelName(uint16_t channel);

// One channel of one process. The start of a line is held until its end comes,
// but no more than 64 KiB of it. Not synchronised.
class OutputFormatter {
 public:
  using Clock = std::function<std::time_t()>;

  // `clock` empty: the system's.
  OutputFormatter(const OutputFormat& format, const ProcId& source,
                  uint16_t channel, Clock clock = nullptr);

  // What can be written now.
  std::string Add(std::string_view data);
  // The same when nothing follows, with an end of the line where it is marked.
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
