// The data of one job that a process can read without a request. Values are
// VALUEs of common/codec.
#ifndef CANOPY_CLIENT_SESSION_JOB_VIEW_H_
#define CANOPY_CLIENT_SESSION_JOB_VIEW_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

enum class Presence : uint8_t {
  kAbsent,
  kFound,
  kOutsideScope,  // exists, but not for processes of this node
  kIncomplete,    // absent, but the segment lacks some of its data
};

// Immutable except for committed data. All methods may be called from any
// thread. Views of values are valid as long as the object.
class JobView {
 public:
  using Visit = std::function<void(std::string_view key, std::string_view)>;

  virtual ~JobView() = default;

  virtual uint32_t num_ranks() const = 0;
  virtual uint32_t num_nodes() const = 0;
  virtual uint32_t num_apps() const = 0;
  // Returns the node of this process, as the job numbers its nodes; kNoNode if
  // the job has no process here.
  virtual uint32_t self_node() const = 0;

  // Return the value of a key at its level. Return no value if the job has no
  // such key, application or node.
  virtual std::optional<std::string_view> FindSession(
      std::string_view key) const = 0;
  virtual std::optional<std::string_view> FindJob(
      std::string_view key) const = 0;
  virtual std::optional<std::string_view> FindApp(
      uint32_t app, std::string_view key) const = 0;
  virtual std::optional<std::string_view> FindNode(
      uint32_t node, std::string_view key) const = 0;

  // Return the job's number of the node with this name, or with this
  // PMIX_NODEID.
  virtual std::optional<uint32_t> NodeByName(std::string_view name) const = 0;
  virtual std::optional<uint32_t> NodeById(uint32_t id) const = 0;
  virtual uint32_t NodeOf(Rank rank) const = 0;  // kNoNode: no such rank
  virtual uint32_t AppOf(Rank rank) const = 0;
  virtual std::span<const uint32_t> RanksOn(uint32_t node) const = 0;

  // Decodes a key of one process into *value, which is overwritten: it is set
  // if the result is kFound and *status is PMIX_SUCCESS, and empty otherwise.
  virtual Presence ReadProc(Rank rank, std::string_view key,
                            pmix_value_t* value, int* status) const = 0;

  // Visit every key of a level. For a process these are the keys that follow
  // from its place, then the committed keys that may be seen here; qualified
  // values have their stored names (common/codec/stored_key.h). If the data
  // changes during the visits, `clear` runs and they start again.
  virtual void ForEachProc(Rank rank, const Visit& visit,
                           const std::function<void()>& clear) const = 0;
  virtual void ForEachJob(const Visit& visit) const = 0;
  virtual void ForEachSession(const Visit& visit) const = 0;
  virtual void ForEachApp(uint32_t app, const Visit& visit) const = 0;
  virtual void ForEachNode(uint32_t node, const Visit& visit) const = 0;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_JOB_VIEW_H_
