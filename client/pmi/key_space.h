// Maps the key-value spaces of PMI-1 to the single space of keys that PMIx has
// for each process. Keys of the job's own space are unchanged, so that PMIx
// peers of the same job find them; keys of any other space get its name as a
// prefix.
#ifndef CANOPY_CLIENT_PMI_KEY_SPACE_H_
#define CANOPY_CLIENT_PMI_KEY_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// Sizes of the buffers that programs provide, including the terminating NUL.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 255;
inline constexpr size_t kMaxValue = 4096;

// Prefix of the keys and of the names of services that PMIx reserves.
inline constexpr std::string_view kReserved = "pmix";

// Returns the name of the `number`-th space that a process creates; unique in
// the job. Returns an empty string if the job's name is too long for this.
std::string CreatedSpace(std::string_view job, uint32_t rank, uint32_t number);

// Returns true if the space is the job's own, or was created by that job.
bool IsSpaceOf(std::string_view job, std::string_view space);

// Returns the PMIx key of a key in a space of the job. Keys of two spaces never
// have the same PMIx key, provided that KeyInSpace accepts the key of the job's
// own space.
std::string PmixKey(std::string_view job, std::string_view space,
                    std::string_view key);

// Returns the key in `space` that has the PMIx key `pmix_key`. Returns no value
// if the key is not in that space. The job's own space has no keys that are
// reserved by PMIx or for other spaces.
std::optional<std::string> KeyInSpace(std::string_view job,
                                      std::string_view space,
                                      std::string_view pmix_key);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_KEY_SPACE_H_
