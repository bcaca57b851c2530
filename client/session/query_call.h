// One call of PMIx_Query_info: the keys answered here, the requests to the
// agent, and the answers in the order of the keys.
#ifndef CANOPY_CLIENT_SESSION_QUERY_CALL_H_
#define CANOPY_CLIENT_SESSION_QUERY_CALL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/channel/channel.h"
#include "client/session/query_parts.h"
#include "client/session/session.h"
#include "common/support/attribute_support.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {

// Call Start, and then, while NextFrame returns a frame, send it and pass the
// answer to Take. Used by one thread at a time.
class QueryCall {
 public:
  // If `session` is null, there is no agent, no job and no cache.
  explicit QueryCall(Session* session) : session_(session) {}

  // Reads the queries and answers the keys that need no agent. An error ends
  // the call.
  int Start(const pmix_query_t* queries, size_t count);
  // Returns true if all keys concern this library's own support, or its ABI.
  bool only_support() const { return only_support_; }
  // Returns the next request for the agent. Returns no value if all were
  // returned.
  std::optional<std::string> NextFrame();
  void Take(const Reply& reply);
  // Returns the status of the call, and its answers.
  int Finish(InfoList* answers);

 private:
  // A requested key, at one of the places that may answer it.
  struct Slot {
    size_t query = 0;
    size_t asked = 0;  // number of the key; slots of one key share it
    std::string key;
    bool of_agent = false;  // the agent must answer the key
    Value value = {};
  };

  void AddKeys(size_t query);
  void AddSupport(size_t query);
  void AddFunctions(size_t query, const support::Levels& here,
                    const support::Levels& agent);
  std::optional<Value> FindHere(const QueryParts& parts,
                                const std::string& key) const;
  std::optional<Value> FindData(const QueryParts& parts,
                                const std::string& key) const;
  Value SupportHere(const std::string& function,
                    const support::Levels& levels) const;
  // Returns true if the agent's host answers all keys that are sent to the
  // agent.
  bool IsOnlyOfHost(size_t query) const;
  void Add(size_t query, const std::string& key, std::optional<Value> value);

  Session* const session_;
  std::vector<QueryParts> queries_;
  std::vector<Slot> slots_;
  size_t num_asked_ = 0;
  size_t next_query_ = 0;  // the query of the next frame
  size_t sent_query_ = 0;  // the query whose answer is awaited
  int error_ = PMIX_SUCCESS;
  int host_error_ = PMIX_SUCCESS;  // why the agent's host has no answer
  bool only_support_ = true;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_CALL_H_
