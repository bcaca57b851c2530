// The role of the processes that wait for the first leader of a bootstrap: the
// other leaders, and the members that leaders add. They accept the first
// leader's invitation. Called on the progress thread, except where noted. See
// docs/design/collectives.md, "Bootstrap".
#ifndef CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_MEMBERS_H_
#define CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_MEMBERS_H_

#include <functional>
#include <string>

#include "client/events/event.h"
#include "client/session/session.h"

namespace canopy::client {

// Handle PMIX_GROUP_INVITED and PMIX_GROUP_CONSTRUCT_ABORT of the first leader.
void OnBootstrapInvited(Session& session, const std::string& name,
                        const Event& event);
void OnBootstrapAborted(Session& session, const std::string& name,
                        const Event& event);

// Accepts an invitation that has arrived before this process waited for it, or
// before it had published its key.
void TakeUpBootstrap(Session& session, const std::string& name);

// Removes the published `key`, then calls `then`. If `key` is empty, no key is
// removed. May be called on any thread.
void Withdraw(Session& session, const std::string& key,
              std::function<void()> then);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_MEMBERS_H_
