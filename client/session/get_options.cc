#include "client/session/get_options.h"

#include "client/session/directives.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

enum class Flag { kNotAFlag, kUnset, kSet };

// Reads `info` as a flag if its key is `name`.
Flag FlagOf(const pmix_info_t& info, std::string_view key,
            std::string_view name) {
  if (key != name) return Flag::kNotAFlag;
  return IsTrue(info) ? Flag::kSet : Flag::kUnset;
}

// The attribute's key; the macro PMIX_PROC_INFO is a data type.
constexpr char kProcInfoKey[] = "pmix.proc.info";

struct RealmName {
  std::string_view key;
  Realm realm;
};
constexpr RealmName kRealmNames[] = {
    {PMIX_SESSION_INFO, Realm::kSession}, {PMIX_JOB_INFO, Realm::kJob},
    {PMIX_APP_INFO, Realm::kApp},         {PMIX_NODE_INFO, Realm::kNode},
    {kProcInfoKey, Realm::kProc},
};

struct FlagName {
  std::string_view key;
  bool GetOptions::*member;
};
constexpr FlagName kFlagNames[] = {
    {PMIX_OPTIONAL, &GetOptions::optional},
    {PMIX_IMMEDIATE, &GetOptions::immediate},
    {PMIX_GET_REFRESH_CACHE, &GetOptions::refresh},
    {PMIX_GET_STATIC_VALUES, &GetOptions::static_values},
    {PMIX_GET_POINTER_VALUES, &GetOptions::pointer_values},
};

struct NumberName {
  std::string_view key;
  std::optional<uint32_t> GetOptions::*member;
};
constexpr NumberName kNumberNames[] = {
    {PMIX_SESSION_ID, &GetOptions::session_id},
    {PMIX_APPNUM, &GetOptions::appnum},
    {PMIX_NODEID, &GetOptions::nodeid},
};

int ParseRealm(const pmix_info_t& info, std::string_view key, GetOptions* out,
               bool* known) {
  for (const RealmName& name : kRealmNames) {
    const Flag flag = FlagOf(info, key, name.key);
    if (flag == Flag::kNotAFlag) continue;
    *known = true;
    if (flag == Flag::kUnset) return PMIX_SUCCESS;
    if (out->realm != Realm::kUnknown && out->realm != name.realm) {
      return PMIX_ERR_BAD_PARAM;
    }
    out->realm = name.realm;
    return PMIX_SUCCESS;
  }
  return PMIX_SUCCESS;
}

int ParseNumber(const pmix_info_t& info, std::string_view key, GetOptions* out,
                bool* known) {
  for (const NumberName& name : kNumberNames) {
    if (key != name.key) continue;
    *known = true;
    const std::optional<uint64_t> number = Uint64Of(info.value);
    if (!number || *number > UINT32_MAX) return PMIX_ERR_BAD_PARAM;
    out->*name.member = static_cast<uint32_t>(*number);
    return PMIX_SUCCESS;
  }
  return PMIX_SUCCESS;
}

int ReadName(const pmix_info_t& info, std::string_view* out) {
  const auto name = StringOf(info.value);
  if (!name || name->empty()) return PMIX_ERR_BAD_PARAM;
  *out = *name;
  return PMIX_SUCCESS;
}

int ParseOther(const pmix_info_t& info, std::string_view key, GetOptions* out,
               bool* known) {
  *known = true;
  if (key == PMIX_HOSTNAME) return ReadName(info, &out->hostname);
  if (key == PMIX_DEVICE_ID) return ReadName(info, &out->device_id);
  if (key == PMIX_FABRIC_DEVICE_NAME) return ReadName(info, &out->device_name);
  if (key == PMIX_DATA_SCOPE) {
    const auto scope = Uint64Of(info.value);
    if (!scope || *scope > PMIX_INTERNAL) return PMIX_ERR_BAD_PARAM;
    out->scope = static_cast<pmix_scope_t>(*scope);
    return PMIX_SUCCESS;
  }
  if (key == PMIX_TIMEOUT) return TimeoutOf(info, &out->timeout_ms);
  // PMIX_WAIT has no effect, because a get always waits for its value and finds
  // one value at most.
  const auto number = key == PMIX_WAIT ? Uint64Of(info.value) : std::nullopt;
  *known = number && *number <= 1;
  return key == PMIX_WAIT && !number ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

int ParseOne(const pmix_info_t& info, GetOptions* out) {
  const std::string_view key = KeyOf(info);
  if ((info.flags & PMIX_INFO_QUALIFIER) != 0) out->qualified = true;
  for (const FlagName& name : kFlagNames) {
    const Flag flag = FlagOf(info, key, name.key);
    if (flag == Flag::kNotAFlag) continue;
    out->*name.member = flag == Flag::kSet;
    return PMIX_SUCCESS;
  }
  bool known = false;
  int rc = ParseRealm(info, key, out, &known);
  if (!known) rc = ParseNumber(info, key, out, &known);
  if (!known) rc = ParseOther(info, key, out, &known);
  if (!known && (info.flags & PMIX_INFO_QUALIFIER) != 0) {
    out->narrowed = true;
  } else if (!known && rc == PMIX_SUCCESS) {
    return support::NotHonoured("PMIx_Get", info);
  }
  return rc;
}

}  // namespace

int ParseGetOptions(const pmix_info_t* info, size_t ninfo, GetOptions* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ninfo; ++i) {
    const int rc = ParseOne(info[i], out);
    if (rc != PMIX_SUCCESS) return rc;
  }
  if (out->static_values && out->pointer_values) return PMIX_ERR_BAD_PARAM;
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
