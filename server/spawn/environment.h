// Changes of environment variables that a spawn requests.
#ifndef CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
#define CANOPY_SERVER_SPAWN_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::spawn {

// NAME=VALUE entries, each name once.
using Environment = std::vector<std::string>;

// The effect of PMIX_SET_ENVAR or a similar attribute.
struct EnvarEdit {
  enum class Kind : uint8_t {
    kSet,      // replaces an existing value
    kUnset,    // `name` may end in '*', which matches any rest
    kAdd,      // has no effect on an existing variable
    kPrepend,  // before the existing value, with the separator between
    kAppend,   // after the existing value
    kFirst,    // like kPrepend, but moves an existing element
  };
  Kind kind = Kind::kSet;
  std::string name;
  std::string value;
  char separator = ':';
};

// Changes the environment; several edits are applied in their order.
void Apply(const EnvarEdit& edit, Environment* env);
void Apply(const std::vector<EnvarEdit>& edits, Environment* env);
// Entries replace those with the same name.
void Merge(const Environment& entries, Environment* env);

// Splits the whole environments of several applications: each result has the
// entries to add to `base`, which keeps only entries that all applications
// have. A variable that one application must not have thus leaves the base.
std::vector<Environment> TakeApart(const std::vector<Environment>& whole,
                                   Environment* base);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
