#include "client/topology/topology_op.h"

#include <strings.h>

#include <cctype>
#include <string_view>

#include "client/topology/machine.h"
#include "client/topology/source.h"
#include "common/topology.h"
#include "common/values/hwloc_access.h"
#include "common/values/kept_topologies.h"
#include "common/values/memory.h"

namespace canopy::client {
namespace {

std::string SourceText(const Machine& machine) {
  const unsigned version = machine.library().get_api_version();
  return "hwloc:" + std::to_string(version >> 16) + "." +
         std::to_string(version >> 8 & 0xff) + "." +
         std::to_string(version & 0xff);
}

// Returns the part of a locality string after its source. Returns false if the
// source is another library. A string may have no source: its first part is
// then a level, two letters and a number.
bool StripSource(std::string_view text, std::string_view* locality) {
  *locality = text;
  const std::string_view first = text.substr(0, text.find(':'));
  const bool level = first.size() >= 3 &&
                     isdigit(static_cast<unsigned char>(first.back())) != 0;
  if (text.empty() || level) return true;
  if (!IsHwloc(first)) return false;
  *locality = first.size() == text.size() ? std::string_view()
                                          : text.substr(first.size() + 1);
  return true;
}

}  // namespace

int LoadTopology(pmix_topology_t* topology) {
  if (topology == nullptr) return PMIX_ERR_BAD_PARAM;
  if (topology->source != nullptr && !IsHwloc(topology->source)) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  const Machine* machine = Machine::Get();
  if (machine == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const bool named = topology->source != nullptr;
  char* source =
      named ? topology->source : DuplicateString(SourceText(*machine));
  hwloc_topology_t copy = nullptr;
  if (source == nullptr ||
      machine->library().topology_dup(&copy, machine->topology()) != 0) {
    if (!named) free(source);
    return PMIX_ERR_NOMEM;
  }
  topology->source = source;
  topology->topology = copy;
  KeepTopology({named ? nullptr : source, copy});
  return PMIX_SUCCESS;
}

void ReleaseTopologies() {
  for (pmix_topology_t& topology : TakeKeptTopologies()) {
    DestructTopology(&topology);
  }
}

int CurrentCpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t envelope) {
  if (cpuset == nullptr ||
      (envelope != PMIX_CPUBIND_PROCESS && envelope != PMIX_CPUBIND_THREAD)) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (cpuset->source != nullptr && !IsHwloc(cpuset->source)) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  const Machine* machine = Machine::Get();
  if (machine == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const HwlocLibrary& library = machine->library();
  hwloc_bitmap_t bitmap = library.bitmap_alloc();
  if (bitmap == nullptr) return PMIX_ERR_NOMEM;
  const int flags = envelope == PMIX_CPUBIND_THREAD ? HWLOC_CPUBIND_THREAD
                                                    : HWLOC_CPUBIND_PROCESS;
  char* source =
      cpuset->source != nullptr ? cpuset->source : DuplicateString("hwloc");
  if (source == nullptr ||
      library.get_cpubind(machine->topology(), bitmap, flags) != 0) {
    if (source != cpuset->source) free(source);
    library.bitmap_free(bitmap);
    return PMIX_ERR_NOT_FOUND;
  }
  cpuset->source = source;
  cpuset->bitmap = bitmap;
  return PMIX_SUCCESS;
}

int ParseCpusetText(const char* text, pmix_cpuset_t* cpuset) {
  if (text == nullptr || cpuset == nullptr) return PMIX_ERR_BAD_PARAM;
  const std::string_view all = text;
  const size_t colon = all.find(':');
  // A text without a source is a PMIX_CPUSET, as Open MPI 4 reads and writes
  // it.
  if (colon == std::string_view::npos) return ParseCpuset(cpuset, text);
  if (!IsHwloc(all.substr(0, colon))) return PMIX_ERR_NOT_SUPPORTED;
  return ParseCpuset(cpuset, text + colon + 1);
}

int GenerateCpusetText(const pmix_cpuset_t* cpuset, std::string* text) {
  if (cpuset == nullptr || cpuset->bitmap == nullptr) return PMIX_ERR_BAD_PARAM;
  const std::optional<std::string> list = CpusetText(*cpuset);
  if (!list) return PMIX_ERR_NOT_SUPPORTED;
  *text = "hwloc:" + *list;
  return PMIX_SUCCESS;
}

int GenerateLocality(const pmix_cpuset_t* cpuset, std::string* locality) {
  if (cpuset == nullptr || cpuset->bitmap == nullptr) return PMIX_ERR_BAD_PARAM;
  const Machine* machine = Machine::Get();
  if (machine == nullptr || !IsHwloc(cpuset->source)) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  const auto bitmap = static_cast<hwloc_const_bitmap_t>(cpuset->bitmap);
  *locality = LocalityString(machine->processors(), machine->ToCpuSet(bitmap));
  return PMIX_SUCCESS;
}

int CompareLocality(const char* a, const char* b, pmix_locality_t* shared) {
  if (a == nullptr || b == nullptr || shared == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  std::string_view first;
  std::string_view second;
  if (!StripSource(a, &first) || !StripSource(b, &second)) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  *shared = RelativeLocality(first, second);
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
