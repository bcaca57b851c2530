// What is wrong with a registration: the first thing that was found.
#ifndef CANOPY_SERVER_REGISTRATION_PROBLEM_H_
#define CANOPY_SERVER_REGISTRATION_PROBLEM_H_

#include <string>
#include <utility>

#include "common/status.h"

namespace canopy::registration {

class Problem {
 public:
  // False, for callers that end with it.
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
