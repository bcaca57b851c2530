// The file to which a job's output is written, in place of the standard
// streams.
#ifndef CANOPY_CLIENT_CLI_RUN_OUTPUT_FILE_H_
#define CANOPY_CLIENT_CLI_RUN_OUTPUT_FILE_H_

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli {

// The output file of a detached job for which the user names none.
inline constexpr char kDefaultOutputFile[] = "%j.out";

// Returns the absolute path of `pattern`, with the job's name in place of %j.
// Any other text, such as %r, is unchanged.
std::string OutputPath(const std::string& pattern, const std::string& nspace);

// The output file of a job. The file exists before the job does, so that no job
// is started whose output would be lost. Until the job has a name, the name of
// this process takes its place. Used by one thread.
class OutputFile {
 public:
  // Creates the file, or empties it. `pattern` may contain %j in its last part.
  // Returns kErrNoPermissions if that fails; the message names the file, the
  // reason and the remedy.
  static Result<OutputFile> Make(const std::string& pattern);
  // Checks that the file for rank 0, which has 0 in place of %r, can be made:
  // makes it and, if the pattern has %j, removes it. Fails like Make.
  static Status Check(const std::string& pattern);

  // Renames the file after the job, in place of an older file of that name. Has
  // no effect if the file has the name of a job already. Returns
  // kErrNoPermissions if the file cannot be renamed; it then keeps its name.
  Status SetJob(const std::string& nspace);
  // Removes the file if it has the name of this process and awaits the name of
  // the job.
  void Discard() const;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  OutputFile(std::string pattern, std::string path, UniqueFd fd);

  std::string pattern_;
  std::string path_;  // absolute
  UniqueFd fd_;       // opened for appending
  bool named_ = false;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_OUTPUT_FILE_H_
