// Selects ranks whose data is sent along with the answer to a get. OpenPMIx's
// library caches the data, and at its start MPI requests rank after rank, which
// would cost one round trip for each.
#ifndef CANOPY_SERVER_OPENPMIX_READAHEAD_H_
#define CANOPY_SERVER_OPENPMIX_READAHEAD_H_

#include <cstdint>

#include "common/ids.h"

namespace canopy::openpmix {

// The gets of one client within its own namespace. A client that requests the
// ranks in ascending order gets a growing number of them at a time; a client
// that requests them in any other order gets only the requested ones.
class Readahead {
 public:
  static constexpr uint32_t kFirstWindow = 4;
  static constexpr uint32_t kLargestWindow = 64;

  // Records that rank `self` has requested the data of rank `asked`. Returns
  // the number of ranks after `asked`, not counting `self`, whose data should
  // be sent along.
  uint32_t OnGet(Rank self, Rank asked);

  // Records that the answer did not contain all of these ranks: `next` was the
  // first that was omitted.
  void StopBefore(Rank next) { next_ = next; }

  // Resets the prediction, because values may have been replaced at the fence,
  // and the client would cache stale ones.
  void OnFence() { *this = Readahead(); }

 private:
  Rank next_ = kRankInvalid;
  uint32_t window_ = 0;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_READAHEAD_H_
