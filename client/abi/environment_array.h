// Environments of C callers: arrays of NAME=VALUE in malloc memory, ended by a
// null pointer.
#ifndef CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_
#define CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_

#include <functional>
#include <string>
#include <vector>

namespace canopy::client {

// Lets `edit` change the entries of *env, which may be null. Entries that it
// leaves stay where they are in memory. False without memory: then nothing has
// changed.
bool EditEnvironment(const std::function<void(std::vector<std::string>*)>& edit,
                     char*** env);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_ENVIRONMENT_ARRAY_H_
