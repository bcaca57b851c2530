// What local processes asked for when they arrived at collectives: the host
// gets it with the one call that it gets for all of them.
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
  // A process arrives.
  void Add(const ProcId& proc, const core::CollectiveArrived& in);
  // It was answered.
  void Remove(core::ClientId client, core::RequestId request);
  // Its connection ended: it is not answered any more.
  void RemoveAll(core::ClientId client);

  struct Asked {
    bool collect = false;
    // Of all who have arrived: of several infos of a key, the first.
    InfoList infos;
  };
  // At the next collective of its kind to be completed.
  Asked For(const core::CollectiveId& id) const;

  size_t size() const { return by_request_.size(); }

 private:
  // The operation, its participants and its name. Of groups the name alone, as
  // callers may name the participants differently.
  using Series =
      std::tuple<core::CollectiveOp, std::vector<ProcId>, std::string>;
  using Request = std::pair<core::ClientId, core::RequestId>;
  struct Arrival {
    ProcId proc;
    bool collect = false;
    uint32_t timeout_ms = 0;
    Bytes info;
  };
  // In the order of arrival, which is that of each process's collectives.
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
