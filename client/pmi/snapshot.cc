#include "client/pmi/snapshot.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "client/pmi/key_space.h"

namespace canopy::pmi {

namespace {

void AddPairs(const pmix_data_array_t& array, std::string_view job,
              std::string_view space, KeyValues* out) {
  if (array.type != PMIX_INFO) return;
  const auto* infos = static_cast<const pmix_info_t*>(array.array);
  for (size_t i = 0; i < array.size; ++i) {
    auto key = KeyInSpace(job, space, infos[i].key);
    auto value = TextIn(infos[i].value);
    if (key && value) out->emplace_back(std::move(*key), std::move(*value));
  }
}

}  // namespace

KeyValues SnapshotOf(const Process& process, std::string_view space) {
  bool flag = true;
  pmix_info_t immediate;
  PMIX_INFO_LOAD(&immediate, PMIX_IMMEDIATE, &flag, PMIX_BOOL);
  KeyValues out;
  for (uint32_t rank = 0; rank < process.size; ++rank) {
    const pmix_proc_t member = MemberOf(process, rank);
    pmix_value_t* value = nullptr;
    if (PMIx_Get(&member, nullptr, &immediate, 1, &value) != PMIX_SUCCESS) {
      continue;
    }
    if (value->type == PMIX_DATA_ARRAY && value->data.darray != nullptr) {
      AddPairs(*value->data.darray, process.self.nspace, space, &out);
    }
    PMIX_VALUE_RELEASE(value);
  }
  PMIX_INFO_DESTRUCT(&immediate);
  return out;
}

}  // namespace canopy::pmi
