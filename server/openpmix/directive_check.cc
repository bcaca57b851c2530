#include "server/openpmix/directive_check.h"

#include <map>
#include <set>
#include <string>

#include "client/include/pmix_tables.h"
#include "common/required.h"
#include "common/status.h"
#include "common/support/attribute_support.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

using Keys = std::set<std::string, std::less<>>;

// Infos that libraries add themselves: the caller's user and group, and the
// local status of a collective.
constexpr std::string_view kOfLibraries[] = {PMIX_USERID, PMIX_GRPID,
                                             PMIX_LOCAL_COLLECTIVE_STATUS};

struct Function {
  Keys honoured;
  Keys documented;
};

Function FunctionOf(std::string_view name) {
  Function function;
  for (const auto level : {support::Level::kClient, support::Level::kHost}) {
    for (const auto& attribute : support::AttributesAt(name, level)) {
      function.honoured.insert(attribute.key);
    }
  }
  for (const FunctionAttribute& row : AttributesOf(name)) {
    const AttributeEntry* entry = FindAttributeByName(row.attribute);
    if (entry != nullptr) function.documented.emplace(entry->key.view());
  }
  for (const std::string_view key : kOfLibraries) {
    function.honoured.emplace(key);
  }
  return function;
}

const Function& Find(std::string_view name) {
  static std::map<std::string_view, Function>* const functions =
      new std::map<std::string_view, Function>;
  const auto it = functions->find(name);
  if (it != functions->end()) return it->second;
  return functions->emplace(name, FunctionOf(name)).first->second;
}

bool HasEffect(std::string_view name, const pmix_info_t& info) {
  const Function& function = Find(name);
  if (function.honoured.contains(KeyOf(info))) return true;
  // A qualifier of a get selects values. An unknown info of an event is data
  // for the event's handlers. Neither is a directive.
  if (name == "PMIx_Get") return (info.flags & PMIX_INFO_QUALIFIER) != 0;
  if (name == "PMIx_Group_leave") return KeyOf(info) == PMIX_TIMEOUT;
  return name == "PMIx_Notify_event" &&
         !function.documented.contains(KeyOf(info));
}

}  // namespace

void CheckDirectives(Reading& r, std::string_view function,
                     const InfoList& infos) {
  for (const pmix_info_t& info : infos) {
    if (HasEffect(function, info)) continue;
    if (MustHonour(info.flags)) {
      r.in.Fail(kErrNotSupported);
      return;
    }
    r.ignored.push_back({function, std::string(KeyOf(info))});
  }
}

}  // namespace canopy::openpmix
