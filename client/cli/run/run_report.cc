#include "client/cli/run/run_report.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/table.h"
#include "client/cli/run/loader_errors.h"
#include "client/cli/run/map_text.h"
#include "client/cli/run/program_notes.h"
#include "client/cli/run/run_documents.h"
#include "client/cli/run/topology_text.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

JobOutputOptions OutputOptions(const RunOptions& options, int output_fd) {
  JobOutputOptions out;
  out.tag = options.tag_output;
  out.timestamp = options.timestamp_output;
  out.xml = options.xml_output;
  out.raw = options.pty;
  out.directory = options.output_directory;
  out.only_to_files = options.only_to_files;
  out.job_below_directory = options.job_below_directory;
  if (options.has_rank_files()) out.rank_files = options.output_file;
  out.to_file = output_fd >= 0;
  if (out.to_file) out.stdout_fd = out.stderr_fd = output_fd;
  return out;
}

SpawnedOutput SpawnedOutputOf(const v1c::JobMapped& mapped) {
  SpawnedOutput out;
  for (const v1c::OutputWishes& wishes : mapped.outputs()) {
    out.options.push_back({wishes.tag(), wishes.rank(), wishes.timestamp(),
                           wishes.xml(), wishes.raw(), wishes.directory(),
                           wishes.file(), wishes.pattern(),
                           wishes.shared_file(), wishes.only_files()});
  }
  if (out.options.size() < 2) return out;
  for (const v1c::MapNode& node : mapped.nodes()) {
    for (const v1c::MapProc& proc : node.procs()) {
      if (proc.rank() >= mapped.num_procs()) continue;
      out.of_rank.resize(mapped.num_procs());
      out.of_rank[proc.rank()] = proc.app();
    }
  }
  return out;
}

// The value of PMIX_ERR_JOB_TERM_WO_SYNC.
constexpr int kErrJobTermWoSync = -185;

// Returns true if the end was neither requested nor caused by another job.
bool IsOwnFailure(const v1c::JobEnd& end) {
  return end.status() != kSuccess && end.status() != kErrJobKilledByCmd &&
         end.status() != kErrJobTermWoSync;
}

}  // namespace

RunReport::RunReport(const RunOptions& options, Timeline* timeline,
                     int output_fd)
    : display_map_(options.display_map),
      display_allocation_(options.display_allocation),
      display_topology_(options.display_topology),
      report_bindings_(options.report_bindings),
      json_(options.json),
      quiet_(options.quiet),
      merges_stderr_(options.job.merge_stderr),
      cpu_list_(options.job.places.cpu_list),
      timeline_(timeline),
      output_(OutputOptions(options, output_fd)),
      progress_(STDERR_FILENO, !options.quiet && !options.pty) {}

void RunReport::Print(int fd, const std::string& text) {
  progress_.Clear();
  if (WriteAll(fd, text) || !setup_trouble_.empty()) return;
  setup_trouble_ = std::string("cannot write the map: ") + std::strerror(errno);
}

void RunReport::OnMapped(const v1c::JobMapped& mapped) {
  const MutexLock lock(mutex_);
  timeline_->Note("job " + mapped.nspace() +
                  " mapped: " + Count(mapped.num_procs(), "process") + " on " +
                  Count(static_cast<uint64_t>(mapped.nodes_size()), "node"));
  Status status = SetUpOutput(mapped);
  if (!status.ok()) setup_trouble_ = status.message();
  ShowMap(mapped);
}

Status RunReport::SetUpOutput(const v1c::JobMapped& mapped) {
  if (mapped.parent().empty()) {
    const bool is_new = nspace_ != mapped.nspace();
    nspace_ = mapped.nspace();
    if (is_new && on_known_) on_known_(nspace_, &mapped);
    num_nodes_ = static_cast<size_t>(mapped.nodes_size());
    return output_.SetJob(nspace_, mapped.num_procs());
  }
  if (spawned_watch_.on_mapped) spawned_watch_.on_mapped(mapped);
  spawned_[mapped.nspace()] = ++last_spawned_;
  return output_.AddJob(last_spawned_, mapped.nspace(),
                        SpawnedOutputOf(mapped));
}

void RunReport::ShowMap(const v1c::JobMapped& mapped) {
  const bool map = display_map_ || mapped.display_map();
  const bool bindings = report_bindings_ || mapped.report_bindings();
  if (json_) {
    if (map || display_allocation_ || display_topology_ || bindings) {
      maps_.push_back(MapJson(mapped));
    }
    return;
  }
  if (!cpu_list_.empty() && mapped.oversubscribed() && !quiet_) {
    progress_.Clear();
    PrintError(
        "warning: some processes share CPUs: a node has more processes "
        "than CPUs of --cpu-list " +
        cpu_list_);
  }
  if (display_allocation_) Print(STDOUT_FILENO, AllocationText(mapped));
  if (display_topology_) Print(STDOUT_FILENO, TopologyText(mapped));
  if (map) Print(STDOUT_FILENO, MapText(mapped));
  if (bindings) Print(STDERR_FILENO, BindingsText(mapped));
}

void RunReport::OnSpawnedEnd(const v1c::SpawnedEnd& ended) {
  const MutexLock lock(mutex_);
  const auto job = spawned_.extract(ended.nspace());
  if (!job) return;
  output_.EndJob(job.mapped());
  if (spawned_watch_.on_end) spawned_watch_.on_end(ended);
  if (IsOwnFailure(ended.end())) SayFailure(ended);
}

void RunReport::SayFailure(const v1c::SpawnedEnd& ended) {
  if (json_) {
    Json failure;
    failure["job"] = ended.nspace();
    AddEnd(ended.end(), &failure);
    failures_.push_back(std::move(failure));
    return;
  }
  if (quiet_) return;
  const std::string line = "job " + ended.nspace() + ": " + ended.end().text();
  said_.insert(std::hash<std::string>()(line));
  progress_.Clear();
  PrintError(line);
}

bool RunReport::has_said(const std::string& line) const {
  const MutexLock lock(mutex_);
  return said_.contains(std::hash<std::string>()(line));
}

void RunReport::OnQueued(const v1c::JobQueued& queued) {
  const MutexLock lock(mutex_);
  timeline_->Note("queued: " + queued.reason());
  if (nspace_.empty() && on_known_) on_known_(queued.name(), nullptr);
  if (quiet_ || std::exchange(said_queued_, true)) return;
  progress_.Clear();
  PrintError("job " + queued.name() + " is queued: " + queued.reason());
}

void RunReport::OnRequeued(const v1c::JobRequeued& requeued) {
  const MutexLock lock(mutex_);
  const std::string text =
      "job " + nspace_ + " was ended, and is put back into the queue" +
      (requeued.reason().empty() ? "" : ": " + requeued.reason());
  timeline_->Note(text);
  output_.EndJob(0);
  said_queued_ = false;
  running_ = false;
  if (quiet_) return;
  progress_.Clear();
  PrintError(text);
}

void RunReport::OnNotice(const std::string& text) {
  const MutexLock lock(mutex_);
  if (quiet_) return;
  progress_.Clear();
  PrintError(text);
}

void RunReport::OnProgress(const v1c::Progress& progress) {
  const MutexLock lock(mutex_);
  if (progress.running() ||
      progress.procs_started() == progress.procs_total()) {
    progress_.Clear();
    if (!running_) {
      running_ = true;
      if (on_running_) on_running_(nspace_);
      timeline_->Note(Count(progress.procs_started(), "process") + " started");
    }
    return;
  }
  progress_.Set(progress.nodes_ready() < progress.nodes_total()
                    ? "nodes ready " + std::to_string(progress.nodes_ready()) +
                          "/" + std::to_string(progress.nodes_total())
                    : "processes started " +
                          std::to_string(progress.procs_started()) + "/" +
                          std::to_string(progress.procs_total()));
}

void RunReport::OnProgramNotes(const v1c::ProgramNotes& notes) {
  const MutexLock lock(mutex_);
  const std::string line = NoteLine(notes, num_nodes_);
  if (line.empty()) return;
  has_own_library_ = true;
  if (json_) notes_ = NotesJson(notes);
  if (quiet_ || json_) return;
  progress_.Clear();
  PrintError(line);
}

OutputFate RunReport::OnOutput(const v1c::Output& output) {
  const MutexLock lock(mutex_);
  progress_.Clear();
  if (!saw_loader_error_ &&
      (merges_stderr_ || output.channel() == kStderrChannel)) {
    saw_loader_error_ = HasLoaderError(output.data());
  }
  const auto spawned = spawned_.find(output.nspace());
  const uint32_t job = spawned == spawned_.end() ? 0 : spawned->second;
  if (!output_.Write(job, output.rank(), output.channel(), output.data())) {
    return OutputFate::kNoReader;
  }
  if (ticking_ || !output_.wants_tick()) return OutputFate::kWritten;
  ticking_ = true;
  return OutputFate::kHeld;
}

int RunReport::OnTick() {
  const int other = on_tick_ ? on_tick_() : -1;
  // While the other thread writes, no work is due.
  if (!mutex_.TryLock()) return 100;
  const int progress = progress_.Tick();
  const int output = output_.Tick();
  ticking_ = output >= 0;
  mutex_.Unlock();
  int next = -1;
  for (const int due : {progress, output, other}) {
    if (due >= 0 && (next < 0 || due < next)) next = due;
  }
  return next;
}

void RunReport::Finish() {
  const MutexLock lock(mutex_);
  progress_.Clear();
  (void)output_.Flush();
}

std::string RunReport::nspace() const {
  const MutexLock lock(mutex_);
  return nspace_;
}

bool RunReport::has_own_library() const {
  const MutexLock lock(mutex_);
  return has_own_library_;
}

bool RunReport::saw_loader_error() const {
  const MutexLock lock(mutex_);
  return saw_loader_error_;
}

Json RunReport::Document(const v1c::JobEnd& end) const {
  const MutexLock lock(mutex_);
  Json out;
  out["job"] = TextOrNull(nspace_);
  AddEnd(end, &out);
  out["maps"] = maps_;
  out["notes"] = notes_;
  out["failed_spawned_jobs"] = failures_;
  return out;
}

std::string RunReport::trouble() const {
  const MutexLock lock(mutex_);
  return setup_trouble_.empty() ? output_.trouble() : setup_trouble_;
}

}  // namespace canopy::cli
