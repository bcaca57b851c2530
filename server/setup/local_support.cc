#include "server/setup/local_support.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "common/required.h"
#include "common/values/info_list.h"
#include "server/spawn/envar_info.h"

namespace canopy::setup {

Status LocalSupport::Add(const std::string& nspace,
                         std::span<const pmix_info_t> infos) {
  std::vector<spawn::EnvarEdit> more;
  for (const pmix_info_t& info : infos) {
    const std::string key(KeyOf(info));
    const auto kind = spawn::EditKindOf(key);
    if (!kind) {
      if (!MustHonour(info.flags)) continue;
      return Status(kErrNotSupported, key + " is not known");
    }
    auto edit = spawn::ReadEdit(*kind, info.value);
    if (!edit) return Status(kErrTypeMismatch, key + " has no variable");
    more.push_back(*std::move(edit));
  }
  if (more.empty()) return Status();
  std::vector<spawn::EnvarEdit>& all = edits_[nspace];
  if (more.size() > kMaxEdits - all.size()) {
    return Status(kErrOutOfResource, "too many variables");
  }
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return Status();
}

void LocalSupport::Apply(const std::string& nspace,
                         spawn::Environment* environment) const {
  const auto edits = edits_.find(nspace);
  if (edits != edits_.end()) spawn::Apply(edits->second, environment);
}

}  // namespace canopy::setup
