#include "server/library/registered_contents.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

void Set(const registration::Keys& from, shm::KeyValues* to) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < to->size(); ++i) places[(*to)[i].first] = i;
  for (const auto& [key, value] : from) {
    const auto [place, added] = places.try_emplace(key, to->size());
    if (added) {
      to->emplace_back(key, value);
    } else {
      (*to)[place->second].second = value;
    }
  }
}

void SetText(const std::string& from, std::string* to) {
  if (!from.empty()) *to = from;
}

void SetProc(const registration::Proc& from, shm::ProcContents* to) {
  to->app_rank = from.numbers.app_rank;
  to->local_rank = from.numbers.local_rank;
  to->node_rank = from.numbers.node_rank;
  to->global_rank = from.global_rank;
  to->package_rank = from.package_rank.value_or(to->package_rank);
  to->reincarnation = from.reincarnation;
  SetText(from.cpuset, &to->cpuset);
  SetText(from.cpuset_bitmap, &to->cpuset_bitmap);
  SetText(from.locality, &to->locality);
  SetText(from.procdir, &to->procdir);
}

// Sets the number that the host gives the node. It differs from the node's
// number in the core.
void SetNode(const registration::Keys& keys, uint32_t id,
             shm::NodeContents* node) {
  node->id = id;
  Set({{PMIX_NODEID, EncodeValue(Value::Uint32(id).raw())}}, &node->keys);
  Set(keys, &node->keys);
}

// Returns the contents for a node without processes of the job. The job's
// processes may inquire about that node.
shm::NodeContents OtherNode(const registration::OtherNode& told) {
  shm::NodeContents node;
  node.name = told.name;
  node.aliases = told.aliases;
  node.id = told.id.value_or(kNoNode);
  if (!told.name.empty()) {
    node.hostname = EncodeValue(Value::String(told.name).raw());
    Set({{PMIX_HOSTNAME, node.hostname}}, &node.keys);
  }
  if (told.id) {
    Set({{PMIX_NODEID, EncodeValue(Value::Uint32(*told.id).raw())}},
        &node.keys);
  }
  Set(told.keys, &node.keys);
  return node;
}

}  // namespace

void AddRegistered(const registration::Registration& told,
                   shm::SegmentContents* contents) {
  // The host restarts processes, so only the host knows the limit of restarts.
  std::erase_if(contents->job, [](const auto& entry) {
    return entry.first == PMIX_MAX_RESTARTS;
  });
  Set(told.session, &contents->session);
  Set(told.job_keys, &contents->job);
  const size_t apps = std::min(told.apps.size(), contents->apps.size());
  for (size_t i = 0; i < apps; ++i) Set(told.apps[i], &contents->apps[i]);
  const size_t nodes = std::min(told.nodes.size(), contents->nodes.size());
  for (size_t i = 0; i < nodes; ++i) {
    SetNode(told.nodes[i], told.job.nodes[i].agent, &contents->nodes[i]);
  }
  for (const registration::OtherNode& node : told.other_nodes) {
    contents->nodes.push_back(OtherNode(node));
  }
  const size_t procs = std::min(told.procs.size(), contents->procs.size());
  for (size_t i = 0; i < procs; ++i) {
    SetProc(told.procs[i], &contents->procs[i]);
  }
}

std::vector<core::PublishRank> KeysOfProcesses(
    const registration::Registration& told) {
  std::vector<core::PublishRank> all;
  for (size_t rank = 0; rank < told.procs.size(); ++rank) {
    if (told.procs[rank].keys.empty()) continue;
    Encoder kvals;
    for (const auto& [key, value] : told.procs[rank].keys) {
      kvals.PutKvalEncoded(key, value);
    }
    core::PublishRank keys;
    keys.proc = {told.job.nspace, static_cast<Rank>(rank)};
    keys.visible = Bytes(kvals.Take());
    keys.only_changes = true;
    all.push_back(std::move(keys));
  }
  return all;
}

}  // namespace canopy::library
