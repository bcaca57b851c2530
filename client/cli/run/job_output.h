// Writes the output of a job's processes, and of the jobs that they spawn, to
// the standard streams of this process and, if requested, to a file for each
// rank.
#ifndef CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_
#define CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/run/line_assembler.h"
#include "common/status.h"

namespace canopy::cli {

struct JobOutputOptions {
  bool tag = false;
  bool timestamp = false;
  std::string directory;  // directory of the files; empty: none
  bool only_to_files = false;
  bool job_below_directory = true;
  // The name of each rank's file, which gets both streams of the rank: %j
  // is the job's name, and %r the rank. If the name is set, the output of the
  // first job is not written to the descriptors. Empty: none.
  std::string rank_files;
  int stdout_fd = 1;
  int stderr_fd = 2;
  bool to_file = false;  // the descriptors refer to a file
  // A monotonic clock in milliseconds; empty: the system's.
  std::function<int64_t()> now_ms = nullptr;
  bool xml = false;  // each line is an element
  bool raw = false;  // parts of lines are shown as they arrive
};

// Directives of a spawner for its processes, in addition to JobOutputOptions.
struct SpawnedOutputOptions {
  bool tag = false;
  bool rank = false;  // the tag is the rank alone
  bool timestamp = false;
  bool xml = false;  // each line is an element
  bool raw = false;  // parts of lines are shown as they arrive
  // Directory of the files. Empty: the directory of all jobs.
  std::string directory;
  // The output also goes to the files FILE.NAMESPACE.RANK.stdout and .stderr,
  // where FILE is this name. Empty: none.
  std::string file;
  bool pattern = false;  // `file` has %n and %r in place of NAMESPACE and RANK
  // The output also goes to the files FILE.RANK, with both streams, where FILE
  // is this name. Empty: none.
  std::string shared_file;
  // Output that is written to one of the files above is not shown.
  bool only_files = false;
  bool shared_pattern = false;  // `shared_file` has %r in place of .RANK
};

// The directives for the processes of a spawned job.
struct SpawnedOutput {
  std::vector<SpawnedOutputOptions> options;
  // The index of each rank's options in `options`; empty: all ranks have the
  // first options.
  std::vector<uint32_t> of_rank;
};

inline constexpr uint32_t kStdoutChannel = 2;
inline constexpr uint32_t kStderrChannel = 4;

// Used by one thread. Write returns when the data has been written or is held
// as the start of a line (a bounded amount).
class JobOutput {
 public:
  explicit JobOutput(JobOutputOptions options);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // Sets the first job, before the first Write. Creates the directories of its
  // files; the error names a directory that cannot be created.
  Status SetJob(const std::string& nspace, uint32_t num_procs);

  // Adds a spawned job. `job`, above 0, is the number by which Write identifies
  // it. Otherwise like SetJob.
  Status AddJob(uint32_t job, const std::string& nspace,
                const SpawnedOutput& spawned);
  // Records that all output of the job has arrived.
  void EndJob(uint32_t job);

  // Writes output of a process of the job; `job` is 0 for the first job. Empty
  // data is the end of the stream. Returns false if a destination has no reader
  // any more or is full; later output to it is dropped.
  bool Write(uint32_t job, uint32_t rank, uint32_t channel,
             std::string_view data);
  // Writes the unfinished lines that are old enough: 100 ms on a terminal or
  // with one process, else 1 s. Lines do not age while the reader of a
  // destination is slow. Returns the time until the next call in milliseconds,
  // or -1 if no call is needed before the next Write.
  int Tick();
  // Writes all unfinished lines. Returns false like Write.
  bool Flush();

  // Returns true while an unfinished line is held.
  bool wants_tick() const;
  // Returns one line about output that could not be written; empty if there was
  // no problem. A pipe that its reader has closed is not reported.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Destination;
  struct Job {
    std::string nspace;
    std::string name;  // name of the job in tags
    // The options of the job combined with JobOutputOptions. `directory` is the
    // directory of this job.
    std::vector<SpawnedOutputOptions> options;
    std::vector<uint32_t> of_rank;  // empty: all have the first options
  };
  enum class FileKind : uint8_t { kInDirectory, kNamed, kShared };
  using FileKey = std::pair<OutputStream, FileKind>;

  SpawnedOutputOptions Combined(SpawnedOutputOptions wanted,
                                const std::string& nspace) const;
  Status Add(uint32_t job, Job added);
  Status MakeDirectory(const SpawnedOutputOptions& options);

  // Returns null for an unknown job.
  const Job* JobOf(OutputStream stream) const;
  static const SpawnedOutputOptions& OptionsOf(const Job& job,
                                               OutputStream stream);
  Destination* Of(uint32_t channel);
  bool Drain(Destination* to);
  std::string Prefix(OutputStream stream);
  std::optional<std::string> Element(OutputStream stream,
                                     std::string_view line);
  // Returns false if the data must not be shown.
  bool WriteFiles(const Job& job, OutputStream stream, std::string_view data);
  void WriteFile(const Job& job, FileKey key, std::string_view data);
  static std::string PathOf(const Job& job, FileKey key);
  int OpenFile(const std::string& path);

  const JobOutputOptions options_;
  const std::function<int64_t()> now_ms_;
  std::unique_ptr<Destination> stdout_;
  std::unique_ptr<Destination> stderr_;
  std::map<uint32_t, Job> jobs_;
  std::map<FileKey, int> files_;  // -1: the file cannot be written
  std::string trouble_;
  int64_t caught_up_ms_ = INT64_MIN / 2;  // end of the last slow write
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_
