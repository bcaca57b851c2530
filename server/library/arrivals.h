// The requests of local processes that have arrived at collectives. One call of
// the host represents all these processes, and it contains their requests.
#ifndef CANOPY_SERVER_LIBRARY_ARRIVALS_H_
#define CANOPY_SERVER_LIBRARY_ARRIVALS_H_

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"

namespace canopy::library {

// Loop thread only.
class Arrivals {
 public:
  // Records that a process has arrived.
  void Add(const ProcId& proc, const core::CollectiveArrived& in);
  // Records that a process waits in its job's barrier, where it waits for one
  // fence at a time. `collect` is true if the fence collects data.
  void AddAtBarrier(const ProcId& proc, core::ClientId client, bool collect);
  // Record that a request was answered, or that a process's barrier was
  // released.
  void Remove(core::ClientId client, core::RequestId request);
  void RemoveAtBarrier(core::ClientId client);
  // Removes the requests of an ended connection, which gets no answers.
  void RemoveAll(core::ClientId client);

  struct Asked {
    bool collect = false;
    // The infos of all arrived processes. Of several infos with one key, the
    // first one is valid.
    InfoList infos;
  };
  // Returns the requests of a collective's participants, for the call of the
  // host. If a participant has several unanswered requests of this series, its
  // first one is used.
  Asked For(const core::CollectiveId& id) const;

  size_t size() const { return by_request_.size(); }

 private:
  // The operation, its participants and its name. For groups only the name is
  // used, because callers may name the participants in different forms.
  using Series =
      std::tuple<core::CollectiveOp, std::vector<ProcId>, std::string>;
  using Request = std::pair<core::ClientId, core::RequestId>;
  struct Arrival {
    ProcId proc;
    bool collect = false;
    uint32_t timeout_ms = 0;
    Bytes info;
  };
  // The arrivals in their order, which is the order of each process's
  // collectives.
  using Waiting = std::vector<std::pair<Request, Arrival>>;
  using All = std::map<Series, Waiting>;

  static Series SeriesOf(core::CollectiveOp op,
                         const std::vector<ProcId>& participants,
                         const std::string& name);
  void Erase(All::iterator series, const Request& request);

  All waiting_;
  std::multimap<Request, All::iterator> by_request_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_ARRIVALS_H_
