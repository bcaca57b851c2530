// Checks of what must be true however the world behaves: a failure is a defect
// of this program, never of a peer or of the machine. They stay in optimised
// builds, so they are for what costs a few instructions.
#ifndef CANOPY_COMMON_CHECK_H_
#define CANOPY_COMMON_CHECK_H_

// An expression: true when `condition` holds. Otherwise it is reported on
// standard error and the program ends with SIGABRT, except in libpmix, which
// never ends the program that it is loaded into: there the expression is false
// and execution continues, so code that libpmix shares handles that:
//   if (!CANOPY_CHECK(offset <= size)) return kErrBadParam;
#define CANOPY_CHECK(condition)          \
  (__builtin_expect(!!(condition), 1) || \
   ::canopy::CheckFailed(#condition, __FILE__, __LINE__))

namespace canopy {

// For CANOPY_CHECK. Any thread. Always false.
bool CheckFailed(const char* condition, const char* file, int line);

// Whether a failed check ends the program. True, unless the program links
// //common:report_failed_checks.
bool FailedChecksEndProgram();

}  // namespace canopy

#endif  // CANOPY_COMMON_CHECK_H_
