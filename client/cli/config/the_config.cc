#include "client/cli/config/the_config.h"

namespace canopy::cli {

// Never destroyed: threads of a launcher may outlive main.
const Result<Config>& TheConfig() {
  static const auto* const config = new Result<Config>(Config::Load());
  return *config;
}

}  // namespace canopy::cli
