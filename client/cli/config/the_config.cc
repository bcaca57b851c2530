#include "client/cli/config/the_config.h"

namespace canopy::cli {

// The object is never destroyed, because threads of a launcher may outlive
// main.
const Result<Config>& TheConfig() {
  static const auto* const config = new Result<Config>(Config::Load());
  return *config;
}

}  // namespace canopy::cli
