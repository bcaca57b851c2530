#include "server/library/hosted_output.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

constexpr uint16_t kOutputs =
    kOutputChannel | kErrorChannel | kDiagnosticChannel;
constexpr size_t kMaxPulls = 4096;
// The limits for the output that is held back.
constexpr size_t kMaxHeld = size_t{64} << 20;
constexpr size_t kMaxHeldPieces = size_t{1} << 20;

// The arguments of a host's function, which may read them until it answers.
struct Arguments {
  std::vector<pmix_proc_t> procs;
  InfoList infos;
};

InfoList DirectivesOf(const HostCaller& caller, const OutputRead& read) {
  InfoList infos;
  AddUser(caller, &infos);
  if (read.cache_size > 0) {
    infos.Set(PMIX_IOF_CACHE_SIZE,
              Value::Uint32(static_cast<uint32_t>(
                  std::min<uint64_t>(read.cache_size, UINT32_MAX))));
  }
  infos.Set(read.overflow == Overflow::kDropOldest ? PMIX_IOF_DROP_OLDEST
                                                   : PMIX_IOF_DROP_NEWEST,
            Value::Bool(true));
  if (!read.redirects) infos.Set(PMIX_IOF_COPY, Value::Bool(true));
  return infos;
}

// Returns the ranks of the targets, or an empty set for all ranks.
std::set<Rank> RanksOf(const std::vector<ProcId>& targets) {
  std::set<Rank> ranks;
  for (const ProcId& target : targets) {
    if (target.rank == kRankWildcard) return {};
    ranks.insert(target.rank);
  }
  return ranks;
}

// Calls `what` for each channel, which is one bit.
template <typename F>
void ForEachChannel(uint16_t channels, F&& what) {
  for (uint16_t bit = 1; bit != 0 && bit <= channels;
       bit = static_cast<uint16_t>(bit << 1)) {
    if ((channels & bit) != 0) what(bit);
  }
}

}  // namespace

// --------------------------------------------------------------- reading ---

int HostedOutput::Refusal(const HostCaller& caller,
                          const core::HostCallArrived& in,
                          OutputRead* read) const {
  if (in.targets.empty() || !wire::Decode(in.call.view(), read)) {
    return kErrBadParam;
  }
  const std::string& nspace = in.targets.front().nspace;
  const bool one_job = std::ranges::all_of(
      in.targets, [&](const ProcId& proc) { return proc.nspace == nspace; });
  if (nspace.empty() || !one_job) return kErrBadParam;
  if (read->ends) return kSuccess;
  if (module_.iof_pull == nullptr || (read->channels & ~kOutputs) != 0 ||
      read->channels == 0) {
    return kErrNotSupported;
  }
  const HostedJob* job = jobs_.Find(nspace);
  const bool others = job != nullptr && job->spec != nullptr &&
                      job->spec->uid != caller.uid && caller.uid != 0;
  return others ? kErrNoPermissions : kSuccess;
}

void HostedOutput::Read(const HostCaller& caller,
                        const core::HostCallArrived& in) {
  OutputRead read;
  int status = Refusal(caller, in, &read);
  if (status != kSuccess) return answer_(in.client, in.request, status, "");
  const Id id{in.client, read.handle, in.targets.front().nspace};
  if (read.ends) {
    End(id);
    return answer_(in.client, in.request, kSuccess, "");
  }
  const auto known = pulls_.find(id);
  if (known == pulls_.end()) return Begin(id, caller, in, read);
  Pull& pull = known->second;
  if (pull.reads || !pull.puller.Acknowledge(read.cursor)) {
    return answer_(in.client, in.request, kErrBadParam, "");
  }
  pull.reads = in.request;
  AnswerNews(id, &pull);
}

// Creates a puller before the host has agreed, because output may arrive
// earlier.
void HostedOutput::Begin(const Id& id, const HostCaller& caller,
                         const core::HostCallArrived& in,
                         const OutputRead& read) {
  if (!read.cursor.empty()) {  // the cursor of an ended puller
    OutputRun run;
    run.complete = true;
    run.cursor = read.cursor;
    return answer_(in.client, in.request, kSuccess, wire::Encode(run));
  }
  if (pulls_.size() >= kMaxPulls) {
    return answer_(in.client, in.request, kErrOutOfResource, "");
  }
  pulls_.emplace(id, Pull{core::Puller(++epoch_, 1, RanksOf(in.targets), read),
                          read.channels,
                          {}});
  const auto a = std::make_shared<Arguments>();
  for (const ProcId& proc : in.targets) a->procs.push_back(ToC(proc));
  a->infos = DirectivesOf(caller, read);
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.iof_pull(a->procs.data(), a->procs.size(),
                                a->infos.data(), a->infos.size(), read.channels,
                                Upcalls::OnOp, cbdata);
      },
      [this, id, request = in.request](const HostAnswer& answer) {
        OnBegun(id, request, answer.status);
      });
}

void HostedOutput::OnBegun(const Id& id, core::RequestId request, int status) {
  const auto pull = pulls_.find(id);
  if (pull == pulls_.end()) return;  // End has removed the pull
  std::string welcome;
  if (status == kSuccess) {
    welcome = wire::Encode(pull->second.puller.Welcome());
  } else {
    pulls_.erase(pull);
  }
  answer_(std::get<0>(id), request, status, std::move(welcome));
}

void HostedOutput::AnswerNews(const Id& id, Pull* pull) {
  if (!pull->reads || !pull->puller.HasNews()) return;
  const core::RequestId request = *std::exchange(pull->reads, std::nullopt);
  answer_(std::get<0>(id), request, kSuccess,
          wire::Encode(pull->puller.Next()));
}

// ----------------------------------------------------------------- ends ---

void HostedOutput::End(const Id& id) {
  const auto ended = pulls_.extract(id);
  if (ended.empty()) return;
  const std::string& nspace = std::get<2>(id);
  uint16_t unwanted = ended.mapped().channels;
  for (const auto& [other, pull] : pulls_) {
    if (std::get<2>(other) == nspace) {
      unwanted &= static_cast<uint16_t>(~pull.channels);
    }
  }
  if (unwanted != 0) Stop(nspace, unwanted);
}

void HostedOutput::Stop(const std::string& nspace, uint16_t channels) {
  const auto a = std::make_shared<Arguments>();
  a->procs.push_back(ToC({nspace, kRankWildcard}));
  a->infos.Set(PMIX_IOF_STOP, Value::Bool(true));
  upcalls_.Call(
      a,
      [&](void* cbdata) {
        return module_.iof_pull(a->procs.data(), a->procs.size(),
                                a->infos.data(), a->infos.size(), channels,
                                Upcalls::OnOp, cbdata);
      },
      [](const HostAnswer&) {});
}

void HostedOutput::RemoveAll(core::ClientId client) {
  std::vector<Id> ids;
  for (auto it = pulls_.lower_bound({client, 0, ""});
       it != pulls_.end() && std::get<0>(it->first) == client; ++it) {
    ids.push_back(it->first);
  }
  for (const Id& id : ids) End(id);
}

// Completes the pulls of the job. The pulls stay, because queued output can
// still be read.
void HostedOutput::DropJob(const std::string& nspace) {
  for (auto& [id, pull] : pulls_) {
    if (std::get<2>(id) != nspace) continue;
    pull.puller.Complete();
    AnswerNews(id, &pull);
  }
  std::erase_if(stopped_,
                [&](const Flow& flow) { return flow.first.nspace == nspace; });
}

// ------------------------------------------------------------ delivering ---

bool HostedOutput::IsStopped(const ProcId& source, uint16_t channels) const {
  bool stopped = false;
  ForEachChannel(channels, [&](uint16_t bit) {
    stopped |= stopped_.contains({source, bit}) ||
               stopped_.contains({{source.nspace, kRankWildcard}, bit});
  });
  return stopped;
}

int HostedOutput::Deliver(const DeliveredOutput& output) {
  if (stopped_.empty() || !IsStopped(output.source, output.channels)) {
    Pass(output);
    return kSuccess;
  }
  if (held_bytes_ + output.data.size() > kMaxHeld ||
      held_.size() >= kMaxHeldPieces) {
    return kErrOutOfResource;
  }
  held_bytes_ += output.data.size();
  held_.push_back(output);
  return kSuccess;
}

void HostedOutput::Pass(const DeliveredOutput& output) {
  for (auto& [id, pull] : pulls_) {
    if (std::get<2>(id) != output.source.nspace) continue;
    ForEachChannel(output.channels, [&, &puller = pull.puller](uint16_t bit) {
      if (!output.data.empty()) {
        puller.Add({0, 0, output.source.rank, bit, output.data});
      }
      if (output.complete) puller.Add({0, 0, output.source.rank, bit, {}});
    });
    AnswerNews(id, &pull);
  }
}

void HostedOutput::SetFlow(const ProcId& source, uint16_t channels,
                           bool stopped) {
  ForEachChannel(channels, [&](uint16_t bit) {
    if (stopped) {
      stopped_.insert({source, bit});
    } else {
      stopped_.erase({source, bit});
    }
  });
  if (stopped) return;
  std::deque<DeliveredOutput> held;
  held.swap(held_);
  held_bytes_ = 0;
  for (const DeliveredOutput& output : held) (void)Deliver(output);
}

}  // namespace canopy::library
