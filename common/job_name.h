// The namespaces of jobs. They are reserved: nothing else may have such a name.
#ifndef CANOPY_COMMON_JOB_NAME_H_
#define CANOPY_COMMON_JOB_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

// Returns the name of an overlay's job `number`, such as "canopy-0123abcd-7".
// `instance` distinguishes overlays, and the successive roots of one overlay.
std::string JobName(uint32_t instance, uint32_t number);

// Returns true for every name that JobName can return. Other names can thus be
// distinguished from the names of jobs without a list of all jobs.
bool IsJobName(std::string_view name);

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_NAME_H_
