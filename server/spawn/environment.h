// Changes of environment variables that a spawn asks for.
#ifndef CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
#define CANOPY_SERVER_SPAWN_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::spawn {

// NAME=VALUE entries, each name once.
using Environment = std::vector<std::string>;

// One of PMIX_SET_ENVAR and its like.
struct EnvarEdit {
  enum class Kind : uint8_t {
    kSet,      // whatever is there
    kUnset,    // `name` may end in '*', which stands for all that begin so
    kAdd,      // only where there is none
    kPrepend,  // in front of what is there, with the separator between
    kAppend,   // behind it
    kFirst,    // as kPrepend; where it is an element already, it moves
  };
  Kind kind = Kind::kSet;
  std::string name;
  std::string value;
  char separator = ':';
};

void Apply(const EnvarEdit& edit, Environment* env);
void Apply(const std::vector<EnvarEdit>& edits, Environment* env);
// Entries replace those of the same name.
void Merge(const Environment& entries, Environment* env);

// The whole environments of several applications, taken apart into what each
// of them has on top of `base`, which keeps only what all of them have from it.
// A variable that one application must not have thus leaves the base.
std::vector<Environment> TakeApart(const std::vector<Environment>& whole,
                                   Environment* base);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ENVIRONMENT_H_
