// Where the output of the processes of a job, and of those that it spawns,
// goes: our own standard streams and, if asked for, a file for each rank.
#ifndef CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_
#define CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/cli/run/line_assembler.h"
#include "common/status.h"

namespace canopy::cli {

struct JobOutputOptions {
  bool tag = false;
  bool timestamp = false;
  std::string directory;  // of the files; empty: none
  bool only_to_files = false;
  bool job_below_directory = true;
  int stdout_fd = 1;
  int stderr_fd = 2;
  // A clock that does not go back; empty: the system's.
  std::function<int64_t()> now_ms = nullptr;
};

// What the spawner of a job asked for, beside what JobOutputOptions say.
struct SpawnedOutputOptions {
  bool tag = false;
  bool timestamp = false;
  std::string directory;  // of the files; empty: that of all
  // Files FILE.NAMESPACE.RANK.stdout and stderr beside these; empty: none.
  std::string file;
};

inline constexpr uint32_t kStdoutChannel = 2;
inline constexpr uint32_t kStderrChannel = 4;

// Single-threaded. Write returns when the data is written out or held as the
// start of a line (a bounded amount).
class JobOutput {
 public:
  explicit JobOutput(JobOutputOptions options);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // The first job, before the first Write. Makes the directory.
  Status SetJob(const std::string& nspace, uint32_t num_procs);

  // A job that was spawned, by a number of its own above 0.
  Status AddJob(uint32_t job, const std::string& nspace,
                const SpawnedOutputOptions& options);
  // All its output has come.
  void EndJob(uint32_t job);

  // Of a process of the job, 0 being the first. Empty data: the stream's end.
  // False: nobody reads a destination any more (or it is full); what comes
  // later is dropped there.
  bool Write(uint32_t job, uint32_t rank, uint32_t channel,
             std::string_view data);
  // Lets go what has waited for its line's end long enough: 100 ms on a
  // terminal or with one process, else 1 s, while the destination's reader
  // keeps up. Returns in how many ms it wants to be called again; -1: not
  // before the next Write.
  int Tick();
  bool Flush();

  // True while Tick has something to wait for.
  bool wants_tick() const;
  // One line about what could not be written, unless only its reader went
  // away; empty: all well.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Destination;
  struct Job {
    std::string name;       // in tags
    std::string directory;  // of the files; empty: none
    bool tag = false;
    bool timestamp = false;
    std::string file;  // what the names of others begin with; empty: none
  };
  enum class FileKind : uint8_t { kInDirectory, kNamed };
  using FileKey = std::pair<OutputStream, FileKind>;

  Status Add(uint32_t job, const std::string& nspace, Job options);

  Destination* Of(uint32_t channel);
  bool Drain(Destination* to);
  std::string Prefix(OutputStream stream);
  void WriteFile(const Job& job, FileKey key, std::string_view data);
  int OpenFile(const std::string& path);

  const JobOutputOptions options_;
  const std::function<int64_t()> now_ms_;
  std::unique_ptr<Destination> stdout_;
  std::unique_ptr<Destination> stderr_;
  std::map<uint32_t, Job> jobs_;
  std::map<FileKey, int> files_;  // -1: cannot be written
  std::string trouble_;
  int64_t caught_up_ms_ = INT64_MIN / 2;  // when a slow write ended
  int64_t stamp_second_ = -1;
  std::string stamp_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_JOB_OUTPUT_H_
