// What a process asks to have logged, as texts for its output.
#ifndef CANOPY_SERVER_OPENPMIX_LOG_TEXT_H_
#define CANOPY_SERVER_OPENPMIX_LOG_TEXT_H_

#include <ctime>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "server/ports/process_text.h"

namespace canopy::openpmix {

struct LogPlan {
  // Of the request once the pieces are printed, and at once when there are
  // none. kErrNotSupported: nothing of it, or not what is required, can be
  // done; then there are no pieces. kErrPartialSuccess: some text is for a
  // place that is not served.
  int status = 0;
  std::vector<ProcessText::Piece> pieces;
  // Both or none: the texts are gathered by these.
  std::string key;
  std::string value;
  // Keys of directives that are not honoured and were not required.
  std::vector<std::string> ignored;
};

// Standard output and standard error are served; directives that came among
// the data count as such. `now` is put into texts when no time stamp came along
// (`stamp`, 0: none).
LogPlan PlanLog(const InfoList& data, const InfoList& directives, time_t stamp,
                const ProcId& caller, time_t now);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_LOG_TEXT_H_
