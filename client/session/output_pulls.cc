#include "client/session/output_pulls.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "client/session/hold_timer.h"
#include "common/bytes.h"
#include "common/describe.h"
#include "common/host_op.h"
#include "common/local/calls.h"
#include "common/status.h"

namespace canopy::client {

// The output of one job.
struct OutputPulls::Flow {
  std::string nspace;
  std::vector<ProcId> targets;
  std::string cursor;
  uint64_t dropped = 0;  // dropped bytes of this job so far
  bool open = false;
};

// Used on the progress thread only, except for `stopped`.
struct OutputPulls::Pull {
  Pull(Caller c, PullSpec s, Callbacks f)
      : call(std::move(c)),
        spec(std::move(s)),
        callbacks(std::move(f)),
        output(spec.output,
               callbacks.receiver ? MakeReceiver() : OutputReceiver()) {}

  OutputReceiver MakeReceiver() {
    return [this](const ProcId& source, uint16_t channel, std::string_view data,
                  bool closed) {
      callbacks.receiver(
          handle, {source, channel, data, closed, std::exchange(dropped, 0)});
    };
  }

  size_t handle = 0;
  const Caller call;
  const PullSpec spec;
  const Callbacks callbacks;
  PulledOutput output;
  std::vector<Flow> flows;
  size_t unregistered = 0;  // flows without an answer to their first read
  int status = kSuccess;    // the first error among the flows' first reads
  uint64_t dropped = 0;     // dropped bytes, not reported yet
  Progress* progress = nullptr;
  std::unique_ptr<HoldTimer> timer;  // created when needed
  std::atomic<bool> stopped{false};
};

std::string OutputPulls::Payload(const Pull& pull, const Flow& flow,
                                 bool ends) {
  OutputRead read = pull.spec.read;
  read.handle = pull.handle;
  read.cursor = flow.cursor;
  read.ends = ends;
  const std::string call = wire::Encode(read);
  local::HostCall frame{HostOp::kReadOutput, {}, call};
  for (const ProcId& target : flow.targets) {
    frame.targets.push_back(ViewOf(target));
  }
  return wire::Encode(frame);
}

int OutputPulls::Start(Progress* progress, Caller call, PullSpec spec,
                       Callbacks callbacks) {
  const auto pull = std::make_shared<Pull>(std::move(call), std::move(spec),
                                           std::move(callbacks));
  pull->progress = progress;
  for (const ProcId& proc : pull->spec.procs) {
    auto flow = std::ranges::find(pull->flows, proc.nspace, &Flow::nspace);
    if (flow == pull->flows.end()) {
      flow = pull->flows.insert(flow, Flow{proc.nspace, {}, {}, 0, false});
    }
    flow->targets.push_back(proc);
  }
  pull->unregistered = pull->flows.size();
  {
    const MutexLock lock(mu_);
    pull->handle = ++last_;
    pulls_[pull->handle] = pull;
  }
  for (size_t i = 0; i < pull->flows.size(); ++i) {
    const int rc = pull->call(
        Payload(*pull, pull->flows[i], false),
        [this, pull, i](const Reply& reply) { OnRegistered(pull, i, reply); });
    if (rc == kSuccess) continue;
    Forget(pull->handle);
    pull->stopped = true;
    return rc;
  }
  return kSuccess;
}

void OutputPulls::OnRegistered(const PullRef& pull, size_t flow,
                               const Reply& reply) {
  Flow& first = pull->flows[flow];
  OutputRun run;
  int status = reply.status;
  if (status == kSuccess && !wire::Decode(Bytes(reply.payload), &run)) {
    status = kErrUnpackFailure;
  }
  first.open = status == kSuccess;
  first.cursor = run.cursor;
  first.dropped = run.dropped;
  pull->dropped += run.dropped;
  if (pull->status == kSuccess) pull->status = status;
  if (--pull->unregistered > 0 || pull->stopped) return;
  const bool ok = pull->status == kSuccess;
  if (!ok) Forget(pull->handle);
  pull->callbacks.registered(pull->status, pull->handle);
  for (size_t i = 0; i < pull->flows.size(); ++i) {
    if (!pull->flows[i].open) continue;
    ok ? Read(pull, i) : End(pull, i);
  }
}

void OutputPulls::Read(const PullRef& pull, size_t flow) {
  if (pull->stopped) return;
  const int rc = pull->call(
      Payload(*pull, pull->flows[flow], false),
      [this, pull, flow](const Reply& reply) { OnRead(pull, flow, reply); });
  if (rc != kSuccess) Fail(pull, flow, rc);
}

void OutputPulls::OnRead(const PullRef& pull, size_t flow, const Reply& reply) {
  if (pull->stopped) return;
  OutputRun run;
  int status = reply.status;
  const bool decoded =
      status == kSuccess && wire::Decode(Bytes(reply.payload), &run);
  // Output without a cursor is not requested again, because an agent that
  // always answers immediately without output would get requests endlessly.
  if (status == kSuccess &&
      (!decoded || (run.cursor.empty() && !run.complete))) {
    status = kErrUnpackFailure;
  }
  if (status != kSuccess) return Fail(pull, flow, status);
  Deliver(*pull, &pull->flows[flow], run);
  HoldForATime(pull);
  run.complete ? Conclude(pull, flow, kSuccess) : Read(pull, flow);
}

void OutputPulls::Fail(const PullRef& pull, size_t flow, int status) {
  if (leaving_) return Conclude(pull, flow, kSuccess);
  pull->callbacks.failed(
      {pull->flows[flow].targets, pull->spec.read.channels, status});
  Conclude(pull, flow, status);
}

// Called when no more output of a job can be read.
void OutputPulls::Conclude(const PullRef& pull, size_t flow, int failure) {
  End(pull, flow);
  pull->timer.reset();
  pull->output.Flush();
  if (!pull->callbacks.receiver) return;
  pull->callbacks.receiver(pull->handle,
                           {{pull->flows[flow].nspace, kRankWildcard},
                            pull->spec.read.channels,
                            {},
                            true,
                            std::exchange(pull->dropped, 0),
                            failure});
}

void OutputPulls::Deliver(Pull& pull, Flow* flow, const OutputRun& run) {
  pull.dropped += run.dropped - std::min(run.dropped, flow->dropped);
  flow->dropped = run.dropped;
  flow->cursor = run.cursor;
  for (const OutputPiece& piece : run.pieces) {
    if (pull.stopped) return;
    pull.output.Add({flow->nspace, piece.rank}, piece.channel,
                    piece.data.view());
  }
}

// Limits the time for which output is held, counted from its first byte.
void OutputPulls::HoldForATime(const PullRef& pull) {
  const uint32_t seconds = pull->spec.output.buffering_time_s;
  if (seconds == 0 || pull->stopped || !pull->output.holds()) return;
  if (!pull->timer) {
    pull->timer =
        HoldTimer::Make(pull->progress, [weak = std::weak_ptr<Pull>(pull)] {
          const PullRef held = weak.lock();
          if (held && !held->stopped) held->output.Release();
        });
  }
  // If no timer can be made, output is not held.
  if (!pull->timer) return pull->output.Release();
  pull->timer->Start(seconds);
}

void OutputPulls::Clear() {
  const MutexLock lock(mu_);
  for (auto& [handle, pull] : pulls_) pull->timer.reset();
  pulls_.clear();
}

bool OutputPulls::Stop(Progress* progress, size_t handle,
                       std::function<void(int)> done) {
  PullRef pull;
  {
    const MutexLock lock(mu_);
    const auto known = pulls_.find(handle);
    if (known == pulls_.end()) return false;
    pull = known->second;
    pulls_.erase(known);
  }
  progress->Post([this, pull, done = std::move(done)] {
    pull->stopped = true;
    pull->timer.reset();
    pull->output.Flush();
    for (size_t i = 0; i < pull->flows.size(); ++i) {
      if (pull->flows[i].open) End(pull, i);
    }
    done(kSuccess);
  });
  return true;
}

// Ends the read of one job's output without waiting for the agents.
void OutputPulls::End(const PullRef& pull, size_t flow) {
  pull->flows[flow].open = false;
  (void)pull->call(Payload(*pull, pull->flows[flow], true),
                   [](const Reply&) {});
}

void OutputPulls::Forget(size_t handle) {
  const MutexLock lock(mu_);
  pulls_.erase(handle);
}

}  // namespace canopy::client
