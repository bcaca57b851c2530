#include "common/request/slot_list.h"

#include <string>

#include "common/string_util.h"

namespace canopy {
namespace {

using enum TopologyLevel;

Status Malformed(std::string_view text) {
  return {kErrBadParam, "'" + std::string(text) +
                            "' is no list of cores, such as 0-2,5, nor "
                            "PACKAGE:CORES, such as 1:0-2"};
}

Result<SlotPart> ParsePart(std::string_view text) {
  SlotPart part;
  std::string_view cores = text;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    const auto package = ParseNumber(text.substr(0, colon), CpuSet::kMaxCpus);
    if (!package) return Malformed(text);
    part.package = static_cast<uint32_t>(*package);
    cores = text.substr(colon + 1);
  }
  if (cores == "*") return part;
  Result<CpuSet> set = CpuSet::Parse(cores);
  if (!set.ok() || set->empty()) return Malformed(text);
  part.cores = *std::move(set);
  return part;
}

Status Missing(const std::string& what, size_t count) {
  return {kErrJobInsufficientResources, "there is no " + what +
                                            "; they are numbered from 0 to " +
                                            std::to_string(count - 1)};
}

// Returns the cores among which a part selects.
Result<std::vector<CpuSet>> CoresOf(const SlotPart& part,
                                    const Topology& topology) {
  std::vector<CpuSet> cores = topology.at(kCore);
  if (!part.package) return cores;
  const std::vector<CpuSet>& packages = topology.at(kPackage);
  if (packages.empty()) {
    return Status(kErrNotSupported, "its packages are not known");
  }
  if (*part.package >= packages.size()) {
    return Missing("package " + std::to_string(*part.package), packages.size());
  }
  const CpuSet& package = packages[*part.package];
  std::erase_if(cores,
                [&](const auto& core) { return !package.Contains(core); });
  return cores;
}

Status AddPart(const SlotPart& part, const Topology& topology, CpuSet* cpus) {
  const Result<std::vector<CpuSet>> cores = CoresOf(part, topology);
  if (!cores.ok()) return cores.status();
  if (!part.cores) {
    for (const CpuSet& core : *cores) *cpus |= core;
    return {};
  }
  for (const uint32_t number : part.cores->ToVector()) {
    if (number >= cores->size()) {
      const std::string where =
          part.package ? " in package " + std::to_string(*part.package) : "";
      return Missing("core " + std::to_string(number) + where, cores->size());
    }
    *cpus |= (*cores)[number];
  }
  return {};
}

}  // namespace

Result<std::vector<SlotPart>> ParseSlotList(std::string_view text) {
  std::vector<SlotPart> parts;
  for (const std::string& word : Split(std::string(text), ';')) {
    Result<SlotPart> part = ParsePart(word);
    if (!part.ok()) return part.status();
    parts.push_back(*std::move(part));
  }
  return parts;
}

Result<CpuSet> CpusOf(const std::vector<SlotPart>& parts,
                      const Topology& topology) {
  CpuSet cpus;
  for (const SlotPart& part : parts) {
    if (Status s = AddPart(part, topology, &cpus); !s.ok()) return s;
  }
  return cpus;
}

}  // namespace canopy
