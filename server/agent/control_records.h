// Records of the jobs that an agent controls, in files of its own directory:
// the next agent of its node finds them there, however this one ends.
#ifndef CANOPY_SERVER_AGENT_CONTROL_RECORDS_H_
#define CANOPY_SERVER_AGENT_CONTROL_RECORDS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// One file for each job; values by key, of which the last counts. What Keep has
// returned from is there even when this process is killed; what it was writing
// when it was killed is not. The machine's end is the jobs' end, so nothing is
// synchronised with the disk. One thread.
class ControlRecords {
 public:
  using Values = std::map<std::string, std::string>;

  explicit ControlRecords(std::string directory)
      : directory_(std::move(directory)) {}

  Status Keep(const std::string& nspace, std::string_view key,
              std::string_view value);
  bool Has(const std::string& nspace) const { return known_.contains(nspace); }
  // Removes the job's file.
  void Drop(const std::string& nspace);
  void DropAll();
  // What another process has left, by namespace. Files that are not this
  // user's alone are left where they are.
  std::map<std::string, Values> Load();

 private:
  std::string PathOf(const std::string& nspace) const;

  const std::string directory_;
  std::set<std::string> known_;  // jobs with a file
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_CONTROL_RECORDS_H_
