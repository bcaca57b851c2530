#include "server/openpmix/ignored_log.h"

#include "common/text.h"
#include "server/core/step/log_line.h"

namespace canopy::openpmix {

void IgnoredLog::Note(const ProcId& caller, std::string_view function,
                      std::string_view key) {
  if (!options_->log || logged_.size() >= kMaxLogged ||
      !logged_.emplace(function, key).second) {
    return;
  }
  options_->log({core::LogLine::Level::kInfo,
                 ToString(caller) + ": the directive " + Printable(key) +
                     " of " + std::string(function) + " is ignored"});
}

}  // namespace canopy::openpmix
