#include "server/spawn/envar_info.h"

#include <string>

#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::spawn {
namespace {

using Kind = EnvarEdit::Kind;

struct EditKind {
  std::string_view key;
  Kind kind;
};

constexpr EditKind kEditKinds[] = {
    {PMIX_SET_ENVAR, Kind::kSet},       {PMIX_UNSET_ENVAR, Kind::kUnset},
    {PMIX_ADD_ENVAR, Kind::kAdd},       {PMIX_PREPEND_ENVAR, Kind::kPrepend},
    {PMIX_APPEND_ENVAR, Kind::kAppend}, {PMIX_FIRST_ENVAR, Kind::kFirst},
};

bool IsName(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos;
}

}  // namespace

std::optional<Kind> EditKindOf(std::string_view key) {
  for (const EditKind& row : kEditKinds) {
    if (row.key == key) return row.kind;
  }
  return std::nullopt;
}

std::optional<EnvarEdit> ReadEdit(Kind kind, const pmix_value_t& value) {
  if (kind == Kind::kUnset) {
    const auto name = StringOf(value);
    if (!name || !IsName(*name)) return std::nullopt;
    return EnvarEdit{kind, std::string(*name), {}};
  }
  if (value.type != PMIX_ENVAR) return std::nullopt;
  const pmix_envar_t& envar = value.data.envar;
  if (envar.envar == nullptr || !IsName(envar.envar)) return std::nullopt;
  EnvarEdit edit{kind, envar.envar, {}};
  if (envar.value != nullptr) edit.value = envar.value;
  if (envar.separator != '\0') edit.separator = envar.separator;
  return edit;
}

}  // namespace canopy::spawn
