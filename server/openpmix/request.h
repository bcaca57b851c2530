// Requests of OpenPMIx clients, as plain values.
#ifndef CANOPY_SERVER_OPENPMIX_REQUEST_H_
#define CANOPY_SERVER_OPENPMIX_REQUEST_H_

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "server/core/step/client_id.h"
#include "server/core/step/input.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// The form of an answer: the core's status, followed by the part that is stated
// here.
enum class AnswerForm : uint8_t {
  kNone,  // there is no answer
  kStatus,
  kGet,      // then the data of the target
  kRefresh,  // then the target's KVALs
  kInfos,    // then the results
  kConnect,  // then job info of the other namespaces
  kSpawn,    // then the new namespace and its job info
  kQuery,    // then the answers, for a partial success too
  kFound,    // then the values that were found, for a partial success too
  // Then the results of a group's construction, for a partial success too.
  kGroup,
  kCredential,  // then the credential of the results, and the other results
};

// A request to the core. The core's reply is sent in the form `answer`.
struct CoreRequest {
  core::Input input;
  AnswerForm answer = AnswerForm::kStatus;
};

// REQ: the job info of the client's own namespace.
struct JobInfoRequest {};

struct LogRequest {
  time_t stamp = 0;  // 0: no time stamp was taken
  InfoList data;
  InfoList directives;
};

// Empty texts stand for any node and for the client's own namespace.
struct ResolvePeersRequest {
  std::string node;
  std::string nspace;
};
struct ResolveNodesRequest {
  std::string nspace;
};

// Requests the output of these processes. `handle` is the client's number for
// the puller; 0 if the client has none because its library writes the output
// itself.
struct PullRequest {
  std::vector<ProcId> procs;
  InfoList infos;
  uint16_t channels = 0;
  uint64_t handle = 0;
};
// Ends a puller. `handle` is the number that Canopy assigned.
struct StopPullRequest {
  uint64_t handle = 0;
};

// A request that is parsed as far as necessary and answered with only this
// status.
struct RefusedRequest {
  int status = kErrNotSupported;
};

using Request = std::variant<CoreRequest, JobInfoRequest, LogRequest,
                             ResolvePeersRequest, ResolveNodesRequest,
                             PullRequest, StopPullRequest, RefusedRequest>;

// A directive that has no effect and is not required.
struct IgnoredDirective {
  std::string_view function;
  std::string key;
};

// The client that sent a request.
struct Requester {
  core::ClientId client = 0;
  ProcId proc;
  PeerTraits traits;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_REQUEST_H_
