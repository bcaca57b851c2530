// The first error that was found in a registration.
#ifndef CANOPY_SERVER_REGISTRATION_PROBLEM_H_
#define CANOPY_SERVER_REGISTRATION_PROBLEM_H_

#include <string>
#include <utility>

#include "common/status.h"

namespace canopy::registration {

class Problem {
 public:
  // Records the error if it is the first one. Always returns false, so that the
  // caller can return the result.
  bool Say(int code, std::string text) {
    if (status_.ok()) status_ = Status(code, std::move(text));
    return false;
  }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_PROBLEM_H_
