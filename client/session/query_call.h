// One call of PMIx_Query_info on its way: what is answered here, what the agent
// is asked for, and the answers in the order of the keys.
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

// Start, then as long as NextFrame has one: send it, Take its answer. One
// thread at a time.
class QueryCall {
 public:
  // A null session is none: there is no agent, no job, no cache.
  explicit QueryCall(Session* session) : session_(session) {}

  // Reads the queries, and answers what can be answered here. An error ends
  // the call.
  int Start(const pmix_query_t* queries, size_t count);
  // True when all keys are of the library's own support, or its ABI.
  bool only_support() const { return only_support_; }
  // The next request for the agent; none when there is none (any more).
  std::optional<std::string> NextFrame();
  void Take(const Reply& reply);
  // The status of the call, and its answers.
  int Finish(InfoList* answers);

 private:
  // A key that was asked for, at one of the places that may answer it.
  struct Slot {
    size_t query = 0;
    size_t asked = 0;  // which key it is; slots of one key have the same
    std::string key;
    bool of_agent = false;  // it is to answer
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
  // Of what the agent is asked.
  bool IsOnlyOfHost(size_t query) const;
  void Add(size_t query, const std::string& key, std::optional<Value> value);

  Session* const session_;
  std::vector<QueryParts> queries_;
  std::vector<Slot> slots_;
  size_t num_asked_ = 0;
  size_t next_query_ = 0;  // whose frame comes next
  size_t sent_query_ = 0;  // whose answer is awaited
  int error_ = PMIX_SUCCESS;
  int host_error_ = PMIX_SUCCESS;  // why the agent's host has no answer
  bool only_support_ = true;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_CALL_H_
