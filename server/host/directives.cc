#include "server/host/directives.h"

#include "common/required.h"
#include "common/text.h"

namespace canopy::host {
namespace {

// The limit for keys that are remembered and logged; there is a limit because
// processes choose the keys.
constexpr size_t kMaxLogged = 64;

}  // namespace

bool Directives::Check(const ProcId& caller, const InfoList& infos) {
  bool good = true;
  for (const pmix_info_t& info : infos) {
    if (honoured_.contains(KeyOf(info))) continue;
    good = Refuse(caller, info) && good;
  }
  return good;
}

bool Directives::Refuse(const ProcId& caller, const pmix_info_t& info) {
  if (MustHonour(info.flags)) return false;
  const std::string_view key = KeyOf(info);
  if (logged_.size() >= kMaxLogged || logged_.contains(key)) return true;
  logged_.emplace(key);
  if (log_) {
    log_({core::LogLine::Level::kInfo, ToString(caller) + ": the directive " +
                                           Printable(key) + " of " + function_ +
                                           " is ignored"});
  }
  return true;
}

}  // namespace canopy::host
