// Environments of C callers: arrays of NAME=VALUE, allocated by malloc and
// ended by a null pointer.
#ifndef CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_
#define CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_

#include <functional>
#include <string>
#include <vector>

namespace canopy::client {

// Lets `edit` change the entries of *env, which may be null. Unchanged entries
// keep their addresses. If memory is exhausted, returns false and leaves *env
// unchanged.
bool EditEnvironment(const std::function<void(std::vector<std::string>*)>& edit,
                     char*** env);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_
