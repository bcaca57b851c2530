// Records of the jobs that an agent controls, in files of its own directory,
// from which a successor recovers them however this agent ends.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::agent {

// One file for each job; the last value of a key is valid. A record is durable
// against the death of this process once Persist has returned. As the jobs do
// not survive the machine, nothing is synchronised with the disk. One thread.
class ControlRecords {
 public:
  using Values = std::map<std::string, std::string>;

  explicit ControlRecords(std::string directory)
      : directory_(std::move(directory)) {}

  Status Persist(const std::string& nspace, std::string_view key,
                 std::string_view value);
  // A record beside those, of which only the last is ever kept.
  Status Replace(const std::string& nspace, std::string_view value);
  // Of this process or another one; empty: there is none.
  std::string Replaced(const std::string& nspace) const;
  bool Has(const std::string& nspace) const { return known_.contains(nspace); }
  // Removes the job's files.
  void Drop(const std::string& nspace);
  void DropAll();
  // The files of another process, by namespace. Files that are not this user's
  // alone are left where they are.
  std::map<std::string, Values> Load();

  // The records of a file's content. Returns how much of it is whole records;
  // what follows was cut short when its writer died.
  static size_t Parse(std::string_view content, Values* values);

 private:
  std::string PathOf(const std::string& nspace) const;
  std::string LastPathOf(const std::string& nspace) const;

  const std::string directory_;
  std::set<std::string> known_;  // jobs with a file
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_CONTROL_RECORDS_H_
