// What most commands are about: agents that are up, their root, and a job.
#ifndef CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_

#include <string>
#include <vector>

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

// The contexts of FindContexts, in its order, whose root answers. A run that
// ends meanwhile is left out.
struct OverlayTargets {
  std::vector<OverlayTarget> answering;
  std::vector<Status> silent;  // why the others do not
};
Result<OverlayTargets> FindOverlays(const std::string& asked);

struct JobTarget {
  OverlayTarget overlay;
  std::string nspace;
};

// The job that `word` means, by its name or the end of it (ChooseJob). Without
// a name of a context it may be in any context of this user: `word` means a job
// of the context that NeedContext gives, if one is meant there; else the only
// job of all other contexts that is meant.
//
// kErrNotFound: there is no such job. kErrBadParam: `word` can mean several.
// Other errors: the only context that could have it does not answer.
Result<JobTarget> FindJobTarget(const std::string& asked,
                                const std::string& word);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_
