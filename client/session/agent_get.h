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

// A request that owns the data it refers to, so that it outlives its caller.
class GetRequest {
 public:
  GetRequest(const Target& target, std::string_view key,
             const GetOptions& options);

  Target target() const { return {proc_.nspace, proc_.rank}; }
  const ProcId& proc() const { return proc_; }
  const std::string& key() const { return key_; }
  // Returns the options. The hostname in the result is a view of this request.
  GetOptions options() const;

 private:
  ProcId proc_;
  std::string key_;
  std::string hostname_;
  GetOptions options_;
};

// Returns the payload of the request for a key; an empty key requests all.
std::string EncodeGet(const Target& target, std::string_view key,
                      const GetOptions& options);
// Returns the payload of the request for all changes of a target's data.
std::string EncodeRefresh(const Target& target, const GetOptions& options);

// Looks up a key, or all keys when `key` is empty, without a request to the
// agent. The caller owns *value when the status is PMIX_SUCCESS.
LookupResult FindLocally(const Session& session, const Target& target,
                         std::string_view key, const GetOptions& options,
                         pmix_value_t* value);

// Returns the outcome of a request after the agent's answer.
int FindAfterReply(const Session& session, const Target& target,
                   std::string_view key, const GetOptions& options,
                   const Reply& reply, pmix_value_t* value);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_AGENT_GET_H_
