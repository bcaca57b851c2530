#include "client/cli/base/timeline.h"

#include <cstdio>

namespace canopy::cli {

void Timeline::Note(const std::string& text) const {
  if (!enabled_) return;
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start_;
  std::fprintf(stderr, "canopy: [%7.3f s] %s\n", passed.count(), text.c_str());
}

}  // namespace canopy::cli
