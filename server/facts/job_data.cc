#include "server/facts/job_data.h"

#include <optional>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::facts {
namespace {

using core::DataKey;
using core::DataRealm;

std::string Text(const std::optional<std::string_view>& value) {
  return std::string(value.value_or(std::string_view()));
}

class Search {
 public:
  Search(const shm::SegmentReader& job, const DataKey& key)
      : job_(job), key_(key) {}

  std::string In(DataRealm realm) const {
    switch (realm) {
      case DataRealm::kSession:
        return Text(job_.FindSession(key_.key));
      case DataRealm::kJob:
        return Text(job_.FindJob(key_.key));
      case DataRealm::kApp:
        return Text(job_.FindApp(App(), key_.key));
      case DataRealm::kNode:
        return Text(job_.FindNode(Node(), key_.key));
      case DataRealm::kProc:
        return OfProcess();
      case DataRealm::kAny:
        break;
    }
    return InOwn();
  }

 private:
  std::string InOwn() const {
    if (key_.appnum) return In(DataRealm::kApp);
    if (NamesNode()) return In(DataRealm::kNode);
    for (const DataRealm realm :
         {DataRealm::kProc, DataRealm::kJob, DataRealm::kSession,
          DataRealm::kApp, DataRealm::kNode}) {
      std::string value = In(realm);
      if (!value.empty()) return value;
    }
    return "";
  }

  std::string OfProcess() const {
    std::string value;
    if (key_.proc.rank >= job_.num_ranks()) return value;
    const auto state = job_.ReadProc(
        key_.proc.rank, key_.key, [&](std::string_view read) { value = read; });
    return state == shm::LookupState::kFound ? value : "";
  }

  bool NamesNode() const {
    return key_.nodeid.has_value() || !key_.hostname.empty();
  }

  uint32_t App() const {
    return key_.appnum ? *key_.appnum : job_.AppOf(key_.proc.rank);
  }

  uint32_t Node() const {
    if (key_.nodeid) return job_.NodeById(*key_.nodeid).value_or(kNoNode);
    if (!key_.hostname.empty()) {
      return job_.NodeByName(key_.hostname).value_or(kNoNode);
    }
    const bool of_process = key_.proc.rank < job_.num_ranks();
    return of_process ? job_.NodeOf(key_.proc.rank) : job_.self_node();
  }

  const shm::SegmentReader& job_;
  const DataKey& key_;
};

// Returns false if the key names another session than the job's.
bool IsOfSession(const shm::SegmentReader& job, const DataKey& key) {
  if (!key.session_id) return true;
  const auto encoded = job.FindSession(PMIX_SESSION_ID);
  if (!encoded) return false;
  const Result<Value> id = DecodeValue(*encoded);
  return id.ok() && id->AsUint32() == key.session_id;
}

}  // namespace

std::string FindJobData(const shm::SegmentReader& job, const DataKey& key) {
  if (!IsOfSession(job, key)) return "";
  return Search(job, key).In(key.realm);
}

}  // namespace canopy::facts
