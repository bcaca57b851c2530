#include "server/kubernetes/identity/cgroup_pod.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "common/string_util.h"

namespace canopy::kubernetes {
namespace {

constexpr std::string_view kRoot = "kubepods";
constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr size_t kContainerIdLength = 64;
constexpr size_t kHashLength = 32;
constexpr std::string_view kUuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

using Groups = std::vector<std::string_view>;
using Above = std::span<const std::string_view>;

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool IsHex(std::string_view text, size_t length) {
  return text.size() == length && std::ranges::all_of(text, IsHexDigit);
}

bool IsUuid(std::string_view text) {
  return std::ranges::equal(text, kUuidForm, [](char c, char form) {
    return form == 'x' ? IsHexDigit(c) : c == form;
  });
}

bool IsPodUid(std::string_view text) {
  return IsUuid(text) || IsHex(text, kHashLength);
}

bool IsClass(std::string_view group) {
  return group == "burstable" || group == "besteffort";
}

// Removes the prefix. Returns false if the text does not begin with it.
bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view suffix, std::string_view* text) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

// Returns true if users may make groups below this one.
bool IsDelegated(std::string_view group) {
  return group == "user.slice" || group.ends_with(".service") ||
         group.ends_with(kScope) || IsHex(group, kContainerIdLength);
}

// Returns true for the name of a slice that has the slices of pods below it,
// such as "kubepods-burstable".
bool IsSliceOfPods(std::string_view name) {
  if (!TakeSuffix("-burstable", &name)) TakeSuffix("-besteffort", &name);
  return name == kRoot || name.ends_with("-kubepods");
}

// Returns the UID of the pod whose group the systemd driver has called `group`;
// empty if it is no pod's. A slice has the names of those above it in its own,
// each before a "-".
std::string UidOfSlice(std::string_view group) {
  constexpr std::string_view kPod = "-pod";
  if (!TakeSuffix(kSlice, &group)) return "";
  const size_t at = group.rfind('-');
  if (at == group.npos || !IsSliceOfPods(group.substr(0, at))) return "";
  group.remove_prefix(at);
  if (!TakePrefix(kPod, &group)) return "";
  std::string uid(group);
  std::ranges::replace(uid, '_', '-');
  return IsPodUid(uid) ? uid : "";
}

// Returns true if the last of these groups has the groups of pods below it. A
// reader in a control group namespace that sees no group above is below that
// group itself, and only root makes groups beside those of the reader.
bool HoldsPods(Above above, bool is_relative) {
  if (!above.empty() && IsClass(above.back())) {
    above = above.first(above.size() - 1);
  }
  return above.empty() ? is_relative : above.back() == kRoot;
}

std::string UidOfFolder(std::string_view group, Above above, bool is_relative) {
  if (!TakePrefix("pod", &group) || !IsPodUid(group)) return "";
  return HoldsPods(above, is_relative) ? std::string(group) : "";
}

std::string ContainerIdOf(std::string_view group) {
  // The monitor of a container, CRI-O's conmon, is not part of the container.
  if (group.starts_with("crio-conmon-")) return "";
  TakeSuffix(kScope, &group);
  for (const auto runtime : {"cri-containerd-", "crio-", "docker-"}) {
    if (TakePrefix(runtime, &group)) break;
  }
  return IsHex(group, kContainerIdLength) ? std::string(group) : "";
}

// Returns the groups of a path, from the root, without ".." at its beginning.
Groups GroupsOf(std::string_view path, bool* is_relative) {
  Groups groups = WordsOf(path, "/");
  const auto first = std::ranges::find_if(
      groups, [](std::string_view group) { return group != ".."; });
  *is_relative = first != groups.begin();
  groups.erase(groups.begin(), first);
  return groups;
}

std::optional<CgroupPod> PodOfPath(std::string_view path) {
  bool is_relative = false;
  const Groups groups = GroupsOf(path, &is_relative);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == ".." || IsDelegated(groups[i])) return std::nullopt;
    std::string uid = UidOfSlice(groups[i]);
    if (uid.empty()) {
      uid = UidOfFolder(groups[i], Above(groups).first(i), is_relative);
    }
    if (uid.empty()) continue;
    const bool is_last = i + 1 == groups.size();
    return CgroupPod{std::move(uid),
                     is_last ? "" : ContainerIdOf(groups[i + 1])};
  }
  return std::nullopt;
}

// Returns the path of a line HIERARCHY:CONTROLLERS:PATH. The kernel refuses
// names with a line break, and of its own parts only the path may have colons.
std::string_view PathOf(std::string_view line) {
  const size_t first = line.find(':');
  if (first == line.npos) return "";
  const size_t second = line.find(':', first + 1);
  return second == line.npos ? "" : line.substr(second + 1);
}

}  // namespace

std::optional<CgroupPod> FindPod(std::string_view cgroup_file) {
  if (cgroup_file.size() > kMaxCgroupFile) return std::nullopt;
  std::optional<CgroupPod> found;
  for (const std::string_view line : WordsOf(cgroup_file, "\n")) {
    std::optional<CgroupPod> pod = PodOfPath(PathOf(line));
    if (!pod) continue;
    if (!found) {
      found = std::move(pod);
      continue;
    }
    if (pod->pod_uid != found->pod_uid) return std::nullopt;
    if (pod->container_id != found->container_id) found->container_id.clear();
  }
  return found;
}

}  // namespace canopy::kubernetes
