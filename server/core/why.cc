#include "server/core/why.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace canopy::core {
namespace {

using Operation = std::pair<std::string, std::string>;

struct Merged {
  Waiting waiting;
  std::set<NodeId> answered;
  std::set<MissingProc> missing;
};

Waiting Finish(Merged merged) {
  for (const MissingProc& m : merged.missing) {
    if (!m.sure && merged.answered.contains(m.node)) continue;
    MissingProc sure = m;
    sure.sure = true;
    if (!m.sure && merged.missing.contains(sure)) continue;
    if (merged.waiting.missing.size() < kMaxMissing) {
      merged.waiting.missing.push_back(m);
    } else {
      ++merged.waiting.more_missing;
    }
  }
  return std::move(merged.waiting);
}

}  // namespace

std::string EncodeStateAnswer(const StateAnswer& answer) {
  return wire::Encode(answer);
}

Result<StateAnswer> DecodeStateAnswer(std::string_view bytes) {
  StateAnswer answer;
  if (bytes.empty() || !wire::Decode(bytes, &answer)) {
    return Status(kErrUnpackFailure, "malformed state of an agent");
  }
  return answer;
}

std::vector<Waiting> MergeWaiting(const std::vector<StateAnswer>& answers) {
  std::map<Operation, Merged> merged;
  for (const StateAnswer& answer : answers) {
    for (const Waiting& waiting : answer.waiting) {
      Merged& m = merged[{waiting.nspace, waiting.operation}];
      m.waiting.nspace = waiting.nspace;
      m.waiting.operation = waiting.operation;
      m.waiting.age_ms = std::max(m.waiting.age_ms, waiting.age_ms);
      m.waiting.callers += waiting.callers;
      m.waiting.more_missing =
          std::max(m.waiting.more_missing, waiting.more_missing);
      m.answered.insert(answer.node);
      m.missing.insert(waiting.missing.begin(), waiting.missing.end());
    }
  }
  std::vector<Waiting> out;
  for (auto& [operation, m] : merged) out.push_back(Finish(std::move(m)));
  return out;
}

}  // namespace canopy::core
