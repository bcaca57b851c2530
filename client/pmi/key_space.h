// The key-value spaces of PMI-1 in the one space of keys that PMIx has for each
// process: the job's own space has the keys as they are, so that PMIx peers of
// the same job find them; a further space puts its name in front of its keys.
#ifndef CANOPY_CLIENT_PMI_KEY_SPACE_H_
#define CANOPY_CLIENT_PMI_KEY_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// What programs have room for, the terminating NUL included.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 255;
inline constexpr size_t kMaxValue = 4096;

// The name of the `number`-th space that a process creates; unique in the job.
// Empty if the name of the job leaves no room for it.
std::string CreatedSpace(std::string_view job, uint32_t rank, uint32_t number);

// Whether a space is the job's own or a created one of that job.
bool IsSpaceOf(std::string_view job, std::string_view space);

// The PMIx key of a key in a space of the job. Keys of the job's own space that
// KeyInSpace knows are different from all of other spaces.
std::string PmixKey(std::string_view job, std::string_view space,
                    std::string_view key);

// The key that a PMIx key is in a space; nothing when it is none of that space,
// or in the job's own one is reserved: by PMIx, or for other spaces.
std::optional<std::string> KeyInSpace(std::string_view job,
                                      std::string_view space,
                                      std::string_view pmix_key);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_KEY_SPACE_H_
