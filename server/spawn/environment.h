// Changes of environment variables that a spawn requests.
#ifndef CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
#define CANOPY_SERVER_SPAWN_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::spawn {

// A list of NAME=VALUE entries with unique names.
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

// Apply changes to the environment, several of them in their order.
void Apply(const EnvarEdit& edit, Environment* env);
void Apply(const std::vector<EnvarEdit>& edits, Environment* env);
// Adds the entries. They replace those with the same name.
void Merge(const Environment& entries, Environment* env);

// Splits the whole environments of several applications. Removes from `base`
// the variables that one of the applications does not have. Each result has the
// entries to add to `base` for one application.
std::vector<Environment> TakeApart(const std::vector<Environment>& whole,
                                   Environment* base);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
