#include "server/control/staging.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "common/text.h"

namespace canopy::control {
namespace {

constexpr uint16_t kStdout = 2;
constexpr size_t kMaxError = 1024;
// The path of the shim's program on every node. It is resolved in a child of
// the shim, before its exec.
constexpr char kShim[] = "/proc/self/exe";

JobApp App(std::vector<std::string> args, uint32_t num_procs) {
  JobApp app;
  app.cmd = kShim;
  app.argv = {preload::kStageProgram};
  app.argv.insert(app.argv.end(), args.begin(), args.end());
  app.num_procs = num_procs;
  return app;
}

std::vector<std::string> ReaderArgs(const std::vector<preload::Item>& items) {
  std::vector<std::string> args = {preload::kStageRead};
  for (const preload::Item& item : items) {
    args.insert(args.end(), {item.name, item.source, item.path, item.cwd});
  }
  return args;
}

uint32_t PlaceOf(const JobNode& node, std::vector<JobNode>* nodes) {
  const auto known = std::ranges::find(*nodes, node.agent, &JobNode::agent);
  const auto index = static_cast<uint32_t>(known - nodes->begin());
  if (known == nodes->end()) nodes->push_back(node);
  return index;
}

int StatusOf(const core::JobChanged& change) {
  if (change.status != kErrJobNonZeroTerm) return change.status;
  switch (change.exit_code) {
    case 127:
      return kErrJobExeNotFound;
    case 126:
      return kErrJobAppNotExecutable;
    default:
      return kErrJobFailedToLaunch;
  }
}

}  // namespace

JobSpec StagingJob(const JobSpec& job, const FileSource& source) {
  JobSpec out;
  out.nspace = preload::StagingNspace(job.nspace);
  out.session_id = job.session_id;
  out.uid = job.uid;
  out.gid = job.gid;
  out.cwd = "/";
  out.nodes = job.nodes;
  const auto writers = static_cast<uint32_t>(out.nodes.size());
  out.apps.push_back(App({preload::kStageWrite}, writers));
  for (uint32_t node = 0; node < writers; ++node) {
    out.procs.push_back({node, 0, ""});
  }
  if (source.node) {
    out.apps.push_back(App(ReaderArgs(source.items), 1));
    out.procs.push_back({PlaceOf(*source.node, &out.nodes), 1, ""});
  }
  out.stdin_target = StdinTarget::kAll;
  out.inject = Inject::kNever;
  out.kill_grace_seconds = 0;
  out.universe_size = job.universe_size;
  return out;
}

Staging::Copy* Staging::Find(const std::string& nspace) {
  const auto it = copies_.find(nspace);
  return it == copies_.end() ? nullptr : &it->second;
}

Staging::Copy* Staging::FindCopying(const std::string& nspace,
                                    std::string* job) {
  for (auto& [name, copy] : copies_) {
    if (copy.nspace != nspace) continue;
    *job = name;
    return &copy;
  }
  return nullptr;
}

void Staging::Begin(std::shared_ptr<const JobSpec> job,
                    const FileSource& source) {
  auto copying = std::make_shared<const JobSpec>(StagingJob(*job, source));
  Copy& copy = copies_[job->nspace];
  copy.nspace = copying->nspace;
  copy.writers = copying->apps[0].num_procs;
  copy.has_reader = source.node.has_value();
  sink_->OnInput(core::LaunchRequested{std::move(copying)});
}

void Staging::Offer(const std::string& nspace, Bytes data) {
  const Copy* const copy = Find(nspace);
  // An empty piece ends the job's own input, and is not part of the archive.
  if (copy == nullptr || copy->has_reader || data.empty()) return;
  sink_->OnInput(core::InputOffered{copy->nspace, std::move(data)});
}

bool Staging::OnOutput(const core::DeliverOutput& output) {
  std::string job;
  Copy* const copy = FindCopying(output.nspace, &job);
  if (copy == nullptr) return false;
  const bool reads = copy->has_reader && output.rank == copy->writers;
  if (reads && output.channel == kStdout && !output.data.empty()) {
    // The reader's output is acknowledged when the writers have received it.
    sink_->OnInput(core::InputOffered{copy->nspace, output.data});
    return true;
  }
  if (output.data.empty()) return true;
  sink_->OnInput(
      core::OutputConsumed{copy->nspace, output.rank, output.data.size()});
  if (output.channel != kStdout) {
    const size_t room = kMaxError - std::min(kMaxError, copy->error.size());
    copy->error += output.data.view().substr(0, room);
  } else if (++copy->written == copy->writers) {
    Launch(job, copy);
  }
  return true;
}

bool Staging::OnInputConsumed(const core::InputConsumed& input) {
  std::string job;
  const Copy* const copy = FindCopying(input.nspace, &job);
  if (copy == nullptr) return false;
  if (copy->has_reader) {
    sink_->OnInput(
        core::OutputConsumed{copy->nspace, copy->writers, input.bytes});
  } else {
    taken_(job, input.bytes);
  }
  return true;
}

// Launches the job whose files are in place. The core knows the job from now
// on.
void Staging::Launch(const std::string& job, Copy* copy) {
  if (copy->launched || copy->ended_by.code() != kSuccess) return;
  copy->launched = true;
  std::deque<core::InputOffered> input = std::exchange(copy->input, {});
  done_(job, Status());
  for (core::InputOffered& piece : input) sink_->OnInput(std::move(piece));
}

bool Staging::OnJobChanged(const core::JobChanged& change) {
  if (Copy* const copy = Find(change.nspace)) {
    if (copy->launched && change.phase != core::JobPhase::kPreparing) {
      sink_->OnInput(core::InputOffered{copy->nspace, Bytes()});
    }
    return false;
  }
  std::string job;
  if (FindCopying(change.nspace, &job) == nullptr) return false;
  if (change.phase == core::JobPhase::kEnded) OnEnded(job, change);
  return true;
}

// Handles the end of the staging job. If that job has failed before the other
// job was prepared, or did not copy the files, the other job has failed.
void Staging::OnEnded(const std::string& job, const core::JobChanged& change) {
  const Copy copy = std::move(copies_.extract(job).mapped());
  const bool failed = change.status != kSuccess;
  if (copy.launched) {
    if (!failed) return;
    core::KillRequested kill{job, kErrJobFailedToLaunch,
                             "its preloaded files are gone: " + change.text};
    kill.again = true;
    return sink_->OnInput(std::move(kill));
  }
  if (copy.ended_by.code() != kSuccess) return done_(job, copy.ended_by);
  std::string text = copy.error.substr(0, copy.error.find('\n'));
  if (text.empty()) text = "its files could not be preloaded: " + change.text;
  done_(job, Status(failed ? StatusOf(change) : kErrJobFailedToLaunch,
                    Printable(text)));
}

void Staging::OnInput(core::Input input) {
  if (!copies_.empty() && Intercept(input)) return;
  sink_->OnInput(std::move(input));
}

bool Staging::Intercept(const core::Input& input) {
  if (const auto* kill = std::get_if<core::KillRequested>(&input)) {
    Copy* const copy = Find(kill->nspace);
    if (copy == nullptr || copy->launched) return false;
    if (copy->ended_by.code() != kSuccess) return true;
    copy->ended_by =
        Status(kill->status != kSuccess ? kill->status : kErrJobKilledByCmd,
               kill->reason);
    core::KillRequested other = *kill;
    other.nspace = copy->nspace;
    other.immediately = true;
    sink_->OnInput(std::move(other));
    return true;
  }
  if (const auto* signal = std::get_if<core::SignalRequested>(&input)) {
    const Copy* const copy = Find(signal->nspace);
    return copy != nullptr && !copy->launched;
  }
  if (const auto* offered = std::get_if<core::InputOffered>(&input)) {
    Copy* const copy = Find(offered->nspace);
    if (copy == nullptr || copy->launched) return false;
    copy->input.push_back(*offered);
    return true;
  }
  return false;
}

}  // namespace canopy::control
