#include "server/core/collective/group_shared.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "common/bytes.h"
#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/qualified_value.h"
#include "common/codec/stored_key.h"
#include "server/core/modex/persisted_commits.h"
#include "server/core/step/group_keys.h"

namespace canopy::core {
namespace {

constexpr std::string_view kGroupInfo = "pmix.grp.info";
constexpr std::string_view kProcId = "pmix.procid";

bool ReadHead(Decoder* in, std::string_view* key) {
  uint32_t flags = 0;
  return in->GetString(key) && in->GetUint32(&flags);
}

// The array in an info with the key PMIX_GROUP_INFO.
struct Array {
  size_t count = 0;        // number of infos after the name
  std::string_view infos;  // these infos, and the bytes after them
  std::optional<ProcId> member;
};

// Reads the array. `in` is positioned after the key and the flags of the info.
// Returns no value for an info with another key and for a malformed one.
std::optional<Array> ReadArray(std::string_view key, Decoder* in) {
  uint16_t type = 0;
  uint16_t element = 0;
  Array array;
  if (key != kGroupInfo || !in->GetUint16(&type) || type != PMIX_DATA_ARRAY ||
      !in->GetUint16(&element) || element != PMIX_INFO ||
      !in->GetSize(&array.count)) {
    return std::nullopt;
  }
  array.infos = in->rest();
  Decoder first(array.infos);
  ProcId member;
  if (array.count == 0 || !ReadHead(&first, &key) || key != kProcId) {
    return array;
  }
  if (first.GetUint16(&type) && type == PMIX_PROC && first.GetProc(&member)) {
    array.member = std::move(member);
    array.infos = first.rest();
    --array.count;
  }
  return array;
}

std::string Begin(const ProcId& member, size_t count) {
  Encoder out;
  out.PutString(kGroupInfo);
  out.PutUint32(0);
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(PMIX_INFO);
  out.PutSize(count + 1);
  out.PutString(kProcId);
  out.PutUint32(0);
  out.PutUint16(PMIX_PROC);
  out.PutProc(member);
  return out.Take();
}

// Calls visit(info, array) for each info of a record. `array` is set if the
// info is an array of PMIX_GROUP_INFO.
template <typename Visit>
void ForEach(const GroupRecord& record, Visit&& visit) {
  Decoder in(record.shared);
  for (size_t i = 0; i < record.num_shared; ++i) {
    const std::string_view begin = in.rest();
    std::string_view key;
    if (!ReadHead(&in, &key)) return;
    Decoder value(in.rest());
    if (!in.SkipValue()) return;
    visit(begin.substr(0, begin.size() - in.rest().size()),
          ReadArray(key, &value));
  }
}

std::string ContextOf(const GroupRecord& result) {
  Encoder out;
  out.PutUint16(PMIX_SIZE);
  out.PutSize(result.context_id);
  return out.Take();
}

// Returns the infos that follow the name, as KVALs with the group's context id
// (`context`, a VALUE) as their qualifier.
std::string Qualified(const Array& array, std::string_view context) {
  Encoder out;
  Decoder in(array.infos);
  for (size_t i = 0; i < array.count; ++i) {
    std::string_view key;
    if (!ReadHead(&in, &key)) break;
    const std::string_view begin = in.rest();
    if (!in.SkipValue()) break;
    if (key.empty() || IsStoredName(key)) continue;
    const std::string_view value =
        begin.substr(0, begin.size() - in.rest().size());
    out.PutKvalEncoded(
        QualifiedNameOf(key, kGroupContextIdKey, context),
        EncodeQualified(key, value, kGroupContextIdKey, context));
  }
  return out.Take();
}

void Publish(const StepContext& step, const Job& job, const ProcId& member,
             std::string kvals, bool persists, ModexStore* modex) {
  const Bytes bytes(std::move(kvals));
  if (job.is_local(member.rank)) {
    const std::vector<ScopedData> data = {{Scope::kGlobal, bytes}};
    if (!modex->Commit(step.now, member, data)) return;
    if (persists) PersistCommit(*modex, member, data, &step.out);
  } else if (!modex->AddRemote(member, bytes)) {
    return;
  }
  step.out.push_back(modex->TakeChange(member));
}

}  // namespace

std::string SharedBy(const ProcId& member, std::string_view info) {
  Decoder in(info);
  std::string_view key;
  const auto array = ReadHead(&in, &key) ? ReadArray(key, &in) : std::nullopt;
  if (!array) return std::string(info);
  return Begin(member, array->count).append(array->infos);
}

std::string SharedBy(const ProcId& member, std::string_view key,
                     std::string_view value) {
  Encoder out;
  out.PutRaw(Begin(member, 1));
  out.PutString(key);
  out.PutUint32(0);
  out.PutRaw(value);
  return out.Take();
}

void KeepShared(const std::function<bool(const ProcId&)>& may_share,
                GroupRecord* record) {
  GroupRecord kept;
  ForEach(*record,
          [&](std::string_view info, const std::optional<Array>& array) {
            if (array && array->member && !may_share(*array->member)) return;
            ++kept.num_shared;
            kept.shared += info;
          });
  record->num_shared = kept.num_shared;
  record->shared = std::move(kept.shared);
}

void PublishShared(const StepContext& step, const GroupRecord& result,
                   const JobTable& jobs, bool persists, ModexStore* modex) {
  if (result.context_id == 0) return;
  const std::string context = ContextOf(result);
  std::map<ProcId, std::string> kvals;
  ForEach(result, [&](std::string_view, const std::optional<Array>& array) {
    if (!array || !array->member) return;
    kvals[*array->member] += Qualified(*array, context);
  });
  for (auto& [member, shared] : kvals) {
    const Job* job = jobs.Find(member.nspace);
    if (job == nullptr || member.rank >= job->num_ranks() || shared.empty()) {
      continue;
    }
    Publish(step, *job, member, std::move(shared), persists, modex);
  }
}

}  // namespace canopy::core
