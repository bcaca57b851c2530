// Tools that pull. The output that a tool has read, together with the output
// reported as dropped, must equal the output written.
#include <algorithm>
#include <iterator>

#include "common/host_op.h"
#include "common/status.h"
#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Time for which the output of a finished job is kept (forwarding.cc).
constexpr TimeNs kLinger = 60'000 * kMs;
constexpr uint64_t kDefaultCache = uint64_t{1} << 20;
constexpr uint64_t kSabotaged = 5;  // one piece in this many

uint64_t LimitOf(uint64_t cache_size) {
  return cache_size == 0 ? kDefaultCache : cache_size;
}

}  // namespace

PlayedPull::PlayedPull(ToolTarget& of, uint64_t handle)
    : job(of), got(of.written) {
  read.handle = handle;
}

void ToolSoak::PlanPull(PlayedTool& tool) {
  constexpr uint64_t kCaches[] = {0, 0, 16, 100, 1000};
  constexpr uint16_t kChannels[] = {
      kOutputChannel | kErrorChannel, kOutputChannel | kErrorChannel,
      kOutputChannel | kErrorChannel, kOutputChannel, kErrorChannel};
  for (uint64_t handle = 1 + Random(2); handle > 0; --handle) {
    auto pull = std::make_unique<PlayedPull>(*tool.target, handle);
    pull->read.channels = kChannels[Random(std::size(kChannels))];
    pull->read.cache_size = kCaches[Random(std::size(kCaches))];
    pull->read.overflow =
        OneIn(2) ? Overflow::kDropOldest : Overflow::kDropNewest;
    pull->read.from_now = OneIn(6);
    pull->read.only_cached = OneIn(8);
    pull->read.redirects = OneIn(3);
    pull->pace = OneIn(2) ? 0 : OneIn(2) ? UpTo(20 * kMs) : UpTo(300 * kMs);
    pull->reads_left = OneIn(2) ? UINT32_MAX : static_cast<uint32_t>(Random(9));
    if (OneIn(2)) pull->stall = UpTo(OneIn(4) ? 100'000 * kMs : 2'000 * kMs);
    const std::string& nspace = tool.target->spec.nspace;
    if (OneIn(3)) {
      pull->ranks = {static_cast<Rank>(Random(tool.target->spec.procs.size()))};
      pull->targets = {{nspace, *pull->ranks.begin()}};
    } else {
      pull->targets = {{nspace, kRankWildcard}};
    }
    tool.pulls.push_back(std::move(pull));
  }
}

RequestId ToolSoak::Ask(const PlayedTool& tool, const PlayedPull& pull,
                        bool ends) {
  OutputRead read = pull.read;
  read.ends = ends;
  return cluster_.clients().CallHost(tool.proc, HostOp::kReadOutput,
                                     Bytes(wire::Encode(read)), pull.targets);
}

void ToolSoak::Read(PlayedTool& tool, PlayedPull& pull) {
  if (!pull.read.cursor.empty()) pull.state = PlayedPull::State::kReads;
  const bool rests =
      pull.job.over && pull.read_at + kLinger / 2 < cluster_.now();
  pull.late |= pull.job.over && (rests || pull.unknown) && pull.read_at != 0;
  pull.resumed |= pull.expires && pull.read_at + kLinger / 2 < cluster_.now();
  pull.unknown = pull.expires = false;
  pull.read_at = cluster_.now();
  pull.request = Ask(tool, pull, false);
}

bool ToolSoak::OnPullAnswer(PlayedTool& tool, RequestId request) {
  for (const auto& pull : tool.pulls) {
    if (request == pull->end) {
      pull->state = PlayedPull::State::kDone;
      LeaveIfDone(tool);
      return true;
    }
    if (request != pull->request) continue;
    pull->request = 0;
    const bool ends = pull->state == PlayedPull::State::kEnds ||
                      pull->state == PlayedPull::State::kDone;
    if (ends) {
      LeaveIfDone(tool);
    } else {
      OnRead(tool, *pull, *cluster_.clients().AnswerTo(request));
    }
    return true;
  }
  return false;
}

void ToolSoak::OnRead(PlayedTool& tool, PlayedPull& pull,
                      const Answer& answer) {
  const std::string who = ToString(tool.proc) + ", pull " +
                          std::to_string(pull.read.handle) + " of " +
                          pull.job.spec.nspace;
  if (answer.status != kSuccess) {
    // The first read may come before the job begins or after it is over.
    const bool begins = pull.state == PlayedPull::State::kBegins;
    const bool excused = pull.job.harmed || begins;
    if (!excused && !pull.job.forgotten) {
      Error(who + " is told " + std::to_string(answer.status));
    }
    pull.state = PlayedPull::State::kDone;
    return LeaveIfDone(tool);
  }
  OutputRun run;
  if (!wire::Decode(Bytes(answer.payload), &run)) {
    return Error(who + " has a malformed answer");
  }
  Take(pull, run, who);
  if (run.complete) {
    CheckComplete(pull, who);
    return EndPull(tool, pull);
  }
  GoOn(tool, pull);
}

void ToolSoak::Take(PlayedPull& pull, const OutputRun& run,
                    const std::string& who) {
  const bool first = pull.state == PlayedPull::State::kBegins;
  pull.state = PlayedPull::State::kPauses;
  pull.read.cursor = run.cursor;
  if (first && !run.pieces.empty()) Error(who + " has output at once");
  if (run.dropped < pull.dropped) Error(who + " is told of fewer dropped");
  if (options_.sabotage != ToolSabotage::kForgetsDropped) {
    result_.dropped += run.dropped - std::min(pull.dropped, run.dropped);
    pull.dropped = run.dropped;
  }
  uint64_t size = 0;
  for (const OutputPiece& piece : run.pieces) {
    size += piece.data.size();
    const bool spoiled = ++pull.pieces % kSabotaged == 0;
    if (spoiled && options_.sabotage == ToolSabotage::kLosesOutput) continue;
    const bool twice =
        spoiled && options_.sabotage == ToolSabotage::kRepeatsOutput;
    for (int times = twice ? 2 : 1; times > 0; --times) {
      const std::string error = pull.got.Add(piece);
      if (!error.empty()) Error(who + " has " + error);
    }
  }
  result_.read += size;
  if (size > LimitOf(pull.read.cache_size)) {
    Error(who + " was kept " + std::to_string(size) + " bytes");
  }
}

void ToolSoak::GoOn(PlayedTool& tool, PlayedPull& pull) {
  TimeNs pause = pull.pace == 0 ? 0 : UpTo(pull.pace);
  if (pull.reads_left-- == 0) {
    // The pull is ended between two reads or, below, during a read.
    if (pull.stall == 0 && OneIn(2)) return EndPull(tool, pull);
    if (pull.stall == 0) {
      Read(tool, pull);
      Later(tool.proc, UpTo(100 * kMs), [this, &pull](PlayedTool& there) {
        if (pull.state == PlayedPull::State::kReads) EndPull(there, pull);
      });
      return;
    }
    pull.reads_left = UINT32_MAX;
    pause = pull.stall;
  }
  if (pause == 0) return Read(tool, pull);
  Later(tool.proc, pause, [this, &pull](PlayedTool& there) {
    if (pull.state == PlayedPull::State::kPauses) Read(there, pull);
  });
}

void ToolSoak::EndPull(PlayedTool& tool, PlayedPull& pull) {
  pull.state = PlayedPull::State::kEnds;
  pull.end = Ask(tool, pull, true);
}

// A puller that its agent no longer knows continues from its cursor. Then all
// output that it missed on a node is reported to it as dropped, including
// output that it did not select. The number is not exact if the output was
// missed while the job's controller was restarted.
void ToolSoak::CheckComplete(const PlayedPull& pull, const std::string& who) {
  const ToolTarget& job = pull.job;
  if (job.harmed || job.forgotten || pull.late) return;
  const bool wants_all = pull.ranks.empty() &&
                         pull.read.channels == (kOutputChannel | kErrorChannel);
  const bool exact = wants_all || !pull.resumed;
  const uint64_t wanted = pull.Wanted();
  const uint64_t has = pull.got.bytes() + pull.dropped;
  const std::string what = who + " has " + std::to_string(pull.got.bytes()) +
                           " bytes and missed " + std::to_string(pull.dropped) +
                           " of " + std::to_string(wanted);
  if (pull.read.only_cached) {
    const uint64_t kept = LimitOf(job.spec.forwarding.cache_size);
    if (pull.got.bytes() > std::min(kept, wanted)) Error(what + ", cached");
    return;
  }
  if (!job.over) Error(who + " is complete before its job");
  if (pull.read.from_now) {
    if (pull.got.bytes() > wanted) Error(what + ", from now");
  } else if (job.restarted || !exact) {
    const bool too_few = has < wanted && !job.restarted;
    if (too_few || pull.got.bytes() > wanted) Error(what);
  } else if (has != wanted) {
    Error(what);
  }
  for (Rank rank = 0; rank < job.spec.procs.size(); ++rank) {
    if (!pull.ranks.empty() && !pull.ranks.contains(rank)) continue;
    for (const uint16_t channel : {kOutputChannel, kErrorChannel}) {
      if ((pull.read.channels & channel) == 0) continue;
      if (pull.got.IsClosed({rank, channel})) continue;
      Error(who + " has no end of channel " + std::to_string(channel) +
            " of rank " + std::to_string(rank));
    }
  }
}

bool ToolSoak::IsRedirected(const ToolTarget& job) const {
  return std::ranges::any_of(tools_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second->pulls, [&](const auto& pull) {
      return &pull->job == &job && pull->read.redirects &&
             entry.second->connected && pull->state != PlayedPull::State::kDone;
    });
  });
}

void ToolSoak::CheckRedirection(const std::string& nspace) {
  const ToolTarget* const job = Find(nspace);
  if (IsRedirected(*job) || cluster_.now() < job->redirected_until) return;
  Error("the output of " + nspace + " is kept from its launcher for nobody");
}

}  // namespace canopy::sim
