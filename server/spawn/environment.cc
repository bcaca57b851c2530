#include "server/spawn/environment.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace canopy::spawn {
namespace {

std::string_view NameOf(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// The indices of variables, by name.
using Index = std::unordered_map<std::string, size_t>;

Index IndexOf(const Environment& env) {
  Index index;
  for (size_t i = 0; i < env.size(); ++i) index.emplace(NameOf(env[i]), i);
  return index;
}

void Unset(std::string_view pattern, Environment* env) {
  const bool prefix = pattern.ends_with('*');
  if (prefix) pattern.remove_suffix(1);
  std::erase_if(*env, [&](const std::string& entry) {
    const std::string_view name = NameOf(entry);
    return prefix ? name.starts_with(pattern) : name == pattern;
  });
}

// Returns the list without the elements equal to `value`.
std::string Without(std::string_view value, std::string_view list,
                    char separator) {
  std::string out;
  bool first = true;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(separator, at), list.size());
    const std::string_view element = list.substr(at, end - at);
    if (element != value) {
      if (!first) out += separator;
      out += element;
      first = false;
    }
    at = end + 1;
  }
  return out;
}

std::string Edited(const EnvarEdit& edit, std::string_view old) {
  using Kind = EnvarEdit::Kind;
  const std::string mark(1, edit.separator);
  const std::string rest = edit.kind == Kind::kFirst
                               ? Without(edit.value, old, edit.separator)
                               : std::string(old);
  if (edit.kind == Kind::kSet || rest.empty()) return edit.value;
  return edit.kind == Kind::kAppend ? rest + mark + edit.value
                                    : edit.value + mark + rest;
}

}  // namespace

void Apply(const EnvarEdit& edit, Environment* env) {
  Apply(std::vector<EnvarEdit>{edit}, env);
}

// Applies the edits by means of an index of the variables, because both lists
// may be long.
void Apply(const std::vector<EnvarEdit>& edits, Environment* env) {
  using Kind = EnvarEdit::Kind;
  Index index = IndexOf(*env);
  for (const EnvarEdit& edit : edits) {
    if (edit.kind == Kind::kUnset) {
      Unset(edit.name, env);
      index = IndexOf(*env);
      continue;
    }
    const auto [it, is_new] = index.emplace(edit.name, env->size());
    if (is_new) {
      env->push_back(edit.name + "=" + edit.value);
    } else if (edit.kind != Kind::kAdd) {
      std::string& entry = (*env)[it->second];
      entry =
          edit.name + "=" +
          Edited(edit, std::string_view(entry).substr(edit.name.size() + 1));
    }
  }
}

void Merge(const Environment& entries, Environment* env) {
  Index index = IndexOf(*env);
  for (const std::string& entry : entries) {
    const auto [it, is_new] = index.emplace(NameOf(entry), env->size());
    if (is_new) {
      env->push_back(entry);
    } else {
      (*env)[it->second] = entry;
    }
  }
}

std::vector<Environment> TakeApart(const std::vector<Environment>& whole,
                                   Environment* base) {
  std::vector<std::unordered_set<std::string_view>> names(whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const std::string& entry : whole[i]) names[i].insert(NameOf(entry));
  }
  std::erase_if(*base, [&](const std::string& entry) {
    return std::ranges::any_of(
        names, [&](const auto& have) { return !have.contains(NameOf(entry)); });
  });
  const std::unordered_set<std::string> shared(base->begin(), base->end());
  std::vector<Environment> out(whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const std::string& entry : whole[i]) {
      if (!shared.contains(entry)) out[i].push_back(entry);
    }
  }
  return out;
}

}  // namespace canopy::spawn
