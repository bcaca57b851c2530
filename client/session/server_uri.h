// PMIX_SERVER_URI and PMIX_MYSERVER_URI of this process, if its job's data lack
// them: the address of the server that a tool is connected to, and the address
// at which this process is a server itself (PMIx Standard, chapter "Tools and
// Debuggers").
#ifndef CANOPY_CLIENT_SESSION_SERVER_URI_H_
#define CANOPY_CLIENT_SESSION_SERVER_URI_H_

#include <functional>
#include <string_view>

#include "client/session/get_options.h"
#include "client/session/lookup.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Returns true if a get requests PMIX_SERVER_URI or PMIX_MYSERVER_URI of this
// process.
bool IsServerUri(const Session& session, const Target& target,
                 std::string_view key, const GetOptions& options);

// Finds the address that `key` requests. Blocks until the agent answers. A
// launcher that has no server yet starts its server here. Returns a PMIx
// status: PMIX_ERR_NOT_FOUND if there is no address. With PMIX_SUCCESS the
// caller owns *value.
int FindServerUri(Session& session, std::string_view key,
                  const GetOptions& options, pmix_value_t* value);

// Like FindServerUri, but does not block. With PMIX_SUCCESS it calls
// done(status, value) once on the progress thread, and `done` takes the value
// over; otherwise it never calls `done`.
int FindServerUriAsync(
    Session& session, std::string_view key, const GetOptions& options,
    std::function<void(int status, pmix_value_t* value)> done);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SERVER_URI_H_
