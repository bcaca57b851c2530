// What most commands are about: an overlay that is up, its root, and a job.
#ifndef CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_

#include <string>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/context_target.h"
#include "common/status.h"

namespace canopy::cli {

struct OverlayTarget {
  v1::Context context;
  RootAgent root;
};

// `asked`: of --context, as NeedContext takes it. Fails as NeedContext and
// ConnectRoot do.
Result<OverlayTarget> FindOverlay(const std::string& asked);

struct JobTarget {
  OverlayTarget overlay;
  std::string nspace;
};

// The same with the job that `word` means (FindJob), which also may fail.
Result<JobTarget> FindJobTarget(const std::string& asked,
                                const std::string& word);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_
