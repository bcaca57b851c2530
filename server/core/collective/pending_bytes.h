// Counts and limits the memory that an agent holds for pending collectives of
// each job and client.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_PENDING_BYTES_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_PENDING_BYTES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "server/core/step/client_id.h"

namespace canopy::core {

// A collective that has begun takes about a KiB and 64 bytes for each local
// participant, so a process may be some thousand collectives ahead of the
// others. The processes of a job have four such shares together.
inline constexpr size_t kMaxPendingBytesOfClient = size_t{16} << 20;
inline constexpr size_t kMaxPendingBytesOfJob = size_t{64} << 20;

// Bytes that are charged until this object is destroyed. It may outlive the
// PendingBytes that made it.
class PendingCharge {
 public:
  PendingCharge() = default;
  PendingCharge(PendingCharge&& other) noexcept { *this = std::move(other); }
  PendingCharge& operator=(PendingCharge&& other) noexcept;
  ~PendingCharge() { Release(); }

 private:
  friend class PendingBytes;
  using Count = std::shared_ptr<size_t>;

  PendingCharge(Count of_job, Count of_client, size_t bytes);
  void Release();

  Count of_job_;
  Count of_client_;
  size_t bytes_ = 0;
};

// Used by one thread.
class PendingBytes {
 public:
  // Charges the job and its client. Returns no value if one of them would
  // exceed its limit.
  std::optional<PendingCharge> Take(const std::string& nspace, ClientId client,
                                    size_t bytes);
  // Forget the count of a job or a client. Charges that are still held share
  // the count, so they stay valid.
  void DropJob(const std::string& nspace) { jobs_.erase(nspace); }
  void DropClient(ClientId client) { clients_.erase(client); }

  // Returns the number of bytes that are charged to the job.
  size_t HeldBy(const std::string& nspace) const;

 private:
  std::unordered_map<std::string, PendingCharge::Count> jobs_;
  std::unordered_map<ClientId, PendingCharge::Count> clients_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_PENDING_BYTES_H_
