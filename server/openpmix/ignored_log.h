// The lines of the agent's log about directives of OpenPMIx clients that have
// no effect.
#ifndef CANOPY_SERVER_OPENPMIX_IGNORED_LOG_H_
#define CANOPY_SERVER_OPENPMIX_IGNORED_LOG_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "server/openpmix/options.h"

namespace canopy::openpmix {

// Loop thread only.
class IgnoredLog {
 public:
  // The number of keys that are remembered and logged. It is limited because
  // programs choose the keys.
  static constexpr size_t kMaxLogged = 64;

  // `options` must outlive this object.
  explicit IgnoredLog(const OpenPmixOptions* options) : options_(options) {}

  // Logs the directive of a call of `function`, once for each function and key.
  void Note(const ProcId& caller, std::string_view function,
            std::string_view key);

 private:
  const OpenPmixOptions* const options_;
  std::set<std::pair<std::string, std::string>> logged_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_IGNORED_LOG_H_
