// The attributes that this process has declared by PMIx_Register_attributes.
#ifndef CANOPY_CLIENT_SESSION_REGISTERED_ATTRIBUTES_H_
#define CANOPY_CLIENT_SESSION_REGISTERED_ATTRIBUTES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/mutex.h"
#include "common/support/attribute_support.h"

namespace canopy::client {

// The declared attributes, by function. Thread-safe.
class RegisteredAttributes {
 public:
  // Declares the attributes of a function. `attributes` are names of macros or
  // keys of attributes; unknown names are declared unchanged. Returns
  // PMIX_ERR_BAD_PARAM if `function` is empty, and
  // PMIX_ERR_REPEAT_ATTR_REGISTRATION for a function that was declared before.
  int Register(std::string_view function,
               const std::vector<std::string>& attributes) CANOPY_EXCLUDES(mu_);
  // Returns the attributes declared for the function, in the order of their
  // declaration; empty if there are none.
  std::vector<support::Attribute> Of(std::string_view function) const
      CANOPY_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, std::vector<support::Attribute>, std::less<>> functions_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_REGISTERED_ATTRIBUTES_H_
