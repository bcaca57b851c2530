// Process sets. Every process that has registered must be notified of each set
// of its user once, and must then find its members at its own agent.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/event/event_info.h"
#include "server/core/query/query_testing.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr char kRegister[] = "registration for sets";
constexpr char kDefine[] = "set ";
constexpr char kMembers[] = "members of set ";

Bytes DefineCall(const std::string& name) {
  Encoder out;
  out.PutSize(1);
  PutInfo(PMIX_JOB_CTRL_DEFINE_PSET, PMIX_STRING, &out);
  out.PutString(name);
  return Bytes(out.Take());
}

std::vector<ProcId> ProcsIn(const pmix_info_t* info) {
  std::vector<ProcId> out;
  if (info == nullptr || info->value.type != PMIX_DATA_ARRAY) return out;
  const pmix_data_array_t& array = *info->value.data.darray;
  const auto* procs = static_cast<const pmix_proc_t*>(array.array);
  for (size_t i = 0; i < array.size; ++i) {
    out.push_back({procs[i].nspace, procs[i].rank});
  }
  return out;
}

}  // namespace

// Begins the process's steps: it registers, defines its set, waits for the sets
// of all processes of its user, and queries one of them.
void Soak::BeginSet(const ProcId& proc, Actor& actor, const Op& op) {
  actor.goes_on = true;
  while (actor.goes_on && actor.waiting == 0) {
    switch (actor.step++) {
      case 0:
        if (std::exchange(actor.registered, true)) break;
        actor.operation = kRegister;
        actor.waiting =
            cluster_.clients().WantEvents(proc, {PMIX_PROCESS_SET_DEFINE});
        break;
      case 1:
        DefineSet(proc, actor, op.number);
        break;
      case 2:
        if (AwaitsSets(proc, actor, op.number)) {
          --actor.step;
          return;
        }
        AskForSet(proc, actor, op.number);
        break;
      default:
        actor.goes_on = false;
        actor.step = 0;
    }
  }
}

void Soak::DefineSet(const ProcId& proc, Actor& actor, uint32_t number) {
  const std::string name = NameOfSet(proc, number);
  const auto set = sets_.find(name);
  if (set == sets_.end()) return;
  set->second.begun = true;
  actor.operation = kDefine + name;
  actor.waiting = cluster_.clients().ControlJob(proc, set->second.members,
                                                DefineCall(name));
}

bool Soak::AwaitsSets(const ProcId& proc, const Actor& actor,
                      uint32_t number) const {
  return std::ranges::any_of(sets_, [&](const auto& item) {
    const auto& [name, set] = item;
    const bool comes = set.defined || actors_.contains(set.definer);
    return set.number == number && set.definer != proc && comes &&
           OfOneUser(proc, set.definer) && !set.told.contains(proc) &&
           !actor.excused_sets.contains(name);
  });
}

void Soak::AskForSet(const ProcId& proc, Actor& actor, uint32_t number) {
  for (const auto& [name, set] : sets_) {
    if (set.number != number || !set.told.contains(proc)) continue;
    TestQuery query{{PMIX_QUERY_PSET_MEMBERSHIP}};
    query.qualifiers.Add(PMIX_PSET_NAME, Value::String(name));
    actor.operation = kMembers + name;
    actor.waiting = cluster_.clients().Query(proc, Encoded({query}));
    if (OneIn(2)) return;
  }
}

// Returns whether the set may be gone. A set is dropped with the job of its
// definer.
bool Soak::MayBeGone(const PlayedSet& set) const {
  const auto job = std::ranges::find_if(jobs_, [&](const auto& one) {
    return one->spec.nspace == set.definer.nspace;
  });
  return any_fault_ || IsOver(**job) || IsHarmed(**job);
}

void Soak::NoteSetAnswer(Actor& actor, int status) {
  if (actor.operation == kRegister) {
    for (const auto& [name, set] : sets_) {
      if (MayBeGone(set)) actor.excused_sets.insert(name);
    }
  } else if (actor.operation.starts_with(kDefine) && status == kSuccess) {
    sets_.at(actor.operation.substr(sizeof(kDefine) - 1)).defined = true;
  }
}

void Soak::CheckSet(const ProcId& proc, Actor& actor, const Answer& answer) {
  if (!actor.operation.starts_with(kMembers)) return;
  const std::string name = actor.operation.substr(sizeof(kMembers) - 1);
  const PlayedSet& set = sets_.at(name);
  const bool foreign = std::ranges::any_of(jobs_, [&](const auto& job) {
    return job->spec.nspace == set.definer.nspace &&
           job->spec.uid != actor.job->spec.uid;
  });
  // A successor has the sets again when its neighbours have sent them.
  const bool settled = cluster_.now() >= settled_;
  if (foreign || MayBeGone(set) || !settled) {
    actor.expected = {kSuccess, kErrNotFound, kErrPartialSuccess};
  }
  if (answer.status != kSuccess) return;
  InfoList results;
  if (!DecodeInfos(answer.payload, &results) ||
      ProcsIn(results.Find(PMIX_QUERY_PSET_MEMBERSHIP)) != set.members) {
    Error(ToString(proc) + " finds other members of " + name);
  }
}

void Soak::OnSetNotice(const ProcId& proc, const ProcId& source,
                       const Bytes& info) {
  InfoList infos;
  if (!DecodeInfos(info.view(), &infos)) return Error("malformed event");
  const auto found = sets_.find(infos.FindString(PMIX_PSET_NAME).value_or(""));
  if (found == sets_.end()) return Error("an event of an unknown set");
  PlayedSet& set = found->second;
  const std::string what = ToString(proc) + " is told of " + found->first;
  if (!set.told.insert(proc).second) Error(what + " again");
  if (!set.begun || source != set.definer) Error(what + ", invented");
  if (ProcsIn(infos.Find(PMIX_PSET_MEMBERS)) != set.members) {
    Error(what + " with other members");
  }
  ready_.push_back(proc);
}

}  // namespace canopy::sim
