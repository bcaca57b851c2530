#include "client/pmi/key_space.h"

namespace canopy::pmi {

namespace {

// Prefix of every key outside the job's own space. No key in that space begins
// with this prefix.
constexpr char kMark = '|';
constexpr std::string_view kCreated = "|kvs";

}  // namespace

std::string CreatedSpace(std::string_view job, uint32_t rank, uint32_t number) {
  std::string name(job);
  name += kCreated;
  name += std::to_string(rank) + "." + std::to_string(number);
  return name.size() < kMaxName ? name : std::string();
}

bool IsSpaceOf(std::string_view job, std::string_view space) {
  if (!space.starts_with(job)) return false;
  const std::string_view rest = space.substr(job.size());
  return rest.empty() ||
         (rest.starts_with(kCreated) && space.size() < kMaxName);
}

std::string PmixKey(std::string_view job, std::string_view space,
                    std::string_view key) {
  if (space == job) return std::string(key);
  // The job's own name is common to all spaces and would waste room.
  std::string out(space.substr(job.size()));
  out += kMark;
  out += key;
  return out;
}

std::optional<std::string> KeyInSpace(std::string_view job,
                                      std::string_view space,
                                      std::string_view pmix_key) {
  if (space == job) {
    if (pmix_key.starts_with(kMark) || pmix_key.starts_with(kReserved)) {
      return std::nullopt;
    }
    return std::string(pmix_key);
  }
  const std::string prefix = PmixKey(job, space, "");
  if (!pmix_key.starts_with(prefix)) return std::nullopt;
  return std::string(pmix_key.substr(prefix.size()));
}

}  // namespace canopy::pmi
