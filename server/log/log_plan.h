// Converts a log request into texts with their destinations.
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
  int priority = 0;  // kSyslog: 0 (emergency) to 7 (debug)
};

struct LogPlan {
  // The status of the request after the entries have been logged, or
  // immediately if there are none. kErrNotSupported: none of the texts can be
  // logged, or a required text cannot be logged; then there are no entries.
  // kErrPartialSuccess: some texts are for a destination that is not supported.
  int status = 0;
  std::vector<Entry> entries;
  bool once = false;  // use only the first destination that accepts its text
  time_t time = 0;    // time of the request
  // Texts for standard output and error are aggregated if their `key` and
  // `value` are equal. Both are set, or neither is.
  std::string key;
  std::string value;
  // Keys of directives that are not supported and were not required.
  std::vector<std::string> ignored;
};

// Returns the plan for a request. Standard output, standard error and the
// syslog of this node are supported. Directives among the data are treated as
// directives. `stamp` is the time stamp in the request (0: none); without one,
// `now` is the request's time.
LogPlan PlanLog(const InfoList& data, const InfoList& directives, time_t stamp,
                const ProcId& caller, time_t now);

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_LOG_PLAN_H_
