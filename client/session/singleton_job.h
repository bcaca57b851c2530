// The job of a process that was not launched: one process on one node.
#ifndef CANOPY_CLIENT_SESSION_SINGLETON_JOB_H_
#define CANOPY_CLIENT_SESSION_SINGLETON_JOB_H_

#include <array>
#include <map>
#include <memory>
#include <string>

#include "client/session/job_view.h"
#include "common/values/info_list.h"

namespace canopy::client {

// Immutable.
class SingletonJob final : public JobView {
 public:
  // `hostname` is the name of this node. `more` contains further data of the
  // job, which is also found for its process.
  SingletonJob(const std::string& nspace, const std::string& hostname,
               const InfoList& more = {});
  // Returns the job of a server. It has no reserved data of a process, because
  // hosts send all data of a job to their peers.
  static std::unique_ptr<SingletonJob> OfServer(const std::string& nspace,
                                                const std::string& hostname);

  uint32_t num_ranks() const override { return 1; }
  uint32_t num_nodes() const override { return 1; }
  uint32_t num_apps() const override { return 1; }
  uint32_t self_node() const override { return 0; }
  std::optional<std::string_view> FindSession(
      std::string_view key) const override {
    return Find(session_, key);
  }
  std::optional<std::string_view> FindJob(std::string_view key) const override {
    return Find(job_, key);
  }
  std::optional<std::string_view> FindApp(uint32_t app,
                                          std::string_view key) const override;
  std::optional<std::string_view> FindNode(uint32_t node,
                                           std::string_view key) const override;
  std::optional<uint32_t> NodeByName(std::string_view name) const override;
  std::optional<uint32_t> NodeById(uint32_t id) const override {
    return id == 0 ? std::optional<uint32_t>(0) : std::nullopt;
  }
  uint32_t NodeOf(Rank rank) const override { return rank == 0 ? 0 : kNoNode; }
  uint32_t AppOf(Rank) const override { return 0; }
  std::span<const uint32_t> RanksOn(uint32_t node) const override;
  Presence ReadProc(Rank rank, std::string_view key, pmix_value_t* value,
                    int* status) const override;
  void ForEachProc(Rank rank, const Visit& visit,
                   const std::function<void()>& clear) const override;
  void ForEachJob(const Visit& visit) const override { ForEach(job_, visit); }
  void ForEachSession(const Visit& visit) const override {
    ForEach(session_, visit);
  }
  void ForEachApp(uint32_t app, const Visit& visit) const override;
  void ForEachNode(uint32_t node, const Visit& visit) const override;

 private:
  using Table = std::map<std::string, std::string, std::less<>>;

  static std::optional<std::string_view> Find(const Table& table,
                                              std::string_view key);
  static void ForEach(const Table& table, const Visit& visit);
  void FillJob(const std::string& nspace, const std::string& hostname);
  void FillMaps(const std::string& hostname);
  void FillNode(const std::string& nspace, const std::string& hostname);
  void FillProc(const std::string& nspace, const std::string& hostname);

  std::string hostname_;
  Table session_;
  Table job_;
  Table app_;
  Table node_;
  Table proc_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SINGLETON_JOB_H_
