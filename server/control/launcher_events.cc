#include "server/control/launcher_events.h"

#include <signal.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "common/ids.h"
#include "common/text.h"
#include "server/control/job_map.h"
#include "server/control/placement_request.h"

namespace canopy::control {
namespace {

// Returns the exit code of a launch that never started a process. It is the
// code that shells use.
int ExitCodeOf(int status) {
  switch (status) {
    case kErrJobExeNotFound:
      return 127;
    case kErrJobAppNotExecutable:
    case kErrExeNotAccessible:
      return 126;
    case kErrJobKilledByCmd:
      return 128 + SIGTERM;
    default:
      return 1;
  }
}

}  // namespace

v1::RunEvent MappedEvent(const JobSpec& job) {
  v1::RunEvent event;
  v1::JobMapped* const mapped = event.mutable_mapped();
  mapped->set_nspace(job.nspace);
  mapped->set_num_procs(static_cast<uint32_t>(job.procs.size()));
  mapped->set_map_by(job.map_by);
  mapped->set_rank_by(job.rank_by);
  mapped->set_bind_to(job.bind_to);
  mapped->set_unbound_reason(Printable(job.unbound_reason));
  mapped->set_oversubscribed(job.oversubscribed);
  mapped->set_parent(job.parent.nspace);
  if (!job.parent.nspace.empty()) {
    mapped->set_command(Printable(CommandOf(job)));
  }
  FillJobMap(job, mapped->mutable_nodes());
  return event;
}

v1::RunEvent MappedEvent(const JobRecord& record) {
  v1::RunEvent event = MappedEvent(*record.job);
  event.mutable_mapped()->MergeFromString(record.facts.wishes);
  return event;
}

v1::RunEvent QueuedEvent(const QueuedJob& job, uint32_t grace_ms) {
  v1::RunEvent event;
  v1::JobQueued* const queued = event.mutable_queued();
  queued->set_name(job.request.id.request);
  queued->set_reason(Printable(job.state.reason));
  queued->set_since_ms(job.request.since_ms);
  queued->set_position(job.state.position);
  queued->set_grace_ms(grace_ms);
  queued->set_attempt(job.request.id.attempt);
  return event;
}

v1::JobRequeued RequeuedOf(const JobSpec& job, const PlacementFacts& placed,
                           const std::string& reason) {
  v1::JobRequeued out;
  out.set_name(placed.any() ? placed.id.request : job.nspace);
  out.set_attempt(placed.id.attempt + 1);
  out.set_since_ms(placed.any() ? placed.queued_ms : WallClockMs());
  out.set_reason(Printable(reason));
  return out;
}

v1::RunEvent ProgressEvent(const JobSpec& job, const core::JobChanged& change) {
  v1::RunEvent event;
  v1::Progress* const progress = event.mutable_progress();
  progress->set_nodes_ready(change.nodes_ready);
  progress->set_nodes_total(static_cast<uint32_t>(job.nodes.size()));
  progress->set_procs_started(change.procs_started);
  progress->set_procs_total(static_cast<uint32_t>(job.procs.size()));
  progress->set_procs_ended(change.procs_ended);
  progress->set_running(change.phase == core::JobPhase::kRunning);
  return event;
}

v1::RunEvent NotesEvent(const JobSpec& job, const core::JobChanged& change) {
  v1::RunEvent event;
  for (const core::ProgramNote& note : change.notes) {
    v1::ProgramNote* const out = event.mutable_program_notes()->add_notes();
    out->set_reason(Printable(note.reason));
    std::istringstream detail(note.detail);
    for (std::string line; std::getline(detail, line);) {
      out->add_detail(Printable(line));
    }
    out->set_count(note.count);
    for (const JobNode& node : job.nodes) {
      if (std::ranges::count(note.nodes, node.agent) > 0) {
        out->add_nodes(node.name);
      }
    }
  }
  return event;
}

v1::JobEnd EndOf(const core::JobChanged& change) {
  v1::JobEnd end;
  end.set_exit_code(change.exit_code);
  end.set_status(change.status);
  end.set_text(Printable(change.text));
  if (change.first_failed != kRankInvalid) {
    end.set_first_failed(change.first_failed);
  }
  return end;
}

core::JobChanged ChangeOf(const v1::JobEnd& end) {
  core::JobChanged change;
  change.phase = core::JobPhase::kEnded;
  change.exit_code = end.exit_code();
  change.status = end.status();
  change.text = end.text();
  if (end.has_first_failed()) change.first_failed = end.first_failed();
  return change;
}

v1::JobEnd EndOf(const Status& refusal) {
  v1::JobEnd end;
  end.set_exit_code(ExitCodeOf(refusal.code()));
  end.set_status(refusal.code());
  end.set_text(Printable(refusal.message()));
  return end;
}

}  // namespace canopy::control
