#include "server/core/collective/group_directives.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/required.h"
#include "common/status.h"
#include "server/core/collective/group_shared.h"

namespace canopy::core {
namespace {

enum class Meaning : uint8_t {
  kFlag,
  kLeads,
  kLocalOnly,
  kCollect,
  kShared,
  kLocalCid,    // shared, although it is not in an array of PMIX_GROUP_INFO
  kElsewhere,   // honoured by the adapters
  kImpossible,  // the call would wait for calls that never come
};

struct Row {
  std::string_view key;
  Meaning meaning;
  uint32_t flag = 0;
};

constexpr Row kRows[] = {
    {"pmix.grp.actxid", Meaning::kFlag, kGroupAssignsContextId},
    {"pmix.grp.opt", Meaning::kFlag, kGroupIsOptional},
    {"pmix.grp.ftcoll", Meaning::kFlag, kGroupAdapts},
    {"pmix.grp.notterm", Meaning::kFlag, kGroupNotifies},
    {"pmix.grp.ldr", Meaning::kLeads},
    {"pmix.grp.lcl", Meaning::kLocalOnly},
    {"pmix.grp.info", Meaning::kShared},
    {"pmix.grp.endpt", Meaning::kShared},
    {"pmix.grp.lclid", Meaning::kLocalCid},
    {"pmix.timeout", Meaning::kElsewhere},
    // The caller's own name of the group.
    {"pmix.grp.id", Meaning::kElsewhere},
    {"pmix.collect", Meaning::kCollect},
    // Every agent of a member has the maps of all members' jobs when the
    // construction ends, and generates the job data from these maps.
    {"pmix.collect.gen", Meaning::kElsewhere},
    {"pmix.grp.btstrp", Meaning::kImpossible},
    {"pmix.grp.add", Meaning::kImpossible},
};

// Returns true if the directive has a meaning for a destruct, too.
bool IsOfDestruct(std::string_view key) {
  return key == "pmix.timeout" || key == "pmix.grp.id";
}

const Row* Find(std::string_view key, CollectiveOp op) {
  if (op == CollectiveOp::kGroupDestruct && !IsOfDestruct(key)) return nullptr;
  for (const Row& row : kRows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

// Returns the part of `begin` that has been read when `rest` is left.
std::string_view Until(std::string_view begin, std::string_view rest) {
  return begin.substr(0, begin.size() - rest.size());
}

// Reads a flag. A flag without a value is true.
bool ReadFlag(Decoder* in, bool* value) {
  uint16_t type = 0;
  *value = true;
  if (!in->GetUint16(&type)) return false;
  if (type == PMIX_UNDEF) return true;
  return type == PMIX_BOOL ? in->GetBool(value) : in->SkipElements(type, 1);
}

int Share(std::string info, GroupRecord* record) {
  ++record->num_shared;
  record->shared += info;
  return record->shared.size() > kMaxSharedBytes ? kErrOutOfResource : kSuccess;
}

// Reads one INFO. Returns a PMIx status.
int ReadOne(Decoder* in, const ProcId& member, CollectiveOp op,
            GroupDirectives* out) {
  const std::string_view begin = in->rest();
  std::string_view key;
  uint32_t flags = 0;
  if (!in->GetString(&key) || !in->GetUint32(&flags)) return kErrBadParam;
  const Row* row = Find(key, op);
  const std::string_view value_begin = in->rest();
  bool value = true;
  const bool is_flag = row != nullptr && (row->meaning == Meaning::kFlag ||
                                          row->meaning == Meaning::kLeads ||
                                          row->meaning == Meaning::kCollect ||
                                          row->meaning == Meaning::kLocalOnly);
  if (!(is_flag ? ReadFlag(in, &value) : in->SkipValue())) return kErrBadParam;
  if (row == nullptr) {
    if (MustHonour(flags)) return kErrNotSupported;
    out->ignored.emplace_back(key);
    return kSuccess;
  }
  switch (row->meaning) {
    case Meaning::kFlag:
      if (value) out->record.flags |= row->flag;
      break;
    case Meaning::kLeads:
      out->leads |= value;
      break;
    case Meaning::kLocalOnly:
      out->local_only |= value;
      break;
    case Meaning::kCollect:
      out->keeps_data |= !value;
      break;
    case Meaning::kShared:
      return Share(SharedBy(member, Until(begin, in->rest())), &out->record);
    case Meaning::kLocalCid:
      return Share(SharedBy(member, key, Until(value_begin, in->rest())),
                   &out->record);
    case Meaning::kElsewhere:
      break;
    case Meaning::kImpossible:
      return kErrNotSupported;
  }
  return kSuccess;
}

}  // namespace

int ParseGroupDirectives(const Bytes& info, const ProcId& member,
                         CollectiveOp op, GroupDirectives* out) {
  if (info.empty()) return kSuccess;
  Decoder decoder(info.view());
  size_t count = 0;
  if (!decoder.GetSize(&count)) return kErrBadParam;
  for (size_t i = 0; i < count; ++i) {
    const int status = ReadOne(&decoder, member, op, out);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

}  // namespace canopy::core
