// The log from which a successor learns how the requests of a PMI-2 client have
// ended: the connections with other jobs in which the client took part, and the
// content of the last answer.
#ifndef CANOPY_SERVER_PMI_OUTCOME_LOG_H_
#define CANOPY_SERVER_PMI_OUTCOME_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

struct Outcome {
  Operation operation = Operation::kSpawn;  // or kConnect, kDisconnect
  uint64_t number = 0;                      // number of the request
  int status = 0;
  std::string job;  // job that was spawned, or connected with

  bool operator==(const Outcome&) const = default;
};

// A memory file to which outcomes are appended. An outcome survives the death
// of this process when Add has returned. Used by one thread.
class OutcomeLog {
 public:
  // Returns kErrOutOfResource if no memory file can be created.
  static Result<std::unique_ptr<OutcomeLog>> Create();
  // Opens a predecessor's log; an incomplete last record is ignored.
  static std::unique_ptr<OutcomeLog> Open(UniqueFd fd);
  OutcomeLog(const OutcomeLog&) = delete;
  OutcomeLog& operator=(const OutcomeLog&) = delete;

  // Returns true if there is room for one more outcome.
  bool has_room() const;
  // Appends an outcome. The name of its job must not contain line ends.
  void Add(const Outcome& outcome);
  // Returns all outcomes, oldest first.
  const std::vector<Outcome>& all() const { return all_; }

  int fd() const { return fd_.get(); }

 private:
  explicit OutcomeLog(UniqueFd fd) : fd_(std::move(fd)) {}
  void Read();

  UniqueFd fd_;
  size_t size_ = 0;
  std::vector<Outcome> all_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_OUTCOME_LOG_H_
