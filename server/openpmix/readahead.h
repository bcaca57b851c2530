// Which ranks' data to send along with the answer to a get. OpenPMIx's library
// keeps what it gets, and MPI asks for rank after rank at its start: one round
// trip each, unless those that follow come along.
#ifndef CANOPY_SERVER_OPENPMIX_READAHEAD_H_
#define CANOPY_SERVER_OPENPMIX_READAHEAD_H_

#include <cstdint>

#include "common/ids.h"

namespace canopy::openpmix {

// One client's gets within its own namespace. A client that goes through the
// ranks from the lowest on gets more and more at a time; one that jumps about
// gets what it asks for.
class Readahead {
 public:
  static constexpr uint32_t kFirstWindow = 4;
  static constexpr uint32_t kLargestWindow = 64;

  // Rank `self` asks for `asked`: how many of the ranks after that one, itself
  // not counted, should come along.
  uint32_t OnGet(Rank self, Rank asked);

  // Not all of them were available: `next` was the first that was left out.
  void StopBefore(Rank next) { next_ = next; }

  // Resets the prediction: values may have been replaced at the fence, and the
  // client would cache stale ones.
  void OnFence() { *this = Readahead(); }

 private:
  Rank next_ = kRankInvalid;
  uint32_t window_ = 0;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_READAHEAD_H_
