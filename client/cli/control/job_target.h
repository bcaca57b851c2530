// The object of most commands: a running overlay, its root, and a job.
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

// Returns the overlay of a context and a connection to its root. `asked` comes
// from --context, as in NeedContext. Fails like NeedContext and ConnectRoot.
Result<OverlayTarget> FindOverlay(const std::string& asked);

// The contexts of FindContexts, in its order. A run that ends during the search
// is omitted.
struct OverlayTargets {
  std::vector<OverlayTarget> answering;
  std::vector<Status> silent;  // errors of the other contexts
};
Result<OverlayTargets> FindOverlays(const std::string& asked);

struct JobTarget {
  OverlayTarget overlay;
  std::string nspace;
};

// Finds the job that `word` names, by its name or the end of the name
// (ChooseJob). If a context is named, only that context is searched. Otherwise
// the context of NeedContext is searched first, then all other contexts of this
// user, where the job must be unique.
//
// Returns kErrNotFound if there is no such job, and kErrBadParam if `word`
// matches several. Returns another error if the only context that could have
// the job does not answer.
Result<JobTarget> FindJobTarget(const std::string& asked,
                                const std::string& word);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_JOB_TARGET_H_
