#include "server/core/met_jobs.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

void MetJobs::Note(const std::vector<ProcId>& participants) {
  if (participants.empty() ||
      participants.front().nspace == participants.back().nspace) {
    return;
  }
  Namespaces met;
  for (const ProcId& proc : participants) met.insert(proc.nspace);
  lists_.insert(std::move(met));
}

void MetJobs::OnJobRemoved(const std::string& nspace) {
  std::set<Namespaces> rest;
  while (!lists_.empty()) {
    Namespaces list = std::move(lists_.extract(lists_.begin()).value());
    list.erase(nspace);
    if (list.size() > 1) rest.insert(std::move(list));
  }
  lists_ = std::move(rest);
}

bool MetJobs::Contains(std::string_view a, std::string_view b) const {
  return std::ranges::any_of(lists_, [&](const Namespaces& list) {
    return list.contains(a) && list.contains(b);
  });
}

}  // namespace canopy::core
