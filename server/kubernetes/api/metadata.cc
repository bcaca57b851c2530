#include "server/kubernetes/api/metadata.h"

#include <cstddef>

namespace canopy::kubernetes {
namespace {

constexpr size_t kMaxName = 512;         // bytes of a name, a kind or a label
constexpr size_t kMaxAnnotation = 4096;  // bytes of an annotation's value
constexpr size_t kMaxValues = 256;       // labels or annotations of an object
constexpr size_t kMaxConditions = 64;

std::string NameAt(const Json& object, std::string_view key) {
  const std::string_view name = TextAt(object, key);
  return std::string(name.size() <= kMaxName ? name : std::string_view());
}

bool IsKept(std::string_view annotation) {
  return annotation.starts_with(kAnnotationPrefix) ||
         annotation == kCompletionIndex;
}

bool IsAny(std::string_view /*name*/) { return true; }

std::map<std::string, std::string, std::less<>> ValuesAt(
    const Json& metadata, std::string_view key,
    bool (*is_kept)(std::string_view), size_t max_value) {
  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [name, value] : MembersOf(At(metadata, key))) {
    if (values.size() == kMaxValues) break;
    const auto* text = value.get_ptr<const std::string*>();
    const bool fits =
        text != nullptr && name.size() <= kMaxName && text->size() <= max_value;
    if (fits && is_kept(name)) values.emplace(name, *text);
  }
  return values;
}

Owner OwnerOf(const Json& metadata) {
  for (const Json& owner : ElementsOf(At(metadata, "ownerReferences"))) {
    if (!BoolAt(owner, "controller", false)) continue;
    return {NameAt(owner, "kind"), NameAt(owner, "name"), NameAt(owner, "uid"),
            NameAt(owner, "apiVersion")};
  }
  return {};
}

}  // namespace

bool ParseMetadata(const Json& object, Metadata* metadata) {
  const Json& from = At(object, "metadata");
  metadata->name = NameAt(from, "name");
  metadata->nspace = NameAt(from, "namespace");
  metadata->uid = NameAt(from, "uid");
  metadata->resource_version = NameAt(from, "resourceVersion");
  metadata->deleting = !TextAt(from, "deletionTimestamp").empty();
  metadata->labels = ValuesAt(from, "labels", IsAny, kMaxName);
  metadata->annotations = ValuesAt(from, "annotations", IsKept, kMaxAnnotation);
  metadata->owner = OwnerOf(from);
  return !metadata->name.empty() && !metadata->uid.empty();
}

std::string_view ValueOf(
    const std::map<std::string, std::string, std::less<>>& values,
    std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string_view() : found->second;
}

std::optional<Condition> ConditionOf(const Json& object,
                                     std::string_view type) {
  size_t left = kMaxConditions;
  for (const Json& condition :
       ElementsOf(At(At(object, "status"), "conditions"))) {
    if (left-- == 0) break;
    if (TextAt(condition, "type") != type) continue;
    return Condition{TextAt(condition, "status") == "True",
                     ShownText(TextAt(condition, "reason"), kMaxName),
                     ShownText(TextAt(condition, "message"))};
  }
  return std::nullopt;
}

}  // namespace canopy::kubernetes
