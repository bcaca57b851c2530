// The texts by which an agent lists a job that is queued for its nodes among
// the operations that wait; the commands recognise it by them.
#ifndef CANOPY_COMMON_PLACEMENT_TEXT_H_
#define CANOPY_COMMON_PLACEMENT_TEXT_H_

namespace canopy {

inline constexpr char kPlacementOperation[] = "its place";
// The beginning of the text that names what the job waits for; the scheduler's
// reason follows.
inline constexpr char kPlacementPrefix[] = "the scheduler: ";

}  // namespace canopy

#endif  // CANOPY_COMMON_PLACEMENT_TEXT_H_
