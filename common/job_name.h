// The namespaces of jobs, which nothing else may be named like.
#ifndef CANOPY_COMMON_JOB_NAME_H_
#define CANOPY_COMMON_JOB_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

// "canopy-0123abcd-7": of an overlay's n-th job. `instance` tells overlays, and
// the roots of one overlay, apart.
std::string JobName(uint32_t instance, uint32_t number);

// True for every name that JobName has given or will give anywhere, so that
// nobody has to know all jobs of the overlay to keep other names apart from
// them.
bool IsJobName(std::string_view name);

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_NAME_H_
