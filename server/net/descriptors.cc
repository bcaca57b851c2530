#include "server/net/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace canopy::net {
namespace {

constexpr rlim_t kMostKept = 256;

}  // namespace

Supply SupplyAt(int fd) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Supply::kPlenty;
  const rlim_t used = static_cast<rlim_t>(fd) + 1;
  const rlim_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  const rlim_t kept = std::min(limit.rlim_cur / 4, kMostKept);
  if (left >= kept) return Supply::kPlenty;
  return left >= kept / 2 ? Supply::kScarce : Supply::kExhausted;
}

}  // namespace canopy::net
