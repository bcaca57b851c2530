#include "hostmodule/node_pool.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace canopy::host {
namespace {

constexpr size_t kMaxNamesInText = 8;

std::string KnownNames(const std::vector<MapNode>& nodes) {
  std::string out;
  for (size_t i = 0; i < nodes.size() && i < kMaxNamesInText; ++i) {
    out += (i > 0 ? ", " : "") + nodes[i].name;
  }
  if (nodes.size() > kMaxNamesInText) {
    out += " and " + std::to_string(nodes.size() - kMaxNamesInText) + " more";
  }
  return out;
}

bool IsCalled(const MapNode& node, const std::string& name) {
  return node.name == name || std::ranges::count(node.aliases, name) > 0;
}

std::optional<uint32_t> ParseIndex(std::string_view text) {
  uint32_t n = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end) return std::nullopt;
  return n;
}

Result<std::vector<uint32_t>> FindNumbered(const std::vector<MapNode>& nodes,
                                           const std::string& name) {
  const std::optional<uint32_t> index =
      ParseIndex(std::string_view(name).substr(2));
  if (!index) {
    return Status(kErrBadParam, "host '" + name +
                                    "' is not understood; write +n0 for the "
                                    "first node, +n1 for the second");
  }
  if (*index >= nodes.size()) {
    return Status(kErrNotFound, "there is no node " + name + ": the job has " +
                                    std::to_string(nodes.size()) +
                                    " nodes, +n0 to +n" +
                                    std::to_string(nodes.size() - 1));
  }
  return std::vector<uint32_t>{*index};
}

Result<std::vector<uint32_t>> FindEmpty(const std::vector<MapNode>& nodes,
                                        const Host& host) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].slots_in_use == 0) found.push_back(i);
  }
  if (found.empty() || (host.slots_given && found.size() < host.slots)) {
    return Status(kErrJobInsufficientResources,
                  "host '+e' asks for nodes without processes, and there are " +
                      std::to_string(found.size()));
  }
  if (host.slots_given) found.resize(host.slots);
  return found;
}

uint32_t FreeSlots(const MapNode& node) {
  return node.slots - std::min(node.slots, node.slots_in_use);
}

// Returns the first nodes with free slots, and other nodes only if these are
// too few.
Result<std::vector<uint32_t>> FindAny(const std::vector<MapNode>& nodes,
                                      const Host& host) {
  const size_t wanted = host.slots_given ? host.slots : nodes.size();
  if (wanted > nodes.size()) {
    return Status(
        kErrJobInsufficientResources,
        std::to_string(wanted) + " nodes were requested, and there " +
            (nodes.size() == 1 ? "is 1"
                               : "are " + std::to_string(nodes.size())));
  }
  std::vector<uint32_t> found;
  std::vector<uint32_t> busy;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    (FreeSlots(nodes[i]) > 0 ? found : busy).push_back(i);
  }
  found.insert(found.end(), busy.begin(), busy.end());
  found.resize(wanted);
  std::ranges::sort(found);
  return found;
}

// Returns true if the entry selects several nodes. Its count is then the number
// of these nodes.
bool CountsNodes(const Host& host) {
  return host.name == "+e" || host.name == "+any";
}

// Returns the nodes that one entry names.
Result<std::vector<uint32_t>> Find(const std::vector<MapNode>& nodes,
                                   const Host& host, NodeId local_agent) {
  const std::string& name = host.name;
  if (name == "+e") return FindEmpty(nodes, host);
  if (name == "+any") return FindAny(nodes, host);
  if (name.starts_with("+n")) return FindNumbered(nodes, name);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (IsCalled(nodes[i], name)) return std::vector<uint32_t>{i};
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (name == "localhost" && nodes[i].agent == local_agent) {
      return std::vector<uint32_t>{i};
    }
  }
  return Status(kErrNotFound, "no node is called '" + name +
                                  "'; there are: " + KnownNames(nodes));
}

}  // namespace

Result<std::vector<PickedNode>> PickNodes(const std::vector<MapNode>& nodes,
                                          const std::vector<Host>& hosts,
                                          NodeId local_agent) {
  std::vector<PickedNode> picked;
  if (hosts.empty()) {
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      picked.push_back({i, FreeSlots(nodes[i]), false});
    }
    return picked;
  }
  std::vector<uint32_t> times(nodes.size());  // mentions without a count
  for (const Host& host : hosts) {
    Result<std::vector<uint32_t>> found = Find(nodes, host, local_agent);
    if (!found.ok()) return found.status();
    const bool counted = host.slots_given && !CountsNodes(host);
    for (const uint32_t node : *found) {
      auto it = std::ranges::find(picked, node, &PickedNode::node);
      if (it == picked.end()) it = picked.insert(it, {node, 0, false});
      if (counted) {
        const uint32_t room = std::numeric_limits<uint32_t>::max() - it->slots;
        it->slots += std::min(host.slots, room);
        it->slots_given = true;
      } else {
        ++times[node];
      }
    }
  }
  for (PickedNode& p : picked) {
    if (times[p.node] == 0) continue;
    if (p.slots_given || times[p.node] > 1) {
      p.slots += times[p.node];
      p.slots_given = true;
    } else {
      p.slots = FreeSlots(nodes[p.node]);
    }
  }
  return picked;
}

Result<std::vector<Host>> NameRelative(const std::vector<MapNode>& nodes,
                                       const std::vector<Host>& hosts,
                                       bool empty) {
  std::vector<Host> named;
  for (const Host& host : hosts) {
    if (!host.name.starts_with("+n") && !(empty && host.name == "+e")) {
      named.push_back(host);
      continue;
    }
    Result<std::vector<uint32_t>> found = Find(nodes, host, kNoNode);
    if (!found.ok()) return found.status();
    for (const uint32_t node : *found) {
      Host& entry = named.emplace_back(host);
      entry.name = nodes[node].name;
      if (CountsNodes(host)) entry.slots_given = false;
    }
  }
  return named;
}

Result<std::vector<uint32_t>> PickSequence(const std::vector<MapNode>& nodes,
                                           const std::vector<Host>& hosts,
                                           NodeId local_agent) {
  constexpr size_t kMaxSequence = 1u << 20;
  std::vector<uint32_t> sequence;
  for (const Host& host : hosts) {
    Result<std::vector<uint32_t>> found = Find(nodes, host, local_agent);
    if (!found.ok()) return found.status();
    const bool counted = host.slots_given && !CountsNodes(host);
    for (const uint32_t node : *found) {
      const uint32_t times = counted ? host.slots : 1;
      if (times > kMaxSequence - sequence.size()) {
        return Status(kErrBadParam, "the list of hosts is too long");
      }
      sequence.insert(sequence.end(), times, node);
    }
  }
  if (hosts.empty()) {
    for (uint32_t i = 0; i < nodes.size(); ++i) sequence.push_back(i);
  }
  return sequence;
}

std::vector<Gpu> FreeGpus(const MapNode& node) {
  if (!node.topology) return {};
  std::vector<Gpu> free = node.topology->gpus;
  std::erase_if(free, [&](const Gpu& gpu) {
    return std::ranges::count(node.gpus_in_use, GpuName(gpu)) > 0;
  });
  return free;
}

uint64_t FreeMemory(const MapNode& node) {
  const uint64_t all = node.topology ? node.topology->memory_bytes : 0;
  return all - std::min(all, node.memory_in_use);
}

}  // namespace canopy::host
