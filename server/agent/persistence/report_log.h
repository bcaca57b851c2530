// What a successor has to know of what a scheduler was told and has commanded,
// in a file of the agent's directory.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/scheduler/report_store.h"

namespace canopy::agent {

// A log of entries, written anew when it has doubled. As agents do not survive
// their machine, nothing is synchronised with the disk. One thread.
class ReportLog : public scheduler::ReportStore {
 public:
  // A log that has not grown by that is not written anew.
  static constexpr uint64_t kSlack = 1u << 20;

  explicit ReportLog(const std::string& directory);

  // Another process's file is read if it is this user's alone; an entry that
  // was cut short when its writer died is removed.
  scheduler::StoredReports Load() override;
  Status Begin(uint64_t series) override;
  Status Reserve(uint64_t number) override;
  Status Add(uint64_t number, std::string_view record) override;
  Status Remove(uint64_t number) override;
  Status Lose(uint64_t number, uint64_t lost) override;
  Status AddRelease(uint64_t number, std::string_view release) override;
  Status RemoveRelease(uint64_t number) override;
  Status AddCommand(std::string_view command) override;

  // There will be no successor.
  void Delete();

  // The entries of a file's content. Returns how much of it is whole entries.
  static size_t Parse(std::string_view content,
                      scheduler::StoredReports* stored);

 private:
  Status Append(const std::string& entry);
  Status Compact();

  const std::string path_;
  UniqueFd fd_;        // of a log that has been begun
  uint64_t size_ = 0;  // of the file
  uint64_t base_ = 0;  // the same when it was written anew
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_
