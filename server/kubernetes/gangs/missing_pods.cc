#include "server/kubernetes/gangs/missing_pods.h"

#include <map>
#include <optional>

#include "common/string_util.h"

namespace canopy::kubernetes {
namespace {

constexpr size_t kMaxNamed = 4;

// Returns the newest pod of each index that is not over.
std::map<uint32_t, const Pod*> ByIndex(const std::vector<Pod>& pods) {
  std::map<uint32_t, const Pod*> by_index;
  for (const Pod& pod : pods) {
    const std::optional<uint32_t> index = CompletionIndex(pod);
    if (!index) continue;
    const Pod*& known = by_index[*index];
    if (known == nullptr || known->phase == "Failed") known = &pod;
  }
  return by_index;
}

std::string Describe(uint32_t index, const Pod* pod) {
  if (pod == nullptr) return "index " + std::to_string(index) + ": no pod";
  return pod->name + ": " + MissingText(*pod);
}

}  // namespace

std::string MissingPodsText(uint32_t completions,
                            const std::set<uint32_t>& present,
                            const std::vector<Pod>& pods) {
  if (completions == 0) return "the API server has not described the Job";
  const std::map<uint32_t, const Pod*> by_index = ByIndex(pods);
  std::vector<std::string> named;
  for (uint32_t i = 0; i < completions && named.size() < kMaxNamed; ++i) {
    if (present.contains(i)) continue;
    const auto pod = by_index.find(i);
    named.push_back(Describe(i, pod == by_index.end() ? nullptr : pod->second));
  }
  const size_t missing = completions - present.size();
  if (missing == 0) return "the former pods of the Job still run";
  std::string text = std::to_string(missing) + " of " +
                     std::to_string(completions) +
                     " pods missing: " + Join(named, "; ");
  if (missing > named.size()) {
    text += "; and " + std::to_string(missing - named.size()) + " more";
  }
  return text;
}

}  // namespace canopy::kubernetes
