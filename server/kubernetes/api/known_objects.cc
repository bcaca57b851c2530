#include "server/kubernetes/api/known_objects.h"

#include <string_view>

namespace canopy::kubernetes {
namespace {

// The API server's names have up to 253 characters.
constexpr size_t kMaxIdentityText = 512;

bool IsAssigned(const std::string& text) {
  return !text.empty() && text.size() <= kMaxIdentityText;
}

std::pair<std::string, std::string> KeyOf(const ObjectIdentity& object) {
  return {object.nspace, object.name};
}

}  // namespace

std::optional<ObjectIdentity> IdentityOf(const Json& object) {
  const Json& metadata = At(object, "metadata");
  ObjectIdentity identity{std::string(TextAt(metadata, "namespace")),
                          std::string(TextAt(metadata, "name")),
                          std::string(TextAt(metadata, "uid")),
                          std::string(TextAt(metadata, "resourceVersion"))};
  if (!IsAssigned(identity.name) || !IsAssigned(identity.uid) ||
      !IsAssigned(identity.version) ||
      identity.nspace.size() > kMaxIdentityText) {
    return std::nullopt;
  }
  return identity;
}

Json ObjectWith(const ObjectIdentity& identity) {
  Json metadata = {{"name", identity.name},
                   {"uid", identity.uid},
                   {"resourceVersion", identity.version}};
  if (!identity.nspace.empty()) metadata["namespace"] = identity.nspace;
  return {{"metadata", std::move(metadata)}};
}

std::optional<ObjectIdentity> KnownObjects::TakeReplaced(
    const ObjectIdentity& object) {
  const auto found = objects_.find(KeyOf(object));
  if (found == objects_.end() || found->second.uid == object.uid) return {};
  const Known replaced = std::move(found->second);
  objects_.erase(found);
  return ObjectIdentity{object.nspace, object.name, replaced.uid,
                        replaced.version};
}

KnownObjects::Difference KnownObjects::Record(const ObjectIdentity& object) {
  const auto [found, is_new] =
      objects_.try_emplace(KeyOf(object), Known{object.uid, object.version});
  Known& known = found->second;
  known.list = list_;
  if (is_new) return Difference::kNew;
  if (known.version == object.version) return Difference::kNone;
  known.version = object.version;
  return Difference::kChanged;
}

bool KnownObjects::Remove(const ObjectIdentity& object) {
  const auto found = objects_.find(KeyOf(object));
  if (found == objects_.end() || found->second.uid != object.uid) return false;
  objects_.erase(found);
  return true;
}

std::vector<ObjectIdentity> KnownObjects::EndList() {
  std::vector<ObjectIdentity> vanished;
  for (auto it = objects_.begin(); it != objects_.end();) {
    const auto& [key, known] = *it;
    if (known.list == list_) {
      ++it;
      continue;
    }
    vanished.push_back({key.first, key.second, known.uid, known.version});
    it = objects_.erase(it);
  }
  return vanished;
}

}  // namespace canopy::kubernetes
