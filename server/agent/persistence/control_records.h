// Records of the jobs that an agent controls, in files of its own directory. A
// successor recovers them, however this agent ends.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// There is one file for each job; the last value of a key is valid. A record
// survives the death of this process once Persist has returned. Nothing is
// synchronised with the disk, because the jobs do not survive the machine
// either. Used by one thread.
class ControlRecords {
 public:
  using Values = std::map<std::string, std::string>;

  explicit ControlRecords(std::string directory)
      : directory_(std::move(directory)) {}

  // Appends a value. Returns kErrBadParam if the namespace cannot be part of a
  // file name or the record is too large, and kErrJobSysOpFailed if the file
  // cannot be written.
  Status Persist(const std::string& nspace, std::string_view key,
                 std::string_view value);
  // Writes a separate record, of which only the last value is kept. Returns
  // kErrJobSysOpFailed if the file cannot be written.
  Status Replace(const std::string& nspace, std::string_view value);
  // Returns the value that this or another process has stored with Replace, or
  // an empty string.
  std::string Replaced(const std::string& nspace) const;
  bool Has(const std::string& nspace) const { return known_.contains(nspace); }
  // Removes the job's files.
  void Drop(const std::string& nspace);
  void DropAll();
  // Returns the records of another process, by namespace. Files to which other
  // users have access are ignored.
  std::map<std::string, Values> Load();

  // Parses the records in the content of a file. Returns the length of the
  // complete records; the rest was cut short when the process that wrote it
  // died.
  static size_t Parse(std::string_view content, Values* values);

 private:
  std::string PathOf(const std::string& nspace) const;
  std::string LastPathOf(const std::string& nspace) const;

  const std::string directory_;
  std::set<std::string> known_;  // jobs with a file
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_
