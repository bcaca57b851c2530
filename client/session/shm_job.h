// A job whose data the agent publishes in shared memory.
#ifndef CANOPY_CLIENT_SESSION_SHM_JOB_H_
#define CANOPY_CLIENT_SESSION_SHM_JOB_H_

#include <memory>

#include "client/session/job_view.h"
#include "common/shm/segment_reader.h"
#include "common/status.h"

namespace canopy::client {

class ShmJob final : public JobView {
 public:
  explicit ShmJob(std::unique_ptr<shm::SegmentReader> reader)
      : reader_(std::move(reader)) {}

  // Maps a segment; the caller keeps `fd`.
  static Result<std::unique_ptr<ShmJob>> Map(int fd, uint64_t size);

  std::string_view nspace() const { return reader_->nspace(); }

  uint32_t num_ranks() const override { return reader_->num_ranks(); }
  uint32_t num_nodes() const override { return reader_->num_nodes(); }
  uint32_t num_apps() const override { return reader_->num_apps(); }
  uint32_t self_node() const override { return reader_->self_node(); }
  std::optional<std::string_view> FindSession(
      std::string_view key) const override {
    return reader_->FindSession(key);
  }
  std::optional<std::string_view> FindJob(std::string_view key) const override {
    return reader_->FindJob(key);
  }
  std::optional<std::string_view> FindApp(uint32_t app,
                                          std::string_view key) const override {
    return reader_->FindApp(app, key);
  }
  std::optional<std::string_view> FindNode(
      uint32_t node, std::string_view key) const override {
    return reader_->FindNode(node, key);
  }
  std::optional<uint32_t> NodeByName(std::string_view name) const override {
    return reader_->NodeByName(name);
  }
  std::optional<uint32_t> NodeById(uint32_t id) const override {
    return reader_->NodeById(id);
  }
  uint32_t NodeOf(Rank rank) const override { return reader_->NodeOf(rank); }
  uint32_t AppOf(Rank rank) const override { return reader_->AppOf(rank); }
  std::span<const uint32_t> RanksOn(uint32_t node) const override {
    return reader_->RanksOn(node);
  }
  Presence ReadProc(Rank rank, std::string_view key, pmix_value_t* value,
                    int* status) const override;
  void ForEachProc(Rank rank, const Visit& visit,
                   const std::function<void()>& clear) const override;
  void ForEachJob(const Visit& visit) const override {
    reader_->ForEachJobKey(visit);
  }
  void ForEachSession(const Visit& visit) const override {
    reader_->ForEachSessionKey(visit);
  }
  void ForEachApp(uint32_t app, const Visit& visit) const override {
    reader_->ForEachAppKey(app, visit);
  }
  void ForEachNode(uint32_t node, const Visit& visit) const override {
    reader_->ForEachNodeKey(node, visit);
  }

 private:
  const std::unique_ptr<shm::SegmentReader> reader_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SHM_JOB_H_
