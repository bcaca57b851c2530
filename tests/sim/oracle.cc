#include "tests/sim/oracle.h"

#include <algorithm>
#include <utility>

#include "common/codec/decoder.h"
#include "common/refusal.h"
#include "common/status.h"
#include "server/core/collective/group_record.h"
#include "server/core/modex/kval.h"
#include "server/core/modex/modex.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// In a large collective, only the data of some ranks is checked after each
// reply.
constexpr size_t kMaxLookedAt = 24;

bool Shows(Scope scope, bool local) {
  return scope == Scope::kGlobal ||
         scope == (local ? Scope::kLocal : Scope::kRemote);
}

std::string Name(const CollectiveId& id) {
  std::string out = "collective " + std::to_string(static_cast<int>(id.op)) +
                    " #" + std::to_string(id.sequence) + " of";
  for (const ProcId& proc : id.participants) out += " " + ToString(proc);
  return out;
}

}  // namespace

void Oracle::OnJob(const JobSpec& job) {
  jobs_[job.nspace] = job;
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    procs_[{job.nspace, rank}].node = job.nodes[job.procs[rank].node].agent;
  }
}

void Oracle::OnNodeReset(NodeId node) {
  std::erase_if(shown_, [&](const auto& s) { return s.first.first == node; });
}

void Oracle::OnDrop(NodeId node, const std::string& nspace) {
  std::erase_if(shown_, [&](const auto& s) {
    return s.first.first == node && s.first.second.nspace == nspace;
  });
}

void Oracle::OnCommit(const ProcId& proc, Scope scope, const std::string& key,
                      const std::string& value) {
  Proc& p = procs_[proc];
  p.keys[key].push_back({++p.commits, scope, value});
}

Oracle::Group& Oracle::GroupOf(const CollectiveId& id) {
  const auto [it, added] = groups_.try_emplace({id.op, id.participants});
  Group& group = it->second;
  if (!added) return group;
  for (const ProcId& proc : id.participants) {
    const auto job = jobs_.find(proc.nspace);
    if (job == jobs_.end()) continue;
    if (proc.rank != kRankWildcard) {
      group.members.push_back(proc);
      continue;
    }
    for (Rank rank = 0; rank < job->second.procs.size(); ++rank) {
      group.members.push_back({proc.nspace, rank});
    }
  }
  std::ranges::sort(group.members);
  for (const ProcId& proc : group.members) {
    group.by_node[procs_[proc].node].push_back(proc);
  }
  return group;
}

void Oracle::OnArrive(const ProcId& proc, RequestId request, CollectiveOp op,
                      std::vector<ProcId> participants, bool collect) {
  if (participants.empty()) participants = {{proc.nspace, kRankWildcard}};
  std::ranges::sort(participants);
  CollectiveId id{op, std::move(participants), 0};
  Group& group = GroupOf(id);
  id.sequence = group.arrivals[proc]++;
  Collective& one = group.sequence[id.sequence];
  one.arrived[proc] = procs_[proc].commits;
  one.all_collect &= collect;
  arrivals_[request] = {std::move(id), proc};
}

void Oracle::OnReply(NodeId node, RequestId request, int status) {
  if (const auto call = publishes_.find(request); call != publishes_.end()) {
    if (status == kSuccess) published_[call->second].published.insert(request);
  }
  const auto it = arrivals_.find(request);
  if (it == arrivals_.end()) return;
  if (IsRefusal(status)) TakeBack(it->second);
  if (status == kSuccess) CheckSuccess(node, it->second);
}

// Removes the arrival of a process whose call was refused. Its next call
// belongs to the same collective.
void Oracle::TakeBack(const Arrival& arrival) {
  Group& group = GroupOf(arrival.id);
  uint64_t& arrivals = group.arrivals[arrival.proc];
  if (arrivals != arrival.id.sequence + 1) {
    group.refusals = true;
    return;
  }
  --arrivals;
  group.sequence[arrival.id.sequence].arrived.erase(arrival.proc);
}

void Oracle::CheckSuccess(NodeId node, const Arrival& arrival) {
  const Group& group = GroupOf(arrival.id);
  if (group.refusals) return;
  const Collective& one = group.sequence.at(arrival.id.sequence);
  if (one.arrived.size() != group.members.size()) {
    report_("success of an incomplete " + Name(arrival.id) + " at " +
            ToString(arrival.proc));
    return;
  }
  // Agents on the route may have dropped a job that is being ended, and with it
  // data that this process should see.
  const bool ends = killed_.contains({node, arrival.proc.nspace});
  if (!one.all_collect || ends) return;
  const size_t stride = 1 + group.members.size() / kMaxLookedAt;
  for (size_t i = arrival.proc.rank % stride; i < group.members.size();
       i += stride) {
    const ProcId& proc = group.members[i];
    CheckSeen(node, proc, one.arrived.at(proc));
  }
}

// Checks that the data which a process committed before it arrived is visible
// when the other participants leave.
void Oracle::CheckSeen(NodeId node, const ProcId& proc, uint64_t commits) {
  const Proc& p = procs_[proc];
  const Shown& shown = shown_[{node, proc}];
  for (const auto& [key, all] : p.keys) {
    uint64_t expected = 0;
    for (const Written& w : all) {
      if (w.number <= commits && Shows(w.scope, p.node == node)) {
        expected = w.number;
      }
    }
    const auto it = shown.keys.find(key);
    const uint64_t seen = it == shown.keys.end() ? 0 : it->second;
    if (seen < expected) {
      report_("node " + std::to_string(node) + " does not show commit " +
              std::to_string(expected) + " of " + ToString(proc) + " to key " +
              key + " after a collecting fence, but " + std::to_string(seen));
    }
  }
}

std::map<std::string, uint64_t> Oracle::CheckKvals(const ProcId& proc,
                                                   std::string_view kvals,
                                                   bool local,
                                                   const char* where) {
  std::map<std::string, uint64_t> out;
  const Proc& p = procs_[proc];
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    const std::string key(piece.key);
    Decoder decoder(piece.whole);
    std::string_view text;
    uint16_t type = 0;
    const bool readable = decoder.GetString(&text) &&
                          decoder.GetUint16(&type) && decoder.GetString(&text);
    uint64_t number = 0;
    const auto written = p.keys.find(key);
    if (readable && written != p.keys.end()) {
      for (const Written& w : written->second) {
        if (w.value == text && Shows(w.scope, local)) number = w.number;
      }
    }
    if (number == 0) {
      report_("invented: " + ToString(proc) + " never committed '" +
              std::string(text) + "' to " + key + ", " + where);
    }
    if (!out.emplace(key, number).second) {
      report_("doubled: key " + key + " of " + ToString(proc) + ", " + where);
    }
  }
  if (!kvals.empty()) report_(std::string("malformed data, ") + where);
  return out;
}

void Oracle::OnGetReply(const ProcId& target, std::string_view kvals) {
  if (!procs_.contains(target)) return;
  // A key for either side, local or remote, is allowed here, because the data
  // was checked when it was published.
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (!procs_[target].keys.contains(std::string(piece.key))) {
      report_("a get of " + ToString(target) + " shows key " +
              std::string(piece.key) + " that it never committed");
    }
  }
}

void Oracle::OnPublish(NodeId node, const PublishRank& data) {
  const bool local = procs_[data.proc].node == node;
  Shown& shown = shown_[{node, data.proc}];
  std::map<std::string, uint64_t> now =
      CheckKvals(data.proc, data.visible.view(), local, "in shared memory");
  for (const auto& [key, number] : shown.keys) {
    const auto it = now.find(key);
    if (it == now.end() || it->second < number) {
      report_("lost: node " + std::to_string(node) + " went back to commit " +
              std::to_string(it == now.end() ? 0 : it->second) + " of " +
              ToString(data.proc) + " to key " + key + " from " +
              std::to_string(number));
    }
  }
  shown.keys = std::move(now);
}

// ---------------------------------------------------------------- names ---

void Oracle::OnPublishCall(const ProcId& proc, RequestId request,
                           const std::string& key, bool once) {
  published_[key].callers.insert(proc);
  published_[key].once = once;
  publishes_[request] = key;
}

void Oracle::OnLookupReply(const ProcId& proc, RequestId request,
                           std::string_view found) {
  Decoder in(found);
  size_t count = 0;
  if (found.empty() || !in.GetSize(&count)) return;
  for (size_t i = 0; i < count; ++i) {
    ProcId publisher;
    KvalView kval;
    std::string_view value;
    uint16_t type = 0;
    const bool whole = in.GetProc(&publisher) && in.GetKval(&kval);
    Decoder text(kval.value);
    if (!whole || !text.GetUint16(&type) || !text.GetString(&value)) {
      return report_("malformed answer to a lookup");
    }
    const std::string key(kval.key);
    const auto it = published_.find(key);
    if (it == published_.end() || !it->second.callers.contains(publisher) ||
        value != key) {
      report_("invented: " + ToString(publisher) + " never published '" +
              std::string(value) + "' as " + key);
      continue;
    }
    if (jobs_[publisher.nspace].uid != jobs_[proc.nspace].uid) {
      report_(ToString(proc) + " reads " + key + " of another user");
    }
    std::set<RequestId>& readers = it->second.readers;
    readers.insert(request);
    if (it->second.once && readers.size() > 1) {
      report_("doubled: " + key + " was read twice");
    }
  }
}

void Oracle::OnSpawn(RequestId request, std::string_view call) {
  const auto it = spawns_.find(request);
  if (it == spawns_.end() || it->second == call) return;
  report_("a spawn is executed that was asked for in other words");
}

size_t Oracle::NumReaders(const std::string& key) const {
  const auto it = published_.find(key);
  return it == published_.end() ? 0 : it->second.readers.size();
}

size_t Oracle::NumPublishers(const std::string& key) const {
  const auto it = published_.find(key);
  return it == published_.end() ? 0 : it->second.published.size();
}

void Oracle::OnSend(const PeerMessage& message) {
  if (const auto* up = std::get_if<CollectiveUp>(&message.body)) {
    CheckContributions(up->id, up->contributions);
  } else if (const auto* down = std::get_if<CollectiveDown>(&message.body)) {
    CheckContributions(down->id, down->contributions);
  }
}

void Oracle::CheckContributions(
    const CollectiveId& id,
    const std::vector<NodeContribution>& contributions) {
  Group& group = GroupOf(id);
  if (group.refusals) return;
  if (IsGroupOp(id.op)) return CheckGroupData(id, contributions);
  Collective& one = group.sequence[id.sequence];
  std::set<NodeId> seen;
  for (const NodeContribution& c : contributions) {
    const std::string who = "node " + std::to_string(c.node);
    if (!seen.insert(c.node).second) {
      report_("doubled: " + who + " twice in one message of " + Name(id));
    }
    const auto there = group.by_node.find(c.node);
    if (there == group.by_node.end()) {
      report_("invented: " + who + " has no part in " + Name(id));
      continue;
    }
    for (const ProcId& proc : there->second) {
      if (!one.arrived.contains(proc)) {
        report_("invented: " + who + " speaks for " + ToString(proc) +
                ", which has not come to " + Name(id));
      }
    }
    const auto [it, added] =
        one.data.try_emplace(c.node, std::string(c.data.view()));
    if (added || restarts_) {
      CheckData(id, c.node, c.data);
    } else if (it->second != c.data.view() && !c.data.empty()) {
      report_("changed on the way: data of " + who + " in " + Name(id));
    }
  }
}

void Oracle::CheckGroupData(
    const CollectiveId& id,
    const std::vector<NodeContribution>& contributions) {
  for (const NodeContribution& c : contributions) {
    // When an agent reports a constructed group to a new parent, the report has
    // only a result.
    if (c.data.empty()) continue;
    const auto record = DecodeGroupRecord(c.data);
    if (!record) {
      report_("malformed contribution to " + Name(id));
      continue;
    }
    CheckData(id, c.node, Bytes(record->committed));
  }
}

void Oracle::CheckData(const CollectiveId& id, NodeId node, const Bytes& data) {
  ModexReader reader(data);
  RankUpdate update;
  std::set<ProcId> seen;
  while (reader.Next(&update)) {
    if (procs_[update.proc].node != node) {
      report_("invented: node " + std::to_string(node) + " speaks for " +
              ToString(update.proc) + " in " + Name(id));
    }
    if (!seen.insert(update.proc).second) {
      report_("doubled: " + ToString(update.proc) + " in " + Name(id));
    }
    CheckKvals(update.proc, update.kvals.view(), false, "in a contribution");
  }
  if (!reader.ok()) report_("malformed contribution to " + Name(id));
}

std::string InputText(uint64_t begin, uint64_t end) {
  // No two sections of a few bytes are equal within thousands of bytes.
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  constexpr int kTopBits = 56;
  std::string out;
  for (uint64_t at = begin; at < end; ++at) {
    out.push_back(static_cast<char>(at * at * kFactor >> kTopBits));
  }
  return out;
}

void Oracle::OnInputRead(const ProcId& proc, std::string_view data) {
  uint64_t& read = input_read_[proc];
  const uint64_t end = read + data.size();
  if (end > input_[proc.nspace] || data != InputText(read, end)) {
    report_("input of " + ToString(proc) + " is not what was offered, from " +
            std::to_string(read) + " to " + std::to_string(end));
  }
  read = end;
}

void Oracle::OnInputEnd(const ProcId& proc, bool closed) {
  if (closed && input_read_[proc] == input_[proc.nspace]) return;
  report_("input of " + ToString(proc) + " ends at " +
          std::to_string(input_read_[proc]) + " of " +
          std::to_string(input_[proc.nspace]));
}

}  // namespace canopy::sim
