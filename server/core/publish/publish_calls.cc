#include "server/core/publish/publish_calls.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/required.h"
#include "common/slice.h"
#include "common/status.h"

namespace canopy::core {
namespace {

constexpr uint64_t kMaxTimeoutSeconds =
    std::numeric_limits<uint32_t>::max() / 1000;

// Maximum memory, in bytes, of the decoded value of one directive.
constexpr size_t kMaxDecoded = size_t{4} << 20;

struct Info {
  std::string_view key;
  uint32_t flags = 0;
  std::string_view value;
};

bool ReadInfo(Decoder& in, Info* info) {
  if (!in.GetString(&info->key) || !in.GetUint32(&info->flags)) return false;
  const std::string_view before = in.rest();
  if (!in.SkipValue()) return false;
  info->value = before.substr(0, before.size() - in.rest().size());
  return true;
}

std::optional<Value> ValueIn(const Info& info) {
  Decoder in(info.value);
  in.set_memory_limit(kMaxDecoded);
  Value value;
  if (!in.GetValue(&value) || !in.done()) return std::nullopt;
  return value;
}

int ReadNumber(const Info& info, uint64_t limit, uint64_t* number) {
  const std::optional<Value> value = ValueIn(info);
  const auto read = value ? value->AsUint64() : std::nullopt;
  if (!read) return kErrBadParam;
  *number = std::min(*read, limit);
  return kSuccess;
}

int ReadRange(const Info& info, PublishCall* call) {
  uint64_t number = 0;
  int status = ReadNumber(info, PMIX_RANGE_INVALID, &number);
  // Undefined means the default range.
  if (status != kSuccess || number == PMIX_RANGE_UNDEF) return status;
  const auto range = static_cast<uint8_t>(number);
  status = CheckRange(range);
  if (status == kSuccess) call->directives.range = range;
  return status;
}

// Reads the range of a lookup or an unpublish. An invalid range means an
// unrestricted search, because Open MPI 5 passes uninitialised memory when
// MPI_Lookup_name has no info.
int ReadSearchRange(const Info& info, PublishCall* call) {
  const int status = ReadRange(info, call);
  if (status != kErrBadParam || MustHonour(info.flags)) return status;
  call->ignored.emplace_back(info.key);
  return kSuccess;
}

int ReadPersistence(const Info& info, PublishCall* call) {
  uint64_t persistence = 0;
  const int status = ReadNumber(info, PMIX_PERSIST_INVALID, &persistence);
  if (status != kSuccess) return status;
  if (persistence > PMIX_PERSIST_SESSION) return kErrBadParam;
  call->directives.persistence = static_cast<uint8_t>(persistence);
  return kSuccess;
}

int ReadTimeout(const Info& info, PublishCall* call) {
  uint64_t seconds = 0;
  const int status = ReadNumber(info, kMaxTimeoutSeconds, &seconds);
  call->directives.timeout_ms = static_cast<uint32_t>(seconds * 1000);
  return status;
}

// Reads the number of keys to wait for. Open MPI 4 passes a flag in its place.
int ReadWait(const Info& info, PublishCall* call) {
  const std::optional<Value> value = ValueIn(info);
  if (value && value->type() == PMIX_BOOL) {
    call->directives.waits = value->AsBool().value_or(false);
    return kSuccess;
  }
  uint64_t count = 0;
  const int status = ReadNumber(info, kMaxKeysOfCall, &count);
  call->directives.waits = true;
  call->directives.wait_for = static_cast<uint32_t>(count);
  return status;
}

int ReadMembers(const Info& info, PublishCall* call) {
  const std::optional<Value> value = ValueIn(info);
  if (!value) return kErrBadParam;
  if (const auto proc = value->AsProc()) {
    call->directives.members = {*proc};
    return kSuccess;
  }
  const auto procs = value->AsProcs();
  if (!procs) return kErrBadParam;
  if (procs->size() > kMaxKeysOfCall) return kErrOutOfResource;
  call->directives.members.clear();
  for (const pmix_proc_t& proc : *procs) {
    call->directives.members.push_back(FromC(proc));
  }
  std::ranges::sort(call->directives.members);
  return kSuccess;
}

// Reads an array of numbers, or a single number.
int ReadIds(const pmix_value_t& value, std::vector<uint32_t>* ids) {
  constexpr uint64_t kMaxId = std::numeric_limits<uint32_t>::max();
  if (const auto one = Uint64Of(value)) {
    if (*one > kMaxId) return kErrBadParam;
    ids->push_back(static_cast<uint32_t>(*one));
    return kSuccess;
  }
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) {
    return kErrBadParam;
  }
  const pmix_data_array_t& array = *value.data.darray;
  if (array.type != PMIX_UINT32) return kErrBadParam;
  if (array.size > kMaxKeysOfCall) return kErrOutOfResource;
  const auto* first = static_cast<const uint32_t*>(array.array);
  ids->insert(ids->end(), first, first + array.size);
  return kSuccess;
}

int ReadPermissions(const Info& info, PublishCall* call) {
  const std::optional<Value> value = ValueIn(info);
  const auto infos = value ? value->AsInfos() : std::nullopt;
  if (!infos) return kErrBadParam;
  for (const pmix_info_t& one : *infos) {
    int status = kErrBadParam;
    const std::string_view key = KeyOf(one);
    if (key == "pmix.auids") {
      status = ReadIds(one.value, &call->directives.uids);
    } else if (key == "pmix.agids") {
      status = ReadIds(one.value, &call->directives.gids);
    }
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

// Ignores the directive, because the publisher's user is known from its
// connection.
int ReadOwner(const Info&, PublishCall*) { return kSuccess; }

constexpr auto kPublish = static_cast<uint8_t>(PublishFunction::kPublish);
constexpr auto kLookup = static_cast<uint8_t>(PublishFunction::kLookup);
constexpr auto kUnpublish = static_cast<uint8_t>(PublishFunction::kUnpublish);
constexpr uint8_t kAll = kPublish | kLookup | kUnpublish;

struct Directive {
  std::string_view key;
  uint8_t functions;  // mask of PublishFunction
  int (*read)(const Info&, PublishCall*);
  // If set, replaces `read` for lookups and unpublishes.
  int (*read_of_search)(const Info&, PublishCall*) = nullptr;
};

constexpr Directive kDirectives[] = {
    {"pmix.range", kAll, ReadRange, ReadSearchRange},
    {"pmix.persist", kPublish, ReadPersistence},
    {"pmix.timeout", kAll, ReadTimeout},
    {"pmix.wait", kLookup, ReadWait},
    {"pmix.evrange", kAll, ReadMembers},
    {"pmix.aperms", kPublish, ReadPermissions},
    {"pmix.euid", kAll, ReadOwner},
    {"pmix.egid", kAll, ReadOwner},
};

int ReadDirective(const Directive& directive, const Info& info, bool has_data,
                  PublishCall* call) {
  const bool searches = !has_data && directive.read_of_search != nullptr;
  return (searches ? directive.read_of_search : directive.read)(info, call);
}

bool IsReserved(std::string_view key) { return key.starts_with("pmix."); }

int ReadOther(const Bytes& all, const Info& info, bool has_data,
              PublishCall* call) {
  if (!has_data || IsReserved(info.key)) {
    if (MustHonour(info.flags)) return kErrNotSupported;
    call->ignored.emplace_back(info.key);
    return kSuccess;
  }
  if (info.key.empty() || info.key.size() > kMaxKeyLen) return kErrBadParam;
  call->data.emplace_back(info.key, SliceOf(all, info.value));
  return kSuccess;
}

}  // namespace

int ReadCall(const Bytes& bytes, PublishFunction function, PublishCall* call) {
  const bool has_data = function == PublishFunction::kPublish;
  if (bytes.empty()) return kSuccess;
  Decoder in(bytes.view());
  size_t count = 0;
  if (!in.GetSize(&count)) return kErrBadParam;
  if (count > kMaxKeysOfCall) return kErrOutOfResource;
  for (size_t i = 0; i < count; ++i) {
    Info info;
    if (!ReadInfo(in, &info)) return kErrBadParam;
    const auto* directive =
        std::ranges::find_if(kDirectives, [&](const Directive& one) {
          return one.key == info.key &&
                 (one.functions & static_cast<uint8_t>(function)) != 0;
        });
    const int status = directive != std::end(kDirectives)
                           ? ReadDirective(*directive, info, has_data, call)
                           : ReadOther(bytes, info, has_data, call);
    if (status != kSuccess) return status;
  }
  const bool lists_members =
      call->directives.range == static_cast<uint8_t>(DataRange::kCustom);
  if (lists_members && call->directives.members.empty()) return kErrBadParam;
  return kSuccess;
}

}  // namespace canopy::core
