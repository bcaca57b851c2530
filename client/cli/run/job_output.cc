#include "client/cli/run/job_output.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/run/output_file.h"
#include "common/output_xml.h"
#include "common/string_util.h"
#include "common/wording/iso_time.h"

namespace canopy::cli {
namespace {

// An unfinished line is written when its process has been silent for this time,
// because the text may be a prompt, dots of progress, or data without a final
// line feed. This short time applies on a terminal or with one process.
constexpr int64_t kPartialMs = 100;
// Like kPartialMs, for several processes whose output is not on a terminal.
constexpr int64_t kLongPartialMs = 1000;
// A write that takes longer has waited for its reader. Output that arrived
// meanwhile is delayed, so silence of a process cannot be detected.
constexpr int64_t kSlowWriteMs = 20;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The number of a process in an OutputStream has the rank in its lower bits.
constexpr int kRankBits = 32;

uint32_t RankOf(OutputStream stream) {
  return static_cast<uint32_t>(stream.first);
}

std::string Time() { return IsoTime(std::chrono::system_clock::now()); }

const char* StreamName(uint32_t channel) {
  return channel == kStderrChannel ? "stderr" : "stdout";
}

// Raises the limit of open files, because the files of many ranks are open at
// once.
void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct JobOutput::Destination {
  Destination(int to, LineAssemblerOptions options)
      : fd(to), terminal(isatty(to) == 1), lines(std::move(options)) {}

  // Writes the content of `out`. Returns false if the destination is broken.
  bool Drain() {
    if (!broken && !out.empty() && !WriteAll(fd, out)) {
      broken = true;
      error = errno;
    }
    out.clear();
    return !broken;
  }

  const int fd;
  const bool terminal;
  int64_t partial_ms = kLongPartialMs;
  bool broken = false;
  int error = 0;  // errno of the failure
  LineAssembler lines;
  std::string out;
};

JobOutput::JobOutput(JobOutputOptions options)
    : options_(std::move(options)),
      now_ms_(options_.now_ms ? options_.now_ms : NowMs) {
  LineAssemblerOptions lines;
  lines.prefix = [this](OutputStream stream) { return Prefix(stream); };
  lines.replacement = [this](OutputStream stream, std::string_view line) {
    return Element(stream, line);
  };
  stdout_ = std::make_unique<Destination>(options_.stdout_fd, lines);
  stderr_ = std::make_unique<Destination>(options_.stderr_fd, lines);
}

JobOutput::~JobOutput() {
  for (const auto& [stream, fd] : files_) {
    if (fd >= 0) close(fd);
  }
}

Status JobOutput::SetJob(const std::string& nspace, uint32_t num_procs) {
  for (Destination* to : {stdout_.get(), stderr_.get()}) {
    if (to->terminal || num_procs == 1) to->partial_ms = kPartialMs;
  }
  SpawnedOutputOptions own;
  own.tag = options_.tag;
  own.timestamp = options_.timestamp;
  own.xml = options_.xml;
  own.raw = options_.raw;
  own.directory = options_.directory;
  own.only_files = options_.only_to_files;
  if (!own.directory.empty() && options_.job_below_directory) {
    own.directory += "/" + nspace;
  }
  if (!options_.rank_files.empty()) {
    own.shared_file = OutputPath(options_.rank_files, nspace);
    own.shared_pattern = own.only_files = true;
  }
  return Add(0, {nspace, "", {std::move(own)}, {}});
}

// Combines the options of a job with the options of all jobs. Ranks of several
// jobs never share a directory.
SpawnedOutputOptions JobOutput::Combined(SpawnedOutputOptions wanted,
                                         const std::string& nspace) const {
  wanted.tag |= options_.tag;
  wanted.timestamp |= options_.timestamp;
  wanted.xml |= options_.xml;
  wanted.raw |= options_.raw;
  if (wanted.directory.empty()) wanted.directory = options_.directory;
  if (wanted.directory.empty()) return wanted;
  wanted.directory += "/" + nspace;
  wanted.only_files |= options_.only_to_files;
  return wanted;
}

Status JobOutput::AddJob(uint32_t job, const std::string& nspace,
                         const SpawnedOutput& spawned) {
  Job added{nspace, "", {}, spawned.of_rank};
  for (const SpawnedOutputOptions& options : spawned.options) {
    added.options.push_back(Combined(options, nspace));
  }
  if (added.options.empty()) added.options.push_back(Combined({}, nspace));
  return Add(job, std::move(added));
}

Status JobOutput::Add(uint32_t job, Job added) {
  added.name = added.nspace.substr(added.nspace.rfind('-') + 1);
  const Job& there = jobs_[job] = std::move(added);
  Status status;
  for (const SpawnedOutputOptions& options : there.options) {
    if (Status s = MakeDirectory(options); status.ok()) status = std::move(s);
  }
  return status;
}

Status JobOutput::MakeDirectory(const SpawnedOutputOptions& options) {
  const bool named = !options.file.empty() || !options.shared_file.empty();
  if (options.directory.empty() && !named) return Status();
  RaiseFileLimit();
  if (options.directory.empty()) return Status();
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (!error) return Status();
  return Status(kErrNoPermissions, "cannot make directory " +
                                       options.directory +
                                       " for the output: " + error.message());
}

void JobOutput::EndJob(uint32_t job) {
  jobs_.erase(job);
  std::erase_if(files_, [job](const auto& entry) {
    const OutputStream& stream = entry.first.first;
    if (stream.first >> kRankBits != job) return false;
    if (entry.second >= 0) close(entry.second);
    return true;
  });
}

JobOutput::Destination* JobOutput::Of(uint32_t channel) {
  return channel == kStderrChannel ? stderr_.get() : stdout_.get();
}

const JobOutput::Job* JobOutput::JobOf(OutputStream stream) const {
  const auto it = jobs_.find(static_cast<uint32_t>(stream.first >> kRankBits));
  return it == jobs_.end() ? nullptr : &it->second;
}

const SpawnedOutputOptions& JobOutput::OptionsOf(const Job& job,
                                                 OutputStream stream) {
  const uint32_t rank = RankOf(stream);
  const uint32_t index = rank < job.of_rank.size() ? job.of_rank[rank] : 0;
  return job.options[index < job.options.size() ? index : 0];
}

std::string JobOutput::Prefix(OutputStream stream) {
  const Job* const job = JobOf(stream);
  if (job == nullptr) return "";
  const SpawnedOutputOptions& options = OptionsOf(*job, stream);
  if (!options.tag && !options.rank && !options.timestamp) return "";
  std::string prefix = options.timestamp ? Time() : "";
  const std::string rank = std::to_string(RankOf(stream));
  if (options.tag) {
    prefix += "[" + job->name + "," + rank + "]";
  } else if (options.rank) {
    prefix += "[" + rank + "]";
  }
  return prefix + "<" + StreamName(stream.second) + ">: ";
}

std::optional<std::string> JobOutput::Element(OutputStream stream,
                                              std::string_view line) {
  const Job* const job = JobOf(stream);
  if (job == nullptr) return std::nullopt;
  const SpawnedOutputOptions& options = OptionsOf(*job, stream);
  if (!options.xml) return std::nullopt;
  return OutputElement(StreamName(stream.second), {job->nspace, RankOf(stream)},
                       options.timestamp ? Time() : "", line);
}

bool JobOutput::WriteFiles(const Job& job, OutputStream stream,
                           std::string_view data) {
  const SpawnedOutputOptions& options = OptionsOf(job, stream);
  bool written = false;
  const auto write_one = [&](const std::string& name, FileKind kind) {
    if (name.empty()) return;
    WriteFile(job, {stream, kind}, data);
    written = true;
  };
  write_one(options.file, FileKind::kNamed);
  write_one(options.shared_file, FileKind::kShared);
  write_one(options.directory, FileKind::kInDirectory);
  return !written || !options.only_files;
}

bool JobOutput::Write(uint32_t job, uint32_t rank, uint32_t channel,
                      std::string_view data) {
  const OutputStream stream{uint64_t{job} << kRankBits | rank, channel};
  const Job* const known = JobOf(stream);
  if (known != nullptr && !WriteFiles(*known, stream, data)) return true;
  Destination* const to = Of(channel);
  if (data.empty()) {
    to->lines.Close(stream, &to->out);
  } else {
    to->lines.Add(stream, data, now_ms_(), &to->out);
    const bool raw = known != nullptr && OptionsOf(*known, stream).raw;
    if (raw) to->lines.Close(stream, &to->out);
  }
  return Drain(to);
}

bool JobOutput::Drain(Destination* to) {
  const int64_t begin = now_ms_();
  const bool fine = to->Drain();
  const int64_t end = now_ms_();
  if (end - begin > kSlowWriteMs) caught_up_ms_ = end;
  if (fine) return true;
  // A pipe that its reader has closed (EPIPE) is not reported.
  if (to->error != EPIPE && trouble_.empty()) {
    const char* const what = options_.to_file      ? "the file of the output"
                             : to == stderr_.get() ? "standard error"
                                                   : "standard output";
    trouble_ =
        std::string("cannot write ") + what + ": " + std::strerror(to->error);
  }
  return false;
}

int JobOutput::Tick() {
  int64_t next = -1;
  for (Destination* to : {stdout_.get(), stderr_.get()}) {
    const int64_t now = now_ms_();
    int64_t due = caught_up_ms_ + to->partial_ms;
    if (due <= now) {
      to->lines.FlushOlder(now - to->partial_ms, &to->out);
      (void)Drain(to);
    }
    const auto oldest = to->lines.OldestHeld();
    if (!oldest.has_value()) continue;
    due = std::max(due, *oldest + to->partial_ms);
    const int64_t wait = std::max<int64_t>(due - now, 1);
    next = next < 0 ? wait : std::min(next, wait);
  }
  return static_cast<int>(next);
}

bool JobOutput::wants_tick() const {
  return stdout_->lines.held() > 0 || stderr_->lines.held() > 0;
}

bool JobOutput::Flush() {
  bool fine = true;
  for (Destination* to : {stdout_.get(), stderr_.get()}) {
    to->lines.FlushAll(&to->out);
    fine = Drain(to) && fine;
  }
  return fine;
}

// Writes output to a rank's file. If both streams of the rank share a file, the
// file ends with the job.
void JobOutput::WriteFile(const Job& job, FileKey key, std::string_view data) {
  const bool shared = key.second == FileKind::kShared;
  if (shared && data.empty()) return;
  if (shared) key.first.second = kStdoutChannel;
  auto it = files_.find(key);
  if (it == files_.end()) {
    it = files_.emplace(key, OpenFile(PathOf(job, key))).first;
  }
  if (it->second < 0) return;
  if (data.empty() || !WriteAll(it->second, data)) {
    if (!data.empty() && trouble_.empty()) {
      trouble_ = "files of the output of job " + job.name +
                 " are incomplete: " + std::strerror(errno);
    }
    close(it->second);
    it->second = -1;
  }
}

std::string JobOutput::PathOf(const Job& job, FileKey key) {
  const SpawnedOutputOptions& options = OptionsOf(job, key.first);
  const std::string rank = std::to_string(RankOf(key.first));
  const std::string name = StreamName(key.first.second);
  if (key.second == FileKind::kShared && options.shared_pattern) {
    std::string path = options.shared_file;
    ReplaceAll(&path, "%r", rank);
    return path;
  }
  if (key.second == FileKind::kShared) {
    return options.shared_file + "." + rank;
  }
  if (key.second == FileKind::kInDirectory) {
    const std::string directory = options.directory + "/rank." + rank;
    mkdir(directory.c_str(), 0777);
    return directory + "/" + name;
  }
  if (!options.pattern) {
    return options.file + "." + job.nspace + "." + rank + "." + name;
  }
  std::string path = options.file;
  ReplaceAll(&path, "%n", job.nspace);
  ReplaceAll(&path, "%r", rank);
  return path + "." + name;
}

int JobOutput::OpenFile(const std::string& path) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 && trouble_.empty()) {
    trouble_ = "cannot write " + path + ": " + std::strerror(errno);
  }
  return fd;
}

}  // namespace canopy::cli
