// The part of PMIx_Get that sends a request to the agent.
#ifndef CANOPY_CLIENT_SESSION_AGENT_GET_H_
#define CANOPY_CLIENT_SESSION_AGENT_GET_H_

#include <string>
#include <string_view>

#include "client/channel/channel.h"
#include "client/session/get_options.h"
#include "client/session/lookup.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

// A request that owns what it refers to, so that it outlives its caller.
class GetRequest {
 public:
  GetRequest(const Target& target, std::string_view key,
             const GetOptions& options);

  Target target() const { return {proc_.nspace, proc_.rank}; }
  const ProcId& proc() const { return proc_; }
  const std::string& key() const { return key_; }
  // Its hostname refers to this request.
  GetOptions options() const;

 private:
  ProcId proc_;
  std::string key_;
  std::string hostname_;
  GetOptions options_;
};

// Payload of the request for a key (empty: all keys).
std::string EncodeGet(const Target& target, std::string_view key,
                      const GetOptions& options);
// Payload of the request for all that has changed of a target.
std::string EncodeRefresh(const Target& target, const GetOptions& options);

// What this process can read about a key without a request, or about all keys
// when it is empty. *value is owned by the caller when the status is
// PMIX_SUCCESS.
LookupResult FindLocally(const Session& session, const Target& target,
                         std::string_view key, const GetOptions& options,
                         pmix_value_t* value);

// The outcome of a request after the agent's answer.
int FindAfterReply(const Session& session, const Target& target,
                   std::string_view key, const GetOptions& options,
                   const Reply& reply, pmix_value_t* value);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_GET_H_
