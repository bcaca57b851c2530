#include "server/core/collective/pending_bytes.h"

namespace canopy::core {

PendingCharge::PendingCharge(Count of_job, Count of_client, size_t bytes)
    : of_job_(std::move(of_job)),
      of_client_(std::move(of_client)),
      bytes_(bytes) {
  *of_job_ += bytes;
  *of_client_ += bytes;
}

PendingCharge& PendingCharge::operator=(PendingCharge&& other) noexcept {
  if (this == &other) return *this;
  Release();
  of_job_ = std::move(other.of_job_);
  of_client_ = std::move(other.of_client_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void PendingCharge::Release() {
  if (bytes_ == 0) return;
  *of_job_ -= bytes_;
  *of_client_ -= bytes_;
  bytes_ = 0;
}

std::optional<PendingCharge> PendingBytes::Take(const std::string& nspace,
                                                ClientId client, size_t bytes) {
  PendingCharge::Count& of_job = jobs_[nspace];
  PendingCharge::Count& of_client = clients_[client];
  if (of_job == nullptr) of_job = std::make_shared<size_t>(0);
  if (of_client == nullptr) of_client = std::make_shared<size_t>(0);
  if (bytes > kMaxPendingBytesOfJob || bytes > kMaxPendingBytesOfClient ||
      *of_job > kMaxPendingBytesOfJob - bytes ||
      *of_client > kMaxPendingBytesOfClient - bytes) {
    return std::nullopt;
  }
  return PendingCharge(of_job, of_client, bytes);
}

size_t PendingBytes::HeldBy(const std::string& nspace) const {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? 0 : *it->second;
}

}  // namespace canopy::core
