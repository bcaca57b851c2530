#include "server/registration/resources.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "common/required.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/registration/entry.h"
#include "server/registration/map_texts.h"
#include "server/registration/problem.h"
#include "server/registration/realm_keys.h"

namespace canopy::registration {
namespace {

constexpr std::array kArraysOfJobs = std::to_array<std::string_view>(
    {PMIX_JOB_INFO_ARRAY, PMIX_APP_INFO_ARRAY, PMIX_PROC_INFO_ARRAY,
     PMIX_MAP_BLOB, PMIX_PROC_BLOB});

void Put(const std::string& key, const std::string& value, Keys* keys) {
  const auto known = std::ranges::find(*keys, key, &Keys::value_type::first);
  if (known == keys->end()) {
    keys->emplace_back(key, value);
  } else {
    known->second = value;
  }
}

void PutNew(const Keys& from, Keys* to) {
  for (const auto& [key, value] : from) {
    if (std::ranges::find(*to, key, &Keys::value_type::first) == to->end()) {
      to->emplace_back(key, value);
    }
  }
}

void Erase(std::string_view key, Keys* keys) {
  std::erase_if(*keys, [key](const auto& entry) { return entry.first == key; });
}

Keys Only(const Keys& keys, std::span<const std::string_view> wanted) {
  Keys found;
  for (const auto& entry : keys) {
    if (IsAnyOf(entry.first, wanted)) found.push_back(entry);
  }
  return found;
}

}  // namespace

// Parses a call. If `values` is true, entries without a value are ignored.
class Resources::Reader {
 public:
  Reader(bool values, std::vector<Part>* parts, Problem* problem)
      : values_(values), parts_(*parts), problem_(*problem) {}

  bool Read(std::span<const pmix_info_t> infos) {
    return ReadPart(infos, Part{});
  }

 private:
  using Infos = std::span<const pmix_info_t>;

  bool ReadPart(Infos infos, Part part);
  bool ReadArray(const pmix_info_t& array);
  bool ReadNode(Infos infos);
  bool ReadSession(Infos infos);

  const bool values_;
  std::vector<Part>& parts_;
  Problem& problem_;
};

bool Resources::Reader::ReadPart(Infos infos, Part part) {
  for (const pmix_info_t& info : infos) {
    const std::string_view key = KeyOf(info);
    if (IsAnyOf(key, kArraysOfJobs)) {
      return problem_.Say(kErrBadParam,
                          NameOf(key) + " is of a job, not of resources");
    }
    const bool is_array =
        key == PMIX_NODE_INFO_ARRAY || key == PMIX_SESSION_INFO_ARRAY;
    if (is_array &&
        (part.node || (part.session && key != PMIX_NODE_INFO_ARRAY))) {
      return problem_.Say(kErrBadParam, NameOf(key) + " is in another array");
    }
    if (is_array) {
      if (!ReadArray(info)) return false;
      continue;
    }
    const bool names_it = (part.node && IsAnyOf(key, kNamesOfNode)) ||
                          (part.session && key == PMIX_SESSION_ID);
    if (!names_it && !(values_ && IsAbsent(info))) part.infos.push_back(&info);
  }
  parts_.push_back(std::move(part));
  return true;
}

bool Resources::Reader::ReadArray(const pmix_info_t& array) {
  if (IsAbsent(array)) return true;
  const auto infos = InfosOf(array.value);
  if (!infos) {
    return problem_.Say(kErrTypeMismatch,
                        NameOf(KeyOf(array)) + " is not an array of infos");
  }
  return KeyOf(array) == PMIX_NODE_INFO_ARRAY ? ReadNode(*infos)
                                              : ReadSession(*infos);
}

bool Resources::Reader::ReadNode(Infos infos) {
  Level level;
  for (const pmix_info_t& info : infos) level.Add(info);
  Node node;
  node.name = ReadText(level.Find(PMIX_HOSTNAME), &problem_).value_or("");
  node.id = ReadNumber(level.Find(PMIX_NODEID), UINT32_MAX - 1, &problem_);
  if (const pmix_info_t* aliases = level.Find(PMIX_HOSTNAME_ALIASES)) {
    auto names = ReadNames(*aliases, &problem_);
    if (names) node.aliases = *std::move(names);
  }
  if (!problem_.ok()) return false;
  if (node.name.empty() && !node.id) {
    return problem_.Say(kErrBadParam,
                        "PMIX_HOSTNAME or PMIX_NODEID is missing in "
                        "PMIX_NODE_INFO_ARRAY");
  }
  Part part;
  part.node = std::move(node);
  return ReadPart(infos, std::move(part));
}

bool Resources::Reader::ReadSession(Infos infos) {
  Level level;
  for (const pmix_info_t& info : infos) level.Add(info);
  Part part;
  part.session = ReadNumber(level.Find(PMIX_SESSION_ID), UINT32_MAX, &problem_);
  if (!part.session) {
    return problem_.Say(kErrBadParam,
                        "PMIX_SESSION_ID is missing in "
                        "PMIX_SESSION_INFO_ARRAY");
  }
  return ReadPart(infos, std::move(part));
}

Resources::Node* Resources::FindNode(const Node& like) {
  for (Node& node : nodes_) {
    const bool same_name = !like.name.empty() && node.name == like.name;
    if (same_name || (like.id && node.id == like.id)) return &node;
  }
  return nullptr;
}

// Returns the registered keys of the session or node of a part, or those for
// all jobs. Creates an empty list if there are none yet.
Keys* Resources::Place(const Part& part) {
  if (part.session) return &sessions_[*part.session];
  if (!part.node) return &of_all_;
  Node* node = FindNode(*part.node);
  if (node == nullptr) node = &nodes_.emplace_back();
  if (!part.node->name.empty()) node->name = part.node->name;
  if (part.node->id) node->id = part.node->id;
  if (!part.node->aliases.empty()) node->aliases = part.node->aliases;
  return &node->keys;
}

Status Resources::Register(std::span<const pmix_info_t> infos) {
  return Register(infos, "");
}

Status Resources::Deliver(std::span<const pmix_info_t> infos) {
  return Register(infos, PMIX_TOPOLOGY_XML);
}

Status Resources::Register(std::span<const pmix_info_t> infos,
                           std::string_view without) {
  std::vector<Part> parts;
  Problem problem;
  if (!Reader(true, &parts, &problem).Read(infos)) return problem.status();
  if (nodes_.size() + parts.size() > kMaxNodes) {
    return Status(kErrOutOfResource, "resources of too many nodes");
  }
  std::vector<Keys> encoded(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const pmix_info_t* info : parts[i].infos) {
      std::string value = EncodeEntry(*info);
      if (value.empty() && MustHonour(info->flags)) {
        return Status(kErrNotSupported, "the value of " + NameOf(KeyOf(*info)) +
                                            " cannot be passed to processes");
      }
      if (value.empty() || KeyOf(*info) == without) continue;
      encoded[i].emplace_back(KeyOf(*info), std::move(value));
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Keys* place = Place(parts[i]);
    for (const auto& [key, value] : encoded[i]) Put(key, value, place);
  }
  return Status();
}

void Resources::Remove(const Part& part) {
  if (!part.session && !part.node) {
    for (const pmix_info_t* info : part.infos) Erase(KeyOf(*info), &of_all_);
    return;
  }
  const bool all = part.infos.empty();
  if (part.session) {
    if (all) sessions_.erase(*part.session);
    const auto session = sessions_.find(*part.session);
    if (session == sessions_.end()) return;
    for (const pmix_info_t* info : part.infos) {
      Erase(KeyOf(*info), &session->second);
    }
    return;
  }
  Node* node = FindNode(*part.node);
  if (node == nullptr) return;
  if (all) nodes_.erase(nodes_.begin() + (node - nodes_.data()));
  for (const pmix_info_t* info : part.infos) Erase(KeyOf(*info), &node->keys);
}

Status Resources::Deregister(std::span<const pmix_info_t> infos) {
  std::vector<Part> parts;
  Problem problem;
  if (!Reader(false, &parts, &problem).Read(infos)) return problem.status();
  for (const Part& part : parts) Remove(part);
  return Status();
}

void Resources::AddTo(Registration* registration) const {
  if (registration->no_data) return;
  PutNew(of_all_, &registration->job_keys);
  PutNew(Only(of_all_, kSessionKeys), &registration->session);
  if (registration->self_node != kNoNode) {
    PutNew(Only(of_all_, kNodeKeys),
           &registration->nodes[registration->self_node]);
  }
  const auto session = sessions_.find(registration->job.session_id);
  if (session != sessions_.end()) {
    PutNew(session->second, &registration->session);
    PutNew(Only(session->second, kSessionKeys), &registration->job_keys);
  }
  AddNodesTo(registration);
}

void Resources::AddNodesTo(Registration* registration) const {
  std::unordered_map<std::string_view, size_t> names;
  std::unordered_map<uint32_t, size_t> ids;
  const std::vector<JobNode>& nodes = registration->job.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    names.emplace(nodes[i].name, i);
    for (const std::string& alias : nodes[i].aliases) names.emplace(alias, i);
    ids.emplace(nodes[i].agent, i);
  }
  for (const Node& node : nodes_) {
    const auto named = names.find(node.name);
    const auto numbered = node.name.empty() ? ids.find(*node.id) : ids.end();
    if (named != names.end()) {
      PutNew(node.keys, &registration->nodes[named->second]);
    } else if (numbered != ids.end()) {
      PutNew(node.keys, &registration->nodes[numbered->second]);
    } else {
      registration->other_nodes.push_back(
          {node.name, node.aliases, node.id, node.keys});
    }
  }
}

}  // namespace canopy::registration
