#include "client/cli/control/job_target.h"

#include <utility>

#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"

namespace canopy::cli {

Result<OverlayTarget> FindOverlay(const std::string& asked) {
  Result<v1::Context> context = NeedContext(asked);
  if (!context.ok()) return context.status();
  Result<RootAgent> root = ConnectRoot(*context);
  if (!root.ok()) return root.status();
  return OverlayTarget{*std::move(context), *std::move(root)};
}

Result<JobTarget> FindJobTarget(const std::string& asked,
                                const std::string& word) {
  Result<OverlayTarget> overlay = FindOverlay(asked);
  if (!overlay.ok()) return overlay.status();
  Result<std::string> job = FindJob(&overlay->root.client, word);
  if (!job.ok()) return job.status();
  return JobTarget{*std::move(overlay), *std::move(job)};
}

}  // namespace canopy::cli
