#include "server/datastore/proc_places.h"

#include <cstddef>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::datastore {

std::string EncodedText(const std::string& text) {
  return text.empty() ? "" : EncodeValue(Value::String(text).raw());
}

namespace {

// Encodes the list of CPUs as a PROC_CPUSET; the encoding contains the list as
// text.
std::string EncodedBitmap(const std::string& cpuset) {
  if (cpuset.empty()) return "";
  Encoder encoder;
  encoder.PutUint16(PMIX_PROC_CPUSET);
  encoder.PutString(cpuset);
  return encoder.Take();
}

// Returns the index of the package that contains the CPUs; no value if they
// belong to several packages.
std::optional<uint32_t> IndexOf(const std::vector<CpuSet>& packages,
                                const std::string& cpuset) {
  const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
  if (!cpus.ok() || cpus->empty()) return std::nullopt;
  for (size_t i = 0; i < packages.size(); ++i) {
    if (packages[i].Contains(*cpus)) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

}  // namespace

const ProcPlaces::Place& ProcPlaces::PlaceOf(const std::string& cpuset) {
  const auto [it, added] = places_.try_emplace(cpuset);
  if (added) {
    it->second.cpuset = EncodedText(cpuset);
    it->second.bitmap = EncodedBitmap(cpuset);
    if (facts_.locality) {
      it->second.locality = EncodedText(facts_.locality(cpuset));
    }
  }
  return it->second;
}

std::optional<uint32_t> ProcPlaces::PackageOf(const Packages* packages,
                                              const std::string& cpuset) {
  const auto [it, added] = packages_.try_emplace({packages, cpuset});
  if (added) it->second = IndexOf(*packages, cpuset);
  return it->second;
}

void ProcPlaces::Fill(const std::string& cpuset, shm::ProcContents* proc) {
  const Place& place = PlaceOf(cpuset);
  proc->cpuset = place.cpuset;
  proc->cpuset_bitmap = place.bitmap;
  const NodeId agent = job_.nodes[proc->node].agent;
  if (agent == facts_.self) proc->locality = place.locality;
  const SessionNode* node = facts_.NodeOf(agent);
  if (cpuset.empty() || node == nullptr || !node->packages) return;
  const auto package = PackageOf(node->packages.get(), cpuset);
  if (package) proc->package_rank = package_ranks_[{proc->node, *package}]++;
}

}  // namespace canopy::datastore
