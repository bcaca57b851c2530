// What a process asks to have logged, as lines for the agent's log.
#ifndef CANOPY_SERVER_STOCK_LOG_TEXT_H_
#define CANOPY_SERVER_STOCK_LOG_TEXT_H_

#include <string>
#include <vector>

#include "common/values/info_list.h"

namespace canopy::stock {

// Texts for standard output, standard error and the system's log all go to the
// agent's. At most 64 lines of 1024 printable bytes. Returns a PMIx status:
// kErrNotSupported when nothing, or something that is required, is meant for
// another place; kErrPartialSuccess when something was left out.
int LinesToLog(const InfoList& data, std::vector<std::string>* lines);

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_LOG_TEXT_H_
