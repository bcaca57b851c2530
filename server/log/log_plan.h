// What a process asks to have logged: which text goes where.
#ifndef CANOPY_SERVER_LOG_LOG_PLAN_H_
#define CANOPY_SERVER_LOG_LOG_PLAN_H_

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"

namespace canopy::log {

enum class Channel : uint8_t { kStdout, kStderr, kSyslog };

struct Entry {
  Channel channel = Channel::kStdout;
  std::string text;
  int priority = 0;  // of kSyslog: 0 (emergency) to 7 (debug)
};

struct LogPlan {
  // Of the request once the entries are logged, and at once when there are
  // none. kErrNotSupported: nothing of it, or not what is required, can be
  // done; then there are no entries. kErrPartialSuccess: some text is for a
  // place that is not served.
  int status = 0;
  std::vector<Entry> entries;
  bool once = false;  // only the first that is taken
  time_t time = 0;    // of the request
  // Both or none: texts for standard output and error are gathered by these.
  std::string key;
  std::string value;
  // Keys of directives that are not honoured and were not required.
  std::vector<std::string> ignored;
};

// Standard output, standard error and the syslog of this node are served;
// directives that came among the data count as such. `now` is the request's
// time when no time stamp came along (`stamp`, 0: none).
LogPlan PlanLog(const InfoList& data, const InfoList& directives, time_t stamp,
                const ProcId& caller, time_t now);

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_LOG_PLAN_H_
