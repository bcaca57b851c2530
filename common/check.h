// Checks of conditions that no peer and no machine can violate: a failure is
// always a defect of this program. The checks stay in optimised builds, so they
// must cost only a few instructions.
#ifndef CANOPY_COMMON_CHECK_H_
#define CANOPY_COMMON_CHECK_H_

// An expression that is true if `condition` holds. Otherwise the failure is
// reported on standard error and the program ends with SIGABRT. libpmix never
// ends the program that has loaded it. There, the expression is false and
// execution continues, so code that libpmix shares must handle the failure:
//   if (!CANOPY_CHECK(offset <= size)) return kErrBadParam;
#define CANOPY_CHECK(condition)          \
  (__builtin_expect(!!(condition), 1) || \
   ::canopy::CheckFailed(#condition, __FILE__, __LINE__))

namespace canopy {

// Reports a failed CANOPY_CHECK and returns false. Any thread.
bool CheckFailed(const char* condition, const char* file, int line);

// Returns whether a failed check ends the program: true, unless the program
// links //common:report_failed_checks.
bool FailedChecksEndProgram();

}  // namespace canopy

#endif  // CANOPY_COMMON_CHECK_H_
