// Makes the answers to queries from the collected facts.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_ANSWERS_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_ANSWERS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/values/value.h"
#include "server/core/pset/process_sets.h"
#include "server/core/query/answer_writer.h"
#include "server/core/query/gathered_facts.h"
#include "server/core/query/query.h"
#include "server/core/query/query_scope.h"

namespace canopy::core {

// Used for one call: Answer is called for each query of the call, in order.
class QueryAnswers {
 public:
  using Sets = std::map<std::string, ProcessSets::Set>;

  // The arguments must outlive this object.
  QueryAnswers(const QueryScope& scope, const GatheredFacts& facts,
               const Sets& sets)
      : scope_(scope), facts_(facts), sets_(sets) {}

  void Answer(const Query& query);
  AnswerWriter& writer() { return writer_; }

 private:
  void AnswerKey(const Query& query, const std::string& key);
  void AnswerSupport(const Query& query);
  void AddData(const std::string& key);
  // Returns false if the host has not answered this key.
  bool AddHost(const std::string& key);

  std::string ProcTable(const Query& query, bool local) const;
  Value ProcFact(const Query& query, std::string_view key) const;
  Value MemoryUsage(const Query& query) const;
  Value NodeMemory(const Query& query, std::string_view key) const;
  using Jobs = std::map<std::string, JobFacts>;
  const Jobs* JobsOf(const Query& query) const;
  Value Namespaces(const Query& query) const;
  Value NamespaceInfo(const Query& query) const;
  bool MaySee(const ProcessSets::Set& set) const;
  Value PsetNames(const std::string& key) const;
  Value PsetMembers(const Query& query) const;
  Value JobStatus(const Query& query) const;
  Value TimeRemaining(const Query& query) const;

  const QueryScope& scope_;
  const GatheredFacts& facts_;
  const Sets& sets_;
  AnswerWriter writer_;
  size_t next_data_ = 0;
  size_t next_query_ = 0;  // number of the query after the current one
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_ANSWERS_H_
